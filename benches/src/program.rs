//! The built program as a child process: its peak memory, how long it takes, when its first request comes.

use crate::files;
use anyhow::bail;
use driver::clock::Clock;
use sim::Server;
use std::fs;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How often a child is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Longest time that a child may take to whatever is waited for.
const WAIT_S: u64 = 300;

/// A `turnmill …` under way. Dropped before its end, it is killed.
pub(crate) struct Program {
    child: Child,
    clock: Clock,
    begun_ns: u64,
    peak_kb: u64,
}

/// One that has ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// From its start to its end.
    pub(crate) seconds: f64,
    /// Its largest resident set.
    pub(crate) peak_mb: f64,
}

impl Drop for Program {
    fn drop(&mut self) {
        // An error says that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program {
    /// Starts it with the arguments that `arguments` adds; its output goes nowhere.
    pub(crate) fn start(clock: Clock, arguments: impl FnOnce(&mut Command)) -> anyhow::Result<Self> {
        let mut command = Command::new(files::turnmill()?);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        arguments(&mut command);
        let begun_ns = clock.now_ns();
        Ok(Self {
            child: command.spawn()?,
            clock,
            begun_ns,
            peak_kb: 0,
        })
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> anyhow::Result<Ended> {
        loop {
            if let Some(status) = self.look()? {
                return Ok(Ended {
                    status,
                    seconds: (self.clock.now_ns() - self.begun_ns) as f64 / 1e9,
                    peak_mb: self.peak_kb as f64 * 1024.0 / 1e6,
                });
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits for the arrival of its first request at `server`; gives the instant on the server's clock.
    pub(crate) fn first_request_ns(&mut self, server: &Server) -> anyhow::Result<u64> {
        loop {
            let seen = server.log();
            let asked = seen.iter().filter(|seen| seen.nth > 0);
            if let Some(first_ns) = asked.map(|seen| seen.arrived_ns).min() {
                return Ok(first_ns);
            }
            if let Some(status) = self.look()? {
                bail!("no request came, and the program ended with {status}");
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Whether it has ended; notes its memory.
    fn look(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        let waited_ns = self.clock.now_ns() - self.begun_ns;
        anyhow::ensure!(waited_ns < WAIT_S * 1_000_000_000, "the program does not end");
        self.peak_kb = self.peak_kb.max(high_water_kb(self.child.id()).unwrap_or(0));
        Ok(self.child.try_wait()?)
    }
}

/// `VmHWM` of a process: its largest resident set so far.
fn high_water_kb(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
