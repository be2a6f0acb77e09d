//! README.md says what is true: its commands run, its manifests are valid, its tables are complete.

use std::collections::BTreeSet;
use std::path::Path;

use queuewarden::plan::conditions::{Reason, Type};

use super::process::{err, out, run};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
}

/// The fenced blocks of one language.
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

/// Rows of the table behind the marker, as cells.
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
    let text = readme();
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
    let text = readme();
    for name in names {
        assert!(
            text.contains(&format!("queuewarden {name}")),
            "README.md does not mention `queuewarden {name}`"
        );
    }
}

#[test]
fn links_lead_somewhere() {
    let text = readme();
    for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
        if let Some(anchor) = link.strip_prefix('#') {
            let found = text
                .lines()
                .filter_map(|line| line.strip_prefix("## "))
                .any(|title| title.to_lowercase().replace(' ', "-") == anchor);
            assert!(found, "no section #{anchor}");
        } else if !link.starts_with("https://") {
            assert!(root().join(link).exists(), "no file {link}");
        }
    }
}

/// Names of metrics are part of what people build on.
#[test]
fn metrics_are_the_operators() {
    let code = ["operator", "server"]
        .map(|part| std::fs::read_to_string(root().join(format!("src/{part}/metrics.rs"))).unwrap())
        .concat();
    let text = readme();
    let named: Vec<&str> =
        text.split("`queuewarden_").skip(1).filter_map(|rest| Some(rest.split_once('`')?.0)).collect();
    assert!(!named.is_empty());
    for name in named {
        assert!(code.contains(&format!("\"{name}\"")), "there is no metric queuewarden_{name}");
    }
}
