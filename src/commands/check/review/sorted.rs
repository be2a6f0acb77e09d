//! Separates the reviews in the files from the configuration.
//! Files are read and split as a whole, except for files that begin with a review on one line. Such a file is
//! a stream of lines, as written by API servers and audit tools, and may be endless. Its reviews are read
//! last, one at a time.

use crate::output::{Console, Failure, text};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Take};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::output::text::{STDIN, Source};
use crate::source::input::object::listed;
use crate::source::input::source::{self, unreadable};
use crate::source::input::split::{Syntax, split};
use go_compat::diag::{Diagnostic, Span, quoted};
use go_compat::yaml::json::to_json;
use go_compat::yaml::parse;
use queuewarden_api::review::{ReviewKind, codes};
use yunikorn::admission::request::Texts;

/// Contents of the paths.
#[derive(Default)]
pub(super) struct Sorted {
    /// The reviews in the order of the paths.
    pub(super) batches: Vec<Batch>,
    /// The texts without the reviews, if anything is left.
    pub(super) configuration: Vec<Source>,
    /// The objects of the cluster that reviews depend on.
    pub(super) cluster: ReviewedCluster,
}

/// One review, or a stream of them.
pub(super) type Batch = Box<dyn Iterator<Item = Result<ReviewDocument, Failure>>>;

/// A review as given.
pub(super) struct ReviewDocument {
    /// The review, or the cause if it cannot be answered.
    pub(super) review: Result<(ReviewKind, Value), Diagnostic>,
    /// The form it was written in.
    pub(super) form: ReviewForm,
    /// The location: `name:line`.
    pub(super) location: String,
}

/// Form of a review.
#[derive(Clone, Copy)]
pub(super) enum ReviewForm {
    /// As YAML.
    Yaml,
    /// As JSON of several lines.
    Json,
    /// As JSON on one line.
    Line,
}

/// Annotations of the objects that the admission controller reads, by the objects' names.
#[derive(Default)]
pub(super) struct ReviewedCluster {
    pub(super) namespaces: BTreeMap<String, Texts>,
    pub(super) priority_classes: BTreeMap<String, Texts>,
}

/// Reads the paths.
///
/// # Errors
/// When one of them cannot be read.
pub(super) fn read(paths: &[PathBuf], recursive: bool, console: Console) -> Result<Sorted, Failure> {
    let mut sorted = Sorted::default();
    for path in paths {
        if path.is_dir() {
            let paths = std::slice::from_ref(path);
            for source in source::read(paths, recursive, None, |_| true, console)?.sources {
                sorted.take(source);
            }
        } else {
            sorted.open(path)?;
        }
    }
    Ok(sorted)
}

impl Sorted {
    fn open(&mut self, path: &Path) -> Result<(), Failure> {
        let (name, reader): (String, Box<dyn Read>) = if path.as_os_str() == "-" {
            (STDIN.to_owned(), Box::new(io::stdin()))
        } else {
            let file = File::open(path).map_err(|error| unreadable(path, error))?;
            (text::shown(path), Box::new(file))
        };
        let mut reader = BufReader::new(reader);
        let mut first = Vec::new();
        limited(&mut reader)
            .read_until(b'\n', &mut first)
            .map_err(|error| unreadable(Path::new(&name), error))?;
        let value: Option<Value> = serde_json::from_slice(&first).ok();
        let reader = Cursor::new(first).chain(reader);
        if value.is_some_and(|value| ReviewKind::from_document(&value).is_some()) {
            self.batches.push(Box::new(reviews(name, reader)));
            return Ok(());
        }
        self.take(source::from_reader(&name, reader)?);
        Ok(())
    }

    /// Takes the reviews out of a text. Spans in the rest stay valid, because spaces replace the reviews.
    fn take(&mut self, source: Source) {
        let (syntax, spans) = split(&source.text);
        let mut left = source.text.clone();
        let mut stays = spans.is_empty();
        for span in spans {
            let text = source.text.get(span.start..span.end).unwrap_or_default();
            let form = match syntax {
                Syntax::Yaml => ReviewForm::Yaml,
                Syntax::Json if text.contains('\n') => ReviewForm::Json,
                Syntax::Json => ReviewForm::Line,
            };
            let location = || {
                let (line, _) = source.position(span.start.saturating_add(marker(text).len()));
                format!("{}:{line}", source.name)
            };
            if value(text, form).is_some_and(|value| self.is_review(&value, form, &location)) {
                clear(&mut left, span, text);
            } else {
                stays = true;
            }
        }
        if stays {
            self.configuration.push(source.with_text(left));
        }
    }

