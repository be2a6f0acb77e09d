//! Generates many queues that nobody may use before a grant: the base of the plans, and of the cluster that
//! `just scale` measures.

use std::fmt::Write as _;

/// Returns a `queues.yaml` of so many teams with so many queues each. Names are short, because a ConfigMap
/// holds at most 1 MiB.
pub(crate) fn text(teams: usize, queues: usize) -> String {
    let mut text = "partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n".to_owned();
    for team in 0..teams {
        _ = writeln!(text, "    - name: t{team}\n      queues:");
        for queue in 0..queues {
            _ = writeln!(text, "      - name: q{queue}\n        submitacl: \" ops\"");
        }
    }
    text
}

/// Returns the path of one of those queues, counted through all teams.
pub(crate) fn path(queues: usize, number: usize) -> String {
    format!("root.t{}.q{}", number / queues, number % queues)
}
