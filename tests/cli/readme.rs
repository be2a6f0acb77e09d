//! Checks README.md and the pages of docs/: their commands run, their manifests are valid, their tables are
//! complete.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use queuewarden::args::{command, examples};
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
    assert!(paths.len() > 3, "{paths:?}");
    paths
}

/// Returns README.md and the pages of docs/, with the runbooks and the codes, each with its path.
pub(super) fn pages() -> Vec<(PathBuf, String)> {
    let mut paths = vec![root().join("README.md")];
    paths.extend(["docs", "docs/runbooks", "docs/codes", "docs/zh"].into_iter().flat_map(folder));
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
    let manifests = blocks(&page("docs/quick-start.md"), "yaml");
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
    let pages = ["docs/conditions.md", "docs/object-conditions.md"].map(page);
    let rows: Vec<_> = pages.iter().flat_map(|text| conditions(text)).collect();
    let types: BTreeSet<_> = rows.iter().map(|row| row[1].as_str()).collect();
    let reasons: BTreeSet<_> = rows.iter().map(|row| row[2].as_str()).collect();
    assert_eq!(types, Type::ALL.iter().map(|type_| type_.as_str()).collect());
    assert_eq!(reasons, Reason::ALL.iter().map(|reason| reason.as_str()).collect());
    assert!(rows.iter().all(|row| row.len() == 5 && !row[3].is_empty()), "each has a meaning");
}

#[test]
fn every_command_is_named() {
    let help = out(&run(&["--help"], root(), ""));
    let commands = help.split("Ask:").nth(1).unwrap().split("Options:").next().unwrap();
    let entries = commands.lines().filter_map(|line| line.strip_prefix("  "));
    let names = entries.filter_map(|entry| entry.split_whitespace().next());
    let text = page("docs/command-line.md");
    for name in names {
        assert!(
            text.contains(&format!("queuewarden {name}")),
            "docs/command-line.md does not mention `queuewarden {name}`"
        );
    }
}

#[test]
fn the_examples_of_help_are_on_the_page() {
    let rows = examples().map(|(does, line)| format!("| `{}` | {does} |\n", line.replace('|', "\\|")));
    let (path, text) = ("docs/command-line.md", page("docs/command-line.md"));
    let (before, _) = text.split_once("| example | does |\n").unwrap();
    let expected = format!("{before}| example | does |\n|---|---|\n{}", rows.collect::<String>());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(root().join(path), &expected).unwrap();
    }
    assert!(page(path) == expected, "{path} is out of date: UPDATE=1 cargo test --test all cli::readme");
}

/// Returns the exit codes of each command, as its help has them.
fn exit_codes() -> Vec<(String, String)> {
    let of = |command: &clap::Command| {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let codes = help.split("Exit codes: ").nth(1).and_then(|rest| rest.split("\n\n").next());
        codes.map(|codes| codes.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let mut rows = Vec::new();
    for command in command().get_subcommands() {
        let name = command.get_name();
        rows.extend(of(command).map(|codes| (name.to_owned(), codes)));
        let below = command.get_subcommands().filter(|below| below.get_name() != "help");
        rows.extend(below.filter_map(|below| Some((format!("{name} {}", below.get_name()), of(below)?))));
    }
    rows
}

#[test]
fn the_exit_codes_of_help_are_on_the_page() {
    const TITLE: &str = "| command | exit codes |\n|---|---|\n";
    let rows = exit_codes().into_iter().map(|(command, codes)| format!("| `{command}` | {codes} |\n"));
    let (path, text) = ("docs/command-line.md", page("docs/command-line.md"));
    let (before, rest) = text.split_once(TITLE).unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let expected = format!("{before}{TITLE}{}\n{after}", rows.collect::<String>());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(root().join(path), &expected).unwrap();
    }
    assert!(page(path) == expected, "{path} is out of date: UPDATE=1 cargo test --test all cli::readme");
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

/// Returns the lines of prose of a page, each with its number: without code, tables and comments.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let is_fence = line.trim_start().starts_with("```");
        if !is_fence && !in_code && !line.starts_with('|') {
            let parts = line.split("<!--").enumerate();
            let parts = parts.map(|(at, part)| match at {
                0 => part,
                _ => part.split_once("-->").map_or("", |(_, rest)| rest),
            });
            lines.push((number, parts.collect::<String>().trim_end().to_owned()));
        }
        in_code ^= is_fence;
    }
    lines
}

