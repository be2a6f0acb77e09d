//! Finds how long a right is held before and after a change.
//!
//! Time is a list of steps. The first one is now, each further one begins when a grant begins or ends, and
//! the last one does not end. Each step has a set of queues, and the right is held on them during the step.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::decide::in_words;
use crate::queue_set::QueueSet;

/// The period of a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, JsonSchema)]
#[schemars(rename = "PeriodAnswer")]
pub struct Period {
    /// The beginning; null if the right begins now or has begun already.
    pub from: Option<Timestamp>,
    /// The end; null if the right does not end.
    pub until: Option<Timestamp>,
}

/// The periods of a right before and after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, JsonSchema)]
pub struct Periods {
    /// The period of the right without the change; null for a gained right. A right whose period becomes
    /// longer or shorter has both periods.
    pub before: Option<Period>,
    /// The period of the right with the change; null for a lost right.
    pub after: Option<Period>,
}

impl Periods {
    /// Returns whether the right is held both before and after the change, but for a longer or shorter time.
    pub fn is_moved(&self) -> bool {
        self.before.is_some() && self.after.is_some()
    }

    /// Formats the beginning if it is later than the change or moves: `2026-12-01T00:00:00Z`, or the old and
    /// the new one with an arrow between them.
    pub fn from(&self) -> Option<String> {
        self.edge(|period| period.from, "now")
    }

    /// Formats the end like [`Self::from`]. If a right is lost at once, its former end is omitted.
    pub fn until(&self) -> Option<String> {
        let lost_now = self.after.is_none() && self.before.is_some_and(|before| before.from.is_none());
        if lost_now { None } else { self.edge(|period| period.until, "never") }
    }

    fn edge(&self, of: impl Fn(&Period) -> Option<Timestamp>, none: &str) -> Option<String> {
        let words = |at: Option<Timestamp>| at.map_or_else(|| none.to_owned(), in_words);
        match (self.before.as_ref().map(&of), self.after.as_ref().map(&of)) {
            (Some(before), Some(after)) if before != after => {
                Some(format!("{} → {}", words(before), words(after)))
            }
            (_, Some(at)) | (Some(at), None) => at.map(in_words),
            (None, None) => None,
        }
    }
}

/// Formats as ` from 2026-12-01T00:00:00Z until 2026-12-08T00:00:00Z`; empty for a right without a beginning
/// and an end.
impl fmt::Display for Periods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.from().iter().try_for_each(|from| write!(f, " from {from}"))?;
        self.until().iter().try_for_each(|until| write!(f, " until {until}"))
    }
}

/// Successive steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    /// The first step.
    pub first: usize,
    /// The first step after the span; `None` if the span includes the last step.
    pub end: Option<usize>,
}

impl Span {
    fn contains(self, step: usize) -> bool {
        self.first <= step && self.end.is_none_or(|end| step < end)
    }

    /// Returns the values of the steps in the span.
    pub(super) fn of<T>(self, steps: &[T]) -> &[T] {
        steps.get(self.first..self.end.unwrap_or(steps.len())).unwrap_or_default()
    }
}

/// A change: the span of the right in `from`, and its span in `to`.
pub(super) type Spans = (Option<Span>, Option<Span>);

