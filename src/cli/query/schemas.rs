//! JSON schemas of all answers, for `docs/schema`.

use schemars::{Schema, schema_for};

use crate::cli::application::answer::ApplicationAnswer;
use crate::cli::check::CheckAnswer;
use crate::cli::diff::answer::DiffAnswer;
#[cfg(feature = "import")]
use crate::cli::import::answer::ImportAnswer;
use crate::cli::lint::LintAnswer;
use crate::cli::place::answer::PlaceAnswer;
use crate::cli::status::StatusAnswer;
use crate::cli::test::answer::TestAnswer;
use queuewarden_api::answer::report::ReportAnswer;
use queuewarden_api::answer::{DecisionAnswer, MatrixAnswer, WhatCanAnswer, WhoCanAnswer};

/// Returns the schemas with the names of their files.
pub fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("application.json", schema_for!(ApplicationAnswer)),
        ("check.json", schema_for!(CheckAnswer)),
        ("decision.json", schema_for!(DecisionAnswer)),
        ("diff.json", schema_for!(DiffAnswer)),
        #[cfg(feature = "import")]
        ("import.json", schema_for!(ImportAnswer)),
        ("lint.json", schema_for!(LintAnswer)),
        ("matrix.json", schema_for!(MatrixAnswer)),
        ("place.json", schema_for!(PlaceAnswer)),
        ("report.json", schema_for!(ReportAnswer)),
        ("status.json", schema_for!(StatusAnswer)),
        ("test.json", schema_for!(TestAnswer)),
        ("what-can.json", schema_for!(WhatCanAnswer)),
        ("who-can.json", schema_for!(WhoCanAnswer)),
    ]
}
