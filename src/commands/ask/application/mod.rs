//! Questions about applications, for `can-i` and `explain`: who may view, modify, kill or move one, or read
//! its logs.
//!
//! * [`answer`]: output for programs; `text`: output for people.

pub mod answer;
mod text;

use std::path::PathBuf;

use super::can_i::{self, RequestArgs, Show};
use crate::output::format;
use crate::output::{Console, Exit, Failure, diagnostic};
use crate::source::input::source;
use crate::source::request::{self, key_value};
use crate::source::session::reads_standard_input_once;
use answer::{ApplicationAnswer, EvaluatedRequirement};
use go_compat::diag::Diagnostic;
use yunikorn::application::properties;
use yunikorn::application::settings::KEYS;
use yunikorn::application::{ApplicationAcl, Dialect, Rules};
use yunikorn_access::application::{Request, Verb, decide, remedies, sentence};

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
    /// Returns whether an option about an application is given.
    pub fn is_given(&self) -> bool {
        *self != Self::default()
    }

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
            return Err(Failure::Usage(format!("{} {words}", source::shown(path))));
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
        let requirement = |requirement| EvaluatedRequirement::new(requirement);
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
            requirements: decision.requirements.iter().map(requirement).collect(),
            remedies,
        };
        let text = || match show {
            Show::Everything => text::everything(&answers, &decision, &answer, console.look_out().width),
            _ => can_i::line(allowed, &answer.reason, console.look_out()),
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
            format::visible(target)
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
