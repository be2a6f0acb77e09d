//! What happens to each mapping: which pairs stay, are set or removed, and what is added.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::find::{Finder, Found, merges, position, shown};
use super::place::indicator;
use super::quote::{self, Quote};
use super::{Edit, Pair, Splice, Step, block, flow, refuse};
use crate::diag::{Diagnostic, Span};
use crate::yaml::{KindIn, NodeIn, Style};

/// What happens to one pair of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate<'e> {
    Keep,
    Set(&'e str, Quote),
    Remove,
}

/// All changes of one mapping.
pub(super) struct Change<'t, 'e> {
    path: &'e [Step],
    pub(super) pairs: &'t [Pair<'t>],
    /// The place of the opening brace, if the mapping is written in braces.
    open: Option<usize>,
    /// The quotes of what is added.
    quote: Quote,
    /// One for each pair.
    pub(super) fates: Vec<Fate<'e>>,
    /// New keys with their values, in the order of the edits.
    added: Vec<(&'e str, &'e str)>,
}

/// The edits by mapping, in the order in which the mappings are first named.
pub(super) fn changes<'t, 'e>(
    text: &'t str,
    tree: &'t NodeIn<'t>,
    edits: &'e [Edit],
) -> Result<Vec<Change<'t, 'e>>, Diagnostic> {
    let mut finder = Finder::new(text, tree);
    let mut changes: Vec<Change<'t, 'e>> = Vec::new();
    let mut by_path: HashMap<&[Step], usize> = HashMap::with_capacity(edits.len());
    let mut seen: HashMap<(usize, &str), Option<&str>> = HashMap::with_capacity(edits.len());
    for edit in edits {
        let index = match by_path.entry(&edit.path) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                changes.push(Change::new(text, &edit.path, &finder.find(&edit.path)?));
                *new.insert(changes.len() - 1)
            }
        };
        let value = edit.value.as_deref();
        match seen.entry((index, &edit.key)) {
            Entry::Occupied(before) if *before.get() == value => continue,
            Entry::Occupied(_) => {
                let message = format!("two edits disagree about `{}` in {}", edit.key, shown(&edit.path));
                return Err(refuse(message));
            }
            Entry::Vacant(new) => _ = new.insert(value),
        }
        if let Some(change) = changes.get_mut(index) {
            change.include(edit)?;
        }
    }
    Ok(changes)
}

/// The edits that are refused, each looked at alone.
pub(super) fn refused<'t>(text: &'t str, tree: &'t NodeIn<'t>, edits: &[Edit]) -> Vec<(usize, Diagnostic)> {
    let mut finder = Finder::new(text, tree);
    let mut make = |edit: &Edit| {
        let found = finder.find(&edit.path)?;
        Change::new(text, &edit.path, &found).include(edit)
    };
    edits.iter().enumerate().filter_map(|(index, edit)| Some((index, make(edit).err()?))).collect()
}

impl<'t, 'e> Change<'t, 'e> {
    fn new(text: &str, path: &'e [Step], found: &Found<'t>) -> Self {
        let Found { pairs, open } = *found;
        let double_quoted =
            |(key, _): &Pair<'_>| matches!(key.kind, KindIn::Scalar { style: Style::DoubleQuoted, .. });
        let json = open.is_some()
            && if pairs.is_empty() {
                text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '['])
            } else {
                pairs.iter().all(double_quoted)
            };
        let quote = if json { Quote::Double } else { Quote::Single };
        Self { path, pairs, open, quote, fates: vec![Fate::Keep; pairs.len()], added: Vec::new() }
    }

    /// Notes what the edit does to this mapping.
    fn include(&mut self, edit: &'e Edit) -> Result<(), Diagnostic> {
        let key = edit.key.as_str();
        let index = position(self.pairs, key)?;
        if edit.value.is_none() && merges(self.pairs, key) {
            let message =
                format!("`{key}` in {} comes through `<<` and cannot be removed here", shown(self.path));
            return Err(refuse(message).help("remove it where it is written, or set it to an own value here"));
        }
        let Some((index, pair)) = index.and_then(|index| Some((index, self.pairs.get(index)?))) else {
            if let Some(value) = &edit.value {
                self.added.push((key, value));
            }
            return Ok(());
        };
        if edit.value.as_ref().is_some_and(|value| reads_as(&pair.1, value)) {
            return Ok(());
        }
        self.refuse_pair(key, pair)?;
        let fate = match &edit.value {
            Some(value) => Fate::Set(value, replaced_quote(&pair.1, self.quote).carrying(value)),
            None => Fate::Remove,
        };
        self.fates.get_mut(index).into_iter().for_each(|kept| *kept = fate);
        Ok(())
    }

    fn refuse_pair(&self, key: &str, pair: &Pair<'_>) -> Result<(), Diagnostic> {
        let value = &pair.1;
        if !matches!(value.kind, KindIn::Scalar { .. }) {
            return Err(refuse(format!("`{key}` in {} is not a scalar", shown(self.path))).at(value.span));
        }
        if value.shared && value.alias().is_none() {
            let message = format!("the value of `{key}` in {} carries an anchor", shown(self.path));
            return Err(refuse(message)
                .at(value.span)
                .help("write the value out in each place, without anchor"));
        }
        Ok(())
    }

    /// The pairs that stay, with their index.
    pub(super) fn survivors(&self) -> impl Iterator<Item = (usize, &'t Pair<'t>)> {
        let stays = |(_, (_, fate)): &(usize, (&Pair<'_>, &Fate<'_>))| **fate != Fate::Remove;
        self.pairs.iter().zip(&self.fates).enumerate().filter(stays).map(|(index, (pair, _))| (index, pair))
    }

    /// The pairs that go, each with the last pair in front of it that stays.
    pub(super) fn removed(&self) -> impl Iterator<Item = (&'t Pair<'t>, Option<&'t Pair<'t>>)> {
        let pairs = self.pairs.iter().zip(&self.fates).scan(None, |last, (pair, fate)| {
            let before = *last;
            if *fate != Fate::Remove {
                *last = Some(pair);
            }
            Some((*fate == Fate::Remove, pair, before))
        });
        pairs.filter(|(goes, ..)| *goes).map(|(_, pair, before)| (pair, before))
    }

    /// The pair behind which keys are added: the last one of the first run of scalars. A block scalar ends the run, because what
    /// follows it can change what it holds. `None`: in front of all.
    pub(super) fn added_behind(&self) -> Option<(usize, &'t Pair<'t>)> {
        let is_inline = |(index, (_, value)): &(usize, &Pair<'_>)| match &value.kind {
            _ if value.alias().is_some() => true,
            KindIn::Scalar { style: Style::Literal | Style::Folded, .. } => {
                matches!(self.fates.get(*index), Some(Fate::Set(..)))
            }
            KindIn::Scalar { .. } => true,
            KindIn::Sequence(_) | KindIn::Mapping(_) => false,
        };
        self.survivors().take_while(is_inline).last()
    }

    /// The added pairs as they are written.
    pub(super) fn written_pairs(&self) -> Vec<String> {
        let written = |(key, value): &(&str, &str)| {
            format!("{}: {}", quote::key(key, self.quote).0, self.quote.carrying(value).write(value))
        };
        self.added.iter().map(written).collect()
    }

    /// The splices that make this change.
    pub(super) fn splice(&self, text: &str, splices: &mut Vec<Splice>) -> Result<(), Diagnostic> {
        for (pair, fate) in self.pairs.iter().zip(&self.fates) {
            if let Fate::Set(value, quote) = fate {
                splices.push(set(text, pair, &quote.write(value)));
            }
        }
        match self.open {
            Some(open) => flow::splice(self, text, open, splices),
            None => block::splice(self, text, splices)?,
        }
        Ok(())
    }

    /// What comes of this change in the tree of the text.
    pub(super) fn into_expected(self) -> Expected<'e> {
        Expected {
            path: self.path,
            behind: self.added_behind().map(|(index, _)| index),
            added: self.added.iter().map(|(key, value)| self.expected_pair(key, value)).collect(),
            fates: self.fates,
        }
    }

    fn expected_pair(&self, key: &str, value: &str) -> Pair<'static> {
        (scalar(key, quote::key(key, self.quote).1), scalar(value, self.quote.carrying(value).style()))
    }
}

