//! The recording proxy as a whole, on loopback.

mod bytes_unchanged;
mod files_on_disk;
mod latency;
mod recorded;
mod rig;
mod round_trip;
