//! `queuewarden whoami`: shows the names that `YuniKorn` knows a user by, and which of them no ACL can have.

use schemars::JsonSchema;
use serde::Serialize;

use super::query::SourceArgs;
use super::query::identity::IdentityArgs;
use super::query::output::{Format, FormatArgs, Table};
use super::{Console, Exit, Failure};
use go_compat::diag::Diagnostic;
use queuewarden_api::answer::{Named, VERSION};
use yunikorn::acl::{Acl, Match};
use yunikorn::identity::{Claim, Identity, NoResolver, identify};
use yunikorn::version::Version;

/// Help text on the exit codes.
const HELP: &str = "\
Exit codes: 0 YuniKorn takes the user, 1 it does not, 2 the command line is wrong, 3 it could not be decided.";

/// Show the user and the groups that the API server knows you by, or those of --as, as YuniKorn takes them;
/// and which of these names no ACL can have, with the reason
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
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
    pub names: Vec<NameAnswer>,
}

/// A name of the user, or of a group of theirs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NameAnswer {
    /// The name.
    #[serde(flatten)]
    pub named: Named,
    /// The code of the reason why no ACL can have the name, which docs/codes.md explains: `QW1016`. Null when
    /// an ACL can.
    pub code: Option<String>,
    /// The reason.
    pub message: Option<String>,
    /// The text to write instead.
    pub help: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// When it is not known who the user is, `YuniKorn` refuses the user, or the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let source = args.source.source(console)?;
    let claimed = args.identity.claimed(&source)?;
    let taken = if claimed.groups.is_empty() {
        args.identity.resolve(&source.session(&args.source, console)?, console)
    } else {
        // With groups the version does not matter, and no configuration has to be read.
        identify(Claim::from(&claimed), &NoResolver, Version::V1_8)
            .map_err(|refusal| Failure::Refused(refusal.describe(&claimed.user)))
    };
    let (identity, refusal) = match taken {
        Ok(identity) => (identity, None),
        Err(Failure::Refused(why)) => (claimed, Some(why)),
        Err(failure) => return Err(failure),
    };
    let answer = WhoamiAnswer { version: VERSION, refusal, names: names(&identity) };
    args.output.print(console, &answer, |wide| table(&answer, wide), || paths(&answer))?;
    if args.output.format == Format::Table && answer.names.iter().any(|name| name.code.is_some()) {
        console.note("-o wide says why no ACL can have a name, and what to write instead");
    }
    if let Some(why) = answer.refusal {
        return Err(Failure::Refused(why));
    }
    console.note("`queuewarden what-can` with the same options lists the rights that they have");
    Ok(Exit::Clean)
}

fn names(Identity { user, groups }: &Identity) -> Vec<NameAnswer> {
    let user = (Match::User(user), Acl::named::<_, &str>(&[user], &[]));
    let groups = groups.iter().map(|group| (Match::Group(group), Acl::named::<&str, _>(&[], &[group])));
    let name = |(name, acl): (Match<'_>, Result<Acl, Vec<Diagnostic>>)| {
        let wrong = acl.err().and_then(|mut problems| problems.pop());
        NameAnswer {
            named: Named::from(name),
            code: wrong.as_ref().map(|wrong| wrong.code.to_string()),
            message: wrong.as_ref().map(|wrong| wrong.message.clone()),
            help: wrong.and_then(|wrong| wrong.help),
        }
    };
    std::iter::once(user).chain(groups).map(name).collect()
}

fn table(answer: &WhoamiAnswer, wide: bool) -> Table {
    let header = ["KIND", "NAME", "IN ACLS", "WHY", "INSTEAD"];
    let columns = if wide { header.len() } else { 3 };
    let mut table = Table::new(header.into_iter().take(columns));
    for NameAnswer { named, code, message, help } in &answer.names {
        let in_acls = code.as_ref().map_or_else(|| "yes".to_owned(), |code| format!("never: {code}"));
        let [name, message, help] =
            [&named.name, message, help].map(|text| text.as_deref().unwrap_or_default());
        table.row([named.kind.as_str(), name, &in_acls, message, help].into_iter().take(columns));
    }
    table
}

fn paths(answer: &WhoamiAnswer) -> String {
    answer.names.iter().map(|name| name.named.path() + "\n").collect()
}
