//! Reads Hadoop's settings from exports that are not XML: JSON, as produced by Ambari and the
//! `ResourceManager`, and lines of `key=value`.
//!
//! Such an export may hold the settings of several Hadoop files. They are read as one configuration, because
//! no two of these files share a setting. A setting with two values is refused.

use std::collections::HashMap;

use serde_json::Value;

use super::codes;
use super::xml::MAX_TEXT;
use go_compat::diag::{Diagnostic, Span};
use yunikorn::application::properties::Property;
use yunikorn::application::yarn_acl::trim;

/// An Ambari switch without a dot in its name. If it is on, Ranger makes access decisions.
pub const RANGER_SWITCH: &str = "ranger-yarn-plugin-enabled";
/// An Ambari setting that may hold all settings of the capacity scheduler, as lines.
const CAPACITY_SCHEDULER: &str = "capacity-scheduler";
/// A member whose keys are settings, but whose values are not.
const ATTRIBUTES: &str = "properties_attributes";

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// XML, or a text in no known format.
    Xml,
    /// A JSON object or array.
    Json,
    /// Lines of `key=value`.
    Lines,
}

impl Form {
    /// Detects the format from the beginning of a text.
    pub fn of(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if text.starts_with(['{', '[']) {
            return Self::Json;
        }
        let first = text.lines().find(|line| !is_comment(line));
        let key = first.and_then(|line| Some(line.split_once('=')?.0.trim()));
        let is_key = |key: &str| key.contains('.') && !key.contains(['<', ' ', '\t']);
        if key.is_some_and(is_key) { Self::Lines } else { Self::Xml }
    }
}

/// Reads the settings of an export. Returns `None` if the file is not an export.
///
/// # Errors
/// [`codes::EXPORT`] when they cannot be read as one configuration.
pub fn read(text: &str) -> Result<Option<Vec<Property>>, Diagnostic> {
    let form = Form::of(text);
    if form == Form::Xml {
        return Ok(None);
    }
    if text.len() > MAX_TEXT {
        return Err(unreadable(format!("the file has more than {MAX_TEXT} bytes")));
    }
    let settings = if form == Form::Json { json(text)? } else { lines(text, 0)? };
    let mut values: HashMap<&str, &str> = HashMap::new();
    for Property { key, value, span } in &settings {
        if values.insert(key, value).is_some_and(|before| before != value) {
            return Err(unreadable("a setting has two values in this export".to_owned())
                .at(*span)
                .help("export a single version of the configuration"));
        }
    }
    if settings.is_empty() {
        return Err(unreadable("this JSON contains no Hadoop settings".to_owned())
            .help("export the configuration with its properties, or pass Hadoop's XML file"));
    }
    Ok(Some(settings))
}

fn unreadable(message: String) -> Diagnostic {
    Diagnostic::error(codes::EXPORT, message)
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with(['#', '!'])
}

/// Parses lines of `key=value`, starting at the given byte of the file.
fn lines(text: &str, from: usize) -> Result<Vec<Property>, Diagnostic> {
    let (mut settings, mut at) = (Vec::new(), from);
    for piece in text.split_inclusive('\n') {
        let start = at;
        at = at.saturating_add(piece.len());
        let line = piece.trim_end_matches(['\n', '\r']);
        let whole = Span::new(start, start.saturating_add(line.len()));
        let line = line.trim_start_matches('\u{feff}');
        if is_comment(line) {
            continue;
        }
        let Some((key, written)) = line.split_once('=') else {
            return Err(unreadable("this line is not `key=value`".to_owned())
                .at(whole)
                .help("write one setting per line, or pass Hadoop's XML file"));
        };
        let key = key.trim_start();
        // A space after the `=` is part of an ACL, so spaces cannot simply be ignored.
        if key.ends_with(char::is_whitespace) {
            return Err(unreadable("there is a space before the `=`".to_owned())
                .at(whole)
                .help("write `key=value`: a space after the `=` is part of the ACL"));
        }
        // Java's `Properties` escape a leading space like this.
        let value = written.strip_prefix('\\').filter(|rest| rest.starts_with(' ')).unwrap_or(written);
        let span = Span::new(whole.end.saturating_sub(value.len()), whole.end);
        settings.push(Property { key: key.to_owned(), value: value.to_owned(), span });
    }
    Ok(settings)
}

/// Finds the settings anywhere in a JSON text.
fn json(text: &str) -> Result<Vec<Property>, Diagnostic> {
    let begin = text.len().saturating_sub(text.trim_start_matches('\u{feff}').len());
    let whole: Value = serde_json::from_str(text.get(begin..).unwrap_or_default())
        .map_err(|error| unreadable(format!("cannot parse the JSON: {error}")))?;
    let locations = strings(text);
    let mut settings = Vec::new();
    collect(&whole, &locations, &mut settings)?;
    Ok(settings)
}

