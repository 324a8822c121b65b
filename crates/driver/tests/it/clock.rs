//! The clock and the alarm. Only order and lower bounds: how late a wake-up is, a busy machine decides.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use driver::clock::{Alarm, Clock, Pacing, tighten_timer_slack};

const MS: u64 = 1_000_000;

#[test]
fn counts_up_from_the_anchor() {
    let clock = Clock::start();
    let copy = clock;
    let first = clock.now_ns();
    std::thread::sleep(Duration::from_millis(5));
    let second = copy.now_ns();
    assert!(second - first >= 5 * MS);
    #[allow(clippy::disallowed_methods)] // the other clock to compare with
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let told = Duration::from_nanos(clock.wall_anchor_ns() + clock.now_ns());
    assert!(wall.abs_diff(told) < Duration::from_secs(5));
}

#[tokio::test]
async fn alarms_are_never_early() {
    tighten_timer_slack().unwrap();
    let clock = Clock::start();
    for pacing in [Pacing::Sleep, Pacing::Exact] {
        let mut alarm = Alarm::new(clock, pacing).unwrap();
        for wait_ns in [0, 50_000, 3 * MS, MS, 20 * MS] {
            let deadline_ns = clock.now_ns() + wait_ns;
            let late_ns = alarm.sleep_until(deadline_ns).await.unwrap();
            assert!(clock.now_ns() >= deadline_ns + late_ns);
        }
        // In the past.
        let late_ns = alarm.sleep_until(clock.now_ns() - 10 * MS).await.unwrap();
        assert!(late_ns >= 10 * MS);
    }
}

#[tokio::test]
async fn an_alarm_can_be_set_anew() {
    let clock = Clock::start();
    let mut alarm = Alarm::new(clock, Pacing::Sleep).unwrap();
    let far_ns = clock.now_ns() + 3_600_000 * MS;
    let given_up = tokio::time::timeout(Duration::from_millis(10), alarm.sleep_until(far_ns)).await;
    assert!(given_up.is_err());
    let deadline_ns = clock.now_ns() + 5 * MS;
    alarm.sleep_until(deadline_ns).await.unwrap();
    assert!(clock.now_ns() >= deadline_ns);
    // It expired unseen: the next deadline must not take that for its own.
    let soon_ns = clock.now_ns() + MS;
    {
        let sleep = alarm.sleep_until(soon_ns);
        tokio::select! { biased; _ = sleep => {}, () = std::future::ready(()) => {} }
    }
    std::thread::sleep(Duration::from_millis(3));
    let deadline_ns = clock.now_ns() + 20 * MS;
    alarm.sleep_until(deadline_ns).await.unwrap();
    assert!(clock.now_ns() >= deadline_ns);
}
