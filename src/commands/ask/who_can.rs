//! `queuewarden who-can`: lists all who may do something on a queue.

use crate::output::format::{FormatArgs, Table, UNTIL};
use crate::output::{Console, Exit, Failure};
use crate::source::request;
use crate::source::session::{EXIT_CODES_OF_LISTS, PastArgs};
use queuewarden_api::answer::{WhoCanList, until};
use yunikorn::right::Right;
use yunikorn_access::Origin;
use yunikorn_access::decide::Denial;
use yunikorn_access::who_can::{Grantee, who_can};

/// List the users and groups that may submit to or administer a queue, and the locations of their entries
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES_OF_LISTS)]
pub struct WhoCanArgs {
    /// submit or administer
    #[arg(value_parser = request::verb)]
    verb: Right,
    /// The queue's full path, such as root.prod
    #[arg(value_parser = request::queue)]
    queue: String,
    #[command(flatten)]
    source: PastArgs,
    #[command(flatten)]
    output: FormatArgs,
}

/// Runs the command.
///
/// # Errors
/// When the question cannot be decided, or the output cannot be written.
pub fn run(args: &WhoCanArgs, console: Console) -> Result<Exit, Failure> {
    let session = args.source.open(console)?;
    let answers = session.answers()?;
    let tree = answers.tree;
    let found = who_can(tree, args.verb, &args.queue);
    if let Some(note) = request::unknown(tree, &args.queue) {
        console.note(&note);
    }
    if found.denial == Some(Denial::Recovery) {
        console.note("nobody may submit to the recovery queue, regardless of the ACLs");
    } else if found.grantees.is_empty() {
        console.note(&format!("nobody may {} {}", args.verb.act(), args.queue));
    }
    let answer = WhoCanList { about: answers.about(), found };
    let grantees = &answer.found.grantees;
    let names = || grantees.iter().map(|grantee| grantee.subject.path() + "\n").collect();
    args.output.print(console, &answer, |wide| table(grantees, wide), names)?;
    Ok(Exit::yes(!grantees.is_empty()))
}

/// Builds a row for each subject with its nearest grant, and the end of its right. The wide table has a row
/// for each grant, with the end of that.
fn table(grantees: &[Grantee], wide: bool) -> Table {
    let mut table = Table::new(["KIND", "NAME", "QUEUE", "ACL", "WRITTEN IN", UNTIL]).with_names(1);
    for Grantee { subject, grants, until: end } in grantees {
        let shown = if wide { grants.len() } else { 1 };
        for grant in grants.iter().take(shown) {
            let name = subject.name().unwrap_or("*");
            let origins = Origin::list(&grant.origins);
            let end = if wide { until(Origin::last_end(&grant.origins)) } else { until(*end) };
            table.row([subject.kind().as_str(), name, grant.queue.as_str(), grant.acl.key(), &origins, &end]);
        }
    }
    table
}
