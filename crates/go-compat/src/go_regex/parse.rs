//! Go's grammar of regular expressions (`regexp/syntax/parse.go` `parse`, flags `Perl`).

use regex_syntax::hir::ClassUnicode;

use crate::diag::{Diagnostic, Span};

use super::error::{self, GoError};
use super::group::{self, Flags, Opening};
use super::input::Input;
use super::repeat::{self, Counts, MAX_COUNT};
use super::syntax::{Expr, Look};
use super::unicode::{self, Unknown};
use super::{MAX_DEPTH, class, escape};

/// Parses a pattern; errors come in the order in which Go finds them, from left to right.
pub(super) fn parse(pattern: &str) -> Result<Expr, Diagnostic> {
    let mut parser = Parser {
        input: Input::new(pattern),
        flags: Flags::default(),
        level: Level::default(),
        open: Vec::new(),
        last_repetition: None,
    };
    while let Some(c) = parser.input.peek() {
        parser.step(c)?;
    }
    parser.finish()
}

struct Parser<'p> {
    input: Input<'p>,
    flags: Flags,
    /// The innermost group that is being read, or the whole.
    level: Level,
    /// The groups around it, outermost first.
    open: Vec<OpenGroup>,
    /// Where the repetition operator begins that was read just before, if that is what was read.
    last_repetition: Option<usize>,
}

/// A group whose end has not been read.
struct OpenGroup {
    at: usize,
    flags_before: Flags,
    level_before: Level,
}

/// What has been read of one group.
#[derive(Default)]
struct Level {
    alternatives: Vec<Expr>,
    sequence: Vec<Expr>,
}

impl Level {
    fn end_alternative(&mut self) {
        let sequence = std::mem::take(&mut self.sequence);
        self.alternatives.push(Expr::concat(sequence));
    }

    fn into_expr(self) -> Expr {
        Expr::alternate(self.alternatives, Expr::concat(self.sequence))
    }
}

