//! Queue paths such as `root.prod.etl`, matched without case.
//!
//! `YuniKorn` stores queue names in lower case and converts every path it looks up to lower case
//! (yunikorn-core `queue.go:130-131`, `partition.go:488-504`), so two spellings that differ in case are the
//! same queue. A [`QueuePath`] is always in lower case and valid. [`nearest`] suggests an existing queue for
//! a misspelled path.

use serde::Serialize;
use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use go_compat::diag::{Code, Diagnostic, Span, quoted};

/// Valid characters and length of a queue name (yunikorn-core `configvalidator.go:81`).
pub const QUEUE_NAME: &str = "^[a-zA-Z0-9_:#/@-]{1,64}$";

/// Maximum length of a queue name in bytes, as in [`QUEUE_NAME`].
pub const MAX_NAME: usize = 64;

/// Maximum length of a path in bytes: 128 levels of the longest names, which fits in the supported depth of
/// YAML. `YuniKorn` has no limit.
pub const MAX_PATH: usize = 128 * (MAX_NAME + 1);

/// The top queue, spelled as the scheduler requires (yunikorn-core `partition.go:114`).
pub const ROOT: &str = "root";

/// The queue of applications that were running before the scheduler started (yunikorn-core
/// `common/constants.go`). Nobody may submit to it, regardless of the ACLs (`queue.go:800`).
pub const RECOVERY: &str = "root.@recovery@";

/// Returns whether a path, in any case of letters, is the recovery queue or below it.
pub fn in_recovery(path: &str) -> bool {
    path.get(..RECOVERY.len()).is_some_and(|start| start.eq_ignore_ascii_case(RECOVERY))
        && matches!(path.as_bytes().get(RECOVERY.len()), None | Some(b'.'))
}

/// A queue path is empty or does not begin with `root`.
///
/// `YuniKorn` looks up queues from the root and treats any other path as nonexistent (`partition.go:493`).
/// Write the full path: `root.prod`, not `prod`.
pub const NOT_FROM_ROOT: Code = Code::new(5001, "queue-not-from-root");
/// A part of a queue path is not a valid queue name.
///
/// Names must match [`QUEUE_NAME`] (`configvalidator.go:669`), so such a queue cannot exist. Dots separate
/// levels. If a placement rule creates a queue from a name with dots, write `_dot_` for each dot.
pub const BAD_NAME: Code = Code::new(5002, "queue-bad-name");
/// A queue path exceeds [`MAX_PATH`] bytes.
pub const TOO_LONG: Code = Code::new(5003, "queue-path-too-long");

/// All codes of this module.
pub const CODES: &[Code] = &[NOT_FROM_ROOT, BAD_NAME, TOO_LONG];

/// A full path from `root` in lower case, as in the scheduler. Paths are ordered as text, so a parent sorts
/// before its children. Clones share the text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct QueuePath(Arc<str>);

/// Compares and hashes like its text.
impl Borrow<str> for QueuePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl QueuePath {
    /// Returns the path of the root queue.
    pub fn root() -> Self {
        Self(ROOT.into())
    }

