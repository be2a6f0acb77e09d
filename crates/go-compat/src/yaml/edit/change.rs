//! Changes of one mapping, applied both to its text and to its tree.

use std::collections::{HashMap, HashSet};

use super::{Edit, Pair, Splice, Step, refuse, shown};
use crate::diag::{Diagnostic, Span};
use crate::go_json;
use crate::yaml::{KindIn, NodeIn, Style};

/// The changes of one mapping.
pub(super) struct Change<'e> {
    path: &'e [Step],
    /// New values, each with the index of its pair.
    set: Vec<(usize, NodeIn<'static>)>,
    /// New pairs.
    added: Vec<Pair<'static>>,
    /// The number of pairs before the new ones.
    front: usize,
}

/// Returns the changes for the edits and adds their splices.
pub(super) fn changes<'e>(
    text: &str,
    tree: &NodeIn<'_>,
    edits: &'e [Edit],
    splices: &mut Vec<Splice>,
) -> Result<Vec<Change<'e>>, Diagnostic> {
    let mut mappings: Vec<(&[Step], Vec<&Edit>)> = Vec::new();
    let mut indexes = HashMap::with_capacity(edits.len());
    for edit in edits {
        let index = *indexes.entry(&*edit.path).or_insert(mappings.len());
        let Some((_, others)) = mappings.get_mut(index) else {
            mappings.push((&edit.path, vec![edit]));
            continue;
        };
        match others.iter().find(|other| other.key == edit.key) {
            None => others.push(edit),
            Some(other) if other.value == edit.value => {}
            Some(_) => {
                let path = shown(&edit.path);
                return Err(refuse(format!("two edits disagree about `{}` in {path}", edit.key)));
            }
        }
    }
    let mut finder = Finder::new(text, tree);
    let change = |(path, edits): (_, Vec<_>)| Change::new(text, path, &finder.find(path)?, &edits, splices);
    mappings.into_iter().map(change).collect()
}

/// Returns the edits that are refused when each is tried alone.
pub(super) fn refused(text: &str, tree: &NodeIn<'_>, edits: &[Edit]) -> Vec<(usize, Diagnostic)> {
    let mut finder = Finder::new(text, tree);
    let mut make = |edit: &Edit| {
        Change::new(text, &edit.path, &finder.find(&edit.path)?, &[edit], &mut Vec::new()).map(drop)
    };
    edits.iter().enumerate().filter_map(|(index, edit)| Some((index, make(edit).err()?))).collect()
}

impl<'e> Change<'e> {
    fn new(
        text: &str,
        path: &'e [Step],
        mapping: &Mapping<'_>,
        edits: &[&Edit],
        splices: &mut Vec<Splice>,
    ) -> Result<Self, Diagnostic> {
        let quotes = mapping.quotes(text);
        let (mut set, mut added, front) = (Vec::new(), Vec::new(), mapping.first_scalars());
        for Edit { key, value, .. } in edits {
            let Some((index, pair)) = unique(mapping, key)? else {
                added.push((key_scalar(key, quotes), scalar(value, quotes)));
                continue;
            };
            if reads_as(&pair.1, value) {
                continue;
            }
            check_value(path, key, &pair.1)?;
            // Keep double quotes.
            let double = pair.1.style().filter(|style| *style == Style::DoubleQuoted);
            let value = scalar(value, double.unwrap_or(quotes));
            splices.push(replace(text, pair, &written(&value)));
            set.push((index, value));
        }
        if !added.is_empty() {
            let pair = |(key, value)| format!("{}: {}", written(key), written(value));
            let pairs: Vec<_> = added.iter().map(|(key, value)| pair((key, value))).collect();
            splices.extend(add_splices(text, mapping, front, &pairs));
        }
        Ok(Self { path, set, added, front })
    }

    /// Applies the change to the tree.
    pub(super) fn make(self, tree: &mut NodeIn<'_>) {
        let Some(KindIn::Mapping(pairs)) = follow(tree, self.path).map(|node| &mut node.kind) else {
            return;
        };
        for (index, value) in self.set {
            if let Some((_, old)) = pairs.get_mut(index) {
                *old = value;
            }
        }
        pairs.splice(self.front..self.front, self.added);
    }
}

