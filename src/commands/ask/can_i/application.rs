//! Questions about applications, for `can-i` and `explain`: who may view, modify, kill or move one, or read
//! its logs.

use std::iter;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{RequestArgs, Show, line};
use crate::output::format::{Table, UNTIL, visible};
use crate::output::text::shown;
use crate::output::{Console, Exit, Failure, diagnostic, explanation};
use crate::source::input::source;
use crate::source::request::{self, key_value};
use crate::source::session::reads_standard_input_once;
use go_compat::diag::Diagnostic;
use queuewarden_api::answer::{About, Answers};
use yunikorn::application::settings::KEYS;
use yunikorn::application::{ApplicationAcl, Dialect, Rules, properties};
use yunikorn::right::Right;
use yunikorn_access::application::{
    Clause, Decision, List, Need, Remedy, Request, Requirement, Step, Verb, decide, remedies, sentence,
};
use yunikorn_access::decide as queues;
use yunikorn_access::subject::Subject;

/// Note for the dialect `yunikorn`, whose rules are queuewarden's own.
const UNENFORCED: &str = "YuniKorn itself does not ask who views, kills or moves an application; by \
    queuewarden's rule its owner may, and who administers its queue";

/// Options that describe an application.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Questions about an application")]
pub struct ApplicationArgs {
    /// The user the application runs as
    #[arg(long, value_name = "USER")]
    pub owner: Option<String>,
    /// The queue the application is in, if TARGET is the application's name
    #[arg(long, value_name = "PATH", value_parser = request::queue)]
    pub queue: Option<String>,
    /// The queue to move it to
    #[arg(long, value_name = "PATH", value_parser = request::queue)]
    pub to: Option<String>,
    /// Dialect of the rules: yunikorn, yarn-hadoop, yarn-cloudera or spark [default: yunikorn]
    #[arg(long, value_name = "DIALECT")]
    pub dialect: Option<Dialect>,
    /// A setting of the cluster or of the application, such as yarn.admin.acl="bob ops"; may be repeated
    #[arg(short = 'D', long = "setting", value_name = "KEY=VALUE", value_parser = key_value)]
    pub settings: Vec<(String, String)>,
    /// A file of settings in the format of Java properties, such as spark-defaults.conf; -D overrides it
    #[arg(long = "settings", value_name = "FILE")]
    pub file: Option<PathBuf>,
}

impl ApplicationArgs {
    /// Returns the owner and the rules of the application.
    fn acl(&self, console: Console) -> Result<ApplicationAcl, Failure> {
        let owner = self.owner.clone().filter(|owner| !owner.is_empty()).ok_or_else(|| {
            Failure::Usage("whose application is it? Name the user it runs as: --owner USER".to_owned())
        })?;
        let mut settings = self.file_settings()?;
        settings.extend(self.settings.iter().cloned());
        let settings = settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let dialect = self.dialect.unwrap_or_default();
        let (rules, findings) = Rules::read(dialect, settings);
        for finding in &findings {
            console.err(&diagnostic::draw(finding, None, None, console.look_err()));
        }
        if findings.iter().any(Diagnostic::is_error) {
            return Err(Failure::Undecided(format!("the settings are none that {dialect} reads")));
        }
        Ok(ApplicationAcl { owner, rules })
    }

    /// Returns the file's settings that concern access; it may have settings of all kinds.
    fn file_settings(&self) -> Result<Vec<(String, String)>, Failure> {
        let Some(path) = &self.file else { return Ok(Vec::new()) };
        let text = source::read_one(path)?.text;
        if text.trim_start().starts_with('<') {
            let words = "is XML, and settings are read as Java's properties: write each as `KEY=VALUE` on a \
                line of its own";
            return Err(Failure::Usage(format!("{} {words}", shown(path))));
        }
        let concerns_access = |key: &str| {
            let known = KEYS.iter().any(|(_, keys)| keys.contains(&key));
            known || key.split(['.', '-']).any(|part| part == "acl" || part == "acls")
        };
        let mut settings = properties::parse(&text);
        settings.retain(|(key, _)| concerns_access(key));
        Ok(settings)
    }
}

