//! Who submits the pod. `YuniKorn`'s admission controller and its scheduler decide that together: the first
//! checks who may name a user in the pod, and the second reads the name.

use serde_json::Value;

use super::operators::Operated;
use super::workload::{Submitted, WorkloadArgs};
use crate::output::{Console, Failure};
use crate::source::cluster::ClusterArgs;
use crate::source::identity::IdentityArgs;
use crate::source::session::{Session, Source};
use go_compat::diag::quoted;
use go_compat::yaml::json::to_json;
use go_compat::yaml::parse;
use queuewarden_plan::user_info;
use yunikorn::admission::request::{USER_INFO, USERNAME};
use yunikorn::admission::user_info::{Source as NamedBy, Submitter, UserInfo};
use yunikorn::admission::{Conf, Kind, Operation, Outcome, Request, Surroundings, evaluate};
use yunikorn::identity::{Identity, ResolverKind};
use yunikorn_access::alias;
use yunikorn_access::user_info::Mode;

/// The keys that people write for the user in `user.info`.
const USER_KEYS: [&str; 5] = ["user", "username", "user_name", "name", "id"];
/// The keys that people write for the groups.
const GROUP_KEYS: [&str; 2] = ["groups", "group"];

/// Who submits, before groups are resolved.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Named {
    /// The user, with the groups that come with the name.
    pub identity: Identity,
    /// True if the names come from the pod.
    pub by_pod: bool,
}

/// A change that makes another user the submitter.
#[derive(Debug, Clone, PartialEq)]
pub struct Mended {
    /// The change, in a sentence.
    pub words: String,
    /// Who submits then.
    pub named: Named,
}

/// A pod that the admission controller refuses.
#[derive(Debug, Clone, PartialEq)]
pub struct Denied {
    /// The reason, in a sentence.
    pub reason: String,
    /// The message of the admission controller.
    pub message: String,
}

/// The answer about who submits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SubmitterCheck {
    /// Who submits.
    pub named: Named,
    /// The refusal by the admission controller.
    pub denied: Option<Denied>,
    /// The changes that would allow a refused pod, or correct an annotation that makes the user `nobody`.
    pub mended: Vec<Mended>,
    /// The change that lets an operator pass on the user's name.
    pub passed_on: Option<Mended>,
}

/// The input of the question.
#[derive(Debug)]
pub struct Question<'a> {
    /// The user of the command line.
    pub identity: &'a IdentityArgs,
    /// The pod of the command line.
    pub workload: &'a WorkloadArgs,
    /// The pod.
    pub submitted: &'a Submitted,
    /// The configuration.
    pub session: &'a Session,
    /// The cluster to read.
    pub cluster: &'a ClusterArgs,
    /// The output of notes.
    pub console: Console,
}

