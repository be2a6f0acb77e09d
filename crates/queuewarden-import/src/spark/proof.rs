//! Compares access to Spark's applications before and after the import: for every subject and verb, by
//! Spark's rules and by queuewarden's rules with the result.
//!
//! [`yunikorn_access::application::decide`] decides in both cases: before, from Spark's lists; after, from
//! the queue's ACL and the settings that would be written, parsed again. No subject of the comparison owns
//! the application, because an owner's rights are the same before and after. Users are checked without groups
//! and groups without their members, because lists only add up.

use std::collections::BTreeSet;

use super::{Carried, Options, Spark};
use crate::names::{Names, subject};
use crate::proof::{self, Compared, Difference, Direction, Proof};
use crate::{Location, codes};
use go_compat::diag::{Code, Diagnostic};
use yunikorn::acl::{Acl, List};
use yunikorn::application::settings::{SparkList, Written};
use yunikorn::application::{ApplicationAcl, Dialect, OwnRules, Rules, properties};
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;
use yunikorn_access::application::{Request, Verb, decide};
use yunikorn_access::subject::Subject;
use yunikorn_access::{Tree, decide};

/// Maximum number of names to compare.
const MAX_SUBJECTS: usize = 20_000;

/// The actions to compare for each subject: the verbs on an application, and `None` for submitting to the
/// queue.
const ACTIONS: [Option<Verb>; 4] = [Some(Verb::View), Some(Verb::Modify), Some(Verb::Kill), None];

/// Compares both sides.
///
/// # Errors
/// Fails when there is too much to compare, or when `YuniKorn` would refuse the queue.
pub fn prove(spark: &Spark, carried: &Carried, options: &Options) -> Result<Proof, Diagnostic> {
    let known = spark.subjects();
    let subjects = options.names.requested(&known);
    if subjects.len() > MAX_SUBJECTS {
        let message = format!("too many names to compare: {}", subjects.len());
        return Err(Diagnostic::error(codes::TOO_MANY, message).help("name groups instead of users"));
    }
    let before = Side::new(tree_of(None)?, QueuePath::root(), Rules::Spark(spark.rules.clone()));
    let after = Side::after(carried)?;
    let comparison = Comparison { spark, carried, options, known, before, after };
    let differences = subjects.iter().flat_map(|who| comparison.differences(who)).collect();
    let questions = subjects.len().saturating_mul(ACTIONS.len());
    Ok(Proof::new(Compared { queues: None, names: subjects.len(), questions }, differences))
}

impl Spark {
    /// Returns every subject in the lists.
    fn subjects(&self) -> BTreeSet<Subject> {
        let named = self.lists().into_iter().flat_map(|(list, kind)| {
            let names = list.value.names().iter().filter(|name| *name != "*");
            names.map(move |name| subject(kind, name))
        });
        named.collect()
    }

    /// Returns the location of the first list that names the subject, or everyone.
    fn naming(&self, who: &Subject, action: Option<Verb>) -> Option<Location> {
        let [admin, admin_groups, view, view_groups, modify, modify_groups] = self.lists();
        let lists = match action {
            Some(Verb::View) => [admin, admin_groups, view, view_groups],
            Some(_) => [admin, admin_groups, modify, modify_groups],
            None => [admin, admin_groups, admin, admin_groups],
        };
        let mut naming = lists.into_iter().filter(|(list, kind)| names(list, *kind, who));
        naming.find_map(|(list, _)| self.location(list.key))
    }
}

/// Returns whether a list names the subject, or everyone.
fn names(list: &Written<SparkList>, kind: List, who: &Subject) -> bool {
    list.value.names().iter().any(|name| name == "*" || subject(kind, name) == *who)
}

/// One side of the comparison: the rules of an application, and the queue it is in.
struct Side {
    tree: Tree,
    queue: QueuePath,
    application: ApplicationAcl,
}

impl Side {
    /// Creates a side. No subject of the comparison owns the application.
    fn new(tree: Tree, queue: QueuePath, rules: Rules) -> Self {
        Self { tree, queue, application: ApplicationAcl { owner: String::new(), rules } }
    }