    /// Takes a review, or the reviews in a list, and returns whether there is nothing else. A mixed list is
    /// also configuration, whose readers ignore the reviews.
    fn is_review(&mut self, value: &Value, form: ReviewForm, location: &dyn Fn() -> String) -> bool {
        if let Some(kind) = ReviewKind::from_document(value) {
            let review = kind.map(|kind| (kind, value.clone()));
            self.batches.push(Box::new(std::iter::once(Ok(ReviewDocument {
                review,
                form,
                location: location(),
            }))));
            return true;
        }
        let Some(items) = listed(value) else {
            self.cluster.take(value);
            return false;
        };
        let list = location();
        let mut only = !items.is_empty();
        for (index, item) in items.iter().enumerate() {
            only &= self.is_review(item, form, &|| format!("{list}, items[{index}]"));
        }
        only
    }
}

impl ReviewedCluster {
    fn take(&mut self, object: &Value) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let kept = match (text("/apiVersion"), text("/kind")) {
            ("v1", "Namespace") => &mut self.namespaces,
            ("scheduling.k8s.io/v1", "PriorityClass") => &mut self.priority_classes,
            _ => return,
        };
        let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
        let texts = annotations.into_iter().flatten();
        let texts = texts.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        kept.insert(text("/metadata/name").to_owned(), texts.collect());
    }
}

/// Parses a document as JSON; `None` if it is invalid, which is reported when the configuration is read.
fn value(text: &str, form: ReviewForm) -> Option<Value> {
    match form {
        ReviewForm::Json | ReviewForm::Line => serde_json::from_str(text).ok(),
        ReviewForm::Yaml => to_json(&parse(text).ok()??).ok(),
    }
}

/// Returns the marker that a YAML document begins with, up to the end of its line.
fn marker(text: &str) -> &str {
    if text.starts_with("---\n") || text.starts_with("---\r\n") {
        text.split_inclusive('\n').next().unwrap_or_default()
    } else {
        ""
    }
}

/// Replaces a document by spaces, except for its marker, which ends the previous one.
fn clear(left: &mut String, span: Span, text: &str) {
    let kept = if text.starts_with("---") { 3 } else { 0 };
    let bytes = text.bytes().enumerate().map(|(at, byte)| match byte {
        b'\n' => '\n',
        b'-' if at < kept => '-',
        _ => ' ',
    });
    let spaces: String = bytes.collect();
    if left.is_char_boundary(span.start) && left.is_char_boundary(span.end) {
        left.replace_range(span.start..span.end, &spaces);
    }
}

/// Maximum length of a line, in bytes: API servers accept no request body above 3 MiB.
const MAX_LINE: usize = 4 * 1024 * 1024;

/// Limits a reader to the longest line.
fn limited(reader: &mut impl BufRead) -> Take<&mut impl BufRead> {
    reader.take(u64::try_from(MAX_LINE).unwrap_or(u64::MAX))
}

/// Reads the reviews of a stream.
fn reviews(name: String, mut reader: impl BufRead) -> impl Iterator<Item = Result<ReviewDocument, Failure>> {
    let cannot_read = {
        let name = name.clone();
        move |error| Failure::Undecided(format!("cannot read `{name}`: {error}"))
    };
    let lines = std::iter::from_fn(move || next_line(&mut reader).map_err(&cannot_read).transpose());
    lines.zip(1_usize..).filter_map(move |(line, number)| {
        let review = match line {
            Ok(Ok(line)) if line.trim_ascii().is_empty() => return None,
            Ok(line) => line.and_then(|line| review(&line)),
            Err(failure) => return Some(Err(failure)),
        };
        Some(Ok(ReviewDocument { review, form: ReviewForm::Line, location: format!("{name}:{number}") }))
    })
}

/// Reads the next line with its line break, or skips an overlong line; `None` at the end of the stream.
fn next_line(reader: &mut impl BufRead) -> io::Result<Option<Result<Vec<u8>, Diagnostic>>> {
    let mut line = Vec::new();
    limited(reader).read_until(b'\n', &mut line)?;
    if line.len() == MAX_LINE && line.last() != Some(&b'\n') {
        reader.skip_until(b'\n')?;
        let message = format!("this line exceeds the limit of {MAX_LINE} bytes");
        return Ok(Some(Err(Diagnostic::error(codes::TOO_LARGE, message))));
    }
    Ok((!line.is_empty()).then_some(Ok(line)))
}

