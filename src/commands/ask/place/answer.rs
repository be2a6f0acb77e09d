//! Output for programs: the outcome, and every rule that led to it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::words;
use crate::source::configuration::Text;
use queuewarden_api::answer::{About, Answers};
use yunikorn_access::Origin;
use yunikorn_access::decide;
use yunikorn_access::placement::{
    Landing, LandingEnd, Outcome, Placement, RuleEnd, RuleStep, Step, Submission,
};

/// Maximum number of levels of new queues that are listed.
const MAX_LEVELS: usize = 100;

/// The answer to `place`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaceAnswer {
    /// The configuration that was read.
    #[serde(flatten)]
    pub about: About,
    /// The user.
    pub user: String,
    /// The groups that were assumed for the user.
    pub groups: Vec<String>,
    /// The id of the application, given or generated.
    pub application_id: String,
    /// The queue that it requests; null when it requests none.
    pub asked_queue: Option<String>,
    /// Its tags, as YuniKorn derives them from the pod and its namespace.
    pub tags: BTreeMap<String, String>,
    /// The outcome.
    pub outcome: OutcomeKind,
    /// The queue it runs in; null when it is not placed.
    pub queue: Option<String>,
    /// Queues that are created for it, from the top; those above `queue` are parents.
    pub created: Vec<String>,
    /// The reason, in one sentence.
    pub reason: String,
    /// The message of YuniKorn's rejection; null when it is not rejected.
    pub message: Option<String>,
    /// Each rule that was tried, in order.
    pub rules: Vec<TriedRule>,
    /// Changes that would lead to another outcome, the smallest first.
    pub remedies: Vec<String>,
}

/// Outcome for an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum OutcomeKind {
    /// It runs.
    Placed,
    /// It is rejected.
    Rejected,
    /// The scheduler crashes.
    Crashes,
    /// It could not be decided.
    Undecided,
}

/// A rule that was tried.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RuleAnswer")]
pub struct TriedRule {
    /// Its number in the configuration, from 1; null for one that YuniKorn adds, and for a parent rule.
    pub number: Option<usize>,
    /// The rule: `provided`, `user`, `tag`, `fixed`, `test`; `recovery` and `default` are those that YuniKorn
    /// adds.
    pub rule: String,
    /// The tag of a `tag` rule, the queue of a `fixed` rule.
    pub value: Option<String>,
    /// True if it may create queues.
    pub create: bool,
    /// The location of the rule; null for one that YuniKorn adds.
    pub written_in: Option<Origin>,
    /// The rule that names the queue above; null when there is none, or it was not evaluated.
    pub parent: Option<Box<TriedRule>>,
    /// The queue that it names; null when it names none.
    pub queue: Option<String>,
    /// The result.
    pub result: RuleResult,
    /// The reason, in one sentence.
    pub reason: String,
    /// Each ACL that was evaluated.
    pub trace: Vec<decide::Step>,
}

/// Result of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum RuleResult {
    /// The application runs in its queue.
    Places,
    /// The queue it names is the parent for the rule it belongs to.
    Names,
    /// The next rule is tried.
    Passes,
    /// Nothing more is tried.
    Ends,
}

/// A question and its answer by the evaluator.
#[derive(Debug)]
pub struct Context<'a> {
    /// The source of decisions.
    pub answers: Answers<'a>,
    /// The text with the placement rules.
    pub text: &'a Text,
    /// The submitted application.
    pub submission: &'a Submission,
    /// The outcome.
    pub placement: &'a Placement,
    /// The refusal of the application before any rule is tried.
    pub refused: Option<Refused>,
    /// Changes that would lead to another outcome.
    pub remedies: Vec<String>,
}

/// The refusal of an application before any rule is tried.
#[derive(Debug, Clone, PartialEq)]
pub enum Refused {
    /// The scheduler refuses the name of the user.
    User,
    /// The admission controller refuses the pod, for this reason.
    Pod(String),
}

impl Context<'_> {
    /// Builds the answer for programs.
    pub fn answer(&self) -> PlaceAnswer {
        let Submission { application_id, identity, queue, tags } = self.submission;
        let (outcome, placed, message) = match &self.placement.outcome {
            Outcome::Placed(queue) => (OutcomeKind::Placed, Some(queue.clone()), None),
            Outcome::Rejected(message) => (OutcomeKind::Rejected, None, Some(message.clone())),
            Outcome::Crashes(_) => (OutcomeKind::Crashes, None, None),
            Outcome::Undecided(_) => (OutcomeKind::Undecided, None, None),
        };
        let created = self.placement.created().into_iter().filter(|_| outcome == OutcomeKind::Placed);
        let created = created.flat_map(|created| created.paths().take(MAX_LEVELS));
        let rules: Vec<_> =
            self.placement.steps.iter().enumerate().map(|(at, step)| self.step(at, step)).collect();
        let tags = tags.iter().filter(|(_, value)| !value.is_empty());
        PlaceAnswer {
            about: self.answers.about(),
            user: identity.user.clone(),
            groups: identity.groups.clone(),
            application_id: application_id.clone(),
            asked_queue: (!queue.is_empty()).then(|| queue.clone()),
            tags: tags.map(|(key, value)| (key.clone(), value.clone())).collect(),
            outcome,
            queue: placed,
            created: created.map(str::to_owned).collect(),
            reason: words::outcome(self, &rules),
            message,
            rules,
            remedies: self.remedies.clone(),
        }
    }

    fn step(&self, at: usize, step: &Step) -> TriedRule {
        let mut rule = self.rule_answer(&step.rule);
        rule.number = number(at, &step.rule);
        if let Some(landing) = &step.landing {
            rule.result = landed(landing);
            rule.reason = words::landing(self, landing);
            let decision = landing.decision.as_ref();
            rule.trace = decision.map(|decision| decision.steps.clone()).unwrap_or_default();
        }
        rule
    }

    fn rule_answer(&self, step: &RuleStep) -> TriedRule {
        let (queue, result) = match &step.end {
            RuleEnd::Named(queue) => (Some(queue), RuleResult::Names),
            RuleEnd::Missing(queue) => (Some(queue), RuleResult::Passes),
            RuleEnd::Fails(_) | RuleEnd::Undecided(_) => (None, RuleResult::Ends),
            _ => (None, RuleResult::Passes),
        };
        TriedRule {
            number: None,
            rule: step.name.key().to_owned(),
            value: step.name.value().map(str::to_owned),
            create: step.create,
            written_in: step.span.map(|span| Origin::Text(self.text.locate(Some(span)))),
            parent: step.parent.as_ref().map(|parent| Box::new(self.rule_answer(parent))),
            queue: queue.cloned(),
            result,
            reason: words::rule(step),
            trace: Vec::new(),
        }
    }
}

/// Returns the number of a rule that the configuration contains.
pub(super) fn number(at: usize, rule: &RuleStep) -> Option<usize> {
    rule.span.map(|_| at.saturating_add(1))
}

fn landed(landing: &Landing) -> RuleResult {
    match landing.end {
        LandingEnd::Placed(_) => RuleResult::Places,
        LandingEnd::NotALeaf | LandingEnd::Denied | LandingEnd::Draining => RuleResult::Passes,
        LandingEnd::Fails { .. } | LandingEnd::Crashes | LandingEnd::Undecided(_) => RuleResult::Ends,
    }
}