/// Returns the pair with this key and its index.
fn unique<'n>(mapping: &Mapping<'n>, key: &str) -> Result<Option<(usize, &'n Pair<'n>)>, Diagnostic> {
    let mut found = mapping.pairs.iter().enumerate().filter(|(_, (found, _))| found.as_scalar() == Some(key));
    match (found.next(), found.next()) {
        (_, Some((_, (again, _)))) => Err(refuse(format!("the key `{key}` appears twice")).at(again.span)),
        (first, None) => Ok(first),
    }
}

/// Returns whether Go already reads the value as this string. A plain null does not qualify.
fn reads_as(node: &NodeIn<'_>, value: &str) -> bool {
    node.as_scalar() == Some(value) && !node.is_null() && node.alias().is_none()
}

/// Refuses a value that is not a scalar or that other parts of the text use.
fn check_value(path: &[Step], key: &str, value: &NodeIn<'_>) -> Result<(), Diagnostic> {
    if value.as_scalar().is_none() {
        return Err(refuse(format!("`{key}` in {} is not a scalar", shown(path))).at(value.span));
    }
    if value.anchor().is_some() {
        let message = format!("the value of `{key}` in {} has an anchor", shown(path));
        let help = "write the value at each place instead of using an anchor";
        return Err(refuse(message).at(value.span).help(help));
    }
    Ok(())
}

/// Replaces the value of the pair with `written`.
fn replace(text: &str, (key, value): &Pair<'_>, written: &str) -> Splice {
    let span = value.span;
    if span.start == span.end {
        return match indicator(text, key.span.end, ':') {
            Some(behind) => Splice::insert(behind, format!(" {written}")),
            None => Splice::insert(key.span.end, format!(": {written}")),
        };
    }
    // Keep the comment in the first line of a block scalar (`| # why`).
    let block = matches!(value.style(), Some(Style::Literal | Style::Folded));
    let old = text.get(span.start..span.end).filter(|_| block).unwrap_or_default();
    let header = old.lines().next().unwrap_or_default().trim_end();
    let indicators = header.split('#').next().unwrap_or_default().trim_end();
    let comment = header.get(indicators.len()..).unwrap_or_default();
    Splice { span, text: format!("{written}{comment}") }
}

/// Returns the node at a path.
fn follow<'n, 't>(mut node: &'n mut NodeIn<'t>, path: &[Step]) -> Option<&'n mut NodeIn<'t>> {
    for step in path {
        node = match (step, &mut node.kind) {
            (Step::Index(index), KindIn::Sequence(items)) => items.get_mut(*index)?,
            (Step::Key(key), KindIn::Mapping(pairs)) => {
                &mut pairs.iter_mut().find(|(found, _)| found.as_scalar() == Some(key))?.1
            }
            _ => return None,
        };
    }
    Some(node)
}

// Additions of pairs to a mapping.

/// Adds pairs after the first `count` pairs of the mapping.
fn add_splices(text: &str, mapping: &Mapping<'_>, count: usize, added: &[String]) -> Vec<Splice> {
    let behind = mapping.pairs.get(..count).and_then(<[_]>::last);
    match (behind, mapping.open) {
        (None, open) => vec![in_front(text, mapping, open, added)],
        (Some(pair), None) => {
            let lead = next_line(text, mapping);
            let end = pair_end(text, pair);
            vec![Splice::insert(line_end(text, end).unwrap_or(end), lead.clone() + &added.join(&lead))]
        }
        (Some(pair), Some(_)) => in_braces(text, pair, added),
    }
}

/// Returns the line break and indentation before a key of a block mapping.
fn next_line(text: &str, mapping: &Mapping<'_>) -> String {
    let column = mapping.pairs.first().map_or(0, |(key, _)| before(text, key.span.start).len());
    newline(text).to_owned() + &" ".repeat(column)
}

fn in_front(text: &str, mapping: &Mapping<'_>, open: Option<usize>, added: &[String]) -> Splice {
    let separator = if open.is_some() { ", ".to_owned() } else { next_line(text, mapping) };
    let added = added.join(&separator);
    match mapping.pairs.first() {
        Some((key, _)) => Splice::insert(key.span.start, added + &separator),
        None => Splice::insert(open.map_or(0, |open| open + 1), added),
    }
}

