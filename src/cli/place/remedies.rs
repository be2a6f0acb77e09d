//! Changes that would lead to another outcome: first those in the application itself, then those in the
//! configuration.

use std::collections::HashSet;

use super::answer::{Context, number};
use super::words;
use yunikorn::admission::request::{PARENT_QUEUE, QUEUE};
use yunikorn::queue::{in_recovery, nearest};
use yunikorn::right::Right;
use yunikorn_access::check::decide;
use yunikorn_access::placement::{
    Landing, LandingEnd, Outcome, RuleEnd, RuleName, RuleStep, Step, Submission, Target,
};
use yunikorn_access::tree::{Located, Tree};
use yunikorn_access::{GrantingEntry, Remedy, remedy};

/// Maximum number of remedies.
const MAX_REMEDIES: usize = 5;
/// Maximum number of alternative queues that are named.
const MAX_QUEUES: usize = 4;
/// Maximum number of queues that are tried to find those.
const MAX_TRIED: usize = 100;
/// The tag of the annotation [`PARENT_QUEUE`] of the namespace.
const PARENT_TAG: &str = "namespace.parentqueue";

/// Returns the remedies in the order in which to try them.
pub fn remedies(context: &Context<'_>) -> Vec<String> {
    let steps = context.placement.steps.iter().enumerate();
    let remedies: Vec<String> = match &context.placement.outcome {
        // It runs, but perhaps not in the requested queue.
        Outcome::Placed(_) => steps
            .filter(|(_, step)| step.rule.name == RuleName::Provided)
            .flat_map(|(at, step)| context.remedies(at, step))
            .chain(context.no_rule_listens())
            .collect(),
        Outcome::Undecided(_) => Vec::new(),
        Outcome::Rejected(_) if context.placement.steps.is_empty() => vec![before_rules(context)],
        Outcome::Rejected(_) | Outcome::Crashes(_) => {
            let (filters, others): (Vec<_>, Vec<_>) = steps.partition(|(_, step)| is_filtered(step));
            let others = others.into_iter().chain(filters);
            let in_configuration = others.flat_map(|(at, step)| context.remedies(at, step));
            let in_application = context.other_queues().into_iter().chain(context.no_rule_listens());
            in_application.chain(in_configuration).collect()
        }
    };
    let mut known = HashSet::new();
    remedies.into_iter().filter(|remedy| known.insert(remedy.clone())).take(MAX_REMEDIES).collect()
}

/// Returns the remedy if no rule was tried: there are no rules, or the user's name is invalid.
fn before_rules(context: &Context<'_>) -> String {
    match &context.placement.inactive {
        Some(reason) => format!("correct the rules: {reason}"),
        None => "let user.info carry a name that YuniKorn takes: a letter or `_`, then letters, digits and \
            :#/_.@-"
            .to_owned(),
    }
}

fn is_filtered(step: &Step) -> bool {
    matches!(step.rule.end, RuleEnd::Filtered { .. })
}

