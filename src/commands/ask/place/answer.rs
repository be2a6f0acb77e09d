//! The answer: the outcome, and every rule that led to it, for programs and for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::output::console::wrapped;
use crate::output::explanation;
use crate::output::format::{Table, visible};
use crate::source::configuration::Text;
use queuewarden_api::answer::{About, Answers};
use yunikorn::queue::ROOT;
use yunikorn_access::decide::{self, Decision, Denial};
use yunikorn_access::placement::{
    Landing, LandingEnd, Outcome, Placement, RuleEnd, RuleName, RuleStep, Step, Submission, Target, Why,
};
use yunikorn_access::{Origin, TextLocation};

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
    /// Its number in the configuration, from 1; null for parent rules and for rules that YuniKorn adds.
    pub number: Option<usize>,
    /// The rule: `provided`, `user`, `tag`, `fixed`, `test`; YuniKorn adds `recovery` and `default`.
    pub rule: String,
    /// The tag of a `tag` rule, the queue of a `fixed` rule.
    pub value: Option<String>,
    /// True if it may create queues.
    pub create: bool,
    /// The location of the rule; null for rules that YuniKorn adds.
    pub written_in: Option<Origin>,
    /// The parent rule; null if it does not exist or was not evaluated.
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
    /// The reason why the admission controller refuses the pod.
    pub refusal: Option<String>,
    /// Changes that would lead to another outcome.
    pub remedies: Vec<String>,
}

