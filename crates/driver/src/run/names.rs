//! Ids that go out in headers: random for a run, fixed within it, without a table to keep.

use replay::{RequestKey, StreamId};
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

/// Makes the ids of one run.
pub(super) struct Names(Uuid);

impl Names {
    pub(super) fn random() -> Self {
        Self(Uuid::new_v4())
    }

    /// `X-Request-ID`: new for each request.
    pub(super) fn request(&self, request: RequestKey) -> String {
        self.id("request", request)
    }

    /// `X-Correlation-ID`: one for each replay of a conversation, in warm-up and measurement alike.
    pub(super) fn session(&self, stream: StreamId) -> String {
        self.id("session", stream.0)
    }

    fn id(&self, kind: &str, number: u64) -> String {
        let digest = Sha256::new()
            .chain_update(self.0.as_bytes())
            .chain_update(kind.as_bytes())
            .chain_update(number.to_be_bytes())
            .finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Builder::from_random_bytes(bytes).into_uuid().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::Names;
    use replay::StreamId;

    #[test]
    fn ids_are_random_uuids_that_do_not_repeat() {
        let names = Names::random();
        assert_eq!(names.session(StreamId(1)), names.session(StreamId(1)));
        assert_ne!(names.session(StreamId(1)), names.session(StreamId(2)));
        assert_ne!(names.session(StreamId(1)), names.request(1));
        assert_ne!(names.request(1), Names::random().request(1));
        let id = uuid::Uuid::parse_str(&names.request(7)).expect("an id is a UUID");
        assert_eq!(id.get_version_num(), 4);
    }
}