impl Context<'_> {
    fn tree(&self) -> &Tree {
        self.answers.tree
    }

    fn user(&self) -> &str {
        &self.submission.identity.user
    }

    /// Returns the leaves that the ACLs let the user submit to.
    fn leaves(&self) -> Vec<&str> {
        let identity = &self.submission.identity;
        let can = |id| GrantingEntry::find(self.tree(), Right::Submit, id, identity).is_some();
        let leaves = self.tree().queues().filter(|(id, node)| node.is_leaf && can(*id));
        leaves.map(|(_, node)| node.path.as_str()).collect()
    }

    /// Returns whether the application would run in this queue if it requested it.
    fn runs_in(&self, queue: &str) -> bool {
        let submission = Submission { queue: queue.to_owned(), ..self.submission.clone() };
        self.placer.place(&submission).queue() == Some(queue)
    }

    /// Returns queues that the application would run in if it requested them; each was tried.
    fn other_queues(&self) -> Option<String> {
        let open = self.leaves().into_iter().take(MAX_TRIED);
        let open: Vec<&str> = open.filter(|queue| self.runs_in(queue)).collect();
        let shown = open.iter().take(MAX_QUEUES).copied().collect::<Vec<_>>().join(", ");
        let more = open.len().saturating_sub(MAX_QUEUES);
        let more = if more > 0 { format!(" or {more} others") } else { String::new() };
        let another = if self.submission.queue.is_empty() { "a" } else { "another" };
        (!open.is_empty()).then(|| format!("ask for {another} queue (label {QUEUE}): {shown}{more}"))
    }

    /// Suggests the rule `provided` if it would help: with rules, but without that one, the requested queue
    /// is ignored.
    fn no_rule_listens(&self) -> Option<String> {
        let rules = self.tree().placement_rules();
        let provided = |name: &str| name.eq_ignore_ascii_case(RuleName::Provided.key());
        let listens = rules.is_empty() || rules.iter().any(|rule| provided(rule.name.as_str()));
        (!listens && self.provided_helps())
            .then(|| "add the rule `provided`: no other goes by the queue that is asked for".to_owned())
    }

    /// Returns whether `provided` alone would place it, and in another queue than now.
    fn provided_helps(&self) -> bool {
        let placement = self.placer.only_provided().place(self.submission);
        let landing = placement.steps.first().and_then(|step| step.landing.as_ref());
        landing.is_some_and(|landing| matches!(landing.end, LandingEnd::Placed(_)))
            && placement.queue() != self.placement.queue()
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
                Some(if self.runs_in(above) {
                    format!("ask for {above} itself, or make it a parent queue (`parent: true`)")
                } else {
                    make_parent(above)
                })
            }
            (LandingEnd::Draining, _) => Some(format!("put {queue} back into the configuration")),
            (LandingEnd::Crashes, _) => Some(format!("write root.{queue} in the rule")),
            _ => None,
        };
        one.into_iter().collect()
    }

    /// Returns remedies for a denial. A queue that would have to be created can get an ACL of its own
    /// instead, if it is configured.
    fn after_denial(&self, landing: &Landing) -> Vec<String> {
        let Some(decision) = &landing.decision else { return Vec::new() };
        let configured = matches!(landing.target, Target::Exists { configured: true, .. });
        if !configured && in_recovery(&landing.queue) {
            return Vec::new();
        }
        let own = match &landing.target {
            Target::New { above } if is_leaf(self.tree(), above) => return Vec::new(),
            Target::New { .. } => self.add(&landing.queue),
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
            (RuleEnd::Missing(queue), RuleName::Default) => Some(format!(
                "add a queue {queue} that {} may submit to: it takes what no rule places",
                self.user()
            )),
            (RuleEnd::Missing(queue), RuleName::Provided) => self.like(queue),
            (RuleEnd::Missing(queue), _) => self.add(queue),
            (RuleEnd::Filtered { .. }, _) => number(at, rule).map(|number| {
                let (rule, user) = (words::label(rule), self.user());
                format!("let the filter of rule {number} ({rule}) pass {user}, so that the rule is tried")
            }),
            (RuleEnd::Fails(message), _) => after_failure(message),
            _ => None,
        }
    }

    /// Suggests a queue with a similar name, in which the application would run, if the requested one does
    /// not exist.
    fn like(&self, queue: &str) -> Option<String> {
        let near = nearest(self.leaves(), queue).filter(|near| self.runs_in(near));
        near.map_or_else(|| self.add(queue), |near| Some(format!("did you mean {near}?")))
    }

    fn add(&self, queue: &str) -> Option<String> {
        // Nobody may submit to it, with any configuration.
        if in_recovery(queue) {
            return None;
        }
        if let Located::BelowLeaf(id) = self.tree().locate(queue)
            && let Some(above) = self.tree().node(id)
        {
            let path = above.path.as_str();
            return self.runs_in(path).then(|| format!("ask for {path} itself: it has no queues below it"));
        }
        let may = decide(self.tree(), Right::Submit, queue, &self.submission.identity).allowed();
        let named = if may { String::new() } else { format!(", and name {} in its submitacl", self.user()) };
        Some(format!("add queue {queue} to the configuration{named}"))
    }
}

fn is_leaf(tree: &Tree, path: &str) -> bool {
    matches!(tree.locate(path), Located::Queue(id) if tree.node(id).is_some_and(|node| node.is_leaf))
}

fn make_parent(queue: &str) -> String {
    format!("make {queue} a parent queue (`parent: true`)")
}

