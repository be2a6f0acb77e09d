//! What is asked: a right by its verb, and a queue by its path.

use crate::cli::Failure;
use crate::cli::application::{Action, ApplicationArgs};
use yunikorn::queue::{QueuePath, nearest};
use yunikorn::right::Right;
use yunikorn_access::Tree;
use yunikorn_access::tree::Located;

/// The words for the rights; `admin` is what the field of a `QueueAcl` is called.
const VERBS: &[(&str, Right)] =
    &[("submit", Right::Submit), ("administer", Right::Admin), ("admin", Right::Admin)];

/// A right by its verb, for clap.
///
/// # Errors
/// When there is no such verb, with the one that may have been meant.
pub fn verb(text: &str) -> Result<Right, String> {
    let found = VERBS.iter().find(|(verb, _)| verb.eq_ignore_ascii_case(text));
    found.map(|(_, right)| *right).ok_or_else(|| {
        let near = nearest(VERBS.iter().map(|(verb, _)| *verb), text);
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("YuniKorn knows the verbs `submit` and `administer`{hint}")
    })
}

/// What is asked for: a right in a queue, or something to do with an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnyVerb {
    /// A right in a queue.
    Right(Right),
    /// Something to do with an application.
    Action(Action),
}

/// As [`verb`], or a verb for applications.
///
/// # Errors
/// When there is no such verb, with the one that may have been meant.
pub fn any_verb(text: &str) -> Result<AnyVerb, String> {
    if let Ok(right) = verb(text) {
        return Ok(AnyVerb::Right(right));
    }
    if let Some(action) = Action::ALL.into_iter().find(|action| action.as_str().eq_ignore_ascii_case(text)) {
        return Ok(AnyVerb::Action(action));
    }
    let actions = Action::ALL.map(Action::as_str);
    let near = nearest(VERBS.iter().map(|(verb, _)| *verb).chain(actions), text);
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Err(format!(
        "the verbs are `submit` and `administer` for a queue, and for an application `{}`{hint}",
        actions.join("`, `")
    ))
}

/// The queue that a right is asked about: nothing about an application may be given with it.
///
/// # Errors
/// When there can be no such queue, or something is given that is about an application.
pub fn only_queue(target: &str, application: &ApplicationArgs) -> Result<String, Failure> {
    if application.is_given() {
        let words = "--owner, --queue, --to, --dialect and settings are for questions about an application: view, \
                     modify, kill, logs, move";
        return Err(Failure::Usage(words.to_owned()));
    }
    queue(target).map_err(Failure::Usage)
}

/// A queue's path, for clap: what could be one, for a queue that placement rules make need not be configured.
///
/// # Errors
/// When no queue can have this path.
pub fn queue(text: &str) -> Result<String, String> {
    match QueuePath::parse(text) {
        Ok(path) => Ok(path.to_string()),
        Err(diagnostic) => Err(match diagnostic.help {
            Some(help) => format!("{}; {help}", diagnostic.message),
            None => diagnostic.message,
        }),
    }
}

/// What to know about a queue that is not configured: which one decides for it, and which may have been meant.
pub fn unknown(tree: &Tree, asked: &str) -> Option<String> {
    let Located::Below(id) = tree.locate(asked) else {
        return None;
    };
    let node = tree.node(id)?;
    let decides = node.path.as_str();
    let near =
        nearest(tree.queues().map(|(_, node)| node.path.as_str()), asked).filter(|near| *near != decides);
    let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    let what = if node.is_leaf {
        format!(", and cannot be made: {decides} is a leaf")
    } else {
        format!(": {decides} decides for queues made below it")
    };
    Some(format!("{asked} is not configured{what}{hint}"))
}

/// What to know about a yes for a queue in which no application runs: the right is there, and of use only below it.
pub fn parent(tree: &Tree, right: Right, asked: &str) -> Option<String> {
    let Located::Queue(id) = tree.locate(asked) else {
        return None;
    };
    let of_no_use = right == Right::Submit && !tree.node(id)?.is_leaf;
    of_no_use.then(|| format!("{asked} is a parent queue: applications run in the leaves below it"))
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
    }

    #[test]
    fn no_queue_is_made_below_a_leaf() {
        let tree =
            yunikorn_access::testing::tree(&[("root", "", ""), ("root.a", "", ""), ("root.a.b", "", "")]);
        let told = |asked| unknown(&tree, asked).unwrap();
        assert!(told("root.a.new").starts_with("root.a.new is not configured: root.a decides"));
        assert!(
            told("root.a.b.new")
                .starts_with("root.a.b.new is not configured, and cannot be made: root.a.b is a leaf")
        );
        assert_eq!(unknown(&tree, "root.a.b"), None);
    }

    #[test]
    fn queues_are_full_paths() {
        assert_eq!(queue("ROOT.Prod"), Ok("root.prod".to_owned()));
        assert!(queue("prod").unwrap_err().contains("`root.prod`"));
        assert!(queue("root..a").is_err());
    }
}
