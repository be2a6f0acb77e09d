//! Checks of objects and ConfigMaps in files.
//!
//! * [`super::schema`]: queuewarden's objects against their schema.
//! * [`objects`]: queuewarden's objects by their meaning and their combined effect.
//! * [`config_maps`]: queues.yaml, and the keys of `YuniKorn`'s ConfigMaps.
//! * [`trees`]: findings that need the whole tree of queues.

pub mod config_maps;
pub mod objects;
pub mod trees;

use jiff::Timestamp;

use super::configuration::ObjectChange;
use super::files::FileSource;
use super::input::Inputs;
use super::input::object::Kind;
use crate::output::text::{Source, SourceDiagnostic};
use crate::output::{Console, Failure, findings};

/// Returns all findings on each object by itself, and on `YuniKorn`'s ConfigMaps, in the order of the texts.
pub fn each(given: &FileSource) -> Vec<SourceDiagnostic> {
    let inputs = &given.inputs;
    let of_objects = inputs.objects.iter().flat_map(|object| {
        let diagnostics = match object.kind {
            Kind::ConfigMap => Vec::new(),
            Kind::Ours(kind) => objects::check(inputs, object, kind),
        };
        diagnostics.into_iter().map(|diagnostic| object.finding(diagnostic))
    });
    let version = given.snapshot.version();
    let of_bare = inputs.bare.iter().flat_map(|document| {
        let diagnostics = config_maps::check_bare(inputs, document, version).into_iter();
        diagnostics.map(|diagnostic| SourceDiagnostic::new(document.source, diagnostic))
    });
    of_objects.chain(config_maps::check(given)).chain(of_bare).collect()
}

/// Reads a manifest as a change, and prints its findings; `None` if there are errors.
pub(crate) fn checked(
    text: &str,
    now: Option<Timestamp>,
    console: Console,
) -> Result<Option<ObjectChange>, Failure> {
    let inputs = Inputs::new(vec![Source::new("the QueueAcl", text)]);
    let given = FileSource::new(inputs, now).checked(console)?;
    let found = each(&given);
    console.err(&findings::text(&given.inputs.sources, &found, console.look_err()));
    let refused = found.iter().any(|finding| finding.diagnostic.is_error());
    Ok((!refused).then(|| given.change().unwrap_or_default()))
}
