//! How `YuniKorn` handles a text.

use super::activate::{self, ReloadError};
use super::codes::{CHECKSUM, DEFAULT_CONFIG, TEXT_IGNORED};
use super::schema::SchedulerConfig;
use super::tree::Config;
use super::{contains_checksum_marker, lint, validate};
use crate::version::Version;
use go_compat::diag::{Diagnostic, Span};
use go_compat::yaml::decode::decode;
use go_compat::yaml::{self, NodeIn, parse_in};

/// `YuniKorn`'s built-in configuration, byte for byte (yunikorn-core `config.go:211`).
pub const BUILT_IN: &str = "
partitions:
  - name: default
    placementrules:
      - name: tag
        value: namespace
        create: true
    queues:
      - name: root
        submitacl: '*'
";

/// The result of a text in `YuniKorn`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// The configuration, or `None` if the text is invalid.
    pub config: Option<Config>,
    /// True if `YuniKorn` might accept the text although this crate cannot parse it, because it is too large
    /// or YAML libraries read it differently. The results below are then errors that explain this.
    pub unsure: bool,
    /// The answer of `/ws/v1/validate-conf` and the admission webhook. Errors are `YuniKorn`'s messages,
    /// except for YAML errors.
    pub validates: Result<(), String>,
    /// The result of a scheduler that starts with the text. Errors are `YuniKorn`'s messages.
    pub starts: Result<(), String>,
    /// The result of a reload in a running scheduler.
    pub reloads: Result<(), ReloadError>,
    /// All findings, with spans in the text. Errors are texts that `YuniKorn` refuses, hangs on or crashes
    /// on. Warnings are accepted texts with an unexpected effect.
    pub diagnostics: Vec<Diagnostic>,
}

impl Assessment {
    /// Returns whether `YuniKorn` refuses the text, hangs on it or crashes on it, now or at the next start.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Returns the first reason why the text does not validate, start or reload, or why this is unknown.
    pub fn refusal(&self) -> Option<String> {
        let first = self.validates.as_ref().err().or(self.starts.as_ref().err());
        first.cloned().or_else(|| self.reloads.as_ref().err().map(ToString::to_string))
    }
}

/// Evaluates the text of `queues.yaml`. `active` are the names of the running partitions; a reload without
/// one of them makes the scheduler hang. If the list is empty, the partitions of the text are assumed to run.
/// As in the scheduler, an empty text means the built-in configuration (`context.go:177`, `context.go:223`);
/// spans then refer to [`BUILT_IN`].
pub fn verdict(text: &str, active: &[&str], version: Version) -> Assessment {
    if !text.is_empty() {
        return assess(text, active, version);
    }
    let mut verdict = assess(BUILT_IN, active, version);
    let diagnostic = Diagnostic::warning(
        DEFAULT_CONFIG,
        "the text is empty, so the built-in configuration is in force: everyone may submit everywhere",
    );
    verdict.diagnostics.push(diagnostic.help("add the partition and its queues"));
    verdict
}

/// Like [`verdict`], for a text whose first document is already parsed.
pub fn verdict_of(text: &str, document: NodeIn<'_>, active: &[&str], version: Version) -> Assessment {
    assess_document(text, Some(document), active, version)
        .unwrap_or_else(|errors| Assessment::unreadable(text, errors))
}

/// Evaluates a text without replacing an empty one.
pub(super) fn assess(text: &str, active: &[&str], version: Version) -> Assessment {
    let verdict = parsed(text).and_then(|document| assess_document(text, document, active, version));
    verdict.unwrap_or_else(|errors| Assessment::unreadable(text, errors))
}

fn assess_document(
    text: &str,
    root: Option<NodeIn<'_>>,
    active: &[&str],
    version: Version,
) -> Result<Assessment, Vec<Diagnostic>> {
    let mut config = decode(root.as_ref())?;
    let validated = validate(&mut config, version);
    if validated.is_err() {
        // Validation may have changed the configuration before it failed, so decode it again.
        config = decode(root.as_ref())?;
    }
    let beyond = root.as_ref().and_then(|root| ignored_text(text, root.span.end));
    // For a large text, the tree needs as much memory as the document.
    drop(root);
    let mut findings = lint::findings(text, &config, version);
    findings.extend(beyond.map(ignored));
    findings.extend(contains_checksum_marker(text).then(|| checksum_marker(text)));
    Ok(match validated {
        Ok(()) => Assessment::activated(config, active, findings),
        Err(error) => {
            let refused = error.message.clone();
            lint::add(&mut findings, error);
            Assessment::refused(&refused, findings)
        }
    })
}

impl Assessment {
    fn unreadable(text: &str, errors: Vec<Diagnostic>) -> Self {
        // YuniKorn might accept a text with one of these.
        let unsure = errors.iter().find(|error| [yaml::UNSURE, yaml::TOO_LARGE].contains(&error.code));
        let first = unsure.or(errors.first());
        let line = first.and_then(|first| first.span?.line_in(text)).unwrap_or(1);
        let message = first.map(|first| first.message.as_str()).unwrap_or_default();
        let unsure = unsure.is_some();
        let begin = if unsure { "it is unknown whether YuniKorn accepts this" } else { "yaml" };
        let reason = format!("{begin}: line {line}: {message}");
        Self { unsure, ..Self::refused(&reason, errors) }
    }

    /// Returns an assessment with the same refusal everywhere.
    fn refused(reason: &str, diagnostics: Vec<Diagnostic>) -> Self {
        Self {
            config: None,
            unsure: false,
            validates: Err(reason.to_owned()),
            starts: Err(reason.to_owned()),
            reloads: Err(ReloadError::Refused(reason.to_owned())),
            diagnostics: sorted(diagnostics),
        }
    }

