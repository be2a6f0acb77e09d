//! Maintains unit test fixtures that are generated here and answered by the oracle. `UPDATE=1` writes them
//! again.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::Value;

/// Generates this many inputs, the same each time.
pub(super) fn draw<S: Strategy>(count: usize, inputs: &S) -> Result<Vec<S::Value>> {
    let mut runner = TestRunner::deterministic();
    (0..count)
        .map(|_| {
            let tree =
                inputs.new_tree(&mut runner).map_err(|reason| anyhow::anyhow!("no input: {reason}"))?;
            Ok(tree.current())
        })
        .collect()
}

/// Compares a file in `tests/vectors` with these rows, one per line.
pub(super) fn hold(name: &str, rows: impl Iterator<Item = Value>) -> Result<()> {
    let path = format!("{}/../tests/vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    for row in rows {
        text.push_str(&row.to_string());
        text.push('\n');
    }
    if std::env::var_os("UPDATE").is_some() {
        return fs::write(&path, text).context(path);
    }
    let held = fs::read_to_string(&path).with_context(|| path.clone())?;
    for (number, (held, row)) in held.lines().zip(text.lines()).enumerate() {
        ensure!(held == row, "{path}:{}: UPDATE=1 writes it anew; now it is\n{row}", number + 1);
    }
    ensure!(held == text, "{path} has more or fewer rows: UPDATE=1 writes it anew");
    Ok(())
}
