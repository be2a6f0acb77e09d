//! The user-info policy: it decides in whose name a workload may run. It adds the annotation
//! `yunikorn.apache.org/user.info` where it is missing, and refuses it where the requester may not set it.
//!
//! `YuniKorn`'s own admission controller does the same with gaps ([`yunikorn::admission::evaluate()`]);
//! profile [`Profile::YuniKorn`] behaves like it, gaps included. Profile [`Profile::Strict`] has none of
//! them: every annotation that names the user of pods is checked wherever it is written, at creation and at
//! each change.
//!
//! * `request`, `answer`: the request and the answer.
//! * `decide`: profile strict.
//! * `json`: the annotation's text.
//! * `names`: the names in it, and their aliases.
//! * `owners`: the names that an operator's account may pass on.
//! * `words`: the messages for people.
//! * `path`: the positions of pod templates in objects of other people's kinds.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

mod answer;
mod decide;
mod json;
mod names;
mod owners;
mod path;
mod request;
#[cfg(test)]
mod tests;
mod words;

pub use answer::{Addition, Decision, Outcome};
pub use decide::decide;
pub use names::{WrongAliases, wrong_aliases};
pub use owners::{Owner, Owners};
pub use path::{LeadsTo, MAX_LENGTH, MAX_NAMES, MAX_TEMPLATES, Path, Segment, Template};
pub use request::{Given, MAX_SITES, Moment, Request, Site};

/// Level of enforcement for user.info: none (Off), a log line and a count for each request that would be
/// refused (Audit), or the rules of the profile (Enforce). Write "Off" in quotes: YAML takes the bare word
/// for a boolean. Left out: Off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Mode {
    /// No check.
    #[default]
    Off,
    /// A request that would be refused is logged and counted.
    Audit,
    /// The annotation is added, or the request is refused.
    Enforce,
}

/// Rules to follow: those of YuniKorn 1.8's own admission controller, and no more (yunikorn), or the same
/// without its gaps: updates of workloads, ReplicationControllers, custom resources and namespaces that
/// YuniKorn leaves alone are checked as well (strict). Left out: strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::doc_markdown, reason = "kubectl explain shows it as plain text")]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Profile {
    /// The rules of YuniKorn's admission controller, applied in its stead.
    YuniKorn,
    /// The same without its gaps.
    #[default]
    Strict,
}

/// Handling of the annotation: `AdmissionPolicy`'s `spec.userInfo`, as written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct Settings {
    /// See [`Mode`], whose description is shown for the field.
    #[serde(default)]
    #[schemars(with = "Option<Mode>", transform = without_default)]
    pub mode: Mode,
    /// See [`Profile`], whose description is shown for the field.
    #[serde(default)]
    #[schemars(with = "Option<Profile>", transform = without_default)]
    pub profile: Profile,
    /// Paths of the pod templates in kinds other than Kubernetes' own, so that profile strict checks them
    /// too. The webhooks must be configured for these resources: see manifests/user-info.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = MAX_TEMPLATES),
        extend(
            "x-kubernetes-list-type" = "map",
            "x-kubernetes-list-map-keys" = ["group", "resource", "path"],
        )
    )]
    pub templates: Vec<Template>,
    /// Accounts of operators, e.g. system:serviceaccount:kuberay:kuberay-operator: whole names, no
    /// expressions. Such an account passes on the name in the resource that owns the object it creates, if
    /// the resource is of a kind in templates, and sets no other name. The lists of the AdmissionPolicy make
    /// no difference to it. queuewarden needs the right to get these resources: see examples/operators.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "operators_schema")]
    pub operators: Vec<String>,
}

/// The most operators of one policy.
pub const MAX_OPERATORS: usize = 64;
/// The longest name of an operator's account, in bytes.
const MAX_ACCOUNT: usize = 512;

impl Settings {
    /// Returns whether this user is an operator's account.
    pub fn is_operator(&self, user: &str) -> bool {
        self.operators.iter().any(|operator| operator == user)
    }
}

fn operators_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": MAX_OPERATORS,
        "x-kubernetes-list-type": "set",
        "items": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_ACCOUNT,
            "x-kubernetes-validations": [{
                "rule": "!self.startsWith('^') && !self.endsWith('$')",
                "message": "must be the whole name of a user, without ^ and $, e.g. \
                            system:serviceaccount:kuberay:kuberay-operator",
            }],
        },
    })
}

/// Leaves the default to the program, so that API servers do not write it into objects.
fn without_default(schema: &mut Schema) {
    schema.remove("default");
}
