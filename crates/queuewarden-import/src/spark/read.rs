//! Parses spark-defaults.conf as `Utils.getPropertiesFromFile` and `SecurityManager` (spark-core 3.5.3) do.
//!
//! The file holds Java properties. If a property is set more than once, the last one applies, and a later
//! file takes precedence over an earlier one. Only keys that begin with `spark.` are used, and case matters.
//! Commas separate the names in lists, and a `*` anywhere in a list means everyone.

use std::collections::HashMap;

use super::Spark;
use crate::export::{self, Form};
use crate::{FileDiagnostic, Location, codes, did_you_mean};
use go_compat::diag::{Code, Diagnostic, quoted};
use yunikorn::acl::List;
use yunikorn::acl::lint::MAX_FINDINGS;
use yunikorn::application::properties::{self, Property};
use yunikorn::application::settings::{KEYS, SparkRules};
use yunikorn::application::{Dialect, Rules, codes as application_codes, yarn_acl};

/// Maximum size of a file, in bytes.
const MAX_TEXT: usize = 8 << 20;
/// The history server's own lists, which it uses in addition to the application's logged lists.
const HISTORY: [&str; 3] =
    ["spark.history.ui.acls.enable", "spark.history.ui.admin.acls", "spark.history.ui.admin.acls.groups"];
/// The setting for Spark's source of a user's groups.
const GROUPS: &str = "spark.user.groups.mapping";
/// The setting with the application's owner in Spark, in addition to the user of the driver's process.
const OWNER: &str = "Env.SPARK_USER";
/// The YARN queue that applications are submitted to.
const QUEUE: &str = "spark.yarn.queue";
/// The setting that adds a login to Spark's pages.
const FILTERS: &str = "spark.ui.filters";

impl Spark {
    /// Reads the files; the settings of a later file override earlier ones. Returns `None` if nothing can be
    /// imported; the findings explain why.
    pub fn read(files: &[&str], findings: &mut Vec<FileDiagnostic>) -> Option<Self> {
        let long = files.iter().position(|text| text.len() > MAX_TEXT);
        if let Some(file) = long {
            let diagnostic =
                Diagnostic::error(codes::TOO_MANY, format!("the file has more than {MAX_TEXT} bytes"))
                    .help("remove settings that do not affect access");
            findings.push(FileDiagnostic { file: Some(file), diagnostic });
            return None;
        }
        let read = files.iter().enumerate().map(|(file, text)| {
            let refused = |diagnostic| findings.push(FileDiagnostic { file: Some(file), diagnostic });
            read_one(text).map_err(refused).ok()
        });
        let read = read.collect::<Option<_>>()?;
        let settings = last_ones(read, findings);
        for (key, (value, location)) in &settings {
            let (key, is_empty) = (key.as_str(), value.is_empty());
            // An empty queue setting does not name a queue.
            let beside =
                beside(key).filter(|_| !(is_empty && key == QUEUE)).or_else(|| without_page(key, value));
            findings.extend(beside.map(|diagnostic| FileDiagnostic::at(*location, diagnostic)));
        }
        if !settings.iter().any(|(key, (value, _))| key == FILTERS && !value.is_empty()) {
            let message =
                format!("`{FILTERS}` is not set, so Spark's pages let in users who have not logged in");
            let finding = Diagnostic::warning(codes::SPARK_PAGES_OPEN, message)
                .help("the ACLs are imported as they apply to users who have logged in");
            findings.push(FileDiagnostic { file: None, diagnostic: finding });
        }
        let spark = rules(&settings, findings)?;
        report_names(&spark, findings);
        Some(spark)
    }
}

/// Codes for values that are valid names in Spark, but are not meant as names.
const MISREAD: [Code; 5] = [
    application_codes::QUOTED,
    application_codes::LITERAL_WILDCARD,
    application_codes::CONTROL,
    application_codes::DENY,
    application_codes::NOBODY_BY_NAME,
];

type Settings = Vec<(String, (String, Location))>;

/// Parses a file: Java properties, or an export in JSON.
fn read_one(text: &str) -> Result<Vec<Property>, Diagnostic> {
    if Form::of(text) != Form::Json {
        return Ok(properties::read(text));
    }
    Ok(export::read(text)?.unwrap_or_default())
}

/// Returns the effective value of each key, in the order of the keys' first occurrence.
fn last_ones(files: Vec<Vec<Property>>, findings: &mut Vec<FileDiagnostic>) -> Settings {
    let mut settings: Settings = Vec::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for (file, properties) in files.into_iter().enumerate() {
        for Property { key, value, span } in properties {
            let location = Location { file, span };
            let value = (trimmed(&value).to_owned(), location);
            let before = numbers.get(&key).and_then(|at| settings.get_mut(*at));
            let Some((_, before)) = before else {
                numbers.insert(key.clone(), settings.len());
                settings.push((key, value));
                continue;
            };
            if before.1.file == file && is_list_or_switch(&key) {
                let message = format!("`{key}` is set again here; the last value applies");
                findings.push(FileDiagnostic::at(
                    location,
                    Diagnostic::warning(codes::TWICE, message).help("write it once"),
                ));
            }
            *before = value;
        }
    }
    settings
}

/// `Utils.trimExceptCRLF`
fn trimmed(value: &str) -> &str {
    value.trim_matches(|c| c <= ' ' && c != '\r' && c != '\n')
}