/// Answers a question about an action on an application.
///
/// # Errors
/// When the question is incomplete or cannot be decided, or the output cannot be written.
pub fn run(args: &RequestArgs, verb: Verb, show: Show, console: Console) -> Result<Exit, Failure> {
    let RequestArgs { target, identity, application, source, format, .. } = args;
    let (name, queue) = target_of(target, application)?;
    let move_to = move_to(verb, application)?;
    let files = source.filename.iter().chain(&source.files.base);
    reads_standard_input_once(files.chain(&application.file))?;
    let session = args.past.open(source, console)?;
    let identity = identity.resolve(&session, console)?;
    let answers = session.answers()?;
    let tree = answers.tree;
    let acl = application.acl(console)?;
    let question = Request { verb, target: move_to, application: &acl, queue: &queue };
    let decision = decide(tree, question, &identity);
    let remedies = remedies(tree, question, &identity);
    let allowed = decision.allowed();
    if show != Show::Nothing {
        if let Some(note) = request::unknown(tree, &queue) {
            console.note(&note);
        }
        if acl.dialect() == Dialect::YuniKorn {
            console.note(UNENFORCED);
        }
        let answer = ApplicationAnswer {
            about: answers.about(),
            verb,
            application: name.map(str::to_owned),
            owner: acl.owner,
            queue,
            target: application.to.clone(),
            dialect: decision.dialect.name().to_owned(),
            user: identity.user,
            groups: identity.groups,
            allowed,
            reason: sentence(tree, &decision),
            requirements: decision.requirements.iter().map(Into::into).collect(),
            remedies,
        };
        let text = || match show {
            Show::Everything => everything(&answers, &decision, &answer, console.look_out().width),
            _ => line(allowed, &answer.reason, console.look_out()),
        };
        console.out(&format.show(text, || &answer)?)?;
    }
    Ok(Exit::yes(allowed))
}

/// Returns the application's name, if it has one, and the queue it is in. A target that is a path is the
/// queue.
fn target_of<'a>(
    target: &'a str,
    application: &ApplicationArgs,
) -> Result<(Option<&'a str>, String), Failure> {
    match (request::queue(target), &application.queue) {
        (Ok(_), Some(_)) => Err(Failure::Usage(
            "the queue is given twice: write `application` where --queue names it".to_owned(),
        )),
        (Ok(queue), None) => Ok((None, queue)),
        (Err(_), Some(queue)) => Ok((Some(target).filter(|name| *name != "application"), queue.clone())),
        (Err(_), None) => Err(Failure::Usage(format!(
            "which queue is the application in? Write --queue PATH, or the path instead of `{}`",
            visible(target)
        ))),
    }
}

/// Returns the queue to move it to; empty for other verbs.
fn move_to(verb: Verb, application: &ApplicationArgs) -> Result<&str, Failure> {
    match (verb, application.to.as_deref()) {
        (Verb::Move, Some(to)) => Ok(to),
        (Verb::Move, None) => Err(Failure::Usage("move it where to? Write --to PATH".to_owned())),
        (_, Some(_)) => Err(Failure::Usage("--to is for the verb `move`".to_owned())),
        (_, None) => Ok(""),
    }
}

