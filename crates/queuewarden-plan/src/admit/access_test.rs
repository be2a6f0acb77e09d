//! Applies access tests to changes: of themselves, and of the `QueueAcl`s that they are about.

use super::{Response, Versions, queues};
use crate::access_tests::{Broken, broken, trouble};
use crate::decide::decided;
use crate::parse_cache::ParseCache;
use crate::snapshot::{AccessTestEntry, Snapshot};
use yunikorn::config::Config;

/// Answers a change of a test. A failing test may be written, because an intended change begins that way.
pub(super) fn admit(snapshot: &Snapshot, versions: &Versions<AccessTestEntry>) -> Response {
    let spec = match versions.new.as_ref().map(|new| &new.spec) {
        None => return Response::default(),
        Some(Err(faults)) => return Response::wrong(faults),
        Some(Ok(spec)) => spec,
    };
    let is = decided(snapshot, &mut ParseCache::new(snapshot.version()));
    let Some(config) = is.as_ref().and_then(queues) else { return Response::default() };
    let trouble = trouble(&spec.expectations, config, snapshot.version());
    Response::warned(&trouble.into_iter().collect::<Vec<_>>())
}

/// Returns the warnings of the tests about a change of the queues, or the reason why they refuse it.
pub(super) fn warnings(
    snapshot: &Snapshot,
    was: Option<&Config>,
    is: Option<&Config>,
) -> Result<Vec<String>, String> {
    let (Some(was), Some(is)) = (was, is) else { return Ok(Vec::new()) };
    let broken = broken(snapshot, was, is);
    match broken.iter().find(|broken| broken.blocks) {
        Some(blocking) => Err(format!(
            "QueueAccessTest/{} does not let this through, in {}; if it is meant, change the test first{}",
            blocking.name,
            blocking.first,
            more(blocking)
        )),
        None => Ok(broken.iter().map(warning).collect()),
    }
}

fn warning(broken: &Broken) -> String {
    format!("breaks QueueAccessTest/{}, {}{}", broken.name, broken.first, more(broken))
}

fn more(broken: &Broken) -> String {
    match broken.checks.saturating_sub(1) {
        0 => String::new(),
        1 => "; and one more check".to_owned(),
        more => format!("; and {more} more checks"),
    }
}
