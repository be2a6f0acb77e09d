//! The checks, each with what came of it.

use std::cell::OnceCell;
use std::sync::Arc;

use super::{Case, Expectations, Place, Placing, Reason};
use crate::check::{Decision, decide, explain};
use crate::placement::{Naming, Outcome, Placement, Placer};
use crate::submission::whys;
use crate::tree::{Located, Tree};
use go_compat::diag::quoted;
use yunikorn::identity::{Claim, GroupResolver, Identity, Refusal, identify};
use yunikorn::queue::{QueuePath, nearest};
use yunikorn::right::Right;
use yunikorn::version::Version;

/// What expectations are judged by.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The queues of each partition.
    pub trees: &'a [Tree],
    /// Where groups come from when nobody names them.
    pub resolver: &'a dyn GroupResolver,
    /// Why a decision is as it is: [`sentence`](fn@crate::sentence::sentence), or that and where it is written.
    pub explain: &'a dyn Fn(&Tree, &Decision) -> String,
}

impl std::fmt::Debug for World<'_> {
    /// The trees are large.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}

/// One subject and one question, with what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check<'e> {
    /// The case's place in the list.
    pub index: usize,
    /// The case.
    pub case: &'e Case,
    /// Who, as it is written.
    pub subject: &'e Identity,
    /// What is expected.
    pub question: Question<'e>,
    /// What came of it.
    pub verdict: Verdict,
}

/// What is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question<'e> {
    /// That a right is allowed, or denied.
    Right {
        /// Which right.
        right: Right,
        /// On which queue, as written.
        queue: &'e str,
        /// Whether it is to be allowed.
        allowed: bool,
    },
    /// Where an application runs.
    Placement(&'e Placing),
}

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is as expected.
    Passed,
    /// It is otherwise, and why.
    Failed(Reason),
    /// It cannot be known, and why.
    Undecided(String),
}

impl Verdict {
    /// Whether it is as expected.
    pub fn passed(&self) -> bool {
        *self == Self::Passed
    }

    /// Why it is not a pass.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Failed(reason) => Some(reason.as_str()),
            Self::Undecided(reason) => Some(reason),
        }
    }
}

/// How many checks ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// As expected.
    pub passed: usize,
    /// Otherwise.
    pub failed: usize,
    /// Not known.
    pub undecided: usize,
}

impl Tally {
    /// Counts.
    pub fn of(checks: &[Check<'_>]) -> Self {
        let count = |of: fn(&Verdict) -> bool| checks.iter().filter(|check| of(&check.verdict)).count();
        Self {
            passed: count(Verdict::passed),
            failed: count(|verdict| matches!(verdict, Verdict::Failed(_))),
            undecided: count(|verdict| matches!(verdict, Verdict::Undecided(_))),
        }
    }

    /// All of them.
    pub fn all(self) -> usize {
        self.passed.saturating_add(self.failed).saturating_add(self.undecided)
    }
}

/// Checks everything: case by case, subject by subject, rights before placements, in the order in which they are written.
pub fn run<'e>(expectations: &'e Expectations, world: World<'_>) -> Vec<Check<'e>> {
    let partition = &expectations.partition;
    let tree = world.trees.iter().find(|tree| tree.partition().eq_ignore_ascii_case(partition));
    let judge = tree.map(|tree| Judge { tree, paths: OnceCell::new(), placer: Placer::new(tree), world });
    let judge = judge.ok_or_else(|| Reason::from(no_partition(world.trees, partition)));
    let mut checks = Vec::with_capacity(expectations.size().min(super::MAX_CHECKS));
    for (index, case) in expectations.cases.iter().enumerate() {
        for subject in &case.subjects {
            let judge = judge.as_ref().map(|judge| (judge, judge.identify(subject)));
            for question in questions(case) {
                let verdict = match &judge {
                    Ok((judge, who)) => judge.verdict(case, question, who),
                    Err(why) => Verdict::Failed(Reason::clone(why)),
                };
                checks.push(Check { index, case, subject, question, verdict });
            }
        }
    }
    checks
}

fn questions(case: &Case) -> impl Iterator<Item = Question<'_>> {
    let rights = case.rights().map(|(right, queue, allowed)| Question::Right { right, queue, allowed });
    rights.chain(case.placements.iter().map(Question::Placement))
}

fn no_partition(trees: &[Tree], partition: &str) -> String {
    let names = trees.iter().map(Tree::partition);
    let hint = nearest(names, partition).map(|near| format!("; did you mean {}?", quoted(near)));
    format!("there is no partition {}{}", quoted(partition), hint.unwrap_or_default())
}

