//! Removals and additions in a mapping written in braces.

use super::place::{
    indentation, indicator, is, line_break, line_end, newline, pair_end, skip_blanks, skip_blanks_back,
};
use super::{Change, Pair, Splice};

/// Splices what `change` removes and adds in the braces that open at `open`.
pub(super) fn splice(change: &Change<'_, '_>, text: &str, open: usize, splices: &mut Vec<Splice>) {
    splices.extend(change.removed().map(|(pair, _)| removal(text, pair)));
    let dangling = dangling_comma(change, text);
    let comma_used = add(change, text, open, dangling, splices);
    if let Some((_, comma)) = dangling.filter(|_| !comma_used) {
        let behind = skip_blanks(text, comma + 1);
        // A comment needs the blank in front of it.
        let end = if is(text, behind, b'#') { comma + 1 } else { behind };
        splices.push(Splice::delete(comma, end));
    }
}

/// The place of the comma behind the pair.
fn comma(text: &str, pair: &Pair<'_>) -> Option<usize> {
    indicator(text, pair_end(text, pair), b',').map(|end| end - 1)
}

/// Deletes a pair with the comma behind it, and with its line if it stands alone there.
fn removal(text: &str, pair: &Pair<'_>) -> Splice {
    let start = pair.0.span.start;
    let comma = comma(text, pair);
    let end = comma.map_or(pair_end(text, pair), |comma| comma + 1);
    if let (Some(indentation), Some(line_end)) = (indentation(text, start), line_end(text, end)) {
        return Splice::delete(start - indentation.len(), line_end + line_break(text, line_end).len());
    }
    // Of the blanks around the pair those go that were written with it: behind its comma, or else in front of it.
    match skip_blanks(text, end) {
        next if comma.is_some() && next > end => Splice::delete(start, next),
        _ => Splice::delete(skip_blanks_back(text, start), end),
    }
}

/// When the last pair goes and had no comma: the last pair that stays, and the place of its comma, which is now too much.
fn dangling_comma(change: &Change<'_, '_>, text: &str) -> Option<(usize, usize)> {
    let last = change.pairs.last()?;
    let (index, stays) = change.survivors().last()?;
    let gone = index + 1 < change.pairs.len();
    if gone && comma(text, last).is_none() { Some((index, comma(text, stays)?)) } else { None }
}

/// Writes the new pairs. Returns whether they follow the dangling comma, which then must stay.
fn add(
    change: &Change<'_, '_>,
    text: &str,
    open: usize,
    dangling: Option<(usize, usize)>,
    splices: &mut Vec<Splice>,
) -> bool {
    let added = change.written_pairs();
    if added.is_empty() {
        return false;
    }
    let Some((index, pair)) = change.added_behind() else {
        splices.push(match change.survivors().next() {
            Some((_, first)) => Splice::insert(first.0.span.start, added.join(", ") + ", "),
            None => Splice::insert(open + 1, added.join(", ")),
        });
        return false;
    };
    let end = pair_end(text, pair);
    // `key:,` would be one plain scalar.
    let new_comma = if pair.1.span.start == pair.1.span.end { " ," } else { "," };
    let comma = comma(text, pair);
    let own_line =
        indentation(text, pair.0.span.start).zip(line_end(text, comma.map_or(end, |comma| comma + 1)));
    let Some((indentation, line_end)) = own_line else {
        splices.push(Splice::insert(end, format!("{new_comma} {}", added.join(", "))));
        return false;
    };
    let lead = format!("{}{indentation}", newline(text, line_end));
    let comma_used = dangling.is_some_and(|(behind, _)| behind == index);
    if comma.is_none() {
        splices.push(Splice::insert(end, new_comma.to_owned()));
    }
    let last = if comma.is_none() || comma_used { "" } else { "," };
    let lines = added.join(&format!(",{lead}"));
    splices.push(Splice::insert(line_end, format!("{lead}{lines}{last}")));
    comma_used
}
