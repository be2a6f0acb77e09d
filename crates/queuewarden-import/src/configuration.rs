//! Parses Hadoop's configuration files as `org.apache.hadoop.conf.Configuration` 3.4.1 does (`Parser`,
//! `loadProperty`, `substituteVars`).
//!
//! A property has its name and value in elements or attributes. The name is trimmed, the value is not, and an
//! empty element changes nothing: a property without a value is not set. The last of several properties with
//! the same name applies, unless an earlier one is final. `${x}` is replaced, up to twenty times, by the
//! value of a Java system property or another setting. Unknown variables stay as they are.

use std::collections::HashMap;

use roxmltree::Node;

use super::xml::{self, Text};
use super::{FileDiagnostic, Location, codes, export};
use go_compat::diag::{Diagnostic, Span, quoted};
use yunikorn::application::properties;
use yunikorn::application::yarn_acl::trim;

/// Maximum number of variable replacements in one value (`MAX_SUBST`).
const MAX_SUBSTITUTIONS: usize = 20;
/// Maximum length of a value after replacing variables, in bytes.
const MAX_VALUE: usize = 1 << 20;

/// The settings of several files.
#[derive(Debug, Clone, Default)]
pub struct Configuration {
    settings: HashMap<String, Written>,
    order: Vec<String>,
    defined: HashMap<String, String>,
}

/// A setting as written.
#[derive(Debug, Clone)]
struct Written {
    /// `None` if it is not set.
    value: Option<Text>,
    file: usize,
    is_final: bool,
}

/// A value with its variables replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The text as Hadoop's `get` returns it.
    pub text: String,
    /// The location of the property's value.
    pub location: Location,
    /// True if the text is in the file byte for byte.
    pub verbatim: bool,
    /// An unknown variable in the value, which stays as written or is replaced by its default.
    pub unbound: Option<String>,
    /// True if replacing its variables does not terminate: Hadoop then throws an exception.
    pub endless: bool,
}

impl Value {
    /// Checks that Hadoop does not refuse the value.
    ///
    /// # Errors
    /// Fails if replacing its variables does not terminate.
    pub fn check(&self) -> Result<(), Box<FileDiagnostic>> {
        if !self.endless {
            return Ok(());
        }
        let message = format!(
            "the value needs more than {MAX_SUBSTITUTIONS} variable replacements, which Hadoop refuses"
        );
        let diagnostic =
            Diagnostic::error(codes::HADOOP_REFUSES, message).help("write the value without variables");
        Err(Box::new(FileDiagnostic::at(self.location, diagnostic)))
    }
}

/// One property as the parser has assembled it.
#[derive(Debug, Clone, Default)]
struct Property {
    name: Option<String>,
    value: Option<Text>,
    is_final: bool,
}

impl Configuration {
    /// Defines values for variables: Java system properties (`NAME`) and environment variables (`env.NAME`)
    /// of Hadoop's process.
    pub fn defining(defined: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { defined: defined.into_iter().collect(), ..Self::default() }
    }

    /// Reads one more file, whose settings override those of earlier files.
    ///
    /// # Errors
    /// Fails when it is no such file.
    pub fn load(
        &mut self,
        file: usize,
        text: &str,
        findings: &mut Vec<FileDiagnostic>,
    ) -> Result<(), Diagnostic> {
        if let Some(exported) = export::read(text)? {
            for properties::Property { key, value, span } in exported {
                let verbatim = text.get(span.start..span.end) == Some(value.as_str());
                // Written into Hadoop's XML, an empty value sets nothing.
                let value = (!value.is_empty()).then_some(Text { text: value, span, verbatim });
                self.take(file, Property { name: Some(key), value, is_final: false }, findings);
            }
            return Ok(());
        }
        let document = xml::parse(text)?;
        let root = document.root_element();
        if root.tag_name().name() != "configuration" {
            let message =
                format!("the outermost element is {}, not `<configuration>`", quoted(root.tag_name().name()));
            return Err(Diagnostic::error(codes::NOT_THIS_FILE, message)
                .at(xml::tag_span(root))
                .help("pass a Hadoop configuration file"));
        }
        if let Some(include) =
            document.descendants().find(|node| node.is_element() && node.tag_name().name() == "include")
        {
            return Err(Diagnostic::error(codes::EXTERNAL, "inclusions are not supported")
                .at(xml::tag_span(include))
                .help("write the included text into the file"));
        }
        for property in properties(root) {
            self.take(file, property, findings);
        }
        Ok(())
    }

