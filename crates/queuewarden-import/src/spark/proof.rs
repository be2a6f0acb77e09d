//! Compares access to Spark's applications before and after: for everyone who is named, for each verb, by
//! Spark's rules and by queuewarden's rules with the result.
//!
//! [`yunikorn_access::application::decide`] decides both: before, by Spark's lists; after, by the settings
//! that would be written, read again, and the queue's ACL. No subject of the comparison owns the application,
//! because owners may do the same before and after. Users are checked without groups and groups without their
//! members, because lists only add up.

use std::collections::BTreeSet;

use super::Spark;
use super::carry::{Carried, Options, subject};
use crate::names::Names;
use crate::proof::Direction;
use crate::translate::{Imported, Target};
use crate::{Place, codes};
use go_compat::diag::{Code, Diagnostic};
use yunikorn::acl::Acl;
use yunikorn::application::{ApplicationAcl, Dialect, OwnRules, Rules, properties};
use yunikorn::config::verdict;
use yunikorn::identity::Identity;
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;
use yunikorn_access::Tree;
use yunikorn_access::application::{Question, Verb, decide};
use yunikorn_access::check::{self, Subject};

/// Most names that are compared.
const MAX_SUBJECTS: usize = 20_000;

/// The action that is checked for each subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asked {
    /// View an application and read its logs.
    View,
    /// Modify it.
    Modify,
    /// End it.
    Kill,
    /// Submit to the queue.
    Submit,
}

impl Asked {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::View, Self::Modify, Self::Kill, Self::Submit];

    /// Returns the verb as reviews spell it.
    pub fn verb(self) -> &'static str {
        match self.of_applications() {
            Some(verb) => verb.as_str(),
            None => Right::Submit.verb(),
        }
    }

    fn of_applications(self) -> Option<Verb<'static>> {
        match self {
            Self::View => Some(Verb::View),
            Self::Modify => Some(Verb::Modify),
            Self::Kill => Some(Verb::Kill),
            Self::Submit => None,
        }
    }
}

/// The result of the comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proof {
    /// The number of users, groups, and everyone else.
    pub subjects: usize,
    /// All differences: the wider ones first, then by subject.
    pub differences: Vec<Difference>,
}

impl Proof {
    /// Returns the number of comparisons.
    pub fn questions(&self) -> usize {
        self.subjects.saturating_mul(Asked::ALL.len())
    }

    /// Returns the differences of one direction.
    pub fn of(&self, direction: Direction) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(move |difference| difference.direction == direction)
    }
}

/// The difference for one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Wider or narrower.
    pub direction: Direction,
    /// The subject, as Spark calls it.
    pub subject: Subject,
    /// The same subject in Kubernetes.
    pub identity: Subject,
    /// The action that differs.
    pub asked: Asked,
    /// The code of the reason.
    pub code: Code,
    /// The list that names them.
    pub place: Option<Place>,
}

/// Compares both sides.
///
/// # Errors
/// Fails when there is too much of it, or when `YuniKorn` would not accept the queue.
pub fn prove(spark: &Spark, carried: &Carried, options: &Options) -> Result<Proof, Diagnostic> {
    let known = spark.subjects();
    let subjects = options.names.asked(&known);
    if subjects.len() > MAX_SUBJECTS {
        let message = format!("{} names are too many to be compared", subjects.len());
        return Err(Diagnostic::error(codes::TOO_MANY, message).help("name groups instead of users"));
    }
    let before = Side::before(spark)?;
    let after = Side::after(carried)?;
    let comparison =
        Comparison { spark, carried, options, known: known.into_iter().collect(), before, after };
    let mut differences: Vec<Difference> =
        subjects.iter().flat_map(|who| comparison.differences(who)).collect();
    differences.sort_by(|left, right| left.order().cmp(&right.order()));
    Ok(Proof { subjects: subjects.len(), differences })
}

impl Difference {
    fn order(&self) -> (Direction, &Subject, Asked) {
        (self.direction, &self.subject, self.asked)
    }
}

impl Spark {
    /// Returns everyone whom a list names.
    fn subjects(&self) -> Vec<Subject> {
        let named = self.lists().into_iter().flat_map(|(list, of_users)| {
            let names = list.value.names().iter().filter(|name| *name != "*");
            names.map(move |name| subject(name, of_users))
        });
        named.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the location of the first list that names the subject, or everyone.
    fn naming(&self, who: &Subject, asked: Asked) -> Option<Place> {
        let [admin, admin_groups, view, view_groups, modify, modify_groups] = self.lists();
        let lists = match asked {
            Asked::View => [admin, admin_groups, view, view_groups],
            Asked::Modify | Asked::Kill => [admin, admin_groups, modify, modify_groups],
            Asked::Submit => [admin, admin_groups, admin, admin_groups],
        };
        let named = |name: &String, of_users: bool| name == "*" || subject(name, of_users) == *who;
        let mut naming = lists
            .into_iter()
            .filter(|(list, of_users)| list.value.names().iter().any(|name| named(name, *of_users)));
        naming.find_map(|(list, _)| self.place(list.key))
    }
}

/// One side of the comparison: the rules of an application, and the queue it is in.
struct Side {
    tree: Tree,
    queue: QueuePath,
    application: ApplicationAcl,
}

impl Side {
    /// Returns Spark's own rules.
    fn before(spark: &Spark) -> Result<Self, Diagnostic> {
        Ok(Self::of(tree_of(None)?, QueuePath::root(), Rules::Spark(spark.rules.clone())))
    }