impl Question<'_> {
    /// Determines who submits.
    ///
    /// # Errors
    /// When no user is given, or what decides cannot be read.
    pub fn answer(&self) -> Result<SubmitterCheck, Failure> {
        match &self.submitted.operated {
            Some(operated) => self.by_operator(operated),
            None => self.by_person(),
        }
    }

    fn pod_names_user(&self) -> bool {
        !self.submitted.workload.pod.annotation(USER_INFO).is_empty()
    }

    fn by_person(&self) -> Result<SubmitterCheck, Failure> {
        if self.identity.user.is_some() {
            let kind = &self.submitted.kind;
            return self.by_requester(self.identity.claimed(&self.session.source)?, kind, &kind.to_string());
        }
        let (submitter, of_pod, source) = self.of_pod();
        if submitter.source == NamedBy::Nothing {
            if self.session.cluster().is_none() && self.workload.workload.is_some() {
                return Err(Failure::Usage(
                    "the user is missing: the pod names no user, so YuniKorn's admission controller uses the user who creates it; add --as USER [--as-group GROUP]..., or --as nobody if it does not run"
                        .to_owned(),
                ));
            }
            return Ok(SubmitterCheck::from(self.identity.claimed(&self.session.source)?));
        }
        self.console.note(&source);
        Ok(of_pod)
    }

    /// Answers for the user who creates the object, which may differ from the user in the pod.
    fn by_requester(&self, requester: Identity, kind: &Kind, what: &str) -> Result<SubmitterCheck, Failure> {
        if self.pod_names_user() {
            self.admitted(requester, kind, what)
        } else {
            Ok(SubmitterCheck::from(requester))
        }
    }

    /// Answers for the user that the pod names, as if the admission controller had accepted it. Describes the
    /// source of the name, and why it is `nobody`, with the correction of such an annotation.
    fn of_pod(&self) -> (Submitter, SubmitterCheck, String) {
        let pod = &self.submitted.workload.pod;
        let submitter = Submitter::from_pod(pod, self.session.configuration.view.version);
        let text = pod.annotation(USER_INFO);
        let meant = meant(text);
        let (why, words) = match &submitter.source {
            NamedBy::Label => (format!(", by the pod's label {USERNAME}"), None),
            NamedBy::AnnotationUnreadable(error) => (
                format!(": the pod's annotation {USER_INFO} cannot be read ({error})"),
                meant.as_ref().map(|meant| format!("write {USER_INFO} as JSON: {}", meant.write())),
            ),
            NamedBy::AnnotationWithoutUser => match other_key(text).map(|key| quoted(&key)) {
                Some(key) => (
                    format!(
                        ": the pod's annotation {USER_INFO} has the key {key}, and YuniKorn reads `user`"
                    ),
                    Some(format!("write `user` in place of {key} in {USER_INFO}")),
                ),
                None => (format!(": the pod's annotation {USER_INFO} names no `user`"), None),
            },
            _ => (format!(", by the pod's annotation {USER_INFO}"), None),
        };
        let source = format!("the user is {}{why}", submitter.user);
        let by_pod = |user, groups| Named { identity: Identity { user, groups }, by_pod: true };
        let named = by_pod(submitter.user.clone(), submitter.groups.clone());
        let mended = words.zip(meant).map(|(words, meant)| {
            let named = by_pod(meant.user, meant.groups);
            Mended { words, named }
        });
        let mended = mended.into_iter().collect();
        (submitter, SubmitterCheck { named, mended, ..SubmitterCheck::default() }, source)
    }

    /// Asks the admission controller about a pod of this requester that names a user.
    fn admitted(&self, requester: Identity, kind: &Kind, what: &str) -> Result<SubmitterCheck, Failure> {
        let version = self.session.configuration.view.version;
        let workload = &self.submitted.workload;
        let account = alias::service_account(&requester.user).filter(|_| requester.groups.is_empty());
        let groups = account.map(|(namespace, _)| alias::groups_of_account(namespace));
        let request = Request {
            operation: Operation::Create,
            kind: kind.clone(),
            namespace: workload.namespace.clone(),
            user: requester.user.clone(),
            groups: groups.unwrap_or_else(|| requester.groups.clone()),
            pod: workload.pod.clone(),
            old_pod: workload.pod.clone(),
        };
        let surroundings = Surroundings {
            namespace_annotations: workload.namespace_annotations.clone(),
            ..Surroundings::default()
        };
        let merged = self.session.merged(self.cluster)?;
        let keys = merged.values().map(|(key, value)| (key.to_owned(), value.text.clone())).collect();
        let (conf, _) = Conf::from_keys(&keys, version);
        let evaluation = evaluate(&request, &surroundings, &conf);
        let (submitter, of_pod, source) = self.of_pod();
        let user = quoted(&requester.user);
        match evaluation.outcome {
            Outcome::Allowed => {
                let steps = evaluation.steps.join("; ");
                self.console.note(&format!("{source}; user {user} may create it: {steps}"));
                Ok(of_pod)
            }
            Outcome::Unknown(key) => {
                Err(Failure::Undecided(format!("{key} decides, but its content is unknown")))
            }
            Outcome::Denied(message) => {
                let own = SubmitterCheck::from(requester);
                let mut remedies = evaluation.remedies.into_iter();
                let words = remedies.next().unwrap_or_else(|| {
                    format!("omit {USER_INFO}, so that it is set to the requester's own name")
                });
                let leave_out = Mended { words, named: own.named.clone() };
                // A correction helps if the refusal is for the text of the annotation, not for its writer.
                let mended = of_pod.mended.into_iter().filter(|_| message.starts_with(USER_INFO));
                let trusted = remedies.map(|words| Mended { words, named: of_pod.named.clone() });
                let trusted = trusted.filter(|_| submitter.source == NamedBy::Annotation);
                let mended = std::iter::once(leave_out).chain(mended).chain(trusted).collect();
                let reason = format!(
                    "YuniKorn's admission controller refuses the {what} of user {user}, because it has the \
                     annotation {USER_INFO}"
                );
                let denied = Some(Denied { reason, message });
                Ok(SubmitterCheck { denied, mended, ..own })
            }
        }
    }

    /// The pod of a custom resource is created by the account of its operator, unless the user-info webhook
    /// passes on the name of the person.
    fn by_operator(&self, operated: &Operated) -> Result<SubmitterCheck, Failure> {
        let Operated { object, role, account: usual, notes, path, file, resource: (group, resource), .. } =
            operated;
        let account = self.workload.operator.as_deref().unwrap_or(usual);
        self.console.note(&format!(
            "the operator makes pods for {object}; the first one, the {role}, decides user and queue of the \
             application"
        ));
        self.console.notes(notes);
        let settings = match &self.session.source {
            Source::Files(given) => user_info(&given.snapshot),
            Source::Cluster(cluster) => user_info(&cluster.objects(self.cluster)?),
        };
        let is_covered = settings.mode == Mode::Enforce
            && settings.is_operator(account)
            && settings
                .templates
                .iter()
                .any(|template| template.is_of(group, resource) && template.path == *path);
        if is_covered {
            self.console.note(&format!(
                "the AdmissionPolicy lets {account} pass on the name of the user who writes {object}"
            ));
            if self.identity.user.is_none() && self.pod_names_user() {
                return self.by_person();
            }
            return self.by_requester(self.identity.claimed(&self.session.source)?, &Kind::Pod, object);
        }
        let usual = if self.workload.operator.is_some() {
            String::new()
        } else {
            ", its usual account; --operator NAMESPACE:NAME names another".to_owned()
        };
        self.console.note(&format!("the pod of the {role} is created by the operator as {account}{usual}"));
        if let Some(user) = self.identity.user.as_deref().filter(|user| *user != account) {
            self.console.note(&format!(
                "user {} writes {object}, and the pod does not run in that name: no AdmissionPolicy lets the \
                 operator pass it on (docs/operators.md)",
                quoted(user)
            ));
        }
        let person = self.identity.given()?.filter(|person| person.user != account);
        let passed_on = person.map(|person| Mended {
            words: format!(
                "let the operator pass on the name of user {}, by an AdmissionPolicy such as \
                 examples/operators/{file}.yaml",
                quoted(&person.user)
            ),
            named: Named { identity: person, by_pod: false },
        });
        let requester = Identity { user: account.to_owned(), groups: Vec::new() };
        let answer = self.by_requester(requester, &Kind::Pod, &format!("pod of the {role}"))?;
        Ok(SubmitterCheck { passed_on, ..answer })
    }
}

