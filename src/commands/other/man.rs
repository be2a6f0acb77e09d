//! `queuewarden man`: prints manual pages, made from the texts of `--help`.

use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;

use crate::output::{Console, Exit, Failure, file};

/// Print the manual page, or write the manual pages of all subcommands to a folder
#[derive(Debug, Clone, clap::Args)]
pub struct ManArgs {
    /// Write a page for each command into DIR, such as /usr/local/share/man/man1. If DIR has a symbolic link
    /// of that name, its target is written
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// When the folder or standard output cannot be written to.
pub fn run(args: &ManArgs, command: Command, console: Console) -> Result<Exit, Failure> {
    let pages = pages(command)?;
    let Some(dir) = &args.dir else {
        let first = pages.first().map(|(_, page)| page.as_slice()).unwrap_or_default();
        console.out(&String::from_utf8_lossy(first))?;
        return Ok(Exit::Clean);
    };
    file::write_all(dir, pages)?;
    Ok(Exit::Clean)
}

/// Returns the pages with their files' names, the program's first.
fn pages(command: Command) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut whole = command.disable_help_subcommand(true);
    whole.build();
    std::iter::once(&whole).chain(whole.get_subcommands()).cloned().map(page).collect()
}

fn page(command: Command) -> Result<(String, Vec<u8>), Failure> {
    let man = Man::new(command).manual("queuewarden");
    let mut text = Vec::new();
    man.render(&mut text)?;
    Ok((man.get_filename(), text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::command;

    #[test]
    fn every_command_has_a_page() {
        let pages = pages(command()).unwrap();
        assert_eq!(pages.len(), command().get_subcommands().count() + 1);
        for (name, page) in &pages {
            let page = String::from_utf8_lossy(page);
            assert!(name.starts_with("queuewarden") && name.ends_with(".1"), "{name}");
            assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
        }
        assert!(pages.iter().any(|(name, _)| name == "queuewarden-can-i.1"));
    }
}
