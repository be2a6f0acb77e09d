//! Removals and additions in a mapping written in lines.

use super::change::{Change, Fate};
use super::place::{
    column, comment_between, content, indentation, line_break, line_end, newline, pair_end, skip_blanks_back,
    skip_empty_lines,
};
use super::{Pair, Splice, refuse};
use crate::diag::{Diagnostic, Span};
use crate::yaml::{KindIn, NodeIn, Style};

/// Splices what `change` removes and adds.
pub(super) fn splice(
    change: &Change<'_, '_>,
    text: &str,
    splices: &mut Vec<Splice>,
) -> Result<(), Diagnostic> {
    let between = separator(change, text);
    let added = change.written_pairs();
    let Some((_, first)) = change.survivors().next() else {
        return replace_all(change, text, &added.join(&between), splices);
    };
    remove(change, text, splices)?;
    if added.is_empty() {
        return Ok(());
    }
    let added = added.join(&between);
    splices.push(match change.added_behind() {
        Some((_, pair)) => Splice::insert(end_of_line(text, pair_end(text, pair))?, between + &added),
        None => Splice::insert(first.0.span.start, added + &between),
    });
    Ok(())
}

/// What stands between two keys of the mapping: the text's line break and the keys' indentation.
fn separator(change: &Change<'_, '_>, text: &str) -> String {
    let first = change.pairs.first().map_or(0, |(key, _)| key.span.start);
    let behind = change.added_behind().map_or(first, |(_, pair)| pair_end(text, pair));
    let behind = line_end(text, behind).unwrap_or(text.len());
    format!("{}{}", newline(text, behind), " ".repeat(column(text, first)))
}

/// All pairs go. Something must stand in their place: an empty block is null, not an empty mapping.
fn replace_all(
    change: &Change<'_, '_>,
    text: &str,
    added: &str,
    splices: &mut Vec<Splice>,
) -> Result<(), Diagnostic> {
    let Some((first, others)) = change.pairs.split_first() else {
        return Ok(());
    };
    let mut last = text.len();
    let written = if added.is_empty() { "{}" } else { added };
    let span = Span::new(first.0.span.start, pair_end(text, first));
    splices.push(Splice { span, text: written.to_owned() });
    for pair in others.iter().rev() {
        splices.push(without_line(pair, None, &mut last, text)?);
    }
    Ok(())
}

/// The line of a removed pair goes with its comment; what stands above it stays.
fn remove(change: &Change<'_, '_>, text: &str, splices: &mut Vec<Splice>) -> Result<(), Diagnostic> {
    let mut removed = change.removed();
    let head = change.pairs.first().filter(|(key, _)| indentation(text, key.span.start).is_none());
    if let (Some(head), Some(Fate::Remove)) = (head, change.fates.first()) {
        // `- submitacl: a` is the item's first line: the next key moves up to the dash, unless a comment is in between.
        let (start, end) = match pulled_up(change, text) {
            Some(next) => (head.0.span.start, next),
            None => (skip_blanks_back(text, head.0.span.start), end_of_line(text, pair_end(text, head))?),
        };
        splices.push(Splice::delete(start, end));
        removed.next();
    }
    let mut last = text.len();
    for (pair, before) in removed.collect::<Vec<_>>().into_iter().rev() {
        splices.push(without_line(pair, before, &mut last, text)?);
    }
    Ok(())
}

/// Where the first key that stays starts, if only removed pairs and the comments in their lines are in front of it.
fn pulled_up(change: &Change<'_, '_>, text: &str) -> Option<usize> {
    let mut end = None;
    for (pair, fate) in change.pairs.iter().zip(&change.fates) {
        if end.is_some_and(|end| comment_between(text, end, pair.0.span.start)) {
            return None;
        }
        if *fate != Fate::Remove {
            return Some(pair.0.span.start);
        }
        end = Some(line_end(text, pair_end(text, pair))?);
    }
    None
}

/// Deletes the pair's line with its break, where `before` is the pair that then stands above. If it is the `last` line of the text
/// and has no break, the break in front of it goes, so that the text ends without one as before; then `last` moves up.
///
/// A block scalar above owns the line breaks behind it: they stay, and it gets no more of them.
fn without_line(
    pair: &Pair<'_>,
    before: Option<&Pair<'_>>,
    last: &mut usize,
    text: &str,
) -> Result<Splice, Diagnostic> {
    let start = pair.0.span.start;
    let start = start.saturating_sub(indentation(text, start).map_or(0, str::len));
    let end = end_of_line(text, pair_end(text, pair))?;
    let header = before.and_then(|(_, value)| block_scalar_header(text, value));
    if header.is_some_and(|header| header.contains('+')) {
        return Ok(Splice::delete(start, skip_empty_lines(text, end)));
    }
    if end < *last || header.is_some() {
        return Ok(Splice::delete(start, end + line_break(text, end).len()));
    }
    let above = text.get(..start).unwrap_or_default();
    let kept = above.strip_suffix("\r\n").or_else(|| above.strip_suffix(['\n', '\r'])).unwrap_or(above);
    *last = kept.len();
    Ok(Splice::delete(*last, end))
}

/// The indicators (`|+`) of the block scalar that the node ends with.
fn block_scalar_header<'t>(text: &'t str, mut node: &NodeIn<'_>) -> Option<&'t str> {
    loop {
        node = match &node.kind {
            KindIn::Scalar { style: Style::Literal | Style::Folded, .. } => break,
            KindIn::Scalar { .. } => return None,
            KindIn::Sequence(items) => items.last()?,
            KindIn::Mapping(pairs) => &pairs.last()?.1,
        };
    }
    text.get(content(text, node.span)..)?.split([' ', '\t', '\n', '\r']).next()
}

fn end_of_line(text: &str, at: usize) -> Result<usize, Diagnostic> {
    line_end(text, at).ok_or_else(|| refuse("the line goes on behind the value").at(Span::new(at, at)))
}
