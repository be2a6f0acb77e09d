//! What would change the outcome: the smallest change first, from asking for another queue to rewriting rules.

use super::answer::{Asking, number};
use crate::access::check::{Denial, Outcome as Verdict};
use crate::access::placement::workload::labels::{PARENT_QUEUE, QUEUE};
use crate::access::placement::{
    Filtered, Landing, LandingEnd, Outcome, RuleEnd, RuleName, RuleStep, Step, Target,
};
use crate::access::tree::{Located, Tree};
use crate::access::what_can;
use crate::model::acl::{group_name_ok, user_name_ok};
use crate::model::identity::Identity;
use crate::model::queue::nearest;
use crate::model::right::Right;

/// As many as people read.
const MAX_REMEDIES: usize = 5;
/// How many queues to choose from are named.
const MAX_QUEUES: usize = 4;

/// In the order in which they would be tried.
pub fn remedies(asking: &Asking<'_>) -> Vec<String> {
    let steps = &asking.placement.steps;
    let mut found = Vec::new();
    match &asking.placement.outcome {
        // It runs, but where it does not ask to.
        Outcome::Placed { .. } => {
            let before = steps.split_last().map_or(&[][..], |(_, before)| before);
            for (at, step) in
                before.iter().enumerate().filter(|(_, step)| step.rule.name == RuleName::Provided)
            {
                found.extend(asking.of(at, step));
            }
        }
        Outcome::Undecided { .. } => {}
        Outcome::Rejected { .. } | Outcome::Crashes { .. } => {
            found.extend(asking.other_queues());
            for (at, step) in steps.iter().enumerate() {
                found.extend(asking.of(at, step));
            }
        }
    }
    let mut once = Vec::new();
    for remedy in found {
        if !once.contains(&remedy) {
            once.push(remedy);
        }
    }
    once.truncate(MAX_REMEDIES);
    once
}

