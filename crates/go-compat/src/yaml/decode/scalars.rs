//! Text, booleans and numbers.

use super::{Decode, Decoder, NodePath, Spanned};
use crate::yaml::resolve::{Number, boolean, number};
use crate::yaml::{KindIn, NodeIn, Style};

/// The floats from here on are not converted to the same integer by every processor.
const TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;

impl Decode for String {
    fn decode(&mut self, node: &NodeIn<'_>, _at: &NodePath<'_>, decoder: &mut Decoder) {
        match &node.kind {
            _ if node.is_null() => {}
            KindIn::Scalar { value, .. } => self.push_str(value),
            _ => decoder.mismatch(node, "a text", &as_one_text(node)),
        }
    }
}

/// Returns what to write where a text is expected: of a list of names, the names in one text.
fn as_one_text(node: &NodeIn<'_>) -> String {
    let KindIn::Sequence(items) = &node.kind else { return "write a text".to_owned() };
    let is_plain = |name: &&str| !name.is_empty() && !name.contains([',', ' ', '"', '\\', '\n', '\t']);
    let names: Option<Vec<&str>> = items.iter().map(|item| item.as_scalar().filter(is_plain)).collect();
    match names {
        Some(names) if !names.is_empty() => format!("write a text, such as `\"{}\"`", names.join(",")),
        _ => "write a text".to_owned(),
    }
}

impl Decode for Spanned {
    fn decode(&mut self, node: &NodeIn<'_>, at: &NodePath<'_>, decoder: &mut Decoder) {
        self.value.decode(node, at, decoder);
        self.span = node.as_scalar().map(|_| node.span);
    }
}

impl Decode for bool {
    fn decode(&mut self, node: &NodeIn<'_>, _at: &NodePath<'_>, decoder: &mut Decoder) {
        let found = match &node.kind {
            _ if node.is_null() => return,
            KindIn::Scalar { value, style } => boolean(value, *style == Style::Plain),
            _ => None,
        };
        match found {
            Some(found) => *self = found,
            None => decoder.mismatch(node, "`true` or `false`", "write `true` or `false`, without quotes"),
        }
    }
}

impl Decode for Option<bool> {
    fn decode(&mut self, node: &NodeIn<'_>, at: &NodePath<'_>, decoder: &mut Decoder) {
        if !node.is_null() {
            self.get_or_insert_default().decode(node, at, decoder);
        }
    }

    fn is_nilable(&self) -> bool {
        true
    }
}

/// The number that a node is, if it is one.
fn number_of(node: &NodeIn<'_>) -> Option<Number> {
    match &node.kind {
        KindIn::Scalar { value, style: Style::Plain } => number(value),
        _ => None,
    }
}

impl Decode for u64 {
    fn decode(&mut self, node: &NodeIn<'_>, _at: &NodePath<'_>, decoder: &mut Decoder) {
        if node.is_null() {
            return;
        }
        let found = match number_of(node) {
            Some(Number::Integer(found)) => Self::try_from(found).ok(),
            // The fraction goes.
            Some(Number::Float(found)) if (0.0..TOO_LARGE).contains(&found) => {
                found.trunc().to_string().parse().ok()
            }
            Some(Number::Float(_)) => {
                let help = "write a whole number from 0 to 18446744073709551615";
                return decoder.unsure(node.span, "this number", help);
            }
            None => None,
        };
        match found {
            Some(found) => *self = found,
            None => decoder.mismatch(node, "a whole number from 0 on", "write digits, without quotes"),
        }
    }
}

impl Decode for f64 {
    #[allow(clippy::cast_precision_loss, reason = "Go rounds in the same way")]
    fn decode(&mut self, node: &NodeIn<'_>, _at: &NodePath<'_>, decoder: &mut Decoder) {
        match number_of(node) {
            _ if node.is_null() => {}
            Some(Number::Integer(found)) => *self = found as Self,
            Some(Number::Float(found)) => *self = found,
            None => decoder.mismatch(node, "a number", "write a number, without quotes"),
        }
    }
}
