//! Finds changes that place an application in the requested queue: first changes of the application, then
//! changes of the configuration. Each is offered only after the application has been placed with it.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::slice;

use super::trace::{Landing, LandingEnd, Outcome, Placement, RuleEnd, RuleName, RuleStep, Step, Target, Why};
use super::{DEFAULT_QUEUE, Live, Placer, Submission};
use crate::alias;
use crate::change::{Case, Change};
use crate::decide::Decision;
use crate::remedy::{self, Remedy, RemedyKind, can_join, is_of_kubernetes};
use crate::tree::{GrantingEntry, Located, Tree};
use go_compat::yaml::decode::{Spanned, items};
use yunikorn::admission::request::{PARENT_QUEUE, QUEUE};
use yunikorn::config::NAME_REFUSED;
use yunikorn::config::names::{is_expression, is_user};
use yunikorn::config::schema::{self, PlacementRule};
use yunikorn::queue::{QueuePath, in_recovery, lowered, nearest};
use yunikorn::right::Right;

/// Maximum number of remedies.
const MAX: usize = 5;
/// Maximum number of changes in one remedy.
const MAX_CHANGES: usize = 4;
/// Maximum number of listed alternative queues.
const MAX_QUEUES: usize = 4;
/// Maximum number of queues tried to find alternatives.
const MAX_TRIED: usize = 100;
/// Maximum number of placements tried.
const MAX_PLACED: usize = 200;
/// The tag for the annotation [`PARENT_QUEUE`] of the namespace.
const PARENT_TAG: &str = "namespace.parentqueue";

/// A change that leads to another outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// The changes in one sentence.
    pub words: String,
    /// Lists of changes. Each list is sufficient to place the application.
    pub alternatives: Vec<Vec<Change>>,
}

/// An application that is not placed in the requested queue.
#[derive(Debug)]
pub struct Question<'a> {
    tree: &'a Tree,
    live: &'a Live,
    submission: &'a Submission,
    placement: &'a Placement,
    /// True if `YuniKorn` refuses the user's name before trying any rule.
    is_refused: bool,
    /// The required queue; `None` for any.
    goal: Option<String>,
    /// The number of placements that may still be tried.
    left: Cell<usize>,
}

/// A change that may help.
#[derive(Debug, Clone)]
struct Candidate {
    change: Change,
    words: String,
    /// The rule to examine next if the change alone does not help.
    next: usize,
}

impl Candidate {
    fn new(change: Change, words: impl Into<String>, next: usize) -> Self {
        Self { change, words: words.into(), next }
    }
}

impl<'a> Question<'a> {
    /// Returns the question for a placement made with these queues.
    pub fn new(tree: &'a Tree, live: &'a Live, submission: &'a Submission, placement: &'a Placement) -> Self {
        let goal = match &placement.outcome {
            Outcome::Placed(_) => asked(tree, live, submission),
            _ => None,
        };
        let left = Cell::new(MAX_PLACED);
        Self { tree, live, submission, placement, is_refused: false, goal, left }
    }

    /// Returns the question for a user whose name `YuniKorn` refuses.
    #[must_use]
    pub fn of_refused_user(self) -> Self {
        Self { is_refused: true, ..self }
    }

