//! Parses XML configuration files without document types, and so without custom entities, of bounded size,
//! with the location of every node.

use roxmltree::{Document, Node, ParsingOptions};

use super::codes;
use go_compat::diag::{Diagnostic, Span};

/// Maximum length of a text, in bytes.
pub const MAX_TEXT: usize = 8 << 20;
/// Maximum number of elements, texts and attributes.
const MAX_NODES: u32 = 2_000_000;
/// Maximum number of attributes of an element. The parser compares each with all others.
const MAX_ATTRIBUTES: usize = 256;
/// Maximum number of namespace declarations in a file. The parser copies all declarations in scope for each
/// new one.
const MAX_NAMESPACES: usize = 256;

/// Parses a text.
///
/// # Errors
/// [`codes::XML`] if it is not XML or too large, [`codes::EXTERNAL`] if it has a document type; both with the
/// location.
pub fn parse(text: &str) -> Result<Document<'_>, Diagnostic> {
    if text.len() > MAX_TEXT {
        return Err(Diagnostic::error(codes::XML, format!("the file has more than {MAX_TEXT} bytes")));
    }
    if let Some(at) = document_type(text) {
        return Err(Diagnostic::error(codes::EXTERNAL, "document types are not supported")
            .at(Span::new(at, at.saturating_add("<!DOCTYPE".len())))
            .help("remove it, and write the text of its entities instead"));
    }
    if let Some((at, message)) = excess(text) {
        return Err(Diagnostic::error(codes::XML, message).at(Span::new(at, at)));
    }
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, entity_resolver: None };
    Document::parse_with_options(text, options).map_err(|error| {
        let at = offset(text, error.pos());
        let error = whole_character(&error.to_string(), text.get(at..).unwrap_or_default());
        Diagnostic::error(codes::XML, format!("cannot parse the XML: {error}"))
            .at(Span::new(at, at))
            .help("write well-formed XML; for details, run `xmllint --noout FILE`")
    })
}

/// Returns the start of a document type before the outermost element. The parser does not report an empty
/// one.
fn document_type(text: &str) -> Option<usize> {
    let mut at = 0_usize;
    loop {
        let rest = text.get(at..)?;
        let next = rest.find('<')?;
        at = at.saturating_add(next);
        let markup = text.get(at..)?;
        let end = if markup.starts_with("<!--") {
            "-->"
        } else if markup.starts_with("<?") {
            "?>"
        } else {
            return markup.starts_with("<!DOCTYPE").then_some(at);
        };
        at = at.saturating_add(markup.find(end)?);
    }
}

/// Returns the location of the first tag that exceeds a limit, and which limit. In a text that is not XML
/// this may miss some, but then the parser refuses the text at the same location.
fn excess(text: &str) -> Option<(usize, String)> {
    let (mut at, mut namespaces) = (0_usize, 0_usize);
    loop {
        at = at.saturating_add(text.get(at..)?.find('<')?);
        let markup = text.get(at..)?;
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("</", ">")];
        if let Some((_, end)) = skipped.into_iter().find(|(start, _)| markup.starts_with(start)) {
            at = after(markup, end, at);
            continue;
        }
        let tag = tag(markup);
        namespaces = namespaces.saturating_add(tag.namespaces);
        if tag.attributes > MAX_ATTRIBUTES {
            return Some((at, format!("an element has more than {MAX_ATTRIBUTES} attributes")));
        }
        if namespaces > MAX_NAMESPACES {
            return Some((at, format!("the file declares namespaces more than {MAX_NAMESPACES} times")));
        }
        at = at.saturating_add(tag.length);
    }
}

/// The size of a start tag.
#[derive(Default)]
struct Tag {
    length: usize,
    attributes: usize,
    namespaces: usize,
}

/// Measures the start tag at the beginning of a text.
fn tag(markup: &str) -> Tag {
    let mut tag = Tag { length: markup.len(), ..Tag::default() };
    let (mut quote, mut name, mut is_name) = (None, 0_usize, false);
    for (at, byte) in markup.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => (quote, is_name) = (Some(byte), false),
            (None, b'=') => {
                tag.attributes = tag.attributes.saturating_add(1);
                let declares = markup.get(name..at).is_some_and(|name| name.starts_with("xmlns"));
                tag.namespaces = tag.namespaces.saturating_add(usize::from(declares));
            }
            (None, b'>') => {
                tag.length = at.saturating_add(1);
                break;
            }
            (None, _) if byte.is_ascii_whitespace() => is_name = false,
            (None, _) => {
                name = if is_name { name } else { at };
                is_name = true;
            }
        }
    }
    tag
}

