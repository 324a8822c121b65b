//! Enough file descriptors for the connections of a run, asked for before it starts.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that a run needs beside its connections: its files, the runtime, server metrics, room for the rest.
pub const DESCRIPTORS_RESERVED: u64 = 64;

/// A run needs more open files than it may have.
#[derive(Debug, thiserror::Error)]
#[error(
    "{connections} connections need {needed} open files, but the hard limit is {hard}; \
     hint: raise it (`ulimit -Hn {needed}`) or lower the concurrency"
)]
pub struct TooFewDescriptors {
    /// Connections that may be open at once.
    pub connections: u64,
    /// Descriptors for them and everything else.
    pub needed: u64,
    /// What the process may have at most.
    pub hard: u64,
}

/// Raises the soft limit of open files so that `connections` fit, where it is lower. Gives the limit then in force
/// (`None`: no limit).
///
/// # Errors
/// When the hard limit is too low, or the kernel refuses.
pub fn ensure_descriptors(connections: u64) -> Result<Option<u64>, TooFewDescriptors> {
    let needed = connections.saturating_add(DESCRIPTORS_RESERVED);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|soft| soft >= needed) {
        return Ok(limit.current);
    }
    let raised = Rlimit {
        current: Some(needed),
        maximum: limit.maximum,
    };
    let allowed = limit.maximum.is_none_or(|hard| hard >= needed);
    if allowed && setrlimit(Resource::Nofile, raised).is_ok() {
        return Ok(Some(needed));
    }
    Err(TooFewDescriptors {
        connections,
        needed,
        hard: limit.maximum.or(limit.current).unwrap_or(u64::MAX),
    })
}