    /// Returns the remedies, with the one to try first at the beginning.
    pub fn advice(&self) -> Vec<Advice> {
        let case = self.case();
        let (case, made, placement) = if self.is_refused {
            let words = "let the user-info webhook write the name of the user, with escapes that YuniKorn \
                         accepts (docs/service-accounts.md)";
            let webhook = Candidate::new(Change::Webhook, words, 0);
            let Some(case) = case.after(slice::from_ref(&webhook.change)) else { return Vec::new() };
            let placement = Cow::Owned(self.place(&case));
            (case, vec![webhook], placement)
        } else {
            (case, Vec::new(), Cow::Borrowed(self.placement))
        };
        let steps = placement.steps.iter().enumerate();
        let of_step = |(at, step): (usize, &Step)| -> Vec<Advice> {
            let candidates = self.candidates(&case, at, step).into_iter();
            candidates.filter_map(|candidate| self.completed(&case, &made, candidate)).collect()
        };
        let found: Vec<Advice> = match &placement.outcome {
            Outcome::Placed(_) if self.is_refused => vec![Advice::new(&made)],
            Outcome::Placed(_) if self.is_reached(&placement) => Vec::new(),
            Outcome::Placed(_) => {
                let provided = steps.filter(|(_, step)| step.rule.name == RuleName::Provided);
                provided.flat_map(of_step).chain(self.provided_rule(&case)).collect()
            }
            Outcome::Undecided(_) => Vec::new(),
            Outcome::Rejected(_) | Outcome::Crashes(_) => {
                let (filtered, others): (Vec<_>, Vec<_>) = steps.partition(|(_, step)| is_filtered(step));
                let of_application = (!self.is_refused).then(|| self.other_queues(&case));
                let rule = (!self.is_refused).then(|| self.provided_rule(&case)).flatten();
                let of_steps = others.into_iter().chain(filtered).flat_map(of_step);
                of_application.flatten().into_iter().chain(rule).chain(of_steps).collect()
            }
        };
        let mut known = HashSet::new();
        found.into_iter().filter(|advice| known.insert(advice.words.clone())).take(MAX).collect()
    }

    /// Returns the first remedy for the result of one rule: an entry in an ACL, if that helps.
    pub fn first_of(&self, at: usize) -> Option<Advice> {
        if self.is_reached(self.placement) {
            return None;
        }
        let case = self.case();
        let mut candidates = self.candidates(&case, at, self.placement.steps.get(at)?);
        candidates.sort_by_key(|candidate| !matches!(candidate.change, Change::Grant { .. }));
        candidates.into_iter().find_map(|candidate| self.completed(&case, &[], candidate))
    }