impl Parser<'_> {
    /// Reads one element; `c` is its first character.
    fn step(&mut self, c: char) -> Result<(), Diagnostic> {
        let start = self.input.at();
        let mut repetition = None;
        match c {
            '(' => self.open_group()?,
            ')' => self.close_group()?,
            '|' => {
                self.input.next();
                self.level.end_alternative();
            }
            '^' => self.look(if self.flags.multi_line { Look::LineStart } else { Look::TextStart }),
            '$' => self.look(if self.flags.multi_line { Look::LineEnd } else { Look::TextEnd }),
            '.' => {
                self.input.next();
                self.push(Expr::class(any_character(self.flags.dot_matches_newline)));
            }
            '[' => {
                let class = class::bracketed(&mut self.input, self.flags.fold_case)?;
                self.push(Expr::class(class));
            }
            '*' | '+' | '?' => {
                self.input.next();
                let (min, max) = match c {
                    '*' => (0, None),
                    '+' => (1, None),
                    _ => (0, Some(1)),
                };
                self.repeat(start, |sub| sub.repeat(min, max))?;
                repetition = Some(start);
            }
            '{' => match repeat::counts(&mut self.input) {
                Some(counts) => {
                    self.repeat_counted(start, counts)?;
                    repetition = Some(start);
                }
                None => self.literal()?,
            },
            '\\' => self.escape()?,
            _ => self.literal()?,
        }
        self.last_repetition = repetition;
        Ok(())
    }

    fn push(&mut self, expr: Expr) {
        self.level.sequence.push(expr);
    }

    /// Reads a character and takes it literally.
    fn literal(&mut self) -> Result<(), Diagnostic> {
        let start = self.input.at();
        self.input.next().map_or(Ok(()), |c| self.push_literal(c, start))
    }

    /// Takes `c`, which was read since `start`, literally.
    fn push_literal(&mut self, c: char, start: usize) -> Result<(), Diagnostic> {
        let expr = if self.flags.fold_case {
            folded_literal(c)
                .map_err(|_| error::unproven_class(self.input.since(start), self.input.span_since(start)))?
        } else {
            Expr::literal(c)
        };
        self.push(expr);
        Ok(())
    }

    /// Reads a character that asserts something.
    fn look(&mut self, look: Look) {
        self.input.next();
        self.push(Expr::look(look));
    }

    fn open_group(&mut self) -> Result<(), Diagnostic> {
        let at = self.input.at();
        match group::opening(&mut self.input, self.flags)? {
            Opening::SetFlags(flags) => self.flags = flags,
            Opening::Group(_) if self.open.len() >= MAX_DEPTH => {
                return Err(error::too_deep(self.input.span_since(at)));
            }
            Opening::Group(flags) => {
                let level_before = std::mem::take(&mut self.level);
                self.open.push(OpenGroup { at, flags_before: self.flags, level_before });
                self.flags = flags;
            }
        }
        Ok(())
    }

    fn close_group(&mut self) -> Result<(), Diagnostic> {
        let at = self.input.at();
        self.input.next();
        let Some(group) = self.open.pop() else {
            return Err(GoError::UnexpectedParen.quoting(self.input.whole(), self.input.span_since(at)));
        };
        let content = std::mem::replace(&mut self.level, group.level_before);
        self.flags = group.flags_before;
        self.push(content.into_expr().grouped());
        Ok(())
    }

    /// Applies the repetition operator read since `start` to the element before it.
    fn repeat(&mut self, start: usize, apply: impl FnOnce(Expr) -> Expr) -> Result<(), Diagnostic> {
        // `*?` is the lazy form: the same matches exist.
        self.input.eat("?");
        if let Some(before) = self.last_repetition {
            return Err(GoError::RepeatOp.quoting(self.input.since(before), self.input.span_since(before)));
        }
        let Some(sub) = self.level.sequence.pop() else {
            return Err(
                GoError::MissingRepeatArgument.quoting(self.input.since(start), self.input.span_since(start))
            );
        };
        self.push(apply(sub));
        Ok(())
    }

    fn repeat_counted(&mut self, start: usize, counts: Counts) -> Result<(), Diagnostic> {
        if !counts.are_valid() {
            return Err(GoError::RepeatSize.quoting(self.input.since(start), self.input.span_since(start)));
        }
        self.repeat(start, |sub| sub.counted(counts.min, counts.max))?;
        if self.level.sequence.last().is_some_and(|expr| expr.repetitions() > MAX_COUNT) {
            return Err(GoError::RepeatSize.quoting(self.input.since(start), self.input.span_since(start)));
        }
        Ok(())
    }

    /// Reads what a backslash begins.
    fn escape(&mut self) -> Result<(), Diagnostic> {
        let look = match self.input.peek_second() {
            Some('A') => Look::TextStart,
            Some('z') => Look::TextEnd,
            Some('b') => Look::WordBoundary,
            Some('B') => Look::NotWordBoundary,
            Some('Q') => return self.quoted(),
            _ => return self.escaped_character(),
        };
        self.input.eat("\\");
        self.look(look);
        Ok(())
    }

    fn escaped_character(&mut self) -> Result<(), Diagnostic> {
        if let Some(class) = class::escaped(&mut self.input, self.flags.fold_case)? {
            self.push(Expr::class(class));
            return Ok(());
        }
        let start = self.input.at();
        let c = escape::character(&mut self.input)?;
        self.push_literal(c, start)
    }

    /// Reads `\Q…\E`; without `\E` to the end.
    fn quoted(&mut self) -> Result<(), Diagnostic> {
        let start = self.input.at();
        self.input.eat("\\Q");
        let quoted = self.input.take_until("\\E").unwrap_or_else(|| self.input.take_rest());
        quoted.chars().try_for_each(|c| self.push_literal(c, start))
    }

    fn finish(self) -> Result<Expr, Diagnostic> {
        match self.open.last() {
            Some(group) => {
                let paren = Span::new(group.at, group.at.saturating_add(1));
                Err(GoError::MissingParen.quoting(self.input.whole(), paren))
            }
            None => Ok(self.level.into_expr()),
        }
    }
}

fn folded_literal(c: char) -> Result<Expr, Unknown> {
    let class = unicode::folded(class::characters(c, c))?;
    Ok(match class.ranges() {
        [only] if only.start() == only.end() => Expr::literal(c),
        _ => Expr::class(class),
    })
}

fn any_character(newline_too: bool) -> ClassUnicode {
    let mut class = if newline_too { ClassUnicode::empty() } else { class::characters('\n', '\n') };
    class.negate();
    class
}
