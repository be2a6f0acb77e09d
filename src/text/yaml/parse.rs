//! Text to [`Node`]s, with the verdicts and error texts of Go's `yaml.v3`.
//!
//! `yaml.v3` is a port of libyaml, and so is `libyaml-safer`; of all parsers in Rust it is the closest to what yunikorn-core
//! accepts. It is private to this file. What differs is evened out here: the `%YAML 1.2` directive (`parserc.go`,
//! `yaml_parser_process_directives`), the byte order mark, the missing newline at the end, and how an error is worded
//! (`decode.go`, `parser.fail`).

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use libyaml_safer::{Encoding, ErrorKind, EventData, Mark, Parser, ScalarStyle};

use super::{Kind, MAX_DEPTH, MAX_NODES, MAX_TEXT, Node, SYNTAX, Style, TOO_LARGE};
use crate::text::diag::{Diagnostic, Span};

/// The byte order mark in UTF-8, which Go's reader skips at the start of the text.
const BOM: &str = "\u{feff}";
/// What Go reads at a time (`yamlprivateh.go`, `input_raw_buffer_size`). A control character is an error as soon as its
/// chunk is read, and no error when the first document ends in an earlier one.
const CHUNK: usize = 512;

/// Reads the first document. `Ok(None)`: there is none (empty text, only comments), which Go's decoder reports as EOF.
/// Later documents are not looked at, as Go's decoder leaves them alone.
/// The message of a syntax error is the one Go prints (`yaml: line 5: did not find expected alphabetic or numeric character`).
///
/// # Errors
/// [`super::SYNTAX`] or [`super::TOO_LARGE`], with the place.
pub fn parse(text: &str) -> Result<Option<Node>, Diagnostic> {
    if text.len() > MAX_TEXT {
        let message = format!(
            "the text has {} bytes, more than the {MAX_TEXT} that are read",
            text.len()
        );
        return Err(Diagnostic::error(TOO_LARGE, message));
    }
    let events = match catch_unwind(AssertUnwindSafe(|| Events::read(text))) {
        Ok(events) => events?,
        Err(_) => return Err(syntax("unknown problem parsing YAML content")),
    };
    let Some(events) = events else { return Ok(None) };
    let mut build = Build {
        text,
        events: &events,
        next: 0,
        nodes: 0,
        aliased: 0,
    };
    build.node(0, None).map(Some)
}

/// A syntax error as Go words it.
fn syntax(problem: &str) -> Diagnostic {
    Diagnostic::error(SYNTAX, format!("yaml: {problem}"))
}

/// The text in chunks of whole characters, with a newline at the end.
struct Chunks<'a> {
    rest: &'a str,
    newline: bool,
}

impl<'a> Chunks<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            newline: !text.ends_with(['\n', '\r']),
        }
    }
}

impl Read for Chunks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Chunks<'_> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.rest.is_empty() {
            return Ok(if self.newline { b"\n" } else { b"" });
        }
        let chunk = self.rest.floor_char_boundary(CHUNK);
        Ok(self.rest.as_bytes().get(..chunk).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        if self.rest.is_empty() {
            self.newline &= amount == 0;
        } else {
            self.rest = self.rest.get(amount..).unwrap_or_default();
        }
    }
}

/// One event of the first document, with what the tree needs of it.
enum Event {
    Scalar {
        value: String,
        style: Style,
        tag: Option<String>,
        anchored: bool,
        span: Span,
        line: usize,
    },
    /// `to` is the index of the event it stands for.
    Alias { to: usize, name: String, span: Span },
    Start {
        mapping: bool,
        tag: Option<String>,
        anchored: bool,
        span: Span,
        line: usize,
    },
    /// `place` is the closing bracket of a flow collection, and empty or another token where there is none.
    End { place: Span },
}

/// The events of the first document's content.
struct Events(Vec<Event>);

