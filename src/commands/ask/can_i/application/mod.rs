//! Questions about applications, for `can-i` and `explain`: who may view, modify, kill or move one, or read
//! its logs.
//!
//! Output for programs is under the schema `docs/schema/application.json`; `text` is output for people.

mod text;

use schemars::JsonSchema;
use serde::Serialize;

use super::question::{ApplicationArgs, RequestArgs, Show, line};
use crate::output::{Console, Exit, Failure, format};
use crate::source::request;
use crate::source::session::reads_standard_input_once;
use queuewarden_api::answer::About;
use yunikorn::application::Dialect;
use yunikorn_access::application::{Remedy, Request, Requirement, Verb, decide, remedies, sentence};

/// Note for the dialect `yunikorn`, whose rules are queuewarden's own.
const UNENFORCED: &str = "YuniKorn itself does not ask who views, kills or moves an application; by \
    queuewarden's rule its owner may, and who administers its queue";

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
    pub requirements: Vec<Requirement>,
    /// Changes that would allow it, the smallest first; empty if it is allowed, and if nothing would help.
    pub remedies: Vec<Remedy>,
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
            dialect: decision.dialect.name().to_owned(),
            user: identity.user,
            groups: identity.groups,
            allowed,
            reason: sentence(tree, &decision),
            requirements: decision.requirements,
            remedies,
        };
        let text = || match show {
            Show::Everything => text::everything(&answers, &answer, console.look_out().width),
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
