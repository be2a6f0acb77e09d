//! Decides whether `YuniKorn` will accept a workload that is being applied. The decision comes before the
//! workload is stored, so that users see the reason at once instead of `no placement rule matched` on a pod
//! later.
//!
//! This is a preview, not a security boundary: the scheduler makes the final decision. Decisions of other
//! components are left to them ([`Outcome::NotApplicable`]), and a workload is refused only if the rejection
//! is certain ([`Outcome::Refused`]).
//!
//! The request arrives after mutating webhooks, which usually include `YuniKorn`'s. If `YuniKorn`'s was not
//! called, it is replayed ([`admission::evaluate()`]), followed by the placement ([`crate::placement`]).

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decide::{sentence, visible};
use super::placement::advice::Question;
use super::placement::{
    self, LandingEnd, Live, Naming, Placement, RuleEnd, RuleName, Step, Submission, Workload, may_exist,
    place,
};
use super::running::joins::{Objection, Running};
use super::tree::Tree;
use crate::alias;
use go_compat::diag::quoted;
use yunikorn::admission::request::{APP, USER_INFO, YUNIKORN};
use yunikorn::admission::user_info::Source;
use yunikorn::admission::{
    self, Access as MaySet, Conf, Kind, Operation, Pod, Request, Submitter, Surroundings, UserInfo,
};
use yunikorn::identity::{Claim, GroupResolver, Identity, Refusal, identify};

/// The only partition that `YuniKorn`'s shim uses (k8shim `constants.go:30`).
pub const PARTITION: &str = "default";

/// What queuewarden does when someone applies a pod or a workload that YuniKorn would reject: nothing ("Off",
/// in quotes, because YAML reads the bare word as false), log a line (Audit), show a warning in kubectl
/// (Warn), or refuse it with the reason (Deny). Requires the webhook in manifests/submission. Deny refuses
/// only what YuniKorn is certain to reject and warns about the rest; YuniKorn makes the final decision in any
/// case. While the YuniKornConfig has `mode: Observe`, nothing is refused and Deny acts as Warn. Left out:
/// Off.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[schemars(inline)]
pub enum Mode {
    /// No check.
    #[default]
    Off,
    /// Log a line.
    Audit,
    /// Log a line and show a warning.
    Warn,
    /// Refuse the request.
    Deny,
}

/// The workload being applied.
#[derive(Debug, Clone, Copy)]
pub struct Applied<'a> {
    /// The request.
    pub request: &'a Request,
    /// The known state around the request, such as its namespace.
    pub surroundings: &'a Surroundings,
    /// True if it belongs to a workload that was checked before. Only the first pod of an application is
    /// checked, and users who lose a right keep what runs.
    pub owned: bool,
    /// `spec.nodeName` of a pod. If it is set, the scheduler must accept the pod.
    pub node_name: &'a str,
    /// The names in `spec.imagePullSecrets`.
    pub image_pull_secrets: &'a [String],
}

/// The context of the decision.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "the tree is large")]
pub struct World<'a> {
    /// The admission controller's keys.
    pub conf: &'a Conf,
    /// The queues of [`PARTITION`].
    pub tree: &'a Tree,
    /// The resolver of groups for requests without groups.
    pub resolver: &'a dyn GroupResolver,
    /// The running applications that it names.
    pub running: &'a Running,
}

/// The expected result for a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// There is nothing to decide.
    NotApplicable,
    /// It runs, in the queue that it names if any.
    Placed,
    /// It runs, but not in the queue that it names, because the user may not submit there.
    Elsewhere,
    /// It is rejected, unless a queue exists that is not in the configuration.
    Doubtful,
    /// It is rejected.
    Refused,
    /// The result is unknown.
    Undecided,
}

impl Outcome {
    /// Returns a label for logs and metrics.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The decision about a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The expected result.
    pub outcome: Outcome,
    /// The deciding clause, as a label for metrics.
    pub clause: &'static str,
    /// The reason, in one line of limited length without invisible characters; empty if there is nothing to
    /// report.
    pub reason: String,
    /// The submitting user; empty if not evaluated.
    pub user: String,
    /// The queue that it runs in or names; may be empty.
    pub queue: String,
}

impl Decision {
    fn new(outcome: Outcome, clause: &'static str, reason: &str) -> Self {
        let reason = visible(reason);
        Self { outcome, clause, reason, user: String::new(), queue: String::new() }
    }

    fn not_applicable(clause: &'static str) -> Self {
        Self::new(Outcome::NotApplicable, clause, "")
    }

    /// Returns that no decision is possible, with the reason.
    pub fn undecided(clause: &'static str, reason: &str) -> Self {
        Self::new(Outcome::Undecided, clause, reason)
    }

