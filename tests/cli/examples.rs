//! Tests that every code has an example: `tests/codes/QWnnnn` has a command that prints it and the files that
//! it reads. Its output is in docs/codes, which `cli::docs` compares. A code that no small file can show has
//! a row here, with the test that shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use go_compat::diag::Code;
use queuewarden::source::catalog;

use super::process::{err, out, run};

/// The file in the folder of an example that has its command.
const COMMAND: &str = "command";

/// A code that no small file shows.
pub(super) struct Elsewhere {
    /// The number after `QW`.
    number: u16,
    /// When it is reported, or why it is not.
    pub when: &'static str,
    /// The file of the test that shows it.
    file: &'static str,
    /// The name of the test.
    test: &'static str,
}

const ELSEWHERE: &[Elsewhere] = &[
    Elsewhere {
        number: 3007,
        when: "Not reported by this code: QW1001 to QW1005 say of the same ACL what is wrong with it, and where.",
        file: "crates/yunikorn/src/config/tests.rs",
        test: "error_about_an_acl_is_reported_as_the_acls_finding",
    },
    Elsewhere {
        number: 3016,
        when: "Reported for a configuration with more than 50 million pairs to compare, such as 8,000 queues and as many kinds of resources.",
        file: "crates/yunikorn/src/config/tests.rs",
        test: "work_is_bounded",
    },
    Elsewhere {
        number: 3021,
        when: "Not reported by this code: QW1001 to QW1003 say of the same ACL what is wrong with it, and where.",
        file: "crates/yunikorn/src/config/tests.rs",
        test: "error_about_an_acl_is_reported_as_the_acls_finding",
    },
    Elsewhere {
        number: 3024,
        when: "Reported where the partitions that run are known, which no file says.",
        file: "crates/yunikorn/src/config/tests.rs",
        test: "reload_without_an_active_partition_hangs",
    },
    Elsewhere {
        number: 5003,
        when: "Reported where the API server does not validate: the schema refuses paths of more than 1024 characters before.",
        file: "crates/yunikorn/src/queue.rs",
        test: "invalid_path_is_refused_with_a_span_and_help",
    },
    Elsewhere {
        number: 5201,
        when: "Reported by the operator, in the conditions of the `YuniKornConfig`, when the API server does not let it read.",
        file: "e2e/tests/operator/failures.rs",
        test: "a_config_map_that_may_not_be_read_is_not_taken_for_missing",
    },
    Elsewhere {
        number: 5401,
        when: "Never expected: the last look before a text is written. Please report it.",
        file: "crates/queuewarden-plan/src/grants/objects.rs",
        test: "a_text_that_is_not_as_meant_is_refused",
    },
    Elsewhere {
        number: 6008,
        when: "Reported for a file with more than 10,000 documents.",
        file: "src/source/input/object.rs",
        test: "documents_are_bounded",
    },
    Elsewhere {
        number: 6009,
        when: "Reported after the first 1,000 findings of a file.",
        file: "src/output/findings.rs",
        test: "findings_of_a_file_are_bounded",
    },
    Elsewhere {
        number: 7127,
        when: "Reported for a setting with more than 1 MiB.",
        file: "crates/yunikorn/src/application/settings.rs",
        test: "invalid_value_grants_nothing",
    },
    Elsewhere {
        number: 7213,
        when: "Reported behind the first 1,000 findings of `queuewarden lint`.",
        file: "crates/yunikorn-access/src/lint/tests.rs",
        test: "many_names_and_many_findings_are_counted",
    },
    Elsewhere {
        number: 7304,
        when: "Reported for a line with more than 4 MiB.",
        file: "src/commands/check/review/sorted.rs",
        test: "each_line_is_a_review_by_itself",
    },
    Elsewhere {
        number: 7307,
        when: "Reported by the webhooks.",
        file: "crates/queuewarden-operator/src/server/admission_review.rs",
        test: "what_is_not_read_is_refused_with_the_reason",
    },
    Elsewhere {
        number: 7521,
        when: "Never expected: tests compare imports of random queues and maps without meeting it.",
        file: "crates/queuewarden-import/src/proof/tests.rs",
        test: "no_import_is_wider",
    },
    Elsewhere {
        number: 7522,
        when: "Reported for queues nested more than 100 levels deep, and of more queues times names than are compared.",
        file: "crates/queuewarden-import/src/yarn/fair/tests.rs",
        test: "a_deep_tree_is_refused_and_not_overflowed",
    },
];

