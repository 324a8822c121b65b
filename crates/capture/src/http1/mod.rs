//! Just enough of HTTP/1 to know where a message begins and ends, and what it is about.
//!
//! The proxy moves bytes and only watches them, so nothing here builds a message: [`head`] reads a head and says which
//! few bytes of it must change, [`framing`] says how far a body goes. What is not understood is no error: from there on
//! the connection is a tunnel whose bytes pass unrecorded, and the server gives the answer that it would give anyway.

pub(crate) mod framing;
pub(crate) mod head;
