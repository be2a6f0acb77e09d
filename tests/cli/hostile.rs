//! Tests that files of others cannot control a terminal, forge lines, or show other files.

use std::fs;
use std::path::Path;
use std::process::Output;

use super::process::{BASE, err, out, run};

/// Characters that terminals and viewers obey: an escape sequence, its form in one character, a deletion,
/// a change of direction, and breaks of lines.
const OBEYED: &str = "\u{1b}[31m\u{9b}31m\u{7f}\u{202e}\u{2066}\u{2028}\u{85}\r\nFORGED";

/// Returns a name with these characters as YAML and JSON write it.
fn escaped(name: &str) -> String {
    let characters = format!("{name}{OBEYED}");
    let escapes = characters
        .chars()
        .map(|c| if c.is_ascii_graphic() { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) });
    format!("\"{}\"", escapes.collect::<String>())
}

fn check(args: &[&str], ended: &Output) {
    for text in [out(ended), err(ended)] {
        let bad = |c: char| go_compat::diag::is_obeyed(c) && !matches!(c, '\n' | '\t');
        assert!(!text.contains(bad), "{args:?}: {text:?}");
        assert!(!text.lines().any(|line| line.starts_with("FORGED")), "{args:?}: {text}");
    }
}

/// Every command that reads files, in every format.
#[cfg(unix)]
#[test]
fn names_do_not_control_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let (user, queue) = (escaped("u"), escaped("root.q"));
    let acl = |kind: &str, name: &str, spec: &str| {
        format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n"
        )
    };
    let acls = [
        acl(
            "QueueAcl",
            "a",
            &format!("{{queue: root.a, submit: {{users: [{user}, sue], groups: [{user}]}}}}"),
        ),
        acl("QueueAcl", "b", &format!("{{queue: {queue}, admin: {{acl: {user}}}}}")),
        acl("QueueAcl", &escaped("c"), "{queue: root}"),
        acl("QueueAcl", "d", &format!("{{queue: root.b, {user}: 1, baseAcl: {user}, expiresAt: {user}}}")),
        acl("AdmissionPolicy", "e", &format!("{{externalUsers: [{user}]}}")),
        acl(&escaped("QueueAcl"), "f", "{}"),
        acl("QueueAccessTest", "g", &format!("{{allow: [{{users: [{user}], submit: [root.a]}}]}}")),
        format!("apiVersion: v1\nkind: Secret\nstringData: {{{user}: x, {user}: y}}\n"),
    ];
    let tree = BASE.replace("name: b", &format!("name: b\n            submitacl: {user}"));
    let tests = acl(
        "QueueAccessTest",
        "t",
        &format!("{{checks: [{{users: [{user}], may: submit, queues: [root.a]}}]}}"),
    );
    let review = format!(
        "{{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\",\"spec\":{{\"user\":{user},\"resourceAttributes\":{{\"group\":\"queuewarden.dev\",\"resource\":\"queues\",\"verb\":\"submit\",\"name\":{queue}}}}}}}\n"
    );
    let file = |name: &str| format!("{name}{OBEYED}.yaml");
    let (good, bad, base, test, reviews) =
        (file("good"), file("bad"), file("base"), file("test"), file("reviews"));
    write(&good, &acls[0]);
    write(&bad, &acls.join("---\n"));
    write(&base, &tree);
    write(&test, &tests);
    write(&reviews, &review);
    write("odd.yaml", &format!("a: 1\n# {OBEYED}\n- {OBEYED}"));
    let who = format!("u{OBEYED}");
    let files = ["-f", &good, "--base", &base];
    let mut commands: Vec<Vec<&str>> = Vec::new();
    let with = |args: &[&'static str]| -> Vec<&str> { args.iter().copied().chain(files).collect() };
    for format in ["text", "json", "yaml", "sarif"] {
        commands.push(vec!["validate", "-o", format, "-f", &bad, "--base", &base]);
        commands.push(vec!["validate", "-o", format, "-f", "odd.yaml"]);
        commands.push(with(&["lint", "-o", format]));
    }
    commands.push(vec!["validate", "-R", "-f", "."]);
    commands.push(vec!["validate", "--fix", "--dry-run", "-f", &bad]);
    for format in ["table", "wide", "name", "json", "yaml", "csv", "markdown"] {
        commands
            .extend([with(&["matrix", "-o", format]), with(&["who-can", "submit", "root.a", "-o", format])]);
        commands.push([with(&["what-can", "submit", "-o", format]), vec!["--as", &who]].concat());
        commands.push(vec!["diff", "-o", format, "-f", &good, "--from", &base]);
    }
    for format in ["json", "yaml", "csv", "mermaid", "dot"] {
        commands.push(with(&["report", "-o", format]));
    }
    for format in ["text", "json", "yaml"] {
        commands.push([with(&["explain", "submit", "root.a", "-o", format]), vec!["--as", &who]].concat());
        commands.push([with(&["can-i", "submit", "root.a", "-o", format]), vec!["--as", &who]].concat());
        commands.push([with(&["place", "-o", format]), vec!["--as", &who, "--queue", "root.a"]].concat());
        commands.push(vec!["acl", &who, "-o", format]);
        commands.push(vec!["import", "yunikorn", "-f", &base, "-o", format]);
        commands.push(vec!["import", "yarn-fair", &base, "-o", format]);
        commands.push(vec!["import", "spark", &base, "-o", format]);
    }
    for format in ["plain", "json", "tap", "junit"] {
        commands.push(vec!["test", "-o", format, "-f", &test, &good, &base]);
    }
    for format in ["json", "yaml", "table"] {
        commands.push(vec!["review", "-o", format, "-f", &reviews, "-f", &good, "--base", &base]);
    }
    commands.push(vec!["review", "-f", &reviews, "-f", &good, "--base", &base]);
    for format in ["yaml", "json"] {
        commands.push(with(&["render", "-o", format]));
        commands.push(with(&["render", "--status", "json", "-o", format]));
    }
    commands.push(with(&["grant", "submit", "root.a", "--group", "devs"]));
    let missing = file("missing");
    commands.extend([vec!["validate", "-f", &missing], vec!["validate", "--base", &missing, "-f", &good]]);
    commands.push(vec!["can-i", "submit", "root.a", "--as", "u", "--groups-from", &bad, "-f", &good]);
    commands.extend([vec!["validate", "--unknown", &who], vec!["lint", "--users", &missing, "-f", &good]]);
    for args in commands {
        let ended = run(&args, folder.path(), "");
        check(&args, &ended);
        // All others are commands that do something.
        assert!(args.contains(&"--unknown") || !err(&ended).contains("Usage: "), "{}", err(&ended));
    }
}