impl Context<'_> {
    /// Builds the answer for programs.
    pub fn answer(&self) -> PlaceAnswer {
        let Submission { application_id, identity, queue, tags } = self.submission;
        let placement = self.placement;
        let rules: Vec<_> =
            placement.steps.iter().enumerate().map(|(at, step)| self.step(at, step)).collect();
        let by = last_rule(placement).map(|(number, rule)| by(number, rule)).unwrap_or_default();
        let (outcome, placed, message, reason) = match &placement.outcome {
            Outcome::Placed(queue) => {
                (OutcomeKind::Placed, Some(queue.clone()), None, format!("{by} places it in {queue}"))
            }
            Outcome::Rejected(message) => {
                let reason = match (&placement.inactive, rules.last().map(|rule| rule.result)) {
                    (Some(why), _) => format!(
                        "the scheduler runs without placement rules, because it could not build those of its \
                         configuration: {why}"
                    ),
                    (None, None) => format!("YuniKorn takes no user `{}`: {message}", identity.user),
                    (None, Some(RuleResult::Ends)) => format!("{by} fails, and no other rule is tried"),
                    (None, Some(_)) => "no placement rule finds a queue for it".to_owned(),
                };
                (OutcomeKind::Rejected, None, Some(message.clone()), reason)
            }
            Outcome::Crashes(queue) => {
                let reason = format!("{by} names the queue {queue}, which is not below root");
                (OutcomeKind::Crashes, None, None, reason)
            }
            Outcome::Undecided(reason) => (OutcomeKind::Undecided, None, None, reason.clone()),
        };
        let created = placement.created().into_iter().filter(|_| outcome == OutcomeKind::Placed);
        let created = created.flat_map(|created| created.paths().take(MAX_LEVELS));
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
            reason: self.refusal.clone().unwrap_or(reason),
            message,
            rules,
            remedies: self.remedies.clone(),
        }
    }

    fn step(&self, at: usize, step: &Step) -> TriedRule {
        let mut rule = self.rule(&step.rule);
        rule.number = number(at, &step.rule);
        if let Some(landing) = &step.landing {
            (rule.result, rule.reason) = self.landing(landing);
            let decision = landing.decision.as_ref();
            rule.trace = decision.map(|decision| decision.steps.clone()).unwrap_or_default();
        }
        rule
    }

    /// Returns a rule with its queue, or with the reason for its absence.
    fn rule(&self, step: &RuleStep) -> TriedRule {
        let parent = step.parent.as_ref().map(|parent| Box::new(self.rule(parent)));
        let (result, queue, reason) = match (&step.end, &step.name) {
            (RuleEnd::Named(queue), _) => (RuleResult::Names, Some(queue), format!("it names {queue}")),
            (RuleEnd::NothingToGoBy, RuleName::Tag(tag)) => {
                (RuleResult::Passes, None, format!("the application has no tag {tag}"))
            }
            (RuleEnd::NothingToGoBy, _) => {
                (RuleResult::Passes, None, "the application asks for no queue".to_owned())
            }
            (RuleEnd::Filtered { why, filter }, _) => (RuleResult::Passes, None, filtered(why, filter)),
            (RuleEnd::NoParent, _) => {
                let why = parent.as_ref().map(|parent| parent.reason.as_str()).unwrap_or_default();
                (RuleResult::Passes, None, format!("its parent rule names no queue: {why}"))
            }
            (RuleEnd::Missing(queue), name) => {
                let default = *name == RuleName::Default;
                let no_right = if default { "" } else { ", and the rule may not create it" };
                (RuleResult::Passes, Some(queue), format!("there is no queue {queue}{no_right}"))
            }
            (RuleEnd::Fails(reason) | RuleEnd::Undecided(reason), _) => {
                (RuleResult::Ends, None, reason.clone())
            }
        };
        TriedRule {
            number: None,
            rule: step.name.key().to_owned(),
            value: step.name.value().map(str::to_owned),
            create: step.create,
            written_in: step.span.map(|span| Origin::Text(self.text.locate(Some(span)))),
            parent,
            queue: queue.cloned(),
            result,
            reason,
            trace: Vec::new(),
        }
    }

    /// Returns the result for the queue that a rule named, with the reason.
    fn landing(&self, landing: &Landing) -> (RuleResult, String) {
        let Landing { queue, target, decision, end } = landing;
        let access = decision.as_ref().map(|decision| self.answers.reason(decision));
        let passes = |reason: String| (RuleResult::Passes, reason);
        let ends = |reason: String| (RuleResult::Ends, reason);
        match (end, access) {
            (LandingEnd::Placed(Some(created)), Some(access)) => {
                (RuleResult::Places, format!("{access}; it is created below {}", created.above))
            }
            (LandingEnd::Placed(None), Some(access)) => (RuleResult::Places, access),
            (LandingEnd::Placed(_), None) => {
                let reason = "a running application has to be accepted regardless of the ACLs";
                (RuleResult::Places, reason.to_owned())
            }
            (LandingEnd::Denied, access) => {
                let not_granted = |decision: &&Decision| decision.denial == Some(Denial::NotGranted);
                let not_granted = decision.as_ref().filter(not_granted).map(denied);
                passes(not_granted.or(access).unwrap_or_default())
            }
            (LandingEnd::NotALeaf, _) => {
                passes(format!("{queue} is not a leaf; applications run in the queues below it"))
            }
            (LandingEnd::Draining, _) => {
                passes(format!("{queue} is draining: it is no longer in the configuration"))
            }
            (LandingEnd::Fails { .. }, _) => ends(match target {
                Target::New { above } => format!("{queue} cannot be created below {above}"),
                _ => format!("applications cannot run in {queue}"),
            }),
            (LandingEnd::Crashes, _) => {
                ends(format!("{queue} is not below root, which crashes the scheduler"))
            }
            (LandingEnd::Undecided(reason), _) => ends(reason.clone()),
        }
    }

    /// Formats the answer for people: the outcome, the question, each rule, and changes to another outcome.
    pub fn text(&self, width: Option<usize>) -> String {
        let answer = self.answer();
        let mut shown = self.headline(&answer);
        // Writing to a String cannot fail.
        let _ = write!(shown, "\n\n{}", facts(&answer).text(false, width));
        if !answer.rules.is_empty() {
            let _ = write!(shown, "\n{}", self.rules(&answer).text(true, width));
        }
        if let Some(message) = &answer.message {
            shown.push_str("\nYuniKorn says:\n");
            message.lines().for_each(|line| {
                let _ = writeln!(shown, "  {}", visible(line));
            });
        }
        if !answer.remedies.is_empty() {
            shown.push_str(match answer.outcome {
                OutcomeKind::Placed => "\nTo run it in the requested queue:\n",
                _ => "\nTo change the outcome:\n",
            });
            for remedy in &answer.remedies {
                let _ = writeln!(shown, "- {}", wrapped(&visible(remedy), 2, width));
            }
            if answer.remedies.iter().any(|remedy| remedy.contains("user-info webhook")) {
                shown.push_str(explanation::WEBHOOK);
            }
        }
        shown
    }

    fn headline(&self, answer: &PlaceAnswer) -> String {
        let reason = visible(&answer.reason);
        match (answer.outcome, &answer.queue) {
            (OutcomeKind::Placed, Some(queue)) => {
                let created = if answer.created.is_empty() { "" } else { ", which is created" };
                let by = match last_rule(self.placement) {
                    Some((None, RuleStep { name: RuleName::Default, .. })) => "as no rule fits".to_owned(),
                    Some((None, RuleStep { name: RuleName::Recovery, .. })) => {
                        "as it runs already".to_owned()
                    }
                    Some((None, rule)) => format!("by the rule {}", rule.name.key()),
                    Some((number, rule)) => format!("by {}", by(number, rule)),
                    None => String::new(),
                };
                format!("placed in {}{created}, {}", visible(queue), visible(&by))
            }
            (OutcomeKind::Crashes, _) => format!("the scheduler crashes: {reason}"),
            (OutcomeKind::Rejected, _) => format!("rejected: {reason}"),
            _ => format!("not decided: {reason}"),
        }
    }

    /// Builds a row for each rule.
    fn rules(&self, answer: &PlaceAnswer) -> Table {
        let mut table = Table::new(["#", "RULE", "AT", "QUEUE", "RESULT"]);
        for (rule, step) in answer.rules.iter().zip(&self.placement.steps) {
            let number = rule.number.map(|number| number.to_string()).unwrap_or_default();
            let written_in = rule.written_in.as_ref().map(|place| line(place, answer)).unwrap_or_default();
            let result = match rule.result {
                RuleResult::Places => "placed",
                RuleResult::Ends => "ends",
                RuleResult::Names | RuleResult::Passes => "skipped",
            };
            let result = format!("{result}: {}", rule.reason);
            let queue = rule.queue.as_deref().unwrap_or("-");
            table.row([&number, &step.rule.label(), &written_in, queue, &result]);
        }
        table
    }
}

