//! The user's wish to stop: Ctrl-C, or a polite signal from elsewhere.

use crate::output;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Wishes that may wait to be heard; more say nothing new.
const WISHES_MAX: usize = 2;

/// A word for each signal. The first lets requests in flight finish, the second cancels them.
pub(crate) fn wishes() -> std::io::Result<mpsc::Receiver<()>> {
    let (wish, wishes) = mpsc::channel(WISHES_MAX);
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        let mut heard = 0;
        loop {
            tokio::select! {
                Some(()) = interrupt.recv() => {}
                Some(()) = terminate.recv() => {}
                () = wish.closed() => return,
            }
            heard += 1;
            output::say(match heard {
                1 => "stopping: nothing new is sent, requests in flight may finish; once more cancels them",
                _ => "cancelling requests in flight",
            });
            // A full queue already holds as many wishes as mean anything.
            let _ = wish.try_send(());
        }
    });
    Ok(wishes)
}

/// Waits for the first wish.
pub(crate) async fn once() -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