/// Checks that pages are easy to read: lines that fit, paragraphs of six lines at most. Generated pages
/// have the width of their sources.
#[test]
fn lines_fit_and_paragraphs_are_short() {
    const GENERATED: [&str; 3] = ["docs/codes/", "docs/codes.md", "docs/reference.md"];
    let others = [
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "e2e/README.md",
        "crates/yunikorn/README.md",
        "crates/yunikorn-access/README.md",
    ];
    let others = others.map(|name| (root().join(name), page(name)));
    let mut wrong = Vec::new();
    for (path, text) in pages().into_iter().chain(others) {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        if GENERATED.iter().any(|generated| name.starts_with(generated)) {
            continue;
        }
        let mut length = 0;
        let mut last = 0;
        for (number, line) in prose(&text) {
            let is_item = line
                .trim_start()
                .starts_with(|first: char| matches!(first, '*' | '-') || first.is_ascii_digit());
            length = match line.is_empty() {
                true => 0,
                false if is_item || number != last + 1 => 1,
                false => length + 1,
            };
            last = number;
            if line.chars().count() > 110 {
                wrong.push(format!("{name}:{number}: wider than 110 columns"));
            }
            if length > 6 {
                wrong.push(format!("{name}:{number}: a paragraph of more than six lines"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(readme().lines().count() <= 200, "the README has at most 200 lines");
}

/// The files, folders, types and functions that the pages for developers name exist.
#[test]
fn files_types_and_functions_of_developers_pages_exist() {
    let text = [page("docs/architecture.md"), page("tests/README.md")].concat();
    let sources = ["src", "crates", "e2e/src", "e2e/tests"].into_iter().flat_map(super::docs::rust_files);
    let code: String = sources.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let has_word = |word: &str| {
        code.match_indices(word).any(|(at, _)| {
            code.get(at + word.len()..)
                .is_some_and(|rest| !rest.starts_with(|next: char| next == '_' || next.is_alphanumeric()))
        })
    };
    let mut names = 0;
    for name in text.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2)) {
        let is_path =
            ["src/", "crates/", "e2e/", "tests/", "docs/", "manifests/", "charts/", "fuzz/", "benches/"]
                .iter()
                .any(|folder| name.starts_with(folder));
        let is_type = name.starts_with(|first: char| first.is_ascii_uppercase())
            && name.chars().all(char::is_alphanumeric)
            && !OF_KUBERNETES.contains(&name);
        let is_function =
            name.matches('_').count() > 2 && name.chars().all(|c| c == '_' || c.is_ascii_lowercase());
        if is_path {
            // `tests/codes/QW…` stands for every file with this prefix.
            let folder = name
                .strip_suffix('…')
                .and_then(|name| name.rsplit_once('/'))
                .map_or(name, |(folder, _)| folder);
            assert!(root().join(folder).exists(), "{name} does not exist");
        } else if is_type {
            let is_declared =
                ["struct", "enum", "trait", "type"].iter().any(|kind| has_word(&format!("{kind} {name}")));
            assert!(is_declared || code.contains(&format!("kind = \"{name}\"")), "no type is called {name}");
        } else if is_function {
            assert!(has_word(&format!("fn {name}")), "no function is called {name}");
        }
        names += usize::from(is_path || is_type || is_function);
    }
    assert!(names > 70, "{names}");
}

/// Names in the architecture that are Kubernetes' or kube's.
const OF_KUBERNETES: [&str; 3] = ["Controller", "ConfigMap", "Lease"];

/// Draws a terminal with a command and its output.
fn terminal(command: &str, output: &str) -> String {
    let prompt = format!("$ {command}");
    let lines = [prompt.as_str(), ""].into_iter().chain(output.lines());
    let lines: Vec<String> =
        lines.map(|line| line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")).collect();
    let columns = lines.iter().map(|line| line.chars().count()).max().unwrap();
    let (width, height) = (columns * 72 / 10 + 32, lines.len() * 17 + 32);
    let rows = (0..).zip(&lines).map(|(at, line)| {
        let color = if at == 0 { " fill=\"#8fd18f\"" } else { "" };
        format!("<text x=\"16\" y=\"{}\"{color} xml:space=\"preserve\">{line}</text>\n", 28 + at * 17)
    });
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#1d2430\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"12\" fill=\"#e6e9ef\">\n\
         {}</g>\n</svg>\n",
        rows.collect::<String>()
    )
}

/// The picture of a terminal in the README shows the program's output.
#[test]
fn terminal_of_the_readme_shows_the_output() {
    let args = "explain submit root.prod.reporting --as Superset -f examples/quickstart";
    let ended = run(&args.split(' ').collect::<Vec<_>>(), root(), "");
    assert_eq!(ended.status.code(), Some(1), "{}", err(&ended));
    let picture = terminal(&format!("queuewarden {args}"), &out(&ended));
    let path = root().join("docs/images/terminal.svg");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &picture).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).is_ok_and(|found| found == picture),
        "docs/images/terminal.svg is out of date: UPDATE=1 cargo test --test all cli::readme"
    );
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
    let folder = std::fs::read_dir(root().join("src/commands/operate/check")).unwrap();
    let files = folder.map(|entry| entry.unwrap().path());
    for file in files.chain([root().join("src/source/checks.rs")]) {
        let code = std::fs::read_to_string(file).unwrap();
        let names = code.lines().filter_map(|line| line.strip_prefix("const ")?.split_once(": &str = \""));
        declared.extend(
            names
                .filter(|(name, _)| !NOT_CHECKS.contains(name))
                .map(|(_, value)| value.trim_end_matches("\";").to_owned()),
        );
    }
    let page = page("docs/operations.md");
    let table = page.split("| check | requirement |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let described: BTreeSet<String> = rows
        .flat_map(|row| {
            row.split('|').nth(1).unwrap().split(',').map(|name| name.trim().trim_matches('`').to_owned())
        })
        .collect();
    assert_eq!(declared, described);
}

/// Constants of the checks that are no names of checks.
const NOT_CHECKS: [&str; 8] =
    ["CODES", "KEEPER", "MUTATES", "OF_OWN_KINDS", "OWN_CERTIFICATE", "PROBE", "VALIDATES", "YUNIKORN"];

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
    let code = root().join("crates/queuewarden-operator/src/controller/metrics/mod.rs");
    let code = std::fs::read_to_string(code).unwrap();
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
