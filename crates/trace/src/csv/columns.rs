//! The columns: their names, their order when written, and which of them every file has (`trace-csv` §2.1, §2.2).

/// A column of the data CSV, in writing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
#[expect(missing_docs, reason = "each is documented at its field of `Row`")]
pub enum Column {
    RequestId,
    ClientId,
    TenantId,
    SloClass,
    VllmPriority,
    SessionId,
    RoundIndex,
    PrefixGroup,
    PrefixLength,
    Streaming,
    InputTokens,
    OutputTokens,
    TextTokens,
    ImageTokens,
    AudioTokens,
    VideoTokens,
    ReasonRatio,
    Model,
    DeadlineUs,
    SloTargetUs,
    ServerInputTokens,
    ArrivalTimeUs,
    SendTimeUs,
    FirstChunkTimeUs,
    LastChunkTimeUs,
    NumChunks,
    Status,
    ErrorMessage,
    FinishReason,
    XRequestId,
    Adapter,
    ThinkTimeUs,
}

/// How many columns there are.
pub const COLUMNS: usize = 32;
/// How many of them every file has.
pub const BASE_COLUMNS: usize = 27;

impl Column {
    /// All columns, in writing order.
    pub const ALL: [Self; COLUMNS] = [
        Self::RequestId,
        Self::ClientId,
        Self::TenantId,
        Self::SloClass,
        Self::VllmPriority,
        Self::SessionId,
        Self::RoundIndex,
        Self::PrefixGroup,
        Self::PrefixLength,
        Self::Streaming,
        Self::InputTokens,
        Self::OutputTokens,
        Self::TextTokens,
        Self::ImageTokens,
        Self::AudioTokens,
        Self::VideoTokens,
        Self::ReasonRatio,
        Self::Model,
        Self::DeadlineUs,
        Self::SloTargetUs,
        Self::ServerInputTokens,
        Self::ArrivalTimeUs,
        Self::SendTimeUs,
        Self::FirstChunkTimeUs,
        Self::LastChunkTimeUs,
        Self::NumChunks,
        Self::Status,
        Self::ErrorMessage,
        Self::FinishReason,
        Self::XRequestId,
        Self::Adapter,
        Self::ThinkTimeUs,
    ];

    /// As the header line spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::RequestId => "request_id",
            Self::ClientId => "client_id",
            Self::TenantId => "tenant_id",
            Self::SloClass => "slo_class",
            Self::VllmPriority => "vllm_priority",
            Self::SessionId => "session_id",
            Self::RoundIndex => "round_index",
            Self::PrefixGroup => "prefix_group",
            Self::PrefixLength => "prefix_length",
            Self::Streaming => "streaming",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::TextTokens => "text_tokens",
            Self::ImageTokens => "image_tokens",
            Self::AudioTokens => "audio_tokens",
            Self::VideoTokens => "video_tokens",
            Self::ReasonRatio => "reason_ratio",
            Self::Model => "model",
            Self::DeadlineUs => "deadline_us",
            Self::SloTargetUs => "slo_target_us",
            Self::ServerInputTokens => "server_input_tokens",
            Self::ArrivalTimeUs => "arrival_time_us",
            Self::SendTimeUs => "send_time_us",
            Self::FirstChunkTimeUs => "first_chunk_time_us",
            Self::LastChunkTimeUs => "last_chunk_time_us",
            Self::NumChunks => "num_chunks",
            Self::Status => "status",
            Self::ErrorMessage => "error_message",
            Self::FinishReason => "finish_reason",
            Self::XRequestId => "x_request_id",
            Self::Adapter => "adapter",
            Self::ThinkTimeUs => "think_time_us",
        }
    }

    /// Files may lack it.
    pub fn is_optional(self) -> bool {
        matches!(
            self,
            Self::VllmPriority | Self::SloTargetUs | Self::XRequestId | Self::Adapter | Self::ThinkTimeUs
        )
    }

    /// The column of that name.
    pub fn of_name(name: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|column| column.name().as_bytes() == name)
    }
}
