//! An `AdmissionReview` as far as it says in whose name pods run, and the response of the identity guard.
//!
//! * `places`: where an object says it.

mod places;
#[cfg(test)]
mod tests;

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::{change, codes, malformed};
use crate::access::guard::{self, Judgement, Mode, Moment, Path, Site, Template};
use crate::model::admission::Operation;
use crate::text::diag::Diagnostic;
use places::{Place, places, sites};

/// Kubernetes' own kinds: API group, kind, and where the template is; a pod is its own.
const OWN: [(&str, &str, &str); 8] = [
    ("", "Pod", ""),
    ("", "ReplicationController", "spec.template"),
    ("apps", "Deployment", "spec.template"),
    ("apps", "DaemonSet", "spec.template"),
    ("apps", "StatefulSet", "spec.template"),
    ("apps", "ReplicaSet", "spec.template"),
    ("batch", "Job", "spec.template"),
    ("batch", "CronJob", "spec.jobTemplate.spec.template"),
];

/// What is created or changed.
#[derive(Debug, Clone)]
pub struct Asked {
    /// `request.uid`
    pub uid: String,
    /// `request.operation`
    pub operation: Operation,
    /// `request.kind.kind`
    pub kind: String,
    /// `request.namespace`
    pub namespace: String,
    /// `request.name`; empty where the API server makes the name up later.
    pub name: String,
    /// Who asks.
    pub user: String,
    /// Their groups.
    pub groups: Vec<String>,
    /// Whether templates are known of this kind, whatever this object holds.
    pub has_templates: bool,
    /// What the places say.
    pub sites: Vec<Site>,
    /// Where they are, in the same order.
    places: Vec<Place>,
    is_replica_set: bool,
}

impl Asked {
    /// The same for the guard.
    pub fn at(&self, moment: Moment) -> guard::Asked<'_> {
        guard::Asked {
            operation: self.operation,
            kind: &self.kind,
            is_replica_set: self.is_replica_set,
            user: &self.user,
            groups: &self.groups,
            has_templates: self.has_templates,
            sites: &self.sites,
            moment,
        }
    }
}

/// Reads a review.
///
/// # Errors
/// [`codes::MALFORMED_REVIEW`], also where an object has more than [`guard::MAX_SITES`] places.
pub fn read(review: &Value, templates: &[Template]) -> Result<Asked, Diagnostic> {
    let asked = change::read(review)?;
    let paths = paths(review, &asked, templates);
    let found = |object: &Option<Value>| places(object.as_ref().unwrap_or(&Value::Null), &paths);
    let (new, old) = (found(&asked.object), found(&asked.old));
    let (Some(places), Some(old)) = (new, old) else {
        let message = format!("the {} has more than {} pod templates", asked.kind, guard::MAX_SITES);
        return Err(malformed(codes::MALFORMED_REVIEW, message));
    };
    let [object, old_object] =
        [&asked.object, &asked.old].map(|object| object.as_ref().unwrap_or(&Value::Null));
    Ok(Asked {
        operation: Operation::of(&asked.operation),
        has_templates: !paths.is_empty(),
        sites: sites((object, &places), (old_object, &old)),
        places,
        is_replica_set: (asked.group.as_str(), asked.kind.as_str()) == ("apps", "ReplicaSet"),
        uid: asked.uid,
        kind: asked.kind,
        namespace: asked.namespace,
        name: asked.name,
        user: asked.by.user,
        groups: asked.by.groups,
    })
}

/// Where objects of the review's kind hold templates; `None` is the object itself.
fn paths(review: &Value, asked: &change::Asked, templates: &[Template]) -> Vec<Option<Path>> {
    let own = OWN.iter().find(|(group, kind, _)| (*group, *kind) == (&asked.group, &asked.kind));
    if let Some((_, _, path)) = own {
        return vec![Path::read(path).ok()];
    }
    let text = |field: &str| {
        review
            .pointer("/request/resource")
            .and_then(|it| it.get(field))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (group, version, resource) = (text("group"), text("version"), text("resource"));
    let theirs = templates.iter().filter(|template| template.is_of(group, version, resource));
    theirs.map(|template| Some(template.path.clone())).collect()
}

/// The response; what was decided stands in its `auditAnnotations`.
pub fn response(asked: &Asked, judgement: &Judgement, mode: Mode) -> Value {
    let enforced = mode == Mode::Enforce;
    let warnings: &[String] = if enforced { &judgement.warnings } else { &[] };
    let mut review = change::response(&asked.uid, judgement.refusal(mode), warnings);
    if let Some(response) = review.get_mut("response").and_then(Value::as_object_mut) {
        let patch = patch(asked, judgement);
        if enforced && !patch.is_empty() {
            let bytes = ByteString(Value::from(patch).to_string().into_bytes());
            response.insert("patch".to_owned(), json!(bytes));
            response.insert("patchType".to_owned(), "JSONPatch".into());
        }
        response.insert("auditAnnotations".to_owned(), notes(judgement));
    }
    review
}

/// What was decided, for the API server's audit log.
pub fn notes(judgement: &Judgement) -> Value {
    let mut notes = json!({"decision": judgement.verdict.as_str(), "clause": judgement.rule.as_str()});
    if let (Some(notes), false) = (notes.as_object_mut(), judgement.reason.is_empty()) {
        notes.insert("reason".to_owned(), judgement.reason.as_str().into());
    }
    notes
}

/// The operations of JSON Patch that add what is added, and change nothing else.
pub fn patch(asked: &Asked, judgement: &Judgement) -> Vec<Value> {
    let additions = judgement.additions.iter();
    additions.filter_map(|addition| Some(asked.places.get(addition.site)?.addition(&addition.text))).collect()
}
