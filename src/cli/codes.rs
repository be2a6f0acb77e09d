//! `queuewarden codes`: every diagnostic there is.

use super::console::Console;
use super::{Exit, Failure, assemble, check, input};
use crate::text::diag::Code;
use crate::{access, api, model, operator, plan, text};

/// Lists the codes of all diagnostics with their titles.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {}

/// Every code, in the order of the numbers.
pub fn all() -> Vec<Code> {
    let lists: &[&[Code]] = &[
        model::acl::codes::CODES,
        text::yaml::CODES,
        model::config::CODES,
        text::go_regex::CODES,
        model::admission::CODES,
        model::queue::CODES,
        model::identity::CODES,
        model::application::CODES,
        access::lint::CODES,
        api::convert::CODES,
        operator::world::CODES,
        plan::CODES,
        input::CODES,
        assemble::CODES,
        check::schema::CODES,
        check::cross::CODES,
    ];
    let mut codes = lists.concat();
    codes.sort();
    codes
}

/// Runs the command.
///
/// # Errors
/// When nobody takes the output.
pub fn run(_: &Args, console: Console) -> Result<Exit, Failure> {
    let lines = all().iter().map(|code| format!("{code} {}", code.title)).collect::<Vec<_>>().join("\n");
    console.out(&format!("{lines}\n"))?;
    Ok(Exit::Clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_titles_are_used_once() {
        let codes = all();
        for pair in codes.windows(2) {
            assert_ne!(pair[0].number, pair[1].number, "{} and {}", pair[0].title, pair[1].title);
        }
        let titles: std::collections::BTreeSet<_> = codes.iter().map(|code| code.title).collect();
        assert_eq!(titles.len(), codes.len());
    }
}
