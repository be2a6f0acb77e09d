//! The submitter: the user of the command line, or else of the pod, or else the user of the cluster's
//! kubeconfig.

use crate::cli::Failure;
use crate::cli::ask::Asked;
use crate::cli::ask::identity::{IdentityArgs, unresolved};
use crate::cli::console::Console;
use yunikorn::admission::request::{Pod, USER_INFO, USERNAME};
use yunikorn::admission::user_info::{Source, Submitter};
use yunikorn::identity::{Claim, Identity, Refusal, ResolverKind, identify};
use yunikorn::version::Version;
use yunikorn_access::placement::Workload;

/// Determines the submitter as the scheduler sees it, and the message with which it rejects that one.
///
/// # Errors
/// When no user is given, or the user's groups cannot be resolved.
pub fn user(
    args: &IdentityArgs,
    workload: &Workload,
    asked: &Asked,
    console: Console,
) -> Result<(Identity, Option<String>), Failure> {
    let claimed = claimed(args, workload, asked, console)?;
    let mut claim = Claim::new(&claimed.user, &claimed.groups);
    claim.forced = !workload.node_name.is_empty();
    let resolver = args.source.resolver(ResolverKind::in_force(&asked.configuration.config), console)?;
    match identify(claim, &resolver, Version::default()) {
        Ok(identity) => Ok((identity, None)),
        Err(Refusal::Undecided(why)) => Err(unresolved(&why)),
        Err(refusal) => {
            let message = refusal.to_string();
            Ok((claimed, Some(message)))
        }
    }
}

/// Returns the claimed name, and the groups that come with it.
fn claimed(
    args: &IdentityArgs,
    workload: &Workload,
    asked: &Asked,
    console: Console,
) -> Result<Identity, Failure> {
    let pod =
        Pod { labels: workload.labels.clone(), annotations: workload.annotations.clone(), ..Pod::default() };
    let Submitter { user, groups, source } = Submitter::of(&pod, Version::default());
    if args.user.is_some() || source == Source::Nothing {
        return args.claimed(asked);
    }
    console.note(&match &source {
        Source::Label => format!("the user is {user}, by the pod's label {USERNAME}"),
        Source::AnnotationUnreadable(error) => {
            format!("the user is {user}: the pod's annotation {USER_INFO} cannot be read ({error})")
        }
        _ => format!("the user is {user}, by the pod's annotation {USER_INFO}"),
    });
    Ok(Identity { user, groups })
}
