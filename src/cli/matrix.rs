//! `queuewarden matrix`: shows queues and subjects in one table.

use super::ask::output::{self, Format, FormatArgs, Table};
use super::ask::{EXIT_CODES_OF_LISTS, SourceArgs, question};
use super::console::Console;
use super::{Exit, Failure};
use queuewarden_api::answer::Answers;
use queuewarden_api::answer::{Cell, GrantedBy, MatrixAnswer, Named};
use yunikorn::right::Right;
use yunikorn_access::check::Subject;
use yunikorn_access::matrix::{How, Matrix, matrix};
use yunikorn_access::tree::{Located, QueueId, Tree};

/// Meaning of the letters.
const LEGEND: &str =
    "s submit, a administer; upper case where the queue's own ACL grants it; * because everyone may";

/// Show what each user, group or everyone may do on each queue. A user is evaluated without its groups, a
/// group without its members
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES_OF_LISTS)]
pub struct Args {
    /// Show only this queue and those below it; may be repeated
    #[arg(long, value_name = "QUEUE", value_parser = question::queue)]
    queue: Vec<String>,
    /// Show only this user; may be repeated
    #[arg(long, value_name = "NAME")]
    user: Vec<String>,
    /// Show only this group; may be repeated
    #[arg(long, value_name = "NAME")]
    group: Vec<String>,
    /// Show only submit or administer
    #[arg(long, value_parser = question::verb)]
    verb: Option<Right>,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    output: FormatArgs,
}

/// Runs the command.
///
/// # Errors
/// When the question cannot be decided, or the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let asked = args.source.open(console)?;
    let answers = asked.answers()?;
    let tree = answers.tree;
    let queues = queues(tree, &args.queue)?;
    let rights: Vec<Right> = args.verb.map_or_else(|| Right::ALL.to_vec(), |right| vec![right]);
    let page = matrix(tree, &subjects(args), &queues, &rights);
    let headers = !args.output.no_headers;
    match args.output.format {
        Format::Table | Format::Wide => {
            console.out(&table(&answers, &page, letters).text(headers))?;
            console.note(LEGEND);
        }
        Format::Csv => console.out(&table(&answers, &page, words).csv(headers))?,
        Format::Name => {
            return Err(Failure::Usage("a matrix has no names: who-can and what-can print them".to_owned()));
        }
        Format::Json => console.out(&output::json(&answer(&answers, &page))?)?,
        Format::Yaml => console.out(&output::yaml(&answer(&answers, &page))?)?,
    }
    Ok(Exit::Clean)
}

/// Returns the requested queues, with those below them; for none, returns none, which means all.
fn queues(tree: &Tree, asked: &[String]) -> Result<Vec<QueueId>, Failure> {
    let mut found = Vec::new();
    for path in asked {
        let Located::Queue(id) = tree.locate(path) else {
            let why = question::unknown(tree, path).unwrap_or_default();
            return Err(Failure::Usage(format!("--queue {path}: {why}")));
        };
        found.extend(tree.subtree(id).map(QueueId::new));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Returns the queues of a matrix.
fn shown(page: &Matrix<'_>) -> Vec<QueueId> {
    let mut queues: Vec<QueueId> = page.columns().iter().map(|(queue, _)| *queue).collect();
    queues.dedup();
    queues
}

fn subjects(args: &Args) -> Vec<Subject> {
    let users = args.user.iter().cloned().map(Subject::User);
    users.chain(args.group.iter().cloned().map(Subject::Group)).collect()
}

/// Formats a cell from its rights.
type Show = fn(&[(Right, How)]) -> String;

/// Builds a row for each queue, with a column for each subject.
fn table(answers: &Answers<'_>, page: &Matrix<'_>, show: Show) -> Table {
    let queues = shown(page);
    let mut header = vec!["QUEUE".to_owned()];
    header.extend(page.subjects().iter().map(|subject| Named::from(subject).words()));
    let mut lines: Vec<Vec<String>> = queues.iter().map(|queue| vec![answers.path(*queue)]).collect();
    for row in page.rows() {
        let cells = page.columns().iter().zip(&row.cells);
        let held: Vec<_> = cells
            .map(|((queue, right), way)| {
                (*queue, way.as_ref().map(|way| (*right, How::of(way, *queue, *right))))
            })
            .collect();
        for (line, of_queue) in lines.iter_mut().zip(held.chunk_by(|left, right| left.0 == right.0)) {
            let rights: Vec<_> = of_queue.iter().filter_map(|(_, how)| *how).collect();
            line.push(show(&rights));
        }
    }
    let mut table = Table::new(header);
    for line in lines {
        table.row(line);
    }
    table
}

fn letters(rights: &[(Right, How)]) -> String {
    let mut shown = String::new();
    for (right, how) in rights {
        let letter = match right {
            Right::Submit => 's',
            Right::Admin => 'a',
        };
        let own = !how.inherited && !how.through_admin;
        shown.push(if own { letter.to_ascii_uppercase() } else { letter });
        if how.everyone {
            shown.push('*');
        }
    }
    if shown.is_empty() { "-".to_owned() } else { shown }
}

fn words(rights: &[(Right, How)]) -> String {
    rights.iter().map(|(right, _)| right.verb()).collect::<Vec<_>>().join(" ")
}

fn answer(answers: &Answers<'_>, page: &Matrix<'_>) -> MatrixAnswer {
    let cells = page.rows().flat_map(|row| {
        let subject = Named::from(&row.subject);
        let columns = page.columns().iter().zip(row.cells);
        let cells = columns.filter_map(|((queue, right), way)| {
            let way = way?;
            let how = How::of(&way, *queue, *right);
            Some(Cell {
                subject: subject.clone(),
                queue: answers.path(*queue),
                verb: *right,
                inherited: how.inherited,
                through_admin: how.through_admin,
                everyone: how.everyone,
                by: GrantedBy {
                    queue: answers.path(way.queue),
                    acl: way.acl.into(),
                    origins: answers.origins(&way.written(answers.tree).origins),
                },
            })
        });
        cells.collect::<Vec<_>>()
    });
    MatrixAnswer {
        about: answers.about(),
        subjects: page.subjects().iter().map(Named::from).collect(),
        queues: shown(page).iter().map(|queue| answers.path(*queue)).collect(),
        cells: cells.collect(),
    }
}
