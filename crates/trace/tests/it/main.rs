//! Traces against the fixtures that were made beside the specification, against known faults of other clients, and against
//! themselves.

mod faults;
mod fixtures;
mod forms;
mod large;
mod mooncake;
mod support;