    /// Returns the decision about a request that cannot be parsed.
    pub fn unreadable(reason: &str) -> Self {
        Self::new(Outcome::Refused, "unreadable", reason)
    }

    /// Adds the submitting user.
    fn about(self, user: &str) -> Self {
        Self { user: visible(user), ..self }
    }

    /// Returns the reason if the request is refused in this mode.
    pub fn refusal(&self, mode: Mode) -> Option<&str> {
        (mode == Mode::Deny && self.outcome == Outcome::Refused).then_some(self.reason.as_str())
    }

    /// Returns the warning for the user if the request succeeds.
    pub fn warning(&self, mode: Mode) -> Option<&str> {
        let tells = matches!(mode, Mode::Warn | Mode::Deny) && self.refusal(mode).is_none();
        let reported = matches!(self.outcome, Outcome::Elsewhere | Outcome::Doubtful | Outcome::Refused);
        (tells && reported).then_some(self.reason.as_str())
    }
}

/// Returns the application that it names, or an empty text if there is none or nobody else can have it.
pub fn application(applied: &Applied<'_>) -> String {
    workload(applied, &applied.request.pod).named_application().to_owned()
}

/// Decides about a workload.
pub fn evaluate(applied: &Applied<'_>, world: World<'_>) -> Decision {
    match (applied.request.operation, &applied.request.kind) {
        (Operation::Other, _) | (_, Kind::Other(_)) | (Operation::Update, Kind::Pod) => {
            return Decision::not_applicable("kind");
        }
        (Operation::Update, _) if asks_the_same(applied) => return Decision::not_applicable("unchanged"),
        _ => {}
    }
    let evaluated = goes_to_yunikorn(applied, world.conf).and_then(|()| submitted(applied, world.conf));
    // Checked before the owners, because anyone can write an owner.
    if let Ok((_, submitter)) = &evaluated
        && let Some(refusal) = joins_others(applied, world, submitter)
    {
        return refusal;
    }
    if applied.owned {
        return Decision::not_applicable("owned");
    }
    // The pod that it reserves space for has been checked.
    if is_placeholder(applied.request, world.conf) {
        return Decision::not_applicable("placeholder");
    }
    let (pod, submitter) = match evaluated {
        Ok(evaluated) => evaluated,
        Err(decision) => return decision,
    };
    if submitter.source == Source::Nothing && applied.request.kind != Kind::Pod {
        // Its controller will submit as itself.
        return Decision::not_applicable("controller");
    }
    of_submitter(applied, world, &pod, &submitter)
}

/// Refuses a workload that names a running application of another user.
fn joins_others(applied: &Applied<'_>, world: World<'_>, submitter: &Submitter) -> Option<Decision> {
    let (user, id) = (alias::unescaped(&submitter.user), application(applied));
    let namespace = applied.request.namespace();
    if is_placeholder(applied.request, world.conf)
        && world.running.originators_user_info(&id, namespace).is_some()
    {
        return None;
    }
    let (kind, shown) = (&applied.request.kind, quoted(&user));
    let Objection { application, is_certain } = world.running.objection(&id, namespace, &user)?;
    let (outcome, and) = if is_certain {
        (Outcome::Refused, ": YuniKorn would run it in that application's queue, regardless of the ACLs")
    } else {
        (Outcome::Undecided, "")
    };
    let reason = format!("this {kind} of user {shown} names {application}{and}");
    Some(Decision::new(outcome, "application", &reason).about(&user))
}

/// Returns whether it is a placeholder that `YuniKorn` creates with an account that may set names. Its
/// admission controller writes the name of that account into it.
pub fn is_placeholder(request: &Request, conf: &Conf) -> bool {
    let Request { kind, pod, user, groups, .. } = request;
    *kind == Kind::Pod && pod.has_placeholder_flag() && conf.access.may_set_names(user, groups)
}

/// Returns whether an update keeps everything that affects the placement of the pods. If so, a running
/// application never blocks a rollout.
fn asks_the_same(applied: &Applied<'_>) -> bool {
    let Request { pod, old_pod, .. } = applied.request;
    let [now, before] = [pod, old_pod].map(|pod| workload(applied, pod));
    now.queue() == before.queue()
        && now.named_application() == before.named_application()
        && pod.annotation(USER_INFO) == old_pod.annotation(USER_INFO)
        && pod.scheduler_name == old_pod.scheduler_name
}

/// Returns a decision if the workload does not go to `YuniKorn`. Other schedulers have no ACLs.
fn goes_to_yunikorn(applied: &Applied<'_>, conf: &Conf) -> Result<(), Decision> {
    let request = applied.request;
    if request.pod.scheduler_name == YUNIKORN {
        return Ok(());
    }
    if request.pod.label(APP) == YUNIKORN {
        return Err(Decision::not_applicable("scheduler"));
    }
    match conf.filtering.processes(request.namespace(), &applied.surroundings.namespace_annotations) {
        Ok(choice) if choice.yes => Ok(()),
        Ok(_) => Err(Decision::not_applicable("scheduler")),
        Err(list) => Err(unknown_list(list)),
    }
}