    /// Returns queuewarden's rules after the import, which it reads from the driver's settings.
    fn after(carried: &Carried) -> Result<Self, Diagnostic> {
        // Parsed from the lines of the file that would be written.
        let written = properties::parse(&carried.properties());
        let settings = written.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let (_, findings) = Rules::read(Dialect::Spark, settings.clone());
        if let Some(error) = findings.into_iter().find(Diagnostic::is_error) {
            return Err(Diagnostic::error(
                codes::UNEXPLAINED,
                format!("Spark would refuse the settings: {error}"),
            )
            .help("please report this, with the files"));
        }
        let rules = Rules::YuniKorn(OwnRules::default().with_spark(settings));
        let queue = carried.administrators.as_ref().map_or_else(QueuePath::root, |(queue, _)| queue.clone());
        Ok(Self::new(tree_of(carried.administrators.as_ref())?, queue, rules))
    }

    fn allows(&self, action: Option<Verb>, who: &Subject) -> bool {
        let (tree, queue, identity) = (&self.tree, self.queue.as_str(), &who.identity());
        match action {
            Some(verb) => {
                let application = &self.application;
                decide(Request { tree, identity, verb, target: "", application, queue }).allowed()
            }
            None => decide::decide(tree, Right::Submit, queue, identity).allowed(),
        }
    }
}

/// Returns a tree where only the administrators of this queue have any right.
fn tree_of(administrators: Option<&(QueuePath, Acl)>) -> Result<Tree, Diagnostic> {
    let nobody = (QueuePath::root(), Acl::nobody());
    let (path, acl) = administrators.unwrap_or(&nobody);
    // Queue names contain no characters that need escaping in double quotes.
    let queue = format!("{{name: \"{}\", {}: {}}}", path.leaf(), Right::Admin.key(), acl.yaml());
    let above = path.parts().rev().skip(1);
    let queues = above.fold(queue, |below, name| format!("{{name: \"{name}\", queues: [{below}]}}"));
    proof::tree_of(&format!("partitions: [{{name: default, queues: [{queues}]}}]"))
}

struct Comparison<'a> {
    spark: &'a Spark,
    carried: &'a Carried,
    options: &'a Options,
    known: BTreeSet<Subject>,
    before: Side,
    after: Side,
}

impl Comparison<'_> {
    fn differences(&self, who: &Subject) -> Vec<Difference> {
        let identity = self.options.names.identity(who);
        let difference = |action: Option<Verb>| {
            // Spark's rules give nobody the right to submit.
            let before = action.is_some() && self.before.allows(action, who);
            let (direction, code) = match (before, self.after.allows(action, &identity)) {
                (true, false) => (Direction::Narrower, self.lost(who)),
                (false, true) => (Direction::Wider, self.gained(action, who)),
                _ => return None,
            };
            Some(Difference {
                direction,
                subject: who.clone(),
                identity: identity.clone(),
                verb: action.map_or(Right::Submit.verb(), Verb::as_str),
                code,
                queues: Vec::new(),
                count: 0,
                location: self.spark.naming(who, action),
            })
        };
        ACTIONS.into_iter().filter_map(difference).collect()
    }

    fn lost(&self, who: &Subject) -> Code {
        self.carried.lost.get(who).copied().unwrap_or(codes::UNEXPLAINED)
    }

    fn gained(&self, action: Option<Verb>, who: &Subject) -> Code {
        let [admin, admin_groups, ..] = self.spark.lists();
        let administers = || [admin, admin_groups].iter().any(|(list, kind)| names(list, *kind, who));
        match action {
            None if administers() => codes::SPARK_ADMINS_SUBMIT,
            Some(Verb::Kill) if self.before.allows(Some(Verb::Modify), who) => codes::SPARK_MODIFY_ALONE,
            _ if self.options.names == Names::default() => codes::UNEXPLAINED,
            _ if self.known.contains(who) => codes::NAME_CLASH,
            _ => codes::NAME_TAKEN,
        }
    }
}

#[cfg(test)]
mod tests;
