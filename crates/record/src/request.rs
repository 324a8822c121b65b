//! What one request left behind: the struct that the driver fills and every statistic reads.

/// Part of a run that a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Requests that never count.
    Warmup,
    /// The measurement.
    Profiling,
}

/// What became of a request that was started. The four are all there is: started = ok + failed + overflow + cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Answered to the end, with output.
    Ok,
    /// Not answered, or not to the end; [`RequestRecord::failure_kind`] says how.
    Failed,
    /// The server said that the prompt does not fit its context window.
    Overflow,
    /// Ended by us; [`RequestRecord::cancel_cause`] says why.
    Cancelled,
}

/// How a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// An HTTP status other than 2xx.
    Refused,
    /// An error object inside a 200 answer.
    ErrorObject,
    /// The stream ended before a finish reason or `[DONE]`.
    Truncated,
    /// No end within the request's time limit.
    TimedOut,
    /// The connection broke while the answer came.
    BrokenStream,
    /// The answer was not understood, or held no output.
    Malformed,
    /// No connection.
    Connect,
    /// Its prompt could not be made, so nothing was sent.
    Unsent,
}

/// Why a request was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CancelCause {
    /// The grace period ended.
    Grace,
    /// The user stopped the run.
    Interrupt,
    /// The run gave up.
    Abort,
}

/// Raw stamps of a request: nanoseconds from the run's anchor on the monotonic clock. `None` where it never came so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// When the schedule wanted the request to start, or later, when the cap on requests in flight let it.
    pub due_ns: u64,
    /// When we began to carry it out.
    pub start_ns: u64,
    /// When a new connection stood (TLS included); `None` when an open one was reused.
    pub connected_ns: Option<u64>,
    /// When the first byte of the request was handed to the socket. TTFT and E2E count from here.
    pub headers_written_ns: Option<u64>,
    /// When the last byte of the body was handed to the socket.
    pub body_written_ns: Option<u64>,
    /// When the read returned that brought the first byte of the answer.
    pub first_byte_ns: Option<u64>,
    /// When the read returned that brought the first chunk with content, reasoning or tool-call text.
    pub first_content_ns: Option<u64>,
    /// The same for the first such chunk that is not reasoning.
    pub first_output_ns: Option<u64>,
    /// The same for the last content chunk.
    pub last_content_ns: Option<u64>,
    /// When the read returned that brought the last byte of the answer so far, whatever it was part of.
    pub last_byte_ns: Option<u64>,
    /// When the read returned that ended the stream, or when the request was given up.
    pub stream_end_ns: Option<u64>,
}

/// Arrival of one content chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentChunk {
    /// When the read that brought it returned; nanoseconds from the run's anchor.
    pub at_ns: u64,
    /// It came in the same socket read as the content chunk before it, so its gap says nothing about the server.
    pub same_read: bool,
}

/// Token counts as the server reported them; the last non-empty report wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Prompt tokens (ISL).
    pub prompt_tokens: Option<u64>,
    /// Output tokens, reasoning included (OSL).
    pub completion_tokens: Option<u64>,
    /// Prompt tokens taken from the server's prefix cache.
    pub cached_tokens: Option<u64>,
    /// Output tokens spent on reasoning.
    pub reasoning_tokens: Option<u64>,
}

/// Everything one request left behind.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestRecord {
    /// Value of `X-Request-ID`; unique.
    pub request_id: String,
    /// Position in its phase, from 0, in order of sending.
    pub sequence: u64,
    /// Which part of the run it belongs to.
    pub phase: Phase,
    /// Lane that its tree runs on.
    pub lane: u32,
    /// How many trees of the same trace were started before its own.
    pub tree_pass: u64,
    /// Conversation id in the data set (`TRACE`, `TRACE::sa:…`).
    pub conversation_id: String,
    /// The trace's id.
    pub trace_id: String,
    /// Value of `X-Correlation-ID`: this replay of the conversation.
    pub session_id: String,
    /// [`Self::session_id`] of the parent's replay.
    pub parent_session_id: Option<String>,
    /// Turn in its conversation, from 0.
    pub turn_index: u32,
    /// Turns that the conversation has.
    pub turns_total: u32,
    /// 0 for a root, 1 for its children.
    pub depth: u32,
    /// Twelve hex digits of the cache-bust marker.
    pub marker: String,
    /// SLO class of the trace's row; `None` for requests of session trees, and for rows whose class is empty.
    pub slo_class: Option<String>,
    /// Prompt tokens recorded in the trace, marker and chat template not counted.
    pub isl_planned: u64,
    /// Output tokens asked for.
    pub osl_planned: u64,
    /// Leading blocks that an infinite prefix cache would hold.
    pub theoretical_hit_blocks: u64,
    /// All blocks of the prompt that have a hash id.
    pub theoretical_total_blocks: u64,
    /// Size of the request body.
    pub body_bytes: u64,
    /// Body bytes of the answer, framing removed.
    pub response_bytes: u64,
    /// How long the cap on requests in flight held it back after its schedule wanted it; [`Stamps::due_ns`] is when the
    /// cap let it go, so that waiting for the server is not the client's lateness. 0 when it was not held.
    pub held_ns: u64,
    /// Raw stamps.
    pub stamps: Stamps,
    /// One for each chunk with content, reasoning or tool-call text, in order.
    pub chunks: Vec<ContentChunk>,
    /// How many of the chunks were reasoning only.
    pub reasoning_chunks: u64,
    /// Longest time from a socket read to the moment its bytes were parsed.
    pub parse_lag_max_ns: u64,
    /// HTTP status, once one came.
    pub http_status: Option<u16>,
    /// `finish_reason` of the stream.
    pub finish_reason: Option<String>,
    /// `[DONE]` came.
    pub done_seen: bool,
    /// Events that were no JSON of the expected shape.
    pub malformed_events: u64,
    /// Token counts of the server.
    pub usage: Usage,
    /// What became of it.
    pub outcome: Outcome,
    /// How it failed, when it did.
    pub failure_kind: Option<FailureKind>,
    /// Why it was cancelled, when it was.
    pub cancel_cause: Option<CancelCause>,
    /// The error's text, cut to a stated length; for [`Outcome::Failed`] and [`Outcome::Overflow`].
    pub error: Option<String>,
}

impl RequestRecord {
    /// The record of a request of the measurement that is due at `due_ns`, before anything else is known of it.
    pub fn due(due_ns: u64) -> Self {
        Self {
            request_id: String::new(),
            sequence: 0,
            phase: Phase::Profiling,
            lane: 0,
            tree_pass: 0,
            conversation_id: String::new(),
            trace_id: String::new(),
            session_id: String::new(),
            parent_session_id: None,
            turn_index: 0,
            turns_total: 0,
            depth: 0,
            marker: String::new(),
            slo_class: None,
            isl_planned: 0,
            osl_planned: 0,
            theoretical_hit_blocks: 0,
            theoretical_total_blocks: 0,
            body_bytes: 0,
            response_bytes: 0,
            held_ns: 0,
            stamps: Stamps {
                due_ns,
                ..Stamps::default()
            },
            chunks: Vec::new(),
            reasoning_chunks: 0,
            parse_lag_max_ns: 0,
            http_status: None,
            finish_reason: None,
            done_seen: false,
            malformed_events: 0,
            usage: Usage::default(),
            outcome: Outcome::Ok,
            failure_kind: None,
            cancel_cause: None,
            error: None,
        }
    }
}
