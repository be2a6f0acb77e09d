//! Text to [`Node`]s, with the verdicts and error texts of Go's `yaml.v3`.
//!
//! Three steps: `scan` finds the tokens, `compose` the document they make, and here its aliases are put into place, within the
//! bounds of this crate and those of Go (`decode.go`, `allowedAliasRatio`).

use super::compose::{Document, Id, Raw, RawKind, compose, too_deep, too_many};
use super::scan::{Problem, error};
use super::{Alias, KindIn, MAX_DEPTH, MAX_NODES, MAX_TEXT, Marks, Node, NodeIn, TOO_LARGE};
use crate::diag::{Diagnostic, Span};

/// Reads the first document. `Ok(None)`: there is none (empty text, only comments), which Go's decoder reports as EOF.
/// Later documents are not looked at, as Go's decoder leaves them alone.
/// The message of a syntax error is the one Go prints (`yaml: line 5: did not find expected alphabetic or numeric character`).
///
/// # Errors
/// [`super::SYNTAX`] or [`super::TOO_LARGE`], with the place.
pub fn parse(text: &str) -> Result<Option<Node>, Diagnostic> {
    parse_in(text).map(|root| root.map(NodeIn::into_owned))
}

/// As [`parse`], without copies of what reads as it is written.
///
/// # Errors
/// As [`parse`].
pub fn parse_in(text: &str) -> Result<Option<NodeIn<'_>>, Diagnostic> {
    if text.len() > MAX_TEXT {
        let message = format!("the text has {} bytes, more than the {MAX_TEXT} that are read", text.len());
        return Err(Diagnostic::error(TOO_LARGE, message));
    }
    if text.starts_with("\u{feff}\u{feff}") {
        // Go skips the first; because of the second it then loses the first character of each line (`yamlprivateh.go`, `is_bom`).
        let problem = error("two byte order marks at the start of the text");
        return Err(problem.at(Span::new(3, 6)).help("remove the second U+FEFF"));
    }
    let Some(document) = compose(text)? else {
        return Ok(None);
    };
    let mut resolver =
        Resolver { document: &document, open: vec![false; document.nodes.len()], nodes: 0, aliased: 0 };
    Ok(Some(resolver.node(0, 0, None)?))
}

/// Builds the tree with a copy of the anchored node in place of each alias.
struct Resolver<'d, 't> {
    document: &'d Document<'t>,
    /// Which aliases are being resolved now.
    open: Vec<bool>,
    /// Nodes built, as Go's `decodeCount`.
    nodes: usize,
    /// Nodes built in place of an alias, as Go's `aliasCount`.
    aliased: usize,
}

impl<'t> Resolver<'_, 't> {
    /// The node with this index. Below an alias, `alias` is the alias' place.
    fn node(&mut self, id: Id, depth: usize, alias: Option<Span>) -> Result<NodeIn<'t>, Problem> {
        let document = self.document;
        let Some(raw) = document.nodes.get(id) else {
            return Err(error("unknown problem parsing YAML content").into());
        };
        let span = alias.unwrap_or(raw.span);
        self.count(depth, span, alias.is_some())?;
        let kind = match &raw.kind {
            RawKind::Alias { name, to } => {
                let node = self.alias(id, (name, *to), depth, span)?;
                let alias = Some(Alias { anchor: name.clone(), line: raw.line });
                let tag = node.marks.and_then(|marks| marks.tag);
                return Ok(NodeIn { marks: Some(Box::new(Marks { tag, alias })), ..node });
            }
            RawKind::Scalar { value, style } => KindIn::Scalar { value: value.clone(), style: *style },
            RawKind::Sequence(items) => KindIn::Sequence(self.items(items, depth + 1, alias)?),
            RawKind::Mapping(pairs) => KindIn::Mapping(self.pairs(pairs, depth + 1, alias)?),
        };
        let Raw { tag, anchored, line, .. } = raw;
        Ok(NodeIn {
            kind,
            marks: tag.clone().map(|tag| Box::new(Marks { tag: Some(tag), alias: None })),
            shared: *anchored || alias.is_some(),
            span,
            line: *line,
        })
    }

    fn items(&mut self, ids: &[Id], depth: usize, alias: Option<Span>) -> Result<Vec<NodeIn<'t>>, Problem> {
        let mut items = Vec::with_capacity(ids.len());
        for item in ids {
            items.push(self.node(*item, depth, alias)?);
        }
        Ok(items)
    }

    fn pairs(
        &mut self,
        ids: &[(Id, Id)],
        depth: usize,
        alias: Option<Span>,
    ) -> Result<Vec<(NodeIn<'t>, NodeIn<'t>)>, Problem> {
        let mut pairs = Vec::with_capacity(ids.len());
        for (key, value) in ids {
            pairs.push((self.node(*key, depth, alias)?, self.node(*value, depth, alias)?));
        }
        Ok(pairs)
    }

    fn alias(
        &mut self,
        id: Id,
        (name, to): (&str, Id),
        depth: usize,
        span: Span,
    ) -> Result<NodeIn<'t>, Problem> {
        if self.open.get(id).is_none_or(|open| *open) {
            return Err(error(&format!("anchor '{name}' value contains itself")).at(span).into());
        }
        self.set_open(id, true);
        let node = self.node(to, depth + 1, Some(span))?;
        self.set_open(id, false);
        Ok(node)
    }

    fn set_open(&mut self, id: Id, open: bool) {
        if let Some(known) = self.open.get_mut(id) {
            *known = open;
        }
    }

    fn count(&mut self, depth: usize, span: Span, aliased: bool) -> Result<(), Problem> {
        self.nodes += 1;
        self.aliased += usize::from(aliased);
        if depth > MAX_DEPTH {
            return Err(too_deep(span).into());
        }
        if self.nodes > MAX_NODES {
            return Err(too_many(span).into());
        }
        if self.aliased > 100 && self.nodes > 1000 && self.aliased > allowed_aliased(self.nodes) {
            return Err(error("document contains excessive aliasing").at(span).into());
        }
        Ok(())
    }
}

