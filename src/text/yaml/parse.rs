//! Text to [`Node`]s, with the verdicts and error texts of Go's `yaml.v3`.
//!
//! Three steps: `scan` finds the tokens, `compose` the document they make, and here its aliases are put into place, within the
//! bounds of this crate and those of Go (`decode.go`, `allowedAliasRatio`).

use super::compose::{Document, Id, Raw, RawKind, compose, too_deep, too_many};
use super::scan::error;
use super::{Alias, Kind, MAX_DEPTH, MAX_NODES, MAX_TEXT, Node, TOO_LARGE};
use crate::text::diag::{Diagnostic, Span};

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
    let Some(document) = compose(text)? else {
        return Ok(None);
    };
    let mut resolver = Resolver {
        document: &document,
        open: vec![false; document.nodes.len()],
        nodes: 0,
        aliased: 0,
    };
    resolver.node(0, 0, None).map(Some)
}

/// Builds the tree with a copy of the anchored node in place of each alias.
struct Resolver<'d> {
    document: &'d Document,
    /// Which aliases are being resolved now.
    open: Vec<bool>,
    /// Nodes built, as Go's `decodeCount`.
    nodes: usize,
    /// Nodes built in place of an alias, as Go's `aliasCount`.
    aliased: usize,
}

impl Resolver<'_> {
    /// The node with this index. Below an alias, `alias` is the alias' place.
    fn node(&mut self, id: Id, depth: usize, alias: Option<Span>) -> Result<Node, Diagnostic> {
        let document = self.document;
        let Some(raw) = document.nodes.get(id) else {
            return Err(error("unknown problem parsing YAML content"));
        };
        let span = alias.unwrap_or(raw.span);
        self.count(depth, span, alias.is_some())?;
        let kind = match &raw.kind {
            RawKind::Alias { name, to } => {
                let node = self.alias(id, (name, *to), depth, span)?;
                let alias = Alias {
                    anchor: name.clone(),
                    line: raw.line,
                };
                return Ok(Node {
                    alias: Some(alias),
                    ..node
                });
            }
            RawKind::Scalar { value, style } => Kind::Scalar {
                value: value.clone(),
                style: *style,
            },
            RawKind::Sequence(items) => {
                let items = items.iter().map(|item| self.node(*item, depth + 1, alias));
                Kind::Sequence(items.collect::<Result<_, _>>()?)
            }
            RawKind::Mapping(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| {
                    Ok((
                        self.node(*key, depth + 1, alias)?,
                        self.node(*value, depth + 1, alias)?,
                    ))
                });
                Kind::Mapping(pairs.collect::<Result<_, Diagnostic>>()?)
            }
        };
        let Raw {
            tag, anchored, line, ..
        } = raw;
        Ok(Node {
            kind,
            tag: tag.clone(),
            alias: None,
            shared: *anchored || alias.is_some(),
            span,
            line: *line,
        })
    }

    fn alias(
        &mut self,
        id: Id,
        (name, to): (&str, Id),
        depth: usize,
        span: Span,
    ) -> Result<Node, Diagnostic> {
        if self.open.get(id).is_none_or(|open| *open) {
            return Err(error(&format!("anchor '{name}' value contains itself")).at(span));
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

    fn count(&mut self, depth: usize, span: Span, aliased: bool) -> Result<(), Diagnostic> {
        self.nodes += 1;
        self.aliased += usize::from(aliased);
        if depth > MAX_DEPTH {
            return Err(too_deep(span));
        }
        if self.nodes > MAX_NODES {
            return Err(too_many(span));
        }
        if self.aliased > 100 && self.nodes > 1000 && self.aliased > allowed_aliased(self.nodes) {
            return Err(error("document contains excessive aliasing").at(span));
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
    use super::*;

    #[test]
    fn spans_cover_what_was_written() {
        let text = "\u{feff}a: [1, 'ü', {x: \"y\"}] # c\nb: &k\n  - q: z\nc: *k\nd: |+\n  x\n\ne: !!str\nf: [g: h]\n";
        let node = parse(text).unwrap().unwrap();
        let pairs = node.as_mapping().unwrap();
        let written: Vec<_> = pairs
            .iter()
            .map(|(_, v)| &text[v.span.start..v.span.end])
            .collect();
        assert_eq!(
            written,
            [
                "[1, 'ü', {x: \"y\"}]",
                "&k\n  - q: z",
                "*k",
                "|+\n  x",
                "!!str",
                "[g: h]"
            ]
        );
        assert_eq!(
            pairs.iter().map(|(_, v)| v.shared).collect::<Vec<_>>(),
            [false, true, true, false, false, false]
        );
        let pair = &pairs[5].1.as_sequence().unwrap()[0];
        assert_eq!(&text[pair.span.start..pair.span.end], "g: h");
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
