//! Reads reviews as one JSON object per line, as API servers and audit tools write them: one at a time,
//! without a limit on their number.

use std::io::{self, BufRead, Read as _, Take};

use serde_json::Value;

use super::sorted::{Document, Form};
use crate::cli::Failure;
use go_compat::diag::{Diagnostic, quoted};
use queuewarden_api::review::{Kind, codes};

/// Maximum length of a line, in bytes: API servers accept no request body above 3 MiB.
const MAX_LINE: usize = 4 * 1024 * 1024;

/// Limits a reader to the longest line.
pub(super) fn limited(reader: &mut impl BufRead) -> Take<&mut impl BufRead> {
    reader.take(u64::try_from(MAX_LINE).unwrap_or(u64::MAX))
}

/// Reads the reviews of a stream.
pub(super) fn reviews(
    name: String,
    mut reader: impl BufRead,
) -> impl Iterator<Item = Result<Document, Failure>> {
    let cannot_read = {
        let name = name.clone();
        move |error| Failure::Undecided(format!("cannot read `{name}`: {error}"))
    };
    let lines = std::iter::from_fn(move || read(&mut reader).map_err(&cannot_read).transpose());
    lines.zip(1_usize..).filter_map(move |(line, number)| {
        let document = |review| Document { review, form: Form::Line, place: format!("{name}:{number}") };
        match line {
            Ok(Line::Short(line)) if line.trim_ascii().is_empty() => None,
            Ok(Line::Short(line)) => Some(Ok(document(review(&line)))),
            Ok(Line::TooLong) => Some(Ok(document(Err(too_large())))),
            Err(failure) => Some(Err(failure)),
        }
    })
}

enum Line {
    Short(Vec<u8>),
    /// A line that has been skipped.
    TooLong,
}

/// Reads the next line with its end; `None` at the end of the stream.
fn read(reader: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    limited(reader).read_until(b'\n', &mut line)?;
    if line.len() == MAX_LINE && line.last() != Some(&b'\n') {
        reader.skip_until(b'\n')?;
        return Ok(Some(Line::TooLong));
    }
    Ok((!line.is_empty()).then_some(Line::Short(line)))
}

fn review(line: &[u8]) -> Result<(Kind, Value), Diagnostic> {
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let message = format!("this line is no JSON: {error}");
        Diagnostic::error(codes::NOT_JSON_LINE, message)
    })?;
    let Some(kind) = Kind::from_document(&value) else {
        let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default();
        let message = format!("this line is no review: its kind is {}", quoted(kind));
        let help = "give the configuration with another -f";
        return Err(Diagnostic::error(codes::NOT_JSON_LINE, message).help(help));
    };
    Ok((kind?, value))
}

fn too_large() -> Diagnostic {
    let message = format!("this line has more than the {MAX_LINE} bytes that are read of one");
    Diagnostic::error(codes::TOO_LARGE, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn answered(text: String) -> Vec<(String, Result<Kind, u16>)> {
        reviews("x".into(), Cursor::new(text))
            .map(|document| {
                let document = document.unwrap();
                (document.place, document.review.map(|(kind, _)| kind).map_err(|wrong| wrong.code.number))
            })
            .collect()
    }

    #[test]
    fn each_line_is_a_review_by_itself() {
        let review = r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview"}"#;
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_LINE));
        let text = format!("{review}\n\n  \n{{\n{long}\n[]\n{{\"kind\":\"Pod\"}}\n{review}");
        let expected = [
            ("x:1", Ok(Kind::Subject)),
            ("x:4", Err(7305)),
            ("x:5", Err(7304)),
            ("x:6", Err(7305)),
            ("x:7", Err(7305)),
            ("x:8", Ok(Kind::Subject)),
        ];
        let expected: Vec<_> = expected.map(|(place, kind)| (place.to_owned(), kind)).into();
        assert_eq!(answered(text), expected);
    }
}