/// How many of so many nodes Go lets come from aliases: 99 of 100, and less above 400,000, down to 10 of 100 at 4,000,000.
fn allowed_aliased(nodes: usize) -> usize {
    let above = nodes.saturating_sub(400_000);
    let percent = nodes.saturating_mul(99) / 100;
    percent.saturating_sub(nodes.saturating_mul(above).saturating_mul(89) / 360_000_000)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::samples::samples;
    use super::super::{Kind, SYNTAX, Style};
    use super::*;

    #[test]
    fn spans_cover_what_was_written() {
        let text = "\u{feff}a: [1, 'ü', {x: \"y\"}] # c\nb: &k\n  - q: z\nc: *k\nd: |+\n  x\n\ne: !!str\nf: [g: h]\n";
        let node = parse(text).unwrap().unwrap();
        let pairs = node.as_mapping().unwrap();
        let written: Vec<_> =
            pairs.iter().map(|(_, v)| text.get(v.span.start..v.span.end).unwrap()).collect();
        assert_eq!(written, ["[1, 'ü', {x: \"y\"}]", "&k\n  - q: z", "*k", "|+\n  x", "!!str", "[g: h]"]);
        assert_eq!(
            pairs.iter().map(|(_, v)| v.shared).collect::<Vec<_>>(),
            [false, true, true, false, false, false]
        );
        let pair = &pairs[5].1.as_sequence().unwrap()[0];
        assert_eq!(text.get(pair.span.start..pair.span.end), Some("g: h"));
    }

    /// A node as the vectors write it. Go forgets a `!`, and so do they.
    fn written(node: &Node) -> Value {
        let tag = node.tag().filter(|tag| *tag != "!").unwrap_or_default();
        match &node.kind {
            Kind::Scalar { value, style } => {
                let style = match style {
                    Style::Plain => "plain",
                    Style::SingleQuoted => "single",
                    Style::DoubleQuoted => "double",
                    Style::Literal => "literal",
                    Style::Folded => "folded",
                };
                json!(["scalar", node.line, tag, style, value])
            }
            Kind::Sequence(items) => {
                json!(["list", node.line, tag, items.iter().map(written).collect::<Value>()])
            }
            Kind::Mapping(pairs) => {
                let nodes = pairs.iter().flat_map(|(key, value)| [written(key), written(value)]);
                json!(["mapping", node.line, tag, nodes.collect::<Value>()])
            }
        }
    }

    /// Each text of `tests/vectors/go-yaml-parse.json` with what `go.yaml.in/yaml/v3` v3.0.4 makes of it: a tree or an error.
    #[test]
    fn reads_as_go_reads() {
        let vectors = include_str!("../../../../tests/vectors/go-yaml-parse.json");
        let vectors: Vec<Value> = serde_json::from_str(vectors).unwrap();
        assert!(vectors.len() > 800);
        for vector in vectors {
            let text = vector["text"].as_str().unwrap();
            let read = match parse(text) {
                Ok(tree) => json!({"text": text, "tree": tree.as_ref().map(written)}),
                Err(error) => json!({"text": text, "error": error.message}),
            };
            assert_eq!(read, vector);
        }
    }

    #[test]
    fn is_stricter_than_go_about_two_byte_order_marks() {
        let error = parse("\u{feff}\u{feff}a: b").unwrap_err();
        assert_eq!(error.message, "yaml: two byte order marks at the start of the text");
    }

    #[test]
    fn bounds() {
        let cases = [
            ("a".repeat(MAX_TEXT + 1), Err(TOO_LARGE)),
            ("[".repeat(MAX_DEPTH + 1), Err(TOO_LARGE)),
            ("- ".repeat(MAX_DEPTH + 1) + "a", Err(TOO_LARGE)),
            ("- ".repeat(MAX_DEPTH) + "a", Ok(())),
            ("{a: ".repeat(100_000), Err(TOO_LARGE)),
            ("- a\n".repeat(MAX_NODES), Err(TOO_LARGE)),
            ("- a\n".repeat(MAX_NODES - 1), Ok(())),
            // Doubling and tenfold aliases.
            (laughs(30, 2), Err(SYNTAX)),
            (laughs(9, 9), Err(SYNTAX)),
            // Deep, but few nodes: each level nests the one before.
            (nested_aliases(MAX_DEPTH + 1), Err(TOO_LARGE)),
        ];
        for (text, expected) in cases {
            let start = text.get(..text.len().min(40)).unwrap();
            assert_eq!(parse(&text).map(|_| ()).map_err(|error| error.code), expected, "{start}");
        }
    }

    fn laughs(levels: usize, times: usize) -> String {
        let line = |level: usize| {
            format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); times].join(", "))
        };
        "a0: &a0 x\n".to_owned() + &(1..levels).map(line).collect::<String>()
    }

    fn nested_aliases(levels: usize) -> String {
        let line = |level: usize| format!("a{level}: &a{level} [*a{}]\n", level - 1);
        "a0: &a0 x\n".to_owned() + &(1..levels).map(line).collect::<String>()
    }

    /// Every span lies in the text, within its parent's, and between characters.
    fn check_spans(text: &str, node: &Node, parent: Span) {
        assert!(text.get(node.span.start..node.span.end).is_some(), "{text:?}");
        assert!(
            parent.start <= node.span.start && node.span.end <= parent.end,
            "{text:?} {node:?} {parent:?}"
        );
        let children: Vec<&Node> = match &node.kind {
            Kind::Scalar { .. } => vec![],
            Kind::Sequence(items) => items.iter().collect(),
            Kind::Mapping(pairs) => pairs.iter().flat_map(|(key, value)| [key, value]).collect(),
        };
        for child in children {
            check_spans(text, child, node.span);
        }
    }

    /// Random changes of real texts: no panic, and only true places. The generator is xorshift: the same texts every time.
    #[test]
    fn survives_broken_texts() {
        let texts = samples();
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut random = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % below.max(1) as u64).unwrap()
        };
        let pieces = [
            "\n", "\r\n", " ", "\t", "- ", "? ", ": ", "[", "]", "{", "}", ",", "#", "&a ", "*a", "!",
            "!!str ", "|\n", ">-\n", "'", "\"", "\\", "%", "---\n", "...\n", "<<: *a\n", "\u{85}",
            "\u{2028}", "\u{feff}", "é", "😀", "\0",
        ];
        let mut read = 0;
        for _ in 0..20_000 {
            let mut chars: Vec<char> = texts[random(texts.len())].chars().collect();
            for _ in 0..=random(3) {
                let start = random(chars.len() + 1);
                let end = chars.len().min(start + random(4));
                chars.splice(start..end, pieces[random(pieces.len())].chars());
            }
            let text: String = chars.into_iter().collect();
            match parse(&text) {
                Ok(None) => {}
                Ok(Some(node)) => {
                    read += 1;
                    check_spans(&text, &node, Span::new(0, text.len()));
                }
                Err(error) => assert!(error.span.is_none_or(|span| text.get(span.start..span.end).is_some())),
            }
        }
        assert!(
            (2_000..18_000).contains(&read),
            "the texts should be neither all broken nor all whole: {read}"
        );
    }
}