impl Events {
    /// Reads to the end of the first document, as `parser.document` of `decode.go` does. `None` when there is no document.
    fn read(text: &str) -> Result<Option<Self>, Diagnostic> {
        let body = text.strip_prefix(BOM).unwrap_or(text);
        let places = Places {
            offset: text.len() - body.len(),
            end: text.len(),
        };
        let mut chunks = Chunks::new(body);
        let mut parser = Parser::new();
        parser.set_encoding(Encoding::Utf8);
        parser.set_input(&mut chunks);
        let mut events = Self(Vec::new());
        let mut anchors: HashMap<String, usize> = HashMap::new();
        let mut depth = 0_usize;
        loop {
            let event = parser.parse().map_err(|error| places.error(&error))?;
            let span = places.span(event.start_mark, event.end_mark);
            let line = places.line(event.start_mark);
            let index = events.0.len();
            let mut anchor = |anchor: Option<String>| {
                let anchored = anchor.is_some();
                anchor
                    .into_iter()
                    .for_each(|name| _ = anchors.insert(name, index));
                anchored
            };
            let read = match event.data {
                EventData::StreamStart { .. } => continue,
                EventData::StreamEnd => return Ok(None),
                EventData::DocumentStart {
                    version_directive, ..
                } => {
                    if version_directive.is_some_and(|version| version.minor != 1) {
                        return Err(incompatible(event.start_mark, span));
                    }
                    continue;
                }
                EventData::DocumentEnd { .. } => return Ok(Some(events)),
                EventData::Alias { anchor: name } => match anchors.get(&name) {
                    Some(&to) => Event::Alias { to, name, span },
                    None => return Err(syntax(&format!("unknown anchor '{name}' referenced")).at(span)),
                },
                EventData::Scalar {
                    anchor: name,
                    tag,
                    value,
                    style,
                    ..
                } => Event::Scalar {
                    value,
                    style: style_of(style),
                    tag,
                    anchored: anchor(name),
                    span,
                    line,
                },
                EventData::SequenceStart {
                    anchor: name, tag, ..
                } => {
                    depth += 1;
                    Event::Start {
                        mapping: false,
                        tag,
                        anchored: anchor(name),
                        span,
                        line,
                    }
                }
                EventData::MappingStart {
                    anchor: name, tag, ..
                } => {
                    depth += 1;
                    Event::Start {
                        mapping: true,
                        tag,
                        anchored: anchor(name),
                        span,
                        line,
                    }
                }
                EventData::SequenceEnd | EventData::MappingEnd => {
                    depth = depth.saturating_sub(1);
                    Event::End { place: span }
                }
            };
            events.0.push(read);
            if depth > MAX_DEPTH {
                return Err(too_deep(span));
            }
            // A collection is two events, so this bounds the memory without refusing what `Build` would take.
            if events.0.len() > 2 * MAX_NODES {
                return Err(too_many(span));
            }
        }
    }

    fn get(&self, index: usize) -> Option<&Event> {
        self.0.get(index)
    }
}

fn style_of(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
        _ => Style::Plain,
    }
}

fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::error(
        TOO_LARGE,
        format!("the text nests deeper than {MAX_DEPTH} levels"),
    )
    .at(span)
}

fn too_many(span: Span) -> Diagnostic {
    Diagnostic::error(
        TOO_LARGE,
        format!("the text has more than {MAX_NODES} nodes, aliases counted each time"),
    )
    .at(span)
}

/// Go knows YAML 1.1 only; a parser error, so its line is not counted up (see [`Places::error`]).
fn incompatible(mark: Mark, span: Span) -> Diagnostic {
    let line = if mark.line == 0 {
        Cow::Borrowed("")
    } else {
        Cow::Owned(format!("line {}: ", mark.line))
    };
    syntax(&format!("{line}found incompatible YAML document"))
        .at(span)
        .help("write `%YAML 1.1`, or leave the directive out")
}

/// From the parser's marks to places in the text.
struct Places {
    /// Bytes in front of what the parser reads.
    offset: usize,
    /// Bytes of the text: the parser sees one newline more.
    end: usize,
}

impl Places {
    fn at(&self, mark: Mark) -> usize {
        usize::try_from(mark.index).map_or(self.end, |index| index.saturating_add(self.offset).min(self.end))
    }

    fn span(&self, start: Mark, end: Mark) -> Span {
        Span::new(self.at(start), self.at(end))
    }

    fn line(&self, mark: Mark) -> usize {
        usize::try_from(mark.line).map_or(usize::MAX, |line| line.saturating_add(1))
    }

    /// The error as `parser.fail` of `decode.go` words it: the line of the context, else of the problem, else none; counted
    /// from zero for the parser, and from one for the scanner.
    fn error(&self, error: &libyaml_safer::Error) -> Diagnostic {
        let marks = [error.context_mark(), error.problem_mark()];
        let one = u64::from(error.kind() == ErrorKind::Scanner);
        let line = marks
            .iter()
            .flatten()
            .map(|mark| mark.line)
            .find(|line| *line != 0);
        let line = line
            .map(|line| format!("line {}: ", line.saturating_add(one)))
            .unwrap_or_default();
        let diagnostic = syntax(&format!("{line}{}", error.problem()));
        match error.problem_mark() {
            Some(mark) => diagnostic.at(self.span(mark, mark)),
            None => diagnostic,
        }
    }
}

/// Builds the tree out of the events, aliases expanded.
struct Build<'a> {
    text: &'a str,
    events: &'a Events,
    next: usize,
    /// Nodes built, as Go's `decodeCount`.
    nodes: usize,
    /// Nodes built below an alias, as Go's `aliasCount`.
    aliased: usize,
}

