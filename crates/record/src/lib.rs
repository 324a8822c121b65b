//! placeholder

pub mod request;
