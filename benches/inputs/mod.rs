//! Generates the inputs of all benchmarks: the same for criterion, for Go and for Java.
//!
//! They are generated, not stored, and the same every time. `e2e/compare` writes them as one JSON file for
//! the other two.

use std::fmt::Write as _;

/// The numbers of levels below the root at which decisions are measured.
pub(crate) const DEPTHS: [usize; 4] = [1, 5, 10, 20];
/// The queues of [`queues`].
pub(crate) const QUEUES: usize = 10_000;

/// Half of the names of an ACL: so many users, and as many groups.
const HALF: usize = 10;

/// One access decision on its own configuration.
#[derive(Debug)]
pub(crate) struct Decision {
    /// The name, such as `miss/5`.
    pub(crate) name: String,
    /// The `queues.yaml`.
    pub(crate) config: String,
    /// The queue in question and those above it: their paths, and the texts of their two ACLs.
    pub(crate) lists: Vec<Lists>,
    /// The user who wants to submit.
    pub(crate) user: String,
    /// The groups of that user.
    pub(crate) groups: Vec<String>,
    /// The expected decision.
    pub(crate) allowed: bool,
}

/// The ACLs of one queue.
#[derive(Debug, Clone)]
pub(crate) struct Lists {
    /// The full path.
    pub(crate) path: String,
    /// `submitacl`
    pub(crate) submit: String,
    /// `adminacl`
    pub(crate) admin: String,
}

/// Returns an ACL of forty names: twenty users and twenty groups, in no order, as people write them.
pub(crate) fn acl() -> String {
    list("user", "group", 20, |index| (index * 7) % 20)
}

fn list(user: &str, group: &str, names: usize, order: impl Fn(usize) -> usize) -> String {
    let joined = |kind: &str| {
        let names: Vec<String> = (0..names).map(|index| format!("{kind}-{}", order(index))).collect();
        names.join(",")
    };
    format!("{} {}", joined(user), joined(group))
}

/// Returns all decisions: each kind at each depth. An ACL names ten users and ten groups, and the user is in
/// twenty groups.
///
/// * `miss`: the ACLs from the queue to the root name neither the user nor a group.
/// * `far`: only the root's `submitacl` names the last of the groups, so every queue on the way has to be
///   checked for each of them.
/// * `near`: the `submitacl` of the queue itself names the user.
pub(crate) fn decisions() -> Vec<Decision> {
    let kinds = ["miss", "far", "near"];
    DEPTHS.iter().flat_map(|depth| kinds.map(|kind| decision(kind, *depth))).collect()
}

fn decision(kind: &str, depth: usize) -> Decision {
    let lists = chain(depth);
    let mut groups: Vec<String> = (0..20).map(|index| format!("people-of-{index}")).collect();
    let mut user = "somebody".to_owned();
    match kind {
        "far" => groups.iter_mut().rev().take(1).for_each(|last| "group-s0-5".clone_into(last)),
        "near" => user = format!("user-s{depth}-5"),
        _ => {}
    }
    let config = config(&lists);
    let lists = lists.into_iter().rev().collect();
    Decision { name: format!("{kind}/{depth}"), config, lists, user, groups, allowed: kind != "miss" }
}

/// Returns one queue in each level, from the root down.
fn chain(depth: usize) -> Vec<Lists> {
    let mut path = String::new();
    (0..=depth)
        .map(|level| {
            path = if level == 0 { "root".to_owned() } else { format!("{path}.level{level}") };
            let acl = |kind: &str| {
                let (user, group) = (format!("user-{kind}{level}"), format!("group-{kind}{level}"));
                list(&user, &group, HALF, |index| (index * 3) % HALF)
            };
            Lists { path: path.clone(), submit: acl("s"), admin: acl("a") }
        })
        .collect()
}

fn config(lists: &[Lists]) -> String {
    let mut text = "partitions:\n  - name: default\n    queues:\n".to_owned();
    for (level, Lists { path, submit, admin }) in lists.iter().enumerate() {
        let (name, indent) = (path.rsplit('.').next().unwrap_or(path), " ".repeat(6 + 4 * level));
        _ = writeln!(
            text,
            "{indent}- name: {name}\n{indent}  submitacl: {submit}\n{indent}  adminacl: {admin}"
        );
        if level + 1 < lists.len() {
            _ = writeln!(text, "{indent}  queues:");
        }
    }
    text
}

/// Returns a `queues.yaml` of [`QUEUES`] queues, each with both ACLs: the root, a hundred teams, and their
/// queues. It names two thousand users and five hundred groups.
pub(crate) fn queues() -> String {
    let mut text = "partitions:\n  - name: default\n    queues:\n      - name: root\n        adminacl: \" operators\"\n        queues:\n".to_owned();
    let teams = 100;
    let mut left = QUEUES - 1 - teams;
    for team in 0..teams {
        queue(&mut text, 10, &format!("team-{team}"), team);
        text.push_str("            queues:\n");
        let of_team = left.div_ceil(teams - team);
        left -= of_team;
        for number in 0..of_team {
            queue(&mut text, 14, &format!("queue-{number}"), team * 131 + number * 17);
        }
    }
    text
}

fn queue(text: &mut String, indent: usize, name: &str, seed: usize) {
    let pad = " ".repeat(indent);
    let names = |kind: &str, count: usize, of: usize| {
        let names: Vec<String> =
            (0..count).map(|index| format!("{kind}{}", (seed * 29 + index * 389) % of)).collect();
        names.join(",")
    };
    let (users, groups, admins) = (names("user", 4, 2000), names("group", 2, 500), names("admins", 1, 100));
    _ = writeln!(
        text,
        "{pad}- name: {name}\n{pad}  submitacl: \"{users} {groups}\"\n{pad}  adminacl: \" {admins}\""
    );
}
