//! Serves `queueaccessreviews` and `selfqueueaccessreviews`: whether a user may submit to a queue or
//! administer it, and why.
//!
//! ```yaml
//! apiVersion: access.queuewarden.dev/v1alpha1
//! kind: SelfQueueAccessReview
//! spec: {verb: submit, queue: root.prod}
//! ```
//!
//! The answer is in `status`, with the fields of `queuewarden explain -o yaml`. Callers who may not read the
//! queue get a [brief](QueueAccessReviewStatus::brief) answer.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::API_VERSION;
use crate::answer::{DecisionAnswer, VERSION};
use crate::convert::drop_nulls;
use go_compat::diag::quoted;
use go_compat::go_json::nullable;
use yunikorn::identity::Identity;
use yunikorn::queue::nearest;
use yunikorn::right::Right;
use yunikorn_access::review::request::QUEUE_VERBS;
use yunikorn_access::review::{AccessAction, AccessRequest, Answer};
use yunikorn_access::subject::Subject;

/// The partition to use when none is named.
pub const DEFAULT_PARTITION: &str = "default";
/// Maximum length of a queue path; longer paths do not exist.
const MAX_QUEUE: usize = 4096;

/// The subject of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueAccessReviewKind {
    /// `QueueAccessReview`: the user that it names.
    Named,
    /// `SelfQueueAccessReview`: its creator.
    Own,
}

/// May a user submit to a queue, or administer it? Nothing is stored: the response to create has the answer
/// in its status.
#[derive(Debug, Clone, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueAccessReview {
    /// `access.queuewarden.dev/v1alpha1`
    pub api_version: String,
    /// `QueueAccessReview`
    pub kind: String,
    /// Optional.
    pub metadata: Option<Map<String, Value>>,
    /// The question: a user, a verb and a queue.
    pub spec: QueueAccessReviewSpec,
    /// The answer, filled in by the server.
    pub status: Option<QueueAccessReviewStatus>,
}

/// May I submit to a queue, or administer it? Nothing is stored: the response to create has the answer in its
/// status.
#[derive(Debug, Clone, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SelfQueueAccessReview {
    /// `access.queuewarden.dev/v1alpha1`
    pub api_version: String,
    /// `SelfQueueAccessReview`
    pub kind: String,
    /// Optional.
    pub metadata: Option<Map<String, Value>>,
    /// The question: a verb and a queue.
    pub spec: SelfQueueAccessReviewSpec,
    /// The answer, filled in by the server.
    pub status: Option<QueueAccessReviewStatus>,
}

/// A question about a user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QueueAccessReviewSpec {
    /// The user.
    #[serde(deserialize_with = "nullable")]
    pub user: String,
    /// The user's groups. If none are listed, `YuniKorn` resolves them.
    #[serde(deserialize_with = "nullable")]
    pub groups: Vec<String>,
    /// The verb: submit (also written use) or administer.
    #[serde(deserialize_with = "nullable")]
    pub verb: String,
    /// The queue's full path, in upper or lower case, e.g. root.prod
    #[serde(deserialize_with = "nullable")]
    pub queue: String,
    /// The partition. Default: "default".
    #[serde(deserialize_with = "nullable")]
    pub partition: String,
}

/// A question about the caller.
#[derive(Debug, Clone, JsonSchema)]
pub struct SelfQueueAccessReviewSpec {
    /// The verb: submit (also written use) or administer.
    pub verb: String,
    /// The queue's full path, in upper or lower case, e.g. root.prod
    pub queue: String,
    /// The partition. Default: "default".
    #[serde(default)]
    pub partition: String,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct QueueAccessReviewStatus {
    /// The answer in short.
    pub answer: Answer,
    /// The decision with its trace; `None` if the ACLs were not consulted.
    pub decision: Option<Box<DecisionAnswer>>,
}

/// A review that can be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRequest {
    /// The user in question with their groups; `None` for the caller.
    pub user: Option<Identity>,
    /// The right in question.
    pub right: Right,
    /// The queue as written.
    pub queue: String,
    /// The partition.
    pub partition: String,
    /// Paths of unknown fields.
    pub unknown: Vec<String>,
}