/// A subject as the scheduler sees it.
enum Who {
    /// Somebody.
    Known(Identity),
    /// Nobody whom the scheduler takes anything from, in its words.
    Refused(String),
    /// It cannot be known which groups they are in.
    Unknown(String),
}

struct Judge<'t> {
    tree: &'t Tree,
    /// What its queues are called, for reasons that are read when it is gone.
    paths: OnceCell<Arc<[QueuePath]>>,
    placer: Placer<'t>,
    world: World<'t>,
}

impl Judge<'_> {
    fn identify(&self, subject: &Identity) -> Who {
        match identify(Claim::new(&subject.user, &subject.groups), self.world.resolver, Version::default()) {
            Ok(identity) => Who::Known(identity),
            Err(Refusal::Undecided(why)) => Who::Unknown(format!("{why}: write the groups of the subject")),
            Err(refusal) => Who::Refused(refusal.of(&subject.user)),
        }
    }

    fn verdict(&self, case: &Case, question: Question<'_>, who: &Who) -> Verdict {
        if let Question::Right { queue, .. } = question
            && let Some(verdict) = self.unknown_queue(case, queue)
        {
            return verdict;
        }
        let identity = match who {
            Who::Known(identity) => identity,
            Who::Unknown(why) => return Verdict::Undecided(why.clone()),
            Who::Refused(why) => return refused(question, why),
        };
        match question {
            Question::Right { right, queue, allowed } => self.right(right, queue, allowed, identity),
            Question::Placement(placing) => self.placement(placing, identity),
        }
    }

    fn right(&self, right: Right, queue: &str, allowed: bool, identity: &Identity) -> Verdict {
        if decide(self.tree, right, queue, identity).allowed() == allowed {
            return Verdict::Passed;
        }
        let decision = explain(self.tree, right, queue, identity);
        Verdict::Failed((self.world.explain)(self.tree, &decision).into())
    }

    /// A check that passes although nobody has such a queue proves nothing.
    fn unknown_queue(&self, case: &Case, queue: &str) -> Option<Verdict> {
        let Located::Below(above) = self.tree.locate(queue) else { return None };
        if case.dynamic {
            return None;
        }
        let all = || self.tree.queues().map(|(_, node)| node.path.clone()).collect();
        let paths = Arc::clone(self.paths.get_or_init(all));
        let (above, queue) = (self.tree.node(above).map(|node| node.path.clone()), queue.to_owned());
        Some(Verdict::Failed(Reason::later(move || not_configured(&paths, &queue, above.as_ref()))))
    }

    fn placement(&self, placing: &Placing, identity: &Identity) -> Verdict {
        let submission = placing.workload.submission(identity.clone(), Naming::default());
        let placement = self.placer.place(&submission);
        match (&placement.outcome, &placing.expected) {
            (Outcome::Undecided { reason }, _) => Verdict::Undecided(reason.clone()),
            (Outcome::Crashes { queue }, _) => Verdict::Failed(
                format!("a placement rule names {}, which crashes the scheduler", quoted(queue)).into(),
            ),
            (Outcome::Placed { queue }, Place::In(wanted)) if queue.eq_ignore_ascii_case(wanted) => {
                Verdict::Passed
            }
            (Outcome::Rejected { .. }, Place::Nowhere) => Verdict::Passed,
            (Outcome::Placed { queue }, _) => {
                let reason = self.why(&placement, "");
                let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                Verdict::Failed(format!("it runs in {queue}{because}").into())
            }
            (Outcome::Rejected { message }, Place::In(_)) => {
                Verdict::Failed(format!("it is rejected: {}", self.why(&placement, message)).into())
            }
        }
    }

    fn why(&self, placement: &Placement, message: &str) -> String {
        whys(self.tree, placement, message)
    }
}

/// A queue that was perhaps meant, or how to say that there is to be none. `above` decides for it.
fn not_configured(queues: &[QueuePath], queue: &str, above: Option<&QueuePath>) -> String {
    let near = nearest(queues, queue);
    let hint = match near.filter(|near| Some(*near) != above) {
        Some(near) => format!("; did you mean {near}?"),
        None => "; where placement rules create it, write `dynamic: true` in the case".to_owned(),
    };
    format!("{} is not configured{hint}", quoted(queue))
}

/// Somebody whom the scheduler refuses may do nothing, and their applications run nowhere.
fn refused(question: Question<'_>, why: &str) -> Verdict {
    let as_expected = match question {
        Question::Right { allowed, .. } => !allowed,
        Question::Placement(placing) => placing.expected == Place::Nowhere,
    };
    if as_expected { Verdict::Passed } else { Verdict::Failed(why.to_owned().into()) }
}