fn keys() -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter(|(dialect, _)| *dialect == Dialect::Spark).flat_map(|(_, keys)| keys.iter().copied())
}

fn is_list_or_switch(key: &str) -> bool {
    keys().any(|known| known == key)
}

/// Returns the finding for a setting that is not one of the lists.
fn beside(key: &str) -> Option<Diagnostic> {
    let (code, message, help) = if HISTORY.contains(&key) {
        (
            codes::UNSUPPORTED,
            format!("`{key}` is not imported: it belongs to the history server"),
            "keep it in the history server's configuration".to_owned(),
        )
    } else if key == GROUPS {
        (
            codes::UNSUPPORTED,
            format!("`{GROUPS}` is not imported: YuniKorn uses the groups that the API server sends"),
            "make sure that the groups have the same members there".to_owned(),
        )
    } else if key.ends_with(OWNER) {
        (
            codes::UNSUPPORTED,
            format!("{} is not imported: an application belongs to its submitter", quoted(key)),
            "name that user in the lists instead".to_owned(),
        )
    } else if key == QUEUE {
        (
            codes::PLACEMENT,
            format!("`{QUEUE}` is not imported: YuniKorn takes the queue from a label of the pods"),
            "write `spark.kubernetes.driver.label.queue` and `spark.kubernetes.executor.label.queue`"
                .to_owned(),
        )
    } else if is_list_or_switch(key) || !key.to_ascii_lowercase().contains("acls") {
        return None;
    } else {
        (
            codes::IGNORED,
            format!("Spark does not know the setting {} and ignores it", quoted(key)),
            did_you_mean(keys(), key, format!("the settings are {}", keys().collect::<Vec<_>>().join(", "))),
        )
    };
    Some(Diagnostic::warning(code, message).help(help))
}

/// Returns the finding for a switch that makes Spark's lists ineffective on its pages.
fn without_page(key: &str, value: &str) -> Option<Diagnostic> {
    let what = match key {
        "spark.ui.enabled" => "it has no pages, and no one can view or end applications",
        "spark.ui.killEnabled" => "no one can end applications on its pages",
        _ => return None,
    };
    value.eq_ignore_ascii_case("false").then(|| {
        let message = format!("`{key}` is off, so in Spark {what}; the lists are imported as they are");
        Diagnostic::warning(codes::UNSUPPORTED, message)
            .help("remove users and groups who must not view or end applications from the lists")
    })
}

/// Returns the lists, or `None` if one of them cannot be parsed.
fn rules(settings: &Settings, findings: &mut Vec<FileDiagnostic>) -> Option<Spark> {
    let known = settings.iter().filter_map(|(key, value)| Some((keys().find(|known| known == key)?, value)));
    let known: Vec<(&'static str, &(String, Location))> = known.collect();
    let (rules, reported) =
        Rules::read(Dialect::Spark, known.iter().map(|(key, (value, _))| (*key, value.as_str())));
    let locations: HashMap<&'static str, Location> =
        known.iter().map(|(key, (_, location))| (*key, *location)).collect();
    let Rules::Spark(rules) = rules else { return None };
    let mut refused = false;
    for diagnostic in reported {
        let key = keys().find(|key| diagnostic.message.contains(&format!("`{key}`")));
        let location = key.and_then(|key| locations.get(key).copied());
        let diagnostic = if diagnostic.code == application_codes::SWITCHED_OFF {
            Diagnostic::error(codes::SWITCHED_OFF, diagnostic.message)
                .help(format!("--accept {} imports the ACLs as if they were in force", codes::SWITCHED_OFF))
        } else {
            refused |= diagnostic.is_error();
            Diagnostic { span: None, ..diagnostic }
        };
        findings.push(match location {
            Some(location) => FileDiagnostic::at(location, diagnostic),
            None => FileDiagnostic { file: Some(0), diagnostic },
        });
    }
    (!refused).then_some(Spark { rules: SparkRules { enabled: true, ..rules }, locations })
}

/// Reports names that have an unexpected effect.
fn report_names(spark: &Spark, findings: &mut Vec<FileDiagnostic>) {
    for (list, kind) in spark.lists() {
        let names = list.value.names();
        let mut reported = Vec::new();
        if list.value.is_everyone() && names.len() > 1 {
            let message = format!("`*` lets everyone in, wherever it appears in `{}`", list.key);
            reported.push(
                Diagnostic::warning(application_codes::WILDCARD_BESIDE, message)
                    .help("to let everyone in, write only `*`; otherwise remove the `*`"),
            );
        }
        for name in names.iter().filter(|name| *name != "*") {
            reported.extend(misread(kind, name));
        }
        let location = spark.location(list.key);
        findings.extend(
            reported
                .into_iter()
                .take(MAX_FINDINGS)
                .map(|diagnostic| FileDiagnostic::at(location, diagnostic)),
        );
    }
}

fn misread(kind: List, name: &str) -> Option<Diagnostic> {
    if name.contains(' ') {
        let message =
            format!("Spark reads {} as one name: only commas separate the names in its lists", quoted(name));
        return Some(
            Diagnostic::warning(codes::SPARK_SPACE, message)
                .help("write users and groups in separate settings, separated by commas"),
        );
    }
    yarn_acl::objection(kind, name).filter(|found| MISREAD.contains(&found.code))
}
