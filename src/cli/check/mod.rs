//! Checks the inputs, and shows every finding where its cause is written.
//!
//! * [`schema`]: objects of ours against their schema.
//! * [`objects`]: objects of ours by what they mean.
//! * [`config_maps`]: queues.yaml and the admission controller's keys.
//! * [`cross`]: findings that need all objects together.

pub mod config_maps;
pub mod cross;
pub mod objects;
pub mod schema;

use super::input::object::Kind;
use super::input::{Finding, Inputs};

/// Returns all findings on each object by itself, in the order of the texts.
pub fn each(inputs: &Inputs) -> Vec<Finding> {
    let mut findings = Vec::new();
    for object in &inputs.objects {
        let diagnostics = match object.kind {
            Kind::ConfigMap => config_maps::check(inputs, object),
            Kind::QueueAcl | Kind::AdmissionPolicy | Kind::YuniKornConfig | Kind::QueueAccessTest => {
                objects::check(inputs, object)
            }
        };
        findings.extend(diagnostics.into_iter().map(|diagnostic| Finding {
            source: Some(object.document.source),
            object: Some(object.label()),
            diagnostic,
        }));
    }
    for document in &inputs.bare {
        let diagnostics = config_maps::check_bare(inputs, document);
        let source = Some(document.source);
        findings.extend(diagnostics.into_iter().map(|diagnostic| Finding {
            source,
            object: None,
            diagnostic,
        }));
    }
    findings
}

/// Sorts findings in the order of the texts; findings without a text come last. Duplicates are removed.
pub fn sort(findings: &mut Vec<Finding>) {
    let place = |finding: &Finding| {
        let span = finding.diagnostic.span.map_or(usize::MAX, |span| span.start);
        (finding.source.unwrap_or(usize::MAX), span)
    };
    findings.sort_by_key(place);
    findings.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::assemble::{assemble, only_bare};
    use crate::cli::input::source::Source;
    use crate::cli::{findings, statuses};
    use proptest::prelude::*;
    use queuewarden_plan::simulate::settle;

    const SEED: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yunikorn-defaults}\ndata:\n  queues.yaml: |\n    partitions:\n      - name: default\n        queues:\n          - name: root\n            submitacl: 'sue dev'\n---\napiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {name: a}\nspec:\n  queue: root\n  submit: {acl: \"bob\\tops\"}\n  admin: {users: [sue], groups: ['a''b']}\n  expiresAt: 2030-01-01\n---\n{\"apiVersion\": \"queuewarden.dev/v1alpha1\", \"kind\": \"AdmissionPolicy\", \"metadata\": {\"name\": \"b\"}, \"spec\": {\"externalUsers\": [\"^a$\"]}}\n";

    fn any_text() -> impl Strategy<Value = String> {
        let change = (
            0..SEED.len(),
            0_usize..4,
            "[ \\n\\t:#'\"{}\\[\\],*&!|>?%@-]{0,3}|ü|\u{feff}|---\\n|null|1e3|<<",
        );
        prop_oneof![
            any::<String>(),
            prop::collection::vec(change, 1..6).prop_map(|changes| {
                changes.into_iter().fold(SEED.to_string(), |text, (at, cut, put)| {
                    let at = text.floor_char_boundary(at);
                    let end = text.ceil_char_boundary(at.saturating_add(cut));
                    let (head, rest) = text.split_at(at);
                    format!("{head}{put}{}", rest.split_at(end - at).1)
                })
            }),
        ]
    }

    proptest! {
        /// Every input gets an answer: nothing panics, every span is inside its text, and every error has a
        /// message.
        #[test]
        fn every_text_is_answered(text in any_text()) {
            let source = Source { name: "x.yaml".into(), file_name: "x.yaml".into(), text };
            let inputs = Inputs::of(vec![source]);
            let base = only_bare(&inputs);
            let assembled = assemble(&inputs, base, jiff::Timestamp::UNIX_EPOCH);
            let mut found: Vec<Finding> = inputs.findings.iter().chain(&assembled.findings).cloned().collect();
            found.extend(each(&inputs));
            let settled = settle(assembled.snapshot);
            found.extend(cross::check(&inputs, &settled, assembled.has_tree, &found));
            sort(&mut found);
            for finding in &found {
                let text = finding.source.and_then(|index| inputs.sources.get(index)).map_or("", |source| &source.text);
                let place = finding.diagnostic.span.unwrap_or_default();
                prop_assert!(text.get(place.start..place.end).is_some(), "{finding:?}");
                prop_assert!(!finding.diagnostic.message.is_empty());
            }
            findings::text(&inputs, &found, true);
            statuses::show(&settled.plan, statuses::Format::Table, 80);
        }
    }
}
