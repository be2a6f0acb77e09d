//! Answers reviews from files.

use serde_json::Value;

use super::sorted::ReviewedCluster;
use crate::output::diagnostic;
use crate::output::{Console, Failure};
use crate::source::configuration::Configuration;
use crate::source::files::FileSource;
use crate::source::identity::IdentityArgs;
use go_compat::diag::Diagnostic;
use queuewarden_api::review::access::{SubjectAccessReview, filled};
use queuewarden_api::review::{ReviewKind, admission, envelope};
use yunikorn::admission::{Conf, Outcome, Request, Surroundings, evaluate};
use yunikorn::identity::{GroupResolver, Identity, ResolverKind};
use yunikorn::version::Version;
use yunikorn_access::review::{AccessRequest, Answer, Opinion, answer};
use yunikorn_access::tree::Scheduler;
use yunikorn_access::tree::Tree;

/// Answers reviews.
pub(super) struct Evaluator {
    /// The configuration in the files, or the reason why there is none.
    configuration: Result<Configuration, String>,
    partition: String,
    conf: Conf,
    cluster: ReviewedCluster,
    /// The user who sends `SelfSubjectAccessReview`s.
    caller: Option<Identity>,
    /// The source of groups that a review does not name.
    groups: Box<dyn GroupResolver + Sync>,
}

/// A review with its answer.
pub(super) struct Answered {
    /// The review, filled in.
    pub(super) review: Value,
    /// The user, the question, the answer and the reason, for a table.
    pub(super) row: [String; 4],
    /// True if it is allowed; `None` if it could not be decided.
    pub(super) allowed: Option<bool>,
}

impl Evaluator {
    /// Creates the evaluator for one partition. Without queues, reviews that need none are still answered.
    ///
    /// # Errors
    /// When the command line is wrong, there is no such partition, or a file of groups cannot be read.
    pub(super) fn new(
        given: Option<&FileSource>,
        partition: &str,
        caller: &IdentityArgs,
        cluster: ReviewedCluster,
        console: Console,
    ) -> Result<Self, Failure> {
        let version = given.map_or(Version::Unknown, |given| given.snapshot.version());
        let configuration = match given.map(|given| given.configuration(console)) {
            None => Err("no configuration was given: add a queues.yaml or ConfigMaps with -f".to_owned()),
            // Several trees, of which none was chosen.
            Some(Err(usage @ Failure::Usage(_))) => return Err(usage),
            Some(Err(other)) => Err(other.to_string()),
            Some(Ok(configuration)) => {
                configuration.note(None, console);
                Ok(configuration)
            }
        };
        let merged = given.map(FileSource::merged).unwrap_or_default();
        let keys = merged.values().map(|(key, value)| (key.to_owned(), value.text.clone())).collect();
        let (conf, findings) = Conf::from_keys(&keys, version);
        for finding in findings.iter().filter(|finding| finding.is_error()) {
            // The span is in the value of a key, which has no known line in a file.
            let finding = Diagnostic { span: None, ..finding.clone() };
            console.err(&diagnostic::draw(&finding, None, None, console.look_err()));
        }
        let known = configuration.as_ref().ok();
        let own = known.map(|known| ResolverKind::in_force(&known.config)).unwrap_or_default();
        let groups = caller.source.resolver(own, console)?;
        known.map(|known| known.tree(partition)).transpose()?;
        let IdentityArgs { user, groups: of_user, .. } = caller.clone();
        let caller = user.map(|user| Identity { user, groups: of_user });
        Ok(Self { configuration, partition: partition.to_owned(), conf, cluster, caller, groups })
    }

    fn tree(&self) -> Result<&Tree, String> {
        let configuration = self.configuration.as_ref().map_err(Clone::clone)?;
        configuration.tree(&self.partition).map_err(|failure| failure.to_string())
    }

    /// Answers a review.
    ///
    /// # Errors
    /// When it is not a review that can be answered.
    pub(super) fn answer(&self, kind: ReviewKind, review: Value) -> Result<Answered, Diagnostic> {
        match kind {
            ReviewKind::Admission => self.admission(review),
            _ => self.access(kind, review),
        }
    }

    fn access(&self, kind: ReviewKind, document: Value) -> Result<Answered, Diagnostic> {
        let review = SubjectAccessReview::read(&document)?;
        let user = review.user(kind, self.caller.as_ref())?;
        let answer = match (review.action(false), self.tree()) {
            (Err(elsewhere), _) => elsewhere,
            (Ok(action), Ok(tree)) => {
                let scheduler = Scheduler { tree, resolver: &*self.groups, version: self.conf.version };
                answer(&AccessRequest { partition: &self.partition, user, action }, None, scheduler)
            }
            (Ok(_), Err(why)) => Answer::undecided("configuration", &why),
        };
        let opinion = match (&answer.evaluation_error, answer.opinion) {
            (Some(_), _) => "undecided",
            (None, Opinion::Allow) => "allowed",
            (None, Opinion::Deny) => "denied",
            (None, Opinion::NoOpinion) => "no opinion",
        };
        Ok(Answered {
            row: [user.user.clone(), words(&review), opinion.to_owned(), answer.reason.clone()],
            allowed: answer.evaluation_error.is_none().then(|| answer.allowed()),
            review: filled(document, &answer),
        })
    }

    fn admission(&self, document: Value) -> Result<Answered, Diagnostic> {
        let envelope = envelope::AdmissionRequest::read(document.to_string().as_bytes());
        let envelope = envelope.map_err(|unreadable| unreadable.why)?;
        let request = admission::read(&envelope)?;
        let evaluation = evaluate(&request, &self.surroundings(&request), &self.conf);
        let (answer, allowed, reason) = match &evaluation.outcome {
            Outcome::Allowed => ("allowed", Some(true), evaluation.steps.join("; ")),
            Outcome::Denied(message) => ("denied", Some(false), message.clone()),
            Outcome::Unknown(key) => {
                ("undecided", None, format!("{key} decides, and what it holds is not known"))
            }
        };
        let operation = envelope.operation.to_lowercase();
        let what = format!("{operation} {} {}/{}", request.kind, request.namespace(), envelope.name);
        Ok(Answered {
            row: [request.user.clone(), what, answer.to_owned(), reason],
            allowed,
            review: admission::filled(document, &envelope.uid, &evaluation),
        })
    }

    fn surroundings(&self, request: &Request) -> Surroundings {
        let ReviewedCluster { namespaces, priority_classes } = &self.cluster;
        Surroundings {
            namespace_annotations: namespaces.get(request.namespace()).cloned().unwrap_or_default(),
            priority_class_annotations: priority_classes
                .get(&request.pod.priority_class)
                .cloned()
                .unwrap_or_default(),
        }
    }
}

/// Describes the question as one would type it for `kubectl auth can-i`.
fn words(review: &SubjectAccessReview) -> String {
    match (&review.resource, &review.path) {
        (Some(attributes), _) => {
            let dot = if attributes.group.is_empty() { "" } else { "." };
            let slash = if attributes.name.is_empty() { "" } else { "/" };
            format!(
                "{} {}{dot}{}{slash}{}",
                attributes.verb, attributes.resource, attributes.group, attributes.name
            )
        }
        (None, Some(path)) => format!("{} {}", path.verb, path.path),
        (None, None) => String::new(),
    }
}
