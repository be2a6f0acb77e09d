//! Regular expressions as Go's `regexp` decides them.
//!
//! `YuniKorn` compiles its patterns with Go; this module matches them with the `regex` crate. A pattern
//! passes when each part of it means the same to both, or has a form that does: `\d`, `\s`, `\w` and `\b` are
//! ASCII in Go. Of the others, a pattern is refused as Go does ([`Support::RefusedByGo`]) where that is
//! certain, and else as not known here ([`Support::Undecided`]).
//!
//! * `prepare`: brackets and braces, before the pattern is parsed; both read the rest of a pattern by the
//!   same grammar.
//! * `allowed`: the parts of the parsed pattern that pass.
//! * `error`: the diagnostics.

mod allowed;
mod error;
mod prepare;

use regex_syntax::ast;
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Hir, HirKind, Look};

use super::diag::{Diagnostic, Span};
pub use error::{CODES, Support};

/// Limits the bytes of a pattern. With [`MAX_DEPTH`] and [`MAX_SIZE`] it keeps patterns far below the limits
/// of Go, which depend on how Go simplifies: 1,000 levels of its tree, and 3.3 million instructions, of which
/// a byte makes two at most.
pub const MAX_BYTES: usize = 3000;
/// Limits how deep groups are nested.
pub const MAX_DEPTH: usize = 25;
/// Limits the bytes of a pattern, multiplied with its counts.
pub const MAX_SIZE: usize = 1_000_000;
/// Limits the memory of a compiled pattern.
const MAX_COMPILED_BYTES: usize = 2 << 20;

/// A compiled expression that decides as Go's `regexp.MatchString` does.
#[derive(Debug, Clone)]
pub struct GoRegex {
    pattern: String,
    inner: regex::Regex,
    anchors: Anchors,
}

/// The ends of the text that an expression is tied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchors {
    /// Every match begins at the start of the text.
    pub start: bool,
    /// Every match ends at the end of the text.
    pub end: bool,
    /// An alternation like `^a|b$`, whose `^` belongs to the first alternative alone and whose `$` to the
    /// last alone.
    pub split: bool,
}

impl GoRegex {
    /// Compiles `pattern`.
    ///
    /// # Errors
    /// One of [`CODES`] with a span; [`Support::from_refusal`] tells who refuses.
    pub fn new(pattern: &str) -> Result<Self, Diagnostic> {
        if pattern.len() > MAX_BYTES {
            return Err(error::too_long(pattern));
        }
        let prepared = prepare::prepare(pattern)?;
        let parsed = ast::parse::Parser::new().parse(&prepared);
        let ast = parsed.map_err(|found| error::of_parser(pattern, &found))?;
        let spelled_out = allowed::spell_out(pattern, &ast)?;
        let too_large = || error::refusal(error::TOO_LARGE, pattern, Span::new(0, pattern.len()));
        let tree = regex_syntax::parse(&spelled_out).map_err(|_| too_large())?;
        let inner = regex::RegexBuilder::new(&spelled_out)
            .size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|_| too_large())?;
        Ok(Self { pattern: pattern.to_owned(), inner, anchors: Anchors::new(&tree) })
    }

    /// Searches anywhere in `text`, as `regexp.MatchString`.
    pub fn is_match(&self, text: &str) -> bool {
        // `Regex::is_match` misses `ſ|\B` in `xſb`: it ends at an empty match of `\B` between two bytes of a
        // character.
        self.inner.find(text).is_some()
    }

    /// The texts that a match begins with, if they are few; they may be cut.
    pub fn prefixes(&self) -> Vec<String> {
        let Ok(tree) = regex_syntax::parse(self.inner.as_str()) else { return Vec::new() };
        let found = Extractor::new().extract(&tree);
        let texts = found.literals().unwrap_or_default().iter().map(|text| text.as_bytes().to_vec());
        texts.filter_map(|bytes| String::from_utf8(bytes).ok()).collect()
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// The ends of the text that matches are tied to.
    pub fn anchors(&self) -> Anchors {
        self.anchors
    }
}

impl PartialEq for GoRegex {
    /// Two expressions are equal when they were written alike.
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

impl Eq for GoRegex {}

impl Anchors {
    fn new(tree: &Hir) -> Self {
        let (start, end) = ends(tree);
        Self { start, end, split: is_split(tree) }
    }
}

fn ends(tree: &Hir) -> (bool, bool) {
    let looks = tree.properties();
    (looks.look_set_prefix().contains(Look::Start), looks.look_set_suffix().contains(Look::End))
}

fn is_split(tree: &Hir) -> bool {
    let HirKind::Alternation(alternatives) = tree.kind() else { return false };
    match alternatives.as_slice() {
        [first, between @ .., last] => {
            ends(first) == (true, false)
                && ends(last) == (false, true)
                && between.iter().all(|one| ends(one) == (false, false))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
