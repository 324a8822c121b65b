//! From values to what a machine or a person reads. Pure: nothing here prints.

pub(crate) mod contents;
pub(crate) mod log;
pub(crate) mod plan;