/// Adds pairs after a pair of a mapping in braces: on new lines if that pair begins a line, otherwise on the
/// same line.
fn in_braces(text: &str, pair: &Pair<'_>, added: &[String]) -> Vec<Splice> {
    let end = pair_end(text, pair);
    let behind_comma = indicator(text, end, ',');
    // `key:,` would be one plain scalar.
    let new_comma = if pair.1.span.start == pair.1.span.end { " ," } else { "," };
    let indentation = before(text, pair.0.span.start);
    let own_line = line_end(text, behind_comma.unwrap_or(end)).filter(|_| indentation.trim().is_empty());
    let Some(line_end) = own_line else {
        return vec![Splice::insert(end, format!("{new_comma} {}", added.join(", ")))];
    };
    let lead = newline(text).to_owned() + indentation;
    let lines = lead.clone() + &added.join(&format!(",{lead}"));
    match behind_comma {
        Some(_) => vec![Splice::insert(line_end, lines + ",")],
        None => vec![Splice::insert(end, new_comma.to_owned()), Splice::insert(line_end, lines)],
    }
}

// The form of keys and values.

/// Returns a scalar in these quotes, or in double quotes if single quotes cannot hold the text on one line.
fn scalar(text: &str, quotes: Style) -> NodeIn<'static> {
    let quotes = if text.chars().all(is_printable) { quotes } else { Style::DoubleQuoted };
    NodeIn::scalar(text.to_owned(), quotes, Span::default())
}

/// Returns a key as a person would write it: plain if it is certainly a string, otherwise in single quotes.
fn key_scalar(key: &str, quotes: Style) -> NodeIn<'static> {
    let plain = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'));
    let word = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"]
        .iter()
        .any(|word| key.eq_ignore_ascii_case(word));
    let is_plain = plain && !word && quotes == Style::SingleQuoted;
    scalar(key, if is_plain { Style::Plain } else { quotes })
}

/// Returns the text of a scalar. In double quotes it uses only the escapes that JSON and YAML share, so that
/// a JSON document stays valid.
fn written(scalar: &NodeIn<'_>) -> String {
    let text = scalar.as_scalar().unwrap_or_default();
    match scalar.style() {
        Some(Style::Plain) => text.to_owned(),
        Some(Style::DoubleQuoted) => go_json::escaped(&text, |c| !is_printable(c)),
        _ => format!("'{}'", text.replace('\'', "''")),
    }
}

/// Returns whether a character needs no escape in quotes. Control characters, the line breaks of YAML 1.1 and
/// byte order marks need one.
fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

// Look-up of the mapping at a path. It fails if a node on the path is shared with another part of the text.

/// A mapping that can be edited.
struct Mapping<'n> {
    pairs: &'n [Pair<'n>],
    /// The position of the opening brace, if the mapping is in braces.
    open: Option<usize>,
}

impl Mapping<'_> {
    /// Returns the number of pairs after which new pairs are added, which is the length of the first run of
    /// scalars. A block scalar ends the run, because lines after it can become part of it.
    fn first_scalars(&self) -> usize {
        let is_inline = |(_, value): &&Pair<'_>| match value.kind {
            _ if value.alias().is_some() => true,
            KindIn::Scalar { style, .. } => !matches!(style, Style::Literal | Style::Folded),
            KindIn::Sequence(_) | KindIn::Mapping(_) => false,
        };
        self.pairs.iter().take_while(is_inline).count()
    }

    /// Returns the quotes for added keys and values. A JSON document stays valid JSON.
    fn quotes(&self, text: &str) -> Style {
        let is_json = self.open.is_some()
            && text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '['])
            && self.pairs.iter().all(|(key, _)| key.style() == Some(Style::DoubleQuoted));
        if is_json { Style::DoubleQuoted } else { Style::SingleQuoted }
    }
}

/// Follows paths in a tree.
struct Finder<'n> {
    text: &'n str,
    root: &'n NodeIn<'n>,
    /// The names that aliases refer to; collected when a path first meets an anchor.
    referred: Option<HashSet<&'n str>>,
}

impl<'n> Finder<'n> {
    fn new(text: &'n str, root: &'n NodeIn<'n>) -> Self {
        Self { text, root, referred: None }
    }

    /// Returns the mapping at `path`.
    fn find(&mut self, path: &[Step]) -> Result<Mapping<'n>, Diagnostic> {
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