    fn case(&self) -> Case<'a> {
        let Submission { identity, queue, tags, .. } = self.submission;
        Case { tags: tags.clone(), ..Case::new(Cow::Borrowed(self.tree), identity, queue) }
    }

    fn place(&self, case: &Case<'_>) -> Placement {
        if self.is_refused && !case.webhook {
            return self.placement.clone();
        }
        // In a tree with aliases, the name is escaped at the placement.
        let identity = if case.webhook && !case.tree.has_aliases() {
            alias::presented(&case.identity, |_| false)
        } else {
            case.identity.clone()
        };
        let submission = Submission {
            application_id: self.submission.application_id.clone(),
            identity,
            queue: case.queue.clone(),
            tags: case.tags.clone(),
        };
        Placer::with_live(&case.tree, self.live.clone()).place(&submission)
    }

    /// Returns whether the application would run in the requested queue after these changes.
    pub fn helps(&self, changes: &[Change]) -> bool {
        self.case().after(changes).is_some_and(|case| self.is_reached(&self.place(&case)))
    }

    /// Returns whether the application runs, and in the requested queue if it currently runs elsewhere.
    fn is_reached(&self, placement: &Placement) -> bool {
        placement.queue().is_some_and(|queue| self.goal.as_deref().is_none_or(|goal| goal == queue))
    }

    /// Applies a change, and adds the other changes it needs.
    fn completed(&self, case: &Case<'_>, made: &[Candidate], candidate: Candidate) -> Option<Advice> {
        let left = self.left.get().checked_sub(1)?;
        self.left.set(left);
        let case = case.after(slice::from_ref(&candidate.change))?;
        let placement = self.place(&case);
        let next = candidate.next;
        let made = [made, &[candidate]].concat();
        if self.is_reached(&placement) {
            return self.is_minimal(&made).then(|| Advice::new(&made));
        }
        let step = placement.steps.get(next).filter(|_| made.len() < MAX_CHANGES)?;
        let is_new = |candidate: &Candidate| !made.iter().any(|made| made.change == candidate.change);
        let mut more = self.candidates(&case, next, step).into_iter().filter(is_new);
        more.find_map(|candidate| self.completed(&case, &made, candidate))
    }

    /// Returns whether all of the changes are necessary.
    fn is_minimal(&self, made: &[Candidate]) -> bool {
        let without = |at: usize| {
            let kept = made.iter().enumerate().filter(move |(other, _)| *other != at);
            kept.map(|(_, made)| made.change.clone()).collect::<Vec<_>>()
        };
        made.len() == 1 || !(0..made.len()).any(|at| self.helps(&without(at)))
    }

    /// Returns the leaves that the user may submit to.
    fn leaves(&self) -> impl Iterator<Item = &'a str> {
        let (tree, identity) = (self.tree, &self.submission.identity);
        let can = move |id| GrantingEntry::find(tree, Right::Submit, id, identity).is_some();
        let leaves = tree.queues().filter(move |(id, node)| node.is_leaf && can(*id));
        leaves.map(|(_, node)| node.path.as_str())
    }

    /// Returns whether the application would run in this queue if it requested it.
    fn runs_in(&self, case: &Case<'_>, queue: &str) -> bool {
        let case = case.after(&[Change::Ask { queue: queue.to_owned() }]);
        case.is_some_and(|case| self.place(&case).queue() == Some(queue))
    }

    /// Suggests queues that the application would run in if it requested them.
    fn other_queues(&self, case: &Case<'_>) -> Option<Advice> {
        let open = self.leaves().take(MAX_TRIED).filter(|queue| self.runs_in(case, queue));
        let open: Vec<&str> = open.collect();
        let named = open.get(..MAX_QUEUES).unwrap_or(&open);
        let more = match open.len().saturating_sub(MAX_QUEUES) {
            0 => String::new(),
            more => format!(" or {more} others"),
        };
        let another = if self.submission.queue.is_empty() { "a" } else { "another" };
        let ask = |queue: &&str| vec![Change::Ask { queue: (*queue).to_owned() }];
        (!open.is_empty()).then(|| Advice {
            words: format!("request {another} queue (label {QUEUE}): {}{more}", named.join(", ")),
            alternatives: named.iter().map(ask).collect(),
        })
    }

    /// Suggests the rule `provided` if there are other rules, which ignore the requested queue.
    fn provided_rule(&self, case: &Case<'_>) -> Option<Advice> {
        let rules = self.tree.placement_rules();
        let provided = |name: &str| name.eq_ignore_ascii_case(RuleName::Provided.key());
        if rules.is_empty() || rules.iter().any(|rule| provided(rule.name.as_str())) {
            return None;
        }
        let rule = PlacementRule { name: RuleName::Provided.key().into(), ..PlacementRule::default() };
        let words =
            "add the rule `provided` before the others, because none of them uses the requested queue";
        let add = Candidate::new(Change::AddRule(rule), words, 0);
        let after = case.after(slice::from_ref(&add.change))?;
        if self.is_reached(&self.place(&after)) {
            return Some(Advice::new(&[add]));
        }
        if self.goal.is_some() {
            return None;
        }
        let queue = self.leaves().take(MAX_TRIED).find(|queue| self.runs_in(&after, queue))?;
        let ask = Change::Ask { queue: queue.to_owned() };
        let ask = Candidate::new(ask, format!("request queue {queue}"), 0);
        Some(Advice::new(&[add, ask]))
    }

    /// Returns changes that may lead past the result of one rule.
    fn candidates(&self, case: &Case<'_>, at: usize, step: &Step) -> Vec<Candidate> {
        match &step.landing {
            Some(landing) => self.after_landing(case, at, step, landing),
            None => self.after_rule(case, Place { at, depth: 0 }, &step.rule),
        }
    }

    fn after_landing(&self, case: &Case<'_>, at: usize, step: &Step, landing: &Landing) -> Vec<Candidate> {
        let one = match (&landing.end, &landing.target) {
            (LandingEnd::Denied, _) => return after_denial(case, at, landing),
            (LandingEnd::Fails { .. }, Target::New { above }) => {
                let ask = Change::Ask { queue: above.clone() };
                let ask = Candidate::new(ask, format!("request {above} itself"), at);
                let runs = step.rule.name == RuleName::Provided && self.runs_in(case, above);
                return runs.then_some(ask).into_iter().chain(make_parent(above, at)).collect();
            }
            (LandingEnd::Draining, _) => add_queue(case, &landing.queue, true, at).map(|add| Candidate {
                words: format!("restore {} in the configuration", landing.queue.to_ascii_lowercase()),
                ..add
            }),
            (LandingEnd::Crashes, _) => Self::rule_with(case, Place { at, depth: 0 }, |rule| {
                if step.rule.name == RuleName::Test {
                    return None;
                }
                let value = format!("root.{}", landing.queue);
                rule.value = value.as_str().into();
                Some(format!("set the value of the rule to {value}"))
            }),
            _ => None,
        };
        one.into_iter().collect()
    }

    fn after_rule(&self, case: &Case<'_>, place: Place, rule: &RuleStep) -> Vec<Candidate> {
        let at = place.at;
        let one = match (&rule.end, &rule.name) {
            (RuleEnd::NothingToGoBy, RuleName::Tag(tag)) if tag == PARENT_TAG => self.annotation(case, place),
            (RuleEnd::NoParent, _) => {
                let parent = rule.parent.as_ref();
                return parent.map_or_else(Vec::new, |parent| self.after_rule(case, place.parent(), parent));
            }
            (RuleEnd::Missing(queue), RuleName::Default) => {
                let words =
                    format!("add a queue {DEFAULT_QUEUE}, which receives applications that no rule places");
                add_queue(case, queue, true, at).map(|add| Candidate { words, ..add })
            }
            (RuleEnd::Missing(queue), name) => {
                let is_asked = *name == RuleName::Provided && place.depth == 0;
                let meant = is_asked.then(|| self.meant(case, queue, at)).flatten();
                return meant.map_or_else(|| self.missing(case, place, rule, queue), |meant| vec![meant]);
            }
            (RuleEnd::Filtered { why, .. }, _) => return Self::past_filter(case, place, rule, why),
            (RuleEnd::Fails(message), _) => match message.strip_prefix("parent rule returned a leaf queue: ")
            {
                Some(queue) => make_parent(queue, at),
                None if message == NAME_REFUSED => Self::skipped(case, place, rule),
                None => None,
            },
            _ => None,
        };
        one.into_iter().collect()
    }

    /// Suggests the intended queue for a misspelled one, if the application would run there.
    fn meant(&self, case: &Case<'_>, queue: &str, at: usize) -> Option<Candidate> {
        let near = nearest(self.leaves(), queue).filter(|near| self.runs_in(case, near))?;
        Some(Candidate::new(Change::Ask { queue: near.to_owned() }, format!("did you mean {near}?"), at))
    }

    /// Suggests configuring a queue, or letting the rule create it.
    fn missing(&self, case: &Case<'_>, place: Place, rule: &RuleStep, queue: &str) -> Vec<Candidate> {
        let at = place.at;
        if let Located::BelowLeaf(id) = case.tree.locate(queue)
            && let Some(above) = case.tree.node(id)
        {
            let path = above.path.as_str();
            let words = format!("request {path} itself, because it has no queues below it");
            let ask = Candidate::new(Change::Ask { queue: path.to_owned() }, words, at);
            return self.runs_in(case, path).then_some(ask).into_iter().collect();
        }
        let creates = Self::rule_with(case, place, |written| {
            written.create = true;
            Some(format!("let {} create queues (`create: true`)", named(place, rule)))
        });
        add_queue(case, queue, place.depth == 0, at).into_iter().chain(creates).collect()
    }

    /// Suggests the namespace annotation with a queue that places the application.
    fn annotation(&self, case: &Case<'_>, place: Place) -> Option<Candidate> {
        let candidates = case.tree.queues().map(|(_, node)| node).filter(|node| !node.path.is_root());
        let mut candidates = candidates.filter(|node| node.is_leaf == (place.depth == 0)).take(MAX_TRIED);
        let tag = |queue: &str| Change::Tag { name: PARENT_TAG.to_owned(), value: queue.to_owned() };
        let node = candidates.find(|node| {
            let after = case.after(&[tag(node.path.as_str())]);
            after.is_some_and(|after| self.is_reached(&self.place(&after)))
        })?;
        let namespace = self.submission.tag("namespace");
        let words = format!("annotate namespace {namespace} with {PARENT_QUEUE}: {}", node.path);
        Some(Candidate::new(tag(node.path.as_str()), words, place.at))
    }

    /// Suggests the groups in a filter, and an entry for the user.
    fn past_filter(case: &Case<'_>, place: Place, rule: &RuleStep, why: &Why) -> Vec<Candidate> {
        let user = &case.identity.user;
        let rules = case.tree.placement_rules();
        let Some(filter) = place.of(rules).map(|rule| &rule.filter) else { return Vec::new() };
        let of_rule = named(place, rule);
        let lists_names = |names: &[Spanned]| !names.iter().any(|name| is_expression(name.as_str()));
        let can_be_listed = is_user(user) && !is_expression(user);
        match why {
            Why::NotListed => {
                let mut groups = items(&filter.groups).iter().map(Spanned::as_str);
                let group =
                    groups.find(|group| !is_expression(group) && !is_of_kubernetes(group) && can_join(user));
                let join = group.map(|group| {
                    let words = format!("add the user to group {group}, which the filter of {of_rule} lists");
                    Candidate::new(Change::Join { group: group.to_owned() }, words, place.at)
                });
                // An expression is valid only as the single entry.
                let add = Self::rule_with(case, place, |written| {
                    let users = written.filter.users.get_or_insert_default();
                    (can_be_listed && lists_names(users)).then(|| {
                        users.push(user.as_str().into());
                        format!("list user {user} in the filter of {of_rule}")
                    })
                });
                join.into_iter().chain(add).collect()
            }
            Why::User => {
                let remove = Self::rule_with(case, place, |written| {
                    let users = written.filter.users.get_or_insert_default();
                    if !lists_names(users) {
                        return None;
                    }
                    users.retain(|name| name.as_str() != user);
                    // A `deny` filter without names denies everyone.
                    if users.is_empty() && items(&written.filter.groups).is_empty() {
                        written.filter = schema::Filter::default();
                    }
                    Some(format!("remove user {user} from the filter of {of_rule}"))
                });
                remove.into_iter().collect()
            }
            Why::Empty | Why::Group(_) => Vec::new(),
        }
    }

    /// Suggests excluding the user from a rule that fails because of the user's name.
    fn skipped(case: &Case<'_>, place: Place, rule: &RuleStep) -> Option<Candidate> {
        let user = &case.identity.user;
        if rule.name != RuleName::User || !is_user(user) || is_expression(user) {
            return None;
        }
        let skip = Self::rule_with(case, place, |written| {
            let filter = &mut written.filter;
            let is_empty = items(&filter.users).is_empty() && items(&filter.groups).is_empty();
            is_empty.then(|| {
                filter.kind = "deny".into();
                filter.users = Some(vec![user.as_str().into()]);
                format!("make {} skip user {user} with a filter of type `deny`", named(place, rule))
            })
        });
        skip.map(|skip| Candidate { next: place.at.saturating_add(1), ..skip })
    }

    /// Returns a change of one rule. The closure makes the change and returns its description.
    fn rule_with(
        case: &Case<'_>,
        place: Place,
        change: impl FnOnce(&mut PlacementRule) -> Option<String>,
    ) -> Option<Candidate> {
        let mut rule = case.tree.placement_rules().get(place.at)?.clone();
        let words = change(place.of_mut(&mut rule)?)?;
        Some(Candidate::new(Change::SetRule(place.at, rule), words, place.at))
    }
}

