//! Builds the report as JSON, for the page and for `report -o json`.
//!
//! The format is meant for programs that show thousands of queues: names, locations and queues appear once,
//! and are referred to by their index in the lists, from 0.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Beside, ReportChange, ReportOutside, ReportWithoutEffect, findings};
use queuewarden_api::answer::About;
use yunikorn::acl::Match;
use yunikorn::right::{AclKey, Right};
use yunikorn_access::QueueSet;
use yunikorn_access::lint::Finding;
use yunikorn_access::reach::{all_named, granted_on, starts};
use yunikorn_access::subject::Subject;
use yunikorn_access::tree::{Grants, Node, Origin, QueueId, Tree};

/// The answer to `report`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReportAnswer")]
pub struct Report {
    /// The header.
    #[serde(flatten)]
    pub about: About,
    /// The origin of the report.
    #[serde(flatten)]
    pub made: Made,
    /// All subjects that are named anywhere: users, then groups, each sorted by name, and everyone at the
    /// end.
    pub subjects: Vec<Subject>,
    /// The queues, parents before children; the first is the root.
    pub queues: Vec<ReportQueue>,
    /// The places where entries are written: objects, and lines of texts.
    pub origins: Vec<Origin>,
    /// Rights, by the queues where they start. A subject has a right on a queue if one of its `starts`, or
    /// one of everyone's, reaches the queue. The start that applies is the one with the highest queue number;
    /// if the subject's own and everyone's have the same number, the subject's own. Subjects without starts
    /// are not listed.
    pub rights: Vec<ReportRight>,
    /// Errors, and entries without effect: errors first, then in the order of the queues.
    pub findings: Vec<Finding>,
    /// The admission controller's settings for who may submit as someone else. Settings that are not set are
    /// left out.
    pub admission: Vec<ReportSetting>,
    /// The last change that each program made to each object, the latest first; empty for files, which do not
    /// record changes.
    pub changes: Vec<ReportChange>,
    /// The QueueAcls that grant nothing now because of their time, planned ones first, then by time.
    pub outside: Vec<ReportOutside>,
    /// The QueueAcls and AdmissionPolicy objects that change nothing: refused, planned, expired and redundant
    /// ones, and objects for nobody that close nothing.
    pub without_effect: Vec<ReportWithoutEffect>,
}

/// The origin of a report.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Made {
    /// When it was created, in RFC 3339, UTC.
    pub made: String,
    /// The program that created it, with its version.
    pub program: String,
    /// The cluster; null for files.
    pub cluster: Option<ReportCluster>,
    /// Whether the scheduler is verified to run this configuration; null if unknown.
    pub scheduler_runs: Option<bool>,
    /// Explains `schedulerRuns`, in one sentence.
    pub scheduler: String,
    /// Parts of the configuration that are missing here, and parts that could not be read.
    pub notes: Vec<String>,
}

/// The cluster of a report.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "ClusterAnswer")]
pub struct ReportCluster {
    /// The context of the kubeconfig; null without one.
    pub context: Option<String>,
    /// The cluster's name in the kubeconfig; null without one.
    pub name: Option<String>,
    /// The URL of the API server.
    pub server: String,
}

/// One queue.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "QueueAnswer")]
pub struct ReportQueue {
    /// The full path.
    pub path: String,
    /// The number of the parent queue; null for the root.
    pub parent: Option<usize>,
    /// One more than the highest number of a queue below it.
    pub end: usize,
    /// True when applications run in it.
    pub leaf: bool,
    /// True for the recovery queue: no one may submit to it, and its ACLs, like inherited ones, do not let
    /// anyone submit below it.
    pub recovery: bool,
    /// Its own `submitacl`; null if it has no such ACL.
    pub submit: Option<ReportAcl>,
    /// Its own `adminacl`; null if it has no such ACL.
    pub admin: Option<ReportAcl>,
}

/// One ACL of one queue.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "AclAnswer")]
pub struct ReportAcl {
    /// The text as written.
    pub text: String,
    /// The subjects that the ACL names.
    pub entries: Vec<ReportEntry>,
}

/// One subject that an ACL names.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "EntryAnswer")]
pub struct ReportEntry {
    /// The number of the subject.
    pub subject: usize,
    /// The numbers of the origins; several objects may make the same grant.
    pub origins: Vec<usize>,
}

/// One right of one subject.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "RightAnswer")]
pub struct ReportRight {
    /// The number of the subject.
    pub subject: usize,
    /// The right.
    pub verb: Right,
    /// The queues where it starts, in the order of the queues.
    pub starts: Vec<ReportStart>,
}

/// A queue where a right starts.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "StartAnswer")]
pub struct ReportStart {
    /// The number of the queue.
    pub queue: usize,
    /// The ACL that grants it. `adminacl` also grants the right to submit.
    pub acl: AclKey,
    /// The queues that it reaches, as ranges of numbers, each with its first number and the number after its
    /// last; null if it reaches the queue and everything below it.
    pub reach: Option<Vec<[u32; 2]>>,
}