    /// Creates a side. No subject of the comparison owns the application.
    fn of(tree: Tree, queue: QueuePath, rules: Rules) -> Self {
        Self { tree, queue, application: ApplicationAcl { owner: String::new(), rules } }
    }

    /// Returns the rules by which queuewarden would decide after the import: it reads the driver's settings.
    fn after(carried: &Carried) -> Result<Self, Diagnostic> {
        // Parsed as the file has them, line by line.
        let written = properties::parse(&carried.properties());
        let settings = written.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let (_, findings) = Rules::read(Dialect::Spark, settings.clone());
        if let Some(error) = findings.into_iter().find(Diagnostic::is_error) {
            return Err(Diagnostic::error(
                codes::UNEXPLAINED,
                format!("Spark would not take the settings: {error}"),
            )
            .help("please report it, with the files"));
        }
        let rules = Rules::YuniKorn(OwnRules::default().with_spark(settings));
        let queue = carried.administrators.as_ref().map_or_else(QueuePath::root, |(queue, _)| queue.clone());
        Ok(Self::of(tree_of(carried.administrators.as_ref())?, queue, rules))
    }

    fn allows(&self, asked: Asked, who: &Subject) -> bool {
        let identity = identity(who);
        match asked.of_applications() {
            Some(verb) => {
                let question = Question { verb, application: &self.application, queue: self.queue.as_str() };
                decide(&self.tree, question, &identity).allowed()
            }
            None => check::decide(&self.tree, Right::Submit, self.queue.as_str(), &identity).allowed(),
        }
    }
}

fn identity(who: &Subject) -> Identity {
    match who {
        Subject::Everyone => Identity { user: String::new(), groups: Vec::new() },
        Subject::User(name) => Identity { user: name.clone(), groups: Vec::new() },
        Subject::Group(name) => Identity { user: String::new(), groups: vec![name.clone()] },
    }
}

/// Returns a tree in which only the administrators of this queue have any right.
fn tree_of(administrators: Option<&(QueuePath, Acl)>) -> Result<Tree, Diagnostic> {
    let root = QueuePath::root();
    let (path, acl) = administrators.map_or((&root, Acl::nobody()), |(path, acl)| (path, acl.clone()));
    let paths = std::iter::successors(Some(path.clone()), QueuePath::parent);
    let mut paths: Vec<QueuePath> = paths.collect();
    paths.reverse();
    let last = paths.len().saturating_sub(1);
    let queues = paths.into_iter().enumerate().map(|(at, path)| Target {
        name: path.leaf().to_owned(),
        path,
        parent: at.checked_sub(1),
        is_parent: at < last,
        submit: Acl::nobody(),
        admin: if at == last { acl.clone() } else { Acl::nobody() },
    });
    let text = Imported { queues: queues.collect(), ..Imported::default() }.queues_yaml();
    let config = verdict(&text, &[]).config;
    let partition = config.as_ref().and_then(|config| config.partition("default"));
    partition.and_then(|partition| Tree::of(partition).ok()).ok_or_else(|| {
        Diagnostic::error(codes::UNEXPLAINED, "YuniKorn would not take the queue").help("please report it")
    })
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
        let difference = |asked: Asked| {
            // Spark's rules give nobody the right to submit.
            let before = asked != Asked::Submit && self.before.allows(asked, who);
            let after = self.after.allows(asked, &identity);
            let (direction, code) = match (before, after) {
                (true, false) => (Direction::Narrower, self.lost(who)),
                (false, true) => (Direction::Wider, self.gained(asked, who)),
                _ => return None,
            };
            let (subject, identity) = (who.clone(), identity.clone());
            Some(Difference {
                direction,
                subject,
                identity,
                asked,
                code,
                place: self.spark.naming(who, asked),
            })
        };
        Asked::ALL.into_iter().filter_map(difference).collect()
    }

    fn lost(&self, who: &Subject) -> Code {
        self.carried.lost.get(who).copied().unwrap_or(codes::UNEXPLAINED)
    }

    fn gained(&self, asked: Asked, who: &Subject) -> Code {
        let may = |asked| self.before.allows(asked, who);
        match asked {
            Asked::Submit if self.administers(who) => codes::SPARK_ADMINS_SUBMIT,
            Asked::Kill if may(Asked::Modify) => codes::SPARK_MODIFY_ALONE,
            _ if self.options.names == Names::default() => codes::UNEXPLAINED,
            _ if self.known.contains(who) => codes::NAME_CLASH,
            _ => codes::NAME_TAKEN,
        }
    }

    fn administers(&self, who: &Subject) -> bool {
        let admin = &self.spark.rules.admin;
        [(&admin.users, true), (&admin.groups, false)].into_iter().any(|(list, of_users)| {
            list.value.is_everyone() || list.value.names().iter().any(|name| subject(name, of_users) == *who)
        })
    }
}

#[cfg(test)]
mod tests;
