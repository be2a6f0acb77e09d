//! Reads the revisions of the operator's output, and answers questions about the past from them.

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
use queuewarden_plan::history::is_put_back;
use queuewarden_plan::release::Release;
use queuewarden_plan::snapshot::{ConfigMapState, Snapshot, YUNIKORN_CONFIGS};
use yunikorn::version::Version;

/// The number of objects in one response. Each may have more than 1 MiB.
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
    /// The access keys of the admission controller; absent in a list, and without access keys.
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
    /// Removes the long fields.
    pub(crate) fn shorten(&mut self) {
        self.text = None;
        self.admission.clear();
    }
}

impl History {
    /// Reads the revisions, with the texts of the requested ones.
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
    /// When the configuration in force at that time is not known.
    pub(crate) fn at(&self, at: Timestamp, console: Console) -> Result<Configuration, Failure> {
        let (revision, from, next) =
            in_force(&self.revisions, &self.namespace, at).map_err(Failure::Undecided)?;
        let until = next.map_or_else(|| " on".to_owned(), |(_, until)| format!(" to {until}"));
        console.note(&format!("revision {}, in force from {from}{until}", revision.revision));
        if let Some((next, _)) = next.filter(|(next, _)| is_put_back(&next.causes)) {
            console.note(&format!(
                "revision {} reverted a change by another program: from that change on, different access may have been in force, which is not recorded",
                next.revision
            ));
        }
        configuration(revision, self.version, console)
    }
}

/// A revision that was in force from a time on, and the next one with its time.
type InForce<'a> = (&'a StoredRevision, Timestamp, Option<(&'a StoredRevision, Timestamp)>);

/// Finds the revision that was in force at a time: the last one written until then. An unreadable revision
/// has the time of its creation.
fn in_force<'a>(
    revisions: &'a [StoredRevision],
    namespace: &str,
    at: Timestamp,
) -> Result<InForce<'a>, String> {
    let time = |revision: &StoredRevision| revision.at.or(revision.created).unwrap_or(Timestamp::MIN);
    let mut times: Vec<_> = revisions.iter().map(|revision| (revision, time(revision))).collect();
    times.sort_by_key(|(_, time)| *time);
    let (before, after) = times.split_at(times.partition_point(|(_, time)| *time <= at));
    match (before.last(), after.first()) {
        (Some((revision, _)), _) if revision.at.is_none() => {
            Err(format!("revision {}, which was in force at {at}, is unreadable", revision.revision))
        }
        (Some((revision, from)), next) => Ok((revision, *from, next.copied())),
        (None, Some((first, begin))) => Err(format!(
            "the history begins with revision {}, at {begin}: the configuration at {at} is not known",
            first.revision
        )),
        (None, None) => Err(format!("namespace {namespace} has no history")),
    }
}

/// Returns all revisions, the newest last, with the texts of the requested ones.
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
        "{failure}; you need permission to list controllerrevisions of apps in namespace {namespace}, which the ClusterRole view includes"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Numbers revisions, each with the seconds of its creation and of its write.
    fn revisions(times: &[(Option<i64>, Option<i64>)]) -> Vec<StoredRevision> {
        let revision = |(number, (created, at)): (i64, &(Option<i64>, Option<i64>))| StoredRevision {
            revision: number,
            at: at.map(time),
            created: created.map(time),
            ..answer(&ControllerRevision::default())
        };
        (0..).zip(times).map(revision).collect()
    }

    fn written(second: i64) -> (Option<i64>, Option<i64>) {
        (Some(second + 1), Some(second))
    }

    type Found = (i64, i64, Option<(i64, i64)>);

    fn found(revisions: &[StoredRevision], at: i64) -> Result<Found, String> {
        let (revision, from, next) = in_force(revisions, "yunikorn", time(at))?;
        let next = next.map(|(next, time)| (next.revision, time.as_second()));
        Ok((revision.revision, from.as_second(), next))
    }

    #[test]
    fn revision_is_in_force_from_its_write_to_the_next_one() {
        let all = revisions(&[written(10), written(20), written(20), written(30)]);
        let begins = found(&all, 9).unwrap_err();
        assert!(
            begins.starts_with("the history begins with revision 0, at 1970-01-01T00:00:10Z"),
            "{begins}"
        );
        assert_eq!(found(&all, 10), Ok((0, 10, Some((1, 20)))));
        assert_eq!(found(&all, 19), Ok((0, 10, Some((1, 20)))));
        assert_eq!(found(&all, 20), Ok((2, 20, Some((3, 30)))), "the last of the same time");
        assert_eq!(found(&all, 99), Ok((3, 30, None)));
        assert_eq!(found(&[], 1), Err("namespace yunikorn has no history".to_owned()));
    }

    #[test]
    fn unreadable_revision_is_not_skipped() {
        let unreadable = |number: i64, at: i64| {
            Err(format!("revision {number}, which was in force at {}, is unreadable", time(at)))
        };
        let all = revisions(&[written(10), (Some(20), None), written(30)]);
        assert_eq!(found(&all, 19), Ok((0, 10, Some((1, 20)))));
        assert_eq!(found(&all, 20), unreadable(1, 20));
        assert_eq!(found(&all, 30), Ok((2, 30, None)));
        assert_eq!(found(&revisions(&[(None, None), written(10)]), 5), unreadable(0, 5));
    }

    proptest! {
        /// The revision was written before the time, and no other one was written in between.
        #[test]
        fn no_other_revision_is_nearer(seconds in prop::collection::vec(0_i64..50, 0..8), at in 0_i64..60) {
            let all = revisions(&seconds.iter().map(|second| written(*second)).collect::<Vec<_>>());
            match found(&all, at) {
                Ok((_, from, next)) => {
                    prop_assert!(from <= at && seconds.iter().all(|other| *other <= from || *other > at));
                    let later = seconds.iter().filter(|other| **other > at).min().copied();
                    prop_assert_eq!(next.map(|(_, time)| time), later);
                }
                Err(_) => prop_assert!(seconds.iter().all(|second| *second > at)),
            }
        }
    }
}