/// Everything that walks folders stays in them.
#[cfg(unix)]
#[test]
fn links_out_of_a_folder_are_not_read() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("repo")).unwrap();
    fs::create_dir(at("home")).unwrap();
    fs::write(at("home/config.json"), "{\"auths\": {\"x\": \"hunter2\"}}").unwrap();
    fs::write(at("home/acl.yaml"), super::process::acl("hunter2")).unwrap();
    fs::write(at("repo/queues.yaml"), BASE).unwrap();
    symlink("../home/config.json", at("repo/creds.json")).unwrap();
    symlink("../home", at("repo/more")).unwrap();
    let repo = at("repo");
    for args in [
        &["validate", "-R", "-f", "."][..],
        &["validate", "-f", "."],
        &["validate", "-R", "-f", ".", "-o", "json"],
        &["validate", "--fix", "--dry-run", "-R", "-f", "."],
        &["lint", "-R", "-f", "."],
        &["render", "-R", "-f", "."],
        &["report", "-R", "-f", ".", "-o", "json"],
        &["who-can", "submit", "root.a", "-R", "-f", "."],
        &["diff", "-R", "-f", ".", "--from", "."],
        &["test", "-R", "-f", "."],
        &["review", "-R", "-f", "."],
    ] {
        let ended = run(args, &repo, "");
        let (out, err) = (out(&ended), err(&ended));
        assert!(!out.contains("hunter2") && !err.contains("hunter2"), "{args:?}: {out}{err}");
        assert!(
            err.contains("`./creds.json` is skipped: it is a symbolic link out of the folder"),
            "{args:?}: {err}"
        );
        assert_eq!(err.contains("`./more` is skipped"), args.contains(&"-R"), "{args:?}: {err}");
    }
    // A link that is named is read, and not quoted unless it is ours.
    let named = run(&["validate", "-f", "creds.json"], &repo, "");
    assert!(out(&named).contains("QW6001") && !out(&named).contains("hunter2"), "{}", out(&named));
    let ours = run(&["who-can", "submit", "root.a", "-f", "more/acl.yaml", "-f", "queues.yaml"], &repo, "");
    assert!(out(&ours).contains("hunter2"), "{}{}", out(&ours), err(&ours));
}

/// `--fix` changes the named file, and never the target of a link.
#[cfg(unix)]
#[test]
fn links_are_not_fixed() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let broken = super::process::acl("7");
    fs::create_dir(at("repo")).unwrap();
    fs::write(at("real.yaml"), &broken).unwrap();
    symlink("../real.yaml", at("repo/link.yaml")).unwrap();
    let fix = |args: &[&str], folder: &Path| run(&[&["validate", "--fix", "-f"], args].concat(), folder, "");
    let ended = fix(&["link.yaml"], &at("repo"));
    assert!(err(&ended).contains("cannot write `link.yaml`: it is a symbolic link"), "{}", err(&ended));
    assert_eq!(fs::read_to_string(at("real.yaml")).unwrap(), broken);
    let ended = fix(&["."], folder.path());
    assert!(err(&ended).contains("fixed[QW6103]"), "{}", err(&ended));
}

/// Paths are made printable in one place.
#[test]
fn paths_are_printed_by_one_function() {
    fn check(folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                check(&path);
            } else if !path.ends_with("output/text.rs") {
                let text = fs::read_to_string(&path).unwrap();
                assert!(!text.contains(".display()"), "{path:?} prints a path: use text::shown");
            }
        }
    }
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
}