/// Returns the number of a rule that the configuration contains.
fn number(at: usize, rule: &RuleStep) -> Option<usize> {
    rule.span.map(|_| at.saturating_add(1))
}

/// Returns the last rule that was tried, with its number.
fn last_rule(placement: &Placement) -> Option<(Option<usize>, &RuleStep)> {
    placement.steps.iter().enumerate().next_back().map(|(at, step)| (number(at, &step.rule), &step.rule))
}

/// Returns the name of a rule in a sentence: `rule 2 (user)`.
fn by(number: Option<usize>, rule: &RuleStep) -> String {
    match (number, &rule.name) {
        (Some(number), _) => format!("rule {number} ({})", rule.label()),
        (None, RuleName::Provided) => {
            "the rule `provided`, which YuniKorn has when none is configured".to_owned()
        }
        (None, RuleName::Recovery) => "the rule for applications that run already".to_owned(),
        (None, _) => "the fallback for what no rule places".to_owned(),
    }
}

fn filtered(why: &Why, filter: &str) -> String {
    match why {
        Why::User => format!("its filter ({filter}) stops the user"),
        Why::Group(group) => format!("its filter ({filter}) stops group {group}"),
        Why::Empty => "its filter denies, and without names that is everyone".to_owned(),
        Why::NotListed => format!("its filter ({filter}) does not match the user or a group of the user"),
    }
}

/// Explains a denial. The user is shown above the rules and left out here, but a near miss is mentioned.
fn denied(decision: &Decision) -> String {
    let nearest = decision.steps.first().map(|step| step.queue.as_str()).unwrap_or_default();
    let way = if nearest == ROOT { "of root".to_owned() } else { format!("from {nearest} up to root") };
    let near = decision.steps.iter().find_map(|step| {
        let miss = step.near_misses.first()?;
        Some(format!("; the {} of {} is close: {}", step.acl.key(), step.queue, miss.message))
    });
    format!("no ACL {way} names the user or a group{}", near.unwrap_or_default())
}

fn facts(answer: &PlaceAnswer) -> Table {
    let mut table = Table::new(["", ""]);
    let tag = |name: &str| answer.tags.get(name).map(String::as_str);
    table.row(["user", &answer.user]);
    table.row(["groups", &answer.groups.join(", ")]);
    table.row(["namespace", tag("namespace").unwrap_or_default()]);
    if let Some(parent) = tag("namespace.parentqueue") {
        table.row(["parent queue", &format!("{parent} (tag namespace.parentqueue)")]);
    }
    table.row(["asks for", answer.asked_queue.as_deref().unwrap_or("no queue")]);
    table.row(["in", &explanation::location(&answer.about)]);
    table
}

/// Formats a location. Within the main text of the answer, the line is enough.
fn line(place: &Origin, answer: &PlaceAnswer) -> String {
    match place {
        Origin::Text(TextLocation { name, line: Some(line), .. }) if **name == *answer.about.source => {
            format!("line {line}")
        }
        _ => place.words(),
    }
}
