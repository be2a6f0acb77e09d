//! Examples of the commands, for their help and for docs/command-line.md.

use clap::Command;

/// The examples, each with what it does. A command's help has those that begin with the command.
pub const EXAMPLES: &[(&str, &str)] = &[
    ("May ann submit to root.prod in the cluster?", "queuewarden can-i submit root.prod --as ann"),
    (
        "May a member of devs administer root.ml by these files?",
        "queuewarden can-i administer root.ml --as ann --as-group devs -f queues.yaml -f acls/",
    ),
    ("Why may ann not submit, and what would change that?", "queuewarden explain submit root.prod --as ann"),
    (
        "Why may ann end an application of carl in root.prod?",
        "queuewarden explain kill app-1 --queue root.prod --owner carl --as ann",
    ),
    (
        "Everyone who may submit to root.prod, and where that is written",
        "queuewarden who-can submit root.prod",
    ),
    ("Who could submit to it last Tuesday?", "queuewarden who-can submit root.prod --at tuesday"),
    ("Only the names of those who administer it", "queuewarden who-can administer root.prod -o name"),
    ("All queues that ann may use", "queuewarden what-can --as ann --as-group devs"),
    (
        "The queues that she administers by these files",
        "queuewarden what-can administer --as ann -f queues.yaml",
    ),
    ("Every entry that names bob, in force or not", "queuewarden what-can --as bob --all"),
    ("Who may do what below root.prod", "queuewarden matrix --queue root.prod"),
    ("The same for a spreadsheet, from files", "queuewarden matrix -f queues.yaml -f acls/ -o csv"),
    ("Where would the pods of a Job of ann run?", "queuewarden place --as ann --workload job.yaml"),
    ("Would YuniKorn take an application for root.prod?", "queuewarden place --as ann --queue root.prod"),
    ("Write a page about the cluster", "queuewarden report"),
    ("Who is let in by an ACL?", "queuewarden acl 'sue,bob dev,ops'"),
    ("What does YuniKorn make of one of YARN's?", "queuewarden acl --dialect yarn-hadoop 'sue, bob dev'"),
    ("Check a folder with its subfolders", "queuewarden validate -R -f acls/"),
    (
        "Fail on warnings too, against a queue tree",
        "queuewarden validate --strict -f acls/ --base queues.yaml",
    ),
    ("Look at the cluster", "queuewarden validate"),
    ("Look ahead, too: what will be found when a grant ends?", "queuewarden validate --until 7d"),
    ("Keep what is found today, and fail only on what is new", "queuewarden validate -o sarif > known.sarif"),
    ("The second step of that, in a pipeline", "queuewarden validate --strict --baseline known.sarif"),
    (
        "Find names that nobody has",
        "queuewarden validate -f queues.yaml --users users.txt --groups groups.txt",
    ),
    ("What would change in the cluster by these objects?", "queuewarden diff -f acls/"),
    ("What would change if an object were deleted?", "queuewarden diff --delete queueacl/prod"),
    ("What would change for bob?", "queuewarden diff -f acls/ --as bob"),
    ("Refuse a change that gives anybody more", "queuewarden diff --fail-on-widening --from main/ -f acls/"),
    ("Print the ConfigMap", "queuewarden render -f acls/ --base queues.yaml"),
    (
        "Write it into a file",
        "queuewarden render -f acls/ --base queues.yaml --output-file yunikorn-configs.yaml",
    ),
    ("Test files against the access that is meant", "queuewarden test -f queues.yaml -f tests.yaml"),
    ("Write the results for a pipeline", "queuewarden test -f queues.yaml -f tests.yaml -o junit"),
    ("Answer a review from files", "queuewarden review -f review.yaml -f queues.yaml"),
    (
        "Let ann submit until Friday",
        "queuewarden grant submit root.prod --user ann --until friday | kubectl apply -f -",
    ),
    ("Make a group administrators at once", "queuewarden grant administer root.ml --group ml-leads --apply"),
    (
        "End a grant in a month, which had no end",
        "queuewarden grant submit root.prod --user ann --until 1mo --replace --apply",
    ),
    ("See who loses what by a suspension", "queuewarden suspend queueacl/prod"),
    ("Suspend an object", "queuewarden suspend queueacl/prod --apply"),
    ("Resume it", "queuewarden resume queueacl/prod --apply"),
    (
        "List the pods of namespace spark with wrong aliases",
        "queuewarden user-info refresh --namespace spark",
    ),
    ("Take a right from bob", "queuewarden revoke submit root.prod --user bob --apply"),
    (
        "Take bob out of every object, and list other entries",
        "queuewarden revoke --user bob --everywhere --apply",
    ),
    #[cfg(feature = "import")]
    ("Move the cluster's own ACLs into objects", "queuewarden import yunikorn > imported.yaml"),
    #[cfg(feature = "import")]
    ("Move those of a file", "queuewarden import yunikorn -f queues.yaml > imported.yaml"),
    #[cfg(feature = "import")]
    (
        "Move in from YARN's fair scheduler",
        "queuewarden import yarn-fair fair-scheduler.xml --yarn-site yarn-site.xml",
    ),
    #[cfg(feature = "import")]
    (
        "Move in from YARN's capacity scheduler",
        "queuewarden import yarn-capacity capacity-scheduler.xml --yarn-site yarn-site.xml",
    ),
    #[cfg(feature = "import")]
    ("Move in the lists of Spark's applications", "queuewarden import spark spark-defaults.conf"),
    ("What is in force, and what needs attention?", "queuewarden status"),
    ("Show an object with its effect, its last writer and its events", "queuewarden describe queueacl/prod"),
    ("Which texts were written, and why?", "queuewarden history"),
    ("Who gained and who lost access between two of them?", "queuewarden history 41 42"),
    ("When did it change what ann may do?", "queuewarden history --as ann"),
    ("Who am I to YuniKorn?", "queuewarden whoami"),
    ("Who is a service account to YuniKorn?", "queuewarden whoami --as system:serviceaccount:spark:driver"),
    ("Check the installation, and show only problems", "queuewarden check --quiet"),
    ("Wait until nothing fails, as after an installation", "queuewarden check --wait 2m"),
    ("Install the definitions", "queuewarden crds | kubectl apply --server-side -f -"),
    (
        "Write the files for an API server",
        "queuewarden authorizer-config --server https://10.0.0.7 --dir authorizer/",
    ),
    ("Run one replica outside the cluster", "queuewarden run --leader-elect=false"),
    (
        "Run with the HTTPS endpoint of the validating webhook",
        "queuewarden run --https=0.0.0.0:8443 --endpoints=validate",
    ),
    ("Keep the certificate of the endpoints", "queuewarden certificates --namespace queuewarden-system"),
    ("Explain a code", "queuewarden codes QW1003"),
    ("Complete commands in this shell", "source <(queuewarden completion bash)"),
    ("Read the manual", "queuewarden man | man -l -"),
    ("Write the manual pages of all commands", "queuewarden man --dir /usr/local/share/man/man1"),
    ("Print the version", "queuewarden version"),
];

