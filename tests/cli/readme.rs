//! Checks README.md and the pages of docs/: their commands run, their manifests are valid, their tables are
//! complete.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use queuewarden_plan::conditions::{Reason, Type};

use super::process::{err, out, run};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

fn readme() -> String {
    page("README.md")
}

/// Returns the pages of a folder, in order.
fn folder(name: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(root().join(name)).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    paths.sort();
    assert!(paths.len() > 5, "{paths:?}");
    paths
}

/// Returns README.md, the pages of docs/, those about alerts and those of codes, each with its path.
pub(super) fn pages() -> Vec<(PathBuf, String)> {
    let mut paths = vec![root().join("README.md")];
    paths.extend(["docs", "docs/runbooks", "docs/codes"].into_iter().flat_map(folder));
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

/// Returns the fenced blocks of one language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0.to_string())).collect()
}

#[test]
fn command_one_runs() {
    let text = readme();
    let line = text.lines().find_map(|line| line.strip_prefix("cargo run -- ")).unwrap();
    let args: Vec<&str> = line.split('#').next().unwrap().split_whitespace().collect();
    assert_eq!(args, ["render", "-f", "examples/quickstart"]);
    let ended = run(&args, root(), "");
    assert_eq!(ended.status.code(), Some(0), "{}", err(&ended));
    assert!(out(&ended).starts_with("apiVersion: v1\nkind: ConfigMap\n"), "{}", out(&ended));
    assert!(err(&ended).contains("READY"), "{}", err(&ended));
}

#[test]
fn manifests_are_valid_together() {
    let manifests = blocks(&readme(), "yaml");
    assert!(manifests.len() >= 4, "{manifests:?}");
    let ended =
        run(&["validate", "--strict", "-f", "-", "--now", "2026-12-24"], root(), &manifests.join("---\n"));
    assert_eq!(ended.status.code(), Some(0), "{}{}", out(&ended), err(&ended));
    assert!(err(&ended).contains(&format!("{} objects", manifests.len())), "{}", err(&ended));
}

/// Returns the rows of the table after the marker, as cells.
fn conditions(text: &str) -> Vec<Vec<String>> {
    let table = text.split("<!-- conditions:").nth(1).unwrap();
    table
        .lines()
        .skip(3)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect())
        .collect()
}

#[test]
fn the_conditions_are_all_there_and_nothing_else() {
    let text = page("docs/conditions.md");
    let rows = conditions(&text);
    let types: BTreeSet<_> = rows.iter().map(|row| row[1].as_str()).collect();
    let reasons: BTreeSet<_> = rows.iter().map(|row| row[2].as_str()).collect();
    assert_eq!(types, Type::ALL.iter().map(|type_| type_.as_str()).collect());
    assert_eq!(reasons, Reason::ALL.iter().map(|reason| reason.as_str()).collect());
    assert!(rows.iter().all(|row| row.len() == 5 && !row[3].is_empty()), "each has a meaning");
}

#[test]
fn every_command_is_named() {
    let help = out(&run(&["--help"], root(), ""));
    let commands = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let entries =
        commands.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let names = entries.filter_map(|entry| entry.split_whitespace().next()).filter(|name| *name != "help");
    let text = page("docs/command-line.md");
    for name in names {
        assert!(
            text.contains(&format!("queuewarden {name}")),
            "docs/command-line.md does not mention `queuewarden {name}`"
        );
    }
}

/// Returns the anchors that GitHub makes of titles.
fn anchors(text: &str) -> BTreeSet<String> {
    let titles =
        text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let kept = |title: &str| {
        title
            .chars()
            .filter(|each| each.is_alphanumeric() || matches!(each, ' ' | '-' | '_'))
            .collect::<String>()
    };
    titles.map(|title| kept(title).to_lowercase().replace(' ', "-")).collect()
}

#[test]
fn links_lead_somewhere() {
    for (path, text) in pages() {
        // Text in code is no link.
        let prose: String = text.split('`').step_by(2).collect();
        let links = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        for link in links.filter(|link| !link.starts_with("https://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: no file {link}", path.display());
            let found =
                anchor.is_empty() || anchors(&std::fs::read_to_string(&target).unwrap()).contains(anchor);
            assert!(found, "{}: no section {link}", path.display());
        }
    }
}

/// Readers of the README find the contents, and from there every page; the book consists of them.
#[test]
fn every_page_is_linked() {
    assert!(readme().contains("(docs/SUMMARY.md)"));
    let text = page("docs/SUMMARY.md");
    for (path, _) in pages().into_iter().skip(1) {
        let name = path.strip_prefix(root().join("docs")).unwrap().to_string_lossy().into_owned();
        assert!(
            name == "SUMMARY.md" || text.contains(&format!("({name})")),
            "SUMMARY.md does not link {name}"
        );
    }
}

/// The checks of an installation are a table in docs/operations.md, and nothing else.
#[test]
fn checks_of_an_installation_are_described() {
    let mut declared = BTreeSet::new();
    for file in ["api", "https", "rights", "running", "written"] {
        let code = std::fs::read_to_string(root().join(format!("src/cli/check/{file}.rs"))).unwrap();
        let names = code.lines().filter_map(|line| line.strip_prefix("const ")?.split_once(": &str = \""));
        declared.extend(
            names
                .filter(|(name, _)| !NOT_CHECKS.contains(name))
                .map(|(_, value)| value.trim_end_matches("\";").to_owned()),
        );
    }
    let page = page("docs/operations.md");
    let table = page.split("| check | what has to be so |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let described: BTreeSet<String> = rows
        .flat_map(|row| {
            row.split('|').nth(1).unwrap().split(',').map(|name| name.trim().trim_matches('`').to_owned())
        })
        .collect();
    assert_eq!(declared, described);
}

/// Constants of the checks that are no names of checks.
const NOT_CHECKS: [&str; 5] = ["KEEPER", "OF_OWN_KINDS", "PROBE", "VALIDATES", "YUNIKORN"];

/// The texts that pages explain are texts that the program prints.
#[test]
fn texts_that_are_explained_are_printed() {
    let sources = super::docs::sources().into_iter();
    let code: String = sources.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let text = page("docs/troubleshooting.md");
    let mut found = 0;
    for row in text.lines().filter(|line| line.starts_with("| ")) {
        let cell = row.split(" | ").next().unwrap();
        if ["| YuniKorn:", "| Kubernetes:"].iter().any(|others| cell.starts_with(others)) {
            continue;
        }
        for words in cell.split('`').skip(1).step_by(2) {
            assert!(code.contains(words), "nothing prints `{words}`");
            found += 1;
        }
    }
    assert!(found > 20, "{found}");
}

/// Names of metrics are part of the interface.
#[test]
fn metrics_are_the_operators() {
    let code = ["metrics.rs", "metrics/endpoints.rs"]
        .map(|file| std::fs::read_to_string(root().join("src/operator").join(file)).unwrap())
        .concat();
    let text: String = pages().into_iter().map(|(_, text)| text).collect();
    let named: Vec<&str> =
        text.split("`queuewarden_").skip(1).filter_map(|rest| Some(rest.split_once('`')?.0)).collect();
    assert!(!named.is_empty());
    for name in named {
        // The type adds this to the name of a counter.
        let name = name.strip_suffix("_total").unwrap_or(name);
        assert!(code.contains(&format!("\"{name}\"")), "there is no metric queuewarden_{name}");
    }
}
