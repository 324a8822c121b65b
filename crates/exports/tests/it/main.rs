//! Exports compared with files that aiperf 0.12.0 wrote: its example artifacts (`tests/data`) and whole runs (`oracle/captures`).

mod convert;
mod coverage;
mod inferencex;
mod omissions;
mod runs;
mod values;
mod vllm;
