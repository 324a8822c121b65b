//! Fetching from a hub on loopback that is good, slow, broken or lying.

mod attempts;
mod cached;
mod loopback;
mod refusals;
mod stage;