/// A setting of the admission controller.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SettingAnswer")]
pub struct ReportSetting {
    /// Its key in `YuniKorn`'s ConfigMaps.
    pub key: &'static str,
    /// Its value, as written.
    pub value: String,
    /// The object that sets it; null if unknown.
    pub written_in: Option<Origin>,
}

/// Numbers origins in the order of their first use.
#[derive(Default)]
struct Origins<'t> {
    numbers: HashMap<&'t Origin, usize>,
    order: Vec<&'t Origin>,
}

impl<'t> Origins<'t> {
    fn number(&mut self, origin: &'t Origin) -> usize {
        let next = self.order.len();
        *self.numbers.entry(origin).or_insert_with(|| {
            self.order.push(origin);
            next
        })
    }
}

impl Report {
    /// Builds the report.
    pub fn new(about: About, made: Made, tree: &Tree, beside: Beside<'_>) -> Self {
        let subjects = all_named(tree);
        let numbers: HashMap<Match<'_>, usize> = subjects.iter().map(Subject::entry).zip(0..).collect();
        let mut origins = Origins::default();
        let findings = findings(tree, &beside);
        let setting = |(key, value, origin): (&'static str, _, _)| ReportSetting {
            key,
            value,
            written_in: Some(origin),
        };
        Self {
            about,
            made,
            queues: tree.queues().map(|(id, node)| queue(tree, id, node, &numbers, &mut origins)).collect(),
            origins: origins.order.into_iter().cloned().collect(),
            rights: rights(tree, &subjects),
            subjects,
            findings,
            admission: beside.admission.into_iter().map(setting).collect(),
            changes: beside.changes,
            outside: beside.outside,
            without_effect: beside.without_effect,
        }
    }
}

fn queue<'t>(
    tree: &Tree,
    id: QueueId,
    node: &'t Node,
    numbers: &HashMap<Match<'_>, usize>,
    origins: &mut Origins<'t>,
) -> ReportQueue {
    let mut acl = |right| acl(tree, node.grants(right), numbers, origins);
    ReportQueue {
        path: node.path.to_string(),
        parent: node.parent.map(QueueId::index),
        end: QueueId::new(tree.subtree(id).end).index(),
        leaf: node.is_leaf,
        recovery: node.path.is_recovery(),
        submit: acl(Right::Submit),
        admin: acl(Right::Admin),
    }
}

fn rights(tree: &Tree, subjects: &[Subject]) -> Vec<ReportRight> {
    let of_subject = |(subject, name): (usize, &Subject)| {
        Right::ALL.map(|right| {
            let starts = starts(tree, right, name.entry()).map(|start| ReportStart {
                queue: start.queue.index(),
                acl: start.acl.into(),
                reach: reach(tree, right, start.queue),
            });
            ReportRight { subject, verb: right, starts: starts.collect() }
        })
    };
    let all = subjects.iter().enumerate().flat_map(of_subject);
    all.filter(|right| !right.starts.is_empty()).collect()
}

/// Returns the queues that a right on this queue reaches, or `None` if it reaches the whole subtree.
fn reach(tree: &Tree, right: Right, queue: QueueId) -> Option<Vec<[u32; 2]>> {
    let reach = granted_on(tree, right, queue);
    let whole = reach == QueueSet::from(tree.subtree(queue));
    (!whole).then(|| reach.ranges().iter().map(|range| [range.start, range.end]).collect())
}

