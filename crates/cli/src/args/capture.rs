//! Options of the recording proxy.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct CaptureArgs {
    /// Where clients connect. Loopback unless told otherwise; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:9000", value_name = "ADDR")]
    pub(crate) listen: SocketAddr,
    /// Base URL of the server, with /v1 or without.
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: String,
    /// Folder of the traces; they are numbered on from those that are there.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Header that names a request's session; without it, a request goes on the session whose messages it begins with.
    #[arg(long, value_name = "NAME")]
    pub(crate) session_header: Option<String>,
    /// Header that names the session which started a request's session.
    #[arg(long, value_name = "NAME")]
    pub(crate) parent_header: Option<String>,
    /// Write prompts and answers as text, too, into files of their own. Keys are never written.
    #[arg(long)]
    pub(crate) keep_text: bool,
    /// Write when each chunk of each answer came, too.
    #[arg(long)]
    pub(crate) chunk_times: bool,
    /// Begin a new trace when one has so many bytes.
    #[arg(long, default_value_t = capture::ROTATE_BYTES, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rotate_bytes: u64,
    /// Begin a new trace after so many minutes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rotate_minutes: Option<u64>,
    /// Do not verify the server's certificate.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Trust the certificates in this PEM file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
}
