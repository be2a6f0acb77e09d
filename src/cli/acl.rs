//! `queuewarden acl`: one ACL in `YuniKorn`'s syntax, and what `YuniKorn` makes of it.

use std::path::Path;

use serde_json::{Value, json};

use super::console::Console;
use super::findings::{Count, VERSION};
use super::input::source::{self, Source};
use super::validate::Format;
use super::{Exit, Failure, report};
use crate::model::acl::{Acl, Analysis, lint};

/// Explains ACLs: who gets access, and what YuniKorn reads otherwise than written.
///
/// Each ACL is one argument, quoted as a whole, for a blank in it matters: users, one blank, groups, with commas within each;
/// `*` is everyone. The results come in the order of the arguments; with -o json one ACL makes an object, several an array.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// An ACL such as "sue,bob dev,ops", or - for one from standard input, without its last line end
    #[arg(allow_hyphen_values = true, value_parser = not_an_option)]
    acl: String,
    /// More of them; write -- before one that begins with a dash
    #[arg(value_name = "ACL", value_parser = not_an_option)]
    more: Vec<String>,
    /// How to show it
    #[arg(short = 'o', long, value_enum, default_value_t)]
    format: Format,
    /// Exit with 1 on warnings too
    #[arg(long)]
    strict: bool,
}

/// Runs the command.
///
/// # Errors
/// When standard input cannot be read, or nobody takes the output.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let acls: Vec<&str> = std::iter::once(&args.acl).chain(&args.more).map(String::as_str).collect();
    let explained = read(&acls)?.into_iter().map(Explained::of).collect::<Vec<_>>();
    let shown = match args.format {
        Format::Text => text(&explained, console.color_out()),
        Format::Json => format!("{:#}\n", to_json(&explained)),
    };
    console.out(&shown)?;
    let findings = explained.iter().flat_map(|acl| &acl.analysis.diagnostics);
    let count = findings.fold(Count::default(), |count, finding| count.with(finding.severity));
    Ok(Exit::of(count, args.strict))
}

/// An ACL may begin with a dash, and so may a misspelt option: `--stirct` must not pass for an ACL.
fn not_an_option(text: &str) -> Result<String, String> {
    if text.starts_with("--") {
        return Err(
            "there is no such option; an ACL that begins like this can be given on standard input".to_owned()
        );
    }
    Ok(text.to_owned())
}

/// The ACLs with the names that messages call them by.
fn read(acls: &[&str]) -> Result<Vec<Source>, Failure> {
    if acls.iter().filter(|acl| **acl == "-").nth(1).is_some() {
        return Err(Failure::Usage("standard input, `-`, can be read only once".to_owned()));
    }
    let source = |(index, text): (usize, &&str)| {
        if *text == "-" {
            return standard_input();
        }
        let name = if acls.len() == 1 { "acl".to_owned() } else { format!("acl {}", index + 1) };
        Ok(Source { name, file_name: String::new(), text: (*text).to_owned() })
    };
    acls.iter().enumerate().map(source).collect()
}

/// `echo` and editors end a text with a line end that nobody wrote; a second one is part of the ACL.
fn standard_input() -> Result<Source, Failure> {
    let mut source = source::read_one(Path::new("-"))?;
    if source.text.ends_with('\n') {
        source.text.pop();
        if source.text.ends_with('\r') {
            source.text.pop();
        }
    }
    Ok(source)
}

struct Explained {
    source: Source,
    analysis: Analysis,
}

impl Explained {
    fn of(source: Source) -> Self {
        Self { analysis: lint(&source.text), source }
    }
}

fn text(explained: &[Explained], color: bool) -> String {
    let shown: Vec<String> =
        explained.iter().map(|acl| one_as_text(acl, explained.len() > 1, color)).collect();
    shown.join("\n")
}

