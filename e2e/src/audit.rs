//! Reads the requests that the API server actually received, from its audit log.
//!
//! "No write while idle" or "few writes for 500 objects" cannot be proven by looking at objects. The audit
//! log contains every write, with its author.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::operator;

/// The policy: every write, and the operator's reads, with metadata only, once they are answered. Other reads
/// are not recorded.
pub(crate) const POLICY: &str = r#"{
  "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "omitManagedFields": true,
  "rules": [
    {"level": "Metadata", "verbs": ["create", "update", "patch", "delete", "deletecollection"],
     "resources": [{"group": "queuewarden.dev"}, {"group": "", "resources": ["configmaps", "events", "pods"]},
                   {"group": "events.k8s.io"}, {"group": "coordination.k8s.io"}]},
    {"level": "Metadata", "verbs": ["get", "list", "watch"], "omitStages": ["ResponseStarted"],
     "users": ["system:serviceaccount:queuewarden-system:queuewarden"]},
    {"level": "None"}
  ]
}"#;

/// A position in the audit log.
#[derive(Debug, Clone, Copy)]
pub struct Mark(u64);

/// The audit log of the test cluster's API server.
#[derive(Debug, Clone)]
pub struct Audit {
    path: PathBuf,
}

/// One answered write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The user: `system:serviceaccount:<namespace>:<name>`, `admin`, or another.
    pub user: String,
    /// `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// The API group; empty for core.
    pub group: String,
    /// Plural name, e.g. `configmaps`, `queueacls`.
    pub resource: String,
    /// `status`, or empty.
    pub subresource: String,
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// The name; empty if the server generated it.
    pub name: String,
    /// HTTP status.
    pub code: u16,
    /// The client's User-Agent.
    pub agent: String,
    /// Request path with query, which shows a dry run and the field manager.
    pub uri: String,
    /// The time of the response, in RFC 3339 with microseconds, so that it sorts as text.
    pub answered: String,
}

impl Write {
    /// Returns whether it was accepted.
    pub fn accepted(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Returns whether it was a dry run, which changes nothing.
    pub fn dry_run(&self) -> bool {
        self.uri.contains("dryRun=")
    }
}

impl Audit {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Returns the current end of the log.
    ///
    /// # Errors
    /// When the log does not exist.
    pub fn mark(&self) -> Result<Mark> {
        Ok(Mark(self.path.metadata().context("no audit log")?.len()))
    }

    /// Returns all writes answered since `mark`.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn since(&self, mark: Mark) -> Result<Vec<Write>> {
        let events = self.events(mark)?.into_iter().filter(|event| !event.reads());
        Ok(events.map(Write::from).collect())
    }

    /// Returns the paths, with queries, that the operator has read since `mark`; a watch is listed when it
    /// ends.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn reads(&self, mark: Mark) -> Result<Vec<String>> {
        let events = self.events(mark)?.into_iter().filter(Event::reads);
        Ok(events
            .filter(|event| event.user.username == operator::USER)
            .map(|event| event.request_uri)
            .collect())
    }

    fn events(&self, mark: Mark) -> Result<Vec<Event>> {
        let mut file = File::open(&self.path).context("no audit log")?;
        file.seek(SeekFrom::Start(mark.0))?;
        let mut events = Vec::new();
        for line in BufReader::new(file).lines() {
            // The last line may be incomplete.
            if let Ok(event) = serde_json::from_str(&line?) {
                events.push(event);
            }
        }
        Ok(events)
    }

    /// Returns the number of writes since `mark` that satisfy `wanted`.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn count(&self, mark: Mark, wanted: impl Fn(&Write) -> bool) -> Result<usize> {
        Ok(self.since(mark)?.iter().filter(|write| wanted(write)).count())
    }
}

/// The part of the `audit.k8s.io/v1` Event that is used here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    user: User,
    impersonated_user: Option<User>,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: Status,
    #[serde(default)]
    stage_timestamp: String,
}

impl Event {
    fn reads(&self) -> bool {
        ["get", "list", "watch"].contains(&self.verb.as_str())
    }
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    resource: String,
    namespace: String,
    name: String,
    api_group: String,
    subresource: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Status {
    code: u16,
}

impl From<Event> for Write {
    fn from(event: Event) -> Self {
        let object = event.object_ref;
        Self {
            user: event.impersonated_user.unwrap_or(event.user).username,
            verb: event.verb,
            group: object.api_group,
            resource: object.resource,
            subresource: object.subresource,
            namespace: object.namespace,
            name: object.name,
            code: event.response_status.code,
            agent: event.user_agent,
            uri: event.request_uri,
            answered: event.stage_timestamp,
        }
    }
}
