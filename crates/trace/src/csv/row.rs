//! One request of a trace.

/// Most tokens that a cell may state.
pub const TOKENS_MAX: u32 = u32::MAX;

/// One row of the data CSV. Times are microseconds; texts are borrowed from wherever the row came from.
///
/// Two clocks stand in one row: `arrival_us` and `deadline_us` count from the start of the run; in a trace of mode `real`
/// the three others are wall-clock microseconds since 1970. Subtract only within a group (`trace-csv`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row<'a> {
    /// Dispatch index, unique in the file; joins the sidecar.
    pub request_id: u64,
    /// The workload client.
    pub client_id: &'a str,
    /// Tenant for fair-share scheduling.
    pub tenant_id: &'a str,
    /// Class name; empty is `default`.
    pub slo_class: &'a str,
    /// Priority sent to the server, 0 most urgent; 0 where the column is absent.
    pub vllm_priority: u64,
    /// Session of several rounds; empty for a single request.
    pub session_id: &'a str,
    /// Round within the session, from 0.
    pub round_index: u32,
    /// Requests of one group share their leading text; empty for none.
    pub prefix_group: &'a str,
    /// Tokens of that shared text.
    pub prefix_length: u32,
    /// The answer was streamed.
    pub streaming: bool,
    /// Prompt tokens without the shared prefix.
    pub input_tokens: u32,
    /// Generated tokens as the server reported them; planned ones in a generated trace.
    pub output_tokens: u32,
    /// Text part of the input.
    pub text_tokens: u32,
    /// Image part.
    pub image_tokens: u32,
    /// Audio part.
    pub audio_tokens: u32,
    /// Video part.
    pub video_tokens: u32,
    /// Share of the output that is reasoning, 0 to 1.
    pub reason_ratio: f64,
    /// Model name; empty for the default one.
    pub model: &'a str,
    /// Client's deadline on the arrival clock; 0 for none.
    pub deadline_us: i64,
    /// Target of the first token; 0 for none or where the column is absent.
    pub slo_target_us: i64,
    /// Prompt tokens as the server counted them; 0 not recorded.
    pub server_input_tokens: u32,
    /// When the request was due.
    pub arrival_us: i64,
    /// When it was handed to the socket.
    pub send_us: i64,
    /// First content chunk; 0 never.
    pub first_chunk_us: i64,
    /// Last content chunk; 0 never.
    pub last_chunk_us: i64,
    /// Content chunks; 1 unstreamed, 0 simulated.
    pub num_chunks: u64,
    /// `ok`, `error`, `timeout`; `incomplete` in generated traces.
    pub status: &'a str,
    /// Text of the error.
    pub error_message: &'a str,
    /// `stop`, `length`, …; empty not recorded.
    pub finish_reason: &'a str,
    /// Id sent as request header; empty where the column is absent.
    pub x_request_id: &'a str,
    /// `LoRA` adapter.
    pub adapter: &'a str,
    /// Client's think time before this round, from the end of the round before; 0 also for not recorded.
    pub think_time_us: i64,
}

impl Row<'_> {
    /// Tokens of the whole prompt that was meant to be sent.
    pub fn prompt_tokens(&self) -> u64 {
        u64::from(self.prefix_length) + u64::from(self.input_tokens)
    }

    /// TTFT in µs, where both stamps are there and in order.
    pub fn ttft_us(&self) -> Option<i64> {
        self.since_send(self.first_chunk_us)
    }

    /// Time to the last chunk in µs, where both stamps are there and in order.
    pub fn e2e_us(&self) -> Option<i64> {
        self.since_send(self.last_chunk_us)
    }

    /// The request's mean gap between tokens in µs (`itl_ms` of `trace-csv` §2.5, TPOT elsewhere here); `None` below two
    /// output tokens.
    pub fn mean_itl_us(&self) -> Option<f64> {
        let span = self.e2e_us()? - self.ttft_us()?;
        (self.output_tokens >= 2).then(|| span as f64 / f64::from(self.output_tokens - 1))
    }

    /// The row enters latency statistics: answered, with stamps that make sense (`trace-csv` §2.5).
    pub fn has_latency(&self) -> bool {
        self.status == "ok"
            && self
                .ttft_us()
                .zip(self.e2e_us())
                .is_some_and(|(ttft, e2e)| ttft > 0 && e2e >= ttft)
    }

    fn since_send(&self, stamp: i64) -> Option<i64> {
        (stamp != 0)
            .then(|| stamp - self.send_us)
            .filter(|time| *time >= 0)
    }
}
