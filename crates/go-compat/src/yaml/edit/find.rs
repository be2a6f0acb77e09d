//! From a path to the mapping it leads to, as long as nothing on the way is shared with another part of the
//! text.

use std::collections::HashSet;

use super::{Pair, Step, refuse, shown};
use crate::diag::{Diagnostic, Span};
use crate::yaml::{KindIn, NodeIn, Style};

/// A mapping that may be edited.
pub(super) struct Mapping<'n> {
    pub(super) pairs: &'n [Pair<'n>],
    /// The position of its opening brace, if it is written in braces.
    pub(super) open: Option<usize>,
}

impl Mapping<'_> {
    /// Returns the number of pairs in front of those that are added: the first run of scalars. A block scalar
    /// ends the run, because what follows it can change what it holds.
    pub(super) fn first_scalars(&self) -> usize {
        let is_inline = |(_, value): &&Pair<'_>| match value.kind {
            _ if value.alias().is_some() => true,
            KindIn::Scalar { style, .. } => !matches!(style, Style::Literal | Style::Folded),
            KindIn::Sequence(_) | KindIn::Mapping(_) => false,
        };
        self.pairs.iter().take_while(is_inline).count()
    }

    /// Returns the quotes of what is added: a JSON text stays one.
    pub(super) fn quotes(&self, text: &str) -> Style {
        let is_json = self.open.is_some()
            && text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '['])
            && self.pairs.iter().all(|(key, _)| key.style() == Some(Style::DoubleQuoted));
        if is_json { Style::DoubleQuoted } else { Style::SingleQuoted }
    }
}

/// Follows paths in one tree.
pub(super) struct Finder<'n> {
    text: &'n str,
    root: &'n NodeIn<'n>,
    /// The names of all anchors that an alias refers to; gathered when the first anchor is met on a path.
    referred: Option<HashSet<&'n str>>,
}

impl<'n> Finder<'n> {
    pub(super) fn new(text: &'n str, root: &'n NodeIn<'n>) -> Self {
        Self { text, root, referred: None }
    }

    /// Returns the mapping at the end of `path`.
    pub(super) fn find(&mut self, path: &[Step]) -> Result<Mapping<'n>, Diagnostic> {
        let mut node = self.root;
        let mut in_brackets = false;
        for step in path {
            self.check_alone(node, path)?;
            in_brackets |= self.bracket(node).is_some();
            node = child(node, step).ok_or_else(|| missing(node, path))?;
        }
        self.check_alone(node, path)?;
        let open = self.bracket(node);
        match node.as_mapping() {
            // A single pair in a list needs no braces.
            Some(pairs) if open.is_some() || !in_brackets => Ok(Mapping { pairs, open }),
            _ => Err(missing(node, path)),
        }
    }

    /// Returns the position of the bracket that opens the list or mapping, if it is not written in lines.
    fn bracket(&self, node: &NodeIn<'_>) -> Option<usize> {
        let bracket = if node.as_sequence().is_some() { '[' } else { '{' };
        let start = content(self.text, node.span);
        self.text.get(start..)?.starts_with(bracket).then_some(start)
    }

    /// Refuses an alias, which shows another part of the text, and an anchored text that is shown in other
    /// parts.
    fn check_alone(&mut self, node: &NodeIn<'_>, path: &[Step]) -> Result<(), Diagnostic> {
        if !node.shared {
            return Ok(());
        }
        let root = self.root;
        let is_alone = |name| !self.referred.get_or_insert_with(|| referred(root)).contains(name);
        if node.anchor().is_some_and(is_alone) {
            return Ok(());
        }
        Err(refuse(format!("{} is in a part of the text that is used in several places", shown(path)))
            .at(node.span)
            .help("write the mapping out in each place, without anchor and alias"))
    }
}

/// Refuses a path that leads no further than to `node`.
fn missing(node: &NodeIn<'_>, path: &[Step]) -> Diagnostic {
    refuse(format!("{} is no mapping that can be edited", shown(path)))
        .at(node.span)
        .help("write it there, in lines or in braces, without alias and `<<`")
}

/// Returns the names that the aliases in `root` refer to.
fn referred<'n>(root: &'n NodeIn<'_>) -> HashSet<&'n str> {
    let mut names = HashSet::new();
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        if let Some(alias) = node.alias() {
            names.insert(alias);
            continue;
        }
        match &node.kind {
            KindIn::Scalar { .. } => {}
            KindIn::Sequence(items) => open.extend(items),
            KindIn::Mapping(pairs) => open.extend(pairs.iter().flat_map(|(key, value)| [key, value])),
        }
    }
    names
}

fn child<'n>(node: &'n NodeIn<'n>, step: &Step) -> Option<&'n NodeIn<'n>> {
    match step {
        Step::Index(index) => node.as_sequence()?.get(*index),
        Step::Key(key) => {
            let (_, value) = node.as_mapping()?.iter().find(|(found, _)| found.as_scalar() == Some(key))?;
            Some(value)
        }
    }
}

// The text around a node: spaces, comments, line ends and the indicators between nodes, which no node's span
// covers.
//
// Only LF and CR LF end a line: the reader refuses a text with other breaks.

const BREAKS: [char; 2] = ['\n', '\r'];
const SPACES: [char; 2] = [' ', '\t'];

/// Moves behind the spaces, line ends and comments at `at`.
fn skip_space(text: &str, at: usize) -> usize {
    let mut rest = text.get(at..).unwrap_or_default();
    loop {
        rest = rest.trim_start_matches(|c| SPACES.contains(&c) || BREAKS.contains(&c));
        if !rest.starts_with('#') {
            return text.len() - rest.len();
        }
        rest = rest.trim_start_matches(|c| !BREAKS.contains(&c));
    }
}

/// Returns the end of the indicator, if it is what comes next after `at`.
pub(super) fn indicator(text: &str, at: usize, indicator: char) -> Option<usize> {
    let at = skip_space(text, at);
    text.get(at..)?.starts_with(indicator).then_some(at + 1)
}

/// Returns the end of the line, if nothing but spaces and a comment comes between `at` and it.
pub(super) fn line_end(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?.split(BREAKS).next()?;
    let content = rest.trim_start_matches(SPACES);
    (content.is_empty() || content.starts_with('#')).then_some(at + rest.len())
}

/// Returns the line break of the text.
pub(super) fn newline(text: &str) -> &'static str {
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if first.ends_with("\r\n") { "\r\n" } else { "\n" }
}

/// Returns what stands in front of `at` on its line.
pub(super) fn before(text: &str, at: usize) -> &str {
    let before = text.get(..at).and_then(|before| before.rsplit(BREAKS).next()).unwrap_or_default();
    before.trim_start_matches('\u{feff}')
}

/// Returns the start of a node behind its anchor.
pub(super) fn content(text: &str, span: Span) -> usize {
    let written = text.get(span.start..span.end).unwrap_or_default();
    let is_space = |c| SPACES.contains(&c) || BREAKS.contains(&c);
    let anchor = if written.starts_with('&') { written.find(is_space) } else { None };
    skip_space(text, span.start + anchor.unwrap_or_default())
}

/// Returns the end of a pair: behind its value, or behind the colon or the key when the value is empty.
pub(super) fn pair_end(text: &str, (key, value): &Pair<'_>) -> usize {
    if value.span.start < value.span.end {
        return value.span.end;
    }
    indicator(text, key.span.end, ':').unwrap_or(key.span.end)
}
