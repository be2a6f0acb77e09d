//! Counts in braces: `{2}`, `{2,}`, `{2,5}`.

use super::input::Input;

/// Go's largest count, for one repetition and for the product of nested ones (`parse.go` `repeat`).
pub(super) const MAX_COUNT: u32 = 1000;

/// The counts of a repetition as written; numbers too large for the type are [`u32::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) min: u32,
    pub(super) max: Option<u32>,
}

impl Counts {
    /// Whether Go takes them: at most 1000 each, and in order.
    pub(super) fn are_valid(self) -> bool {
        self.min <= MAX_COUNT && self.max.is_none_or(|max| max <= MAX_COUNT && self.min <= max)
    }
}

/// Reads counts in braces. What has another form is no repetition but literal text, `None`, and nothing is read (`parse.go` `parseRepeat`):
/// `{}`, `{,5}`, `{ 1}`, `{01}`, `{1`.
pub(super) fn counts(input: &mut Input<'_>) -> Option<Counts> {
    let mut ahead = *input;
    if !ahead.eat("{") {
        return None;
    }
    let min = number(&mut ahead)?;
    let max = if !ahead.eat(",") {
        Some(min)
    } else if ahead.peek() == Some('}') {
        None
    } else {
        Some(number(&mut ahead)?)
    };
    if !ahead.eat("}") {
        return None;
    }
    *input = ahead;
    Some(Counts { min, max })
}

/// A decimal number without leading zeros.
fn number(input: &mut Input<'_>) -> Option<u32> {
    let start = input.at();
    let mut value: u32 = 0;
    while let Some(digit) = input.peek().and_then(|c| c.to_digit(10)) {
        value = value.saturating_mul(10).saturating_add(digit);
        input.next();
    }
    let digits = input.since(start);
    let leading_zero = digits.len() > 1 && digits.starts_with('0');
    (!digits.is_empty() && !leading_zero).then_some(value)
}