/// Shows the whole character in an error message of the parser, which only knows its first byte.
fn whole_character(message: &str, rest: &str) -> String {
    match (rest.as_bytes().first(), rest.chars().next()) {
        (Some(byte), Some(character)) if !character.is_ascii() => {
            message.replace(&format!("'{}'", char::from(*byte)), &format!("'{character}'"))
        }
        _ => message.to_owned(),
    }
}

fn offset(text: &str, position: roxmltree::TextPos) -> usize {
    let lines = text.split_inclusive('\n');
    let row = usize::try_from(position.row).unwrap_or(usize::MAX).saturating_sub(1);
    let column = usize::try_from(position.col).unwrap_or(usize::MAX).saturating_sub(1);
    let before: usize = lines.clone().take(row).map(str::len).sum();
    let line = lines.clone().nth(row).unwrap_or_default();
    before.saturating_add(line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)).min(text.len())
}

/// Returns the location of a node.
pub fn span(node: Node<'_, '_>) -> Span {
    let range = node.range();
    Span::new(range.start, range.end)
}

/// Returns the location of an element's start tag, up to the end of its name.
pub fn tag_span(node: Node<'_, '_>) -> Span {
    let start = node.range().start;
    Span::new(start, start.saturating_add(1).saturating_add(qualified(node).len()))
}

/// Returns the name of an element as written, with its prefix, which is the name that a parser without
/// namespaces sees.
pub fn qualified<'t>(node: Node<'_, 't>) -> &'t str {
    let written = node.document().input_text().get(node.range()).unwrap_or_default();
    let name = written.strip_prefix('<').unwrap_or_default();
    let end = name.find(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>')).unwrap_or(name.len());
    name.get(..end).unwrap_or_default()
}

/// Returns the child elements of an element.
pub fn elements<'a, 't: 'a>(node: Node<'a, 't>) -> impl Iterator<Item = Node<'a, 't>> {
    node.children().filter(Node::is_element)
}

/// A text inside a file, with its location.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// The text as parsed.
    pub text: String,
    /// The location.
    pub span: Span,
    /// True if the text is in the file byte for byte, so that locations in the text map to the file.
    pub verbatim: bool,
}

/// The first child of an element for a parser that, like Java's, drops comments and keeps `<![CDATA[`
/// separate from other text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum First {
    /// No child.
    Nothing,
    /// Text.
    Text {
        /// The first piece of text.
        text: Text,
        /// True when more text follows.
        cut: bool,
    },
    /// Another kind of node.
    Other,
}

/// Returns the first child of an element.
pub fn first(node: Node<'_, '_>) -> First {
    let input = node.document().input_text();
    let Some(Span { start: mut at, end }) = inside(node) else { return First::Nothing };
    let start = at;
    let mut piece = String::new();
    let mut last = at;
    while let Some(rest) = input.get(at..end).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("<!--") {
            at = after(rest, "-->", at);
        } else if let Some(data) = rest.strip_prefix("<![CDATA[") {
            if !piece.is_empty() {
                break;
            }
            let text = data.split("]]>").next().unwrap_or_default();
            let span = Span::new(at.saturating_add(9), at.saturating_add(9).saturating_add(text.len()));
            let next = after(rest, "]]>", at);
            return First::Text {
                text: Text { text: text.replace("\r\n", "\n"), span, verbatim: true },
                cut: next < end,
            };
        } else if rest.starts_with('<') {
            break;
        } else {
            let run = rest.split('<').next().unwrap_or_default();
            piece.push_str(run);
            at = at.saturating_add(run.len());
            last = at;
        }
    }
    if piece.is_empty() {
        return if at < end { First::Other } else { First::Nothing };
    }
    let text = unescaped(&piece);
    let verbatim = input.get(start..last) == Some(text.as_str());
    First::Text { text: Text { text, span: Span::new(start, last), verbatim }, cut: at < end }
}

/// Returns the location between the tags of an element, or `None` if it is empty.
fn inside(node: Node<'_, '_>) -> Option<Span> {
    let start = node.first_child()?.range().start;
    let end = node.document().input_text().get(start..node.range().end)?.rfind("</")?;
    Some(Span::new(start, start.saturating_add(end)))
}

fn after(rest: &str, end: &str, at: usize) -> usize {
    rest.find(end).map_or_else(
        || at.saturating_add(rest.len()),
        |found| at.saturating_add(found).saturating_add(end.len()),
    )
}

