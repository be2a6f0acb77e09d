//! Draws the tree for Mermaid (which GitHub, GitLab and many wikis show) and for Graphviz, with the ACLs and
//! the child queues of each queue.
//!
//! A queue's box shows only its own grants; inherited ones are in the boxes above. Long lists are truncated,
//! because a box with hundreds of names is unreadable. CSV and JSON contain all names.

use std::fmt::Write as _;

use go_compat::diag::{listed, visible};
use yunikorn::acl::{Acl, Match};
use yunikorn::right::Right;
use yunikorn_access::tree::{Node, QueueId, Tree};

/// Maximum number of names shown for one ACL; the rest are only counted.
const MAX_NAMES: usize = 8;

/// Returns the lines of a queue's box: its name and grants.
fn lines(tree: &Tree, node: &Node) -> Vec<String> {
    let name = if node.parent.is_some() { node.path.leaf() } else { node.path.as_str() };
    let grants = Right::ALL.into_iter().filter_map(|right| {
        let acl = &node.grants(right).acl;
        (!acl.is_nobody()).then(|| format!("{}: {}", right.verb(), subjects(tree, acl)))
    });
    std::iter::once(name.to_owned()).chain(grants).collect()
}

/// `everyone`, `sue, bob, group devs and 3 more`
fn subjects(tree: &Tree, acl: &Acl) -> String {
    let name = |entry| match tree.real(entry) {
        Match::Everyone => "everyone".to_owned(),
        Match::User(user) => user.to_owned(),
        Match::Group(group) => format!("group {group}"),
    };
    let shown: Vec<String> = acl.entries().take(MAX_NAMES).map(name).collect();
    listed(&shown, MAX_NAMES, acl.entries().count())
}

/// Returns the style of a box for a queue whose own ACL is open to everyone, and for the recovery queue.
fn class(node: &Node) -> Option<&'static str> {
    if node.path.is_recovery() {
        Some("recovery")
    } else if Right::ALL.iter().any(|right| node.grants(*right).acl.is_everyone()) {
        Some("everyone")
    } else {
        None
    }
}

fn each(tree: &Tree) -> impl Iterator<Item = (usize, Option<usize>, &Node)> {
    tree.queues().map(|(id, node)| (id.index(), node.parent.map(QueueId::index), node))
}

/// Draws the tree for Mermaid. Viewers limit a drawing to 50,000 characters and 500 edges by default.
pub fn mermaid(tree: &Tree) -> String {
    let mut text = String::from("flowchart LR\n");
    for (number, above, node) in each(tree) {
        let label = lines(tree, node).iter().map(|line| mermaid_text(line)).collect::<Vec<_>>().join("<br/>");
        let class = class(node).map(|class| format!(":::{class}")).unwrap_or_default();
        // Writing to a string cannot fail.
        _ = writeln!(text, "  q{number}[\"{label}\"]{class}");
        if let Some(above) = above {
            _ = writeln!(text, "  q{above} --> q{number}");
        }
    }
    text.push_str(
        "  classDef everyone stroke:#c00,stroke-width:3px\n  classDef recovery stroke-dasharray:4\n",
    );
    text
}

/// Escapes a label for Mermaid, which reads HTML and Markdown there: characters that could be either become
/// numeric references.
fn mermaid_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_alphanumeric() || matches!(c, ' ' | ',' | ':' | '.') {
            shown.push(c);
        } else {
            _ = write!(shown, "#{};", u32::from(c));
        }
    }
    shown
}

/// Draws the tree for Graphviz.
pub fn dot(tree: &Tree) -> String {
    let mut text = String::from(
        "digraph queues {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [arrowhead=none];\n",
    );
    for (number, above, node) in each(tree) {
        // `\l` ends a line and aligns it to the left.
        let label: String = lines(tree, node).iter().map(|line| dot_text(line) + "\\l").collect();
        let style = match class(node) {
            Some("everyone") => ", color=\"#cc0000\", penwidth=3",
            Some(_) => ", style=dashed",
            None => "",
        };
        _ = writeln!(text, "  q{number} [label=\"{label}\"{style}];");
        if let Some(above) = above {
            _ = writeln!(text, "  q{above} -> q{number};");
        }
    }
    text.push_str("}\n");
    text
}

/// Escapes a text inside a quoted string: a quote would end it, and a backslash is an escape of labels.
fn dot_text(text: &str) -> String {
    visible(text).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use yunikorn_access::testing::tree;

    fn small() -> Tree {
        tree(&[
            ("root", "", " ops"),
            ("root.a-b", "sue,bob devs", ""),
            ("root.open", "*", ""),
            ("root.@recovery@", "", ""),
        ])
    }

    #[test]
    fn mermaid_draws_boxes_that_hang_together() {
        let expected = "flowchart LR\n  q0[\"root<br/>administer: group ops\"]\n  q1[\"a#45;b<br/>submit: bob, sue, group devs\"]\n  q0 --> q1\n  q2[\"open<br/>submit: everyone\"]:::everyone\n  q0 --> q2\n  q3[\"#64;recovery#64;\"]:::recovery\n  q0 --> q3\n  classDef everyone stroke:#c00,stroke-width:3px\n  classDef recovery stroke-dasharray:4\n";
        assert_eq!(mermaid(&small()), expected);
    }

    #[test]
    fn graphviz_draws_the_same() {
        let text = dot(&small());
        for line in [
            "  q0 [label=\"root\\ladminister: group ops\\l\"];\n",
            "  q1 [label=\"a-b\\lsubmit: bob, sue, group devs\\l\"];\n  q0 -> q1;\n",
            "  q2 [label=\"open\\lsubmit: everyone\\l\", color=\"#cc0000\", penwidth=3];\n",
            "  q3 [label=\"@recovery@\\l\", style=dashed];\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..20).map(|n| format!("u{n:02}")).collect();
        let acl = yunikorn::acl::parse(&names.join(",")).unwrap();
        assert_eq!(subjects(&small(), &acl), "u00, u01, u02, u03, u04, u05, u06, u07 and 12 more");
    }

    #[test]
    fn what_drawings_would_read_otherwise_is_escaped() {
        assert_eq!(mermaid_text("a<b>&\"#;é"), "a#60;b#62;#38;#34;#35;#59;é");
        assert_eq!(dot_text("a\\l\"b\u{9b}"), "a\\\\l\\\"b\\\\u{9b}");
    }
}
