//! Reads reviews as one JSON object per line, as API servers and audit tools write them: one at a time,
//! without a limit on their number.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Take};

use serde_json::Value;

use super::sorted::{Document, Form};
use crate::cli::Failure;
use go_compat::diag::{Diagnostic, quoted};
use queuewarden_api::review::{Kind, codes};

/// Maximum length of a line, in bytes: API servers accept no request body above 3 MiB.
pub const MAX_LINE: usize = 4 * 1024 * 1024;

/// Reader of a stream.
type Source = BufReader<Box<dyn Read>>;

/// A stream of reviews.
pub struct Lines {
    name: String,
    first: Option<Vec<u8>>,
    reader: Source,
    number: usize,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("name", &self.name)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// Limits a reader to the longest line.
pub fn limited(reader: &mut impl BufRead) -> Take<&mut impl BufRead> {
    reader.take(u64::try_from(MAX_LINE).unwrap_or(u64::MAX))
}

impl Lines {
    /// Creates a stream whose first line has been read.
    pub fn new(name: String, first: Vec<u8>, reader: Source) -> Self {
        Self { name, first: Some(first), reader, number: 0 }
    }

    /// Returns the next line with its end; empty at the end of the stream. A line that is too long is cut,
    /// and the rest of it is skipped.
    fn line(&mut self) -> io::Result<(Vec<u8>, bool)> {
        if let Some(first) = self.first.take() {
            return Ok((first, false));
        }
        let mut line = Vec::new();
        limited(&mut self.reader).read_until(b'\n', &mut line)?;
        let too_long = line.len() == MAX_LINE && line.last() != Some(&b'\n');
        if too_long {
            self.reader.skip_until(b'\n')?;
        }
        Ok((line, too_long))
    }

    fn document(&self, line: &[u8], too_long: bool) -> Document {
        let review = if too_long { Err(too_large()) } else { review(line) };
        Document { review, form: Form::Line, place: format!("{}:{}", self.name, self.number) }
    }
}

impl Iterator for Lines {
    type Item = Result<Document, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (line, too_long) = match self.line() {
                Ok((line, _)) if line.is_empty() => return None,
                Ok(line) => line,
                Err(error) => {
                    return Some(Err(Failure::Undecided(format!("cannot read `{}`: {error}", self.name))));
                }
            };
            self.number = self.number.saturating_add(1);
            if !line.trim_ascii().is_empty() {
                return Some(Ok(self.document(&line, too_long)));
            }
        }
    }
}

fn review(line: &[u8]) -> Result<(Kind, Value), Diagnostic> {
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let message = format!("this line is no JSON: {error}");
        Diagnostic::error(codes::NOT_JSON_LINE, message)
    })?;
    if let Some(kind) = Kind::of(&value) {
        Ok((kind?, value))
    } else {
        let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default();
        let message = format!("this line is no review: its kind is {}", quoted(kind));
        let help = "give the configuration with another -f";
        Err(Diagnostic::error(codes::NOT_JSON_LINE, message).help(help))
    }
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
        let reader: Source = BufReader::new(Box::new(Cursor::new(text.into_bytes())));
        let mut lines = Lines::new("x".into(), Vec::new(), reader);
        lines.first = None;
        lines
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