/// Returns a remedy by `YuniKorn`'s message.
fn after_failure(message: &str) -> Option<String> {
    if let Some(queue) = message.strip_prefix("parent rule returned a leaf queue: ") {
        return Some(make_parent(queue));
    }
    let names = "name a queue that can be one: letters, digits and -_#@:/, at most 64 for each level";
    message.starts_with("invalid queue name").then(|| names.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewarden_api::answer::{Answers, Texts};
    use yunikorn::identity::Identity;
    use yunikorn_access::placement::Placer;
    use yunikorn_access::testing::parsed;

    #[derive(Debug)]
    struct NoLocations;

    impl Texts for NoLocations {
        fn name(&self) -> &'static str {
            "here"
        }
    }

    const QUEUES: &str = "    queues:
      - name: root
        queues:
          - name: prod
            submitacl: bob
          - name: team
            submitacl: sue
            queues: [{name: etl}]
          - name: open
            submitacl: sue
";

    /// Returns the remedies for an application of sue that requests this queue, under these rules.
    fn reported(rules: &str, queue: &str) -> Vec<String> {
        let rules = if rules.is_empty() { String::new() } else { format!("    placementrules: [{rules}]\n") };
        let tree = parsed(&format!("partitions:\n  - name: default\n{rules}{QUEUES}"));
        let submission = Submission {
            application_id: "app".to_owned(),
            identity: Identity { user: "sue".to_owned(), groups: Vec::new() },
            queue: queue.to_owned(),
            ..Submission::default()
        };
        let placer = Placer::new(&tree);
        let placement = placer.place(&submission);
        let answers = Answers { configuration: &NoLocations, tree: &tree };
        remedies(&Context { answers, placer: &placer, submission: &submission, placement: &placement })
    }

    fn says(reported: &[String], beginning: &str) -> bool {
        reported.iter().any(|remedy| remedy.starts_with(beginning))
    }

    #[test]
    fn a_queue_is_taken_for_the_one_that_was_meant_only_if_the_application_would_run_there() {
        assert!(says(&reported("", "root.opne"), "did you mean root.open?"));
        // A parent queue; a queue of others.
        for queue in ["root.tem", "root.prdo"] {
            let reported = reported("", queue);
            assert!(!says(&reported, "did you mean"), "{reported:?}");
            let add = format!("add queue {queue} to the configuration, and name sue in its submitacl");
            assert!(reported.contains(&add), "{reported:?}");
        }
    }

    #[test]
    fn the_queue_above_is_offered_only_if_the_application_would_run_there() {
        assert!(says(
            &reported("", "root.open.below"),
            "ask for root.open itself: it has no queues below it"
        ));
        assert!(!says(&reported("", "root.prod.below"), "ask for root.prod itself"));
        let create = "{name: provided, create: true}";
        assert!(says(
            &reported(create, "root.open.below"),
            "ask for root.open itself, or make it a parent queue"
        ));
    }

    #[test]
    fn the_rule_that_listens_is_offered_only_where_it_would_help() {
        for (rules, queue, helps) in [
            ("{name: fixed, value: root.prod}", "root.open", true),
            ("{name: fixed, value: root.prod}", "open", true),
            ("{name: tag, value: namespace}", "root.team.etl", true),
            ("{name: fixed, value: root.team.etl}", "root.open", true),
            // It runs there already, or would not even then.
            ("{name: fixed, value: root.open}", "root.open", false),
            ("{name: fixed, value: root.prod}", "root.prod", false),
            ("{name: fixed, value: root.prod}", "root.team", false),
            ("{name: fixed, value: root.prod}", "root.none", false),
            ("{name: fixed, value: root.open}", "root.none", false),
            ("{name: fixed, value: root.prod}", "", false),
            ("{name: provided}", "root.prod", false),
        ] {
            let reported = reported(rules, queue);
            assert_eq!(says(&reported, "add the rule `provided`"), helps, "{rules} {queue}: {reported:?}");
        }
    }

    #[test]
    fn nothing_opens_the_recovery_queue() {
        for rules in ["", "{name: provided, create: true}", "{name: fixed, value: root.prod}"] {
            for queue in ["root.@recovery@", "root.@Recovery@", "root.@recovery@.x"] {
                let reported = reported(rules, queue);
                let recovery = reported.iter().find(|remedy| remedy.to_lowercase().contains("@recovery@"));
                assert_eq!(recovery, None, "{rules} {queue}");
                assert!(
                    !says(&reported, "add the rule") && !says(&reported, "add queue"),
                    "{rules} {queue}: {reported:?}"
                );
                let root = reported.iter().find(|remedy| remedy.contains("of queue root,"));
                assert_eq!(root, None, "{rules} {queue}");
            }
        }
    }
}
