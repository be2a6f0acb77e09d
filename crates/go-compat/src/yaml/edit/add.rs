//! Pairs that are added to a mapping.

use super::find::Mapping;
use super::location::{before, indicator, line_end, newline, pair_end};
use super::{Pair, Splice};

/// Writes pairs behind the first `count` ones of the mapping.
pub(super) fn splice(text: &str, mapping: &Mapping<'_>, count: usize, added: &[String]) -> Vec<Splice> {
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

/// Returns what stands between two keys of a mapping in lines.
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

/// Writes pairs behind one in braces: on lines of their own, if that one has a line of its own.
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
