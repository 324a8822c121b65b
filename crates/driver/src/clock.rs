//! The only reader of the operating system's clock.
//!
//! Every stamp of a run counts nanoseconds from one anchor on the monotonic clock, so a step of the wall clock in mid-run
//! changes nothing. Wall time is read once, together with the anchor, and is for correlation only.
//!
//! [`Alarm`] wakes a run loop at an instant. The runtime's own timers have slots of a millisecond and round up; a timerfd
//! is late by some tens of microseconds (`dependencies` §2b).

use std::io;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;

use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How long before its deadline [`Pacing::Exact`] stops sleeping and spins.
pub const SPIN_NS: u64 = 100_000;

const NS_PER_S: u64 = 1_000_000_000;

/// A run's clock. A plain value: copies share the anchor.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    anchor_ns: u64,
    wall_anchor_ns: u64,
}

impl Clock {
    /// Sets the anchor to now. Once per process.
    pub fn start() -> Self {
        Self {
            anchor_ns: read(ClockId::Monotonic),
            wall_anchor_ns: read(ClockId::Realtime),
        }
    }

    /// Nanoseconds since the anchor.
    pub fn now_ns(&self) -> u64 {
        read(ClockId::Monotonic).saturating_sub(self.anchor_ns)
    }

    /// Wall time at the anchor, in nanoseconds since 1970 (UTC). Other wall times are this plus a stamp.
    pub fn wall_anchor_ns(&self) -> u64 {
        self.wall_anchor_ns
    }
}

fn read(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    // Both clocks count up from a moment in the past.
    tv_sec as u64 * NS_PER_S + tv_nsec as u64
}

/// Lets this thread, and those it starts later, be woken within a nanosecond of the time they asked for, as far as the
/// kernel can (its default slack is 50 µs). To be called before the runtime starts its threads.
///
/// # Errors
/// When the kernel refuses.
pub fn tighten_timer_slack() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN))?)
}

/// How a wake-up is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// Sleep until the deadline.
    #[default]
    Sleep,
    /// Sleep until [`SPIN_NS`] before the deadline, then spin: exact, for a tenth of a core.
    Exact,
}

/// Wakes one waiting loop at absolute instants.
#[derive(Debug)]
pub struct Alarm {
    clock: Clock,
    timer: AsyncFd<OwnedFd>,
    pacing: Pacing,
}

impl Alarm {
    /// An alarm on the runtime of the caller.
    ///
    /// # Errors
    /// When the kernel gives no timer.
    pub fn new(clock: Clock, pacing: Pacing) -> io::Result<Self> {
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        // Deprecated because a type may lie about its descriptor. `OwnedFd` cannot, and the successor is unsafe to call.
        #[allow(deprecated)]
        let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
        Ok(Self { clock, timer, pacing })
    }

    /// Returns at `deadline_ns` (from the anchor) or at once when it has passed, and says by how many nanoseconds it is
    /// late. May be dropped and called again with another deadline.
    ///
    /// # Errors
    /// When the kernel refuses the timer.
    pub async fn sleep_until(&mut self, deadline_ns: u64) -> io::Result<u64> {
        let wake_ns = match self.pacing {
            Pacing::Sleep => deadline_ns,
            Pacing::Exact => deadline_ns.saturating_sub(SPIN_NS),
        };
        if wake_ns > self.clock.now_ns() {
            self.set(wake_ns)?;
            self.expired().await?;
        }
        while self.clock.now_ns() < deadline_ns {
            std::hint::spin_loop();
        }
        Ok(self.clock.now_ns().saturating_sub(deadline_ns))
    }

    fn set(&self, wake_ns: u64) -> io::Result<()> {
        let at_ns = self.clock.anchor_ns.saturating_add(wake_ns);
        let once = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: Timespec {
                tv_sec: (at_ns / NS_PER_S).cast_signed(),
                tv_nsec: (at_ns % NS_PER_S).cast_signed(),
            },
        };
        timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::ABSTIME, &once)?;
        Ok(())
    }

    async fn expired(&self) -> io::Result<()> {
        let mut expirations = [0; 8];
        loop {
            let mut ready = self.timer.readable().await?;
            // Setting the timer anew makes an earlier expiration unreadable: then this was an old readiness.
            if let Ok(read) = ready.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut expirations)?)) {
                read?;
                return Ok(());
            }
        }
    }
}
