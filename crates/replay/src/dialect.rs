//! The one table of named differences between harness releases. Code asks the table, never the name.

/// A released set of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Stock aiperf 0.12.0, defects included.
    Aiperf0120,
}

impl Dialect {
    /// The name used on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aiperf0120 => "aiperf-0.12.0",
        }
    }

    /// How long after a cancellation the phase still waits for work that will never come (`aiperf-replay` §5.6).
    pub fn cancel_settle_s(self) -> f64 {
        match self {
            Self::Aiperf0120 => 10.0,
        }
    }
}
