//! Tests every fenced block of the pages by running, decoding or comparing it. trycmd runs `console`, `yaml`
//! is validated, the commands of `sh` are checked word by word and run in the test cluster, and `text` is
//! compared with the sources or with a test of the test cluster.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use queuewarden_api::aggregated_api::review::{QueueAccessReviewKind, read};
use queuewarden_import::NameMap;

use super::process::{err, out, run};
use super::readme::pages;

/// A fenced block.
struct Block {
    page: String,
    language: String,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all blocks of README.md, CONTRIBUTING.md and docs/, except those of docs/codes, which are
/// generated from what is run.
fn blocks() -> Vec<Block> {
    let contributing = root().join("CONTRIBUTING.md");
    let text = std::fs::read_to_string(&contributing).unwrap();
    let mut found = Vec::new();
    for (path, text) in pages().into_iter().chain([(contributing, text)]) {
        let page = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        if page.starts_with("docs/codes/") {
            continue;
        }
        let mut open: Option<Block> = None;
        for line in text.lines() {
            match (line.trim_start().strip_prefix("```"), open.take()) {
                (Some(_), Some(block)) => found.push(block),
                (Some(language), None) => {
                    open = Some(Block {
                        page: page.clone(),
                        language: language.to_owned(),
                        text: String::new(),
                    });
                }
                (None, Some(mut block)) => {
                    block.text.extend([line, "\n"]);
                    open = Some(block);
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{page}: a fence is not closed");
    }
    found
}

/// Output of a cluster, or a file that is no YAML: the page, the first words of the block, and the source
/// file with the words that both have in common.
const TEXTS: &[(&str, &str, &str, &[&str])] = &[
    (
        "docs/access-tests.md",
        "Error from server (Forbidden)",
        "crates/queuewarden-plan/src/access_tests.rs",
        &["refuses this change because of", "if the change is intended,", "update the test first"],
    ),
    (
        "docs/validating.md",
        "$ kubectl apply -f devs.yaml",
        "e2e/tests/validating/words.rs",
        &["grants submit on root.prod and 2 queues below to group devs; nobody loses access"],
    ),
    (
        "docs/submission.md",
        "$ kubectl create -f job.yaml",
        "crates/yunikorn-access/src/submission/tests.rs",
        &[
            "YuniKorn would reject this Job of user `bob`: they may not submit to `root.prod`: no ACL from root.prod up to root",
        ],
    ),
    ("docs/install.md", "cosign verify-blob", "e2e/tests/release.rs", &["SHA256SUMS"]),
    (
        "docs/identity.md",
        "$ kubectl create -f deployment.yaml --as=alice",
        "crates/yunikorn-access/src/user_info/tests.rs",
        &[
            "user `alice` in groups [devs, system:authenticated] may not create or change this Deployment (spec.template) with this",
        ],
    ),
    // Read by `a_map_of_names_is_one`.
    ("docs/import-yarn.md", "# FROM=TO", "crates/queuewarden-import/src/names.rs", &[]),
    // Read by the test, which makes the pods of these settings.
    ("docs/service-accounts.md", "spark-submit", "e2e/tests/user_info/spark.rs", &["spark-submit"]),
    ("docs/install.md", "kubectl krew install queuewarden", "e2e/tests/release.rs", &["who-can submit"]),
    (
        "docs/kubectl.md",
        "$ kubectl get queues.access.queuewarden.dev",
        "e2e/tests/access.rs",
        &["user sue, group devs, group ops (admin of root)", "group ops (admin)"],
    ),
    (
        "docs/operations.md",
        "$ queuewarden history",
        "e2e/tests/cli.rs",
        &[
            "REVISION WRITTEN",
            "takes submit on root.prod from user alice; grants submit on root.prod to user bob",
            "CHANGE WHO VERB QUEUES ACL WRITTEN IN",
        ],
    ),
    (
        "docs/operations.md",
        "YuniKornConfig   Ready, Enforce",
        "e2e/tests/installation.rs",
        &["runs the written configuration"],
    ),
];

#[test]
fn every_block_is_of_a_kind_that_is_tested() {
    let mut texts = BTreeSet::new();
    for Block { page, language, text } in blocks() {
        match language.as_str() {
            "yaml" | "sh" => {}
            "console" => {
                let commands = text.lines().filter_map(|line| line.strip_prefix("$ "));
                let foreign: Vec<&str> = commands.filter(|line| !line.starts_with("queuewarden ")).collect();
                assert!(foreign.is_empty(), "{page}: only queuewarden is run from here: {foreign:?}");
                let run = page == "README.md" || (page.starts_with("docs/") && !page.contains("runbooks/"));
                assert!(run, "{page}: its commands are not run");
            }
            // e2e/tests/tasks.rs looks for each line in what the commands print.
            "text" if page.ends_with("/tasks.md") => {}
            "text" => {
                let row = TEXTS.iter().position(|row| row.0 == page && text.starts_with(row.1));
                let row =
                    row.unwrap_or_else(|| panic!("{page}: nothing is compared with this text:\n{text}"));
                let (_, _, file, words) = TEXTS[row];
                let source = one_line(&std::fs::read_to_string(root().join(file)).unwrap());
                for words in words {
                    assert!(one_line(&text).contains(words), "{page} does not say: {words}");
                    assert!(source.contains(words), "{file} does not say: {words}");
                }
                texts.insert(row);
            }
            other => panic!("{page}: a block of {other:?}, which nothing runs:\n{text}"),
        }
    }
    assert_eq!(texts.len(), TEXTS.len(), "texts that there are not");
}

#[test]
fn a_map_of_names_is_one() {
    let all = blocks();
    let block =
        all.iter().find(|block| block.page == "docs/import-yarn.md" && block.text.starts_with("# FROM=TO"));
    let names = NameMap::default().with_pairs(&block.unwrap().text).unwrap();
    assert_eq!(names.identity("CORP\\alice").as_deref(), Some("alice"));
    assert_eq!(names.identity("Domain Users").as_deref(), Some("domain-users"));
    assert_eq!(names.identity("root"), None, "left out");
}

/// Joins the lines of a text, so that words can be compared.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Decodes an object as the kind it names: ours by `queuewarden validate`, reviews as the server reads them.
fn decodes(page: &str, manifest: &str) {
    let object: Value =
        serde_saphyr::from_str(manifest).unwrap_or_else(|error| panic!("{page}: {error}\n{manifest}"));
    let version = object["apiVersion"].as_str().unwrap_or_default();
    if version.starts_with("access.queuewarden.dev/") {
        let kind = if object["kind"] == "SelfQueueAccessReview" {
            QueueAccessReviewKind::Own
        } else {
            QueueAccessReviewKind::Named
        };
        let asked = read(kind, &object);
        assert!(asked.as_ref().is_ok_and(|asked| asked.unknown.is_empty()), "{page}: {asked:?}");
        return;
    }
    assert!(version == "v1" || version.starts_with("queuewarden.dev/"), "{page}: who decodes {version:?}?");
    let ended = run(&["validate", "-o", "json", "-f", "-", "--now", "2026-12-24"], root(), manifest);
    let answer: Value =
        serde_json::from_str(&out(&ended)).unwrap_or_else(|_| panic!("{page}: {}", err(&ended)));
    assert_eq!(answer["summary"]["objects"], 1, "{page}: {manifest}");
    // A page may begin with a tree that grants nothing yet.
    let codes = answer["diagnostics"].as_array().unwrap().iter().map(|found| found["code"].as_str().unwrap());
    let others: Vec<&str> = codes.filter(|code| *code != "QW7209").collect();
    assert!(others.is_empty(), "{page}: {others:?}\n{manifest}");
}

#[test]
fn manifests_decode_as_the_kinds_they_name() {
    let mut count = 0;
    for block in blocks().iter().filter(|block| block.language == "yaml") {
        for manifest in block.text.split("\n---\n") {
            decodes(&block.page, manifest);
            count += 1;
        }
    }
    for block in blocks().iter().filter(|block| block.language == "sh") {
        for command in commands(&block.text) {
            if let Some(manifest) = command.input {
                decodes(&block.page, &manifest);
                count += 1;
            }
        }
    }
    assert!(count >= 8, "{count}");
}

/// A command with its words, and its standard input.
struct Typed {
    words: Vec<String>,
    input: Option<String>,
}

/// Returns the commands of a block, as a shell reads them: lines joined at backslashes, comments left out,
/// pipes taken apart, files for the output left out.
fn commands(text: &str) -> Vec<Typed> {
    let text = text.replace("\\\n", " ");
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let (line, input) = match line.split_once("<<") {
            None => (line, None),
            Some((line, end)) => {
                let end = end.trim().trim_matches('\'');
                let input: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
                (line, Some(input.join("\n")))
            }
        };
        // Comments are left out.
        let words = shlex::split(line).unwrap_or_else(|| panic!("no shell reads this: {line}"));
        for words in words.split(|word| word == "|").filter(|words| !words.is_empty()) {
            let words = words.iter().take_while(|word| *word != ">").cloned().collect();
            found.push(Typed { words, input: input.clone() });
        }
    }
    found
}

#[test]
fn commands_of_shells_are_ones_that_there_are() {
    let mut programs = BTreeSet::new();
    for block in blocks().iter().filter(|block| block.language == "sh") {
        for command in commands(&block.text) {
            let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
            check(&block.page, &words);
            programs.insert(words[0].to_owned());
        }
    }
    assert!(
        ["queuewarden", "kubectl", "helm"].iter().all(|program| programs.contains(*program)),
        "{programs:?}"
    );
}

fn check(page: &str, words: &[&str]) {
    let line = words.join(" ");
    match words[0] {
        "queuewarden" => {
            // With --help at the end everything before it is still parsed, and nothing is run.
            let args = [&words[1..], &["--help"]].concat();
            let ended = run(&args, root(), "");
            assert!(ended.status.success(), "{page}: {line}: {}", err(&ended));
        }
        "kubectl" => kubectl(page, &words[1..]),
        "helm" => helm(page, &words[1..]),
        "cargo" => {
            let known = matches!(words[1], "run" | "test");
            assert!(known, "{page}: {line}");
        }
        ".ci/run" | ".ci/tools" => assert!(root().join(words[0]).exists(), "{page}: {line}"),
        "grep" | "wc" | "xargs" => {}
        other => panic!("{page}: what is {other}? {line}"),
    }
}

/// Kinds of others that the pages name.
const KINDS: [&str; 19] = [
    "clusterrolebinding",
    "configmap",
    "configmaps",
    "crds",
    "deployment",
    "deployments",
    "deployments,pods",
    "job",
    "lease",
    "namespace",
    "pods",
    "pods,services,endpointslices",
    "role",
    "rolebinding",
    "secret",
    "secrets",
    "serviceaccount",
    "token",
    "queues.access.queuewarden.dev",
];

/// Returns whether a word is a kind that the cluster knows when queuewarden is installed.
fn is_kind(word: &str) -> bool {
    let ours = queuewarden_api::crds().into_iter().any(|crd| {
        let names = crd.spec.names;
        names.plural == word || names.kind.to_lowercase() == word
    });
    ours || KINDS.contains(&word)
}

fn kubectl(page: &str, words: &[&str]) {
    let line = words.join(" ");
    let mut rest = Vec::new();
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "-k" | "-f" => {
                let path = words.next().unwrap();
                let written = ["-", "ann.yaml", "prod.yaml", "main/prod.yaml"].contains(&path);
                let there = written || root().join(path).exists();
                assert!(there, "{page}: no {path}: kubectl {line}");
            }
            "-p" | "--patch" => {
                let patch = words.next().unwrap();
                match patch.strip_prefix("$(") {
                    Some(inner) => {
                        let inner = shlex::split(inner.trim_end_matches(')')).unwrap();
                        check(page, &inner.iter().map(String::as_str).collect::<Vec<_>>());
                    }
                    None => patches(page, &rest, patch),
                }
            }
            "-n" | "--namespace" | "-o" | "-l" | "-c" | "--as" | "--as-group" | "--user" | "--group"
            | "--clusterrole" => {
                words.next().unwrap();
            }
            _ if word.starts_with("--from-file=") => {
                let file = word.rsplit('=').next().unwrap();
                let there = file == "queues.yaml" || root().join(file).exists();
                assert!(there, "{page}: no {file}");
            }
            _ if word.starts_with('-') => {
                let name = word.split('=').next().unwrap();
                assert!(FLAGS.contains(&name), "{page}: a flag of kubectl? {word}: kubectl {line}");
            }
            _ => rest.push(word),
        }
    }
    let resource = match rest[..] {
        // A file that is created or deleted names the kind itself, and logs may be selected by a label.
        ["apply" | "top", ..] | ["create" | "delete" | "logs"] => return,
        ["auth", "can-i", verb, resource, ..] => {
            let known = ["submit", "kill", "update"].contains(&verb);
            let (kind, _) = resource.split_once('/').unwrap_or((resource, ""));
            let known =
                known && (kind.ends_with(".queuewarden.dev") || ["leases", "secrets"].contains(&kind));
            return assert!(known, "{page}: kubectl {line}");
        }
        ["auth", "can-i"] => return assert!(line.contains("--list"), "{page}: kubectl {line}"),
        [
            "wait" | "get" | "delete" | "describe" | "patch" | "annotate" | "logs" | "port-forward"
            | "create",
            resource,
            ..,
        ] => resource,
        _ => panic!("{page}: kubectl {line}"),
    };
    let (kind, _) = resource.split_once('/').unwrap_or((resource, ""));
    assert!(is_kind(kind), "{page}: no kind {kind}: kubectl {line}");
}

/// Flags of kubectl that the pages use and that take no value.
const FLAGS: [&str; 24] = [
    "--field-manager",
    "--server-side",
    "--for",
    "--type",
    "--dry-run",
    "--previous",
    "--prefix",
    "--tail",
    "--ignore-errors",
    "--show-managed-fields",
    "--all-namespaces",
    "-A",
    "--as",
    "--as-group",
    "--list",
    "--group",
    "--clusterrole",
    "--all",
    "--label-columns",
    "--resource",
    "--role",
    "--serviceaccount",
    "--timeout",
    "--verb",
];

/// Checks that a merge patch of one of our objects makes a valid one.
fn patches(page: &str, rest: &[&str], patch: &str) {
    let [_, kind, name] = rest else { panic!("{page}: patch {rest:?}") };
    let crd = queuewarden_api::crds().into_iter().find(|crd| crd.spec.names.kind.to_lowercase() == **kind);
    let crd = crd.unwrap_or_else(|| panic!("{page}: whose kind is {kind}?"));
    let patch: Value = serde_json::from_str(patch).unwrap_or_else(|error| panic!("{page}: {error}: {patch}"));
    let version = format!("{}/{}", crd.spec.group, crd.spec.versions[0].name);
    let mut object = json!({"apiVersion": version, "kind": crd.spec.names.kind, "metadata": {"name": name}});
    object.as_object_mut().unwrap().extend(patch.as_object().unwrap().clone());
    decodes(page, &object.to_string());
}

fn helm(page: &str, words: &[&str]) {
    let line = words.join(" ");
    let verbs = ["install", "upgrade", "uninstall"];
    assert!(verbs.contains(&words[0]), "{page}: helm {line}");
    for word in words.iter().filter(|word| word.contains('/')) {
        assert!(root().join(word).join("Chart.yaml").exists(), "{page}: no chart {word}");
    }
    let values: Value = serde_saphyr::from_str(
        &std::fs::read_to_string(root().join("charts/queuewarden/values.yaml")).unwrap(),
    )
    .unwrap();
    let set = words.iter().position(|word| *word == "--set").map(|at| words[at + 1]);
    for key in set.iter().flat_map(|set| set.split(',')).filter_map(|pair| pair.split('=').next()) {
        let path = format!("/{}", key.replace('.', "/"));
        assert!(values.pointer(&path).is_some(), "{page}: the chart has no value {key}");
    }
}

/// The commands that protect a pipeline do what their page describes, from start to end.
#[test]
fn commands_of_a_pipeline_run() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    let copy =
        |from: &str, to: PathBuf| std::fs::copy(root().join("examples/quickstart").join(from), to).unwrap();
    for part in ["acls", "main"] {
        std::fs::create_dir(at(part)).unwrap();
        copy("prod.yaml", at(part).join("prod.yaml"));
    }
    let base = std::fs::read_to_string(root().join("examples/quickstart/1-base.yaml")).unwrap();
    std::fs::write(at("main/base.yaml"), &base).unwrap();
    let base: Value = serde_saphyr::from_str(&base).unwrap();
    std::fs::write(at("queues.yaml"), base["data"]["queues.yaml"].as_str().unwrap()).unwrap();
    let all = blocks();
    let block =
        all.iter().find(|block| block.page == "docs/gitops.md" && block.text.contains("--fail-on-widening"));
    for command in commands(&block.unwrap().text) {
        let words: Vec<&str> = command.words.iter().skip(1).map(String::as_str).collect();
        let ended = run(&words, folder.path(), "");
        assert!(ended.status.success(), "{words:?}: {}{}", out(&ended), err(&ended));
    }
    let written = std::fs::read_to_string(at("yunikorn-configs.yaml")).unwrap();
    assert!(written.contains("kind: ConfigMap") && written.contains("etl-service"), "{written}");
}
