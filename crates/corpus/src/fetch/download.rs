//! From the hub into the cache: attempts, resumption and the check at the end.

use std::pin::pin;

use tokio::time::{sleep, timeout};

use super::cache::Place;
use super::digest::is_sha256;
use super::hub::Hub;
use super::limits::FRESH_STARTS_MAX;
use super::partial::Partial;
use super::request::{Answer, Part, Stated, ask};
use super::{FetchError, Fetched, Progress, Wanted, digest};

/// Fetches the wanted file at `revision`.
///
/// [`FetchError::NotFound`] when the hub has no such file there.
pub(super) async fn download(
    hub: &Hub,
    place: &Place,
    wanted: &Wanted,
    revision: &str,
    progress: &mut dyn FnMut(Progress),
) -> Result<Fetched, FetchError> {
    tracing::debug!(
        repository = wanted.repository,
        file = wanted.file,
        revision,
        "asking the hub"
    );
    let mut transfer = Transfer::begin(place, wanted, progress).await?;
    let mut failures = 0;
    let mut reached = transfer.offset();
    loop {
        let error = match transfer.attempt(hub, place, wanted, revision, progress).await {
            Ok(done) => {
                tracing::debug!(path = %done.path.display(), sha256 = done.sha256, bytes = done.bytes, "fetched");
                return Ok(done);
            }
            Err(error) => error,
        };
        tracing::debug!(%error, received = transfer.received, "an attempt failed");
        // Only what goes beyond all earlier attempts is progress: a hub may send the same beginning over and over.
        if transfer.offset() >= reached + hub.limits().progress_bytes {
            reached = transfer.offset();
            failures = 0;
        }
        failures += 1;
        if matches!(error, FetchError::Status { status: 404, .. }) {
            transfer.leave_no_empty_file();
            return Err(not_found(wanted));
        }
        let passing = error.may_pass(transfer.received > 0) || transfer.starts_afresh(&error);
        if !passing {
            transfer.leave_no_empty_file();
            return Err(error);
        }
        if failures > hub.limits().failures_max {
            transfer.leave_no_empty_file();
            let last = Box::new(error);
            return Err(FetchError::GivenUp { failures, last });
        }
        let pause = hub.limits().pause_after(failures, error.retry_after());
        progress(Progress::Retrying {
            reason: error.to_string(),
            failures,
            of: hub.limits().failures_max,
            pause,
        });
        sleep(pause).await;
    }
}

fn not_found(wanted: &Wanted) -> FetchError {
    FetchError::NotFound {
        repository: wanted.repository.clone(),
        file: wanted.file.clone(),
        revisions: wanted.revisions().into_iter().map(str::to_owned).collect(),
    }
}

/// What is left from one attempt to the next.
struct Transfer {
    /// The content so far, once its name is known and something of it has come.
    partial: Option<Partial>,
    /// Bytes received by this process, those included that were thrown away.
    received: u64,
    /// Whether the content so far was begun by an earlier attempt.
    resumed: bool,
    fresh_starts: u32,
}