/// Adds the examples to the help of each command below this one.
pub(crate) fn add(path: &str, command: Command) -> Command {
    command.mut_subcommands(|command| {
        let path = format!("{path} {}", command.get_name());
        let help = command.get_after_help().map(|help| format!("{help}\n\n")).unwrap_or_default();
        add(&path, command.after_help(help + &of(&path)))
    })
}

/// Formats the examples of a command as kubectl does.
fn of(path: &str) -> String {
    let has = |line: &str| {
        line.split(path).nth(1).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ')']))
    };
    let shown = EXAMPLES.iter().filter(|(_, line)| has(line));
    let shown: Vec<_> = shown.map(|(does, line)| format!("  # {does}\n  {line}")).collect();
    format!("Examples:\n{}", shown.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::command;

    /// Returns the command of an example, without the shell around it.
    fn words(line: &str) -> Vec<String> {
        let own = line.trim_start_matches("source <(").split([')', '|', '>']).next().unwrap();
        shlex::split(own).expect("words")
    }

    fn commands(of: &Command) -> Vec<&Command> {
        of.get_subcommands().flat_map(|command| std::iter::once(command).chain(commands(command))).collect()
    }

    #[test]
    fn every_example_is_a_command_and_every_command_has_one() {
        for (_, line) in EXAMPLES {
            let parsed = command().try_get_matches_from(words(line));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            assert!(line.len() <= 96, "{line} is wider than help");
        }
        let command = command();
        for command in commands(&command) {
            let help = command.get_after_help().unwrap().to_string();
            assert!(help.contains("Examples:\n  # "), "{}", command.get_name());
        }
    }
}
