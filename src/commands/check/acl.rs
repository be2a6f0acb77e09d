//! `queuewarden acl`: explains one ACL in `YuniKorn`'s syntax, or in YARN's with its meaning in both systems.

use crate::output::explanation::{grants, names};
use std::path::Path;

use serde_json::{Value, json};

use crate::output::console::Look;
use crate::output::findings::Count;
use crate::output::format::{AnswerFormat, visible};
use crate::output::text::Source;
use crate::output::{Console, Exit, Failure, diagnostic};
use crate::source::input::source;
use go_compat::diag::{Diagnostic, Span, quoted};
use queuewarden_api::answer::VERSION;
use yunikorn::acl::{self, Acl};
use yunikorn::application::{Dialect as Rules, Reading, yarn_acl};

/// Help text on quoting, the order of results, and exit codes.
const HELP: &str = "\
Pass each ACL as one quoted argument, because spaces are significant: users, one space, groups, with commas \
between the names; * alone is everyone. The results are in the order of the arguments. With -o json, one ACL is \
printed as an object, and several as an array.

Exit codes: 0 no errors, 1 errors were found, or warnings with --strict, 2 the command line is invalid.";

/// Explain ACLs: who gets access, and parts that YuniKorn interprets in an unexpected way
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct AclArgs {
    /// ACL such as "sue,bob dev,ops", or - to read one from standard input, without its last line break
    #[arg(allow_hyphen_values = true, value_parser = not_an_option)]
    acl: String,
    /// More ACLs; write -- before an ACL that begins with a dash
    #[arg(value_name = "ACL", value_parser = not_an_option)]
    more: Vec<String>,
    /// Dialect of the ACLs
    #[arg(long, value_enum, default_value_t)]
    dialect: Dialect,
    /// Output format
    #[arg(short = 'o', long = "output", value_enum, default_value_t, value_name = "FORMAT")]
    format: AnswerFormat,
    /// Exit with 1 on warnings too
    #[arg(long)]
    strict: bool,
}

/// Dialect that the text is read in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Dialect {
    /// YuniKorn's dialect
    #[default]
    Yunikorn,
    /// YARN's dialect as Hadoop 3.4.1 reads it; findings describe the differences in YuniKorn
    YarnHadoop,
    /// YARN's dialect as Cloudera documents it: text after a second space is ignored
    YarnCloudera,
}

/// Runs the command.
///
/// # Errors
/// When standard input cannot be read, or the output cannot be written.
pub fn run(args: &AclArgs, console: Console) -> Result<Exit, Failure> {
    let acls: Vec<&str> = std::iter::once(&args.acl).chain(&args.more).map(String::as_str).collect();
    let explain = |source| match args.dialect {
        Dialect::Yunikorn => Explained::yunikorn(source),
        Dialect::YarnHadoop => Explained::yarn(source, Reading::Hadoop),
        Dialect::YarnCloudera => Explained::yarn(source, Reading::Cloudera),
    };
    let explained: Vec<Explained> = read(&acls)?.into_iter().map(explain).collect();
    console.out(&args.format.show(|| text(&explained, console.look_out()), || to_json(&explained))?)?;
    let findings = explained.iter().flat_map(|acl| &acl.findings);
    let count = findings.fold(Count::default(), |count, finding| count.with(finding.severity));
    Ok(Exit::from_count(count, args.strict))
}

/// Rejects misspelt options: an ACL may begin with a dash, but `--stirct` must not pass for one.
fn not_an_option(text: &str) -> Result<String, String> {
    if text.starts_with("--") {
        return Err("there is no such option; pass an ACL that starts like this on standard input".to_owned());
    }
    Ok(text.to_owned())
}

/// Reads the ACLs, with the names that messages use for them.
fn read(acls: &[&str]) -> Result<Vec<Source>, Failure> {
    if acls.iter().filter(|acl| **acl == "-").nth(1).is_some() {
        return Err(Failure::Usage("standard input, `-`, can be read only once".to_owned()));
    }
    let source = |(index, text): (usize, &&str)| {
        if *text == "-" {
            return standard_input();
        }
        let name = if acls.len() == 1 { "acl".to_owned() } else { format!("acl {}", index + 1) };
        Ok(Source::new(name, *text))
    };
    acls.iter().enumerate().map(source).collect()
}