fn one_as_text(Explained { source, analysis }: &Explained, titled: bool, color: bool) -> String {
    let mut shown: String = analysis
        .diagnostics
        .iter()
        .map(|diagnostic| report::draw(diagnostic, Some(source), None, color))
        .collect();
    if titled {
        shown.push_str(&line("ACL", &source.name));
    }
    shown.push_str(&line("validates", yes_or_no(analysis.validates)));
    shown.push_str(&line("activates", yes_or_no(analysis.activates)));
    if let Some(acl) = &analysis.acl {
        shown.push_str(&line("grants", &grants(acl)));
        let canonical = acl.canonical();
        let empty = canonical.is_empty();
        shown.push_str(&line("canonical", if empty { "(empty)" } else { &canonical }));
        shown.push_str(&line("in YAML", &acl.yaml()));
    }
    if let Some(meant) = &analysis.suggestion {
        shown.push_str(&line("meant?", &meant.yaml()));
    }
    shown
}

fn line(label: &str, value: &str) -> String {
    format!("{label:<11}{value}\n")
}

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// `users bob, sue; groups dev`
fn grants(acl: &Acl) -> String {
    if acl.is_everyone() {
        return "everyone".to_owned();
    }
    let mut shown = String::new();
    for (label, names) in [("user", acl.users()), ("group", acl.groups())] {
        let plural = if names.len() == 1 { "" } else { "s" };
        for (index, name) in names.iter().enumerate() {
            let before = match index {
                0 if shown.is_empty() => format!("{label}{plural} "),
                0 => format!("; {label}{plural} "),
                _ => ", ".to_owned(),
            };
            shown.push_str(&before);
            shown.push_str(name);
        }
    }
    if shown.is_empty() { "nobody".to_owned() } else { shown }
}

/// One object for one ACL, an array for several; README.md describes every field.
fn to_json(explained: &[Explained]) -> Value {
    match explained {
        [one] => one_as_json(one),
        several => several.iter().map(one_as_json).collect(),
    }
}

fn one_as_json(Explained { source, analysis }: &Explained) -> Value {
    let names = |names: fn(&Acl) -> &crate::model::acl::Names| -> Vec<&str> {
        analysis.acl.iter().flat_map(|acl| names(acl).iter()).collect()
    };
    let diagnostics: Vec<Value> =
        analysis.diagnostics.iter().map(|diagnostic| report::to_json(diagnostic, source)).collect();
    json!({
        "version": VERSION,
        "acl": source.text,
        "validates": analysis.validates,
        "activates": analysis.activates,
        "everyone": analysis.acl.as_ref().is_some_and(Acl::is_everyone),
        "users": names(Acl::users),
        "groups": names(Acl::groups),
        "canonical": analysis.acl.as_ref().map(Acl::canonical),
        "suggestion": analysis.suggestion.as_ref().map(Acl::canonical),
        "diagnostics": diagnostics,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(text: &str) -> Explained {
        Explained::of(Source { name: "acl".to_owned(), file_name: String::new(), text: text.to_owned() })
    }

    #[test]
    fn grants_are_told_in_words() {
        let cases = [
            ("*", "everyone"),
            ("", "nobody"),
            ("sue", "user sue"),
            ("sue,bob", "users bob, sue"),
            (" dev", "group dev"),
            ("sue ops,dev", "user sue; groups dev, ops"),
        ];
        for (text, expected) in cases {
            let acl = explained(text).analysis.acl.unwrap();
            assert_eq!(grants(&acl), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_refused_grants_nothing_to_programs() {
        let refused = to_json(&[explained("sue  dev")]);
        let expected = [
            ("canonical", Value::Null),
            ("users", json!([])),
            ("groups", json!([])),
            ("everyone", json!(false)),
            ("activates", json!(false)),
            ("validates", json!(true)),
            ("suggestion", json!("sue dev")),
        ];
        for (field, value) in expected {
            assert_eq!(refused[field], value, "{field}");
        }
        assert_eq!(to_json(&[explained("")])["canonical"], json!(""));
    }

    #[test]
    fn one_acl_is_an_object_and_several_are_an_array() {
        assert!(to_json(&[explained("")]).is_object());
        let several = to_json(&[explained("a"), explained("*")]);
        assert_eq!(several.pointer("/1/everyone"), Some(&json!(true)));
    }
}
