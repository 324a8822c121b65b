//! The limit of open files.

use driver::descriptors::{DESCRIPTORS_RESERVED, ensure_descriptors};

#[test]
fn raises_or_says_how_many() {
    let limit = ensure_descriptors(100).unwrap();
    assert!(limit.is_none_or(|limit| limit >= 100 + DESCRIPTORS_RESERVED));
    let hard = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    let Some(hard) = hard else { return };
    let error = ensure_descriptors(hard).unwrap_err();
    assert_eq!(error.needed, hard + DESCRIPTORS_RESERVED);
    assert!(
        error
            .to_string()
            .contains(&format!("need {} open files", error.needed))
    );
    let raised = ensure_descriptors(hard - DESCRIPTORS_RESERVED).unwrap();
    assert_eq!(raised, Some(hard));
}
