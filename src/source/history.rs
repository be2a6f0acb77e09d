//! Reads the revisions of what the operator wrote, and answers for times in the past from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::api::ListParams;
use kube::{Api, Client};
use schemars::JsonSchema;
use serde::Serialize;

use super::cluster::{Cluster, ServerArgs};
use super::configuration::{ClusterContext, Configuration, RenderedText, Text};
use crate::output::{Console, Failure};
use queuewarden_api::history::{LABEL, unpack};
use queuewarden_client::call::{self, call};
use queuewarden_plan::history::{Recorded, Unknown, in_force, is_put_back};
use queuewarden_plan::release::Release;
use queuewarden_plan::snapshot::{ConfigMapState, Snapshot, YUNIKORN_CONFIGS};
use yunikorn::version::Version;

/// The number of objects in one response, each of which may have more than 1 MiB.
const PAGE: u32 = 20;
/// The most objects that are read. The operator keeps 100.
const MAX_READ: usize = 500;

/// A revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RevisionAnswer")]
pub struct StoredRevision {
    /// Its number.
    pub revision: i64,
    /// The name of the object that holds it.
    pub name: String,
    /// The time of the write, or when the text was found; null if the revision is unreadable.
    pub at: Option<Timestamp>,
    /// The objects that made the difference, and other reasons; empty if they are unknown.
    pub causes: Vec<String>,
    /// One line on who gained and who lost access; null if that was not recorded.
    pub access: Option<String>,
    /// The reason why it is unreadable: queuewarden did not record it like this. Null if it is readable.
    pub problem: Option<String>,
    /// The text; absent in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The access keys of the admission controller beside the text; absent in a list, and if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub admission: BTreeMap<String, String>,
    /// The time of the object's creation.
    #[serde(skip)]
    pub(crate) created: Option<Timestamp>,
}

/// The history of a cluster.
pub(crate) struct History {
    /// The cluster.
    pub(crate) cluster: Cluster,
    /// `YuniKorn`'s namespace, which holds the history.
    pub(crate) namespace: String,
    /// The version of `YuniKorn` by the settings.
    pub(crate) version: Version,
    /// The revisions, the newest last.
    pub(crate) revisions: Vec<StoredRevision>,
}

impl StoredRevision {
    /// Removes what is long.
    pub(crate) fn shorten(&mut self) {
        self.text = None;
        self.admission.clear();
    }
}

impl History {
    /// Reads the revisions, with the texts of those that are wanted.
    ///
    /// # Errors
    /// When there is no cluster, or they cannot be read.
    pub(crate) fn read(
        server: &ServerArgs,
        namespace: Option<&str>,
        wants: impl Fn(&StoredRevision) -> bool,
        console: Console,
    ) -> Result<Self, Failure> {
        let (cluster, spec) = Cluster::open(server, namespace, console)?;
        let version = Release::new(spec.version, None).version;
        let namespace = spec.namespace;
        let revisions = cluster.run(async |client| stored(client, &namespace, wants).await);
        let revisions = revisions.map_err(|error| refused(&cluster, &namespace, &error))?;
        Ok(Self { cluster, namespace, version, revisions })
    }