    /// Parses a full path: queue names that match [`QUEUE_NAME`], separated by dots, the first one `root` in
    /// any case.
    ///
    /// # Errors
    /// [`NOT_FROM_ROOT`], [`BAD_NAME`] or [`TOO_LONG`], with the span in `text`.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        let whole = Span::new(0, text.len());
        if text.len() > MAX_PATH {
            let message = format!("the queue path has {} bytes; the maximum is {MAX_PATH}", text.len());
            return Err(Diagnostic::error(TOO_LONG, message).at(whole));
        }
        let mut at = 0;
        for (level, part) in text.split('.').enumerate() {
            let span = Span::new(at, at + part.len());
            if level == 0 && !part.eq_ignore_ascii_case(ROOT) {
                return Err(not_from_root(text, part, span));
            }
            if !name_ok(part) {
                return Err(bad_name(text, part, span));
            }
            at = span.end + 1;
        }
        let mut path: Arc<str> = text.into();
        Arc::make_mut(&mut path).make_ascii_lowercase();
        Ok(Self(path))
    }

    /// Returns the path of a child, or `None` if its name is invalid ([`name_ok`]). [`MAX_PATH`] does not
    /// apply, because this is for queues that exist in a configuration.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<Self> {
        if !name_ok(name) {
            return None;
        }
        let mut path = [&self.0, ".", name].concat();
        path.make_ascii_lowercase();
        Some(Self(path.into()))
    }

    /// Returns the path of the parent, or `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('.').map(|(parent, _)| Self(parent.into()))
    }

    /// Iterates from this queue up to the root, the order in which `YuniKorn` checks ACLs (yunikorn-core
    /// `queue.go:798-822`).
    pub fn lineage(&self) -> impl Iterator<Item = QueuePath> + use<> {
        std::iter::successors(Some(self.clone()), Self::parent)
    }

    /// Returns the last part, the queue's name.
    pub fn leaf(&self) -> &str {
        self.0.rsplit_once('.').map_or(&self.0, |(_, leaf)| leaf)
    }

    /// Iterates over the names from `root` down.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('.')
    }

    /// Returns whether it is the root queue.
    pub fn is_root(&self) -> bool {
        *self.0 == *ROOT
    }

    /// Returns whether it is the recovery queue ([`RECOVERY`]).
    pub fn is_recovery(&self) -> bool {
        *self.0 == *RECOVERY
    }

    /// Returns whether this queue is above `other`; a queue is not its own ancestor.
    pub fn is_ancestor_of(&self, other: &Self) -> bool {
        other.0.strip_prefix(&*self.0).is_some_and(|rest| rest.starts_with('.'))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for QueuePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for QueuePath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Converts a path to lower case as the scheduler does for a look-up (`strings.ToLower`, yunikorn-core
/// `partition.go:491`). Outside ASCII, this converts only the dotted capital I and the Kelvin sign, which
/// become ASCII letters. Other characters cannot be in the name of a queue.
pub fn lowered(path: &str) -> String {
    let lower = |c: char| match c {
        '\u{130}' => 'i',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    path.chars().map(lower).collect()
}

/// Returns whether `name` matches [`QUEUE_NAME`].
pub fn name_ok(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(name_byte)
}

/// Returns whether `text` is a full path that [`QueuePath::parse`] accepts.
fn path_ok(text: &str) -> bool {
    let mut parts = text.split('.');
    text.len() <= MAX_PATH
        && parts.next().is_some_and(|first| first.eq_ignore_ascii_case(ROOT))
        && parts.all(name_ok)
}

fn name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_:#/@-".contains(&byte)
}

fn not_from_root(text: &str, part: &str, span: Span) -> Diagnostic {
    let message = match text {
        "" => "the queue path is empty".to_owned(),
        _ => format!("the queue path begins with {}, not with `root`", quoted(part)),
    };
    let trimmed = text.trim().trim_matches('.');
    let full = if trimmed.is_empty() { ROOT.to_owned() } else { format!("{ROOT}.{trimmed}") };
    let help = [trimmed, full.as_str()].into_iter().find(|path| path_ok(path)).map_or_else(
        || "write the full path from the root, such as `root.prod`".to_owned(),
        |path| format!("write the full path from the root: `{path}`"),
    );
    Diagnostic::error(NOT_FROM_ROOT, message).at(span).help(help)
}

fn bad_name(text: &str, part: &str, span: Span) -> Diagnostic {
    let names = format!("names must match `{QUEUE_NAME}`");
    let (message, span, help) = match part.char_indices().find(|(_, c)| !c.is_ascii() || !name_byte(*c as u8))
    {
        _ if part.is_empty() => (
            format!("the queue path {} has an empty part", quoted(text)),
            span,
            "separate names with single dots, without a trailing dot".to_owned(),
        ),
        Some((offset, c)) => {
            let message = format!("{} is not allowed in a queue name", quoted(&c.to_string()));
            let start = span.start + offset;
            (message, Span::new(start, start + c.len_utf8()), names)
        }
        None => {
            (format!("the queue name has {} characters; the maximum is {MAX_NAME}", part.len()), span, names)
        }
    };
    Diagnostic::error(BAD_NAME, message).at(span).help(help)
}

/// Maximum length of compared texts; comparing costs the product of both lengths.
const MAX_COMPARED: usize = 256;

/// Returns the candidate most similar to `wanted` if it is likely a typo, that is, at most a third of the
/// text between the common prefix and suffix (of whole names) differs. Of equally similar candidates, it
/// returns the first in order. Works for queue paths and any other names.
pub fn nearest<T: AsRef<str> + Ord>(candidates: impl IntoIterator<Item = T>, wanted: &str) -> Option<T> {
    let wanted = wanted.to_ascii_lowercase();
    let mut found: Option<(usize, T)> = None;
    for candidate in candidates {
        let most = found.as_ref().map_or(MAX_COMPARED, |(slips, _)| *slips);
        let Some(slips) = slips(candidate.as_ref(), &wanted, most) else { continue };
        if found.as_ref().is_none_or(|(least, first)| (slips, &candidate) < (*least, first)) {
            found = Some((slips, candidate));
        }
    }
    found.map(|(_, candidate)| candidate)
}

/// Returns the number of letters to change, swap, add or drop, ignoring case, or `None` if it exceeds `most`
/// or is too large for a typo. `wanted` must be in lower case. There may be ten thousand candidates, and the
/// requester chooses `wanted`, so candidates that cannot be similar are not compared.
fn slips(candidate: &str, wanted: &str, most: usize) -> Option<usize> {
    let (candidate, wanted) = without_common_parts(candidate, wanted);
    let longest = candidate.len().max(wanted.len());
    if longest > MAX_COMPARED {
        return None;
    }
    let most = most.min(longest.max(3) / 3);
    let difference = candidate.chars().count().abs_diff(wanted.chars().count());
    if difference > most || other_letters(candidate, wanted) > most {
        return None;
    }
    #[cfg(any(test, feature = "testing"))]
    crate::testing::COMPARED.set(crate::testing::COMPARED.get() + 1);
    let distance = strsim::osa_distance(&candidate.to_ascii_lowercase(), wanted);
    (distance <= most).then_some(distance)
}

/// Returns the number of letters of one text that are missing in the other, regardless of position. At least
/// as many must be changed, added or dropped. Different letters outside ASCII may be treated as equal, which
/// lowers the number.
fn other_letters(candidate: &str, wanted: &str) -> usize {
    const LETTERS: usize = 128;
    let mut counts = [0_i16; LETTERS];
    let mut count = |c: char, by: i16| {
        if let Some(count) = counts.get_mut(c as usize % LETTERS) {
            *count = count.saturating_add(by);
        }
    };
    candidate.chars().for_each(|c| count(c.to_ascii_lowercase(), 1));
    wanted.chars().for_each(|c| count(c, -1));
    let sum =
        |sign: i16| counts.iter().map(|count| usize::try_from(count.saturating_mul(sign)).unwrap_or(0)).sum();
    usize::max(sum(1), sum(-1))
}

/// Removes the dotted parts that both texts begin and end with, ignoring case. `root.prod.etl` and
/// `root.prd.etl` differ in `prod` and `prd`, and the size of this difference must not depend on the depth of
/// the queue.
fn without_common_parts<'a>(left: &'a str, right: &'a str) -> (&'a str, &'a str) {
    let (mut left, mut right) = (left, right);
    while let (Some((a, left_rest)), Some((b, right_rest))) = (left.split_once('.'), right.split_once('.'))
        && a.eq_ignore_ascii_case(b)
    {
        (left, right) = (left_rest, right_rest);
    }
    while let (Some((left_rest, a)), Some((right_rest, b))) = (left.rsplit_once('.'), right.rsplit_once('.'))
        && a.eq_ignore_ascii_case(b)
    {
        (left, right) = (left_rest, right_rest);
    }
    (left, right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::COMPARED;
    use proptest::prelude::*;

    fn path(text: &str) -> QueuePath {
        QueuePath::parse(text).expect(text)
    }

    #[test]
    fn recovery_queue_is_recognized_in_any_case() {
        for path in ["root.@recovery@", "root.@Recovery@", "ROOT.@recovery@.x"] {
            assert!(in_recovery(path), "{path}");
        }
        for path in ["", "root", "root.@recovery@x", "root.@recovery", "root.a.@recovery@"] {
            assert!(!in_recovery(path), "{path}");
        }
    }

    #[test]
    fn paths_are_in_lower_case_and_ordered() {
        let etl = path("Root.Prod.ETL");
        assert_eq!(etl.to_string(), "root.prod.etl");
        assert_eq!(etl, path("root.prod.etl"));
        assert_eq!(etl.leaf(), "etl");
        assert_eq!(etl.parts().collect::<Vec<_>>(), ["root", "prod", "etl"]);
        assert_eq!(etl.parent(), Some(path("root.prod")));
        assert_eq!(
            etl.lineage().collect::<Vec<_>>(),
            [path("root.prod.etl"), path("root.prod"), QueuePath::root()]
        );
        assert_eq!(QueuePath::root().parent(), None);
        assert!(QueuePath::root().is_root() && !etl.is_root());
        assert!(path("root.@Recovery@").is_recovery());
        assert_eq!(path("root.prod").child("ETL"), Some(etl));
        assert_eq!(path("root.prod").child("a.b"), None);
    }

    #[test]
    fn ancestors_are_whole_parts_above() {
        let cases = [
            ("root", "root.a", true),
            ("root", "root.a.b", true),
            ("root.a", "root.a.b", true),
            ("root.a", "root.a", false),
            ("root.a", "root.ab", false),
            ("root.a.b", "root.a", false),
        ];
        for (above, below, expected) in cases {
            assert_eq!(path(above).is_ancestor_of(&path(below)), expected, "{above} {below}");
        }
    }

    #[test]
    fn invalid_path_is_refused_with_a_span_and_help() {
        let long = "a".repeat(65);
        let cases = [
            ("", NOT_FROM_ROOT, (0, 0), "`root`"),
            ("prod", NOT_FROM_ROOT, (0, 4), "`root.prod`"),
            (" root.prod ", NOT_FROM_ROOT, (0, 5), "`root.prod`"),
            (".root", NOT_FROM_ROOT, (0, 0), "`root`"),
            ("rootfoo", NOT_FROM_ROOT, (0, 7), "`root.rootfoo`"),
            ("é", NOT_FROM_ROOT, (0, 2), "such as `root.prod`"),
            ("root.", BAD_NAME, (5, 5), "single dots"),
            ("root..a", BAD_NAME, (5, 5), "single dots"),
            ("root.a b", BAD_NAME, (6, 7), QUEUE_NAME),
            ("root.a*", BAD_NAME, (6, 7), QUEUE_NAME),
            ("root.caf\u{e9}.x", BAD_NAME, (8, 10), QUEUE_NAME),
            (&format!("root.{long}"), BAD_NAME, (5, 70), QUEUE_NAME),
        ];
        for (text, code, (start, end), help) in cases {
            let diagnostic = QueuePath::parse(text).expect_err(text);
            assert_eq!((diagnostic.code, diagnostic.span), (code, Some(Span::new(start, end))), "{text:?}");
            assert!(diagnostic.is_error());
            assert!(diagnostic.help.as_deref().is_some_and(|h| h.contains(help)), "{text:?}: {diagnostic}");
        }
        assert_eq!(QueuePath::parse(&"root.".repeat(3000)).expect_err("long").code, TOO_LONG);
    }

    #[test]
    fn path_longer_than_the_limit_is_refused() {
        let longest = format!("root{}", ".a".repeat((MAX_PATH - ROOT.len()) / 2));
        assert_eq!(longest.len(), MAX_PATH);
        assert_eq!(path(&longest).as_str(), longest);
        let longer = QueuePath::parse(&format!("{longest}a")).expect_err("too long");
        assert_eq!((longer.code, longer.span), (TOO_LONG, Some(Span::new(0, MAX_PATH + 1))));
        assert!(longer.message.contains("8321 bytes; the maximum is 8320"), "{longer}");
    }

    #[test]
    fn names_match_like_the_expression() {
        let expression = regex::Regex::new(QUEUE_NAME).expect("an expression");
        let (most, more) = ("x".repeat(64), "x".repeat(65));
        for name in ["", "a", "A-b_c", "a:b#c/d@e", "a.b", "a b", "é", "a\n", &most, &more] {
            assert_eq!(name_ok(name), expression.is_match(name), "{name:?}");
        }
        for byte in 0..=127_u8 {
            let name = format!("a{}", char::from(byte));
            assert_eq!(name_ok(&name), expression.is_match(&name), "{name:?}");
        }
    }

    #[test]
    fn nearest_name_is_a_typo_not_a_guess() {
        let queues = ["root", "root.default", "root.prod", "root.prod.etl", "root.prod.ml", "root.stage.etl"];
        let cases = [
            ("root.prd", Some("root.prod")),
            ("root.porD", Some("root.prod")),
            ("root.prod.elt", Some("root.prod.etl")),
            ("root.stgae.etl", Some("root.stage.etl")),
            ("root.defaults", Some("root.default")),
            ("rot.prod", Some("root.prod")),
            ("root.prod.abc", None),
            ("root.research", None),
            ("", None),
        ];
        for (wanted, expected) in cases {
            assert_eq!(nearest(queues, wanted), expected, "{wanted}");
        }
        assert_eq!(nearest([path("root.prod")], "root.prood"), Some(path("root.prod")));
        assert_eq!(nearest(queues, &"root.prod".repeat(10_000)), None);
    }

    #[test]
    fn text_too_long_to_compare_has_no_nearest() {
        for (length, near) in [(MAX_COMPARED - 1, true), (MAX_COMPARED, true), (MAX_COMPARED + 1, false)] {
            let (right, slip) = ("a".repeat(length), format!("{}b", "a".repeat(length - 1)));
            let found = nearest([right.as_str()], &slip);
            assert_eq!(found, near.then_some(right.as_str()), "{length}");
        }
    }

    /// The definition of [`nearest`], regardless of its cost.
    fn nearest_by_comparing_all<'q>(candidates: &[&'q str], wanted: &str) -> Option<&'q str> {
        let wanted = wanted.to_ascii_lowercase();
        let distance = |candidate: &str| {
            let candidate = candidate.to_ascii_lowercase();
            let (candidate, wanted) = without_common_parts(&candidate, &wanted);
            let longest = candidate.len().max(wanted.len());
            let distance = (longest <= MAX_COMPARED).then(|| strsim::osa_distance(candidate, wanted))?;
            (distance <= longest.max(3) / 3).then_some(distance)
        };
        let near = candidates.iter().filter_map(|candidate| Some((distance(candidate)?, *candidate)));
        near.min().map(|(_, candidate)| candidate)
    }

    #[test]
    fn names_that_cannot_be_similar_are_not_compared() {
        let compared = |queues: &[String], wanted: &str| {
            COMPARED.set(0);
            let found = nearest(queues.iter().map(String::as_str), wanted).map(str::to_owned);
            (found, COMPARED.get())
        };
        // Candidates of another length are not compared.
        let queues: Vec<String> = (0..10_000).map(|n| format!("root.tenant-{n:04}")).collect();
        assert_eq!(compared(&queues, &format!("root.{}", "0-tenant".repeat(8))), (None, 0));
        // Candidates with other letters are not compared.
        assert_eq!(compared(&queues, "root.abcdabcdabc"), (None, 0));
        // More letters differ in the wanted text: four digits, and five letters instead.
        assert_eq!(compared(&queues, "root.tenant-xyzuv"), (None, 0));
        // Only candidates that may be as similar as the best one so far are compared.
        let (found, count) = compared(&queues, "root.tennat-5678");
        assert_eq!(found.as_deref(), Some("root.tenant-5678"));
        assert!(count < queues.len() / 3, "{count}");
    }

    proptest! {
        #[test]
        fn skipped_candidate_is_never_the_nearest(
            queues in proptest::collection::vec("(?i:root)?(\\.[abcAB1é\u{161}]{0,6}){0,3}", 0..12),
            wanted in "(?i:root)?(\\.[abcAB1é\u{e1}]{0,6}){0,3}",
        ) {
            let queues: Vec<&str> = queues.iter().map(String::as_str).collect();
            prop_assert_eq!(nearest(queues.iter().copied(), &wanted), nearest_by_comparing_all(&queues, &wanted));
        }

        #[test]
        fn parsing_never_panics_and_is_idempotent(text in "(?i:root)?[.a-zA-Z0-9é* _-]{0,40}") {
            match QueuePath::parse(&text) {
                Ok(parsed) => {
                    prop_assert!(path_ok(&text));
                    prop_assert_eq!(&parsed, &path(parsed.as_str()));
                    prop_assert_eq!(parsed.parts().count(), parsed.lineage().count());
                    for above in parsed.lineage().skip(1) {
                        prop_assert!(above.is_ancestor_of(&parsed) && above < parsed);
                    }
                }
                Err(diagnostic) => {
                    prop_assert!(!path_ok(&text));
                    let span = diagnostic.span.expect("a span");
                    prop_assert!(text.get(span.start..span.end).is_some());
                }
            }
        }
    }
}
