//! An ACL in YARN's syntax: its meaning in YARN, and the ACL to write for `YuniKorn`.

use serde_json::{Value, json};

use super::{Explains, VERSION, diagnostics, draw, grants, line, names, refusals};
use crate::cli::ask::output::visible;
use crate::cli::input::source::Source;
use go_compat::diag::{Diagnostic, quoted};
use yunikorn::acl::Acl;
use yunikorn::application::Reading;
use yunikorn::application::carry::{Analysis, lint};

/// An ACL as YARN reads it.
pub(super) struct Explained {
    source: Source,
    reading: Reading,
    analysis: Analysis,
    /// Errors of `YuniKorn` for the same text.
    refusals: [Option<String>; 2],
}

impl Explained {
    pub(super) fn of(source: Source, reading: Reading) -> Self {
        let (analysis, refusals) = (lint(&source.text, reading), refusals(&source.text));
        Self { source, reading, analysis, refusals }
    }
}

impl Explains for Explained {
    fn findings(&self) -> &[Diagnostic] {
        &self.analysis.diagnostics
    }

    fn as_text(&self, titled: bool, color: bool) -> String {
        let Self { source, reading, analysis: Analysis { acl, carried, diagnostics }, refusals } = self;
        let mut shown: String = diagnostics.iter().map(|finding| draw(finding, source, color)).collect();
        if titled {
            shown.push_str(&line("ACL", &source.name));
        }
        let named = names(
            acl.is_everyone(),
            acl.users().iter().map(String::as_str),
            acl.groups().iter().map(String::as_str),
        );
        shown.push_str(&line("dialect", reading.dialect().name()));
        shown.push_str(&line("grants", &named));
        // A space at the end counts, and is always there without groups.
        shown.push_str(&line("canonical", &format!("`{}`", visible(&acl.canonical()))));
        shown.push_str(&line("YuniKorn", &verdict(refusals)));
        let write = match carried {
            Some(carried) => format!("{}: {}", carried.yaml(), grants(carried)),
            None => "nothing means the same".to_owned(),
        };
        shown.push_str(&line("in YAML", &write));
        shown
    }

    fn as_json(&self) -> Value {
        let Self { source, reading, analysis: Analysis { acl, carried, diagnostics: found }, refusals } =
            self;
        let [validator, activation] = refusals;
        json!({
            "version": VERSION,
            "dialect": reading.dialect().name(),
            "acl": source.text,
            "validates": validator.is_none(),
            "validateError": validator,
            "activates": activation.is_none(),
            "activateError": activation,
            "everyone": acl.is_everyone(),
            "users": acl.users(),
            "groups": acl.groups(),
            "canonical": acl.canonical(),
            "suggestion": carried.as_ref().map(Acl::canonical),
            "diagnostics": diagnostics(found, source),
        })
    }
}

/// Describes `YuniKorn`'s result for the text as it is: activation first, because it decides what is in
/// force.
fn verdict([validator, activation]: &[Option<String>; 2]) -> String {
    match activation.as_ref().or(validator.as_ref()) {
        Some(words) => format!("refuses this text: {}", quoted(words)),
        None => "accepts this text".to_owned(),
    }
}
