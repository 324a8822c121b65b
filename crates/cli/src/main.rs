//! The binary `turnmill`.
fn main() {}