/// An example that runs.
pub(super) struct Example {
    /// Names and texts of the files, by name.
    pub files: Vec<(String, String)>,
    /// The command as a user types it.
    pub command: String,
    /// The part of its output with the code: the finding, or the table that the code is in.
    pub shown: String,
}

/// Returns all examples, by the number of the code.
pub(super) fn examples() -> &'static BTreeMap<u16, Example> {
    static EXAMPLES: LazyLock<BTreeMap<u16, Example>> = LazyLock::new(|| {
        let codes = catalog::all();
        std::thread::scope(|scope| {
            let parts = codes.chunks(codes.len().div_ceil(4));
            let running: Vec<_> = parts
                .map(|part| {
                    scope.spawn(|| {
                        part.iter()
                            .filter_map(|code| Some((code.number, example(*code)?)))
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            running.into_iter().flat_map(|part| part.join().unwrap()).collect()
        })
    });
    &EXAMPLES
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Returns the example of a code: its files, and the output of its command.
fn example(code: Code) -> Option<Example> {
    let folder = root().join("tests/codes").join(code.to_string());
    let command = std::fs::read_to_string(folder.join(COMMAND)).ok()?.trim_end().to_owned();
    let words = shlex::split(&command).unwrap_or_else(|| panic!("{code}: no shell reads this: {command}"));
    assert_eq!(words[0], "queuewarden", "{code}");
    let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let ended = run(&args, &folder, "");
    let shown = [out(&ended), err(&ended)].iter().find_map(|text| finding(code, text));
    let shown = shown.unwrap_or_else(|| panic!("{code} is not printed:\n{}{}", out(&ended), err(&ended)));
    let files = names(&folder).into_iter().filter(|name| name != COMMAND);
    let files = files.map(|name| {
        let text = std::fs::read_to_string(folder.join(&name)).unwrap();
        assert!(words.contains(&name), "{code}: {name} is not given to the command");
        (name, text)
    });
    Some(Example { files: files.collect(), command, shown })
}

/// Returns the part between empty lines that has the code in it, in brackets or by name.
fn finding(code: Code, text: &str) -> Option<String> {
    let marked = [format!("[{code}]"), code.to_string()];
    marked.iter().find_map(|mark| text.split("\n\n").find(|part| part.contains(mark)).map(str::to_owned))
}

/// Returns the test that shows a code without an example.
pub(super) fn elsewhere(code: Code) -> Option<&'static Elsewhere> {
    ELSEWHERE.iter().find(|row| row.number == code.number)
}

#[test]
fn every_code_has_an_example() {
    for code in catalog::all() {
        let both = (examples().contains_key(&code.number), elsewhere(code).is_some());
        assert!(both.0 != both.1, "{code}: an example that runs, or a row: one of them");
    }
    assert!(ELSEWHERE.iter().all(|row| catalog::all().iter().any(|code| code.number == row.number)));
    let expected: BTreeSet<String> = examples().keys().map(|number| format!("QW{number}")).collect();
    assert_eq!(expected, names(&root().join("tests/codes")), "examples of codes that there are not");
}

/// Returns the name of the constant that declares a code.
fn constant(number: u16) -> String {
    let declared = format!("Code = Code::new({number}, ");
    let texts = super::docs::sources().into_iter().map(|path| std::fs::read_to_string(path).unwrap());
    let mut named = texts.filter_map(|text| {
        let line = text.lines().find(|line| line.contains(&declared))?.to_owned();
        Some(line.split_once("const ")?.1.split_once(':')?.0.to_owned())
    });
    named.next().unwrap_or_else(|| panic!("QW{number} is not declared"))
}

#[test]
fn what_no_file_shows_is_shown_by_a_test() {
    for row in ELSEWHERE {
        let text = std::fs::read_to_string(root().join(row.file)).unwrap();
        let start = format!("fn {}(", row.test);
        let (before, rest) =
            text.split_once(&start).unwrap_or_else(|| panic!("{}: no {}", row.file, row.test));
        let attribute = before.lines().rev().find(|line| line.trim_start().starts_with("#[")).unwrap();
        assert!(attribute.contains("test"), "{}: {} is no test: {attribute}", row.file, row.test);
        let body = rest.split("fn ").next().unwrap();
        let (constant, number) = (constant(row.number), row.number.to_string());
        assert!(
            body.contains(&constant) || body.contains(&number),
            "{}: {} does not look for {constant}",
            row.file,
            row.test
        );
    }
}
