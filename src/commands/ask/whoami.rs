//! `queuewarden whoami`: shows the names that `YuniKorn` knows a user by, and which of them ACLs have by an
//! alias.

use schemars::JsonSchema;
use serde::Serialize;

use crate::output::format::{Format, FormatArgs, Table};
use crate::output::{Console, Exit, Failure};
use crate::source::identity::IdentityArgs;
use crate::source::session::SourceArgs;
use queuewarden_api::answer::VERSION;
use yunikorn::acl::Match;
use yunikorn::identity::{Claim, Identity, ResolverKind, identify};
use yunikorn::version::Version;
use yunikorn_access::alias::{Kind, alias};
use yunikorn_access::subject::Subject;

/// Help text on the exit codes.
const HELP: &str = "\
Exit codes: 0 YuniKorn accepts the user, 1 YuniKorn refuses the user, 2 the command line is invalid, 3 undecided.";

/// Show your user and groups from the API server, or from --as, as YuniKorn sees them, and which of these
/// names need an alias in ACLs
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct WhoamiArgs {
    #[command(flatten)]
    identity: IdentityArgs,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    output: FormatArgs,
}

/// The answer to `whoami`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WhoamiAnswer {
    /// The version of this format: 1.
    pub version: u32,
    /// The reason why YuniKorn takes nothing from the user; null when it does.
    pub refusal: Option<String>,
    /// The user and then the groups, as YuniKorn takes them; as they were given when it refuses the user.
    pub names: Vec<OwnName>,
}

/// A name of the user, or of a group of theirs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "NameAnswer")]
pub struct OwnName {
    /// The name.
    #[serde(flatten)]
    pub subject: Subject,
    /// The group that represents the name in ACLs; null if the name itself fits into an ACL.
    pub alias: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// When it is not known who the user is, `YuniKorn` refuses the user, or the output cannot be written.
pub fn run(args: &WhoamiArgs, console: Console) -> Result<Exit, Failure> {
    let source = args.source.source(console)?;
    let claimed = args.identity.claimed(&source)?;
    let taken = if claimed.groups.is_empty() {
        args.identity.resolve(&source.session(&args.source, console)?, console)
    } else {
        // With groups the version does not matter, and no configuration has to be read.
        identify(Claim::from(&claimed), &ResolverKind::None, Version::V1_8)
            .map_err(|refusal| Failure::Refused(refusal.describe(&claimed.user)))
    };
    let (identity, refusal) = match taken {
        Ok(identity) => (identity, None),
        Err(Failure::Refused(why)) => (claimed, Some(why)),
        Err(failure) => return Err(failure),
    };
    let answer = WhoamiAnswer { version: VERSION, refusal, names: names(&identity) };
    let paths = || answer.names.iter().map(|name| name.subject.path() + "\n").collect();
    args.output.print(console, &answer, |wide| table(&answer, wide), paths)?;
    if args.output.format == Format::Table && answer.names.iter().any(|name| name.alias.is_some()) {
        console.note("an alias needs the user-info webhook; -o wide shows it");
    }
    if let Some(why) = answer.refusal {
        return Err(Failure::Refused(why));
    }
    console.note("`queuewarden what-can` with the same options lists the rights that they have");
    Ok(Exit::Clean)
}

fn names(Identity { user, groups }: &Identity) -> Vec<OwnName> {
    let groups = groups.iter().map(|group| (Kind::Group, group, Match::Group(group)));
    let names = std::iter::once((Kind::User, user, Match::User(user))).chain(groups);
    let answers = names.map(|(kind, name, named)| {
        let alias = (!kind.is_plain(name)).then(|| alias(kind, name));
        OwnName { subject: Subject::from(named), alias }
    });
    answers.collect()
}

fn table(answer: &WhoamiAnswer, wide: bool) -> Table {
    let header = ["KIND", "NAME", "IN ACLS", "ALIAS"];
    let columns = if wide { header.len() } else { 3 };
    let mut table = Table::new(header.into_iter().take(columns));
    for OwnName { subject, alias } in &answer.names {
        let in_acls = if alias.is_some() { "by an alias" } else { "yes" };
        let [name, alias] = [subject.name(), alias.as_deref()].map(Option::unwrap_or_default);
        table.row([subject.kind().as_str(), name, in_acls, alias].into_iter().take(columns));
    }
    table
}