impl Transfer {
    /// With a stated digest the content's name in the cache is known, so an earlier attempt is found before the hub is
    /// asked; otherwise only the hub can say which one it is.
    async fn begin(
        place: &Place,
        wanted: &Wanted,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, FetchError> {
        let mut partial = None;
        if let Some(sha256) = &wanted.sha256 {
            partial = Partial::resume(place, &sha256.to_ascii_lowercase()).await?;
        }
        let transfer = Self {
            partial,
            received: 0,
            resumed: false,
            fresh_starts: 0,
        };
        transfer.tell_kept(progress);
        Ok(transfer)
    }

    fn offset(&self) -> u64 {
        self.partial.as_ref().map_or(0, Partial::bytes)
    }

    fn tell_kept(&self, progress: &mut dyn FnMut(Progress)) {
        if self.offset() > 0 {
            progress(Progress::Resuming { bytes: self.offset() });
        }
    }

    async fn attempt(
        &mut self,
        hub: &Hub,
        place: &Place,
        wanted: &Wanted,
        revision: &str,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Fetched, FetchError> {
        let url = hub.file_url(&wanted.repository, revision, &wanted.file);
        let mut answer = ask(hub, &url, self.offset(), progress)
            .await
            .inspect_err(|error| {
                self.forget_after(error);
            })?;
        if let Some(done) = already_there(place, wanted, revision, &answer, progress).await? {
            return Ok(done);
        }
        if self.partial.is_none() {
            let name = content_name(wanted, &answer.stated, revision);
            self.partial = Some(Partial::open(place, &name).await?);
            if self.offset() > 0 {
                self.tell_kept(progress);
                answer = ask(hub, &url, self.offset(), progress)
                    .await
                    .inspect_err(|error| {
                        self.forget_after(error);
                    })?;
            }
        }
        let stated = answer.stated.clone();
        let from = answer.url.clone();
        self.receive(hub, answer, progress).await?;
        self.settle(place, wanted, revision, &stated, from)
    }

    /// A hub that cannot continue where we stopped is asked from the beginning the next time.
    fn forget_after(&mut self, error: &FetchError) {
        if matches!(error, FetchError::WrongRange { .. })
            && let Some(partial) = &mut self.partial
        {
            // What cannot be emptied is removed with the next digest that does not match.
            let _ = partial.start_over();
        }
    }

    /// Takes the body of `answer` to the end of the content.
    async fn receive(
        &mut self,
        hub: &Hub,
        answer: Answer,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), FetchError> {
        let Answer {
            mut response,
            part,
            total,
            url,
            ..
        } = answer;
        let limits = hub.limits();
        let partial = self
            .partial
            .as_mut()
            .expect("opened before its bytes are received");
        match part {
            Part::Nothing if total.is_none_or(|total| total == partial.bytes()) => {
                self.resumed = true;
                return Ok(());
            }
            Part::Nothing => {
                let asked = partial.bytes();
                partial.start_over()?;
                let found = format!("nothing, of {} in all", total.unwrap_or_default());
                return Err(FetchError::WrongRange { url, asked, found });
            }
            Part::Whole => {
                self.resumed = false;
                partial.start_over()?;
            }
            Part::Rest => self.resumed = true,
        }
        let mut window = pin!(sleep(limits.pace_window));
        let mut at_window = partial.bytes();
        loop {
            let chunk = tokio::select! {
                chunk = timeout(limits.idle, response.chunk()) => chunk,
                () = &mut window => {
                    let bytes = partial.bytes() - at_window;
                    if bytes < limits.pace_bytes {
                        let (at_least, window) = (limits.pace_bytes, limits.pace_window);
                        return Err(FetchError::TooSlow { url, bytes, at_least, window });
                    }
                    at_window = partial.bytes();
                    window.set(sleep(limits.pace_window));
                    continue;
                }
            };
            let bytes = partial.bytes();
            let broke_off = |reason| FetchError::Truncated {
                url: url.clone(),
                bytes,
                expected: total,
                reason,
            };
            match chunk {
                Err(_) => {
                    return Err(FetchError::Stalled {
                        url,
                        after: limits.idle,
                        bytes,
                    });
                }
                Ok(Err(error)) => return Err(broke_off(super::request::reason(&error))),
                Ok(Ok(None)) if total.is_some_and(|total| total != bytes) => {
                    return Err(broke_off("the answer ended".to_owned()));
                }
                Ok(Ok(None)) => return Ok(()),
                Ok(Ok(Some(chunk))) => {
                    partial.append(&chunk)?;
                    self.received += chunk.len() as u64;
                }
            }
            if partial.bytes() > limits.bytes_max {
                self.discard()?;
                return Err(FetchError::TooLong {
                    url,
                    limit: limits.bytes_max,
                });
            }
            progress(Progress::Received {
                bytes: partial.bytes(),
                total,
            });
        }
    }

    /// Checks the digest and gives the content its place, or removes it.
    fn settle(
        &mut self,
        place: &Place,
        wanted: &Wanted,
        revision: &str,
        stated: &Stated,
        url: String,
    ) -> Result<Fetched, FetchError> {
        let partial = self.partial.take().expect("received just now");
        let (sha256, bytes) = (partial.sha256(), partial.bytes());
        let promised = match (&wanted.sha256, &stated.sha256) {
            (Some(digest), _) => Some((digest, "the request")),
            (None, Some(digest)) => Some((digest, "the hub")),
            (None, None) => None,
        };
        if let Some((expected, stated_by)) = promised
            && !expected.eq_ignore_ascii_case(&sha256)
        {
            partial.discard()?;
            let (expected, found) = (expected.to_ascii_lowercase(), sha256);
            return Err(FetchError::Digest {
                url,
                stated_by,
                expected,
                found,
                bytes,
            });
        }
        // A name that looks like a SHA-256 must be the content's own; a git object id is left as the hub gave it.
        let name = stated
            .etag
            .as_deref()
            .filter(|name| !is_sha256(name))
            .unwrap_or(&sha256);
        let blob = place.blob(name);
        partial.finish(&blob)?;
        Ok(Fetched {
            path: place.publish(&blob, stated, revision, &wanted.file)?,
            sha256,
            bytes,
            revision_used: Some(revision.to_owned()),
            commit: stated.commit.clone(),
            from_cache: false,
        })
    }

    /// Whether content with a wrong digest is worth another attempt: its beginning may be what was wrong.
    fn starts_afresh(&mut self, error: &FetchError) -> bool {
        let worth = matches!(error, FetchError::Digest { .. })
            && self.resumed
            && self.fresh_starts < FRESH_STARTS_MAX;
        self.fresh_starts += u32::from(worth);
        worth
    }

    fn discard(&mut self) -> Result<(), FetchError> {
        self.partial.take().map_or(Ok(()), Partial::discard)
    }

    fn leave_no_empty_file(&mut self) {
        if self.offset() == 0 {
            // The reason why the fetch failed is worth more than why an empty file stays.
            let _ = self.discard();
        }
    }
}

/// What the unfinished content is called: by the stated digest, else as the hub calls it.
fn content_name(wanted: &Wanted, stated: &Stated, revision: &str) -> String {
    let stated_name = wanted.sha256.as_deref().map(str::to_ascii_lowercase);
    stated_name.or_else(|| stated.etag.clone()).unwrap_or_else(|| {
        let mut name = digest::Running::default();
        name.add(format!("{}\n{revision}\n{}", wanted.repository, wanted.file).as_bytes());
        format!("unnamed-{}", name.hex())
    })
}

/// The content that the hub names, if the cache has it under that name and it has that digest: then its body need not come.
async fn already_there(
    place: &Place,
    wanted: &Wanted,
    revision: &str,
    answer: &Answer,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<Fetched>, FetchError> {
    let Some(sha256) = answer.stated.sha256.as_ref().filter(|_| wanted.sha256.is_none()) else {
        return Ok(None);
    };
    let blob = place.blob(&sha256.to_ascii_lowercase());
    if !blob.is_file() {
        return Ok(None);
    }
    progress(Progress::Checking { path: blob.clone() });
    let content = digest::of_file(&blob)
        .await
        .map_err(|error| FetchError::disk(&blob, error))?;
    if !sha256.eq_ignore_ascii_case(&content.hex()) {
        return Ok(None);
    }
    Ok(Some(Fetched {
        path: place.publish(&blob, &answer.stated, revision, &wanted.file)?,
        sha256: content.hex(),
        bytes: content.bytes(),
        revision_used: Some(revision.to_owned()),
        commit: answer.stated.commit.clone(),
        from_cache: true,
    }))
}