/// Reads an ACL from standard input without the last line break, which `echo` and editors add.
fn standard_input() -> Result<Source, Failure> {
    let mut source = source::read_one(Path::new("-"))?;
    if let Some(text) = source.text.strip_suffix('\n') {
        let text = text.strip_suffix('\r').unwrap_or(text).to_owned();
        source = source.with_text(text);
    }
    Ok(source)
}

/// An ACL that has been read, as this command shows it.
struct Explained {
    source: Source,
    dialect: Rules,
    /// Errors of the validator and of activation, in YuniKorn's words.
    refusals: [Option<String>; 2],
    everyone: bool,
    users: Vec<String>,
    groups: Vec<String>,
    canonical: Option<String>,
    suggestion: Option<String>,
    findings: Vec<Diagnostic>,
    /// The lines for people, each with its label.
    lines: Vec<(&'static str, String)>,
}

impl Explained {
    fn yunikorn(source: Source) -> Self {
        let analysis = acl::lint(&source.text);
        let [validator, activation] = refusals(&source.text);
        let mut lines =
            vec![("validates", answer(validator.as_deref())), ("activates", answer(activation.as_deref()))];
        if analysis.has_errors() {
            lines.push((
                "grants",
                "nothing: a reload keeps the current configuration, and a start fails".to_owned(),
            ));
        } else if let Some(acl) = &analysis.acl {
            let canonical = Some(acl.canonical()).filter(|canonical| !canonical.is_empty());
            lines.push(("grants", grants(acl)));
            lines.push(("canonical", canonical.unwrap_or_else(|| "(empty)".to_owned())));
            lines.push(("in YAML", acl.yaml()));
        }
        // A suggestion equal to the ACL is only the canonical text again.
        if let Some(meant) = analysis.suggestion.as_ref().filter(|meant| analysis.acl.as_ref() != Some(meant))
        {
            lines.push(("meant?", format!("{}: {}", meant.yaml(), grants(meant))));
        }
        let acl = analysis.acl.as_ref();
        let names = |names: fn(&Acl) -> &acl::Names| -> Vec<String> {
            acl.iter().flat_map(|acl| names(acl).iter()).map(str::to_owned).collect()
        };
        Self {
            source,
            dialect: Rules::YuniKorn,
            refusals: [validator, activation],
            everyone: acl.is_some_and(Acl::is_everyone),
            users: names(Acl::users),
            groups: names(Acl::groups),
            canonical: acl.map(Acl::canonical),
            suggestion: analysis.suggestion.as_ref().map(Acl::canonical),
            findings: analysis.diagnostics,
            lines,
        }
    }

    /// Reads YARN's syntax: its meaning in YARN, and the ACL to write for `YuniKorn`.
    fn yarn(source: Source, reading: Reading) -> Self {
        let yarn_acl::Analysis { acl, carried, diagnostics } = yarn_acl::lint(&source.text, reading);
        let refusals = refusals(&source.text);
        let (users, groups) = (acl.users().to_vec(), acl.groups().to_vec());
        let named =
            names(acl.is_everyone(), users.iter().map(String::as_str), groups.iter().map(String::as_str));
        // Activation first, because it is decisive.
        let verdict = match refusals.iter().rev().flatten().next() {
            Some(words) => format!("refuses this text: {}", quoted(words)),
            None => "accepts this text".to_owned(),
        };
        let write = match &carried {
            Some(carried) => format!("{}: {}", carried.yaml(), grants(carried)),
            None => "nothing means the same".to_owned(),
        };
        let lines = vec![
            ("dialect", reading.dialect().to_string()),
            ("grants", named),
            // A space at the end counts, and is always there without groups.
            ("canonical", format!("`{}`", visible(&acl.canonical()))),
            ("YuniKorn", verdict),
            ("in YAML", write),
        ];
        Self {
            source,
            dialect: reading.dialect(),
            refusals,
            everyone: acl.is_everyone(),
            users,
            groups,
            canonical: Some(acl.canonical()),
            suggestion: carried.as_ref().map(Acl::canonical),
            findings: diagnostics,
            lines,
        }
    }

