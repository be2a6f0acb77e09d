//! The tree a pattern is parsed into.
//!
//! It holds only what a yes-or-no search needs: groups, names and greediness are gone, case folding is spelled out in classes.

use regex_syntax::hir::ClassUnicode;

use super::Anchors;

/// How many ranges of a class are one step.
const RANGES_PER_STEP: usize = 8;

/// One expression, with the two sums that limits are about.
#[derive(Debug, Clone)]
pub(super) struct Expr {
    kind: Kind,
    /// Steps, never fewer than the instructions Go counts (`parse.go` `calcSize`): alternations are taken as written, not factored,
    /// every group as a capturing one, and large classes are more than one, as compiling them takes its time.
    size: u32,
    /// The largest product of nested counted repetitions in it.
    repetitions: u32,
}

/// What an [`Expr`] is.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    Empty,
    Literal(char),
    Class(ClassUnicode),
    Look(Look),
    Concat(Vec<Expr>),
    Alternate(Vec<Expr>),
    Repeat { sub: Box<Expr>, min: u32, max: Option<u32> },
}

/// An assertion that consumes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordBoundary,
    NotWordBoundary,
}

impl Expr {
    fn leaf(kind: Kind) -> Self {
        Self { kind, size: 1, repetitions: 1 }
    }

    pub(super) fn literal(c: char) -> Self {
        Self::leaf(Kind::Literal(c))
    }

    pub(super) fn class(class: ClassUnicode) -> Self {
        let size = u32::try_from(class.ranges().len() / RANGES_PER_STEP).unwrap_or(u32::MAX);
        Self { size: size.max(1), ..Self::leaf(Kind::Class(class)) }
    }

    pub(super) fn look(look: Look) -> Self {
        Self::leaf(Kind::Look(look))
    }

    /// `parts` one after the other; no parts match the empty text.
    pub(super) fn concat(mut parts: Vec<Self>) -> Self {
        match (parts.pop(), parts.is_empty()) {
            (None, _) => Self::leaf(Kind::Empty),
            (Some(only), true) => only,
            (Some(last), false) => {
                parts.push(last);
                Self::of_parts(Kind::Concat, parts, 0)
            }
        }
    }

    /// Any one of `first` and `others`.
    pub(super) fn alternate(mut others: Vec<Self>, last: Self) -> Self {
        if others.is_empty() {
            return last;
        }
        let bars = u32::try_from(others.len()).unwrap_or(u32::MAX);
        others.push(last);
        Self::of_parts(Kind::Alternate, others, bars)
    }

    fn of_parts(kind: fn(Vec<Self>) -> Kind, parts: Vec<Self>, extra: u32) -> Self {
        let size = parts.iter().fold(extra, |sum, part| sum.saturating_add(part.size));
        let repetitions = parts.iter().map(|part| part.repetitions).max().unwrap_or(1);
        Self { kind: kind(parts), size, repetitions }
    }

    /// The expression in a group.
    pub(super) fn grouped(mut self) -> Self {
        self.size = self.size.saturating_add(2);
        self
    }

    /// The expression `min` to `max` times, written with `*`, `+` or `?`.
    pub(super) fn repeat(self, min: u32, max: Option<u32>) -> Self {
        Self {
            size: self.size.saturating_add(2),
            repetitions: self.repetitions,
            kind: Kind::Repeat { sub: Box::new(self), min, max },
        }
    }

    /// The expression `min` to `max` times, written with braces.
    pub(super) fn counted(self, min: u32, max: Option<u32>) -> Self {
        let copies = max.unwrap_or(min);
        Self {
            size: self.size.saturating_add(1).saturating_mul(copies).saturating_add(2),
            // A part that occurs zero times does not count, one without upper bound counts as often as it must occur.
            repetitions: match (max, copies) {
                (Some(0), _) => 1,
                (_, 0) => self.repetitions,
                _ => self.repetitions.saturating_mul(copies),
            },
            kind: Kind::Repeat { sub: Box::new(self), min, max },
        }
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.kind
    }

    pub(super) fn size(&self) -> u32 {
        self.size
    }

    pub(super) fn repetitions(&self) -> u32 {
        self.repetitions
    }

    /// How its matches are tied to the ends of the text.
    pub(super) fn anchors(&self) -> Anchors {
        let split = match &self.kind {
            Kind::Alternate(parts) => match (parts.first(), parts.last()) {
                (Some(first), Some(last)) => {
                    first.starts_at_start()
                        && !first.ends_at_end()
                        && last.ends_at_end()
                        && !last.starts_at_start()
                }
                _ => false,
            },
            _ => false,
        };
        Anchors { start: self.starts_at_start(), end: self.ends_at_end(), split }
    }

    fn starts_at_start(&self) -> bool {
        match &self.kind {
            Kind::Look(look) => *look == Look::TextStart,
            Kind::Concat(parts) => parts.first().is_some_and(Self::starts_at_start),
            Kind::Alternate(parts) => parts.iter().all(Self::starts_at_start),
            Kind::Repeat { sub, min, .. } => *min > 0 && sub.starts_at_start(),
            Kind::Empty | Kind::Literal(_) | Kind::Class(_) => false,
        }
    }

    fn ends_at_end(&self) -> bool {
        match &self.kind {
            Kind::Look(look) => *look == Look::TextEnd,
            Kind::Concat(parts) => parts.last().is_some_and(Self::ends_at_end),
            Kind::Alternate(parts) => parts.iter().all(Self::ends_at_end),
            Kind::Repeat { sub, min, .. } => *min > 0 && sub.ends_at_end(),
            Kind::Empty | Kind::Literal(_) | Kind::Class(_) => false,
        }
    }
}