/// The answer to `can-i` and `explain` about an application.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationAnswer {
    /// The configuration that was read.
    #[serde(flatten)]
    pub about: About,
    /// The requested action.
    pub verb: Verb,
    /// The application's name; null when none was given.
    pub application: Option<String>,
    /// The user that it runs as.
    pub owner: String,
    /// The queue it is in.
    pub queue: String,
    /// The queue to move it to; null for other verbs.
    pub target: Option<String>,
    /// The dialect of the rules: `yunikorn`, `yarn-hadoop`, `yarn-cloudera` or `spark`.
    pub dialect: String,
    /// The user.
    pub user: String,
    /// The groups that were assumed for the user.
    pub groups: Vec<String>,
    /// True if access is allowed.
    pub allowed: bool,
    /// The reason, in one sentence.
    pub reason: String,
    /// The requirements in the order they were evaluated; all of them must be met. Those after the first that
    /// is not met were not evaluated.
    pub requirements: Vec<EvaluatedRequirement>,
    /// Changes that would allow it, the smallest first; empty if it is allowed, and if nothing would help.
    pub remedies: Vec<Remedy>,
}

/// A requirement; any of its clauses is enough.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "RequirementAnswer")]
pub struct EvaluatedRequirement {
    /// The kind of requirement.
    pub need: Need,
    /// True if a clause grants it.
    pub met: bool,
    /// The clauses that were evaluated, in order; if one grants, it is the last.
    pub clauses: Vec<EvaluatedClause>,
}

/// A clause that was evaluated.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[schemars(rename = "ClauseAnswer")]
pub struct EvaluatedClause {
    /// The kind of clause.
    pub clause: ClauseKind,
    /// True if the clause grants access.
    pub granted: bool,
    /// The setting that it reads; null when there is none.
    pub setting: Option<String>,
    /// The setting's value or default, and for a switch the value as it is read; null when there is none.
    pub text: Option<String>,
    /// True if the list is set; null when there is none.
    pub set: Option<bool>,
    /// The entry that grants access; null when none does, and when something else than an entry does.
    pub entry: Option<Subject>,
    /// The right in a queue that is needed; null for other clauses.
    pub right: Option<Right>,
    /// The queue; null for other clauses.
    pub queue: Option<String>,
    /// Each of the queues' ACLs that was evaluated; empty for other clauses.
    pub trace: Vec<queues::Step>,
}

/// Kind of clause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub enum ClauseKind {
    /// The switch of all ACLs; if it is off, everybody has access.
    Switch,
    /// The list of cluster administrators.
    ClusterAdministrators,
    /// The owner of the application.
    #[default]
    Owner,
    /// A list that came with the application.
    ApplicationAcl,
    /// A right in a queue.
    Queue,
    /// A queue that is required and does not exist.
    NoQueue,
}

impl From<&Requirement> for EvaluatedRequirement {
    fn from(requirement: &Requirement) -> Self {
        let clauses = requirement.steps.iter().map(EvaluatedClause::new).collect();
        Self { need: requirement.need, met: requirement.met(), clauses }
    }
}

impl EvaluatedClause {
    fn new(step: &Step) -> Self {
        let plain = Self { granted: step.granted, ..Self::default() };
        match &step.clause {
            Clause::Switch(key) => Self {
                clause: ClauseKind::Switch,
                setting: Some((*key).to_owned()),
                text: Some((!step.granted).to_string()),
                ..plain
            },
            Clause::Owner(_) => plain,
            Clause::ClusterAdministrators(list) => plain.list(ClauseKind::ClusterAdministrators, list),
            Clause::ApplicationAcl(list) => plain.list(ClauseKind::ApplicationAcl, list),
            Clause::NoQueue(queue) => {
                Self { clause: ClauseKind::NoQueue, queue: Some(queue.clone()), ..plain }
            }
            Clause::Queue(decision) => Self {
                clause: ClauseKind::Queue,
                right: Some(decision.right),
                queue: Some(decision.path.clone()),
                trace: decision.steps.clone(),
                ..plain
            },
        }
    }

    fn list(self, clause: ClauseKind, list: &List) -> Self {
        Self {
            clause,
            setting: Some(list.key.to_owned()),
            text: Some(list.text.clone()),
            set: Some(list.set),
            entry: list.entry.clone(),
            ..self
        }
    }
}

