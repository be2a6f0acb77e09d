//! Sentences of an answer.

use super::answer::{Context, Refused, RuleResult, TriedRule, number};
use yunikorn::queue::ROOT;
use yunikorn_access::decide::{Decision, Denial};
use yunikorn_access::placement::{
    Landing, LandingEnd, Outcome, Placement, RuleEnd, RuleName, RuleStep, Step, Target, Why,
};

/// Returns the reason for the outcome after these rules.
pub(super) fn outcome(context: &Context<'_>, rules: &[TriedRule]) -> String {
    let placement = context.placement;
    if let Some(Refused::Pod(reason)) = &context.refused {
        return reason.clone();
    }
    match &placement.outcome {
        Outcome::Placed(queue) => format!("{} places it in {queue}", by(placement)),
        Outcome::Rejected(_) if placement.inactive.is_some() => {
            let why = placement.inactive.as_deref().unwrap_or_default();
            format!(
                "the scheduler runs without placement rules, because it could not build those of its \
                 configuration: {why}"
            )
        }
        Outcome::Rejected(message) => match rules.last().map(|rule| rule.result) {
            None => format!("YuniKorn takes no user `{}`: {message}", context.submission.identity.user),
            Some(RuleResult::Ends) => format!("{} fails, and no other rule is tried", by(placement)),
            Some(_) => "no placement rule finds a queue for it".to_owned(),
        },
        Outcome::Crashes(queue) => {
            format!("{} names the queue {queue}, which is not below root", by(placement))
        }
        Outcome::Undecided(reason) => reason.clone(),
    }
}

/// Returns the name of the last rule in a sentence: `rule 2 (user)`.
fn by(placement: &Placement) -> String {
    let Some((at, Step { rule, .. })) = placement.steps.iter().enumerate().next_back() else {
        return String::new();
    };
    match (number(at, rule), &rule.name) {
        (Some(number), _) => format!("rule {number} ({})", rule.label()),
        (None, RuleName::Provided) => {
            "the rule `provided`, which YuniKorn has when none is configured".to_owned()
        }
        (None, RuleName::Recovery) => "the rule for applications that run already".to_owned(),
        (None, _) => "the fallback for what no rule places".to_owned(),
    }
}

/// Returns the queue that a rule names, or the reason why it names none.
pub fn rule(step: &RuleStep) -> String {
    match &step.end {
        RuleEnd::Named(queue) => format!("it names {queue}"),
        RuleEnd::NothingToGoBy => match &step.name {
            RuleName::Tag(tag) => format!("the application has no tag {tag}"),
            _ => "the application asks for no queue".to_owned(),
        },
        RuleEnd::Filtered { why, filter } => filtered(why, filter),
        RuleEnd::NoParent => {
            let why = step.parent.as_deref().map(rule).unwrap_or_default();
            format!("its parent rule names no queue: {why}")
        }
        RuleEnd::Missing(queue) if step.name == RuleName::Default => format!("there is no queue {queue}"),
        RuleEnd::Missing(queue) => {
            format!("there is no queue {queue}, and the rule may not create it")
        }
        RuleEnd::Fails(message) => message.clone(),
        RuleEnd::Undecided(reason) => reason.clone(),
    }
}

fn filtered(why: &Why, filter: &str) -> String {
    match why {
        Why::User => format!("its filter ({filter}) stops the user"),
        Why::Group(group) => format!("its filter ({filter}) stops group {group}"),
        Why::Empty => "its filter denies, and without names that is everyone".to_owned(),
        Why::NotListed => format!("its filter ({filter}) names neither the user nor a group of the user"),
    }
}

/// Returns the result for the queue that a rule named.
pub fn landing(context: &Context<'_>, landing: &Landing) -> String {
    let queue = &landing.queue;
    let access = landing.decision.as_ref().map(|decision| context.answers.reason(decision));
    match &landing.end {
        LandingEnd::Placed(created) => match (access, created) {
            (Some(access), Some(created)) => format!("{access}; it is created below {}", created.above),
            (Some(access), None) => access,
            (None, _) => {
                "an application that runs already has to be accepted, whatever the ACLs say".to_owned()
            }
        },
        LandingEnd::Denied => match &landing.decision {
            Some(decision) if decision.denial == Some(Denial::NotGranted) => denied(decision),
            _ => access.unwrap_or_default(),
        },
        LandingEnd::NotALeaf => format!("{queue} is no leaf: applications run in the queues below it"),
        LandingEnd::Draining => format!("{queue} is draining: it is no longer in the configuration"),
        LandingEnd::Fails { .. } => match &landing.target {
            Target::New { above } => format!("{queue} cannot be created below {above}"),
            _ => format!("applications cannot run in {queue}"),
        },
        LandingEnd::Crashes => format!("{queue} is not below root, which crashes the scheduler"),
        LandingEnd::Undecided(reason) => reason.clone(),
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
