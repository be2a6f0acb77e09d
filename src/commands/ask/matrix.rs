//! `queuewarden matrix`: shows queues and subjects in one table.

use std::collections::{HashMap, HashSet};
use std::iter;

use crate::output::console::Look;
use crate::output::findings::plural;
use crate::output::format::{Format, FormatArgs, Table};
use crate::output::{Console, Exit, Failure};
use crate::source::request;
use crate::source::session::{EXIT_CODES_OF_LISTS, PastArgs};
use queuewarden_api::answer::{Answers, Cell, Matrix};
use yunikorn::acl::Match;
use yunikorn::right::Right;
use yunikorn_access::decide::in_words;
use yunikorn_access::subject::Subject;
use yunikorn_access::tree::{Located, QueueId, Tree};
use yunikorn_access::{GrantingEntry, all_named, until};

/// Meaning of the letters.
const LEGEND: &str =
    "s submit, a administer; upper case where the queue's own ACL grants it; * because everyone may";
/// Maximum number of cells: nobody reads more, and programs have who-can.
const MAX_CELLS: usize = 5_000_000;
/// Meaning of the sign for a right that ends.
const ENDS: &str = "~ until a time that -o csv shows";

/// Show the rights of each user, of each group and of everyone on each queue. Users are evaluated without
/// their groups, and groups without their members
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES_OF_LISTS)]
pub struct MatrixArgs {
    /// Show only this queue and those below it; may be repeated
    #[arg(long, value_name = "QUEUE", value_parser = request::queue)]
    queue: Vec<String>,
    /// Show only this user; may be repeated
    #[arg(long, value_name = "NAME")]
    user: Vec<String>,
    /// Show only this group; may be repeated
    #[arg(long, value_name = "NAME")]
    group: Vec<String>,
    /// Show only submit or administer
    #[arg(long, value_parser = request::verb)]
    verb: Option<Right>,
    #[command(flatten)]
    source: PastArgs,
    #[command(flatten)]
    output: FormatArgs,
}

/// Runs the command.
///
/// # Errors
/// When the question cannot be decided, or the output cannot be written.
pub fn run(args: &MatrixArgs, console: Console) -> Result<Exit, Failure> {
    let session = args.source.open(console)?;
    let answers = session.answers()?;
    let tree = answers.tree;
    let queues = queues(tree, &args.queue)?;
    let rights: Vec<Right> = args.verb.map_or_else(|| Right::ALL.to_vec(), |right| vec![right]);
    let subjects = subjects(args, tree);
    if subjects.len().saturating_mul(queues.len()) > MAX_CELLS {
        let size = format!("{} and {}", plural(subjects.len(), "subject"), plural(queues.len(), "queue"));
        let help = "choose some with --queue, --user and --group, or use who-can or report -o csv";
        return Err(Failure::Usage(format!("{size} make more than {MAX_CELLS} cells: {help}")));
    }
    let answer = answer(&answers, &subjects, &queues, &rights);
    if args.output.format == Format::Name {
        return Err(Failure::Usage("a matrix has no names: use who-can or what-can".to_owned()));
    }
    let is_for_people = matches!(args.output.format, Format::Table | Format::Wide);
    let show = if is_for_people { letters } else { words };
    let shown = args.output.show(Look::default(), &answer, |_| table(&answer, show), String::new)?;
    console.out(&shown)?;
    if is_for_people {
        if let Some(note) = console.look_out().width.and_then(|width| too_wide(&shown, width)) {
            console.note(&note);
        }
        console.note(LEGEND);
        if answer.cells.iter().any(|cell| cell.until.is_some()) {
            console.note(ENDS);
        }
    }
    Ok(Exit::Clean)
}

/// Says how to see a matrix that is wider than the terminal.
fn too_wide(shown: &str, width: usize) -> Option<String> {
    let columns = shown.lines().map(|line| line.chars().count()).max().filter(|columns| *columns > width)?;
    Some(format!(
        "the matrix is {columns} columns wide: select with --user, --group and --queue, use -o csv, or generate a page for a browser with queuewarden report"
    ))
}

