//! Integration tests of the corpus crate: one module a subject.

mod fetch;