    /// `loadProperty`.
    fn take(&mut self, file: usize, property: Property, findings: &mut Vec<FileDiagnostic>) {
        let Some(name) = property.name else { return };
        let known = self.settings.get(&name);
        if known.is_some_and(|known| known.is_final) {
            if let (Some(value), true) = (&property.value, known.is_some_and(|known| known.value.is_some())) {
                let message = format!("{} is final above, so this value is ignored", quoted(&name));
                let finding = Diagnostic::warning(codes::FINAL, message).help("remove one of them");
                findings.push(FileDiagnostic::at(Location { file, span: value.span }, finding));
            }
            return;
        }
        if known.is_none() && (property.value.is_some() || property.is_final) {
            self.order.push(name.clone());
        }
        let entry = self.settings.entry(name);
        let written = entry.or_insert_with(|| Written { value: None, file, is_final: false });
        if property.value.is_some() {
            (written.value, written.file) = (property.value, file);
        }
        written.is_final |= property.is_final;
    }

    /// `get`: returns the value with its variables replaced; `None` when it is not set.
    pub fn get(&self, name: &str) -> Option<Value> {
        let written = self.settings.get(name)?;
        let text = written.value.as_ref()?;
        let mut value = Value {
            text: text.text.clone(),
            location: Location { file: written.file, span: text.span },
            verbatim: false,
            unbound: None,
            endless: false,
        };
        self.substitute(&mut value);
        value.verbatim = text.verbatim && value.text == text.text;
        Some(value)
    }

    /// Returns the names of all settings, in the order of their first occurrence.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(String::as_str)
    }

    /// `substituteVars`: also records the variable that it stops at, or whose default it uses.
    fn substitute(&self, value: &mut Value) {
        let written = value.text.clone();
        for _ in 0..MAX_SUBSTITUTIONS {
            let Some(Span { start, end }) = variable(&value.text) else { return };
            let name = value.text.get(start..end).unwrap_or_default().to_owned();
            let Some((found, by_default)) = self.variable(&name) else {
                value.unbound = Some(name);
                return;
            };
            if found.contains(&format!("${{{name}}}")) {
                (value.text, value.unbound) = (written, Some(name));
                return;
            }
            let before = value.text.get(..start.saturating_sub(2)).unwrap_or_default();
            let behind = value.text.get(end.saturating_add(1)..).unwrap_or_default();
            value.text = [before, &found, behind].concat();
            value.unbound = value.unbound.take().or(by_default);
            if value.text.len() > MAX_VALUE {
                break;
            }
        }
        // Hadoop does not check whether the last replacement finished the value.
        (value.text, value.endless) = (written, true);
    }

    /// Returns the value of a variable. If this is its default because the variable is unknown, also returns
    /// its name.
    fn variable(&self, name: &str) -> Option<(String, Option<String>)> {
        if let Some(variable) = name.strip_prefix("env.").filter(|variable| !variable.is_empty()) {
            return self.environment(variable).or_else(|| Some((self.raw(name)?, None)));
        }
        let known = self.defined.get(name).cloned().or_else(|| self.raw(name))?;
        Some((known, None))
    }

    fn raw(&self, name: &str) -> Option<String> {
        Some(self.settings.get(name)?.value.as_ref()?.text.clone())
    }

    /// Resolves `NAME`, `NAME-default` (when not defined), `NAME:-default` (when not defined or empty).
    fn environment(&self, variable: &str) -> Option<(String, Option<String>)> {
        let (name, default, takes_empty) = match variable.split_once('-') {
            None => (variable, None, true),
            Some((name, default)) => match name.strip_suffix(':') {
                None => (name, Some(default), true),
                Some(name) => (name, Some(default), false),
            },
        };
        let name = format!("env.{name}");
        let given = self.defined.get(&name);
        if let Some(value) = given.filter(|value| takes_empty || !value.is_empty()) {
            return Some((value.clone(), None));
        }
        default.map(|default| (default.to_owned(), given.is_none().then_some(name)))
    }
}

/// Returns the location of the first variable's name (`findSubVariable`): `${` and a name without `$`, spaces
/// and braces, then `}`.
fn variable(text: &str) -> Option<Span> {
    let mut from = 0_usize;
    loop {
        let brace = text.get(from..)?.find('{')?.saturating_add(from);
        let start = brace.saturating_add(1);
        from = start;
        if text.get(..brace)?.ends_with('$') {
            let end = text.get(start..)?.find(['}', ' ', '$'])?.saturating_add(start);
            if end > start && text.get(end..)?.starts_with('}') {
                return Some(Span::new(start, end));
            }
            from = end.saturating_add(1);
        }
    }
}

