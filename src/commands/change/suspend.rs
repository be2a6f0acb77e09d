//! `queuewarden suspend` and `queuewarden resume`: switch a `QueueAcl`, or the writing of the ConfigMap, off
//! and on.

use crate::source::{apply, comparison, request};
use serde_json::{Value, json};

use crate::output::{Console, Exit, Failure, manifest};
use crate::source::configuration::ObjectChange;
use crate::source::session::{Source, SourceArgs};
use crate::source::validate::checked;
use queuewarden_plan::snapshot::Mode;
use queuewarden_plan::{ObjectRef, ResourceKind};

/// Help text on the objects and the exit codes.
const HELP: &str = "\
A QueueAcl is suspended with `spec.suspend: true`: it grants nothing, and nobody gains access. A YuniKornConfig is \
suspended with `spec.mode: Observe`: the operator stops writing, so grants stay in force even after their end. \
`resume` sets `suspend: false` and `mode: Enforce`.

The object goes to standard output, and the list of users who lose or gain access to standard error. With --apply, \
the command changes the object in the cluster.

Exit codes: 0 done, 1 refused, 2 the command line is invalid, 3 undecided.";

/// The kinds that can be suspended.
const KINDS: [ResourceKind; 2] = [ResourceKind::QueueAcl, ResourceKind::YuniKornConfig];

/// The object to suspend or to resume.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct SuspendArgs {
    /// The object: queueacl/NAME or yunikornconfig/default
    #[arg(value_name = "KIND/NAME", value_parser = |text: &str| request::object(text, &KINDS))]
    object: ObjectRef,
    /// Apply the change to the cluster
    #[arg(long, conflicts_with_all = ["filename", "base", "live"])]
    apply: bool,
    #[command(flatten)]
    source: SourceArgs,
}

/// Runs the command: suspends the object, or resumes it.
///
/// # Errors
/// When the object cannot be changed, or the effect cannot be decided. A suspension that is applied does not
/// wait for the latter.
pub fn run(args: &SuspendArgs, suspend: bool, console: Console) -> Result<Exit, Failure> {
    let SuspendArgs { object, source: source_args, .. } = args;
    let (field, value) = match object.kind {
        ResourceKind::QueueAcl => ("suspend", json!(suspend)),
        _ => ("mode", json!(if suspend { Mode::Observe } else { Mode::Enforce })),
    };
    let source = source_args.source(console)?;
    let old = source.object(object)?;
    let mut new = old.clone();
    if let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert(field.to_owned(), value);
    }
    let text = manifest::to_yaml(&[manifest::to_apply(&new)]);
    match args.show(&source, &text, suspend, console) {
        Err(failure) if suspend && args.apply && !matches!(failure, Failure::Usage(_)) => {
            console.note(&format!("it is not known who loses access: {failure}"));
        }
        shown => shown?,
    }
    apply::note_restorers(object, &old, console);
    match source.cluster().filter(|_| args.apply) {
        Some(cluster) => apply::replace(cluster, object, &new, console)?,
        None => console.out(&text)?,
    }
    Ok(Exit::Clean)
}

impl SuspendArgs {
    /// Shows who loses or gains access.
    fn show(&self, source: &Source, text: &str, suspend: bool, console: Console) -> Result<(), Failure> {
        let Self { object, source: args, .. } = self;
        let mut change = ObjectChange::default();
        if object.kind == ResourceKind::QueueAcl {
            let invalid = || Failure::Refused(format!("nothing applied: {object} is invalid"));
            change = checked(text, args.files.now, console)?.ok_or_else(invalid)?;
        } else if suspend {
            console.note("the operator stops writing, so grants stay in force even after their end");
            return Ok(());
        }
        let before = source.configuration(args, console)?;
        let after = source.changed(args, &change, console)?;
        after.note(Some(&before), console);
        comparison::between(&before, &after).show(console);
        Ok(())
    }
}
