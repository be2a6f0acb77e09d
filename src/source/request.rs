//! What arguments name: a right by its verb, a queue by its path, an object, users and groups.

use crate::output::Failure;
use crate::output::format::suggestion;
use crate::source::input::object::is_name;
use go_compat::diag::Diagnostic;
use queuewarden_api::v1alpha1::{Grant, SINGLETON, ServiceAccount};
use queuewarden_plan::entries::Names;
use queuewarden_plan::{ObjectRef, ResourceKind};
use yunikorn::acl::{Acl, Match};
use yunikorn::queue::{QueuePath, nearest};
use yunikorn::right::Right;
use yunikorn_access::Tree;
use yunikorn_access::alias::{self, SERVICE_ACCOUNT};
use yunikorn_access::application::Verb;
use yunikorn_access::tree::Located;

/// Verbs of the rights; `admin` is the name of the field in a `QueueAcl`.
const VERBS: &[(&str, Right)] =
    &[("submit", Right::Submit), ("administer", Right::Admin), ("admin", Right::Admin)];

/// Parses a right by its verb, for clap.
///
/// # Errors
/// When there is no such verb; the message suggests a similar one.
pub fn verb(text: &str) -> Result<Right, String> {
    right(text).ok_or_else(|| {
        let hint = verb_hint([], text);
        format!("YuniKorn knows the verbs `submit` and `administer`{hint}")
    })
}

/// Suggests a similar verb, or explains that the verb comes before the queue.
fn verb_hint(others: impl IntoIterator<Item = &'static str>, text: &str) -> String {
    if QueuePath::parse(text).is_ok() {
        return format!("; write the verb first, as in `submit {text}`");
    }
    suggestion(VERBS.iter().map(|(verb, _)| *verb).chain(others), text)
}

fn right(verb: &str) -> Option<Right> {
    VERBS.iter().find(|(known, _)| known.eq_ignore_ascii_case(verb)).map(|(_, right)| *right)
}

/// A right in a queue, or an action on an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnyVerb {
    /// A right in a queue.
    Right(Right),
    /// An action on an application.
    Action(Verb),
}

/// Parses a verb of [`verb`], or one for applications.
///
/// # Errors
/// When there is no such verb; the message suggests a similar one.
pub fn any_verb(text: &str) -> Result<AnyVerb, String> {
    let action = || Verb::ALL.into_iter().find(|action| action.as_str().eq_ignore_ascii_case(text));
    let verb = right(text).map(AnyVerb::Right).or_else(|| action().map(AnyVerb::Action));
    verb.ok_or_else(|| {
        let actions = Verb::ALL.map(Verb::as_str);
        let hint = verb_hint(actions, text);
        let actions = actions.join("`, `");
        format!(
            "the verbs are `submit` and `administer` for a queue, and for an application `{actions}`{hint}"
        )
    })
}

/// Parses `KIND/NAME` of one of these kinds, for clap. The kind is written as for kubectl: `queueacl`,
/// `queueacls`, `qacl`.
///
/// # Errors
/// When it is of no such kind; the message has an example of each.
pub fn object(text: &str, kinds: &[ResourceKind]) -> Result<ObjectRef, String> {
    let parsed = text.split_once('/').and_then(|(kind, name)| {
        let kind = ResourceKind::parse(kind).filter(|kind| kinds.contains(kind))?;
        is_name(name).then(|| kind.object(name))
    });
    parsed.ok_or_else(|| {
        let example = |kind: &ResourceKind| {
            let name = if *kind == ResourceKind::QueueAcl { "prod" } else { SINGLETON };
            format!("{}/{name}", kind.name().to_ascii_lowercase())
        };
        let examples: Vec<String> = kinds.iter().map(example).collect();
        format!("write it like {}", examples.join(" or "))
    })
}

/// Parses the path of a queue, for clap. The queue need not be configured, because placement rules may create
/// it.
///
/// # Errors
/// When no queue can have this path.
pub fn queue(text: &str) -> Result<String, String> {
    match QueuePath::parse(text) {
        Ok(path) => Ok(path.to_string()),
        Err(diagnostic) => Err(diagnostic.without_code()),
    }
}