    /// Returns the configuration that was in force at a time in the past, and names its revision.
    ///
    /// # Errors
    /// When it is not known what was in force then.
    pub(crate) fn at(&self, at: Timestamp, console: Console) -> Result<Configuration, Failure> {
        let recorded: Vec<Recorded> = self
            .revisions
            .iter()
            .map(|revision| Recorded { created: revision.created, at: revision.at })
            .collect();
        let name = |index: usize| self.revisions.get(index).map_or(0, |revision| revision.revision);
        let found = in_force(&recorded, at).map_err(|unknown| {
            Failure::Undecided(match unknown {
                Unknown::Empty => format!("namespace {} has no history", self.namespace),
                Unknown::Before(first, begin) => format!(
                    "the history begins with revision {}, at {begin}: what was in force at {at} is not known",
                    name(first)
                ),
                Unknown::Unreadable(index) => {
                    format!("revision {}, which was in force at {at}, is unreadable", name(index))
                }
            })
        })?;
        let nothing = || Failure::Undecided("the revision is gone".to_owned());
        let revision = self.revisions.get(found.index).ok_or_else(nothing)?;
        let until = found.next.map_or_else(|| " on".to_owned(), |(_, until)| format!(" to {until}"));
        console.note(&format!("revision {}, in force from {}{until}", revision.revision, found.from));
        let next = found.next.and_then(|(next, _)| self.revisions.get(next));
        if let Some(next) = next.filter(|next| is_put_back(&next.causes)) {
            console.note(&format!(
                "revision {} put back what another program had changed: from that change on, other access may have \
                 been in force, which is not recorded",
                next.revision
            ));
        }
        configuration(revision, self.version, console)
    }
}

/// Returns all revisions, the newest last, with the texts of those that are wanted.
async fn stored(
    client: &Client,
    namespace: &str,
    wants: impl Fn(&StoredRevision) -> bool,
) -> Result<Vec<StoredRevision>, call::CallError> {
    let api: Api<ControllerRevision> = Api::namespaced(client.clone(), namespace);
    let mut params = ListParams::default().labels(LABEL).limit(PAGE);
    let mut all = Vec::new();
    while all.len() < MAX_READ {
        let page = call(api.list(&params)).await?;
        all.extend(page.items.iter().map(|object| {
            let mut revision = answer(object);
            if !wants(&revision) {
                revision.shorten();
            }
            revision
        }));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    all.sort_by_key(|revision| (revision.revision, revision.created, revision.at));
    Ok(all)
}

pub(crate) fn answer(object: &ControllerRevision) -> StoredRevision {
    let unreadable = StoredRevision {
        revision: object.revision,
        name: object.metadata.name.clone().unwrap_or_default(),
        at: None,
        causes: Vec::new(),
        access: None,
        problem: None,
        text: None,
        admission: BTreeMap::new(),
        created: object.metadata.creation_timestamp.as_ref().map(|time| time.0),
    };
    match unpack(object) {
        Ok(read) => StoredRevision {
            at: Some(read.at),
            causes: read.causes,
            access: read.access,
            text: Some(read.text),
            admission: read.admission,
            ..unreadable
        },
        Err(problem) => StoredRevision { problem: Some(problem.to_owned()), ..unreadable },
    }
}

pub(crate) fn text(revision: &StoredRevision) -> Result<&str, Failure> {
    revision.text.as_deref().ok_or_else(|| {
        let StoredRevision { name, problem, .. } = revision;
        let why = problem.as_deref().unwrap_or_default();
        Failure::Undecided(format!("ControllerRevision {name} is unreadable: {why}"))
    })
}

pub(crate) fn configuration(
    revision: &StoredRevision,
    version: Version,
    console: Console,
) -> Result<Configuration, Failure> {
    let text = Text::whole(format!("revision {}", revision.revision), text(revision)?.to_owned());
    let output = ConfigMapState {
        name: YUNIKORN_CONFIGS.to_owned(),
        data: revision.admission.clone(),
        ..ConfigMapState::default()
    };
    let beside =
        Snapshot { output: Some(Arc::new(output)), ..Snapshot::empty(revision.at.unwrap_or_default()) };
    let context = ClusterContext::unchanged(beside);
    let rendered = RenderedText { context, ..RenderedText::alone(text, version) };
    Configuration::read(rendered, Vec::new(), false, console)
}

fn refused(cluster: &Cluster, namespace: &str, error: &call::CallError) -> Failure {
    let failure = cluster.failure("the history", error);
    if !error.is_forbidden() {
        return failure;
    }
    Failure::Undecided(format!(
        "{failure}; it takes the right to list controllerrevisions of apps in namespace {namespace}, which is in \
         the ClusterRole view"
    ))
}