/// Returns the requested queues with their descendants, or all queues if none is requested.
fn queues(tree: &Tree, paths: &[String]) -> Result<Vec<QueueId>, Failure> {
    if paths.is_empty() {
        return Ok(tree.queues().map(|(id, _)| id).collect());
    }
    let mut found = Vec::new();
    for path in paths {
        let Located::Queue(id) = tree.locate(path) else {
            let why = request::unknown(tree, path).unwrap_or_default();
            return Err(Failure::Usage(format!("--queue {path}: {why}")));
        };
        found.extend(tree.subtree(id).map(QueueId::new));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Returns the requested subjects without duplicates, or everyone and all subjects in ACLs if none is
/// requested.
fn subjects(args: &MatrixArgs, tree: &Tree) -> Vec<Subject> {
    if args.user.is_empty() && args.group.is_empty() {
        return all_named(tree);
    }
    let users = args.user.iter().cloned().map(Subject::User);
    let mut subjects: Vec<_> = users.chain(args.group.iter().cloned().map(Subject::Group)).collect();
    let mut known = HashSet::new();
    subjects.retain(|subject| known.insert(subject.clone()));
    subjects
}

/// Builds a row for each queue, with a column for each subject. `show` formats a subject's rights on a queue.
fn table(answer: &Matrix, show: fn(&[&Cell]) -> String) -> Table {
    let mut rights: HashMap<(&String, &Subject), Vec<&Cell>> = HashMap::new();
    for cell in &answer.cells {
        rights.entry((&cell.queue, &cell.subject)).or_default().push(cell);
    }
    let subjects = answer.subjects.iter().map(ToString::to_string);
    let mut table = Table::new(iter::once("QUEUE".to_owned()).chain(subjects));
    for queue in &answer.queues {
        let cell = |subject| show(rights.get(&(queue, subject)).map_or(&[], Vec::as_slice));
        table.row(iter::once(queue.clone()).chain(answer.subjects.iter().map(cell)));
    }
    table
}

fn letters(rights: &[&Cell]) -> String {
    let mut shown = String::new();
    for cell in rights {
        let own = !cell.inherited && !cell.through_admin;
        shown.push_str(match (cell.verb, own) {
            (Right::Submit, true) => "S",
            (Right::Submit, false) => "s",
            (Right::Admin, true) => "A",
            (Right::Admin, false) => "a",
        });
        let signs = [(cell.everyone, '*'), (cell.until.is_some(), '~')];
        shown.extend(signs.into_iter().filter(|(shows, _)| *shows).map(|(_, sign)| sign));
    }
    if shown.is_empty() { "-".to_owned() } else { shown }
}

fn words(rights: &[&Cell]) -> String {
    let until = |cell: &Cell| cell.until.map(|end| format!(" until {}", in_words(end))).unwrap_or_default();
    rights.iter().map(|cell| format!("{}{}", cell.verb.verb(), until(cell))).collect::<Vec<_>>().join(" ")
}

fn answer(answers: &Answers<'_>, subjects: &[Subject], queues: &[QueueId], rights: &[Right]) -> Matrix {
    let tree = answers.tree;
    let cell = |subject: &Subject, queue, right| {
        let granting = GrantingEntry::of_name(tree, right, queue, subject.entry())?;
        Some(Cell {
            subject: subject.clone(),
            queue: answers.tree.path(queue).to_string(),
            verb: right,
            inherited: granting.queue != queue,
            through_admin: granting.acl != right,
            everyone: granting.entry == Match::Everyone,
            by: granting.location(answers.tree),
            until: until(tree, right, queue, &subject.identity()),
        })
    };
    let mut cells = Vec::new();
    for subject in subjects {
        for queue in queues {
            cells.extend(rights.iter().filter_map(|right| cell(subject, *queue, *right)));
        }
    }
    Matrix {
        about: answers.about(),
        subjects: subjects.to_vec(),
        queues: queues.iter().map(|queue| answers.tree.path(*queue).to_string()).collect(),
        cells,
    }
}
