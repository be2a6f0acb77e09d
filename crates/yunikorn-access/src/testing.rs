//! Trees for tests.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "tests use it, and fail where it panics"
)]

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use proptest::prelude::*;

use super::running::Pod;
use super::running::registry::{KEPT, Registry};
use super::tree::{TextLocation, Tree};
use yunikorn::config::verdict;
use yunikorn::identity::Identity;
use yunikorn::queue::QueuePath;
use yunikorn::version::Version;

/// A queue's path, `submitacl` and `adminacl`.
pub type Queue<'a> = (&'a str, &'a str, &'a str);

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Returns the time at which tests begin to watch pods.
pub fn start() -> Instant {
    *START
}

/// Returns the time at which they have watched long enough to know which IDs are free.
pub fn later() -> Instant {
    start() + KEPT
}

/// Returns a registry after a list of these pods.
pub fn known(pods: impl IntoIterator<Item = Pod>) -> Registry {
    let mut registry = Registry::default();
    registry.list_begins();
    pods.into_iter().for_each(|pod| registry.listed(pod));
    registry.list_ends(start());
    registry
}

/// Returns the text of a queues.yaml with these queues. The root must be first, and each queue after its
/// parent.
pub fn text(queues: &[Queue<'_>]) -> String {
    let mut text = String::from("partitions:\n  - name: default\n    queues:\n");
    write_below(&mut text, None, queues);
    text
}

/// Returns the tree of these queues. A missing root is added without ACLs.
pub fn tree(queues: &[Queue<'_>]) -> Tree {
    parsed(&text(queues))
}

/// Returns the tree of a text with a single partition.
pub fn parsed(text: &str) -> Tree {
    let verdict = verdict(text, &[], Version::V1_8);
    let config = verdict.config.unwrap_or_else(|| panic!("{text}\n{:?}", verdict.diagnostics));
    let name = Arc::<str>::from("queues.yaml");
    let locate = |span| TextLocation { name: Arc::clone(&name), span, ..TextLocation::default() };
    let mut tree = Tree::new(config.partition("default").expect("default")).expect("active");
    tree.locate_text(locate);
    tree
}

fn write_below(text: &mut String, above: Option<&QueuePath>, queues: &[Queue<'_>]) {
    for (path, submit, admin) in queues {
        let path = QueuePath::parse(path).expect(path);
        if path.parent().as_ref() != above {
            continue;
        }
        let pad = "    ".repeat(path.parts().count() + 1);
        writeln!(text, "{pad}- name: \"{}\"", path.leaf()).expect("text");
        for (key, acl) in
            [("submitacl", submit), ("adminacl", admin)].iter().filter(|(_, acl)| !acl.is_empty())
        {
            writeln!(text, "{pad}  {key}: \"{acl}\"").expect("text");
        }
        if queues
            .iter()
            .any(|(other, _, _)| QueuePath::parse(other).expect(other).parent().as_ref() == Some(&path))
        {
            writeln!(text, "{pad}  queues:").expect("text");
            write_below(text, Some(&path), queues);
        }
    }
}

/// The ACLs of small trees.
const SUBMIT: [&str; 4] = ["", "u", " g", "*"];
const ADMIN: [&str; 3] = ["", "u", "*"];

/// The queues of random trees, with the root first and each queue after its parent.
pub const QUEUES: [&str; 9] = [
    "root",
    "root.a",
    "root.a.x",
    "root.a.x.deep",
    "root.a-b",
    "root.b",
    "root.b.x",
    "root.@recovery@",
    "root.@recovery@.x",
];

/// Returns the relevant identities for these trees: a named user, a member of a group, both, and neither of
/// them.
pub fn people() -> Vec<Identity> {
    let person = |user: &str, groups: &[&str]| Identity {
        user: user.to_owned(),
        groups: groups.iter().map(ToString::to_string).collect(),
    };
    vec![
        person("u", &[]),
        person("u", &["x", "g"]),
        person("v", &["g"]),
        person("v", &["u", "x"]),
        person("g", &[]),
        person("", &[]),
    ]
}

/// Visits every tree with these queues and one combination of ACLs at each queue: 12 to the power of the
/// number of queues.
pub fn each_tree(queues: &[&str], mut look: impl FnMut(&Tree)) {
    let choices = SUBMIT.len() * ADMIN.len();
    for choice in 0..choices.pow(u32::try_from(queues.len()).expect("few")) {
        let mut rest = choice;
        let queues: Vec<Queue<'_>> = queues
            .iter()
            .map(|path| {
                let (submit, admin) = (SUBMIT[rest % SUBMIT.len()], ADMIN[rest / SUBMIT.len() % ADMIN.len()]);
                rest /= choices;
                (*path, submit, admin)
            })
            .collect();
        look(&tree(&queues));
    }
}

/// Generates one of a few ACLs.
pub fn any_acl() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        6 => Just(""),
        1 => Just("*"),
        5 => prop::sample::select(vec!["u", "v", " g", " h", "u g", "u,v", "u,v g,h", "v h", "g u"]),
    ]
}

/// Generates a tree with some of [`QUEUES`] and ACLs with few names.
pub fn any_tree() -> impl Strategy<Value = Tree> {
    any_queues().prop_map(|queues| tree(&queues))
}

/// Generates the queues of such a tree.
pub fn any_queues() -> impl Strategy<Value = Vec<Queue<'static>>> {
    let queue = (any::<bool>(), any_acl(), any_acl());
    proptest::collection::vec(queue, QUEUES.len()).prop_map(|choices| {
        let mut queues: Vec<Queue<'static>> = Vec::new();
        for (path, (present, submit, admin)) in QUEUES.iter().zip(choices) {
            let above = path.rsplit_once('.').map(|(above, _)| above);
            let has_above = above.is_none_or(|above| queues.iter().any(|(path, _, _)| *path == above));
            if path == &"root" || (present && has_above) {
                queues.push((path, submit, admin));
            }
        }
        queues
    })
}

/// Generates an identity with names from [`any_tree`], or with none of them.
pub fn any_identity() -> impl Strategy<Value = Identity> {
    let groups = proptest::collection::vec("[ghu]", 0..3);
    ("[uvwg]", groups).prop_map(|(user, groups)| Identity { user, groups })
}
