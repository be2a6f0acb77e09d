//! What would change the outcome: first what the application itself can do, then what it would take in the configuration.

use super::answer::{Asking, number};
use super::words;
use crate::access::check::decide;
use crate::access::placement::workload::labels::{PARENT_QUEUE, QUEUE};
use crate::access::placement::{
    Landing, LandingEnd, Outcome, RuleEnd, RuleName, RuleStep, Step, Submission, Target,
};
use crate::access::tree::{Located, Tree};
use crate::access::{Remedy, remedy, what_can};
use crate::model::queue::nearest;
use crate::model::right::Right;

/// As many as people read.
const MAX_REMEDIES: usize = 5;
/// How many queues to choose from are named.
const MAX_QUEUES: usize = 4;
/// How many queues are tried to find those.
const MAX_TRIED: usize = 100;
/// The tag that the annotation [`PARENT_QUEUE`] of the namespace becomes.
const PARENT_TAG: &str = "namespace.parentqueue";

/// In the order in which they would be tried.
pub fn remedies(asking: &Asking<'_>) -> Vec<String> {
    let steps = asking.placement.steps.iter().enumerate();
    let found: Vec<String> = match &asking.placement.outcome {
        // It runs, but perhaps not where it asks to.
        Outcome::Placed { .. } => steps
            .filter(|(_, step)| step.rule.name == RuleName::Provided)
            .flat_map(|(at, step)| asking.remedies(at, step))
            .chain(asking.no_rule_listens())
            .collect(),
        Outcome::Undecided { .. } => Vec::new(),
        Outcome::Rejected { .. } if asking.placement.steps.is_empty() => vec![before_rules(asking)],
        Outcome::Rejected { .. } | Outcome::Crashes { .. } => {
            let (filters, others): (Vec<_>, Vec<_>) = steps.partition(|(_, step)| is_filtered(step));
            let others = others.into_iter().chain(filters);
            let in_configuration = others.flat_map(|(at, step)| asking.remedies(at, step));
            let asked = asking.other_queues().into_iter().chain(asking.no_rule_listens());
            asked.chain(in_configuration).collect()
        }
    };
    let mut once = Vec::new();
    for remedy in found {
        if !once.contains(&remedy) {
            once.push(remedy);
        }
    }
    once.truncate(MAX_REMEDIES);
    once
}

/// Where no rule was tried: there are none, or there cannot be such a user.
fn before_rules(asking: &Asking<'_>) -> String {
    match &asking.placement.inactive {
        Some(reason) => format!("correct the rules: {reason}"),
        None => "let user.info carry a name that YuniKorn takes: a letter or `_`, then letters, digits and :#/_.@-".to_owned(),
    }
}

fn is_filtered(step: &Step) -> bool {
    step.rule.end == RuleEnd::Filtered
}

