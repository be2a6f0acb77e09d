//! `queuewarden history`: lists the revisions of the output, shows one, or compares two.

use crate::source::history::{History, StoredRevision, configuration, text};

use schemars::JsonSchema;
use serde::Serialize;

use crate::output::format::{Format, FormatArgs, Table};
use crate::output::{Console, Exit, Failure};
use crate::source::cluster::ServerArgs;
use crate::source::comparison::OnlyArgs;
use crate::source::comparison::answer::Compared;
use crate::source::configuration::Configuration;
use crate::source::times::whole_seconds;
use queuewarden_api::answer::VERSION;
use yunikorn::version::Version;

/// Help text on the revisions and the exit codes.
const HELP: &str = "\
Without a revision, the command lists all revisions, the newest last. With one revision, it prints its \
configuration. With two, it shows who gained and lost access between them, like queuewarden diff. With --as or \
--partition, it only lists revisions that changed something for this user or in this partition, and revisions \
that cannot be compared, such as the oldest one. Pass the number of a revision, which is also in the \
configuration and in the status of the YuniKornConfig, or the name of its ControllerRevision. If only keys of an \
AdmissionPolicy changed, two revisions have the same number, which then selects the newer one.

Exit codes: 0 revisions are listed, the configuration is printed, or both grant the same; 1 there is no \
revision, or they differ; 2 the command line is invalid; 3 undecided.";

/// List the configurations that the operator wrote, with who gained and lost access; or print one, or compare
/// two
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP, mut_arg("user", |arg| arg.help("Show only what changes for this user")))]
pub struct HistoryArgs {
    /// The revision to print, or the two to compare
    #[arg(value_name = "REVISION", num_args = 0..=2)]
    revisions: Vec<String>,
    #[command(flatten)]
    server: ServerArgs,
    /// YuniKorn's namespace, instead of the one in the YuniKornConfig, or "yunikorn"
    #[arg(long, value_name = "NAME")]
    cluster_namespace: Option<String>,
    #[command(flatten)]
    only: OnlyArgs,
    #[command(flatten)]
    output: FormatArgs,
}

/// The answer to `history` without a revision, or with one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HistoryAnswer {
    /// The version of this format: 1.
    pub version: u32,
    /// The revisions, the newest last.
    pub revisions: Vec<StoredRevision>,
}

/// Runs the command.
///
/// # Errors
/// When the history cannot be read, a revision is not there or unreadable, or the output cannot be written.
pub fn run(args: &HistoryArgs, console: Console) -> Result<Exit, Failure> {
    let wants = |revision: &StoredRevision| {
        args.only.is_given()
            || args.revisions.iter().any(|named| is_named(&revision.name, revision.revision, named))
    };
    let History { namespace, version, revisions: all, .. } =
        History::read(&args.server, args.cluster_namespace.as_deref(), wants, console)?;
    match args.revisions.as_slice() {
        [] if args.only.is_given() => {
            args.list(differing(all, &args.only, version, console)?, &namespace, console)
        }
        [] => args.list(all, &namespace, console),
        [_] if args.only.is_given() => Err(Failure::Usage(
            "--as and --partition are for the list and for two revisions, because a single revision is printed completely".to_owned(),
        )),
        [one] => args.show(find(&all, one)?, console),
        [old, new, ..] => {
            let read = |named| configuration(find(&all, named)?, version, console);
            let answer = args.only.compare(&read(old)?, &read(new)?, None, console)?;
            answer.print(args.output, console)?;
            Ok(Exit::yes(answer.is_empty()))
        }
    }
}

impl HistoryArgs {
    fn list(
        &self,
        mut revisions: Vec<StoredRevision>,
        namespace: &str,
        console: Console,
    ) -> Result<Exit, Failure> {
        revisions.iter_mut().for_each(StoredRevision::shorten);
        let answer = HistoryAnswer { version: VERSION, revisions };
        self.print(&answer, console)?;
        if answer.revisions.is_empty() && self.only.is_given() {
            console.note("no revision changes the access of this user or this partition");
        } else if answer.revisions.is_empty() {
            console.note(&format!(
                "there is no revision in namespace {namespace}: queuewarden records one for each configuration that it writes"
            ));
        }
        Ok(Exit::yes(!answer.revisions.is_empty()))
    }

