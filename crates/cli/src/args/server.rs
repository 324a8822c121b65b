//! Options of the simulated server.

use clap::Args;
use std::net::SocketAddr;

#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    /// Where to listen. Loopback unless told otherwise; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:8000", value_name = "ADDR")]
    pub(crate) listen: SocketAddr,
    /// Name of the served model.
    #[arg(long, default_value = "sim")]
    pub(crate) model: String,
    /// Context length.
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_model_len: Option<u64>,
    /// Requests that are worked on at once.
    #[arg(long, value_name = "N")]
    pub(crate) max_num_seqs: Option<usize>,
    /// Seed of what is random in it.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}
