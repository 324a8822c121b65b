//! Statistics over records: pure, from the requests alone.
//!
//! A distribution says how many values it has and how many are missing ([`sample`]); pooled gaps stay in bounded memory
//! ([`gaps`]); throughput names its window ([`window`]); what may be wrong with a measurement is said ([`doubt`]).

pub mod doubt;
pub mod gaps;
pub mod quantile;
pub mod sample;
pub mod window;