    fn show(&self, revision: &StoredRevision, console: Console) -> Result<Exit, Failure> {
        let text = text(revision)?;
        if matches!(self.output.format, Format::Table | Format::Wide) {
            console.file(text)?;
        } else {
            self.print(&HistoryAnswer { version: VERSION, revisions: vec![revision.clone()] }, console)?;
        }
        Ok(Exit::Clean)
    }

    fn print(&self, answer: &HistoryAnswer, console: Console) -> Result<(), Failure> {
        let names = || answer.revisions.iter().map(|revision| revision.name.clone() + "\n").collect();
        self.output.print(console, answer, |wide| table(answer, wide), names)
    }
}

fn table(answer: &HistoryAnswer, wide: bool) -> Table {
    let header = ["REVISION", "WRITTEN", "CAUSE", "ACCESS", "NAME"];
    let columns = if wide { header.len() } else { 4 };
    let mut table = Table::new(header.into_iter().take(columns));
    for StoredRevision { revision, name, at, causes, access, problem, .. } in &answer.revisions {
        let unknown = || "unknown".to_owned();
        let causes = if causes.is_empty() { unknown() } else { causes.join(", ") };
        let access = match problem {
            Some(problem) => format!("unreadable: {problem}"),
            None => access.clone().unwrap_or_else(unknown),
        };
        let at = at.map_or_else(unknown, |at| whole_seconds(at).to_string());
        let cells = [revision.to_string(), at, causes, access, name.clone()];
        table.row(cells.into_iter().take(columns));
    }
    table
}

/// Returns the revisions that differ from the previous one or cannot be compared with it.
fn differing(
    all: Vec<StoredRevision>,
    only: &OnlyArgs,
    version: Version,
    console: Console,
) -> Result<Vec<StoredRevision>, Failure> {
    let read = |revision: &StoredRevision| configuration(revision, version, Console::silent()).ok();
    let newest = all.iter().rev().find_map(read);
    let who = newest.map(|newest| only.who(&newest, console)).transpose()?.flatten();
    let mut last: Option<Configuration> = None;
    let mut differs = |revision: &StoredRevision| {
        let Some(now) = read(revision) else { return true };
        let differs = last.as_ref().is_some_and(|old| {
            let compared = Compared { old, new: &now, change: None, who: who.as_ref() };
            // A partition that is missing in both is the same in both.
            only.answer(compared).is_ok_and(|answer| !answer.is_empty())
        });
        last = Some(now);
        differs
    };
    Ok(all.into_iter().filter(|revision| differs(revision)).collect())
}

/// Returns a revision by its number or its name. If a number occurs several times, returns the newest one.
fn find<'r>(all: &'r [StoredRevision], named: &str) -> Result<&'r StoredRevision, Failure> {
    let found = all.iter().rfind(|revision| is_named(&revision.name, revision.revision, named));
    found.ok_or_else(|| {
        let known = match (all.first(), all.last()) {
            (Some(first), Some(last)) => {
                format!("the history begins with {} and ends with {}", first.revision, last.revision)
            }
            _ => "the history is empty".to_owned(),
        };
        Failure::Usage(format!("there is no revision `{named}`: {known}"))
    })
}

