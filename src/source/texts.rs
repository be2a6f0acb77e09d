//! Texts that a configuration was read from, and locations in them: `queues.yaml:12:20`.

use crate::output::text::Source;
use crate::source::input::Inputs;
use crate::source::input::object::{Document, token};
use crate::source::input::scalar::ContentSpans;
use go_compat::diag::Span;
use queuewarden_api::answer::WrittenIn;

/// A text, and its location if it is part of another.
#[derive(Debug, Clone)]
pub struct Text {
    /// The text that `YuniKorn` reads.
    pub text: String,
    /// The file or key that holds it: `yunikorn-configs/queues.yaml`.
    source: Source,
    /// The bytes of a text that is a string inside the file.
    inside: Option<ContentSpans>,
    /// True if it was generated, so that its line numbers mean nothing.
    made: bool,
}

impl Text {
    /// Creates a text that is the whole of `name`.
    pub fn whole(name: impl AsRef<str>, text: String) -> Self {
        Self::of(&Source::new(name, text.as_str()), text)
    }

    /// Creates a generated text, of which only the name means something.
    pub fn made(name: impl AsRef<str>, text: String) -> Self {
        Self { made: true, ..Self::whole(name, text) }
    }

    /// Creates a text that is the whole of a source.
    pub fn of(source: &Source, text: String) -> Self {
        Self { source: source.clone(), text, inside: None, made: false }
    }

    /// Returns the name for people: a file, or `yunikorn-configs/queues.yaml`.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// Creates a text that is the value of a key of `data` in the manifest of a ConfigMap.
    pub fn inside(inputs: &Inputs, document: &Document, key: &str, text: String) -> Self {
        let content = inputs.content_spans(document, &format!("/data/{}", token(key)));
        match (content, inputs.sources.get(document.source)) {
            (Some(content), Some(source)) => {
                Self { text, source: source.clone(), inside: Some(content), made: false }
            }
            // In `binaryData` it is encoded: it has lines, but they are not those of the file.
            _ => Self::whole(format!("{}#{key}", inputs.name(document.source)), text),
        }
    }

    /// Returns the source and the span on which to draw a finding about it.
    pub fn shown(&self, span: Option<Span>) -> (&Source, Option<Span>) {
        (&self.source, span.map(|span| self.at_home(span)))
    }

    /// Returns the span in that source.
    pub fn at_home(&self, span: Span) -> Span {
        self.inside.as_ref().map_or(span, |inside| inside.span(span))
    }

    /// Returns the location of a part of it.
    pub fn locate(&self, span: Span) -> WrittenIn {
        let position = (!self.made).then(|| self.source.position(self.at_home(span).start));
        WrittenIn::text(&self.source.name, position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::input::object::Kind;

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
        let source = Source::new("c.yaml", manifest);
        let inputs = Inputs::new(vec![source]);
        let object = inputs.of_kind(Kind::ConfigMap).next().unwrap();
        let text = Text::inside(&inputs, &object.document, "queues.yaml", "a: 1\nb: 2\n".to_owned());
        assert_eq!(text.locate(Span::new(8, 9)).words(), "c.yaml:8:8");
        let packed = Text::inside(&inputs, &object.document, "queues.yaml.gz", "a: 1\nb: 2\n".to_owned());
        assert_eq!(packed.locate(Span::new(8, 9)).words(), "c.yaml#queues.yaml.gz:2:4");
    }
}
