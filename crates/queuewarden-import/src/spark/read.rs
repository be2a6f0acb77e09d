//! Reads spark-defaults.conf as `Utils.getPropertiesFromFile` and `SecurityManager` (spark-core 3.5.3) do.
//!
//! The file holds Java's properties. The last of several counts, and a later file before an earlier one; only
//! keys that begin with `spark.` count, in their exact case. Lists are cut at commas, and a `*` anywhere in
//! one means everyone.

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

/// Largest file that is read, in bytes.
const MAX_TEXT: usize = 8 << 20;
/// The history server's own lists, beside which it reads those that the application logged.
const HISTORY: [&str; 3] =
    ["spark.history.ui.acls.enable", "spark.history.ui.admin.acls", "spark.history.ui.admin.acls.groups"];
/// The setting that names Spark's source of a user's groups.
const GROUPS: &str = "spark.user.groups.mapping";
/// The setting with the owner for Spark, besides the user of the driver's process.
const OWNER: &str = "Env.SPARK_USER";
/// The queue of YARN that applications are submitted to.
const QUEUE: &str = "spark.yarn.queue";
/// The setting that lets Spark's pages know their user.
const FILTERS: &str = "spark.ui.filters";

impl Spark {
    /// Reads the files; the settings of a later file override earlier ones. `None` when nothing can be
    /// imported; the findings say why.
    pub fn read(files: &[&str], findings: &mut Vec<FileDiagnostic>) -> Option<Self> {
        let long = files.iter().position(|text| text.len() > MAX_TEXT);
        if let Some(file) = long {
            let diagnostic =
                Diagnostic::error(codes::TOO_MANY, format!("the file has more than {MAX_TEXT} bytes"))
                    .help("leave out what is not about access");
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
            // An empty name names no queue.
            let beside =
                beside(key).filter(|_| !(is_empty && key == QUEUE)).or_else(|| without_page(key, value));
            findings.extend(beside.map(|diagnostic| FileDiagnostic::at(*location, diagnostic)));
        }
        if !settings.iter().any(|(key, (value, _))| key == FILTERS && !value.is_empty()) {
            let message =
                format!("no `{FILTERS}` is set, so that Spark's pages let in whoever has not logged in");
            let finding = Diagnostic::warning(codes::SPARK_PAGES_OPEN, message)
                .help("the ACLs are imported as they are for those who have logged in");
            findings.push(FileDiagnostic { file: None, diagnostic: finding });
        }
        let spark = rules(&settings, findings)?;
        report_names(&spark, findings);
        Some(spark)
    }
}

/// Codes of values that Spark takes for names, although nobody means them as such.
const MISREAD: [Code; 5] = [
    application_codes::QUOTED,
    application_codes::LITERAL_WILDCARD,
    application_codes::CONTROL,
    application_codes::DENY,
    application_codes::NOBODY_BY_NAME,
];

type Settings = Vec<(String, (String, Location))>;

/// Reads a file: Java's properties, or an export in JSON.
fn read_one(text: &str) -> Result<Vec<Property>, Diagnostic> {
    if Form::of(text) != Form::Json {
        return Ok(properties::read(text));
    }
    Ok(export::read(text)?.unwrap_or_default())
}

/// Returns the effective value of each key, in the order in which the keys are first written.
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
                let message = format!("`{key}` stands here again: the last one counts");
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

/// Returns the finding about a setting that is none of the lists.
fn beside(key: &str) -> Option<Diagnostic> {
    let (code, message, help) = if HISTORY.contains(&key) {
        (
            codes::UNSUPPORTED,
            format!("`{key}` is not carried over: it is the history server's own"),
            "leave it where the history server reads it".to_owned(),
        )
    } else if key == GROUPS {
        (
            codes::UNSUPPORTED,
            format!(
                "`{GROUPS}` is not carried over: in YuniKorn, groups are those that the API server sends"
            ),
            "see that groups have the same members there".to_owned(),
        )
    } else if key.ends_with(OWNER) {
        (
            codes::UNSUPPORTED,
            format!("{} is not carried over: an application is its submitter's", quoted(key)),
            "name that user in the lists instead".to_owned(),
        )
    } else if key == QUEUE {
        (
            codes::PLACEMENT,
            format!("`{QUEUE}` is not carried over: YuniKorn takes the queue from a label of the pods"),
            "write `spark.kubernetes.driver.label.queue` and `spark.kubernetes.executor.label.queue`"
                .to_owned(),
        )
    } else if is_list_or_switch(key) || !key.to_ascii_lowercase().contains("acls") {
        return None;
    } else {
        (
            codes::IGNORED,
            format!("{} is no setting that Spark knows: it is ignored", quoted(key)),
            did_you_mean(keys(), key, format!("the settings are {}", keys().collect::<Vec<_>>().join(", "))),
        )
    };
    Some(Diagnostic::warning(code, message).help(help))
}

/// Returns the finding about a switch without which Spark's lists decide nothing on its pages.
fn without_page(key: &str, value: &str) -> Option<Diagnostic> {
    let what = match key {
        "spark.ui.enabled" => "there are no pages, and nobody views or ends anything",
        "spark.ui.killEnabled" => "its pages let nobody end anything",
        _ => return None,
    };
    value.eq_ignore_ascii_case("false").then(|| {
        let message = format!("`{key}` is off, so in Spark {what}; the lists are imported as they are");
        Diagnostic::warning(codes::UNSUPPORTED, message)
            .help("remove users and groups who must not view or end applications from the lists")
    })
}

/// Returns the lists; `None` when one of them cannot be read.
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

/// Reports names that do not do what they seem to.
fn report_names(spark: &Spark, findings: &mut Vec<FileDiagnostic>) {
    for (list, kind) in spark.lists() {
        let names = list.value.names();
        let mut reported = Vec::new();
        if list.value.is_everyone() && names.len() > 1 {
            let message = format!("`*` anywhere in `{}` grants access to everyone", list.key);
            reported.push(
                Diagnostic::warning(application_codes::WILDCARD_BESIDE, message)
                    .help("write only `*` to grant access to everyone, or remove the `*`"),
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
        let message = format!("Spark reads one name, {}: its lists are cut at commas only", quoted(name));
        return Some(
            Diagnostic::warning(codes::SPARK_SPACE, message)
                .help("write users and groups into settings of their own, with commas between them"),
        );
    }
    yarn_acl::objection(kind, name).filter(|found| MISREAD.contains(&found.code))
}
