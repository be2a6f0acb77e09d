//! The parts of a pattern that mean the same to Go and to the `regex` crate.

use regex_syntax::ast::{
    AssertionKind, Ast, ClassPerl, ClassPerlKind, ClassSet, ClassSetItem, Flag, Flags, FlagsItemKind, Group,
    GroupKind, HexLiteralKind, Literal, LiteralKind, Repetition, RepetitionKind, RepetitionRange,
    Span as AstSpan,
};

use super::error::{
    INVALID_COUNT, INVALID_ESCAPE, INVALID_NAME, INVALID_PERL, NESTED_REPETITION, READ_DIFFERENTLY, TOO_DEEP,
    TOO_LARGE, UNPROVEN_CLASS, refusal, span_of,
};
use super::prepare::BRACE;
use super::{MAX_DEPTH, MAX_SIZE};
use crate::diag::{Code, Diagnostic, Span};

/// Limits a count and the product of counts that are nested, as Go does.
const MAX_COUNT: usize = 1000;

/// The last of the Latin letters, whose cases are the same in every version of Unicode. Go has another
/// version than the `regex` crate.
const LAST_STABLE: char = '\u{17F}';

/// Returns the pattern with its ASCII classes spelled out.
pub(super) fn spell_out(pattern: &str, ast: &Ast) -> Result<String, Diagnostic> {
    let mut speller =
        Speller { pattern, spelled_out: String::new(), copied: 0, depth: 0, folds: false, unstable: None };
    let counted = speller.part(ast)?;
    if counted.saturating_mul(pattern.len()) > MAX_SIZE {
        return Err(refusal(TOO_LARGE, pattern, Span::new(0, pattern.len())));
    }
    if let Some(span) = speller.unstable.filter(|_| speller.folds) {
        return Err(refusal(READ_DIFFERENTLY, pattern, span));
    }
    speller.copy_until(pattern.len());
    Ok(speller.spelled_out)
}

/// Spells out the ASCII classes of one pattern.
struct Speller<'p> {
    pattern: &'p str,
    spelled_out: String,
    /// The bytes of `pattern` that are in `spelled_out`.
    copied: usize,
    /// The groups around the current part.
    depth: usize,
    /// A flag ignores case.
    folds: bool,
    /// A character that Go may fold to others than are known here.
    unstable: Option<Span>,
}

