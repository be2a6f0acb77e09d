//! The changes of a mapping: in its text and in its tree.

use std::collections::HashMap;

use super::find::{Finder, Mapping};
use super::location::indicator;
use super::{Edit, Pair, Splice, Step, add, quote, refuse, shown};
use crate::diag::Diagnostic;
use crate::yaml::{KindIn, NodeIn, Style};

/// The changes of one mapping.
pub(super) struct Change<'e> {
    path: &'e [Step],
    /// The new values, each with the index of its pair.
    set: Vec<(usize, NodeIn<'static>)>,
    /// The new pairs.
    added: Vec<Pair<'static>>,
    /// The number of pairs in front of the new ones.
    front: usize,
}

/// Returns the changes that the edits make, and adds their splices.
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

/// Returns the edits that are refused, each looked at alone.
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
                added.push((quote::key(key, quotes), quote::scalar(value, quotes)));
                continue;
            };
            if reads_as(&pair.1, value) {
                continue;
            }
            check_value(path, key, &pair.1)?;
            // Double quotes stay.
            let double = pair.1.style().filter(|style| *style == Style::DoubleQuoted);
            let value = quote::scalar(value, double.unwrap_or(quotes));
            splices.push(replace(text, pair, &quote::written(&value)));
            set.push((index, value));
        }
        if !added.is_empty() {
            let pair = |(key, value)| format!("{}: {}", quote::written(key), quote::written(value));
            let pairs: Vec<_> = added.iter().map(|(key, value)| pair((key, value))).collect();
            splices.extend(add::splice(text, mapping, front, &pairs));
        }
        Ok(Self { path, set, added, front })
    }

    /// Makes the change in the tree.
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

/// Returns the pair with this key, and its index.
fn unique<'n>(mapping: &Mapping<'n>, key: &str) -> Result<Option<(usize, &'n Pair<'n>)>, Diagnostic> {
    let mut found = mapping.pairs.iter().enumerate().filter(|(_, (found, _))| found.as_scalar() == Some(key));
    match (found.next(), found.next()) {
        (_, Some((_, (again, _)))) => Err(refuse(format!("the key `{key}` stands twice")).at(again.span)),
        (first, None) => Ok(first),
    }
}

/// Returns whether Go reads the value as this string already: a plain null is none.
fn reads_as(node: &NodeIn<'_>, value: &str) -> bool {
    node.as_scalar() == Some(value) && !node.is_null() && node.alias().is_none()
}

/// Refuses a value that is no scalar, or that other parts of the text use.
fn check_value(path: &[Step], key: &str, value: &NodeIn<'_>) -> Result<(), Diagnostic> {
    if value.as_scalar().is_none() {
        return Err(refuse(format!("`{key}` in {} is not a scalar", shown(path))).at(value.span));
    }
    if value.anchor().is_some() {
        let message = format!("the value of `{key}` in {} carries an anchor", shown(path));
        let help = "write the value out in each place, without anchor";
        return Err(refuse(message).at(value.span).help(help));
    }
    Ok(())
}

/// Writes `written` in place of the pair's value.
fn replace(text: &str, (key, value): &Pair<'_>, written: &str) -> Splice {
    let span = value.span;
    if span.start == span.end {
        return match indicator(text, key.span.end, ':') {
            Some(behind) => Splice::insert(behind, format!(" {written}")),
            None => Splice::insert(key.span.end, format!(": {written}")),
        };
    }
    // The comment in the first line of a block scalar (`| # why`) stays.
    let block = matches!(value.style(), Some(Style::Literal | Style::Folded));
    let old = text.get(span.start..span.end).filter(|_| block).unwrap_or_default();
    let header = old.lines().next().unwrap_or_default().trim_end();
    let indicators = header.split('#').next().unwrap_or_default().trim_end();
    let comment = header.get(indicators.len()..).unwrap_or_default();
    Splice { span, text: format!("{written}{comment}") }
}

/// Returns the node that a path leads to.
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