/// Returns the pod as the scheduler will see it, and its submitter.
fn submitted(applied: &Applied<'_>, conf: &Conf) -> Result<(Pod, Submitter), Decision> {
    let request = applied.request;
    let mut replayed = request.clone();
    let own = UserInfo::read(request.pod.annotation(USER_INFO)).ok().filter(|given| is_own(given, request));
    if own.is_some() {
        // The admission controller or the user-info webhook has just written it. The former would refuse it
        // in a second request.
        replayed.pod.annotations.remove(USER_INFO);
    }
    let (pod, submitter) = if request.operation == Operation::Create {
        let evaluation = admission::evaluate(&replayed, applied.surroundings, conf);
        match evaluation.outcome {
            admission::Outcome::Allowed => {}
            admission::Outcome::Denied(message) => return Err(impostor(request, &message)),
            admission::Outcome::Unknown(key) => return Err(unknown_list(key)),
        }
        (evaluation.pod, evaluation.submitter)
    } else {
        changed_user_info(request, &replayed.pod, conf)?;
        (request.pod.clone(), None)
    };
    let mut submitter = submitter.unwrap_or_else(|| Submitter::from_pod(&pod, conf.version));
    if let Some(own) = own.filter(|_| submitter.user == request.user) {
        // With its escapes, without which YuniKorn may refuse the name.
        submitter.user = own.user;
    }
    Ok((pod, submitter))
}

/// Returns whether a `user.info` names the requester, with or without the escapes and aliases of the
/// user-info webhook.
fn is_own(given: &UserInfo, request: &Request) -> bool {
    let plain = |groups: &[String]| -> Vec<String> {
        groups.iter().filter(|group| !alias::is_alias(group)).cloned().collect()
    };
    (given.user == request.user || given.user == alias::escaped(&request.user))
        && plain(&given.groups) == plain(&request.groups)
}

/// Checks a changed `user.info` against the lists. The admission controller ignores updates of workloads and
/// trusts the controller that creates their pods, so it accepts every value that an update writes into a
/// template (`admission_controller.go:220-282`).
fn changed_user_info(request: &Request, without_own: &Pod, conf: &Conf) -> Result<(), Decision> {
    let given = without_own.annotation(USER_INFO);
    if conf.access.bypass_auth || given.is_empty() || given == request.old_pod.annotation(USER_INFO) {
        return Ok(());
    }
    match conf.access.is_annotation_allowed(&request.user, &request.groups) {
        MaySet::Allowed(_) => Ok(()),
        MaySet::Unknown(list) => Err(unknown_list(list)),
        MaySet::Denied => Err(impostor(request, "they are on none of the admission controller's lists")),
    }
}

fn unknown_list(key: &str) -> Decision {
    Decision::undecided("configuration", &format!("{key} decides, but its content is unknown"))
}

fn impostor(request: &Request, why: &str) -> Decision {
    let user = quoted(&request.user);
    let reason = format!("user {user} may not set {USER_INFO} of this {}: {why}", request.kind);
    Decision::new(Outcome::Refused, "user_info", &reason).about(&request.user)
}

fn workload(applied: &Applied<'_>, pod: &Pod) -> Workload {
    Workload {
        namespace: applied.request.namespace().to_owned(),
        namespace_annotations: applied.surroundings.namespace_annotations.clone(),
        pod: pod.clone(),
        node_name: applied.node_name.to_owned(),
        image_pull_secrets: applied.image_pull_secrets.to_vec(),
    }
}

/// Decides about a submitter: identifies the user and places the workload.
fn of_submitter(applied: &Applied<'_>, world: World<'_>, pod: &Pod, submitter: &Submitter) -> Decision {
    let workload = workload(applied, pod);
    let queue = workload.queue().to_owned();
    let forced = !applied.node_name.is_empty();
    let claim = Claim { forced, ..Claim::new(&submitter.user, &submitter.groups) };
    let decision = match identify(claim, world.resolver, world.conf.version) {
        Ok(identity) => of_identity(applied, world, &workload, alias::of_pod(identity)),
        Err(Refusal::Undecided(why)) => Decision::undecided("groups", &why),
        Err(refusal) => {
            let reason = refusal.describe(&submitter.user);
            Decision::new(Outcome::Refused, "user", &reason)
        }
    };
    let queue = if decision.queue.is_empty() { queue } else { decision.queue.clone() };
    Decision { queue: visible(&queue), ..decision.about(&alias::unescaped(&submitter.user)) }
}