impl Speller<'_> {
    /// Checks a part and those in it. Returns the largest product of nested counts in it.
    fn part(&mut self, ast: &Ast) -> Result<usize, Diagnostic> {
        match ast {
            Ast::Empty(_) | Ast::Dot(_) => Ok(1),
            Ast::Flags(set) => self.flags(&set.flags).map(|()| 1),
            Ast::Literal(literal) => self.literal(literal).map(|()| 1),
            Ast::Assertion(assertion) => self.assertion(&assertion.kind, &assertion.span).map(|()| 1),
            Ast::ClassUnicode(class) => Err(self.refusal(UNPROVEN_CLASS, &class.span)),
            Ast::ClassPerl(class) => {
                self.replace(&class.span, ascii(class));
                Ok(1)
            }
            Ast::ClassBracketed(class) => match &class.kind {
                ClassSet::Item(item) => self.set_item(item).map(|()| 1),
                ClassSet::BinaryOp(operation) => Err(self.refusal(READ_DIFFERENTLY, &operation.span)),
            },
            Ast::Repetition(repetition) => self.repetition(repetition),
            Ast::Group(group) => self.group(group),
            Ast::Alternation(alternation) => self.parts(&alternation.asts),
            Ast::Concat(concat) => self.parts(&concat.asts),
        }
    }

    fn parts(&mut self, parts: &[Ast]) -> Result<usize, Diagnostic> {
        parts.iter().try_fold(0, |most, part| Ok(most.max(self.part(part)?)))
    }

    fn literal(&mut self, literal: &Literal) -> Result<(), Diagnostic> {
        match &literal.kind {
            LiteralKind::Octal => return Err(self.refusal(READ_DIFFERENTLY, &literal.span)),
            LiteralKind::HexFixed(kind) | LiteralKind::HexBrace(kind) if *kind != HexLiteralKind::X => {
                return Err(self.refusal(INVALID_ESCAPE, &literal.span));
            }
            LiteralKind::Verbatim if literal.c == BRACE => self.replace(&literal.span, r"\{"),
            _ => {}
        }
        if literal.c > LAST_STABLE {
            self.unstable = Some(span_of(&literal.span));
        }
        Ok(())
    }

    fn assertion(&mut self, kind: &AssertionKind, span: &AstSpan) -> Result<(), Diagnostic> {
        match kind {
            AssertionKind::StartLine
            | AssertionKind::EndLine
            | AssertionKind::StartText
            | AssertionKind::EndText => {}
            AssertionKind::WordBoundary => self.replace(span, r"(?-u:\b)"),
            AssertionKind::NotWordBoundary => self.replace(span, r"(?-u:\B)"),
            _ => return Err(self.refusal(READ_DIFFERENTLY, span)),
        }
        Ok(())
    }

    fn set_item(&mut self, item: &ClassSetItem) -> Result<(), Diagnostic> {
        match item {
            ClassSetItem::Empty(_) | ClassSetItem::Ascii(_) => Ok(()),
            ClassSetItem::Literal(literal) => self.literal(literal),
            ClassSetItem::Range(range) => {
                self.literal(&range.start)?;
                self.literal(&range.end)
            }
            ClassSetItem::Unicode(class) => Err(self.refusal(UNPROVEN_CLASS, &class.span)),
            ClassSetItem::Perl(class) => {
                self.replace(&class.span, ascii(class));
                Ok(())
            }
            ClassSetItem::Bracketed(class) => Err(self.refusal(READ_DIFFERENTLY, &class.span)),
            ClassSetItem::Union(union) => union.items.iter().try_for_each(|item| self.set_item(item)),
        }
    }

    fn repetition(&mut self, repetition: &Repetition) -> Result<usize, Diagnostic> {
        let inner = self.part(&repetition.ast)?;
        let span = &repetition.op.span;
        if let Ast::Repetition(inner) = &*repetition.ast {
            let both = Span::new(inner.op.span.start.offset, span.end.offset);
            return Err(refusal(NESTED_REPETITION, self.pattern, both));
        }
        let times = match repetition.op.kind {
            RepetitionKind::Range(RepetitionRange::Exactly(times)) => times,
            RepetitionKind::Range(RepetitionRange::AtLeast(min)) => min.max(1),
            RepetitionKind::Range(RepetitionRange::Bounded(_, max)) => max,
            _ => 1,
        };
        let times = usize::try_from(times).unwrap_or(usize::MAX);
        let product = times.saturating_mul(inner);
        if times.max(product) > MAX_COUNT {
            return Err(self.refusal(INVALID_COUNT, span));
        }
        Ok(product)
    }

    fn group(&mut self, group: &Group) -> Result<usize, Diagnostic> {
        if self.depth >= MAX_DEPTH {
            let opening = Span::new(group.span.start.offset, group.span.start.offset + 1);
            return Err(refusal(TOO_DEEP, self.pattern, opening));
        }
        match &group.kind {
            GroupKind::NonCapturing(flags) => self.flags(flags)?,
            GroupKind::CaptureName { name, .. } if !name.name.bytes().all(is_of_name) => {
                return Err(self.refusal(INVALID_NAME, &name.span));
            }
            GroupKind::CaptureIndex(_) | GroupKind::CaptureName { .. } => {}
        }
        self.depth += 1;
        let counted = self.part(&group.ast);
        self.depth -= 1;
        counted
    }

    fn flags(&mut self, flags: &Flags) -> Result<(), Diagnostic> {
        flags.items.iter().try_for_each(|item| match item.kind {
            FlagsItemKind::Negation
            | FlagsItemKind::Flag(Flag::MultiLine | Flag::DotMatchesNewLine | Flag::SwapGreed) => Ok(()),
            FlagsItemKind::Flag(Flag::CaseInsensitive) => {
                self.folds = true;
                Ok(())
            }
            FlagsItemKind::Flag(Flag::Unicode | Flag::CRLF | Flag::IgnoreWhitespace) => {
                Err(self.refusal(INVALID_PERL, &item.span))
            }
        })
    }

    /// Writes the pattern until `span`, and `text` in its place.
    fn replace(&mut self, span: &AstSpan, text: &str) {
        self.copy_until(span.start.offset);
        self.spelled_out.push_str(text);
        self.copied = span.end.offset;
    }

    fn copy_until(&mut self, end: usize) {
        self.spelled_out.push_str(self.pattern.get(self.copied..end).unwrap_or_default());
        self.copied = end;
    }

    fn refusal(&self, code: Code, span: &AstSpan) -> Diagnostic {
        refusal(code, self.pattern, span_of(span))
    }
}

/// Returns the class as brackets, which may also stand in brackets.
fn ascii(class: &ClassPerl) -> &'static str {
    match (&class.kind, class.negated) {
        (ClassPerlKind::Digit, false) => "[0-9]",
        (ClassPerlKind::Digit, true) => "[^0-9]",
        (ClassPerlKind::Space, false) => r"[\t\n\f\r ]",
        (ClassPerlKind::Space, true) => r"[^\t\n\f\r ]",
        (ClassPerlKind::Word, false) => "[0-9A-Za-z_]",
        (ClassPerlKind::Word, true) => "[^0-9A-Za-z_]",
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
