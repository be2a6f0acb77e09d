//! Tests the samples of Hadoop's and Spark's files: the findings of their import, that none of them gives
//! anybody more access without a finding, and that every known trap has a sample.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use go_compat::diag::Code;
use queuewarden_import::spark::{self, Spark};
use queuewarden_import::translate::{Options, translate};
use queuewarden_import::{Direction, FileDiagnostic, Files, Source, codes, prove};
use yunikorn::application::Reading;

/// Returns the result of a file on one line: the output, the number of differences, and each code.
fn said(name: &str, outcome: Option<String>, findings: &[FileDiagnostic]) -> String {
    let mut found: Vec<String> = findings
        .iter()
        .map(|finding| {
            let mark = if finding.diagnostic.is_error() { "!" } else { "" };
            format!("{}{mark}", finding.diagnostic.code.title)
        })
        .filter(|title| title != codes::NO_YARN_SITE.title)
        .collect();
    found.sort();
    let outcome = outcome.unwrap_or_else(|| "refused".to_owned());
    format!("{name}: {outcome}; {}", found.join(" ")).trim_end_matches("; ").to_owned()
}

/// Returns the number of differences. Each difference that widens access has one of these codes.
fn counted(name: &str, differences: &[(Direction, Code)], may_widen: &[Code]) -> String {
    let wider = || differences.iter().filter(|(direction, _)| *direction == Direction::Wider);
    assert!(wider().all(|(_, code)| may_widen.contains(code)), "{name}: {differences:?}");
    assert!(differences.iter().all(|(_, code)| *code != codes::UNEXPLAINED), "{name}: {differences:?}");
    let narrower = differences.len() - wider().count();
    match wider().count() {
        0 => format!("{narrower} narrower"),
        wider => format!("{wider} wider, {narrower} narrower"),
    }
}

/// Imports a scheduler's file with the yarn-site.xml and mapred-site.xml in its folder.
fn yarn(path: &Path) -> String {
    let name = file_name(path);
    let text = fs::read_to_string(path).unwrap();
    let site = fs::read_to_string(path.with_extension("site.xml")).ok();
    let site = site.as_deref().map(|site| (1, site));
    let jobs = fs::read_to_string(path.with_extension("mapred.xml")).ok();
    let mut findings = Vec::new();
    let wanted = Files {
        reading: Reading::Hadoop,
        scheduler: (0, &text),
        site,
        mapred: jobs.as_deref().map(|jobs| (2, jobs)),
        defined: &[],
        core: &[],
        name: "fair-scheduler.xml",
    };
    let read = if name.starts_with("fair") { Source::fair } else { Source::capacity };
    let outcome = read(wanted, &mut findings).map(|source| {
        let options = Options::default();
        let imported = translate(&source, &options, &mut findings);
        let proof = prove(&source, &imported, &options.names, |_, _| {}).expect(&name);
        let differences: Vec<_> =
            proof.differences.iter().map(|found| (found.direction, found.code)).collect();
        format!("{} queues, {}", imported.queues.len(), counted(&name, &differences, &[]))
    });
    said(&name, outcome, &findings)
}

/// Imports a spark-defaults.conf.
fn spark(path: &Path) -> String {
    let name = file_name(path);
    let text = fs::read_to_string(path).unwrap();
    let mut findings = Vec::new();
    let outcome = Spark::read(&[&text], &mut findings).map(|read| {
        let options = spark::Options::default();
        let carried = spark::carry(&read, &options, &mut findings);
        let proof = spark::prove(&read, &carried, &options).expect(&name);
        let differences: Vec<_> =
            proof.differences.iter().map(|found| (found.direction, found.code)).collect();
        let counted = counted(&name, &differences, &[codes::SPARK_MODIFY_ALONE]);
        format!("{} settings, {counted}", carried.settings.len())
    });
    said(&name, outcome, &findings)
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Returns the samples of a folder, without the files that only accompany one.
fn samples(name: &str, extension: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .filter(|path| ![".site.xml", ".mapred.xml"].iter().any(|end| file_name(path).ends_with(end)))
        .collect();
    paths.sort();
    paths
}

fn says_what_is_expected(name: &str, said: &[String]) {
    let all = said.iter().fold(String::new(), |mut all, line| {
        writeln!(all, "{line}").unwrap();
        all
    });
    let expected = folder(name).join("expected.txt");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&expected, &all).unwrap();
    }
    let expected = fs::read_to_string(&expected).unwrap_or_default();
    assert_eq!(expected, all, "UPDATE=1 cargo test --test all import");
}

#[test]
fn every_sample_of_yarn_says_what_is_expected() {
    let said: Vec<String> = samples("yarn", "xml").iter().map(|path| yarn(path)).collect();
    assert!(said.len() >= 40, "{}", said.len());
    says_what_is_expected("yarn", &said);
}

#[test]
fn every_sample_of_spark_says_what_is_expected() {
    let said: Vec<String> = samples("spark", "conf").iter().map(|path| spark(path)).collect();
    assert!(said.len() >= 14, "{}", said.len());
    says_what_is_expected("spark", &said);
}

/// The READMEs describe for each trap the finding and its sample. They list all samples, with their findings.
#[test]
fn every_trap_has_a_sample_that_says_so() {
    for (name, extension) in [("yarn", "xml"), ("spark", "conf")] {
        let readme = fs::read_to_string(folder(name).join("README.md")).unwrap();
        let expected = fs::read_to_string(folder(name).join("expected.txt")).unwrap();
        let mut reported = BTreeSet::new();
        for row in readme.lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            let [_, files, words] = cells.as_slice() else { panic!("three cells: {row}") };
            for file in files.split(", ") {
                let file = file.trim_matches('`');
                let line = expected.lines().find(|line| line.split(": ").next() == Some(file));
                let line = line.unwrap_or_else(|| panic!("no sample {file}: {row}"));
                for word in words.split(", ").map(|word| word.trim_matches('`')) {
                    let says = line.split([' ', ';', ':']).any(|said| said.trim_end_matches(',') == word);
                    assert!(says, "{file} does not say {word}: {line}");
                }
                reported.insert(file.to_owned());
            }
        }
        let all: BTreeSet<String> = samples(name, extension).iter().map(|path| file_name(path)).collect();
        assert_eq!(reported, all, "{name}");
    }
}
