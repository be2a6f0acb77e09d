//! The messages for people: the reason of a refusal with what would help, and warnings about what is allowed
//! but risky.

use super::request::{Given, Request, Site};
use crate::alias::MAX_ALIASES;
use crate::decide::visible;
use go_compat::diag::quoted;
use yunikorn::admission::request::{USER_INFO, USERNAME};
use yunikorn::admission::{AccessControl, Operation, remedies};

/// The most remedies in a message.
const MAX_HELPS: usize = 3;
/// The most warnings that kubectl should print.
const MAX_WARNINGS: usize = 4;
/// The most groups that leave room for the reason.
const MAX_GROUPS: usize = 8;

/// The clause of a name that the requester may not set.
pub(super) const NOT_ALLOWED: &str = "not_allowed";
/// The clause of a name that was set before.
pub(super) const IMMUTABLE: &str = "immutable";
/// The clause of a pod that keeps its user, application and queue.
pub(super) const KEPT: &str = "kept";
/// The clause of an application of others.
pub(super) const APPLICATION: &str = "application";
/// The clause of a placeholder of a gang.
pub(super) const PLACEHOLDER: &str = "placeholder";

/// The clause of a name that an operator's account passes on.
pub(super) const OWNER: &str = "owning_resource";

/// The reason why one site is refused.
pub(super) struct Refusal {
    /// The clause that decided.
    pub(super) clause: &'static str,
    /// The reason as the end of a sentence.
    pub(super) why: String,
}

impl Refusal {
    pub(super) fn new(clause: &'static str, why: impl Into<String>) -> Self {
        Self { clause, why: why.into() }
    }
}

/// The reason of a refusal: the user, the change, the rule, and the field of the policy that would allow it.
pub(super) fn reason(
    request: &Request<'_>,
    access: &AccessControl,
    site: &Site,
    refusal: &Refusal,
) -> String {
    let Refusal { clause, why } = refusal;
    let at = if site.location.is_empty() { String::new() } else { format!(" ({})", site.location) };
    // These two depend on the lists, so an entry there would help.
    let lists = if matches!(*clause, NOT_ALLOWED | IMMUTABLE) {
        let helps = helps(request, access, clause);
        format!(
            ", and none of trustControllers with systemUsers, externalUsers and externalGroups lets them \
             ({helps})"
        )
    } else {
        String::new()
    };
    let (user, groups, kind) = (quoted(request.user), groups(request.groups), request.kind);
    let is_of_name = !matches!(*clause, APPLICATION | KEPT);
    let with = if is_of_name { format!(" with this {USER_INFO}") } else { String::new() };
    format!("user {user} in groups [{groups}] may not create or change this {kind}{at}{with}: {why}{lists}")
}

/// The first groups, and the number of further ones.
fn groups(groups: &[String]) -> String {
    let shown = groups.get(..MAX_GROUPS).unwrap_or(groups).join(", ");
    match groups.len().saturating_sub(MAX_GROUPS) {
        0 => shown,
        more => format!("{shown}, and {more} more"),
    }
}

/// The changes that would allow it.
fn helps(request: &Request<'_>, access: &AccessControl, clause: &str) -> String {
    let mut remedies = remedies(request.user, request.groups, access).into_iter();
    let own = remedies.next().unwrap_or_default();
    let first = if clause == IMMUTABLE { "leave it as it was" } else { &own };
    let policy: Vec<String> = remedies.take(MAX_HELPS).collect();
    if policy.is_empty() {
        return format!("what would help: {first}");
    }
    format!("what would help: {first}; or in the AdmissionPolicy: {}", policy.join(", or "))
}

/// The warning for a new object in which no template path leads anywhere, because its pods are then not
/// guarded.
pub(super) fn nowhere(request: &Request<'_>) -> Vec<String> {
    let is_new = request.operation == Operation::Create && request.has_templates;
    let warning = format!(
        "no path of spec.userInfo.templates in the AdmissionPolicy leads anywhere in this {}: nobody looks \
         in whose name its pods run",
        request.kind
    );
    if is_new { vec![visible(&warning)] } else { Vec::new() }
}

/// Warnings about what is allowed but risky, about groups of the requester that are `dropped` because they
/// have the form of an alias, and about the first site whose aliases are `cut`.
pub(super) fn warnings(
    request: &Request<'_>,
    access: &AccessControl,
    dropped: &[String],
    cut: Option<&Site>,
) -> Vec<String> {
    let risks = request
        .sites
        .iter()
        .flat_map(|site| [username(request, access, site), node_name(request, access, site)])
        .flatten();
    let about_aliases = [aliases_as_groups(request, dropped), cut.map(cut_aliases)].into_iter().flatten();
    let mut warnings: Vec<String> = about_aliases.chain(risks).map(|warning| visible(&warning)).collect();
    warnings.truncate(MAX_WARNINGS);
    warnings
}

fn aliases_as_groups(request: &Request<'_>, dropped: &[String]) -> Option<String> {
    let (user, groups) = (quoted(request.user), groups(dropped));
    (!dropped.is_empty()).then(|| {
        format!("the groups [{groups}] of user {user} have the form of queuewarden's aliases, and count for nothing")
    })
}

fn cut_aliases(site: &Site) -> String {
    let place = location(site);
    format!(
        "{place}: more than {MAX_ALIASES} of its names need an alias; those that no queue grants are left out first"
    )
}

fn username(request: &Request<'_>, access: &AccessControl, site: &Site) -> Option<String> {
    let is_new = site.changed || request.operation == Operation::Create;
    if site.username.is_empty() || !is_new {
        return None;
    }
    let counts = if access.bypass_auth && site.given == Given::Absent {
        "says in whose name it runs only until YuniKorn 1.9"
    } else {
        "does not count beside the annotation"
    };
    let (at, user) = (location(site), quoted(&site.username));
    Some(format!("{at}: the label {USERNAME} ({user}) {counts}; use {USER_INFO}"))
}

fn node_name(request: &Request<'_>, access: &AccessControl, site: &Site) -> Option<String> {
    let is_new = request.operation == Operation::Create && !request.is_of_controller(access);
    let (at, node) = (location(site), quoted(&site.node_name));
    (is_new && !site.node_name.is_empty()).then(|| {
        format!("{at}: spec.nodeName ({node}) puts it past the scheduler and the ACLs of its queues")
    })
}

fn location(site: &Site) -> &str {
    if site.location.is_empty() { "this pod" } else { &site.location }
}
