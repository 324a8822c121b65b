//! Bytes of a streaming answer in, typed facts about it out.
//!
//! An answer passes through four hands. [`sse::Splitter`] cuts body bytes into events, [`chat::Chunk`] reads one event's
//! JSON, [`fold::Fold`] keeps what a request leaves behind (content stamps, token counts, how it ended), and
//! [`answer::AnswerBody`] ties them together for one HTTP body, streamed or not. [`error`] knows the shapes in which
//! servers put their complaints, and which of these mean that the prompt was too long. [`prometheus`] reads another page
//! of the same server: its `/metrics`.
//!
//! Nothing here opens a socket, reads a clock or waits: times come in as numbers beside the bytes, so every rule is
//! a table test. Input never panics; whatever it holds becomes a count or a named fault.

pub mod answer;
pub mod chat;
pub mod error;
pub mod fold;
pub mod prometheus;
pub mod sse;
pub mod usage;