impl Advice {
    fn new(made: &[Candidate]) -> Self {
        let mut words = String::new();
        for (at, candidate) in made.iter().enumerate() {
            if at > 0 {
                words.push_str(", and ");
            }
            let before = at.checked_sub(1).and_then(|before| made.get(before)).map(|made| &made.change);
            match (before, &candidate.change) {
                (
                    Some(Change::AddQueue { queue: added, .. }),
                    Change::Grant { queue, right: Right::Submit, subject },
                ) if added == queue && subject.is_plain() => {
                    words.extend(["name ", &subject.to_string(), " in its submitacl"]);
                }
                _ => words.push_str(&candidate.words),
            }
        }
        let changes = made.iter().map(|made| made.change.clone()).collect();
        Self { words, alternatives: vec![changes] }
    }
}

/// The position of a rule: its index in the list, and the number of parent rules above it.
#[derive(Debug, Clone, Copy)]
struct Place {
    at: usize,
    depth: usize,
}

impl Place {
    fn parent(self) -> Self {
        Self { depth: self.depth.saturating_add(1), ..self }
    }

    fn of(self, rules: &[PlacementRule]) -> Option<&PlacementRule> {
        (0..self.depth).try_fold(rules.get(self.at)?, |rule, _| rule.parent.as_deref())
    }

