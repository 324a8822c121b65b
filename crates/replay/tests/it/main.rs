//! The state machine against aiperf 0.12.0's own plans and event logs (`data/`).

mod dispatch;
mod inputs;
mod plan;
