//! `queuewarden what-can`: lists all queues that a user can use.

use crate::output::format::{self, FormatArgs, Table, UNTIL};
use crate::output::{Console, Exit, Failure};
use crate::source::entries::{self, EntriesAnswer};
use crate::source::identity::IdentityArgs;
use crate::source::request;
use crate::source::session::{EXIT_CODES_OF_LISTS, PastArgs, Session};
use queuewarden_api::answer::{Answers, RightOn, WhatCan, until};
use queuewarden_plan::entries::Names;
use yunikorn::identity::Identity;
use yunikorn::right::Right;
use yunikorn_access::Origin;
use yunikorn_access::tree::GrantingEntry;

/// List the queues that a user may submit to or administer, and the entries that grant it
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES_OF_LISTS)]
pub struct WhatCanArgs {
    /// submit or administer; both by default
    #[arg(value_parser = request::verb)]
    verb: Option<Right>,
    #[command(flatten)]
    identity: IdentityArgs,
    /// Show only queues that applications run in
    #[arg(long)]
    leaves: bool,
    /// List every entry that names the user, or a group of --as-group, whether it is in force or not:
    /// planned, suspended and expired QueueAcls, the base, and the lists of the admission controller
    #[arg(long, conflicts_with_all = ["verb", "leaves", "live", "groups_from", "at"])]
    all: bool,
    #[command(flatten)]
    source: PastArgs,
    #[command(flatten)]
    output: FormatArgs,
}

/// Runs the command.
///
/// # Errors
/// When the question cannot be decided, or the output cannot be written.
pub fn run(args: &WhatCanArgs, console: Console) -> Result<Exit, Failure> {
    if args.all {
        return all(args, &args.source.source.open(console)?, console);
    }
    let session = args.source.open(console)?;
    let identity = args.identity.resolve(&session, console)?;
    let answers = session.answers()?;
    let answer = answer(&answers, args, &identity);
    let nothing = answer.rights.is_empty();
    if nothing {
        let verb = args.verb.map_or("submit to or administer", Right::act);
        console.note(&format!("there is no queue that {} may {verb}", format::visible(&identity.user)));
    }
    args.output.print(console, &answer, |wide| table(&answer, wide), || names(&answer))?;
    Ok(Exit::yes(!nothing))
}

/// Lists every entry that names the user or a group that is given.
fn all(args: &WhatCanArgs, session: &Session, console: Console) -> Result<Exit, Failure> {
    let Identity { user, groups } = args.identity.claimed(&session.source)?;
    let names = Names { users: [user.clone()].into(), groups: groups.iter().cloned().collect() };
    let found = entries::gather(session, &args.source.source, &names)?;
    let about = session.answers()?.about();
    let nothing = found.entries.is_empty();
    if nothing {
        console.note(&format!("no entry names {}", format::visible(&user)));
    }
    let answer = EntriesAnswer { about, user, groups, entries: found.answers() };
    args.output.print(console, &answer, |_| found.table(None), || found.names())?;
    Ok(Exit::yes(!nothing))
}

fn answer(answers: &Answers<'_>, args: &WhatCanArgs, identity: &Identity) -> WhatCan {
    let rights: Vec<Right> = args.verb.map_or_else(|| Right::ALL.to_vec(), |right| vec![right]);
    let mut on = Vec::new();
    for (id, node) in answers.tree.queues().filter(|(_, node)| node.is_leaf || !args.leaves) {
        let granting = rights
            .iter()
            .filter_map(|right| Some((*right, GrantingEntry::find(answers.tree, *right, id, identity)?)));
        for (right, granting) in granting {
            on.push(RightOn {
                queue: node.path.to_string(),
                leaf: node.is_leaf,
                verb: right,
                entry: granting.subject(answers.tree),
                by: granting.location(answers.tree),
                until: yunikorn_access::until(answers.tree, right, id, identity),
            });
        }
    }
    WhatCan {
        about: answers.about(),
        user: identity.user.clone(),
        groups: identity.groups.clone(),
        rights: on,
    }
}

fn table(answer: &WhatCan, wide: bool) -> Table {
    let header = ["QUEUE", "MAY", "GRANTED TO", "AT", "ACL", "WRITTEN IN", "TYPE"];
    let columns = if wide { header.len() } else { 4 };
    let mut table = Table::new(header.into_iter().take(columns).chain([UNTIL]));
    for RightOn { queue, leaf, verb, entry, by, until: end } in &answer.rights {
        let (entry, origins) = (entry.to_string(), Origin::list(&by.origins));
        let kind = if *leaf { "leaf" } else { "parent" };
        let row = [queue, verb.verb(), &entry, by.queue.as_str(), by.acl.key(), &origins, kind];
        table.row(row.into_iter().take(columns).chain([until(*end).as_str()]));
    }
    table
}

/// Returns each queue once.
fn names(answer: &WhatCan) -> String {
    let mut names: Vec<&str> = answer.rights.iter().map(|right| right.queue.as_str()).collect();
    names.dedup();
    names.iter().flat_map(|name| [name, "\n"]).collect()
}
