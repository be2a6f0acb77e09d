//! The constructs that mean the same in Go and in the `regex` crate.

use super::{
    INVALID_CLASS, INVALID_COUNT, INVALID_ESCAPE, INVALID_NAME, INVALID_PERL, NESTED_REPETITION,
    READ_DIFFERENTLY, TOO_DEEP, TOO_LARGE, UNPROVEN_CLASS, refusal, span_of,
};
use super::{MAX_DEPTH, MAX_SIZE};
use crate::diag::{Code, Diagnostic, Span};
use regex_syntax::ast::{
    AssertionKind, Ast, ClassAsciiKind, ClassPerl, ClassPerlKind, ClassSet, ClassSetItem, Flag, Flags,
    FlagsItemKind, Group, GroupKind, HexLiteralKind, Literal, LiteralKind, Repetition, RepetitionKind,
    RepetitionRange, Span as AstSpan,
};

/// Maximum of a repetition count, and of the product of nested counts, as in Go.
const MAX_COUNT: usize = 1000;

/// The last Latin letter whose case folding is the same in all versions of Unicode. Go and the `regex` crate
/// use different versions.
const LAST_STABLE: char = '\u{17F}';

/// Returns the pattern with `\d`, `\s` and `\w` replaced by ASCII classes.
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

/// Replaces the Perl classes of one pattern by ASCII classes.
struct Speller<'p> {
    pattern: &'p str,
    spelled_out: String,
    /// The number of bytes of `pattern` that `spelled_out` covers.
    copied: usize,
    /// The number of groups around the current part.
    depth: usize,
    /// True if a flag ignores case.
    folds: bool,
    /// A character that Go's version of Unicode may fold differently.
    unstable: Option<Span>,
}

impl Speller<'_> {
    /// Checks a part with everything inside it. Returns the largest product of nested counts.
    fn part(&mut self, ast: &Ast) -> Result<usize, Diagnostic> {
        match ast {
            Ast::Empty(_) | Ast::Dot(_) => {}
            Ast::Flags(set) => self.flags(&set.flags)?,
            Ast::Literal(literal) => self.literal(literal)?,
            Ast::Assertion(assertion) => self.assertion(&assertion.kind, &assertion.span)?,
            Ast::ClassUnicode(class) => return Err(self.refusal(UNPROVEN_CLASS, &class.span)),
            Ast::ClassPerl(class) => self.replace(&class.span, ascii(class)),
            Ast::ClassBracketed(class) => match &class.kind {
                ClassSet::Item(item) => self.set_item(item)?,
                ClassSet::BinaryOp(operation) => return Err(self.refusal(READ_DIFFERENTLY, &operation.span)),
            },
            Ast::Repetition(repetition) => return self.repetition(repetition),
            Ast::Group(group) => return self.group(group),
            Ast::Alternation(alternation) => return self.parts(&alternation.asts),
            Ast::Concat(concat) => return self.parts(&concat.asts),
        }
        Ok(1)
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

    /// Copies the pattern up to `span` and writes `text` in place of the span.
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

/// Returns the class in brackets. This form is also valid inside brackets.
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

// Brackets and braces, which the parser and Go read differently.
//
// Inside brackets the parser supports nested classes and the operators `&&`, `--` and `~~`; Go reads these as
// literal characters. A `{` that does not begin a count is an error to the parser and a literal to Go.

/// The character that replaces a `{` that Go reads literally. It has the same length, so that spans stay
/// valid.
const BRACE: char = '\u{1}';

/// Prepares the pattern for the parser. Refuses `\Q`, and everything inside brackets that the parser and Go
/// might read differently.
pub(super) fn prepare(pattern: &str) -> Result<String, Diagnostic> {
    let mut prepared = String::with_capacity(pattern.len());
    let mut inside = false;
    while let Some((before, rest)) = pattern.split_at_checked(prepared.len()) {
        let Some(c) = rest.chars().next() else { break };
        let next = rest.chars().nth(1);
        let part = match c {
            BRACE => return Err(differently(pattern, before.len())),
            '\\' => escape(rest).ok_or_else(|| differently(pattern, before.len()))?,
            // It may end a range.
            '[' if inside && before.ends_with('-') => return Err(differently(pattern, before.len())),
            '[' if inside => posix_name(pattern, before.len())?,
            '[' => opening(rest).ok_or_else(|| differently(pattern, before.len()))?,
            '&' | '-' | '~' if inside && next == Some(c) => return Err(differently(pattern, before.len())),
            '{' if !inside && !is_count(rest) => {
                prepared.push(BRACE);
                continue;
            }
            _ => c.len_utf8(),
        };
        inside = (inside || c == '[') && c != ']';
        prepared.push_str(rest.get(..part).unwrap_or(rest));
    }
    Ok(prepared)
}

/// Returns the length of `[`, `[^`, `[]` or `[^]`. The `]` is a literal here; in Go it may begin a range.
fn opening(rest: &str) -> Option<usize> {
    let opening = ["[^]", "[]", "[^"].into_iter().find(|opening| rest.starts_with(opening)).unwrap_or("[");
    let begins_range = rest.strip_prefix(opening).is_some_and(|behind| behind.starts_with('-'));
    (!opening.ends_with(']') || !begins_range).then_some(opening.len())
}

/// Returns the length of an escape, including its braces. `\Q` quotes the rest of the pattern.
fn escape(rest: &str) -> Option<usize> {
    match rest.chars().nth(1) {
        Some('Q') => None,
        _ if [r"\x{", r"\p{", r"\P{"].iter().any(|braced| rest.starts_with(braced)) => Some(r"\x{".len()),
        escaped => Some(1 + escaped.map_or(0, char::len_utf8)),
    }
}

/// Returns the length of `[:alpha:]` or `[:^alpha:]`.
fn posix_name(pattern: &str, at: usize) -> Result<usize, Diagnostic> {
    let name = pattern.get(at..).and_then(|rest| rest.strip_prefix("[:")?.split_once(":]"));
    let Some((name, _)) = name else { return Err(differently(pattern, at)) };
    let length = "[:".len() + name.len() + ":]".len();
    match ClassAsciiKind::from_name(name.strip_prefix('^').unwrap_or(name)) {
        Some(_) => Ok(length),
        None => Err(refusal(INVALID_CLASS, pattern, Span::new(at, at + length))),
    }
}

/// Returns whether Go reads a repetition count here, that is, one or two limits without spaces and leading
/// zeros.
fn is_count(rest: &str) -> bool {
    let is_limit = |text: &str| {
        text == "0" || !text.is_empty() && !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit())
    };
    let Some((counts, _)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
        return false;
    };
    match counts.split_once(',') {
        None => is_limit(counts),
        Some((min, max)) => is_limit(min) && (max.is_empty() || is_limit(max)),
    }
}

fn differently(pattern: &str, at: usize) -> Diagnostic {
    let length = pattern.get(at..).map_or(0, |rest| rest.chars().take(2).map(char::len_utf8).sum());
    refusal(READ_DIFFERENTLY, pattern, Span::new(at, at + length))
}