impl Asking<'_> {
    fn tree(&self) -> &Tree {
        self.answers.tree
    }

    fn user(&self) -> &str {
        &self.submission.identity.user
    }

    /// Queues that the application would run in if it asked for them; each was tried.
    fn other_queues(&self) -> Option<String> {
        let can = what_can(self.tree(), Right::Submit, &self.submission.identity);
        let leaves = can.queues().filter_map(|(id, _)| self.tree().node(id)).filter(|node| node.is_leaf);
        let open: Vec<&str> = leaves
            .map(|node| node.path.as_str())
            .take(MAX_TRIED)
            .filter(|queue| {
                let asking = Submission { queue: (*queue).to_owned(), ..self.submission.clone() };
                self.placer.place(&asking).queue() == Some(*queue)
            })
            .collect();
        let shown = open.iter().take(MAX_QUEUES).copied().collect::<Vec<_>>().join(", ");
        let more = open.len().saturating_sub(MAX_QUEUES);
        let more = if more > 0 { format!(" or {more} others") } else { String::new() };
        let another = if self.submission.queue.is_empty() { "a" } else { "another" };
        (!open.is_empty()).then(|| format!("ask for {another} queue (label {QUEUE}): {shown}{more}"))
    }

    /// With rules, but without `provided`, nobody reads the queue that an application asks for.
    fn no_rule_listens(&self) -> Option<String> {
        let rules = self.tree().placement_rules();
        let provided = |name: &str| name.eq_ignore_ascii_case(RuleName::Provided.key());
        let listens = rules.is_empty() || rules.iter().any(|rule| provided(rule.name.as_str()));
        (!listens && !self.submission.queue.is_empty())
            .then(|| "add the rule `provided`: no other goes by the queue that is asked for".to_owned())
    }

    fn remedies(&self, at: usize, step: &Step) -> Vec<String> {
        match &step.landing {
            Some(landing) => self.after_landing(landing),
            None => self.after_rule(at, &step.rule).into_iter().collect(),
        }
    }

    fn after_landing(&self, landing: &Landing) -> Vec<String> {
        let queue = landing.queue.to_ascii_lowercase();
        let one = match (&landing.end, &landing.target) {
            (LandingEnd::Denied, _) => return self.after_denial(landing),
            (LandingEnd::Fails { .. }, Target::New { above }) if is_leaf(self.tree(), above) => {
                Some(format!("ask for {above} itself, or make it a parent queue (`parent: true`)"))
            }
            (LandingEnd::Draining, _) => Some(format!("put {queue} back into the configuration")),
            (LandingEnd::Crashes, _) => Some(format!("write root.{queue} in the rule")),
            _ => None,
        };
        one.into_iter().collect()
    }

    /// A queue that would have to be made can have an ACL of its own instead, if it is configured.
    fn after_denial(&self, landing: &Landing) -> Vec<String> {
        let Some(decision) = &landing.decision else { return Vec::new() };
        let own = match &landing.target {
            Target::New { above } if is_leaf(self.tree(), above) => return Vec::new(),
            Target::New { .. } => Some(self.add(&landing.queue)),
            _ => None,
        };
        let remedies = remedy::remedies(self.tree(), decision);
        let join = |remedy: &&Remedy| matches!(remedy, Remedy::Join { .. });
        let grants = [remedies.iter().find(|remedy| !join(remedy)), remedies.iter().find(join)];
        own.into_iter().chain(grants.into_iter().flatten().map(ToString::to_string)).collect()
    }

    fn after_rule(&self, at: usize, rule: &RuleStep) -> Option<String> {
        match (&rule.end, &rule.name) {
            (RuleEnd::NothingToGoBy, RuleName::Tag(tag)) if tag == PARENT_TAG => {
                let namespace = self.submission.tag("namespace");
                Some(format!("annotate namespace {namespace} with {PARENT_QUEUE}"))
            }
            (RuleEnd::NoParent, _) => rule.parent.as_ref().and_then(|parent| self.after_rule(at, parent)),
            (RuleEnd::Missing { queue }, RuleName::Default) => Some(format!(
                "add a queue {queue} that {} may submit to: it takes what no rule places",
                self.user()
            )),
            (RuleEnd::Missing { queue }, RuleName::Provided) => Some(self.like(queue)),
            (RuleEnd::Missing { queue }, _) => Some(self.add(queue)),
            (RuleEnd::Filtered, _) => number(at, rule).map(|number| {
                let (rule, user) = (words::label(rule), self.user());
                format!("let the filter of rule {number} ({rule}) pass {user}, so that the rule is tried")
            }),
            (RuleEnd::Fails { message }, _) => after_failure(message),
            _ => None,
        }
    }

    /// A queue that does not exist was perhaps misspelled.
    fn like(&self, queue: &str) -> String {
        let near = nearest(self.tree().queues().map(|(_, node)| node.path.as_str()), queue);
        near.map_or_else(|| self.add(queue), |near| format!("did you mean {near}?"))
    }

    fn add(&self, queue: &str) -> String {
        if let Located::Below(id) = self.tree().locate(queue)
            && let Some(above) = self.tree().node(id).filter(|above| above.is_leaf)
        {
            return format!("ask for {} itself: it has no queues below it", above.path);
        }
        let may = decide(self.tree(), Right::Submit, queue, &self.submission.identity).allowed();
        let named = if may { String::new() } else { format!(", and name {} in its submitacl", self.user()) };
        format!("add queue {queue} to the configuration{named}")
    }
}

fn is_leaf(tree: &Tree, path: &str) -> bool {
    match tree.locate(path) {
        Located::Queue(id) => tree.node(id).is_some_and(|node| node.is_leaf),
        _ => false,
    }
}

/// By `YuniKorn`'s words for it.
fn after_failure(message: &str) -> Option<String> {
    if let Some(queue) = message.strip_prefix("parent rule returned a leaf queue: ") {
        return Some(format!("make {queue} a parent queue (`parent: true`)"));
    }
    let names = "name a queue that can be one: letters, digits and -_#@:/, at most 64 for each level";
    message.starts_with("invalid queue name").then(|| names.to_owned())
}