/// Decides about the workload of an identified user, based on the rules and ACLs.
fn of_identity(applied: &Applied<'_>, world: World<'_>, workload: &Workload, identity: Identity) -> Decision {
    let unique = world.conf.filtering.generate_unique_app_id;
    let naming = if unique { Naming::PerPod } else { Naming::PerNamespace };
    let submission = workload.submission(identity, naming);
    let placement = place(world.tree, &submission);
    let user = quoted(&submission.identity.user);
    match &placement.outcome {
        placement::Outcome::Placed(queue) => {
            let decision = match placement.steps.iter().enumerate().find(|(_, step)| is_refused_request(step))
            {
                None => Decision::new(Outcome::Placed, "acl", ""),
                Some((at, step)) => {
                    let none = Live::default();
                    let question = Question::new(world.tree, &none, &submission, &placement);
                    let why = why(world.tree, &question, at, step).unwrap_or_default();
                    let replayed = quoted(&submission.queue);
                    let reason = format!(
                        "YuniKorn will run this in {queue}, not in {replayed} as requested by user {user}: {why}"
                    );
                    Decision::new(Outcome::Elsewhere, "acl", &reason)
                }
            };
            Decision { queue: queue.clone(), ..decision }
        }
        placement::Outcome::Rejected(message) => {
            let kind = &applied.request.kind;
            let why = whys(world.tree, &submission, &placement, message);
            let reason = format!("YuniKorn would reject this {kind} of user {user}: {why}");
            let doubt = placement.steps.iter().any(|step| may_exist(world.tree, step, &submission));
            let outcome = if doubt { Outcome::Doubtful } else { Outcome::Refused };
            Decision::new(outcome, clause(&placement), &reason)
        }
        placement::Outcome::Crashes(queue) => {
            let reason =
                format!("a placement rule uses queue {}, which crashes the scheduler", quoted(queue));
            Decision::new(Outcome::Undecided, "rule", &reason)
        }
        placement::Outcome::Undecided(reason) => Decision::undecided("rule", reason),
    }
}

/// Returns whether the step denies the user the queue that the workload names.
fn is_refused_request(step: &Step) -> bool {
    step.rule.name == RuleName::Provided && is_denied(step)
}

fn is_denied(step: &Step) -> bool {
    step.landing.as_ref().is_some_and(|landing| landing.end == LandingEnd::Denied)
}

/// Returns the cause of the rejection.
fn clause(placement: &Placement) -> &'static str {
    let last = placement.steps.last();
    let failed = last.is_some_and(|step| matches!(step.rule.end, RuleEnd::Fails(_)));
    let landing = last.and_then(|step| step.landing.as_ref());
    // It ends the placement, regardless of earlier denials.
    let not_made = landing.is_some_and(|landing| matches!(landing.end, LandingEnd::Fails { .. }));
    if failed || placement.inactive.is_some() {
        "rule"
    } else if !not_made && placement.steps.iter().any(is_denied) {
        "acl"
    } else {
        "queue"
    }
}

/// Describes the relevant results of the rules, or returns `YuniKorn`'s own message.
pub(super) fn whys(tree: &Tree, submission: &Submission, placement: &Placement, message: &str) -> String {
    /// Maximum number of described results.
    const MAX: usize = 3;
    let none = Live::default();
    let question = Question::new(tree, &none, submission, placement);
    let steps = placement.steps.iter().enumerate();
    let reported = steps.filter_map(|(at, step)| why(tree, &question, at, step)).take(MAX);
    let reported: Vec<String> = reported.collect();
    if reported.is_empty() { message.to_owned() } else { reported.join("; ") }
}

fn why(tree: &Tree, question: &Question<'_>, at: usize, step: &Step) -> Option<String> {
    let Some(landing) = &step.landing else {
        return match &step.rule.end {
            RuleEnd::Missing(_) if step.rule.name == RuleName::Default => None,
            RuleEnd::Missing(queue) => Some(format!("there is no queue {}", quoted(queue))),
            RuleEnd::Fails(message) => Some(message.clone()),
            _ => None,
        };
    };
    let queue = quoted(&landing.queue);
    match (&landing.end, &landing.decision) {
        (LandingEnd::Denied, Some(decision)) => {
            let help = question.first_of(at).map(|advice| format!(" (what would help: {})", advice.words));
            let why = sentence(tree, decision);
            Some(format!("they may not submit to {queue}: {why}{}", help.unwrap_or_default()))
        }
        (LandingEnd::NotALeaf, _) => {
            Some(format!("{queue} is not a leaf; applications run in the queues below it"))
        }
        (LandingEnd::Fails { message, .. }, _) => Some(message.replace('\n', ": ")),
        _ => None,
    }
}
