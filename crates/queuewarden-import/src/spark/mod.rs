//! Imports Spark's ACLs from spark-defaults.conf: parses them as Spark 3.5 does, and translates the names of
//! users and groups to Kubernetes names.
//!
//! The ACLs belong to applications, not to queues. queuewarden reads a driver's own configuration
//! ([`yunikorn::application::settings`]), so the import writes the same settings. Only the administrators of
//! all of Spark can become administrators of a queue.
//!
//! * `read`: the files.
//! * [`carry`](fn@carry): the settings with other names, and the queue's ACL.
//! * [`prove`]: the users and groups that gain or lose access.

mod proof;
mod read;

pub use proof::prove;

use std::collections::HashMap;

use crate::names::{NameMap, Names, subject};
use crate::translate::unmapped;
use crate::{FileDiagnostic, Location};
use go_compat::diag::{Code, Diagnostic, quoted};
use yunikorn::acl::lint::MAX_FINDINGS;
use yunikorn::acl::{Acl, List};
use yunikorn::application::properties::escaped;
use yunikorn::application::settings::{SPARK_ENABLE, SparkList, SparkRules, Written};
use yunikorn::queue::QueuePath;
use yunikorn_access::subject::Subject;

/// The content of the files.
#[derive(Debug, Clone)]
pub struct Spark {
    /// The lists, as if the switch were on. If it is off, there is a finding.
    pub rules: SparkRules,
    locations: HashMap<&'static str, Location>,
}

impl Spark {
    /// Returns the location of a setting.
    pub fn location(&self, key: &str) -> Option<Location> {
        self.locations.get(key).copied()
    }

    /// Returns the lists, each with its kind of names.
    fn lists(&self) -> [(&Written<SparkList>, List); 6] {
        let SparkRules { admin, view, modify, .. } = &self.rules;
        [
            (&admin.users, List::Users),
            (&admin.groups, List::Groups),
            (&view.users, List::Users),
            (&view.groups, List::Groups),
            (&modify.users, List::Users),
            (&modify.groups, List::Groups),
        ]
    }
}

// Translates Spark's settings to the names of Kubernetes, and Spark's administrators into an ACL of a queue.

/// Options of the translation.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The names of users and groups in Kubernetes.
    pub names: Names,
    /// The queue that Spark's administrators will administer.
    pub queue: Option<QueuePath>,
}

/// The result of the translation.
#[derive(Debug, Clone, Default)]
pub struct Carried {
    /// The settings for spark-defaults.conf, starting with the switch. Settings that are not set are left
    /// out.
    pub settings: Vec<(&'static str, String)>,
    /// The administrators of a queue, if there are any.
    pub administrators: Option<(QueuePath, Acl)>,
    /// The omitted subjects, each with the reason.
    lost: HashMap<Subject, Code>,
}

impl Carried {
    /// Returns the settings as lines of spark-defaults.conf.
    pub fn properties(&self) -> String {
        let mut lines = String::new();
        for (key, value) in &self.settings {
            lines.extend([*key, " ", &escaped(value), "\n"]);
        }
        lines
    }
}

/// Translates the lists, and reports what cannot be translated.
pub fn carry(spark: &Spark, options: &Options, findings: &mut Vec<FileDiagnostic>) -> Carried {
    let mut carried = Carried { settings: vec![(SPARK_ENABLE, "true".to_owned())], ..Carried::default() };
    for (list, kind) in spark.lists() {
        if list.set {
            let value = mapped(spark, (list, kind), &options.names, &mut carried, findings);
            carried.settings.push((list.key, value));
        }
    }
    let administrators =
        options.queue.clone().map(|queue| (queue, administrators(spark, &options.names, findings)));
    carried.administrators = administrators.filter(|(_, acl)| !acl.is_nobody());
    carried
}

/// Translates the names in a list.
fn mapped(
    spark: &Spark,
    (list, kind): (&Written<SparkList>, List),
    names: &Names,
    carried: &mut Carried,
    findings: &mut Vec<FileDiagnostic>,
) -> String {
    if list.value.is_everyone() {
        return "*".to_owned();
    }
    let (mut kept, mut reported) = (Vec::new(), 0_usize);
    for name in list.value.names() {
        match in_kubernetes(name, names.of(kind)) {
            Ok(to) => kept.push(to),
            Err(why) => {
                carried.lost.entry(subject(kind, name)).or_insert(why.code);
                reported = reported.saturating_add(1);
                if reported <= MAX_FINDINGS {
                    findings.push(FileDiagnostic::at(spark.location(list.key), why));
                }
            }
        }
    }
    kept.join(",")
}

/// Translates a name from one of Spark's lists.
fn in_kubernetes(name: &str, map: &NameMap) -> Result<String, Diagnostic> {
    let Some(to) = map.identity(name) else {
        return Err(unmapped(name, "the name map omits it"));
    };
    // A mapped name must not become a wildcard, two names, or a variable.
    if SparkList::parse(&to).names() != [to.as_str()] || to == "*" || to.contains("${") {
        return Err(unmapped(
            name,
            &format!("it is mapped to {}, which Spark's lists cannot hold", quoted(&to)),
        ));
    }
    Ok(to)
}

/// Returns an ACL that makes Spark's administrators administrators of a queue.
fn administrators(spark: &Spark, names: &Names, findings: &mut Vec<FileDiagnostic>) -> Acl {
    let admin = &spark.rules.admin;
    if admin.users.value.is_everyone() || admin.groups.value.is_everyone() {
        return Acl::everyone();
    }
    let mut held = |list: &Written<SparkList>, kind: List| -> Vec<String> {
        let map = names.of(kind);
        let mapped = list.value.names().iter().filter_map(|name| Some((name, map.identity(name)?)));
        let (kept, refused): (Vec<_>, Vec<_>) = mapped.partition(|(_, to)| kind.accepts(to));
        let reported = refused.iter().take(MAX_FINDINGS).map(|(name, to)| {
            let why = format!("YuniKorn's ACLs cannot hold {}, so it administers no queue", quoted(to));
            FileDiagnostic::at(spark.location(list.key), unmapped(name, &why))
        });
        findings.extend(reported);
        kept.into_iter().map(|(_, to)| to).collect()
    };
    let (users, groups) = (held(&admin.users, List::Users), held(&admin.groups, List::Groups));
    // All names have been checked. If one were refused, no one would have access, and the comparison would
    // reveal it.
    Acl::named(&users, &groups).unwrap_or_default()
}
