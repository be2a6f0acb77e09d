//! The tree as a pattern of the `regex` crate.
//!
//! Every construct that is written has one meaning in both worlds, whatever flags or Unicode version the crate has: code points in
//! hexadecimal, ranges, anchors, ASCII word boundaries. Groups do not capture and repetition is greedy: whether there is a match does
//! not depend on either.

use std::fmt::Write as _;

use super::syntax::{Expr, Kind, Look};

/// The pattern for `regex::Regex` that matches where `expr` does.
pub(super) fn pattern(expr: &Expr) -> String {
    let mut out = String::new();
    write_expr(expr, &mut out);
    out
}

fn write_expr(expr: &Expr, out: &mut String) {
    match expr.kind() {
        Kind::Empty => out.push_str("(?:)"),
        Kind::Literal(c) => write_char(*c, out),
        Kind::Class(class) => {
            // A class that matches nothing has to be written as the complement of everything.
            out.push_str(if class.ranges().is_empty() { r"[^\x{0}-\x{10FFFF}" } else { "[" });
            for range in class.ranges() {
                write_char(range.start(), out);
                out.push('-');
                write_char(range.end(), out);
            }
            out.push(']');
        }
        Kind::Look(look) => out.push_str(match look {
            Look::TextStart => r"\A",
            Look::TextEnd => r"\z",
            Look::LineStart => "(?m:^)",
            Look::LineEnd => "(?m:$)",
            Look::WordBoundary => r"(?-u:\b)",
            Look::NotWordBoundary => r"(?-u:\B)",
        }),
        Kind::Concat(parts) => {
            for part in parts {
                write_expr(part, out);
            }
        }
        Kind::Alternate(parts) => {
            out.push_str("(?:");
            for (i, part) in parts.iter().enumerate() {
                if i > 0 {
                    out.push('|');
                }
                write_expr(part, out);
            }
            out.push(')');
        }
        Kind::Repeat { sub, min, max } => {
            out.push_str("(?:");
            write_expr(sub, out);
            out.push(')');
            write_count(*min, *max, out);
        }
    }
}

fn write_char(c: char, out: &mut String) {
    if c.is_ascii_alphanumeric() {
        out.push(c);
    } else {
        let _ = write!(out, r"\x{{{:X}}}", u32::from(c));
    }
}

fn write_count(min: u32, max: Option<u32>, out: &mut String) {
    let _ = match max {
        Some(max) => write!(out, "{{{min},{max}}}"),
        None => write!(out, "{{{min},}}"),
    };
}
