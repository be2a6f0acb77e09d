//! Removals and additions in a mapping written in lines.

use super::change::{Change, Fate};
use super::place::{
    column, comment_between, indentation, line_break, line_end, newline, pair_end, skip_blanks_back,
};
use super::{Pair, Splice, refuse};
use crate::text::diag::{Diagnostic, Span};

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
    splices.push(match change.added_behind(text) {
        Some((_, pair)) => Splice::insert(end_of_line(text, pair_end(text, pair))?, between + &added),
        None => Splice::insert(first.0.span.start, added + &between),
    });
    Ok(())
}

/// What stands between two keys of the mapping: the text's line break and the keys' indentation.
fn separator(change: &Change<'_, '_>, text: &str) -> String {
    let first = change.pairs.first().map_or(0, |(key, _)| key.span.start);
    let behind = change
        .added_behind(text)
        .map_or(first, |(_, pair)| pair_end(text, pair));
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
    let written = if added.is_empty() { "{}" } else { added };
    let span = Span::new(first.0.span.start, pair_end(text, first));
    splices.push(Splice {
        span,
        text: written.to_owned(),
    });
    remove_lines(others.iter(), text, splices)
}

/// The line of a removed pair goes with its comment; what stands above it stays.
fn remove(change: &Change<'_, '_>, text: &str, splices: &mut Vec<Splice>) -> Result<(), Diagnostic> {
    let mut removed = change.removed().peekable();
    let head = change
        .pairs
        .first()
        .filter(|(key, _)| indentation(text, key.span.start).is_none());
    if let (Some(head), Some(Fate::Remove)) = (head, change.fates.first()) {
        // `- submitacl: a` is the item's first line: the next key moves up to the dash, unless a comment is in between.
        let (start, end) = match pulled_up(change, text) {
            Some(next) => (head.0.span.start, next),
            None => (
                skip_blanks_back(text, head.0.span.start),
                end_of_line(text, pair_end(text, head))?,
            ),
        };
        splices.push(Splice::delete(start, end));
        removed.next();
    }
    remove_lines(removed.collect::<Vec<_>>().into_iter(), text, splices)
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

/// Deletes the pairs' lines with their breaks. Where the text's last line goes and has no break, the break in front of it goes,
/// so that the text ends without one as before.
fn remove_lines<'t>(
    pairs: impl DoubleEndedIterator<Item = &'t Pair>,
    text: &str,
    splices: &mut Vec<Splice>,
) -> Result<(), Diagnostic> {
    let mut last = text.len();
    for pair in pairs.rev() {
        let start = pair.0.span.start;
        let start = start.saturating_sub(indentation(text, start).map_or(0, str::len));
        let end = end_of_line(text, pair_end(text, pair))?;
        if end < last {
            splices.push(Splice::delete(start, end + line_break(text, end).len()));
            continue;
        }
        let before = text.get(..start).unwrap_or_default();
        let kept = before
            .strip_suffix("\r\n")
            .or_else(|| before.strip_suffix(['\n', '\r']))
            .unwrap_or(before);
        last = kept.len();
        splices.push(Splice::delete(last, end));
    }
    Ok(())
}

fn end_of_line(text: &str, at: usize) -> Result<usize, Diagnostic> {
    line_end(text, at).ok_or_else(|| refuse("the line goes on behind the value").at(Span::new(at, at)))
}
