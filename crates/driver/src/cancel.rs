//! Calling a request off, with the reason.

use std::future::pending;

use record::request::CancelCause;
use tokio::sync::oneshot;

/// Calls one request off. Dropping it leaves the request alone.
#[derive(Debug)]
pub struct Canceller(oneshot::Sender<CancelCause>);

/// The request's end of it.
#[derive(Debug)]
pub struct Cancellation(Option<oneshot::Receiver<CancelCause>>);

/// A canceller and what it cancels.
pub fn cancellation() -> (Canceller, Cancellation) {
    let (sender, receiver) = oneshot::channel();
    (Canceller(sender), Cancellation(Some(receiver)))
}

impl Canceller {
    /// Calls the request off; without effect on one that has ended.
    pub fn cancel(self, cause: CancelCause) {
        // An error means that nobody is left to be told.
        let _ = self.0.send(cause);
    }
}

impl Cancellation {
    /// A request that nobody calls off.
    pub fn never() -> Self {
        Self(None)
    }

    /// Returns when the request is called off, and never otherwise.
    pub(crate) async fn cancelled(&mut self) -> CancelCause {
        if let Some(receiver) = &mut self.0
            && let Ok(cause) = receiver.await
        {
            return cause;
        }
        self.0 = None;
        pending().await
    }
}