/// What comes of a [`Change`].
pub(super) struct Expected<'e> {
    path: &'e [Step],
    fates: Vec<Fate<'e>>,
    added: Vec<Pair<'static>>,
    /// Behind which of the old pairs; `None`: in front of all.
    behind: Option<usize>,
}

impl Expected<'_> {
    /// Makes the change in the tree.
    pub(super) fn make(self, tree: &mut NodeIn<'_>) {
        let Some(KindIn::Mapping(pairs)) = follow(tree, self.path).map(|node| &mut node.kind) else {
            return;
        };
        let Self { fates, added, behind, .. } = self;
        let mut added: Vec<Pair<'_>> = added;
        let room = pairs.len() + added.len();
        let old = std::mem::replace(pairs, Vec::with_capacity(room));
        if behind.is_none() {
            pairs.append(&mut added);
        }
        for (index, ((key, value), fate)) in old.into_iter().zip(&fates).enumerate() {
            match fate {
                Fate::Keep => pairs.push((key, value)),
                Fate::Set(value, quote) => pairs.push((key, scalar(value, quote.style()))),
                Fate::Remove => {}
            }
            if behind == Some(index) {
                pairs.append(&mut added);
            }
        }
    }
}

/// Whether Go reads the value as this string already: a plain null is none.
fn reads_as(node: &NodeIn<'_>, value: &str) -> bool {
    let Some(found) = node.as_scalar() else { return false };
    found == value && !node.is_null() && node.alias().is_none()
}

/// Values in double quotes keep them; and what is JSON stays JSON.
fn replaced_quote(value: &NodeIn<'_>, quote: Quote) -> Quote {
    match value.kind {
        KindIn::Scalar { style: Style::DoubleQuoted, .. } => Quote::Double,
        _ => quote,
    }
}

/// Writes `written` in place of the pair's value.
fn set(text: &str, (key, value): &Pair<'_>, written: &str) -> Splice {
    let span = value.span;
    if span.start == span.end {
        return match indicator(text, key.span.end, b':') {
            Some(behind) => Splice::insert(behind, format!(" {written}")),
            None => Splice::insert(key.span.end, format!(": {written}")),
        };
    }
    Splice { span, text: format!("{written}{}", header_comment(text, value)) }
}

/// The comment in the first line of a block scalar (`| # why`), which would go with the value.
fn header_comment<'t>(text: &'t str, value: &NodeIn<'_>) -> &'t str {
    let KindIn::Scalar { style: Style::Literal | Style::Folded, .. } = value.kind else {
        return "";
    };
    let written = text.get(value.span.start..value.span.end).unwrap_or_default();
    let header = written.split(['\n', '\r']).next().unwrap_or_default();
    let comment = header.find('#').and_then(|at| header.get(..at)).map(|before| before.trim_end().len());
    comment.and_then(|at| header.get(at..)).unwrap_or_default()
}

fn scalar(value: &str, style: Style) -> NodeIn<'static> {
    NodeIn::scalar(value.to_owned(), style, Span::default())
}

/// The node that a path leads to which was followed before.
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