    fn activated(validated: SchedulerConfig, active: &[&str], mut diagnostics: Vec<Diagnostic>) -> Self {
        let starts = activate::start(&validated);
        let reloads = activate::reload(&validated, active, &starts);
        if let Err(error) = &starts {
            lint::add(&mut diagnostics, error.clone());
        }
        if let Err(ReloadError::Hangs { missing }) = &reloads {
            diagnostics.extend(missing.iter().map(activate::missing_partition));
        }
        Self {
            config: Config::from_validated(validated),
            unsure: false,
            validates: Ok(()),
            starts: starts.map_err(|error| error.message),
            reloads,
            diagnostics: sorted(diagnostics),
        }
    }
}

/// Sorts by position; diagnostics about the whole text come last.
fn sorted(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.map_or(usize::MAX, |span| span.start));
    diagnostics
}

fn ignored(span: Span) -> Diagnostic {
    Diagnostic::warning(TEXT_IGNORED, "YuniKorn reads only the first document and ignores this")
        .at(span)
        .help("remove it, or move it into the first document")
}

fn checksum_marker(text: &str) -> Diagnostic {
    let start = text.find("checksum: ").unwrap_or_default();
    Diagnostic::warning(
        CHECKSUM,
        "the text `checksum: ` hides up to 64 characters behind it from the scheduler: a change there is not \
         loaded",
    )
    .at(Span::new(start, start + "checksum: ".len()))
    .help("avoid this text, for example by removing the space")
}

// Decodes a text into the types of the schema, as strictly as yunikorn-core does (`config.go:176-194`).

/// Decodes the first document. Unknown fields and repeated keys are errors. An empty document is an empty
/// configuration.
///
/// # Errors
/// All errors with their spans.
pub fn read(text: &str) -> Result<SchedulerConfig, Vec<Diagnostic>> {
    decode(parsed(text)?.as_ref())
}

/// Parses the first document.
pub(super) fn parsed(text: &str) -> Result<Option<NodeIn<'_>>, Vec<Diagnostic>> {
    parse_in(text).map_err(|diagnostic| vec![diagnostic])
}

/// Returns the ignored text after the first document: it begins with the first line after the root (which
/// ends at `end`) that is more than a comment or document marker, and extends to the end of the text.
///
/// It need not follow a marker. Go's decoder takes one document, which ends with its root, so it ignores
/// lines after the closing bracket of a root in brackets, and lines that are indented less than the root.
pub(super) fn ignored_text(text: &str, end: usize) -> Option<Span> {
    let mut start = end;
    for line in text.get(end..)?.split_inclusive('\n') {
        let begins_line = text.get(..start)?.chars().next_back().is_none_or(|last| last == '\n');
        let marker = ["---", "..."].iter().any(|marker| {
            line.strip_prefix(marker)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        });
        let is_marker = begins_line && marker;
        let content = if is_marker { line.get(3..).unwrap_or_default() } else { line };
        if !content.trim().is_empty() && !content.trim_start().starts_with('#') {
            return Some(Span::new(start, text.trim_end().len()));
        }
        start += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the text reported as ignored, or the errors of an invalid text.
    fn beyond(text: &str) -> Result<Option<&str>, Vec<Diagnostic>> {
        let root = parsed(text)?;
        let span = root.as_ref().and_then(|root| ignored_text(text, root.span.end));
        Ok(span.map(|span| text.get(span.start..span.end).unwrap()))
    }

    /// Each text was given to yaml.v3 3.0.1, which parses the first document of all of them without an error.
    #[test]
    fn text_after_the_first_document_is_found_with_and_without_a_marker() {
        let cases = [
            ("{a: b}\na: [c]\n", Some("a: [c]")),
            ("{\"a\": \"b\"}\n{\"a\": \"c\"}\n", Some("{\"a\": \"c\"}")),
            ("&x {a: b}\n# c\n\na: [c]\n", Some("a: [c]")),
            ("  a: b\n# c\na: [c]\n", Some("a: [c]")),
            ("~ # c\na: [c]\n", Some("a: [c]")),
            ("a: b\n---\na: c\n", Some("a: c")),
            ("a: b\n--- {a: c}\n", Some("--- {a: c}")),
            ("a: b\n...\na: c\n", Some("a: c")),
            ("{a: b} # c\n\n  # d\n", None),
            ("{a: b}\n--- # c\n...\n", None),
            ("a:\n- b: |\n    c\n\n  # d\n", None),
            ("a:\n  - b: >+\n\n     c\n\n# d\n", None),
            ("a:\n- b\n-\n", None),
            ("# c\n", None),
            ("{a: b}\r\n---\r\n", None),
            ("{a: b}\r\n--- # c\r\na: [c]\r\n", Some("a: [c]")),
        ];
        for (text, expected) in cases {
            assert_eq!(beyond(text).unwrap(), expected, "{text:?}");
        }
    }

    proptest! {
        /// Text reported as ignored can be removed without an effect.
        #[test]
        fn ignored_text_has_no_effect(
            pieces in proptest::collection::vec(
                prop::sample::select(&[
                    "a", "b: ", "c:", "- ", "-", "\n", "\n", "\n  ", "\n ", "\r\n", "    ", "{", "}", "[", "]", ", ", "|", ">+", "'", "\"",
                    " # c", "\n---\n", "\n...\n", "--- ", "&x ", "*x", "~",
                ][..]),
                0..14,
            ),
        ) {
            let text = pieces.concat();
            if let Ok(Some(reported)) = beyond(&text) {
                let kept = text.trim_end().strip_suffix(reported).unwrap();
                let kinds = [&*text, kept].map(|text| parsed(text).expect("read").map(|root| root.kind));
                prop_assert_eq!(&kinds[0], &kinds[1], "{:?}", text);
            }
        }
    }
}
