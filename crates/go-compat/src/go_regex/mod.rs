//! Regular expressions as Go's `regexp` decides them.
//!
//! `YuniKorn` compiles its patterns with Go; this module matches them with the `regex` crate. A pattern
//! passes when each part of it means the same to both, or has a form that does: `\d`, `\s`, `\w` and `\b` are
//! ASCII in Go. Of the others, a pattern is refused as Go does where that is certain, and else as not known
//! here ([`is_undecided`]).
//!
//! * `prepare`: brackets and braces, before the pattern is parsed; both read the rest of a pattern by the
//!   same grammar.
//! * `allowed`: the parts of the parsed pattern that pass.
//! * `error`: the diagnostics.

mod allowed;
pub mod error;
mod prepare;

use regex_syntax::ast;
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Hir, HirKind, Look};

use super::diag::{Diagnostic, Span};
pub use error::{CODES, is_undecided};

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
}

impl GoRegex {
    /// Compiles `pattern`.
    ///
    /// # Errors
    /// One of [`CODES`] with a span; [`is_undecided`] tells whether Go refuses it, too.
    pub fn new(pattern: &str) -> Result<Self, Diagnostic> {
        if pattern.len() > MAX_BYTES {
            return Err(error::too_long(pattern));
        }
        let prepared = prepare::prepare(pattern)?;
        let parsed = ast::parse::Parser::new().parse(&prepared);
        let ast = parsed.map_err(|found| error::of_parser(pattern, &found))?;
        let spelled_out = allowed::spell_out(pattern, &ast)?;
        let inner = regex::RegexBuilder::new(&spelled_out)
            .size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|_| error::refusal(error::TOO_LARGE, pattern, Span::new(0, pattern.len())))?;
        Ok(Self { pattern: pattern.to_owned(), inner })
    }

    /// Searches anywhere in `text`, as `regexp.MatchString`.
    pub fn is_match(&self, text: &str) -> bool {
        // `Regex::is_match` misses `ſ|\B` in `xſb`: it ends at an empty match of `\B` between two bytes of a
        // character.
        self.inner.find(text).is_some()
    }

    /// The texts that a match begins with, if they are few; they may be cut.
    pub fn prefixes(&self) -> Vec<String> {
        let Some(tree) = self.tree() else { return Vec::new() };
        let found = Extractor::new().extract(&tree);
        let texts = found.literals().unwrap_or_default().iter().map(|text| text.as_bytes().to_vec());
        texts.filter_map(|bytes| String::from_utf8(bytes).ok()).collect()
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Returns whether every match ends at the end of the text.
    pub fn is_closed(&self) -> bool {
        self.tree().is_some_and(|tree| ends(&tree).1)
    }

    /// Returns whether it is an alternation like `^a|b$`, whose `^` belongs to the first alternative alone
    /// and whose `$` to the last alone.
    pub fn has_split_anchors(&self) -> bool {
        let Some(tree) = self.tree() else { return false };
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

    fn tree(&self) -> Option<Hir> {
        regex_syntax::parse(self.inner.as_str()).ok()
    }
}

impl PartialEq for GoRegex {
    /// Two expressions are equal when they were written alike.
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

impl Eq for GoRegex {}

/// Returns whether every match begins at the start of the text, and whether it ends at the end.
fn ends(tree: &Hir) -> (bool, bool) {
    let looks = tree.properties();
    (looks.look_set_prefix().contains(Look::Start), looks.look_set_suffix().contains(Look::End))
}

#[cfg(test)]
mod tests;
