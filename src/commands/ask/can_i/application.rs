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
use yunikorn_access::application::{
    ClauseKind, Need, Remedy, Request, Requirement, Step, Verb, decide, remedies, sentence,
};
use yunikorn_access::decide as queues;

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
            Failure::Usage("the application's owner is missing: add --owner USER".to_owned())
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
            return Err(Failure::Undecided(format!("{dialect} does not use any of these settings")));
        }
        Ok(ApplicationAcl { owner, rules })
    }

    /// Returns the file's settings that concern access; it may have settings of all kinds.
    fn file_settings(&self) -> Result<Vec<(String, String)>, Failure> {
        let Some(path) = &self.file else { return Ok(Vec::new()) };
        let text = source::read_one(path)?.text;
        if text.trim_start().starts_with('<') {
            let words = "is XML, but must be a Java properties file: write each setting as `KEY=VALUE` on a separate line";
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
    let files = source.source.filename.iter().chain(&source.source.files.base);
    reads_standard_input_once(files.chain(&application.file))?;
    let session = source.open(console)?;
    let identity = identity.resolve(&session, console)?;
    let answers = session.answers()?;
    let tree = answers.tree;
    let acl = application.acl(console)?;
    let question =
        Request { tree, identity: &identity, verb, target: move_to, application: &acl, queue: &queue };
    let decision = decide(question);
    let remedies = remedies(question);
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
            dialect: decision.dialect.to_string(),
            user: identity.user,
            groups: identity.groups,
            allowed,
            reason: sentence(tree, &decision),
            requirements: decision.requirements,
            remedies,
        };
        let text = || match show {
            Show::Everything => everything(&answers, &answer, console.look_out().width),
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
            "the application's queue is missing: add --queue PATH, or write the path instead of `{}`",
            visible(target)
        ))),
    }
}

/// Returns the queue to move it to; empty for other verbs.
fn move_to(verb: Verb, application: &ApplicationArgs) -> Result<&str, Failure> {
    match (verb, application.to.as_deref()) {
        (Verb::Move, Some(to)) => Ok(to),
        (Verb::Move, None) => Err(Failure::Usage("the target queue is missing: add --to PATH".to_owned())),
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
    /// The requirements in the order of evaluation. All of them must be met. Evaluation stops at the first
    /// requirement that is not met.
    pub requirements: Vec<Requirement>,
    /// Changes that would allow it, the smallest first; empty if it is allowed, and if nothing would help.
    pub remedies: Vec<Remedy>,
}

/// Returns the answer, the question, every clause, and for a denial the changes that would help.
fn everything(answers: &Answers<'_>, answer: &ApplicationAnswer, width: Option<usize>) -> String {
    let verdict = if answer.allowed { "yes" } else { "no" };
    let reason = format!("{verdict}: {}\n", visible(&answer.reason));
    let remedies = answer.remedies.iter().map(|remedy| &remedy.words);
    explanation::page(&reason, &facts(answers, answer), &clauses(answers, answer), remedies, width)
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
fn clauses(answers: &Answers<'_>, answer: &ApplicationAnswer) -> Table {
    let mut table = Table::new(["TO", "CLAUSE", "SAYS", "RESULT", "WRITTEN IN", UNTIL]);
    for requirement in &answer.requirements {
        let mut need = needed(requirement.need);
        for cells in requirement.steps.iter().flat_map(|step| rows(answers, &answer.owner, step)) {
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

fn rows(answers: &Answers<'_>, owner: &str, step: &Step) -> Vec<[String; 5]> {
    let row =
        |clause: &str, says: &str, result: &str| vec![[clause, says, result, "", ""].map(str::to_owned)];
    let (key, text) = (step.setting.unwrap_or_default(), step.text.as_deref().unwrap_or_default());
    let queue = step.queue.as_deref().unwrap_or_default();
    match (step.clause, &step.decision) {
        (ClauseKind::Switch, _) if step.granted => row(key, text, "grants everyone"),
        (ClauseKind::Switch, _) => row(key, text, "ACLs are asked"),
        (ClauseKind::Owner, _) if step.granted => row("owner", owner, "grants its owner"),
        (ClauseKind::Owner, _) => row("owner", owner, "no match"),
        (ClauseKind::ClusterAdministrators | ClauseKind::ApplicationAcl, _) => {
            // Quoted, because its spaces matter.
            let default = if step.set == Some(true) { "" } else { " (default)" };
            let result = step.entry.as_ref().map(|entry| format!("grants {entry}"));
            let says = explanation::quoted(text) + default;
            row(key, &says, result.as_deref().unwrap_or("no match"))
        }
        (_, Some(decision)) if decision.steps.is_empty() => {
            row(decision.right.verb(), queue, &answers.reason(decision))
        }
        (_, Some(decision)) => {
            let row = |step: &queues::Step| {
                let [says, result, written, until] = explanation::cells(answers, step);
                [format!("{} of {}", step.acl.key(), step.queue), says, result, written, until]
            };
            decision.steps.iter().map(row).collect()
        }
        (_, None) => row("queue", queue, "there is none"),
    }
}