/// Returns character data without markup as the parser does: references replaced, line endings normalized.
fn unescaped(data: &str) -> String {
    let wrapped = format!("<a>{data}</a>");
    let read = Document::parse(&wrapped).ok();
    read.and_then(|document| document.root_element().text().map(str::to_owned))
        .unwrap_or_else(|| data.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_in_the_file_is_refused() {
        let cases = [
            ("<!DOCTYPE a><a/>", codes::EXTERNAL),
            (
                "<?xml version=\"1.0\"?><!-- x --><!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>",
                codes::EXTERNAL,
            ),
            ("<a>&b;</a>", codes::XML),
            ("<a><b></a>", codes::XML),
            ("", codes::XML),
            ("<a/><b/>", codes::XML),
        ];
        for (text, code) in cases {
            assert_eq!(parse(text).map(drop).unwrap_err().code, code, "{text}");
        }
        assert!(parse("<!-- <!DOCTYPE a> --><a/>").is_ok());
        let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
        assert!(parse(&deep).is_ok());
    }

    #[test]
    fn a_character_of_several_bytes_is_shown_whole() {
        for (text, shown) in [
            ("<a b=\u{201d}c\u{201d}/>", "'\u{201d}'"),
            ("<a \u{201c}b=\"c\"/>", "invalid name"),
            ("<a b=\u{fc}/>", "'\u{fc}'"),
            ("<a b\u{1f600}/>", "\u{1f600}"),
        ] {
            let error = parse(text).map(drop).unwrap_err();
            assert!(!error.message.contains(['\u{e2}', '\u{f0}', '\u{c3}']), "{text}: {}", error.message);
            assert!(error.message.contains(shown) || text.contains('\u{1f600}'), "{text}: {}", error.message);
        }
    }

    #[test]
    fn what_the_parser_reads_slowly_is_refused() {
        let namespaces = |count: usize| {
            let open: Vec<String> = (0..count).map(|n| format!("<a xmlns:n{n} = 'x'>")).collect();
            open.concat() + &"</a>".repeat(count)
        };
        let attributes = |count: usize| {
            let names: Vec<String> = (0..count).map(|n| format!(" a{n}=\"'>=\"")).collect();
            let names = names.concat();
            format!("<?xml version='1.0'?><!-- <a b='c' --><r>{}<a{names}/></r>", "<b c='d'/>".repeat(1000))
        };
        assert!(parse(&namespaces(MAX_NAMESPACES)).is_ok() && parse(&attributes(MAX_ATTRIBUTES)).is_ok());
        for text in [
            namespaces(MAX_NAMESPACES + 1),
            attributes(MAX_ATTRIBUTES + 1),
            namespaces(3000),
            attributes(200_000),
        ] {
            let error = parse(&text).map(drop).unwrap_err();
            let at = error.span.unwrap().start;
            assert!(error.code == codes::XML && text.get(at..).unwrap().starts_with("<a "), "{error}");
        }
    }

    #[test]
    fn the_first_child_is_javas() {
        let cases = [
            ("<a/>", First::Nothing),
            ("<a b='>'/>", First::Nothing),
            ("<a></a>", First::Nothing),
            ("<a><!-- x --></a>", First::Nothing),
            ("<a><b/></a>", First::Other),
            ("<a><?x y?>z</a>", First::Other),
        ];
        for (text, expected) in cases {
            assert_eq!(first(parse(text).unwrap().root_element()), expected, "{text}");
        }
        let texts = [
            ("<a>x</a>", "x", false, true),
            ("<a b='>'>x</a >", "x", false, true),
            ("<a>x<!-- y --> z</a>", "x z", false, false),
            ("<a><!-- y -->x</a>", "x", false, false),
            ("<a>a<![CDATA[b]]></a>", "a", true, true),
            ("<a><![CDATA[b<]]>c</a>", "b<", true, true),
            ("<a><![CDATA[b]]></a>", "b", false, true),
            ("<a>x&amp;&#65;</a>", "x&A", false, false),
            ("<a>x\r\ny</a>", "x\ny", false, false),
            ("<a> x<b/></a>", " x", true, true),
        ];
        for (text, expected, cut, verbatim) in texts {
            let found = first(parse(text).unwrap().root_element());
            let First::Text { text: piece, cut: is_cut } = &found else { panic!("{text}: {found:?}") };
            assert_eq!((piece.text.as_str(), *is_cut, piece.verbatim), (expected, cut, verbatim), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_with_a_place(text in "[<>a/!&;\\[\\]CDAT\" \n=é-]{0,40}") {
            match parse(&text) {
                Ok(document) => document.descendants().filter(Node::is_element).for_each(|node| {
                    first(node);
                    assert!(text.get(span(node).start..span(node).end).is_some());
                }),
                Err(error) => {
                    let span = error.span.expect("a span");
                    prop_assert!(text.get(span.start..span.end).is_some(), "{:?}", error);
                }
            }
        }
    }
}