fn review(line: &[u8]) -> Result<(ReviewKind, Value), Diagnostic> {
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let message = format!("this line is not JSON: {error}");
        Diagnostic::error(codes::NOT_JSON_LINE, message)
    })?;
    let Some(kind) = ReviewKind::from_document(&value) else {
        let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default();
        let message = format!("this line is not a review: its kind is {}", quoted(kind));
        let help = "pass the configuration with another -f";
        return Err(Diagnostic::error(codes::NOT_JSON_LINE, message).help(help));
    };
    Ok((kind?, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REVIEW: &str = "apiVersion: authorization.k8s.io/v1\nkind: SubjectAccessReview\nspec: {user: é}\n";

    fn sorted(text: &str) -> Sorted {
        let mut sorted = Sorted::default();
        sorted.take(Source::new("a.yaml", text));
        sorted
    }

    fn locations(sorted: Sorted) -> Vec<String> {
        sorted.batches.into_iter().flatten().map(|document| document.unwrap().location).collect()
    }

    #[test]
    fn reviews_are_taken_out_and_places_stay() {
        let text = format!("partitions: [a]\n---\n{REVIEW}---\nkind: X\n");
        let found = sorted(&text);
        let left = &found.configuration[0].text;
        assert_eq!(left.len(), text.len());
        assert_eq!(
            left.split_whitespace().collect::<Vec<_>>(),
            ["partitions:", "[a]", "---", "---", "kind:", "X"]
        );
        assert_eq!(left.find("kind: X"), text.find("kind: X"));
        assert_eq!(locations(found), ["a.yaml:3"]);
    }

    #[test]
    fn a_text_of_reviews_is_no_configuration() {
        let found = sorted(&format!("{REVIEW}---\n{REVIEW}"));
        assert!(found.configuration.is_empty());
        assert_eq!(locations(found), ["a.yaml:1", "a.yaml:5"]);
        // All other texts stay for the reader of the configuration.
        for text in ["", "# nothing\n", "a: [", "{\"kind\": \"X\"}"] {
            assert_eq!(sorted(text).configuration.len(), 1, "{text:?}");
        }
    }

    #[test]
    fn namespaces_are_known_by_their_annotations() {
        let text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: jobs, annotations: {a: 'x', b: 'y'}}\n";
        let found = sorted(text);
        assert_eq!(found.cluster.namespaces["jobs"]["b"], "y");
        assert_eq!(found.configuration.len(), 1);
    }

    #[test]
    fn lists_are_taken_apart() {
        let namespace =
            r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"jobs","annotations":{"a":"x"}}}"#;
        let review = r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview"}"#;
        let list = |items: &str| format!(r#"{{"apiVersion":"v1","kind":"List","items":[{items}]}}"#);
        let found = sorted(&list(&format!("{},{review}", list(namespace))));
        assert_eq!(found.cluster.namespaces["jobs"]["a"], "x");
        assert_eq!(found.configuration.len(), 1);
        assert_eq!(locations(found), ["a.yaml:1, items[1]"]);
        let found = sorted(&list(&format!("{review},{}", list(review))));
        assert!(found.configuration.is_empty());
        assert_eq!(locations(found), ["a.yaml:1, items[0]", "a.yaml:1, items[1], items[0]"]);
        assert_eq!(sorted(&list("")).configuration.len(), 1);
    }

    #[test]
    fn a_review_that_cannot_be_read_stays_for_whoever_reads_the_configuration() {
        let text = r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"\ud83d"}}"#;
        let found = sorted(text);
        assert!(found.batches.is_empty());
        assert_eq!(found.configuration[0].text, text);
    }

    fn answered(text: String) -> Vec<(String, Result<ReviewKind, u16>)> {
        reviews("x".into(), Cursor::new(text))
            .map(|document| {
                let document = document.unwrap();
                (document.location, document.review.map(|(kind, _)| kind).map_err(|wrong| wrong.code.number))
            })
            .collect()
    }

    #[test]
    fn each_line_is_a_review_by_itself() {
        let review = r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview"}"#;
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_LINE));
        let text = format!("{review}\n\n  \n{{\n{long}\n[]\n{{\"kind\":\"Pod\"}}\n{review}");
        let expected = [
            ("x:1", Ok(ReviewKind::Subject)),
            ("x:4", Err(7305)),
            ("x:5", Err(7304)),
            ("x:6", Err(7305)),
            ("x:7", Err(7305)),
            ("x:8", Ok(ReviewKind::Subject)),
        ];
        let expected: Vec<_> = expected.map(|(location, kind)| (location.to_owned(), kind)).into();
        assert_eq!(answered(text), expected);
    }
}
