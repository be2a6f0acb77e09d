//! The user-info policy, which decides which user a workload may run as. It adds the annotation
//! `yunikorn.apache.org/user.info` if it is missing, and refuses a value that the requester may not set.
//!
//! `YuniKorn`'s own admission controller does the same with gaps ([`yunikorn::admission::evaluate()`]).
//! Profile [`Profile::YuniKorn`] behaves like it, including the gaps. Profile [`Profile::Strict`] has no
//! gaps: it checks every annotation that names the user of pods, wherever it is written, at creation and at
//! each change.
//!
//! * `request`: the request.
//! * `decide`: profile strict.
//! * `names`: the names in the text of the annotation, and their aliases.
//! * `words`: messages for people.
//! * `path`: the positions of pod templates in objects of other kinds.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

mod decide;
mod names;
mod path;
mod request;
#[cfg(test)]
mod tests;
mod words;

pub use decide::decide;
pub use names::{WrongAliases, wrong_aliases};
pub use path::{LeadsTo, MAX_LENGTH, MAX_NAMES, MAX_TEMPLATES, Path, Segment, Template};
pub use request::{Given, MAX_SITES, Moment, Owner, Owners, Request, Site};

use super::decide::visible;

/// Level of enforcement for user.info: none (Off), a log line and a count for each request that would be
/// refused (Audit), or the rules of the profile (Enforce). Write "Off" in quotes, because YAML reads the bare
/// word as a boolean. Left out: Off.
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

/// Rules to follow: only the rules of YuniKorn 1.8's own admission controller (yunikorn), or the same rules
/// without its gaps, so that updates of workloads, ReplicationControllers, custom resources and namespaces
/// that YuniKorn ignores are also checked (strict). Left out: strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::doc_markdown, reason = "kubectl explain shows it as plain text")]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Profile {
    /// The rules of YuniKorn's admission controller, applied in its place.
    YuniKorn,
    /// The same without its gaps.
    #[default]
    Strict,
}

/// Handling of the annotation, the `spec.userInfo` of an `AdmissionPolicy`.
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
    /// Paths of the pod templates in kinds other than Kubernetes' own, so that profile strict checks them,
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
    /// Accounts of operators, e.g. system:serviceaccount:kuberay:kuberay-operator, as full names, not
    /// expressions. Such an account may only pass on the name in the resource that owns the object it
    /// creates, if the resource is of a kind in templates. The lists of the AdmissionPolicy do not apply to
    /// it. queuewarden needs the right to get these resources: see examples/operators.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "operators_schema")]
    pub operators: Vec<String>,
}

/// Maximum number of operators per policy.
pub const MAX_OPERATORS: usize = 64;
/// Maximum length of an operator account's name in bytes.
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

/// The result of a request. If several sites differ, the last one in this order applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// The request creates no pods.
    #[default]
    NotApplicable,
    /// The user of its pods is not changed.
    Unchanged,
    /// The named user is accepted.
    Kept,
    /// A missing user or missing aliases are added.
    Added,
    /// The request is refused.
    Refused,
}

impl Outcome {
    /// Returns a label for logs and metrics.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A text to write at a site without one, or with wrong aliases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addition {
    /// The index of the site in the request.
    pub site: usize,
    /// The value of the annotation.
    pub text: String,
}

/// The decision about a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// The result of the request.
    pub outcome: Outcome,
    /// The deciding clause, as a label for metrics.
    pub clause: &'static str,
    /// The reason for a refusal, in one line of limited length without invisible characters; otherwise empty.
    pub reason: String,
    /// The user of the pods, or the refused user; may be empty.
    pub user: String,
    /// The texts to add. Empty if the request is refused.
    pub additions: Vec<Addition>,
    /// Warnings for the user, limited in number. Empty if the request is refused.
    pub warnings: Vec<String>,
}

impl Decision {
    pub(super) fn new(outcome: Outcome, clause: &'static str) -> Self {
        Self { outcome, clause, ..Self::default() }
    }

    pub(super) fn refused(clause: &'static str, reason: &str, user: &str) -> Self {
        Self { reason: visible(reason), user: visible(user), ..Self::new(Outcome::Refused, clause) }
    }

    /// Returns the refusal of a request that cannot be parsed.
    pub fn unreadable(why: &str, user: &str) -> Self {
        Self::refused("unreadable", why, user)
    }

    /// Returns the decision of `YuniKorn`'s admission controller: a refusal with its message, or whether it
    /// changes anything.
    pub fn of_yunikorn(refusal: Option<&str>, patched: bool, user: &str) -> Self {
        if let Some(message) = refusal {
            return Self::refused("yunikorn", message, user);
        }
        let outcome = if patched { Outcome::Added } else { Outcome::Unchanged };
        Self { user: visible(user), ..Self::new(outcome, "yunikorn") }
    }

    /// Adds the result of another site.
    pub(super) fn note(&mut self, outcome: Outcome, clause: &'static str) {
        if outcome > self.outcome {
            (self.outcome, self.clause) = (outcome, clause);
        }
    }

    /// Returns the reason if the request is refused in this mode.
    pub fn refusal(&self, mode: Mode) -> Option<&str> {
        (mode == Mode::Enforce && self.outcome == Outcome::Refused).then_some(self.reason.as_str())
    }
}