/// Parses `KEY=VALUE`, for clap. The value may be empty, keeps its spaces, and may contain more equals signs.
///
/// # Errors
/// When there is no `=`, or no key before it.
pub fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write it as KEY=VALUE")?;
    if key.trim().is_empty() {
        return Err("there is no key before the `=`".to_owned());
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// Describes a queue that is not configured: the queue that decides for it, and a similar queue that may have
/// been meant.
pub fn unknown(tree: &Tree, queue: &str) -> Option<String> {
    let located = tree.locate(queue);
    let (Located::Below(id) | Located::BelowLeaf(id)) = located else {
        return None;
    };
    let decides = tree.node(id)?.path.as_str();
    let near =
        nearest(tree.queues().map(|(_, node)| node.path.as_str()), queue).filter(|near| *near != decides);
    let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    let what = match located {
        Located::BelowLeaf(_) => format!(", and cannot be created: {decides} is a leaf"),
        _ => format!(": {decides} decides for queues created below it"),
    };
    Some(format!("{queue} is not configured{what}{hint}"))
}

/// Notes that no application runs in a parent queue: a granted submit is of use only below it.
pub fn parent(tree: &Tree, right: Right, queue: &str) -> Option<String> {
    let Located::Queue(id) = tree.locate(queue) else {
        return None;
    };
    let of_no_use = right == Right::Submit && !tree.node(id)?.is_leaf;
    of_no_use.then(|| format!("{queue} is a parent queue: applications run in the leaves below it"))
}

/// Options for the users and groups of a grant.
#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = true)]
pub struct SubjectArgs {
    /// A user; may be repeated
    #[arg(long = "user", value_name = "NAME")]
    pub(crate) users: Vec<String>,
    /// A group; may be repeated
    #[arg(long = "group", value_name = "NAME")]
    pub(crate) groups: Vec<String>,
    /// A service account; may be repeated
    #[arg(long = "serviceaccount", value_name = "NAMESPACE:NAME", value_parser = service_account)]
    pub(crate) service_accounts: Vec<String>,
}

/// Reads a service account as kubectl does, into the name of its user.
pub(crate) fn service_account(text: &str) -> Result<String, String> {
    let parts = text.split_once(':').filter(|(namespace, name)| !namespace.is_empty() && !name.contains(':'));
    let (namespace, name) = parts.ok_or("write it as NAMESPACE:NAME, such as spark:driver")?;
    Ok(format!("{SERVICE_ACCOUNT}{namespace}:{name}"))
}

impl SubjectArgs {
    /// Returns the users and groups.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Match<'_>> {
        let groups = self.groups.iter().map(|name| Match::Group(name));
        self.users().map(|name| Match::User(name)).chain(groups)
    }

    /// Returns the users, service accounts included.
    pub(crate) fn users(&self) -> impl Iterator<Item = &String> {
        self.users.iter().chain(&self.service_accounts)
    }

    /// Returns the names to look for.
    pub(crate) fn names(&self) -> Names {
        Names { users: self.users().cloned().collect(), groups: self.groups.iter().cloned().collect() }
    }

    /// Returns the part of a manifest that names them.
    pub(crate) fn grant(&self) -> Grant {
        let account = |user: &String| {
            let (namespace, name) = alias::service_account(user)?;
            Some(ServiceAccount { namespace: namespace.to_owned(), name: Some(name.to_owned()) })
        };
        Grant {
            users: self.users().filter(|user| account(user).is_none()).cloned().collect(),
            groups: self.groups.clone(),
            service_accounts: self.users().filter_map(account).collect(),
            ..Grant::default()
        }
    }

    /// Returns the ACL that names them.
    ///
    /// # Errors
    /// When one of them cannot be granted anything.
    pub(crate) fn acl(&self) -> Result<Acl, Failure> {
        let users: Vec<_> = self.users().collect();
        alias::acl(&users, &self.groups).map(|(acl, _)| acl).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(Diagnostic::without_code).collect();
            Failure::Usage(lines.join("\n"))
        })
    }
}

/// Returns whether an entry of an ACL gives access to a subject.
pub(crate) fn covers(entry: Match<'_>, subject: Match<'_>) -> bool {
    [subject, Match::Everyone].contains(&entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_have_other_names_and_neighbours() {
        assert_eq!(verb("Admin"), Ok(Right::Admin));
        assert_eq!(verb("administer"), Ok(Right::Admin));
        for (wrong, meant) in
            [("sumbit", "did you mean `submit`?"), ("administrate", "`administer`?"), ("kill", "administer`")]
        {
            let error = verb(wrong).unwrap_err();
            assert!(error.ends_with(meant), "{error}");
        }
        for error in [verb("root.prod").unwrap_err(), any_verb("root.prod").unwrap_err()] {
            assert!(error.ends_with("; write the verb first, as in `submit root.prod`"), "{error}");
        }
    }

    #[test]
    fn no_queue_is_made_below_a_leaf() {
        let tree =
            yunikorn_access::testing::tree(&[("root", "", ""), ("root.a", "", ""), ("root.a.b", "", "")]);
        let reported = |name| unknown(&tree, name).unwrap();
        assert!(reported("root.a.new").starts_with("root.a.new is not configured: root.a decides"));
        assert!(
            reported("root.a.b.new")
                .starts_with("root.a.b.new is not configured, and cannot be created: root.a.b is a leaf")
        );
        assert_eq!(unknown(&tree, "root.a.b"), None);
    }

    #[test]
    fn queues_are_full_paths() {
        assert_eq!(queue("ROOT.Prod"), Ok("root.prod".to_owned()));
        assert!(queue("prod").unwrap_err().contains("`root.prod`"));
        assert!(queue("root..a").is_err());
    }

    #[test]
    fn kind_as_kubectl_takes_it_is_parsed() {
        let kinds = [ResourceKind::QueueAcl, ResourceKind::YuniKornConfig];
        for kind in ["queueacl", "QueueAcl", "queueacls", "qacl", "QACL"] {
            assert_eq!(
                object(&format!("{kind}/prod"), &kinds),
                Ok(ResourceKind::QueueAcl.object("prod")),
                "{kind}"
            );
        }
        for kind in ["yunikornconfigs", "ykc"] {
            let config = ResourceKind::YuniKornConfig.object("default");
            assert_eq!(object(&format!("{kind}/default"), &kinds), Ok(config), "{kind}");
        }
        for wrong in ["prod", "queueacl/", "queueacl/a/b", "qacl/A", "admpol/default", "secret/x"] {
            let error = "write it like queueacl/prod or yunikornconfig/default";
            assert_eq!(object(wrong, &kinds), Err(error.to_owned()), "{wrong}");
        }
    }

    #[test]
    fn a_settings_spaces_are_kept() {
        let set = |key: &str, value: &str| Ok((key.to_owned(), value.to_owned()));
        assert_eq!(key_value("yarn.admin.acl= ops"), set("yarn.admin.acl", " ops"));
        assert_eq!(key_value("a=b=c"), set("a", "b=c"));
        assert_eq!(key_value("a="), set("a", ""));
        assert!(key_value("a").is_err() && key_value("=b").is_err());
    }
}
