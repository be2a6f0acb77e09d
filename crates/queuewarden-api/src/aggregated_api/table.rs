//! Prints queues as `kubectl get` shows them (`Table`, `meta.k8s.io`): a line per queue, with everyone who
//! has a right.
//!
//! ```text
//! QUEUE       SUBMIT                                            ADMIN              LEAF    DYNAMIC
//! root        group ops (admin)                                 group ops          false   false
//! root.prod   user sue, group devs, group ops (admin of root)   group ops (root)   true    false
//! ```

use serde_json::{Value, json};

use super::queue::{Effective, Queue};
use crate::extended;
use go_compat::diag::cut;
use yunikorn::right::Right;
use yunikorn_access::Origin;
use yunikorn_access::decide::Denial;
use yunikorn_access::subject::Subject;
use yunikorn_access::who_can::Grantee;

/// Approximate limit of a cell, in characters; the remaining names are only counted.
const MAX_CELL: usize = 80;

/// The part of each queue to include with its row (`includeObject` of the request).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Include {
    /// Nothing.
    None,
    /// Its metadata: enough for `-o name`.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

/// The columns: name, type, format, whether it is only shown with `-o wide`, and description.
const COLUMNS: [(&str, &str, &str, bool, &str); 9] = [
    ("Queue", "string", "name", false, "The queue's full path."),
    (
        "Submit",
        "string",
        "",
        false,
        "Everyone who may submit, with the queue that grants it if access is inherited.",
    ),
    ("Admin", "string", "", false, "Everyone who administers the queue."),
    ("Leaf", "boolean", "", false, "Whether applications run in it."),
    ("Dynamic", "boolean", "", false, "Whether a placement rule created it."),
    ("Partition", "string", "", true, "The partition."),
    ("Own submitacl", "string", "", true, "The queue's own submitacl as written."),
    ("Own adminacl", "string", "", true, "The queue's own adminacl as written."),
    ("Written in", "string", "", true, "The objects and texts that hold the nearest grants."),
];

/// Builds the table of these queues; `version` is `v1` or `v1beta1`.
pub fn table(queues: &[Queue], version: &str, include: Include) -> Value {
    let columns = COLUMNS.iter().map(|(name, kind, format, wide, description)| {
        json!({"name": name, "type": kind, "format": format, "priority": i32::from(*wide), "description": description})
    });
    let api_version = format!("meta.k8s.io/{version}");
    json!({
        "kind": "Table",
        "apiVersion": api_version,
        "metadata": {},
        "columnDefinitions": columns.collect::<Vec<_>>(),
        "rows": queues.iter().map(|queue| row(queue, &api_version, include)).collect::<Vec<_>>(),
    })
}

fn row(queue: &Queue, api_version: &str, include: Include) -> Value {
    let status = &queue.status;
    let name = &queue.metadata.name;
    let row = json!({"cells": [
        name,
        subjects(&status.submit, Right::Submit, name),
        subjects(&status.admin, Right::Admin, name),
        status.leaf,
        status.dynamic,
        status.partition,
        cut(&status.submit.acl, MAX_CELL),
        cut(&status.admin.acl, MAX_CELL),
        written_in(status.submit.subjects.iter().chain(&status.admin.subjects)),
    ]});
    let object = match include {
        Include::None => return row,
        Include::Metadata => {
            json!({"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": queue.metadata})
        }
        Include::Object => json!(queue),
    };
    extended(row, Value::from_iter([("object", object)]))
}

/// `user sue, group devs (root), group ops (admin of root)`
fn subjects(effective: &Effective, right: Right, queue: &str) -> String {
    if matches!(effective.denial, Some(Denial::Recovery)) || effective.subjects.is_empty() {
        return "nobody".to_owned();
    }
    // If everyone has the right, other names have no effect.
    let everyone = effective.subjects.iter().find(|subject| subject.subject == Subject::Everyone);
    if let Some(everyone) = everyone {
        return subject(everyone, right, queue);
    }
    let words = effective.subjects.iter().map(|named| subject(named, right, queue));
    listed(words.collect(), effective.more)
}

fn subject(subject: &Grantee, right: Right, queue: &str) -> String {
    let words = subject.subject.to_string();
    let Some(nearest) = subject.grants.first() else { return words };
    let admin = right == Right::Submit && nearest.acl == Right::Admin;
    match (nearest.queue.as_str() == queue, admin) {
        (true, false) => words,
        (true, true) => format!("{words} (admin)"),
        (false, false) => format!("{words} ({})", nearest.queue),
        (false, true) => format!("{words} (admin of {})", nearest.queue),
    }
}

