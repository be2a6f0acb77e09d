//! What is wrong with what was read, every finding where it was written.
//!
//! * [`schema`]: objects of ours against their schema.
//! * [`objects`]: objects of ours by what they mean.
//! * [`config_maps`]: queues.yaml and the admission controller's keys.
//! * [`cross`]: what can only be told of all of them together.

pub mod config_maps;
pub mod cross;
pub mod objects;
pub mod schema;

use super::input::object::Kind;
use super::input::{Finding, Inputs};

/// Everything that can be told about each object by itself, in the order of the texts.
pub fn each(inputs: &Inputs) -> Vec<Finding> {
    let mut findings = Vec::new();
    for object in &inputs.objects {
        let diagnostics = match object.kind {
            Kind::ConfigMap => config_maps::check(inputs, object),
            Kind::QueueAcl | Kind::AdmissionPolicy | Kind::YuniKornConfig => objects::check(inputs, object),
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

/// In the order of the texts; what is about no text in particular comes last. The same thing found twice is told once.
pub fn sort(findings: &mut Vec<Finding>) {
    let place = |finding: &Finding| {
        let span = finding.diagnostic.span.map_or(usize::MAX, |span| span.start);
        (finding.source.unwrap_or(usize::MAX), span)
    };
    findings.sort_by_key(place);
    findings.dedup();
}
