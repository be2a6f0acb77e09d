//! Text to the types of the schema, as strictly as yunikorn-core decodes it (`config.go:176-194`).

use super::ConfigError;
use super::schema::SchedulerConfig;
use crate::text::diag::Span;
use crate::text::yaml::{NodeIn, decode, parse};

/// Decodes the first document. Unknown fields and repeated keys are errors; no document at all is an empty configuration.
///
/// # Errors
/// `YuniKorn`'s own text, and each single finding with its place.
pub fn read(text: &str) -> Result<SchedulerConfig, ConfigError> {
    decoded(text, parsed(text)?.as_ref()).map(|document| document.config)
}

/// The first document, and what stands behind it.
pub(super) struct Document {
    pub(super) config: SchedulerConfig,
    /// Text behind the first document that means something to a reader.
    pub(super) ignored: Option<Span>,
}

/// The first document as YAML.
pub(super) fn parsed(text: &str) -> Result<Option<NodeIn<'_>>, ConfigError> {
    parse::parse_in(text)
        .map_err(|diagnostic| ConfigError { text: diagnostic.message.clone(), diagnostics: vec![diagnostic] })
}

/// What the first document of `text`, which was read as `root`, says.
pub(super) fn decoded(text: &str, root: Option<&NodeIn<'_>>) -> Result<Document, ConfigError> {
    let config = decode::decode(root)
        .map_err(|error| ConfigError { text: error.text, diagnostics: error.diagnostics })?;
    let ignored = root.and_then(|root| ignored(text, root.span.end));
    Ok(Document { config, ignored })
}

/// From the first line behind a document marker at or behind `end` to the end of the text, if there is more than comments.
fn ignored(text: &str, end: usize) -> Option<Span> {
    let mut start = end;
    let mut ended = false;
    for line in text.get(end..)?.split_inclusive('\n') {
        let begins_line = start == 0 || text.as_bytes().get(start.wrapping_sub(1)) == Some(&b'\n');
        let marker = ["---", "..."].iter().any(|marker| {
            line.strip_prefix(marker)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        });
        let is_marker = begins_line && marker;
        let content = if is_marker { line.get(3..).unwrap_or_default() } else { line };
        ended |= is_marker;
        let says_something = !content.trim().is_empty() && !content.trim_start().starts_with('#');
        if ended && says_something {
            return Some(Span::new(start, text.trim_end().len()));
        }
        start += line.len();
    }
    None
}