/// Adds the settings in a value. The parser limits its depth.
fn collect(
    value: &Value,
    locations: &HashMap<&str, Span>,
    settings: &mut Vec<Property>,
) -> Result<(), Diagnostic> {
    match value {
        Value::Array(all) => all.iter().try_for_each(|one| collect(one, locations, settings)),
        Value::Object(members) => {
            let name = members.get("name").or_else(|| members.get("key")).and_then(Value::as_str);
            let named = name.zip(members.get("value").and_then(scalar));
            if let Some((key, value)) = named.filter(|(key, _)| is_setting(key)) {
                settings.push(exported(key, value, locations));
                return Ok(());
            }
            for (key, member) in members.iter().filter(|(key, _)| *key != ATTRIBUTES) {
                match scalar(member) {
                    Some(value) if is_setting(key) => settings.push(exported(key, value, locations)),
                    Some(text) if key == CAPACITY_SCHEDULER && text.contains('=') => {
                        let span = locations.get(key.as_str()).copied().unwrap_or_default();
                        let inside = lines(&text, 0).map_err(|error| error.at(span))?;
                        settings.extend(inside.into_iter().map(|setting| Property { span, ..setting }));
                    }
                    Some(_) => {}
                    None => collect(member, locations, settings)?,
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn is_setting(key: &str) -> bool {
    key == RANGER_SWITCH || (key.contains('.') && !key.contains(['/', ' ']))
}

fn exported(key: &str, value: String, locations: &HashMap<&str, Span>) -> Property {
    let span = locations.get(key).copied().unwrap_or_default();
    Property { key: trim(key).to_owned(), value, span }
}

/// Returns the text of a scalar value; `None` for null, which sets nothing.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Returns the first location of each string in a JSON text, keyed by the text between its quotation marks.
fn strings(text: &str) -> HashMap<&str, Span> {
    let mut found = HashMap::new();
    let mut open: Option<usize> = None;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match (open, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(start), b'"') => {
                if let Some(string) = text.get(start..at) {
                    found.entry(string).or_insert(Span::new(start, at));
                }
                open = None;
            }
            (None, b'"') => open = Some(at.saturating_add(1)),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const QUEUES: &str = "yarn.scheduler.capacity.root.queues";
    const ACL: &str = "yarn.scheduler.capacity.root.acl_submit_applications";

    fn pairs(text: &str) -> Vec<(String, String)> {
        let settings = read(text).expect(text).expect(text);
        let mut pairs: Vec<_> = settings.into_iter().map(|setting| (setting.key, setting.value)).collect();
        pairs.sort();
        pairs
    }

    #[test]
    fn every_form_of_an_export_has_the_same_settings() {
        let forms = [
            // Only the properties, with their attributes.
            r#"{"properties":{"@Q":"a,b","@A":" ops"},"properties_attributes":{"final":{"@A":"true"}}}"#,
            // A blueprint, new and old.
            r#"{"configurations":[{"capacity-scheduler":{"properties":{"@Q":"a,b","@A":" ops"}}}],"host_groups":[]}"#,
            r#"{"configurations":[{"capacity-scheduler":{"@Q":"a,b","@A":" ops"}}]}"#,
            // A configuration from Ambari's REST API.
            r#"{"href":"http://ambari.example.org/x","items":[{"type":"capacity-scheduler","tag":"v.1","version":2,"properties":{"@Q":"a,b","@A":" ops"}}]}"#,
            // All settings in one value, as in Ambari's editor.
            r#"{"properties":{"capacity-scheduler":"@Q=a,b\n@A= ops\n"}}"#,
            // The in-memory settings of a Hadoop daemon, and the configuration of its scheduler.
            r#"{"properties":[{"key":"@Q","value":"a,b","isFinal":false,"resource":"capacity-scheduler.xml"},{"key":"@A","value":" ops","isFinal":false,"resource":"x.xml"}]}"#,
            r#"{"property":[{"name":"@Q","value":"a,b"},{"name":"@A","value":" ops"}]}"#,
            // Lines.
            "# exported\n@Q=a,b\r\n  @A= ops\r\n\r\n",
            "\u{feff}! exported\n@Q=a,b\n@A=\\ ops",
        ];
        let expected = [(ACL.to_owned(), " ops".to_owned()), (QUEUES.to_owned(), "a,b".to_owned())];
        for form in forms {
            let text = form.replace("@Q", QUEUES).replace("@A", ACL);
            assert_eq!(pairs(&text), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_as_one_configuration_is_refused() {
        let cases = [
            "{\"a.b\":\"1\",\"x\":{\"a.b\":\"2\"}}",
            "{\"a.b\":",
            "{\"a\":\"1\"}",
            "[]",
            "a.b = x",
            "a.b=x\nand more",
            "a.b=x\na.b=y",
        ];
        for text in cases {
            assert_eq!(read(text).expect_err(text).code, codes::EXPORT, "{text}");
        }
        for text in ["<configuration/>", "", "a=b", "hello", "<!-- a.b=c -->\n<x/>", " <?xml a.b=\"c\"?>"] {
            assert_eq!(read(text), Ok(None), "{text}");
        }
        assert_eq!(pairs("{\"a.b\":null,\"a.c\":true,\"a.d\":7}").len(), 2);
    }

    #[test]
    fn settings_have_locations() {
        for (text, shown) in [("x.y=1\r\nz.y= v\r\n", " v"), ("{\"a.b\":\"x\",\n \"z.y\": \"v\"}", "z.y")] {
            let settings = read(text).expect(text).expect(text);
            let span = settings.iter().find(|setting| setting.key == "z.y").expect(text).span;
            assert_eq!(text.get(span.start..span.end), Some(shown), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\{|\\}|\\[|\\]|\"|:|,|=|\\\\|\n|a\\.b|c\\.d|name|value|<| |é){0,24}") {
            if let Ok(Some(settings)) = read(&text) {
                for Property { span, .. } in settings {
                    prop_assert!(text.get(span.start..span.end).is_some(), "{text}");
                }
            }
        }
    }
}