    fn as_text(&self, titled: bool, look: Look) -> String {
        let findings = self.findings.iter().map(|finding| draw(finding, &self.source, look));
        let title = titled.then(|| ("ACL", self.source.name.clone()));
        let lines = title.iter().chain(&self.lines).map(|(label, value)| format!("{label:<11}{value}\n"));
        findings.chain(lines).collect()
    }

    /// Returns the object that README.md describes.
    fn as_json(&self) -> Value {
        let [validator, activation] = &self.refusals;
        let diagnostics = self.findings.iter().map(|finding| diagnostic::to_json(finding, &self.source));
        json!({
            "version": VERSION,
            "dialect": self.dialect.to_string(),
            "acl": self.source.text,
            "validates": validator.is_none(),
            "validateError": validator,
            "activates": activation.is_none(),
            "activateError": activation,
            "everyone": self.everyone,
            "users": self.users,
            "groups": self.groups,
            "canonical": self.canonical,
            "suggestion": self.suggestion,
            "diagnostics": diagnostics.collect::<Vec<_>>(),
        })
    }
}

fn refusals(text: &str) -> [Option<String>; 2] {
    [acl::validates(text), acl::parse(text).map(drop)].map(|read| read.err().map(|error| error.to_string()))
}

fn text(explained: &[Explained], look: Look) -> String {
    let shown: Vec<String> = explained.iter().map(|acl| acl.as_text(explained.len() > 1, look)).collect();
    shown.join("\n")
}

/// Draws the finding on the text with all invisible characters escaped. In an ACL a tab or a line break makes
/// all the difference, and the text may come from anywhere, so it must not control the terminal.
fn draw(diagnostic: &Diagnostic, source: &Source, look: Look) -> String {
    let shown = |end: usize| visible(source.text.get(..end).unwrap_or(&source.text));
    let span = diagnostic.span.map(|span| Span::new(shown(span.start).len(), shown(span.end).len()));
    let source = source.clone().with_text(shown(source.text.len()));
    diagnostic::draw(&Diagnostic { span, ..diagnostic.clone() }, Some(&source), None, look)
}

fn answer(refusal: Option<&str>) -> String {
    refusal.map_or_else(|| "yes".to_owned(), |words| format!("no: {}", quoted(words)))
}

/// Returns one object for one ACL and an array for several.
fn to_json(explained: &[Explained]) -> Value {
    match explained {
        [one] => one.as_json(),
        several => several.iter().map(Explained::as_json).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn explained(text: &str) -> Explained {
        Explained::yunikorn(Source::new("acl", text))
    }

    #[test]
    fn grants_are_reported_in_words() {
        let cases = [
            ("*", "everyone"),
            ("", "nobody"),
            ("sue", "user sue"),
            ("sue,bob", "users bob, sue"),
            (" dev", "group dev"),
            ("sue ops,dev", "user sue; groups dev, ops"),
        ];
        for (text, expected) in cases {
            let acl = acl::parse(text).unwrap();
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
            ("validateError", Value::Null),
            ("activateError", json!("multiple spaces found in ACL: 'sue  dev'")),
            ("suggestion", json!("sue dev")),
        ];
        for (field, value) in expected {
            assert_eq!(refused[field], value, "{field}");
        }
        assert_eq!(to_json(&[explained("")])["canonical"], json!(""));
    }

    #[test]
    fn places_are_those_of_the_text_that_is_shown() {
        let shown = text(&[explained("sue\u{9b}2J,a\tb")], Look::default());
        assert!(shown.contains("1 | sue\\u{9b}2J,a\\tb\n  | ^^^^^^^^^^^\n"), "{shown}");
        assert!(shown.contains("\n  |             ^^^^\n"), "{shown}");
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_is_printed(acl in any::<String>()) {
            let yarn = Explained::yarn(explained(&acl).source, Reading::Hadoop);
            for shown in [text(&[explained(&acl)], Look::default()), text(&[yarn], Look::default())] {
                prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{:?}", shown);
            }
        }
    }

    #[test]
    fn one_acl_is_an_object_and_several_are_an_array() {
        assert!(to_json(&[explained("")]).is_object());
        let several = to_json(&[explained("a"), explained("*")]);
        assert_eq!(several.pointer("/1/everyone"), Some(&json!(true)));
    }
}