impl Build<'_> {
    /// The node that starts at the next event. Below an alias, `alias` is its place.
    fn node(&mut self, depth: usize, alias: Option<Span>) -> Result<Node, Diagnostic> {
        let events = self.events;
        let index = self.next;
        self.next += 1;
        match events.get(index) {
            Some(Event::Scalar {
                value,
                style,
                tag,
                anchored,
                span,
                line,
            }) => {
                let span = alias.unwrap_or(*span);
                self.count(depth, alias, span)?;
                let kind = Kind::Scalar {
                    value: value.clone(),
                    style: *style,
                };
                Ok(Node {
                    kind,
                    tag: tag.clone(),
                    shared: *anchored || alias.is_some(),
                    span,
                    line: *line,
                })
            }
            Some(Event::Start {
                mapping,
                tag,
                anchored,
                span,
                line,
            }) => {
                self.count(depth, alias, alias.unwrap_or(*span))?;
                let (kind, end) = self.collection(*mapping, depth, alias)?;
                let span = alias.unwrap_or_else(|| Span::new(span.start, end.max(span.end)));
                Ok(Node {
                    kind,
                    tag: tag.clone(),
                    shared: *anchored || alias.is_some(),
                    span,
                    line: *line,
                })
            }
            Some(Event::Alias { to, name, span }) => {
                let place = alias.unwrap_or(*span);
                self.count(depth, alias, place)?;
                if self.is_open(*to, index) {
                    return Err(syntax(&format!("anchor '{name}' value contains itself")).at(place));
                }
                let back = std::mem::replace(&mut self.next, *to);
                let node = self.node(depth + 1, Some(place));
                self.next = back;
                node
            }
            // The parser balances its events.
            Some(Event::End { .. }) | None => Err(syntax("unknown problem parsing YAML content")),
        }
    }

    /// The children up to the end of the collection, and where it ends.
    fn collection(
        &mut self,
        mapping: bool,
        depth: usize,
        alias: Option<Span>,
    ) -> Result<(Kind, usize), Diagnostic> {
        let mut items = Vec::new();
        let mut pairs = Vec::new();
        let mut end = 0;
        loop {
            if let Some(Event::End { place }) = self.events.get(self.next) {
                self.next += 1;
                let closing = if mapping { "}" } else { "]" };
                if self.text.get(place.start..place.end) == Some(closing) {
                    end = place.end;
                }
                let kind = if mapping {
                    Kind::Mapping(pairs)
                } else {
                    Kind::Sequence(items)
                };
                return Ok((kind, end));
            }
            let node = self.node(depth + 1, alias)?;
            end = node.span.end;
            if mapping {
                let value = self.node(depth + 1, alias)?;
                end = end.max(value.span.end);
                pairs.push((node, value));
            } else {
                items.push(node);
            }
        }
    }

    /// Whether the node that starts at event `start` is not finished before event `at`: then `at` is inside it.
    fn is_open(&self, start: usize, at: usize) -> bool {
        let mut open = 0_usize;
        for index in start..at {
            match self.events.get(index) {
                Some(Event::Start { .. }) => open += 1,
                Some(Event::End { .. }) => open = open.saturating_sub(1),
                _ => {}
            }
            if open == 0 {
                return false;
            }
        }
        true
    }

    fn count(&mut self, depth: usize, alias: Option<Span>, place: Span) -> Result<(), Diagnostic> {
        self.nodes += 1;
        self.aliased += usize::from(alias.is_some());
        if depth > MAX_DEPTH {
            return Err(too_deep(place));
        }
        if self.nodes > MAX_NODES {
            return Err(too_many(place));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_cover_what_was_written() {
        let text = "\u{feff}a: [1, 'ü', {x: \"y\"}] # c\nb: &k\n  - q: z\nc: *k\n";
        let node = parse(text).unwrap().unwrap();
        let pairs = node.as_mapping().unwrap();
        let written: Vec<_> = pairs
            .iter()
            .map(|(_, v)| &text[v.span.start..v.span.end])
            .collect();
        assert_eq!(written, ["[1, 'ü', {x: \"y\"}]", "&k\n  - q: z", "*k"]);
        assert_eq!(
            pairs.iter().map(|(_, v)| v.shared).collect::<Vec<_>>(),
            [false, true, true]
        );
    }

    #[test]
    fn errors_read_as_in_go() {
        for (text, message) in [
            ("a: *x", "yaml: unknown anchor 'x' referenced"),
            ("a: &b [*b]", "yaml: anchor 'b' value contains itself"),
            ("%YAML 1.2\n---\na", "yaml: found incompatible YAML document"),
            (
                "a:\n\t- b",
                "yaml: line 2: found character that cannot start any token",
            ),
            ("x\0", "yaml: control characters are not allowed"),
        ] {
            assert_eq!(parse(text).unwrap_err().message, message, "{text:?}");
        }
    }
}