    /// Returns the position of the opening bracket, if the list or mapping has brackets.
    fn bracket(&self, node: &NodeIn<'_>) -> Option<usize> {
        let bracket = if node.as_sequence().is_some() { '[' } else { '{' };
        let start = content(self.text, node.span);
        self.text.get(start..)?.starts_with(bracket).then_some(start)
    }

    /// Refuses an alias, and an anchored node that an alias refers to.
    fn check_alone(&mut self, node: &NodeIn<'_>, path: &[Step]) -> Result<(), Diagnostic> {
        if !node.shared {
            return Ok(());
        }
        let root = self.root;
        let is_alone = |name| !self.referred.get_or_insert_with(|| referred(root)).contains(name);
        if node.anchor().is_some_and(is_alone) {
            return Ok(());
        }
        Err(refuse(format!("{} is in a part of the text that an alias repeats", shown(path)))
            .at(node.span)
            .help("write the mapping at each place instead of using an anchor and alias"))
    }
}

/// Reports a path that ends at `node`.
fn missing(node: &NodeIn<'_>, path: &[Step]) -> Diagnostic {
    refuse(format!("{} is not a mapping that can be edited", shown(path)))
        .at(node.span)
        .help("write the mapping there, without an alias and `<<`")
}

/// Returns the names that aliases in `root` refer to.
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

// The text between nodes: spaces, comments, line ends and indicators, which no span includes.
//
// Only LF and CR LF end a line; the parser refuses a text with other line breaks.

const BREAKS: [char; 2] = ['\n', '\r'];
const SPACES: [char; 2] = [' ', '\t'];

/// Skips the spaces, line breaks and comments at `at`.
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

/// Returns the end of the indicator if it comes next.
fn indicator(text: &str, at: usize, indicator: char) -> Option<usize> {
    let at = skip_space(text, at);
    text.get(at..)?.starts_with(indicator).then_some(at + 1)
}

/// Returns the end of the line if only spaces and a comment are left on it.
fn line_end(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?.split(BREAKS).next()?;
    let content = rest.trim_start_matches(SPACES);
    (content.is_empty() || content.starts_with('#')).then_some(at + rest.len())
}

/// Returns the line break of the text.
fn newline(text: &str) -> &'static str {
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if first.ends_with("\r\n") { "\r\n" } else { "\n" }
}

/// Returns the text before `at` on its line.
fn before(text: &str, at: usize) -> &str {
    let before = text.get(..at).and_then(|before| before.rsplit(BREAKS).next()).unwrap_or_default();
    before.trim_start_matches('\u{feff}')
}

/// Returns the start of a node, after its anchor.
pub(super) fn content(text: &str, span: Span) -> usize {
    let written = text.get(span.start..span.end).unwrap_or_default();
    let is_space = |c| SPACES.contains(&c) || BREAKS.contains(&c);
    let anchor = if written.starts_with('&') { written.find(is_space) } else { None };
    skip_space(text, span.start + anchor.unwrap_or_default())
}

/// Returns the end of a pair: the end of its value or, if the value is empty, of the colon or the key.
fn pair_end(text: &str, (key, value): &Pair<'_>) -> usize {
    if value.span.start < value.span.end {
        return value.span.end;
    }
    indicator(text, key.span.end, ':').unwrap_or(key.span.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        for (text, written) in [
            ("", "''"),
            ("alice dev", "'alice dev'"),
            ("it's", "'it''s'"),
            ("*", "'*'"),
            (" a ", "' a '"),
            ("ü 漢 😀", "'ü 漢 😀'"),
            ("a\nb\t\"\\", r#""a\nb\t\"\\""#),
            ("\0\u{85}\u{2028}\u{feff}", r#""\u0000\u0085\u2028\ufeff""#),
        ] {
            assert_eq!(super::written(&scalar(text, Style::SingleQuoted)), written);
        }
    }

    #[test]
    fn keys() {
        for (text, quotes, written) in [
            ("submitacl", Style::SingleQuoted, "submitacl"),
            ("application.sort.policy", Style::SingleQuoted, "application.sort.policy"),
            ("true", Style::SingleQuoted, "'true'"),
            ("1", Style::SingleQuoted, "'1'"),
            ("a b", Style::SingleQuoted, "'a b'"),
            ("a\nb", Style::SingleQuoted, r#""a\nb""#),
            ("submitacl", Style::DoubleQuoted, r#""submitacl""#),
        ] {
            assert_eq!(super::written(&key_scalar(text, quotes)), written);
        }
    }
}