impl Asking<'_> {
    /// Where the user may go, when there is a rule that goes by what is asked for.
    fn other_queues(&self) -> Option<String> {
        let listens = self.placement.steps.iter().any(|step| {
            step.rule.name == RuleName::Provided
                && !matches!(step.rule.filter, Filtered::Stops(_))
                && !matches!(
                    step.landing.as_ref().map(|landing| &landing.end),
                    Some(LandingEnd::Placed { .. })
                )
        });
        let tree = self.answers.tree;
        let open: Vec<&str> = what_can(tree, Right::Submit, &self.submission.identity)
            .queues()
            .filter_map(|(id, _)| tree.node(id))
            .filter(|node| node.is_leaf)
            .map(|node| node.path.as_str())
            .collect();
        if !listens || open.is_empty() {
            return None;
        }
        let shown = open.iter().take(MAX_QUEUES).copied().collect::<Vec<_>>().join(", ");
        let more = open.len().saturating_sub(MAX_QUEUES);
        let more = if more > 0 { format!(" or {more} others") } else { String::new() };
        let user = &self.submission.identity.user;
        Some(format!("ask for a queue that {user} may submit to (label {QUEUE}): {shown}{more}"))
    }

    fn of(&self, at: usize, step: &Step) -> Vec<String> {
        match &step.landing {
            Some(landing) => self.landing(landing).into_iter().collect(),
            None => self.rule(at, &step.rule),
        }
    }

    fn landing(&self, landing: &Landing) -> Option<String> {
        let queue = landing.queue.to_ascii_lowercase();
        match (&landing.end, &landing.target) {
            (LandingEnd::Denied, target) => {
                let decision = landing.decision.as_ref()?;
                let recovery = decision.outcome == Verdict::Denied(Denial::Recovery);
                let at = match target {
                    Target::New { above } if is_leaf(self.answers.tree, above) => return None,
                    Target::New { above } => above,
                    _ => &queue,
                };
                if recovery { None } else { Some(grant(&self.submission.identity, at)) }
            }
            (LandingEnd::Fails { .. }, Target::New { above }) if is_leaf(self.answers.tree, above) => {
                Some(format!("ask for {above} itself, or make it a parent queue (`parent: true`)"))
            }
            (LandingEnd::Draining, _) => Some(format!("put {queue} back into the configuration")),
            (LandingEnd::Crashes, _) => Some(format!("write root.{queue} in the rule")),
            _ => None,
        }
    }

    fn rule(&self, at: usize, rule: &RuleStep) -> Vec<String> {
        let one = match (&rule.end, &rule.name) {
            (RuleEnd::NothingToGoBy, RuleName::Tag(tag)) if tag == "namespace.parentqueue" => {
                parent_annotation(self.submission.tag("namespace"))
            }
            (RuleEnd::NoParent, _) => return self.parent(rule),
            (RuleEnd::Missing { queue }, RuleName::Default) => Some(format!(
                "add a queue {queue} that {} may submit to: it takes what no rule places",
                self.submission.identity.user
            )),
            (RuleEnd::Missing { queue }, _) => Some(self.missing(at, rule, queue)),
            (RuleEnd::Fails { message }, _) => failed(message),
            _ => None,
        };
        one.into_iter().collect()
    }

    /// What the parent rule, or one above it, lacks.
    fn parent(&self, rule: &RuleStep) -> Vec<String> {
        let Some(parent) = &rule.parent else { return Vec::new() };
        match (&parent.end, &parent.name) {
            (RuleEnd::NothingToGoBy, RuleName::Tag(tag)) if tag == "namespace.parentqueue" => {
                parent_annotation(self.submission.tag("namespace")).into_iter().collect()
            }
            (RuleEnd::NoParent, _) => self.parent(parent),
            (RuleEnd::Missing { queue }, _) => vec![format!(
                "add the parent queue {queue} to the configuration, or `create: true` to the parent rule"
            )],
            _ => Vec::new(),
        }
    }

    fn missing(&self, at: usize, rule: &RuleStep, queue: &str) -> String {
        let tree = self.answers.tree;
        let near = nearest(tree.queues().map(|(_, node)| node.path.as_str()), queue);
        if let Some(near) = near.filter(|_| rule.name == RuleName::Provided) {
            return format!("did you mean {near}?");
        }
        match number(at, rule) {
            Some(number) => {
                format!("add queue {queue} to the configuration, or `create: true` to rule {number}")
            }
            None => format!("add queue {queue} to the configuration"),
        }
    }
}

fn is_leaf(tree: &Tree, path: &str) -> bool {
    match tree.locate(path) {
        Located::Queue(id) => tree.node(id).is_some_and(|node| node.is_leaf),
        _ => false,
    }
}

/// An entry in an ACL, for a name that an ACL can hold.
fn grant(identity: &Identity, queue: &str) -> String {
    let Identity { user, groups } = identity;
    if user_name_ok(user) {
        return format!(
            "let {user} submit to {queue}: a QueueAcl with `queue: {queue}` and `submit: {{users: [{user}]}}`"
        );
    }
    match groups.iter().find(|group| group_name_ok(group)) {
        Some(group) => format!(
            "let group {group} submit to {queue}: a QueueAcl with `queue: {queue}` and `submit: {{groups: [{group}]}}`"
        ),
        None => format!(
            "let everyone submit to {queue} (`submit: {{everyone: true}}`): no ACL can name {user} or a group of it"
        ),
    }
}

fn parent_annotation(namespace: &str) -> Option<String> {
    Some(format!("annotate namespace {namespace} with {PARENT_QUEUE}"))
}

/// By `YuniKorn`'s words for it.
fn failed(message: &str) -> Option<String> {
    if let Some(queue) = message.strip_prefix("parent rule returned a leaf queue: ") {
        return Some(format!("make {queue} a parent queue (`parent: true`)"));
    }
    let names = "name a queue that can be one: letters, digits and -_#@:/, at most 64 for each level";
    message.starts_with("invalid queue name").then(|| names.to_owned())
}
