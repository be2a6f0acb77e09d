//! Parses the parts of an `AdmissionReview` that declare the user of its pods, and writes the response of the
//! user-info webhook.
//!
//! * `locations`: the places in an object where the user is declared.
//! * `owners`: the resources that own an object, and the names in them.

mod locations;
mod owners;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use serde_json::value::RawValue;

use super::admission::template_path;
use super::envelope::{AdmissionRequest, AdmissionResponse, JsonPatch, Resource, audit_annotations};
use super::malformed;
use go_compat::diag::{Diagnostic, quoted};
use locations::{LocatedPart, TemplateLocation, locations, sites};
use yunikorn::admission::request::Kind;
use yunikorn::admission::{AccessControl, Operation};
use yunikorn_access::running::joins::{Running, Wanted};
use yunikorn_access::user_info::{self, Decision, Mode, Moment, Owners, Path, Site, Template};

pub use owners::{OwnerReference, owner_references};

/// The parts of an object that are needed here.
#[derive(Debug, Clone, Default)]
pub struct UserInfoContent {
    /// True if templates are known for this kind, even if this object contains no pods.
    pub has_templates: bool,
    /// What the object declares at each location.
    pub sites: Vec<Site>,
    /// The locations, in the same order.
    locations: Vec<TemplateLocation>,
}

impl UserInfoContent {
    /// Returns the applications and pods that the request names. The owners of a placeholder are included
    /// only if the requester may set names.
    pub fn wanted<'a>(&'a self, request: &'a AdmissionRequest, access: &AccessControl) -> Wanted<'a> {
        let ids = self.sites.iter().map(|site| &*site.application).filter(|id| !id.is_empty());
        let mut wanted =
            Wanted { applications: ids.collect(), creator: request.creator(), ..Wanted::default() };
        if access.may_set_names(&request.by.user, &request.by.groups) {
            let owners = self.sites.iter().flat_map(|site| site.placeholder.iter().flatten());
            wanted.owners = owners.map(|owner| owner.within(&request.namespace)).collect();
        }
        wanted
    }

    /// Returns whether the request adds or changes a name at one of these locations.
    pub fn is_named_anew(&self) -> bool {
        self.sites.iter().any(Site::is_named_anew)
    }

    /// Returns the content in the form that the evaluator reads, for a requester that is not an operator's
    /// account.
    pub fn at<'a>(
        &'a self,
        request: &'a AdmissionRequest,
        running: &'a Running,
        granted: &'a BTreeSet<String>,
        moment: Moment,
    ) -> user_info::Request<'a> {
        user_info::Request {
            operation: Operation::parse(&request.operation),
            kind: &request.kind,
            is_replica_set: (&*request.group, &*request.kind) == ("apps", "ReplicaSet"),
            user: &request.by.user,
            groups: &request.by.groups,
            has_templates: self.has_templates,
            sites: &self.sites,
            namespace: &request.namespace,
            owners: &Owners::Irrelevant,
            running,
            granted,
            moment,
        }
    }
}

/// Parses the names that an object declares.
///
/// # Errors
/// [`super::codes::MALFORMED_REVIEW`], also when an object has more than [`user_info::MAX_SITES`] locations,
/// or when templates are known for its kind but not for its version.
pub fn read(request: &AdmissionRequest, templates: &[Template]) -> Result<UserInfoContent, Diagnostic> {
    let paths = paths(request, templates)?;
    let now = found(request, request.object.as_deref(), &paths)?;
    let before = found(request, request.old.as_deref(), &paths)?;
    let sites = sites(&now, &before);
    let locations = now.into_iter().map(|found| found.location).collect();
    Ok(UserInfoContent { has_templates: !paths.is_empty(), sites, locations })
}

fn found<'o>(
    request: &AdmissionRequest,
    object: Option<&'o RawValue>,
    paths: &[Option<Path>],
) -> Result<Vec<LocatedPart<'o>>, Diagnostic> {
    let found = object.map_or(Ok(Some(Vec::new())), |object| locations(&request.namespace, object, paths))?;
    found.ok_or_else(|| {
        let message = format!("the {} has more than {} pod templates", request.kind, user_info::MAX_SITES);
        malformed(message)
    })
}

/// Returns the paths of the templates in objects of the review's kind; `None` is the object itself.
fn paths(request: &AdmissionRequest, templates: &[Template]) -> Result<Vec<Option<Path>>, Diagnostic> {
    let own = match (&*request.group, &*request.kind) {
        ("", "ReplicationController") => Some("spec.template"),
        (group, kind) => template_path(&Kind::parse(group, kind)),
    };
    if let Some(path) = own {
        return Ok(vec![Path::read(path).ok()]);
    }
    let Resource { group, version, name } = &request.resource;
    paths_of(group, version, name, templates)
}

/// Returns the paths of the templates in objects of third-party kinds.
fn paths_of(
    group: &str,
    version: &str,
    name: &str,
    templates: &[Template],
) -> Result<Vec<Option<Path>>, Diagnostic> {
    let mut of_resource = templates.iter().filter(|template| template.is_of(group, name)).peekable();
    let is_known = of_resource.peek().is_some();
    let paths = of_resource
        .filter(|template| template.has(version))
        .map(|template| Path::read(&template.path).map(Some))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|why| malformed(&why))?;
    if is_known && paths.is_empty() {
        let message =
            format!("no template describes the pods of version {} of {name}.{group}", quoted(version));
        let help = "add a template for it to spec.userInfo.templates of the AdmissionPolicy, or remove the \
                    version from a template that fits all versions";
        return Err(malformed(message).help(help));
    }
    Ok(paths)
}

/// Returns the response; its `auditAnnotations` hold the decision.
pub fn response(uid: &str, content: &UserInfoContent, decision: &Decision, mode: Mode) -> Value {
    let enforced = mode == Mode::Enforce;
    let patch = patch(content, decision);
    let response = AdmissionResponse {
        patch: (enforced && !patch.is_empty()).then(|| JsonPatch::new(Value::from(patch).to_string())),
        warnings: if enforced { decision.warnings.clone() } else { Vec::new() },
        audit_annotations: notes(decision),
        ..AdmissionResponse::new(uid, decision.refusal(mode))
    };
    response.review()
}

/// Returns the decision, for the audit log of the API server.
pub fn notes(decision: &Decision) -> BTreeMap<&'static str, String> {
    audit_annotations(decision.outcome.as_str(), decision.clause, &decision.reason)
}

/// Returns the JSON Patch operations that add the annotations and change nothing else.
pub fn patch(content: &UserInfoContent, decision: &Decision) -> Vec<Value> {
    let additions = decision.additions.iter();
    additions
        .filter_map(|addition| Some(content.locations.get(addition.site)?.addition(&addition.text)))
        .collect()
}
