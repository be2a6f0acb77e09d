//! Reads access from a queue tree: the YAML of a `ConfigMap`, or the scheduler's response to `GET
//! /ws/v1/config`. Shares no code with queuewarden.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A right of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Right {
    Submit,
    Admin,
}

/// One subject that has one right on one queue by the queue's own ACL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) queue: String,
    pub(super) right: Right,
    /// A user, `@` and a group, or [`EVERYONE`].
    pub(super) subject: String,
}

pub(super) const EVERYONE: &str = "*";

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:?}:{}", self.queue, self.right, self.subject)
    }
}

/// All entries of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Access(pub(super) BTreeSet<Entry>);

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&all.join(" "))
    }
}

impl Access {
    /// Reads the queue tree of a `ConfigMap`.
    pub(super) fn of_text(text: &str) -> Result<Self> {
        Self::of_config(&serde_saphyr::from_str(text).context("the text is no YAML")?)
    }

    /// Reads the scheduler's configuration. Its response is updated after the queues have their new ACLs
    /// (yunikorn-core `context.go`, `processRMConfigUpdateEvent`).
    pub(super) fn of_config(config: &Value) -> Result<Self> {
        let mut access = Self::default();
        let partitions = field(config, "partitions").and_then(Value::as_array).context("no partitions")?;
        let default = partitions.iter().find(|partition| text(partition, "name") == "default");
        for queue in list(default.context("no partition `default`")?) {
            access.read(queue, "");
        }
        Ok(access)
    }

    /// Returns YuniKorn's built-in default, which is in force if there is no text.
    pub(super) fn open() -> Self {
        let subject = EVERYONE.to_owned();
        Self([Entry { queue: "root".to_owned(), right: Right::Submit, subject }].into())
    }

    fn read(&mut self, queue: &Value, parent: &str) {
        let name = text(queue, "name").to_lowercase();
        let path = if parent.is_empty() { name } else { format!("{parent}.{name}") };
        for (right, key) in [(Right::Submit, "submitacl"), (Right::Admin, "adminacl")] {
            self.add(&path, right, subjects(text(queue, key)));
        }
        for child in list(queue) {
            self.read(child, &path);
        }
    }

    /// Adds subjects. If everyone is among them, the others have no effect.
    pub(super) fn add(&mut self, queue: &str, right: Right, subjects: impl IntoIterator<Item = String>) {
        let entry = |subject| Entry { queue: queue.to_owned(), right, subject };
        self.0.extend(subjects.into_iter().map(entry));
        if self.0.contains(&entry(EVERYONE.to_owned())) {
            let redundant = |it: &Entry| it.queue == queue && it.right == right && it.subject != EVERYONE;
            self.0.retain(|it| !redundant(it));
        }
    }

    /// Returns true if this queue's own ACL contains the subject or everyone.
    pub(super) fn has(&self, entry: &Entry) -> bool {
        let everyone = Entry { subject: EVERYONE.to_owned(), ..entry.clone() };
        self.0.contains(entry) || self.0.contains(&everyone)
    }

    /// Returns true if the queue, or one above it, gives the subject the same right.
    pub(super) fn gives(&self, entry: &Entry) -> bool {
        above(&entry.queue).any(|queue| self.has(&Entry { queue: queue.to_owned(), ..entry.clone() }))
    }

    /// Returns true if a user may submit according to this tree; administrators may too.
    pub(super) fn admits(&self, user: &str, queue: &str) -> bool {
        let entry = |right| Entry { queue: queue.to_owned(), right, subject: user.to_owned() };
        [Right::Submit, Right::Admin].into_iter().any(|right| self.gives(&entry(right)))
    }

    /// Returns true if an ACL of the queue, or of one above it, contains everyone.
    pub(super) fn open_at(&self, queue: &str) -> bool {
        self.0.iter().any(|it| it.subject == EVERYONE && above(queue).any(|queue| queue == it.queue))
    }

    /// Returns the entries that `other` does not give.
    pub(super) fn beyond(&self, other: &Self) -> Self {
        Self(self.0.iter().filter(|entry| !other.gives(entry)).cloned().collect())
    }

    /// Returns the entries that `other` does not have on the same queue.
    pub(super) fn without(&self, other: &Self) -> Self {
        Self(self.0.iter().filter(|entry| !other.has(entry)).cloned().collect())
    }
}

/// Returns the queue and those above it.
fn above(queue: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(queue), |path| path.rsplit_once('.').map(|(parent, _)| parent))
}

/// Returns the subjects of an ACL: users, a space, groups.
fn subjects(acl: &str) -> BTreeSet<String> {
    let (users, groups) = acl.split_once(' ').unwrap_or((acl, ""));
    let named = |list: &str, mark: &str| -> Vec<String> {
        list.split(',').filter(|name| !name.is_empty()).map(|name| format!("{mark}{name}")).collect()
    };
    let all: BTreeSet<String> = named(users, "").into_iter().chain(named(groups, "@")).collect();
    let everyone = all.iter().any(|name| name == EVERYONE || name == "@*");
    if everyone { [EVERYONE.to_owned()].into() } else { all }
}

/// Returns a field, whose key the scheduler writes in a different case.
fn field<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let fields = value.as_object()?.iter();
    fields.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    field(value, key).and_then(Value::as_str).unwrap_or_default()
}

fn list(queue: &Value) -> impl Iterator<Item = &Value> {
    field(queue, "queues").and_then(Value::as_array).into_iter().flatten()
}

#[test]
fn tree_is_the_same_from_yaml_and_from_the_scheduler() -> Result<()> {
    let yaml = "partitions: [{name: default, queues: [{name: root, submitacl: '*',\
                queues: [{name: A, adminacl: 'sue,bob devs'}]}]}]";
    let json = serde_json::json!({"Partitions": [{"Name": "default", "Queues": [{"Name": "root", "SubmitACL": "* x",
        "Queues": [{"Name": "a", "AdminACL": "bob,sue devs"}]}]}]});
    let access = Access::of_text(yaml)?;
    assert_eq!(access, Access::of_config(&json)?);
    assert_eq!(access.to_string(), "root:Submit:* root.a:Admin:@devs root.a:Admin:bob root.a:Admin:sue");
    assert!(
        access.admits("tom", "root.a")
            && access.open_at("root.a")
            && !access.without(&Access::open()).0.is_empty()
    );
    Ok(())
}