fn acl<'t>(
    tree: &Tree,
    grants: &'t Grants,
    numbers: &HashMap<Match<'_>, usize>,
    origins: &mut Origins<'t>,
) -> Option<ReportAcl> {
    if grants.text.is_empty() {
        return None;
    }
    let entries = grants.acl.entries().filter_map(|entry| {
        // An entry is in force in every part that contains it: a part with a wildcard has no other entries.
        let written = grants.parts.iter().filter(|(_, part)| part.has(entry));
        let origins = written.map(|(origin, _)| origins.number(origin)).collect();
        Some(ReportEntry { subject: *numbers.get(&tree.real(entry))?, origins })
    });
    Some(ReportAcl { text: grants.text.clone(), entries: entries.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use queuewarden_api::answer::Answers;
    use serde_json::{Value, json};
    use yunikorn_access::GrantingEntry;
    use yunikorn_access::testing::{any_tree, tree};

    /// Returns the report as JSON.
    fn read(tree: &Tree, beside: Beside<'_>) -> Value {
        let about = Answers { source: "queues.yaml", tree }.about();
        serde_json::to_value(Report::new(about, Made::default(), tree, beside)).unwrap()
    }

    fn number(value: &Value) -> usize {
        usize::try_from(value.as_u64().unwrap()).unwrap()
    }

    fn list(value: &Value) -> &[Value] {
        value.as_array().unwrap()
    }

    /// Returns the start that gives a subject a right on a queue, and the subject of that start. It is
    /// derived only from the schema's description: of the starts of the subject and of everyone that reach
    /// the queue, the one with the highest number, and if both have the same number, the subject's own.
    fn held<'v>(report: &'v Value, subject: usize, verb: &str, queue: usize) -> Option<(usize, &'v Value)> {
        let everyone = list(&report["subjects"]).len() - 1;
        let below = |from: usize| json!([[from, report["queues"][from]["end"]]]);
        let reaches = |start: &Value| {
            let ranges = if start["reach"].is_null() {
                below(number(&start["queue"]))
            } else {
                start["reach"].clone()
            };
            list(&ranges).iter().any(|range| (number(&range[0])..number(&range[1])).contains(&queue))
        };
        let of = |whose: usize| {
            let right = list(&report["rights"])
                .iter()
                .find(|right| number(&right["subject"]) == whose && right["verb"] == verb)?;
            let start = list(&right["starts"]).iter().rev().find(|start| reaches(start))?;
            Some((whose, start))
        };
        let mut found: Vec<_> = [of(everyone), of(subject)].into_iter().flatten().collect();
        found.sort_by_key(|(_, start)| number(&start["queue"]));
        found.pop()
    }

    /// Checks that a reader of the report gets the evaluator's decision for every cell.
    fn agree(tree: &Tree) -> Result<(), String> {
        let report = read(tree, Beside::default());
        for (subject, name) in all_named(tree).iter().enumerate() {
            for (queue, right) in tree.queues().flat_map(|(queue, _)| Right::ALL.map(|right| (queue, right)))
            {
                let cell = GrantingEntry::of_name(tree, right, queue, name.entry());
                let verb = right.verb();
                let reported = held(&report, subject, verb, queue.index());
                let reported = reported.map(|(whose, start)| {
                    let acl = start["acl"].as_str().unwrap_or_default().to_owned();
                    (number(&start["queue"]), acl, list(&report["subjects"])[whose]["name"].clone())
                });
                let expected = cell.map(|granting: GrantingEntry<'_>| {
                    let acl = granting.acl.key().to_owned();
                    (granting.queue.index(), acl, json!(Subject::from(tree.real(granting.entry)).name()))
                });
                if reported != expected {
                    return Err(format!(
                        "{name:?} {verb} {queue:?}: {reported:?}, not {expected:?}\n{report:#}"
                    ));
                }
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn a_reader_comes_to_what_the_evaluator_says(tree in any_tree()) {
            agree(&tree).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn queues_come_with_their_acls_and_where_they_are_written() {
        let mut tree = tree(&[
            ("root", "", " ops"),
            ("root.a", "sue,zoe", " "),
            ("root.a.b", "", ""),
            ("root.@recovery@", "", ""),
        ]);
        let object = Origin::Object { kind: "QueueAcl", name: "a".to_owned(), until: None };
        let path = yunikorn::queue::QueuePath::parse("root.a").unwrap();
        tree.attribute(&path, Right::Submit, object, &yunikorn::acl::parse("sue").unwrap());
        let report = read(&tree, Beside::default());
        let queues = list(&report["queues"]);
        let shape: Vec<_> =
            queues.iter().map(|of| (&of["path"], &of["parent"], &of["end"], &of["leaf"])).collect();
        assert_eq!(
            json!(shape),
            json!([
                ["root", null, 4, false],
                ["root.a", 0, 3, false],
                ["root.a.b", 1, 3, true],
                ["root.@recovery@", 0, 4, true],
            ])
        );
        assert_eq!(
            report["subjects"],
            json!([
                {"kind": "User", "name": "sue"}, {"kind": "User", "name": "zoe"}, {"kind": "Group", "name": "ops"},
                {"kind": "Everyone", "name": null},
            ])
        );
        assert_eq!(queues[1]["submit"]["text"], "sue,zoe");
        assert_eq!(queues[1]["admin"], json!({"text": " ", "entries": []}), "an ACL of one space is one");
        assert_eq!(queues[2]["submit"], Value::Null);
        let written = |entry: usize| {
            let origins = list(&queues[1]["submit"]["entries"][entry]["origins"]);
            origins.iter().map(|origin| report["origins"][number(origin)]["kind"].clone()).collect::<Vec<_>>()
        };
        assert_eq!((written(0), written(1)), (vec![json!("QueueAcl")], vec![json!("Text")]));
        // The right to submit that comes with administration does not reach the recovery queue.
        let submit = list(&report["rights"])
            .iter()
            .find(|right| right["subject"] == 2 && right["verb"] == "submit")
            .unwrap();
        assert_eq!(submit["starts"], json!([{"queue": 0, "acl": "adminacl", "reach": [[0, 3]]}]));
    }

    #[test]
    fn admission_settings_name_the_object_that_sets_them() {
        let origin = Origin::Object { kind: "AdmissionPolicy", name: "p".to_owned(), until: None };
        let admission = vec![("some.key", "true".to_owned(), origin)];
        let report = read(&tree(&[("root", "", "")]), Beside { admission, ..Beside::default() });
        let origin =
            json!({"kind": "AdmissionPolicy", "name": "p", "line": null, "column": null, "until": null});
        assert_eq!(report["admission"], json!([{"key": "some.key", "value": "true", "writtenIn": origin}]));
    }
}
