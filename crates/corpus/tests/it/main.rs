//! The corpus crate against vectors made by running aiperf 0.12.0, and against plain definitions.

mod prompt;
