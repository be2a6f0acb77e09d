//! The samples of YARN's files: what their import says, and that none of them lets anybody do more than before.

use std::fmt::Write as _;
use std::path::Path;

use queuewarden::import::translate::{Options, translate};
use queuewarden::import::{Direction, Source, Wanted, codes, prove};
use queuewarden::model::application::Reading;

/// What is said of a file, on one line: each code with how often, and how many differences are narrower.
fn said(name: &str, text: &str) -> String {
    let mut findings = Vec::new();
    let wanted = Wanted { reading: Reading::Hadoop, scheduler: (0, text), site: None, defined: &[] };
    let read = if name.starts_with("fair") { Source::fair } else { Source::capacity };
    let outcome = read(wanted, &mut findings).map(|source| {
        let options = Options::default();
        let imported = translate(&source, &options, &mut findings);
        let proof = prove(&source, &imported, &options.names, |_, _| {}).expect(name);
        assert_eq!(proof.of(Direction::Wider).count(), 0, "{name}: {:?}", proof.differences);
        assert!(
            proof.differences.iter().all(|found| found.code != codes::UNEXPLAINED),
            "{name}: {:?}",
            proof.differences
        );
        format!("{} queues, {} narrower", imported.queues.len(), proof.differences.len())
    });
    let mut found: Vec<String> = findings
        .iter()
        .map(|finding| {
            format!(
                "{}{}",
                finding.diagnostic.code.title,
                if finding.diagnostic.is_error() { "!" } else { "" }
            )
        })
        .filter(|title| title != codes::NO_YARN_SITE.title)
        .collect();
    found.sort();
    let outcome = outcome.unwrap_or_else(|| "refused".to_owned());
    format!("{name}: {outcome}; {}", found.join(" "))
}

#[test]
fn every_sample_says_what_is_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/yarn");
    let entries =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        entries.filter(|name| Path::new(name).extension().is_some_and(|ext| ext == "xml")).collect();
    names.sort();
    assert!(names.len() >= 35, "{}", names.len());
    let mut all = String::new();
    for name in names {
        let text = std::fs::read_to_string(folder.join(&name)).unwrap();
        writeln!(all, "{}", said(&name, &text).trim_end_matches("; ")).unwrap();
    }
    let expected = folder.join("expected.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&expected, &all).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&expected).unwrap_or_default(),
        all,
        "UPDATE=1 cargo test --test all import"
    );
}
