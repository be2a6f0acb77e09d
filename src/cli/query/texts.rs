//! Texts that a configuration was read from, and locations in them: `queues.yaml:12:20`.

use crate::cli::input::Inputs;
use crate::cli::input::object::{Document, token};
use crate::cli::input::scalar::ContentSpans;
use crate::cli::input::source::Source;
use go_compat::diag::Span;
use queuewarden_api::answer::WrittenIn;

/// A text with a name, and its location if it is part of another.
#[derive(Debug, Clone)]
pub struct Text {
    /// The text that `YuniKorn` reads.
    pub text: String,
    /// The name for people: a file, or `yunikorn-configs/queues.yaml`.
    pub name: String,
    /// The file or key that holds it; `None` if it was generated, so that its line numbers mean nothing.
    home: Option<Home>,
}

/// A file or key, with an index of its lines, because who-can looks up thousands of locations.
#[derive(Debug, Clone)]
struct Home {
    text: String,
    /// The start of each line.
    lines: Vec<usize>,
    /// The bytes of a text that is a string inside the file.
    inside: Option<ContentSpans>,
}

impl Home {
    fn new(text: String, inside: Option<ContentSpans>) -> Self {
        let behind = text.match_indices('\n').map(|(at, _)| at.saturating_add(1));
        Self { lines: std::iter::once(0).chain(behind).collect(), text, inside }
    }

    /// Converts a span of the text to one of the file.
    fn span(&self, span: Span) -> Span {
        self.inside.as_ref().map_or(span, |inside| inside.span(span))
    }

    /// Returns the one-based line and column of a byte of the file.
    fn position(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|index| self.lines.get(index)).copied().unwrap_or_default();
        let column = self.text.get(start..offset).unwrap_or_default().chars().count().saturating_add(1);
        (line, column)
    }
}

impl Text {
    /// Creates a text that is the whole of `name`.
    pub fn whole(name: impl Into<String>, text: String) -> Self {
        let home = Home::new(text.clone(), None);
        Self { text, name: name.into(), home: Some(home) }
    }

    /// Creates a generated text, of which only the name means something.
    pub fn made(name: impl Into<String>, text: String) -> Self {
        Self { text, name: name.into(), home: None }
    }

    /// Creates a text that is the value of a key of `data` in the manifest of a ConfigMap.
    pub fn inside(inputs: &Inputs, document: &Document, key: &str, text: String) -> Self {
        let name = inputs.name(document.source).to_owned();
        let Some(content) = inputs.content_spans(document, &format!("/data/{}", token(key))) else {
            // In `binaryData` it is encoded: it has lines, but they are not those of the file.
            return Self::whole(format!("{name}#{key}"), text);
        };
        let home = Home::new(inputs.text(document.source).to_owned(), Some(content));
        Self { text, name, home: Some(home) }
    }

    /// Returns the source and the span on which to draw a finding about it.
    pub fn shown(&self, span: Option<Span>) -> (Source, Option<Span>) {
        let text = self.home.as_ref().map_or(&self.text, |home| &home.text).clone();
        let source = Source { name: self.name.clone(), text };
        (source, span.map(|span| self.at_home(span)))
    }

    /// Returns the span in that source.
    pub fn at_home(&self, span: Span) -> Span {
        self.home.as_ref().map_or(span, |home| home.span(span))
    }

    /// Returns the location of a part of it.
    pub fn locate(&self, span: Span) -> WrittenIn {
        let position = self.home.as_ref().map(|home| home.position(home.span(span).start));
        WrittenIn::text(&self.name, position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::input::object::Kind;

    #[test]
    fn places_are_lines_and_columns() {
        let text = Text::whole("q.yaml", "a: 1\nbé: x\n".to_owned());
        let cases = [(0, "q.yaml:1:1"), (5, "q.yaml:2:1"), (10, "q.yaml:2:5"), (99, "q.yaml:3:1")];
        for (offset, expected) in cases {
            assert_eq!(text.locate(Span::new(offset, offset)).words(), expected);
        }
        let made = Text::made("the scheduler", "a".to_owned());
        assert_eq!(made.locate(Span::new(0, 1)).words(), "the scheduler");
    }

    #[test]
    fn places_inside_a_config_map_are_those_of_the_file() {
        let manifest = "# one\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  queues.yaml: |\n    a: 1\n    b: 2\n";
        let source = Source { name: "c.yaml".into(), text: manifest.into() };
        let inputs = Inputs::new(vec![source]);
        let object = inputs.of_kind(Kind::ConfigMap).next().unwrap();
        let text = Text::inside(&inputs, &object.document, "queues.yaml", "a: 1\nb: 2\n".to_owned());
        assert_eq!(text.locate(Span::new(8, 9)).words(), "c.yaml:8:8");
        let packed = Text::inside(&inputs, &object.document, "queues.yaml.gz", "a: 1\nb: 2\n".to_owned());
        assert_eq!(packed.locate(Span::new(8, 9)).words(), "c.yaml#queues.yaml.gz:2:4");
    }
}