/// Why a review cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidReview {
    /// The review cannot be parsed.
    Malformed(String),
    /// The review can be parsed but makes no sense: the field, and why.
    Invalid(&'static str, String),
}

impl QueueAccessReviewKind {
    /// Returns the name used in `kind:`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Named => "QueueAccessReview",
            Self::Own => "SelfQueueAccessReview",
        }
    }

    /// Returns the name used in paths and in RBAC.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Named => "queueaccessreviews",
            Self::Own => "selfqueueaccessreviews",
        }
    }

    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Named => &["user", "groups", "verb", "queue", "partition"],
            Self::Own => &["verb", "queue", "partition"],
        }
    }
}

/// Parses a review.
///
/// # Errors
/// Fails when the review cannot be answered.
pub fn read(kind: QueueAccessReviewKind, document: &Value) -> Result<ReviewRequest, InvalidReview> {
    let Value::Object(fields) = document else {
        return Err(InvalidReview::Malformed(format!("a {} must be an object", kind.name())));
    };
    for (field, expected) in [("apiVersion", API_VERSION), ("kind", kind.name())] {
        let found = fields.get(field);
        if found.and_then(Value::as_str) != Some(expected) {
            let found = found.map_or_else(|| "nothing".to_owned(), ToString::to_string);
            return Err(InvalidReview::Malformed(format!("{field} must be {expected}, not {found}")));
        }
    }
    let Some(Value::Object(spec)) = fields.get("spec").cloned() else {
        return Err(InvalidReview::Invalid(
            "spec",
            "must hold the question: {verb: submit, queue: root.prod}".to_owned(),
        ));
    };
    // A SelfQueueAccessReview has no user field, because its creator is its subject. A user in one is
    // unknown.
    let (known, strange): (Map<_, _>, Map<_, _>) =
        spec.into_iter().partition(|(name, _)| kind.fields().contains(&name.as_str()));
    let unknown = unknown(fields, &strange);
    let known = Value::Object(known);
    let spec: QueueAccessReviewSpec = serde_path_to_error::deserialize(&known).map_err(|error| {
        InvalidReview::Malformed(format!("spec cannot be read at {}: {}", error.path(), error.inner()))
    })?;
    request(kind, spec, unknown)
}

/// Returns the paths of unknown fields, which may be misspelled. A status is ignored, as in all reviews.
fn unknown(fields: &Map<String, Value>, strange: &Map<String, Value>) -> Vec<String> {
    const MOST: usize = 16;
    let own = ["apiVersion", "kind", "metadata", "spec", "status"];
    let outside = fields.keys().filter(|name| !own.contains(&name.as_str())).map(|name| ("", name));
    let paths = outside.chain(strange.keys().map(|name| ("spec.", name))).take(MOST);
    paths.map(|(above, name)| format!("{above}{}", name.chars().take(64).collect::<String>())).collect()
}

fn request(
    kind: QueueAccessReviewKind,
    spec: QueueAccessReviewSpec,
    unknown: Vec<String>,
) -> Result<ReviewRequest, InvalidReview> {
    let QueueAccessReviewSpec { user, groups, verb, queue, partition } = spec;
    let Some((_, right)) = QUEUE_VERBS.into_iter().find(|(name, _)| *name == verb) else {
        let near = nearest(QUEUE_VERBS.into_iter().map(|(name, _)| name), &verb);
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(InvalidReview::Invalid(
            "spec.verb",
            format!("must be submit, use or administer, not {}{hint}", quoted(&verb)),
        ));
    };
    if kind == QueueAccessReviewKind::Named && user.is_empty() {
        let help = "must name the user to check; to check your own access, create a SelfQueueAccessReview";
        return Err(InvalidReview::Invalid("spec.user", help.to_owned()));
    }
    if queue.is_empty() || queue.len() > MAX_QUEUE {
        let why = format!(
            "must be the full path of a queue, such as root.prod, and at most {MAX_QUEUE} bytes long"
        );
        return Err(InvalidReview::Invalid("spec.queue", why));
    }
    let partition = if partition.is_empty() { DEFAULT_PARTITION.to_owned() } else { partition };
    let user = (kind == QueueAccessReviewKind::Named).then_some(Identity { user, groups });
    Ok(ReviewRequest { user, right, queue, partition, unknown })
}