    fn of_mut(self, rule: &mut PlacementRule) -> Option<&mut PlacementRule> {
        (0..self.depth).try_fold(rule, |rule, _| rule.parent.as_deref_mut())
    }
}

/// Returns the queue, in lower case, that the rule `provided` would use for the application.
fn asked(tree: &Tree, live: &Live, submission: &Submission) -> Option<String> {
    let placement = Placer::with_live(tree, live.clone()).only_provided().place(submission);
    let step = placement.steps.first().filter(|step| step.rule.name == RuleName::Provided)?;
    match (&step.landing, &step.rule.end) {
        (Some(landing), _) => Some(landing.queue.to_ascii_lowercase()),
        (None, RuleEnd::Missing(queue)) => Some(queue.to_ascii_lowercase()),
        _ => None,
    }
}

fn is_filtered(step: &Step) -> bool {
    matches!(step.rule.end, RuleEnd::Filtered { .. })
}

/// Returns `rule 2 (user)`, or its parent rule.
fn named(place: Place, rule: &RuleStep) -> String {
    let parent = if place.depth == 0 { "" } else { "the parent of " };
    format!("{parent}rule {} ({})", place.at.saturating_add(1), rule.label())
}

/// Suggests configuring the queue if it would have to be created, and then entries for the user.
fn after_denial(case: &Case<'_>, at: usize, landing: &Landing) -> Vec<Candidate> {
    let Some(decision) = &landing.decision else { return Vec::new() };
    if !matches!(landing.target, Target::Exists { configured: true }) && in_recovery(&landing.queue) {
        return Vec::new();
    }
    let own = match &landing.target {
        Target::New { above } if is_leaf(&case.tree, above) => {
            return make_parent(above, at).into_iter().collect();
        }
        Target::New { .. } => add_queue(case, &landing.queue, true, at),
        _ => None,
    };
    own.into_iter().chain(entries(&case.tree, decision, at)).collect()
}

