//! Checks that each promise of the pages has a test: `<!-- test: plan::budget::tests::name, e2e
//! operator::promise::name -->` right after the sentence.

use std::path::Path;

/// Pages whose promises all need a test.
const PAGES: [&str; 10] = [
    "applications",
    "concepts",
    "conditions",
    "object-conditions",
    "events",
    "operations",
    "failures",
    "server-failures",
    "gitops",
    "delegation",
];
/// Words that promise.
const WORDS: [&str; 5] = ["never", "always", "at most", "every time", "nobody gains"];
/// The ends of sentences and of cells of tables.
const ENDS: [&str; 6] = [". ", ".\n", "? ", "|", "\n\n", "\n* "];
const MARK: &str = "<!-- test: ";

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/{name}.md"));
    std::fs::read_to_string(path).unwrap()
}

/// Returns the sentences that promise something and name no test.
fn unproven(text: &str) -> Vec<&str> {
    let lower = text.to_ascii_lowercase();
    let begins = WORDS.iter().flat_map(|word| lower.match_indices(word).map(|(at, _)| at));
    let rest = begins.filter_map(|at| text.get(at..));
    rest.filter(|rest| {
        let sentence = rest.split_once(MARK).map(|(sentence, _)| sentence.trim_end().trim_end_matches('.'));
        sentence.is_none_or(|sentence| ENDS.iter().any(|end| sentence.contains(end)))
    })
    .collect()
}

/// Returns whether the sources have a test of this name.
fn is_test(name: &str) -> bool {
    let homes = [
        ("e2e ", "e2e/tests"),
        ("go_compat::", "crates/go-compat/src"),
        ("yunikorn::", "crates/yunikorn/src"),
        ("yunikorn_access::", "crates/yunikorn-access/src"),
        ("queuewarden_plan::", "crates/queuewarden-plan/src"),
        ("queuewarden_api::", "crates/queuewarden-api/src"),
        ("queuewarden_client::", "crates/queuewarden-client/src"),
        ("queuewarden_operator::", "crates/queuewarden-operator/src"),
        ("", "src"),
    ];
    let found = homes.iter().find_map(|(prefix, folder)| Some((folder, name.strip_prefix(prefix)?)));
    let Some((folder, path)) = found else { return false };
    let Some((modules, function)) = path.rsplit_once("::") else { return false };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let inline = modules.strip_suffix("::tests").unwrap_or(modules);
    let files = [modules, inline].map(|modules| modules.replace("::", "/"));
    let files = files.iter().flat_map(|path| [format!("{path}.rs"), format!("{path}/mod.rs")]);
    files.map(|file| std::fs::read_to_string(folder.join(file)).unwrap_or_default()).any(|text| {
        let is =
            |line: &str| ["#[test]", "#[tokio::test"].iter().any(|test| line.trim_start().starts_with(test));
        text.split_once(&format!("fn {function}("))
            .is_some_and(|(before, _)| before.rsplit('\n').skip(1).take(3).any(is))
    })
}

#[test]
fn promises_name_their_tests() {
    for name in PAGES {
        let text = page(name);
        let unproven = unproven(&text);
        assert!(unproven.is_empty(), "docs/{name}.md: no test beside {:?}", unproven[0].lines().next());
        let marks = text.split(MARK).skip(1).map(|rest| rest.split_once(" -->").unwrap().0);
        let mut tests = marks.flat_map(|tests| tests.split(", ")).peekable();
        assert!(tests.peek().is_some(), "docs/{name}.md names no test");
        for test in tests {
            assert!(is_test(test), "docs/{name}.md: there is no test `{test}`");
        }
    }
}

#[test]
fn a_promise_without_a_test_is_found() {
    let named = "It never ends. <!-- test: a::b --> It is\n| never so <!-- test: a::b --> |\n";
    assert!(unproven(named).is_empty());
    for text in
        ["It never ends.", "It never ends. Else: <!-- test: a::b -->", "| never | x <!-- test: a --> |"]
    {
        assert_eq!(unproven(text).len(), 1, "{text}");
    }
    assert!(is_test("queuewarden_plan::tests::base::another_base_must_exist"));
    assert!(is_test("queuewarden_plan::budget::tests::old_repairs_are_forgotten"));
    assert!(!is_test("queuewarden_plan::tests::base::rebased"), "a function that is no test");
    assert!(!is_test("queuewarden_plan::budget::old_repairs_are_gone"));
}