impl ReviewRequest {
    /// Returns the request that a caller makes with the review.
    pub fn access<'a>(&'a self, caller: &'a Identity) -> AccessRequest<'a> {
        let action = AccessAction::Queue { right: self.right, queue: &self.queue };
        AccessRequest { partition: &self.partition, user: self.user.as_ref().unwrap_or(caller), action }
    }
}

impl QueueAccessReviewStatus {
    /// Returns a decision with its trace.
    pub fn decided(clause: &'static str, decision: DecisionAnswer) -> Self {
        let answer = if decision.allowed { Answer::allow } else { Answer::deny };
        let entry = decision.trace.last().and_then(|step| step.entry.clone());
        let answer = Answer { entry, ..answer(clause, &decision.reason) };
        Self { answer, decision: Some(Box::new(decision)) }
    }

    /// Returns the whole answer.
    pub fn whole(&self) -> Value {
        let Answer { reason, evaluation_error, .. } = &self.answer;
        self.decision.as_ref().map_or_else(
            || json!({"allowed": self.answer.allowed(), "reason": reason, "evaluationError": evaluation_error}),
            |decision| json!(decision),
        )
    }

    /// Returns the part of the answer that callers may see about themselves if they may not read the queue,
    /// as worded by [`Answer::brief`].
    pub fn brief(self, request: &AccessRequest<'_>, right: Right, queue: &str) -> Value {
        let entry = self.answer.entry.clone();
        let answer = self.answer.brief(request);
        json!({
            "version": VERSION,
            "partition": request.partition,
            "verb": right,
            // As written in the review.
            "queue": queue,
            "user": request.user.user,
            "groups": request.user.groups,
            "allowed": answer.allowed(),
            "reason": answer.reason,
            // The user, one of the user's groups, or everyone.
            "entry": entry,
            "evaluationError": answer.evaluation_error,
        })
    }
}

impl From<Answer> for QueueAccessReviewStatus {
    /// Returns an answer that does not depend on the ACLs.
    fn from(answer: Answer) -> Self {
        Self { answer, decision: None }
    }
}

/// Describes all possible fields. All of them are optional.
impl JsonSchema for QueueAccessReviewStatus {
    fn schema_name() -> Cow<'static, str> {
        "Status".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = DecisionAnswer::json_schema(generator);
        schema.remove("required");
        let error = json!({"type": "string", "description": "Why there is no decision."});
        let mut entry = generator.subschema_for::<Subject>();
        let described =
            "The entry that grants it, for a caller who may not read the queue and gets no trace.";
        entry.insert("description".to_owned(), described.into());
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.insert("evaluationError".to_owned(), error);
            properties.insert("entry".to_owned(), entry.to_value());
        }
        schema.insert("description".to_owned(), "The answer.".into());
        schema
    }
}

