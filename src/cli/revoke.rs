//! `queuewarden revoke`: takes users and groups out of the `QueueAcl`s that give them a right.

use std::collections::BTreeSet;

use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use super::grant::{RightArgs, SubjectArgs, applied, checked, covers};
use super::query::Session;
use super::query::cluster::Cluster;
use super::query::configuration::Configuration;
use super::{Console, Exit, Failure, diff, manifest};
use queuewarden_api::answer::{Answers, WrittenIn};
use queuewarden_api::v1alpha1::Grant;
use queuewarden_operator::controller::call::call;
use queuewarden_operator::controller::world::api;
use queuewarden_plan::ResourceKind;
use yunikorn::acl::{self, Acl};
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;
use yunikorn_access::check::Subject;
use yunikorn_access::who_can::who_can;

/// Help text on the output and the exit codes.
const HELP: &str = "\
The QueueAcls of the queue go to standard output without the names, and who loses what by it to standard \
error. The base, and what queues above grant, stay as they are: if they let a name in, the command says so.

Exit codes: 0 the right is taken, 1 some of them keep it, 2 the command line is wrong, 3 it could not be \
decided.";

/// Print the QueueAcls of a queue without users and groups that they give a right, and show who loses what by
/// it; or apply them
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    right: RightArgs,
}

/// Runs the command.
///
/// # Errors
/// When the effect cannot be decided, or a `QueueAcl` cannot be read or applied.
pub fn run(Args { right: args }: &Args, console: Console) -> Result<Exit, Failure> {
    let revoked = args.subjects.acl()?;
    let session = args.source.open(console)?;
    let names = args.objects(&session, &revoked)?;
    if names.is_empty() {
        console.note(&format!("no QueueAcl gives them the right to {} {}", args.verb.act(), args.queue));
        return args.left(&session.configuration, console);
    }
    let objects: Vec<Value> = names
        .iter()
        .map(|name| without(session.source.queue_acl(name)?, args.verb, &args.subjects))
        .collect::<Result<_, _>>()?;
    let text = manifest::to_yaml(&objects.iter().map(manifest::to_apply).collect::<Vec<_>>());
    let Some(change) = checked(&text, args.source.files.now, console)? else { return Ok(Exit::Findings) };
    let after = session.changed(&args.source, &change, console)?;
    diff::show(&session.configuration, &after, console);
    match session.cluster().filter(|_| args.apply) {
        Some(cluster) => objects.iter().try_for_each(|object| replace(cluster, object, console))?,
        None => console.out(&text)?,
    }
    args.left(&after, console)
}

impl RightArgs {
    /// Returns the names of the `QueueAcl`s of the queue that give one of the subjects the right.
    fn objects(&self, session: &Session, revoked: &Acl) -> Result<BTreeSet<String>, Failure> {
        let tree = session.tree()?;
        let node = QueuePath::parse(&self.queue).ok().and_then(|path| tree.node(tree.find(&path)?));
        let parts = node.into_iter().flat_map(|node| &node.grants(self.verb).parts);
        let named = parts.filter(|(_, acl)| revoked.entries().any(|entry| acl.has(entry)));
        Ok(named.filter_map(|(origin, _)| origin.object().map(str::to_owned)).collect())
    }

    /// Says which entries still give the subjects the right.
    fn left(&self, configuration: &Configuration, console: Console) -> Result<Exit, Failure> {
        let tree = configuration.tree(&self.source.partition)?;
        let answers = Answers { configuration, tree };
        let found = who_can(tree, self.verb, &self.queue);
        let mut all_gone = true;
        for subject in self.subjects.entries() {
            for grantee in found.grantees.iter().filter(|grantee| covers(grantee.subject, subject)) {
                all_gone = false;
                for grant in answers.grantee(grantee).grants {
                    console.note(&format!(
                        "{} may still {} {}: the {} of {} names {}, in {}",
                        Subject::from(subject),
                        self.verb.act(),
                        self.queue,
                        grant.acl.as_str(),
                        grant.queue,
                        Subject::from(grantee.subject),
                        WrittenIn::list(&grant.origins)
                    ));
                }
            }
        }
        Ok(Exit::yes(all_gone))
    }
}

/// Takes names out of a right of a `QueueAcl`. A right without names is given to nobody: the base's ACL stays
/// replaced if it was.
fn without(mut object: Value, right: Right, revoked: &SubjectArgs) -> Result<Value, Failure> {
    let path = format!("/spec/{}", right.field());
    if let Some(value) = object.pointer_mut(&path) {
        let mut grant: Grant = serde_json::from_value(value.take())
            .map_err(|error| Failure::Undecided(format!("{path}: {error}")))?;
        if let Some(text) = &grant.acl {
            let acl = acl::parse(text).map_err(|error| Failure::Undecided(format!("{path}: {error}")))?;
            grant = Grant::from(&acl.lost(&revoked.acl()?));
        } else {
            grant.users.retain(|user| !revoked.has_user(user));
            grant.groups.retain(|group| !revoked.groups.contains(group));
            grant.service_accounts.retain(|account| {
                let subject = account.subject();
                !(revoked.has_user(&subject) || revoked.groups.contains(&subject))
            });
            let is_empty = grant == Grant::default();
            grant.nobody = is_empty.then_some(true).or(grant.nobody);
        }
        *value = json!(grant);
    }
    Ok(object)
}

/// Replaces an object, unless it has changed since it was read.
fn replace(cluster: &Cluster, object: &Value, console: Console) -> Result<(), Failure> {
    let object: DynamicObject =
        serde_json::from_value(object.clone()).map_err(|error| Failure::Output(error.to_string()))?;
    let name = object.metadata.name.clone().unwrap_or_default();
    let replaced = cluster.run(async |client| {
        let api = api(ResourceKind::QueueAcl, client.clone());
        call(api.replace(&name, &PostParams::default(), &object)).await
    });
    applied(&name, replaced, console)
}