impl From<Identity> for SubmitterCheck {
    fn from(identity: Identity) -> Self {
        Self { named: Named { identity, by_pod: false }, ..Self::default() }
    }
}

/// Notes why the resolver of the configuration does not decide about the groups of a pod.
pub fn note_resolver(kind: ResolverKind, Named { identity, by_pod }: &Named, console: Console) {
    let name = match kind {
        ResolverKind::Ldap => "LDAP",
        ResolverKind::Os => "the accounts of the scheduler's container",
        ResolverKind::None | ResolverKind::Test => return,
    };
    if *by_pod && !identity.groups.is_empty() {
        console.note(&format!(
            "YuniKorn does not ask {name} for the groups of {}, because the pod carries groups; the admission \
             controller always writes those of the requester",
            quoted(&identity.user)
        ));
    }
}

/// Returns the key that was perhaps meant to be `user`.
fn other_key(text: &str) -> Option<String> {
    let fields = fields(text)?;
    let is_user = |key: &String| USER_KEYS.iter().any(|user| user.eq_ignore_ascii_case(key));
    fields.keys().find(|key| is_user(key) && !key.eq_ignore_ascii_case("user")).cloned()
}

/// Returns the user and groups that a text was perhaps meant to name.
fn meant(text: &str) -> Option<UserInfo> {
    let fields = fields(text)?;
    let value = |keys: &[&str]| {
        let mut keys = keys.iter();
        keys.find_map(|key| {
            fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(key)).map(|(_, value)| value)
        })
    };
    let user = value(&USER_KEYS)?.as_str().filter(|user| !user.is_empty())?.to_owned();
    let groups = match value(&GROUP_KEYS) {
        Some(Value::Array(groups)) => {
            groups.iter().filter_map(|group| group.as_str().map(str::to_owned)).collect()
        }
        Some(Value::String(groups)) => groups.split(',').map(|group| group.trim().to_owned()).collect(),
        _ => Vec::new(),
    };
    Some(UserInfo { user, groups })
}

/// Reads the fields of a text that may be JSON with mistakes, such as names without quotes.
fn fields(text: &str) -> Option<serde_json::Map<String, Value>> {
    let value = parse(text).ok()??;
    match to_json(&value).ok()? {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_read_from_json_with_mistakes() {
        for (text, user, groups, key) in [
            (r#"{"username": "ann", "groups": ["qa"]}"#, "ann", &["qa"][..], Some("username")),
            (r#"{"userName": "ann", "group": "qa, ops"}"#, "ann", &["qa", "ops"], Some("userName")),
            (r"{user: ann, groups: [qa]}", "ann", &["qa"], None),
            ("{'user': 'ann'}", "ann", &[], None),
            (r#"{"user": "ann", "groups": "qa"}"#, "ann", &["qa"], None),
            (" {\n \"name\": \"ann\",\n} ", "ann", &[], Some("name")),
        ] {
            let groups = groups.iter().map(ToString::to_string).collect();
            assert_eq!(meant(text), Some(UserInfo { user: user.to_owned(), groups }), "{text}");
            assert_eq!(other_key(text).as_deref(), key, "{text}");
        }
        for text in ["", "ann", "[]", r#"{"groups": ["qa"]}"#, r#"{"user": 7}"#, "{", r#"{"user": ""}"#] {
            assert_eq!(meant(text), None, "{text}");
        }
    }
}
