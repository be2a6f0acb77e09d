//! Messages for people: the reason of a refusal with remedies, and warnings about allowed but risky changes.

use super::request::{Given, Request, Site};
use crate::alias::MAX_ALIASES;
use crate::decide::visible;
use go_compat::diag::quoted;
use yunikorn::admission::request::{USER_INFO, USERNAME};
use yunikorn::admission::{AccessControl, Operation, remedies};

/// Maximum number of remedies in a message.
const MAX_HELPS: usize = 3;
/// Maximum number of warnings for kubectl to print.
const MAX_WARNINGS: usize = 4;
/// Maximum number of listed groups, which leaves room for the reason.
const MAX_GROUPS: usize = 8;

/// The clause of a name that the requester may not set.
pub(super) const NOT_ALLOWED: &str = "not_allowed";
/// The clause of a name that was already set.
pub(super) const IMMUTABLE: &str = "immutable";
/// The clause of a pod that must keep its user, application and queue.
pub(super) const KEPT: &str = "kept";
/// The clause of another user's application.
pub(super) const APPLICATION: &str = "application";
/// The clause of a placeholder of a gang.
pub(super) const PLACEHOLDER: &str = "placeholder";

/// The clause of a name that an operator's account passes on.
pub(super) const OWNER: &str = "owning_resource";

/// The reason why a site is refused.
pub(super) struct Refusal {
    /// The clause that decided.
    pub(super) clause: &'static str,
    /// The reason, as the end of a sentence.
    pub(super) why: String,
}

impl Refusal {
    pub(super) fn new(clause: &'static str, why: impl Into<String>) -> Self {
        Self { clause, why: why.into() }
    }
}

/// Returns the reason of a refusal: the user, the change, the rule, and the field of the policy that would
/// allow it.
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
            ", and trustControllers with systemUsers, externalUsers and externalGroups do not allow it \
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

/// Returns the first groups, and the number of the others.
fn groups(groups: &[String]) -> String {
    let shown = groups.get(..MAX_GROUPS).unwrap_or(groups).join(", ");
    match groups.len().saturating_sub(MAX_GROUPS) {
        0 => shown,
        more => format!("{shown}, and {more} more"),
    }
}

/// Returns the changes that would allow it.
fn helps(request: &Request<'_>, access: &AccessControl, clause: &str) -> String {
    let mut remedies = remedies(request.user, request.groups, access).into_iter();
    let own = remedies.next().unwrap_or_default();
    let first = if clause == IMMUTABLE { "leave it unchanged" } else { &own };
    let policy: Vec<String> = remedies.take(MAX_HELPS).collect();
    if policy.is_empty() {
        return format!("what would help: {first}");
    }
    format!("what would help: {first}; or in the AdmissionPolicy: {}", policy.join(", or "))
}

/// Returns the warning about a new object without any template path. Its pods are not checked.
pub(super) fn nowhere(request: &Request<'_>) -> Vec<String> {
    let is_new = request.operation == Operation::Create && request.has_templates;
    let warning = format!(
        "no path of spec.userInfo.templates in the AdmissionPolicy exists in this {}, so the user of its pods is \
         not checked",
        request.kind
    );
    if is_new { vec![visible(&warning)] } else { Vec::new() }
}

/// Returns warnings about allowed but risky changes, about groups of the requester that are `dropped` because
/// they have the form of an alias, and about the first site with omitted aliases (`cut`).
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
        format!("the groups [{groups}] of user {user} have the form of queuewarden's aliases and are ignored")
    })
}

fn cut_aliases(site: &Site) -> String {
    let place = location(site);
    format!(
        "{place}: more than {MAX_ALIASES} of its names need an alias; aliases that no queue grants are omitted first"
    )
}

fn username(request: &Request<'_>, access: &AccessControl, site: &Site) -> Option<String> {
    let is_new = site.changed || request.operation == Operation::Create;
    if site.username.is_empty() || !is_new {
        return None;
    }
    let counts = if access.bypass_auth && site.given == Given::Absent {
        "determines the user only up to YuniKorn 1.9"
    } else {
        "is ignored because of the annotation"
    };
    let (at, user) = (location(site), quoted(&site.username));
    Some(format!("{at}: the label {USERNAME} ({user}) {counts}; use {USER_INFO}"))
}

fn node_name(request: &Request<'_>, access: &AccessControl, site: &Site) -> Option<String> {
    let is_new = request.operation == Operation::Create && !request.is_of_controller(access);
    let (at, node) = (location(site), quoted(&site.node_name));
    (is_new && !site.node_name.is_empty())
        .then(|| format!("{at}: spec.nodeName ({node}) bypasses the scheduler and the ACLs of its queues"))
}

fn location(site: &Site) -> &str {
    if site.location.is_empty() { "this pod" } else { &site.location }
}