/// Returns the properties as a streaming parser collects them, regardless of where the elements are and what
/// they contain.
fn properties(root: Node<'_, '_>) -> Vec<Property> {
    let mut reader = Reader::default();
    // Iterative rather than recursive, because a file may be deeply nested.
    let mut next = Some((root, false));
    while let Some((node, left)) = next {
        if left {
            reader.end(node);
        } else if node.is_element() {
            reader.start(node);
        } else if node.is_text() {
            reader.text(node);
        }
        next = match node.first_child().filter(|_| !left) {
            Some(child) => Some((child, false)),
            None if node.is_element() && !left => Some((node, true)),
            None if node.id() == root.id() => None,
            None => node
                .next_sibling()
                .map(|sibling| (sibling, false))
                .or_else(|| node.parent().map(|parent| (parent, true))),
        };
    }
    reader.properties
}

#[derive(Debug, Default)]
struct Reader {
    property: Property,
    /// The text since the last start tag of an element with text; `None` before the first one.
    text: Option<Text>,
    properties: Vec<Property>,
}

impl Reader {
    fn start(&mut self, node: Node<'_, '_>) {
        match node.tag_name().name() {
            "property" => self.property = of_attributes(node),
            "name" | "value" | "final" | "source" | "tag" => self.text = Some(Text::default()),
            _ => {}
        }
    }

    fn text(&mut self, node: Node<'_, '_>) {
        let Some(read) = &mut self.text else { return };
        let (piece, span) = (node.text().unwrap_or_default(), xml::span(node));
        let is_first = read.text.is_empty();
        read.verbatim = is_first && node.document().input_text().get(node.range()) == Some(piece);
        read.span = if is_first { span } else { Span::new(read.span.start, span.end) };
        read.text.push_str(piece);
    }

    fn end(&mut self, node: Node<'_, '_>) {
        let text = self.text.as_ref().filter(|text| !text.text.is_empty());
        match (node.tag_name().name(), text) {
            ("name", Some(text)) => self.property.name = Some(trim(&text.text).to_owned()),
            ("value", Some(text)) => self.property.value = Some(text.clone()),
            ("final", text) => self.property.is_final = text.is_some_and(|text| text.text == "true"),
            // Hadoop forgets a property when the next one begins.
            ("property", _) => self.properties.push(self.property.clone()),
            _ => {}
        }
    }
}