/// Returns the first entry that would name the user, and the first group that has access.
fn entries(tree: &Tree, decision: &Decision, at: usize) -> Vec<Candidate> {
    let (joins, others): (Vec<_>, Vec<_>) =
        remedy::remedies(tree, decision).partition(|remedy| remedy.kind == RemedyKind::Join);
    let candidate = |remedy: Remedy| {
        let command = remedy.command().filter(|_| remedy.needs_webhook());
        let command = command.map(|command| format!(": `{command}`")).unwrap_or_default();
        Candidate::new(remedy.change, remedy.message + &command, at)
    };
    others.into_iter().take(1).chain(joins.into_iter().take(1)).map(candidate).collect()
}

fn is_leaf(tree: &Tree, path: &str) -> bool {
    matches!(tree.locate(path), Located::Queue(id) if tree.node(id).is_some_and(|node| node.is_leaf))
}

fn make_parent(queue: &str, at: usize) -> Option<Candidate> {
    let path = QueuePath::parse(&lowered(queue)).ok()?;
    let words =
        format!("make {path} a parent queue (`parent: true`); applications can then no longer run in it");
    Some(Candidate::new(Change::MakeParent { queue: path }, words, at))
}

fn add_queue(case: &Case<'_>, queue: &str, leaf: bool, at: usize) -> Option<Candidate> {
    let path = QueuePath::parse(&lowered(queue)).ok()?;
    let limit = match case.tree.max_applications_below(&path) {
        0 => String::new(),
        most => format!(" (with `maxapplications`, at most {most})"),
    };
    let kind = if leaf { "queue" } else { "parent queue" };
    let words = format!("add {kind} {path} to the configuration{limit}");
    Some(Candidate::new(Change::AddQueue { queue: path, leaf }, words, at))
}

#[cfg(test)]
mod tests;
