//! `queuewarden suspend` and `queuewarden resume`: switch a `QueueAcl`, or the writing of the ConfigMap, off
//! and on.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::grant::{MANAGER, checked};
use super::query::cluster::Cluster;
use super::query::rendered::ObjectChange;
use super::query::{SourceArgs, request};
use super::{Console, Exit, Failure, diff, manifest};
use queuewarden_operator::controller::call::call;
use queuewarden_operator::controller::world::api;
use queuewarden_plan::snapshot::Mode;
use queuewarden_plan::{ObjectRef, ResourceKind};

/// Help text on the objects and the exit codes.
const HELP: &str = "\
A QueueAcl is suspended by `spec.suspend: true`: it grants nothing, and lets nobody in. Who loses or gains \
access goes to standard error first. A YuniKornConfig is suspended by `spec.mode: Observe`: nothing is written \
any more, so what is in force stays, also after its end. `resume` sets `suspend: false` and `mode: Enforce`.

With -f the QueueAcl goes to standard output, and the cluster is left alone.

Exit codes: 0 done, 1 it is refused, 2 the command line is wrong, 3 it could not be decided.";

/// The object to suspend or to resume.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The object: queueacl/NAME or yunikornconfig/default
    #[arg(value_name = "KIND/NAME", value_parser = |text: &str| request::object(text, &[ResourceKind::QueueAcl, ResourceKind::YuniKornConfig]))]
    object: ObjectRef,
    /// Let the API server check the change, and store nothing
    #[arg(long, conflicts_with = "filename")]
    dry_run: bool,
    #[command(flatten)]
    source: SourceArgs,
}

/// Runs the command: suspends the object, or resumes it.
///
/// # Errors
/// When the object cannot be changed, or the effect cannot be decided. A suspension in a cluster does not
/// wait for the latter.
pub fn run(args: &Args, suspend: bool, console: Console) -> Result<Exit, Failure> {
    let Args { object, dry_run, source } = args;
    match args.show(suspend, console) {
        shown if !source.filename.is_empty() => return shown.map(|()| Exit::Clean),
        Err(failure) if suspend && !matches!(failure, Failure::Usage(_)) => {
            console.note(&format!("who loses access is not known: {failure}"));
        }
        shown => shown?,
    }
    let spec = match object.kind {
        ResourceKind::QueueAcl => json!({"suspend": suspend}),
        _ => json!({"mode": if suspend { Mode::Observe } else { Mode::Enforce }}),
    };
    let manager = Some(MANAGER.to_owned());
    let params = PatchParams { dry_run: *dry_run, field_manager: manager, ..PatchParams::default() };
    let patched = Cluster::connect(&source.cluster.server)?.run(async |client| {
        let patch = Patch::Merge(json!({"spec": spec}));
        call(api(object.kind, client.clone()).patch(&object.name, &params, &patch)).await
    });
    let [verb, done] = if suspend { ["suspend", "suspended"] } else { ["resume", "resumed"] };
    patched.map_err(|error| Failure::Output(format!("cannot {verb} {object}: {error}")))?;
    let dry = if *dry_run { " (server dry run)" } else { "" };
    console.note(&format!("{object} is {done}{dry}"));
    Ok(Exit::Clean)
}

impl Args {
    /// Shows who loses or gains access; prints the `QueueAcl` if it is in a file.
    fn show(&self, suspend: bool, console: Console) -> Result<(), Failure> {
        let Self { object: ObjectRef { kind, name }, source, .. } = self;
        if *kind == ResourceKind::YuniKornConfig && !source.filename.is_empty() {
            return Err(Failure::Usage("-f goes with a QueueAcl: write `mode` into the file".to_owned()));
        }
        if *kind == ResourceKind::YuniKornConfig && suspend {
            console.note("nothing is written any more: what is in force stays, also after its end");
            return Ok(());
        }
        let session = source.open(console)?;
        let mut change = ObjectChange::default();
        let mut text = String::new();
        if *kind == ResourceKind::QueueAcl {
            let mut object = session.source.queue_acl(name)?;
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                spec.insert("suspend".to_owned(), suspend.into());
            }
            text = manifest::to_yaml(&[manifest::to_apply(&object)]);
            let invalid = || Failure::Refused(format!("QueueAcl/{name} is not valid"));
            change = checked(&text, source.files.now, console)?.ok_or_else(invalid)?;
        }
        let after = session.changed(source, &change, console)?;
        diff::show(&session.configuration, &after, console);
        if session.cluster().is_none() {
            console.out(&text)?;
        }
        Ok(())
    }
}