/// Lists as many as fit, at least one, and the number of the others.
fn listed(words: Vec<String>, more: usize) -> String {
    let (mut shown, mut room) = (Vec::new(), MAX_CELL);
    let all = words.len();
    for word in words {
        let length = word.chars().count();
        if length > room && !shown.is_empty() {
            break;
        }
        room = room.saturating_sub(length);
        shown.push(word);
    }
    let left = all.saturating_sub(shown.len()).saturating_add(more);
    let shown = shown.join(", ");
    if left == 0 { shown } else { format!("{shown} and {left} more") }
}

fn written_in<'a>(subjects: impl Iterator<Item = &'a Grantee>) -> String {
    let mut places: Vec<String> = subjects
        .filter_map(|subject| subject.grants.first())
        .flat_map(|grant| grant.origins.iter().map(Origin::words))
        .collect();
    places.sort_unstable();
    places.dedup();
    listed(places, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregated_api::queue::{self, live_queues};
    use yunikorn_access::placement::Live;
    use yunikorn_access::testing::tree;

    fn queues(acls: &[(&str, &str, &str)]) -> Vec<Queue> {
        let tree = tree(acls);
        queue::queues(&tree, &live_queues(&tree, &Live::default()))
    }

    fn cells(table: &Value, row: usize) -> Vec<String> {
        let cells = table.pointer(&format!("/rows/{row}/cells")).and_then(Value::as_array).unwrap();
        cells.iter().map(|cell| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned)).collect()
    }

    #[test]
    fn a_line_says_who_may_and_from_where() {
        let queues = queues(&[
            ("root", "", " ops"),
            ("root.prod", "sue devs", "lead"),
            ("root.prod.etl", "", ""),
            ("root.open", "*", ""),
            ("root.@recovery@", "*", ""),
        ]);
        let table = table(&queues, "v1", Include::None);
        for (row, expected) in [
            (0, ["root", "group ops (admin)", "group ops", "false", "false"]),
            (
                1,
                [
                    "root.prod",
                    "user sue, group devs, user lead (admin), group ops (admin of root)",
                    "user lead, group ops (root)",
                    "false",
                    "false",
                ],
            ),
            (
                2,
                [
                    "root.prod.etl",
                    "user sue (root.prod), group devs (root.prod), user lead (admin of root.prod) and 1 more",
                    "user lead (root.prod), group ops (root)",
                    "true",
                    "false",
                ],
            ),
            (3, ["root.open", "everyone", "group ops (root)", "true", "false"]),
            (4, ["root.@recovery@", "nobody", "group ops (root)", "true", "false"]),
        ] {
            assert_eq!(cells(&table, row)[..5], expected);
        }
        assert_eq!(cells(&table, 1)[5..], ["default", "sue devs", "lead", "queues.yaml"]);
        let columns = table["columnDefinitions"].as_array().unwrap();
        assert_eq!(columns.len(), cells(&table, 0).len());
        assert!(table["rows"][0].get("object").is_none());
    }

    #[test]
    fn a_line_brings_as_much_of_the_queue_as_is_asked_for() {
        let queues = queues(&[("root", "sue", "")]);
        let object = |include| table(&queues, "v1beta1", include)["rows"][0]["object"].clone();
        let expected = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1beta1", "metadata": {"name": "root"}});
        assert_eq!(object(Include::Metadata), expected);
        assert_eq!(object(Include::Object)["status"]["submit"]["acl"], "sue");
    }

    #[test]
    fn everyone_is_reported_beside_however_many_names() {
        let names: Vec<String> = (0..400).map(|number| format!("somebody{number:03}")).collect();
        let queues = queues(&[("root", "*", ""), ("root.team", &names.join(","), "")]);
        assert_eq!(cells(&table(&queues, "v1", Include::None), 1)[1], "everyone (root)");
    }

    #[test]
    fn cells_are_bounded() {
        let names: Vec<String> = (0..400).map(|number| format!("somebody{number:03}")).collect();
        let queues = queues(&[("root", &names.join(","), "x")]);
        for cell in cells(&table(&queues, "v1", Include::None), 0) {
            assert!(cell.chars().count() < 2 * MAX_CELL, "{cell}");
        }
        let long = "x".repeat(300);
        let queues = self::queues(&[("root", &long, "")]);
        assert!(cells(&table(&queues, "v1", Include::None), 0)[1].starts_with("user xxx"));
    }
}
