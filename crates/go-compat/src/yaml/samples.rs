//! The sample configurations of `tests/samples`.

use std::fs;
use std::path::Path;

/// Returns the texts of all samples, ordered by file name.
pub(super) fn samples() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/samples");
    let mut files: Vec<_> = [root.join("yunikorn"), root]
        .iter()
        .flat_map(|directory| fs::read_dir(directory).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    assert!(files.len() > 90, "the samples are missing");
    files.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}
