//! A decision in one sentence, used as a line of output, a webhook's `reason` or an event.

use std::fmt::Write as _;

use super::{Decision, Denial};
use crate::subject::Subject;
use crate::tree::{GrantingEntry, Located, Tree};
use go_compat::diag::{quoted, show};
use yunikorn::identity::Identity;
use yunikorn::queue::{QueuePath, RECOVERY, ROOT};
use yunikorn::right::Right;

/// Maximum number of characters of a reason, because reasons go into logs, audit events and terminals.
const MAX_REASON: usize = 1024;

/// Returns the reason for the decision.
pub fn sentence(tree: &Tree, decision: &Decision) -> String {
    let queue = decision.located.nearest().and_then(|id| tree.node(id)).map(|node| node.path.as_str());
    let queue = queue.unwrap_or(&decision.path);
    let why = match decision.denial {
        None => decision.granted_by().map_or_else(String::new, |step| {
            let who = step.entry.as_ref().unwrap_or(&Subject::Everyone);
            let mut why = String::new();
            add_granted(&mut why, decision.right, step.acl, &step.queue, who);
            why
        }),
        Some(Denial::NotGranted) => not_granted(decision, queue, ROOT),
        Some(Denial::Recovery) if queue != RECOVERY => {
            let why = not_granted(decision, queue, RECOVERY);
            format!("{why}, and grants there and above do not apply below it")
        }
        Some(Denial::Recovery) => {
            "nobody may submit to the recovery queue, regardless of the ACLs".to_owned()
        }
        Some(Denial::NoQueue) => match decision.located {
            Located::BelowLeaf(_) => below_leaf(&decision.path, queue),
            _ => format!("{} is not a queue path; paths begin with `root`", quoted(&decision.path)),
        },
    };
    format!("{}{why}", instead(tree, &decision.path, decision.located))
}

/// Returns why a queue with this path cannot exist.
pub(crate) fn below_leaf(path: &str, leaf: &str) -> String {
    format!("queue {} cannot exist because {leaf} is a leaf", quoted(path))
}

/// Returns the reason for a grant without a trace; the sentence is the same.
pub(crate) fn yes(
    tree: &Tree,
    right: Right,
    named: &str,
    located: Located,
    granting: &GrantingEntry<'_>,
) -> String {
    let mut why = instead(tree, named, located);
    // Reserve space for the whole sentence: an authorizer builds one for each request.
    why.reserve(128);
    if let Some(node) = tree.node(granting.queue) {
        add_granted(&mut why, right, granting.acl, &node.path, &tree.real(granting.entry).into());
    }
    why
}

fn instead(tree: &Tree, named: &str, located: Located) -> String {
    match (located, located.decides().and_then(|id| tree.node(id))) {
        (Located::Below(_), Some(node)) => {
            format!("{} is not configured, so {} decides: ", quoted(named), node.path)
        }
        _ => String::new(),
    }
}

/// Appends who has the right, and through which ACL.
fn add_granted(why: &mut String, right: Right, acl: Right, queue: &QueuePath, who: &Subject) {
    // Writing to a string cannot fail.
    _ = match (right, acl) {
        (Right::Submit, Right::Submit) => write!(why, "{who} may submit to {queue}"),
        (Right::Submit, Right::Admin) => write!(why, "{who} may administer {queue}, and so may submit"),
        (Right::Admin, _) => write!(why, "{who} may administer {queue}"),
    };
}

/// Describes that no ACL from a queue up to the last checked one grants access.
fn not_granted(decision: &Decision, queue: &str, last: &str) -> String {
    let acl = match decision.right {
        Right::Submit => "ACL",
        Right::Admin => "adminacl",
    };
    let way = if queue == last { format!("on {queue}") } else { format!("from {queue} up to {last}") };
    if decision.steps.iter().all(|step| step.text.is_empty()) {
        return format!("nobody has access because no {acl} is set {way}");
    }
    format!("no {acl} {way} names {}", describe(&decision.identity))
}

/// `user sue`, `user sue or group devs`, `user sue or any of 12 groups`
fn describe(identity: &Identity) -> String {
    let Identity { user, groups } = identity;
    match groups.as_slice() {
        [] => format!("user {user}"),
        [one] => format!("user {user} or group {one}"),
        several => format!("user {user} or any of {} groups", several.len()),
    }
}

/// Escapes invisible characters and shortens a long text, because the requester chooses the names in it.
pub(crate) fn visible(text: &str) -> String {
    // Nearly all texts; every answer contains one.
    if text.len() < MAX_REASON && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars();
    rest.by_ref().take(MAX_REASON.saturating_sub(1)).for_each(|c| show(&mut shown, c));
    if rest.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::explain;
    use crate::testing::tree;

    #[test]
    fn each_kind_of_decision_has_its_sentence() {
        let tree = tree(&[
            ("root", "", " ops"),
            ("root.prod", "sue devs", ""),
            ("root.prod.ml", "", ""),
            ("root.@recovery@", "*", ""),
            ("root.@recovery@.x", "sue", ""),
        ]);
        let cases: [(Right, &str, &str, &[&str], &str); 10] = [
            (Right::Submit, "root.prod", "sue", &[], "user sue may submit to root.prod"),
            (
                Right::Submit,
                "root.prod.etl",
                "bob",
                &["devs"],
                "`root.prod.etl` is not configured, so root.prod decides: group devs may submit to \
                 root.prod",
            ),
            (Right::Submit, "root.prod", "ann", &["ops"], "group ops may administer root, and so may submit"),
            (Right::Admin, "root.prod", "ann", &["ops"], "group ops may administer root"),
            (
                Right::Submit,
                "root.prod",
                "ann",
                &["qa", "x"],
                "no ACL from root.prod up to root names user ann or any of 2 groups",
            ),
            (Right::Admin, "root", "ann", &["qa"], "no adminacl on root names user ann or group qa"),
            (
                Right::Submit,
                "root.@recovery@",
                "sue",
                &["ops"],
                "nobody may submit to the recovery queue, regardless of the ACLs",
            ),
            (
                Right::Submit,
                "root.@recovery@.x",
                "ann",
                &["ops"],
                "no ACL from root.@recovery@.x up to root.@recovery@ names user ann or group ops, \
                 and grants there and above do not apply below it",
            ),
            (Right::Submit, "prod", "ann", &[], "`prod` is not a queue path; paths begin with `root`"),
            (
                Right::Admin,
                "root.prod.ml.new",
                "ann",
                &["ops"],
                "queue `root.prod.ml.new` cannot exist because root.prod.ml is a leaf",
            ),
        ];
        for (right, queue, user, groups, expected) in cases {
            let identity =
                Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() };
            assert_eq!(sentence(&tree, &explain(&tree, right, queue, &identity)), expected);
        }
    }
}