/// Returns the review with its answer.
#[must_use]
pub fn answered(mut document: Value, mut status: Value) -> Value {
    if let Value::Object(fields) = &mut document {
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        if let Value::Object(metadata) = metadata {
            metadata.entry("creationTimestamp").or_insert(Value::Null);
        }
        // Kubernetes leaves out absent fields.
        drop_nulls(&mut status);
        fields.insert("status".to_owned(), status);
    }
    document
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::answer::Answers;
    use yunikorn::acl;
    use yunikorn::queue::QueuePath;
    use yunikorn_access::decide::explain;
    use yunikorn_access::review::path_of;
    use yunikorn_access::testing::{QUEUES, any_identity, any_tree, tree};
    use yunikorn_access::tree::{Origin, Tree};

    fn document(kind: QueueAccessReviewKind, spec: &Value) -> Value {
        json!({"apiVersion": API_VERSION, "kind": kind.name(), "spec": spec})
    }

    #[test]
    fn questions_are_read() {
        let spec = json!({"user": "sue", "groups": ["devs"], "verb": "administer", "queue": "Root.Prod", "partition": "gpu"});
        let expected = ReviewRequest {
            user: Some(Identity { user: "sue".to_owned(), groups: vec!["devs".to_owned()] }),
            right: Right::Admin,
            queue: "Root.Prod".to_owned(),
            partition: "gpu".to_owned(),
            unknown: Vec::new(),
        };
        assert_eq!(
            read(QueueAccessReviewKind::Named, &document(QueueAccessReviewKind::Named, &spec)),
            Ok(expected)
        );
        let spec = json!({"verb": "use", "queue": "root", "partition": null});
        let own = read(QueueAccessReviewKind::Own, &document(QueueAccessReviewKind::Own, &spec)).unwrap();
        assert_eq!((own.right, own.partition.as_str(), own.user), (Right::Submit, "default", None));
    }

    /// A caller cannot ask as someone else by setting a field that only the server fills in.
    #[test]
    fn of_ones_own_review_the_user_is_not_read() {
        let spec = json!({"verb": "submit", "queue": "root", "user": "admin", "groups": ["system:masters"]});
        let request = read(QueueAccessReviewKind::Own, &document(QueueAccessReviewKind::Own, &spec)).unwrap();
        assert_eq!(request.user, None);
        assert_eq!(request.unknown, ["spec.groups", "spec.user"]);
    }

    #[test]
    fn what_is_no_question_is_reported() {
        let named = |spec: Value| document(QueueAccessReviewKind::Named, &spec);
        let cases = [
            (json!([]), "a QueueAccessReview must be an object"),
            (json!({"kind": "QueueAccessReview"}), "apiVersion must be"),
            (document(QueueAccessReviewKind::Own, &json!({})), "kind must be QueueAccessReview"),
            (json!({"apiVersion": API_VERSION, "kind": "QueueAccessReview"}), "spec"),
            (named(json!("x")), "spec"),
            (named(json!({"user": "a", "verb": "sumbit", "queue": "root"})), "did you mean `submit`?"),
            (named(json!({"user": "a", "verb": "submit"})), "spec.queue"),
            (named(json!({"user": "a", "verb": "submit", "queue": "x".repeat(5000)})), "spec.queue"),
            (named(json!({"verb": "submit", "queue": "root"})), "spec.user"),
            (named(json!({"user": ["a"], "verb": "submit", "queue": "root"})), "spec cannot be read at user"),
            (named(json!({"user": "a", "groups": "x", "verb": "submit", "queue": "root"})), "at groups"),
        ];
        for (document, part) in cases {
            let reported = match read(QueueAccessReviewKind::Named, &document).unwrap_err() {
                InvalidReview::Malformed(why) => why,
                InvalidReview::Invalid(field, why) => format!("{field} {why}"),
            };
            assert!(reported.contains(part), "{reported}");
        }
    }

    #[test]
    fn the_answer_joins_what_was_sent() {
        let review =
            json!({"metadata": {"name": "x"}, "spec": {"verb": "submit"}, "status": {"allowed": true}});
        let answered = answered(
            review,
            QueueAccessReviewStatus::from(Answer::undecided("configuration", "too early")).whole(),
        );
        let expected = json!({
            "metadata": {"name": "x", "creationTimestamp": null}, "spec": {"verb": "submit"},
            "status": {"allowed": false, "reason": "too early", "evaluationError": "too early"},
        });
        assert_eq!(answered, expected);
    }

    /// Returns the answer to a caller who may not read the queue.
    fn brief(tree: &Tree, request: &ReviewRequest, who: &Identity) -> Value {
        let status = match path_of(tree, &request.queue) {
            Ok(path) => {
                let decision = explain(tree, request.right, &path, who);
                let whole = Answers { source: "source.yaml", tree }.decision(&decision);
                QueueAccessReviewStatus::decided(decision.clause(), whole)
            }
            Err(why) => Answer::deny("no_queue", &why).into(),
        };
        status.brief(&request.access(who), request.right, &request.queue)
    }

    fn review_request(right: Right, queue: &str) -> ReviewRequest {
        ReviewRequest {
            user: None,
            right,
            queue: queue.to_owned(),
            partition: DEFAULT_PARTITION.to_owned(),
            unknown: Vec::new(),
        }
    }

    /// Returns every text in a document, including keys.
    fn texts(value: &Value) -> Vec<String> {
        match value {
            Value::Object(fields) => {
                fields.iter().flat_map(|(key, value)| [vec![key.clone()], texts(value)].concat()).collect()
            }
            Value::Array(items) => items.iter().flat_map(texts).collect(),
            Value::String(text) => vec![text.clone()],
            _ => Vec::new(),
        }
    }

    #[test]
    fn brief_answer_about_oneself_has_no_name_of_others() {
        let mut tree = tree(&[
            ("root", "", "boss operators"),
            ("root.prod", "carol,Dave analysts", ""),
            ("root.prod.nightly", "Eve", ""),
            ("root.sales", "", ""),
        ]);
        let object = Origin::Object { kind: "QueueAcl", name: "prod-object".to_owned(), until: None };
        let path = QueuePath::parse("root.prod").unwrap();
        tree.attribute(&path, Right::Submit, object, &acl::parse("carol analysts").unwrap());
        let secrets = [
            "boss",
            "operators",
            "carol",
            "Dave",
            "analysts",
            "Eve",
            "nightly",
            "sales",
            "prod-object",
            "QueueAcl",
            "queues.yaml",
            "source.yaml",
            "acl",
            "case matters",
            "configured",
        ];
        let person = |user: &str, groups: &[&str]| Identity {
            user: user.to_owned(),
            groups: groups.iter().map(ToString::to_string).collect(),
        };
        for (who, queue, own) in [
            (person("eve", &["qa"]), "root.prod", None),
            (person("dave", &["Analysts"]), "root.prod", None),
            (person("eve", &[]), "root.prod.other", None),
            (person("eve", &[]), "root.prd", None),
            (person("eve", &[]), "root.a b", None),
            (person("eve", &[]), "prod", None),
            (person("carol", &[]), "root.prod.x", Some("carol")),
            (person("eve", &["analysts"]), "root.prod", Some("analysts")),
        ] {
            for right in Right::ALL {
                let answer = brief(&tree, &review_request(right, queue), &who);
                assert_eq!(answer["allowed"], own.is_some() && right == Right::Submit, "{answer:#}");
                for text in texts(&answer) {
                    let reported =
                        secrets.iter().find(|secret| Some(**secret) != own && text.contains(**secret));
                    assert_eq!(reported, None, "{who:?} {queue}: {answer:#}");
                }
            }
        }
        let yes = brief(&tree, &review_request(Right::Submit, "root.prod"), &person("eve", &["analysts"]));
        assert_eq!(yes["reason"], "group analysts may submit to `root.prod`");
        assert_eq!(yes["entry"], json!({"kind": "Group", "name": "analysts"}));
    }

    proptest! {
        /// Two configurations with the same decision give the same brief answer.
        #[test]
        fn brief_answer_depends_on_the_decision_alone(
            one in any_tree(), other in any_tree(), who in any_identity(), admin in any::<bool>(),
            queue in prop::sample::select([&QUEUES[..], &["root.none", "none", "root.a b", ""]].concat()),
        ) {
            let request = review_request(if admin { Right::Admin } else { Right::Submit }, queue);
            let [one, other] = [brief(&one, &request, &who), brief(&other, &request, &who)];
            if one["entry"] == other["entry"] {
                prop_assert_eq!(one, other);
            } else {
                prop_assert!(one["entry"].is_null() || one["allowed"] == true);
            }
        }

        #[test]
        fn anything_may_be_sent(text in "[\\[\\]{}:,a\"0-9n ]{0,30}", verb in ".{0,6}", queue in ".{0,9}") {
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                let _ = read(QueueAccessReviewKind::Own, &value);
                let _ = read(QueueAccessReviewKind::Named, &document(QueueAccessReviewKind::Named, &value));
                let _ = answered(value, json!("x"));
            }
            let _ = read(QueueAccessReviewKind::Own, &document(QueueAccessReviewKind::Own, &json!({"verb": verb, "queue": queue})));
        }
    }
}