fn is_named(name: &str, number: i64, named: &str) -> bool {
    name == named || named.parse() == Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::history::answer;
    use crate::source::identity::IdentityArgs;
    use jiff::Timestamp;
    use k8s_openapi::api::apps::v1::ControllerRevision;
    use queuewarden_api::history::pack;
    use queuewarden_plan::history::Revision;
    use std::collections::BTreeMap;

    fn object(number: u64, access: Option<&str>) -> ControllerRevision {
        let revision = Revision {
            number,
            at: Timestamp::from_millisecond(500).unwrap(),
            causes: access.map(|_| "QueueAcl/prod".to_owned()).into_iter().collect(),
            access: access.map(str::to_owned),
            admission: BTreeMap::new(),
            text: format!("# Generated by queuewarden x\n# revision: {number}\n"),
        };
        pack(&revision).unwrap().0
    }

    #[test]
    fn revision_is_listed_with_its_cause_or_with_what_is_wrong() {
        let mut broken = object(3, None);
        broken.data = None;
        let objects = [object(1, None), object(2, Some("takes submit on root from user \u{1b}[2J")), broken];
        let answer = HistoryAnswer { version: VERSION, revisions: objects.iter().map(answer).collect() };
        let expected = "\
REVISION   WRITTEN                CAUSE           ACCESS
1          1970-01-01T00:00:00Z   unknown         unknown
2          1970-01-01T00:00:00Z   QueueAcl/prod   takes submit on root from user \\u{1b}[2J
3          unknown                unknown         unreadable: it has no data
";
        assert_eq!(table(&answer, false).text(true, None), expected);
        assert!(table(&answer, true).text(true, None).contains("   queuewarden-2-"));
    }

    #[test]
    fn list_for_one_user_has_what_changes_for_them_and_what_cannot_be_compared() {
        let keys = |bypass: &str| {
            BTreeMap::from([("admissionController.accessControl.bypassAuth".to_owned(), bypass.to_owned())])
        };
        let revision = |number: u64, submit: &str, admission| {
            let text = format!(
                "# Generated by queuewarden x\n# revision: {number}\npartitions: [{{name: default, queues: [{{name: root, submitacl: '{submit}'}}]}}]\n"
            );
            let (at, causes, access) = (Timestamp::UNIX_EPOCH, Vec::new(), None);
            answer(&pack(&Revision { number, at, causes, access, text, admission }).unwrap().0)
        };
        let broken =
            StoredRevision { problem: Some("x".into()), text: None, ..revision(4, "", keys("false")) };
        let all = vec![
            revision(1, "ann", keys("false")),
            revision(2, "ann,bob", keys("false")),
            revision(3, "bob", keys("false")),
            broken,
            revision(5, "bob,cy", keys("false")),
            revision(6, "bob,cy", keys("true")),
        ];
        let listed = |partition: Option<&str>, user: Option<&str>| {
            let identity = IdentityArgs {
                user: user.map(str::to_owned),
                groups: user.map(|_| "none".to_owned()).into_iter().collect(),
                ..IdentityArgs::default()
            };
            let only = OnlyArgs { partition: partition.map(str::to_owned), identity };
            let found = differing(all.clone(), &only, Version::V1_8, Console::silent()).unwrap();
            found.into_iter().map(|revision| revision.revision).collect::<Vec<_>>()
        };
        assert_eq!(listed(None, Some("bob")), [2, 4, 6]);
        assert_eq!(listed(None, Some("ann")), [3, 4, 6]);
        assert_eq!(listed(Some("default"), None), [2, 3, 4, 5, 6]);
        assert_eq!(listed(Some("gpu"), None), [4]);
    }

    #[test]
    fn revision_is_found_by_its_number_and_by_its_name() {
        let name = |object: &ControllerRevision| object.metadata.name.clone().unwrap();
        let (first, second) = (object(1, None), object(2, None));
        let again = object(2, Some("nobody gains or loses access"));
        let all =
            [answer(&first), answer(&second), StoredRevision { name: "again".into(), ..answer(&again) }];
        assert_eq!(find(&all, "1").unwrap().name, name(&first));
        assert_eq!(find(&all, "2").unwrap().name, "again", "the newest of a number");
        assert_eq!(find(&all, &name(&second)).unwrap().access, None);
        let unknown = find(&all, "9").unwrap_err().to_string();
        assert_eq!(unknown, "there is no revision `9`: the history begins with 1 and ends with 2");
        assert!(find(&[], "x").unwrap_err().to_string().ends_with("the history is empty"));
    }
}