fn of_attributes(node: Node<'_, '_>) -> Property {
    let mut property = Property::default();
    for attribute in node.attributes() {
        let range = attribute.range_value();
        match attribute.name() {
            "name" => property.name = Some(attribute.value().to_owned()),
            "value" => {
                let verbatim = node.document().input_text().get(range.clone()) == Some(attribute.value());
                let span = Span::new(range.start, range.end);
                property.value = Some(Text { text: attribute.value().to_owned(), span, verbatim });
            }
            "final" => property.is_final = attribute.value() == "true",
            _ => {}
        }
    }
    property
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(texts: &[&str], defined: &[(&str, &str)]) -> (Configuration, Vec<FileDiagnostic>) {
        let mut findings = Vec::new();
        let defined = defined.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut configuration = Configuration::defining(defined);
        for (file, text) in texts.iter().enumerate() {
            configuration
                .load(file, &format!("<configuration>{text}</configuration>"), &mut findings)
                .expect(text);
        }
        (configuration, findings)
    }

    fn get(text: &str, name: &str) -> Option<String> {
        read(&[text], &[]).0.get(name).map(|value| value.text)
    }

    fn property(name: &str, value: &str) -> String {
        format!("<property><name>{name}</name><value>{value}</value></property>")
    }

    #[test]
    fn properties_are_read_as_hadoop_does() {
        let cases = [
            (property(" a\n", " b "), Some(" b ")),
            (property("a", ""), None),
            ("<property><name>a</name></property>".to_owned(), None),
            ("<property name=\"a\" value=\"b\"/>".to_owned(), Some("b")),
            ("<property name=\"a\" value=\"\"/>".to_owned(), Some("")),
            ("<property name=\" a\" value=\"b\"/>".to_owned(), None),
            ("<property name=\"x\" value=\"b\"><name>a</name></property>".to_owned(), Some("b")),
            ("<property name=\"a\" value=\"b\"><value></value></property>".to_owned(), Some("b")),
            (property("a", "b") + &property("a", "c"), Some("c")),
            (property("a", "b") + &property("a", ""), Some("b")),
            (property("a", "<![CDATA[b]]>c<!-- x -->d"), Some("bcd")),
            (property("a", "b<x>c</x>d"), Some("bcd")),
            ("<property><value>b</value><name>a</name></property>".to_owned(), Some("b")),
            ("<x><property><name>a</name><value>b</value></property></x>".to_owned(), Some("b")),
            ("<property><Name>a</Name><value>b</value></property>".to_owned(), None),
            ("<name>a</name><value>b</value>".to_owned(), None),
        ];
        for (text, expected) in cases {
            assert_eq!(get(&text, "a").as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_final_value_stays_and_is_reported() {
        let finally = |value: &str, is: &str| {
            format!("<property><name>a</name><value>{value}</value><final>{is}</final></property>")
        };
        let (configuration, findings) = read(&[&finally("b", "true"), &property("a", "c")], &[]);
        assert_eq!(configuration.get("a").map(|value| value.text).as_deref(), Some("b"));
        assert_eq!(
            findings.iter().map(|finding| (finding.file, finding.diagnostic.code)).collect::<Vec<_>>(),
            [(Some(1), codes::FINAL)]
        );
        let (configuration, _) = read(&[&finally("b", " true"), &property("a", "c")], &[]);
        assert_eq!(configuration.get("a").map(|value| value.text).as_deref(), Some("c"));
        let (configuration, _) = read(&[&finally("", "true"), &property("a", "c")], &[]);
        assert_eq!(configuration.get("a"), None, "final without a value");
    }

    #[test]
    fn variables_are_replaced_as_hadoop_does() {
        let others = property("b", "x")
            + &property("c", "${b}y")
            + &property("self", "${self}")
            + &property("d", "${e}")
            + &property("e", "${d}");
        let cases = [
            ("${b}", "x", None),
            ("-${c}-", "-xy-", None),
            ("${nobody}", "${nobody}", Some("nobody")),
            ("${nobody} ${b}", "${nobody} ${b}", Some("nobody")),
            ("$b ${} ${ b} ${b", "$b ${} ${ b} ${b", None),
            ("${self}", "${self}", Some("self")),
            ("${user}", "ops", None),
            ("${env.X}", "1", None),
            ("${env.X:-2}", "1", None),
            ("${env.X:-2}${env.Y:-2}${env.Z-3}", "123", Some("env.Y")),
            ("${env.Y:-*}", "*", Some("env.Y")),
            ("${env.Y-} ${b}", " x", Some("env.Y")),
            ("${env.Y:-2} ${nobody}", "2 ${nobody}", Some("nobody")),
            ("${env.EMPTY:-2}${env.EMPTY-3}", "2", None),
            ("${env.Y}", "${env.Y}", Some("env.Y")),
            ("{b} ${b}", "{b} x", None),
            ("é${b}é", "éxé", None),
        ];
        for (value, expected, unbound) in cases {
            let defined = [("user", "ops"), ("env.X", "1"), ("env.EMPTY", "")];
            let found = read(&[&(others.clone() + &property("a", value))], &defined).0.get("a").expect(value);
            assert_eq!((found.text.as_str(), found.unbound.as_deref()), (expected, unbound), "{value}");
            assert_eq!(found.check(), Ok(()), "{value}");
        }
        let times = |count| "${b}".repeat(count);
        for (value, endless) in [("${d}", true), ("${f}${b}", true), (&times(20), true), (&times(19), false)]
        {
            let f = property("f", "x ${b}${g}") + &property("g", "${f}");
            let found = read(&[&(others.clone() + &f + &property("a", value))], &[]).0.get("a").expect(value);
            assert_eq!(found.check().is_err(), endless, "{value}");
        }
    }

    #[test]
    fn values_have_places() {
        let text = format!("<configuration>{}</configuration>", property("a", " b"));
        let mut configuration = Configuration::default();
        configuration.load(0, &text, &mut Vec::new()).expect("read");
        let value = configuration.get("a").expect("set");
        assert!(value.verbatim && text.get(value.location.span.start..value.location.span.end) == Some(" b"));
    }

    #[test]
    fn what_is_not_a_configuration_is_refused() {
        let cases = [
            ("<allocations/>", codes::NOT_THIS_FILE),
            (
                "<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\"><xi:include href=\"a.xml\"/></configuration>",
                codes::EXTERNAL,
            ),
            ("<configuration>", codes::XML),
        ];
        for (text, code) in cases {
            let error = Configuration::default().load(0, text, &mut Vec::new()).expect_err(text);
            assert_eq!(error.code, code, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_value_is_read(value in "[$a-c{} .\u{e9}env:-]{0,24}", other in "[$a-c{} ]{0,8}") {
            let (configuration, _) = read(&[&(property("a", &value) + &property("b", &other) + &property("c", "${b}${b}${a}"))], &[]);
            for name in ["a", "b", "c"] {
                configuration.get(name);
            }
        }
    }
}
