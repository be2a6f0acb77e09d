//! Regular expressions with Go's syntax and Go's meaning.
//!
//! `YuniKorn` compiles the patterns of its admission controller with Go's `regexp`. The `regex` crate reads many of the same
//! texts differently: `\w` is Unicode there and ASCII in Go, `[a&&b]` is an intersection there and four literals in Go, `a{1` is
//! an error there and a literal in Go. So the pattern is parsed here by Go's grammar (`regexp/syntax/parse.go` with the flags
//! `Perl`, as `regexp.Compile` sets them), and what it means is spelled out for the `regex` crate in the few constructs both
//! understand alike: code points, ranges, repetition, alternation, anchors.
//!
//! The rules are those of Go 1.25 and 1.26 (`YuniKorn` 1.8 builds with 1.25 or later). Where the answer cannot be proven to be Go's,
//! the pattern is refused with a code of its own ([`Verdict::Unjudged`]), never given another meaning.
//!
//! * `parse`: the grammar; `group`, `class`, `escape` and `repeat` are its parts, `input` its cursor.
//! * `unicode`: `\p{…}` tables and case folding of the Unicode version Go has.
//! * `syntax`: the tree; `emit`: the tree as a pattern of the `regex` crate.
//! * `error`: the diagnostics.

mod class;
mod emit;
pub mod error;
mod escape;
mod group;
mod input;
mod parse;
mod repeat;
mod syntax;
mod unicode;

use regex::RegexBuilder;

use super::diag::Diagnostic;
pub use error::{CODES, Verdict};

/// The longest pattern that is judged, in bytes.
///
/// Together with [`MAX_DEPTH`] and [`MAX_SIZE`] this keeps every judged pattern far inside Go's own limits, so that these never
/// have to be computed the way Go does (they depend on how Go factors alternations): 1000 levels of height and 128 MiB of
/// instructions or class ranges (`parse.go` `maxHeight`, `maxSize`, `maxRunes`).
/// Height: 25 nested groups are at most 104 levels; factoring an alternation k levels deep takes at least k²/2 bytes of
/// alternatives, so over all nested alternations it adds at most 2·√(2·3000·26) = 790 levels.
/// Ranges: the largest class, 3 bytes long, has fewer than 3000 code points in its table, so 1000 of them stay below Go's 32 million.
pub const MAX_BYTES: usize = 3000;
/// The deepest nesting of groups that is judged.
pub const MAX_DEPTH: usize = 25;
/// The most steps a pattern that is judged may have. A step is one of Go's instructions, or eight ranges of a class; counted
/// repetition multiplies. Go's own limit is over 80 times this, which also covers that Go counts some parts it has already factored out.
pub const MAX_SIZE: u32 = 40_000;
/// The most bytes the `regex` crate may use for one compiled pattern.
const MAX_COMPILED_BYTES: usize = 2 << 20;
/// The longest pattern that is handed to the `regex` crate; many `\p{…}` in one pattern spell out long.
const MAX_EMITTED_BYTES: usize = 1 << 20;

/// A compiled expression that decides as Go's `regexp.MatchString` does.
#[derive(Debug, Clone)]
pub struct GoRegex {
    pattern: String,
    inner: regex::Regex,
    anchors: Anchors,
}

/// How an expression is tied to the ends of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchors {
    /// Every match begins at the start of the text.
    pub start: bool,
    /// Every match ends at the end of the text.
    pub end: bool,
    /// An alternation like `^a|b$`, whose `^` belongs to the first alternative alone and whose `$` to the last alone.
    pub split: bool,
}

impl GoRegex {
    /// Compiles `pattern`, or refuses with a span into it. What Go refuses is an error here too, with Go's text as message; what Go may accept
    /// but cannot be given the same meaning with certainty is refused with a code of its own. [`Verdict::of`] tells the two apart.
    ///
    /// # Errors
    /// See above; the codes are [`CODES`].
    pub fn new(pattern: &str) -> Result<Self, Diagnostic> {
        if pattern.len() > MAX_BYTES {
            return Err(error::too_long(pattern));
        }
        let expr = parse::parse(pattern)?;
        if expr.size() > MAX_SIZE {
            return Err(error::too_large(pattern));
        }
        let emitted = emit::pattern(&expr);
        if emitted.len() > MAX_EMITTED_BYTES {
            return Err(error::too_large(pattern));
        }
        let inner = RegexBuilder::new(&emitted)
            .size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|_| error::too_large(pattern))?;
        Ok(Self { pattern: pattern.to_owned(), inner, anchors: expr.anchors() })
    }

    /// Unanchored search, as `regexp.MatchString`.
    pub fn is_match(&self, text: &str) -> bool {
        // Not `Regex::is_match`: an ASCII `\B` also holds between the bytes of one character, and when that ends a search early,
        // `is_match` drops the empty match but does not come back to longer ones that began before it (`ſ|\B` in `xſb`). `find` does.
        self.inner.find(text).is_some()
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// How matches are tied to the ends of the text.
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

#[cfg(test)]
mod tests;