/// Returns the queues of each change from `from` to `to`, each with the span of the change. `more` contains
/// the queues with the right only in `to`. If the right is held in both just before or just after such a
/// span, the change has the spans of both, and the right is held for longer. If it is held in both before and
/// after, the change closes a gap and has only the span of the gap.
pub(super) fn changes(
    more: &[QueueSet],
    from: &[QueueSet],
    to: &[QueueSet],
) -> BTreeMap<Spans, Vec<(Span, QueueSet)>> {
    let (of_from, of_to) = (spans(from), spans(to));
    let in_both: Vec<QueueSet> = from.iter().zip(to).map(|(from, to)| from.and(to)).collect();
    let mut found: BTreeMap<Spans, Vec<(Span, QueueSet)>> = BTreeMap::new();
    for (span, queues) in spans(more) {
        let mut add = |spans, queues: QueueSet| {
            if !queues.is_empty() {
                found.entry(spans).or_default().push((span, queues));
            }
        };
        let both = |step: Option<usize>| {
            let sets = step.and_then(|step| from.get(step).zip(to.get(step)));
            sets.map(|(from, to)| queues.and(from).and(to)).unwrap_or_default()
        };
        let before = span.first.checked_sub(1);
        let (left, right) = (both(before), both(span.end));
        let gap = left.and(&right);
        add((None, Some(span)), queues.minus(&left.or(&right)).or(&gap));
        for (touching, step) in [(left.minus(&gap), before), (right.minus(&gap), span.end)] {
            for (was, part) in step.into_iter().flat_map(|step| around(&of_from, step, &touching)) {
                for (is, part) in around(&of_to, span.first, &part) {
                    for (was, is, part) in between_gaps(was, is, part, &in_both) {
                        // The edges may belong to a gap that is longer than this span.
                        let differ = if step == before { was.end != is.end } else { was.first != is.first };
                        add(if differ { (Some(was), Some(is)) } else { (None, Some(span)) }, part);
                    }
                }
            }
        }
    }
    found
}

/// Splits two overlapping spans where a gap of one of them begins or ends, because a gap is a separate
/// change. `in_both` contains the queues with the right in both.
fn between_gaps(
    was: Span,
    is: Span,
    queues: QueueSet,
    in_both: &[QueueSet],
) -> impl Iterator<Item = (Span, Span, QueueSet)> {
    let end = |span: Span| span.end.unwrap_or(in_both.len());
    let (first, last) = (was.first.max(is.first), if end(was) < end(is) { was.end } else { is.end });
    let any = |range: Range<usize>| {
        let sets = in_both.get(range).unwrap_or_default();
        sets.iter().fold(QueueSet::default(), |any, set| any.or(set))
    };
    let earlier = any(was.first.min(is.first)..first);
    let later = any(end(was).min(end(is))..end(was).max(end(is)));
    let cut = move |span: Span, early, late| Span {
        first: if early { first } else { span.first },
        end: if late { last } else { span.end },
    };
    let cases = [(false, false), (false, true), (true, false), (true, true)];
    cases.into_iter().map(move |(early, late)| {
        let part = if early { queues.and(&earlier) } else { queues.minus(&earlier) };
        let part = if late { part.and(&later) } else { part.minus(&later) };
        (cut(was, early, late), cut(is, early, late), part)
    })
}

/// Returns the spans around a step, each with its queues of a set.
fn around<'s>(
    spans: &'s [(Span, QueueSet)],
    step: usize,
    queues: &'s QueueSet,
) -> impl Iterator<Item = (Span, QueueSet)> {
    spans.iter().filter(move |(span, _)| span.contains(step)).map(|(span, of)| (*span, of.and(queues)))
}

/// Returns the longest spans of steps, each with the queues that are in all of their sets.
fn spans(sets: &[QueueSet]) -> Vec<(Span, QueueSet)> {
    let mut found = Vec::new();
    let mut open: Vec<(usize, QueueSet)> = Vec::new();
    for (step, set) in sets.iter().enumerate() {
        let mut going_on = QueueSet::default();
        let mut next = Vec::new();
        for (first, queues) in open {
            let (ended, stays) = (queues.minus(set), queues.and(set));
            going_on = going_on.or(&stays);
            found.push((Span { first, end: Some(step) }, ended));
            next.push((first, stays));
        }
        next.push((step, set.minus(&going_on)));
        next.retain(|(_, queues)| !queues.is_empty());
        open = next;
    }
    found.extend(open.into_iter().map(|(first, queues)| (Span { first, end: None }, queues)));
    found.retain(|(_, queues)| !queues.is_empty());
    found
}
