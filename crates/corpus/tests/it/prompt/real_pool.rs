//! aiperf's own pool with a real tokenizer: the ids that aiperf got, and text at every token.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use corpus::prompt::{Pool, Tokenizer};

/// Qwen2's tokenizer, unpacked into `folder`; `None` where the shared folder is absent.
pub(super) fn qwen2(folder: &Path) -> Option<Arc<Tokenizer>> {
    let packed = testkit::shared("oracle/tokenizer/tokenizer.json.gz")?;
    fs::write(folder.join("tokenizer.json"), testkit::bytes(&packed))
        .expect("a temporary folder takes files");
    Some(Arc::new(
        Tokenizer::load(folder).expect("the oracle's tokenizer is one"),
    ))
}

/// aiperf's seed-42 pool as ids of Qwen2's tokenizer.
pub(super) fn pool(folder: &Path, tokenizer: &Arc<Tokenizer>) -> Option<Arc<Pool>> {
    let packed = testkit::shared("oracle/pool/coding_pool_seed42_qwen2.u32le.gz")?;
    let path = folder.join("pool.u32le");
    fs::write(&path, testkit::bytes(&packed)).expect("a temporary folder takes files");
    Some(Arc::new(
        Pool::load(&path, Arc::clone(tokenizer)).expect("the oracle's pool is one"),
    ))
}

#[test]
fn text_and_ids_give_aiperf_s_pool() {
    let folder = testkit::tempdir().unwrap();
    let Some(tokenizer) = qwen2(folder.path()) else {
        return;
    };
    let Some(ids) = pool(folder.path(), &tokenizer) else {
        return;
    };
    let Some(packed) = testkit::shared("oracle/pool/coding_pool_seed42.txt.gz") else {
        return;
    };
    let path = folder.path().join("pool.txt");
    fs::write(&path, testkit::bytes(&packed)).unwrap();
    let text = Pool::load(&path, Arc::clone(&tokenizer)).unwrap();

    assert_eq!(
        tokenizer.sha256(),
        Some("3843102c8e69b108cc7cd5911531f5c3fa6720fe556ccd6510591490e5b53c93")
    );
    assert_eq!(
        ids.sha256(),
        "2c068118d66a9424712528f3d1d9b82b5847439d2288de36d5c4c5e1e03fca23"
    );
    assert_eq!(
        text.sha256(),
        "e7a6daeed88b5ef43fc725c8e8b6f0b19679dd692c03a8d906a49661efa590ec"
    );
    assert_eq!(ids.tokens(), 276_439);
    assert!(
        text.ids() == ids.ids(),
        "the text was not encoded as aiperf encodes it"
    );

    let bytes: Vec<u8> = ids
        .ids()
        .iter()
        .flat_map(|&id| tokenizer.bytes(id).unwrap().into_owned())
        .collect();
    assert!(
        bytes == fs::read(&path).unwrap(),
        "the tokens' bytes are not the text"
    );
    // Spans that begin and end inside characters too: `✓` and its like are several tokens here and there.
    for span in ids.ids().windows(5).step_by(7) {
        let bytes: Vec<u8> = span
            .iter()
            .flat_map(|&id| tokenizer.bytes(id).unwrap().into_owned())
            .collect();
        assert_eq!(tokenizer.decode(span).unwrap(), String::from_utf8_lossy(&bytes));
    }
}