/// Returns the answer, the question, every clause, and for a denial the changes that would help.
fn everything(
    answers: &Answers<'_>,
    decision: &Decision,
    answer: &ApplicationAnswer,
    width: Option<usize>,
) -> String {
    let verdict = if answer.allowed { "yes" } else { "no" };
    let reason = format!("{verdict}: {}\n", visible(&answer.reason));
    let remedies = answer.remedies.iter().map(|remedy| &remedy.words);
    explanation::page(&reason, &facts(answers, answer), &clauses(answers, decision), remedies, width)
}

fn facts(answers: &Answers<'_>, answer: &ApplicationAnswer) -> Table {
    let mut table = Table::new(["", ""]);
    table.row(["user", &answer.user]);
    table.row(["groups", &explanation::groups(&answer.groups)]);
    table.row(["asks to", act(answer.verb)]);
    answer.application.iter().for_each(|name| table.row(["application", name]));
    table.row(["owner", &answer.owner]);
    let queue = request::unknown(answers.tree, &answer.queue);
    table.row(["queue", queue.as_ref().unwrap_or(&answer.queue)]);
    answer.target.iter().for_each(|to| table.row(["to", to]));
    table.row(["dialect", &answer.dialect]);
    table.row(["in", &explanation::location(&answer.about)]);
    table
}

/// Builds a row for each clause, and for each queue ACL that a clause looks at.
fn clauses(answers: &Answers<'_>, decision: &Decision) -> Table {
    let mut table = Table::new(["TO", "CLAUSE", "SAYS", "RESULT", "WRITTEN IN", UNTIL]);
    for requirement in &decision.requirements {
        let mut need = needed(requirement.need);
        for cells in requirement.steps.iter().flat_map(|step| rows(answers, step)) {
            table.row(iter::once(need).chain(cells.iter().map(String::as_str)));
            need = "";
        }
    }
    table
}

/// Returns an action in words.
fn act(verb: Verb) -> &'static str {
    match verb {
        Verb::View => "view the application",
        Verb::Modify => "modify the application",
        Verb::Kill => "kill the application",
        Verb::Logs => "read the application's logs",
        Verb::Move => "move the application",
    }
}

fn needed(need: Need) -> &'static str {
    match need {
        Need::View => "view",
        Need::Logs => "read logs",
        Need::Modify => "modify",
        Need::Source => "take from its queue",
        Need::Target => "put into the other",
        Need::Impossible => "move",
    }
}

fn rows(answers: &Answers<'_>, step: &Step) -> Vec<[String; 5]> {
    let row =
        |clause: &str, says: &str, result: &str| vec![[clause, says, result, "", ""].map(str::to_owned)];
    match &step.clause {
        Clause::Switch(key) if step.granted => row(key, "false", "grants everyone"),
        Clause::Switch(key) => row(key, "true", "ACLs are asked"),
        Clause::Owner(owner) if step.granted => row("owner", owner, "grants its owner"),
        Clause::Owner(owner) => row("owner", owner, "no match"),
        Clause::ClusterAdministrators(list) | Clause::ApplicationAcl(list) => {
            row(list.key, &describe(list), &result(list))
        }
        Clause::NoQueue(queue) => row("queue", queue, "there is none"),
        Clause::Queue(decision) if decision.steps.is_empty() => {
            row(decision.right.verb(), &decision.path, &answers.reason(decision))
        }
        Clause::Queue(decision) => {
            let row = |step: &queues::Step| {
                let [says, result, written, until] = explanation::cells(answers, step);
                [format!("{} of {}", step.acl.key(), step.queue), says, result, written, until]
            };
            decision.steps.iter().map(row).collect()
        }
    }
}

/// Quotes the text, because its spaces matter.
fn describe(list: &List) -> String {
    let text = explanation::quoted(&list.text);
    if list.set { text } else { format!("{text} (default)") }
}

fn result(list: &List) -> String {
    list.entry.as_ref().map_or_else(|| "no match".to_owned(), |entry| format!("grants {entry}"))
}
