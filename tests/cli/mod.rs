//! Tests the command line as people and programs use it: the built binary, its streams, files and exit codes.

mod blocks;
mod completion;
pub(crate) mod docs;
mod examples;
mod fix;
mod hostile;
mod one_answer;
mod output;
mod pipe;
mod pipelines;
mod process;
mod promises;
mod readme;
mod reference;
mod repositories;
mod sarif;
mod schema;
mod terminal;
mod translations;
mod wrapped;

/// `cases/*.trycmd` hold the expected output; regenerate with `TRYCMD=overwrite cargo test --test all
/// cli::cases`, and read the difference.
#[test]
fn cases() {
    trycmd::TestCases::new()
        .default_bin_name("queuewarden")
        .env("COLUMNS", "120")
        .env("NO_COLOR", "1")
        .case("tests/cli/cases/*.trycmd")
        .case("tests/cli/cases/*.toml")
        .case("README.md")
        .case("docs/*.md")
        .case("docs/zh/*.md");
}
