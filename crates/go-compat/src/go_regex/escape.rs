//! Escapes that stand for one character, alike inside and outside classes (`parse.go` `parseEscape`).

use crate::diag::Diagnostic;

use super::error::{self, GoError};
use super::input::Input;

/// Reads a backslash and what belongs to it.
pub(super) fn character(input: &mut Input<'_>) -> Result<char, Diagnostic> {
    let start = input.at();
    input.eat("\\");
    let Some(c) = input.next() else {
        return Err(GoError::TrailingBackslash.quoting("", input.span_since(start)));
    };
    let value = match c {
        'a' => Some(0x07),
        'f' => Some(0x0C),
        'n' => Some(0x0A),
        'r' => Some(0x0D),
        't' => Some(0x09),
        'v' => Some(0x0B),
        'x' => hexadecimal(input),
        '0' => Some(octal(input, 0)),
        // One digit that is not followed by an octal one would be a backreference.
        '1'..='7' => {
            input.peek().filter(|next| next.is_digit(8)).and(c.to_digit(8)).map(|first| octal(input, first))
        }
        _ if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(u32::from(c)),
        _ => None,
    };
    let value = value.ok_or_else(|| GoError::Escape.quoting(input.since(start), input.span_since(start)))?;
    // Go takes surrogates. No text contains one, yet `^\x{D800}` finds U+FFFD: Go's optimizer encodes it so.
    char::from_u32(value).ok_or_else(|| error::surrogate(input.since(start), input.span_since(start)))
}

/// Up to two more octal digits behind `first`.
fn octal(input: &mut Input<'_>, first: u32) -> u32 {
    let mut value = first;
    for _ in 0..2 {
        let Some(digit) = input.next_if(|c| c.is_digit(8)).and_then(|c| c.to_digit(8)) else {
            break;
        };
        value = value * 8 + digit;
    }
    value
}

/// Two hexadecimal digits, or any number of them in braces. What is read before an error shows in Go's message, so the order of reading is Go's.
fn hexadecimal(input: &mut Input<'_>) -> Option<u32> {
    let first = input.next()?;
    if first != '{' {
        // Go reads the second character before it looks at the first.
        let second = input.next();
        return Some(first.to_digit(16)? * 16 + second?.to_digit(16)?);
    }
    let mut value = 0;
    let mut digits = 0_usize;
    loop {
        let c = input.next()?;
        if c == '}' {
            return (digits > 0).then_some(value);
        }
        value = value * 16 + c.to_digit(16)?;
        if value > u32::from(char::MAX) {
            return None;
        }
        digits += 1;
    }
}
