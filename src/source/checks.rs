//! Lines about an installation, for `check` and `status`. Unreadable parts are unknown, and not reported as
//! in order or broken.

use schemars::JsonSchema;
use serde::Serialize;

use super::installed::ObservedObject;
use crate::output::Failure;
use queuewarden_client::call::CallError;
use queuewarden_plan::conditions::{Status, Type};
use queuewarden_plan::risks;
use queuewarden_plan::snapshot::Snapshot;
use yunikorn_access::Origin;

const OPEN: &str = "fail-open";
const ADMISSION: &str = "admission";
/// Maximum number of objects that are named.
pub(crate) const NAMED: usize = 5;

/// The role that may read everything that is checked, and how to bind it.
pub(crate) const ROLE: &str = "bind the role of manifests/users.yaml that may read it: kubectl create clusterrolebinding \
    queuewarden-checker --clusterrole queuewarden-checker --user NAME";
/// What to do about something that was not answered.
pub(crate) const AGAIN: &str = "try again, and check the API server";
/// The address of the documentation.
const DOCS: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs");

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// In order.
    Ok,
    /// Worth a look.
    Warn,
    /// Unknown, because it cannot be read.
    Unknown,
    /// Broken.
    Fail,
}

/// A line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    /// The check; its name is stable.
    pub check: &'static str,
    /// The result.
    pub level: Level,
    /// The finding.
    pub found: String,
    /// The remedy; absent if nothing is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Line {
    /// Creates a line for a check that is in order.
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, found: found.into(), remedy: None }
    }

    /// Creates a line for a finding that is worth a look.
    pub fn warn(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, level: Level::Warn, found: found.into(), remedy: Some(remedy.into()) }
    }

    /// Creates a line for something that is broken.
    pub fn fail(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Fail, ..Self::warn(check, found, remedy) }
    }

    /// Creates a line for something unknown, because it is forbidden to read it, or there is no answer.
    pub fn unknown(check: &'static str, what: &str, error: &impl Unread) -> Self {
        let remedy = if error.is_forbidden() { ROLE } else { AGAIN };
        Self { level: Level::Unknown, ..Self::warn(check, format!("{what} is not known: {error}"), remedy) }
    }

    /// Creates the same for something that matters less than the rest.
    pub fn unread(check: &'static str, what: &str, error: &impl Unread) -> Self {
        Self { level: Level::Warn, ..Self::unknown(check, what, error) }
    }
}

/// A reason why something is unknown.
pub trait Unread: std::fmt::Display {
    /// Returns whether a right is missing.
    fn is_forbidden(&self) -> bool;
}

impl Unread for CallError {
    fn is_forbidden(&self) -> bool {
        self.is_forbidden()
    }
}

impl Unread for Failure {
    fn is_forbidden(&self) -> bool {
        matches!(self, Self::Forbidden(_))
    }
}

/// Returns the address of a page of the documentation.
pub(crate) fn page(name: &str) -> String {
    format!("{DOCS}/{name}")
}

/// Lists the first `most` texts, and counts the others.
pub(crate) fn list(texts: &[String], separator: &str, most: usize) -> String {
    let more = texts.len().saturating_sub(most);
    let more = if more > 0 { format!("{separator}and {more} more") } else { String::new() };
    let shown: Vec<&str> = texts.iter().take(most).map(String::as_str).collect();
    format!("{}{more}", shown.join(separator))
}

/// Creates the line for a root queue that lets everyone in.
pub(crate) fn fail_open(config: &ObservedObject) -> Option<Line> {
    let open = config.condition(Type::FailOpen).filter(|open| open.status == Status::True)?;
    // If the object is Ready all the same, the open root was accepted explicitly.
    let message = open.message.as_str();
    Some(if config.holds(Type::Ready) { Line::ok(OPEN, message) } else { open_root(message) })
}

/// Creates the line for an open root that nobody accepted: the message names the cause, and then the remedy.
fn open_root(message: &str) -> Line {
    let (found, remedy) = message.split_once("; ").unzip();
    let runbook = page("runbooks/QueuewardenFailOpen.md");
    let remedy = remedy.map_or_else(|| runbook.clone(), |remedy| format!("{remedy}; {runbook}"));
    Line::fail(OPEN, found.unwrap_or(message), remedy)
}

/// Creates the line for the settings of the admission controller, independent of their writer.
pub(crate) fn admission(snapshot: &Snapshot) -> Line {
    let risks = risks(snapshot);
    if risks.is_empty() {
        return Line::ok(ADMISSION, "no setting lets unlisted users submit as others");
    }
    let found = risks.iter().map(|(origin, risk)| match origin {
        Origin::Object { kind, name, .. } => format!("{kind}/{name}: {}", risk.message),
        Origin::Text(_) => risk.message.clone(),
    });
    let mut remedies: Vec<String> = risks.iter().filter_map(|(_, risk)| risk.help.clone()).collect();
    remedies.dedup();
    Line::warn(ADMISSION, list(&found.collect::<Vec<_>>(), "; ", NAMED), list(&remedies, "; ", NAMED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_root_has_the_remedy_of_its_message() {
        let line = open_root("QueueAcl `all` lets everyone in; grant less there");
        assert_eq!((line.level, &*line.found), (Level::Fail, "QueueAcl `all` lets everyone in"));
        let runbook =
            "https://github.com/queuewarden/queuewarden/blob/main/docs/runbooks/QueuewardenFailOpen.md";
        assert_eq!(line.remedy.unwrap(), format!("grant less there; {runbook}"));
        assert_eq!(open_root("it is open").remedy.unwrap(), runbook);
    }
}
