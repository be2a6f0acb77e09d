//! The settings that control access to an application, both of the cluster and of the application itself, as
//! YARN and Spark read them from their configuration.
//!
//! Sources: `AdminACLsManager`, `ApplicationACLsManager` (hadoop-yarn-common 3.4.1), `MRJobConfig`
//! (hadoop-mapreduce-client-core 3.4.1), `SecurityManager.scala` (spark-core 3.5.3). The user of the
//! `ResourceManager` process also administers the cluster; no setting names this user, so add it to
//! `yarn.admin.acl`. Spark has two owners (the driver's `user.name` and `SPARK_USER`), which are not
//! settings; the given owner is used for both.

use super::yarn_acl::{self, YarnAcl, trim};
use super::{Dialect, Reading, codes};
use crate::acl::codes::MORE;
use crate::acl::{self, Acl, Match};
use crate::queue::nearest;
use go_compat::diag::{Code, Diagnostic, Severity, quoted};

/// Maximum length of a value in bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// YARN's switch. Default false, but true in clusters that Cloudera Manager set up.
pub const YARN_ENABLE: &str = "yarn.acl.enable";
/// The ACL of the cluster's administrators. Default everyone.
pub const YARN_ADMIN: &str = "yarn.admin.acl";
/// The ACL of users who may view the application in addition to its owner.
pub const YARN_VIEW: &str = "mapreduce.job.acl-view-job";
/// The ACL of users who may modify the application in addition to its owner.
pub const YARN_MODIFY: &str = "mapreduce.job.acl-modify-job";
/// Spark's switch. Default false.
pub const SPARK_ENABLE: &str = "spark.acls.enable";
/// Users who administer all Spark applications.
pub const SPARK_ADMIN: &str = "spark.admin.acls";
/// Groups that administer all Spark applications.
pub const SPARK_ADMIN_GROUPS: &str = "spark.admin.acls.groups";
/// Users who may view the application.
pub const SPARK_VIEW: &str = "spark.ui.view.acls";
/// Groups that may view the application.
pub const SPARK_VIEW_GROUPS: &str = "spark.ui.view.acls.groups";
/// Users who may modify the application.
pub const SPARK_MODIFY: &str = "spark.modify.acls";
/// Groups that may modify the application.
pub const SPARK_MODIFY_GROUPS: &str = "spark.modify.acls.groups";

/// Settings of `MapReduce`'s own servers, which have no effect here.
pub const LEGACY: [&str; 2] = ["mapreduce.cluster.acls.enabled", "mapreduce.cluster.administrators"];
const OWN_KEYS: [&str; 2] = [VIEW_ACL, MODIFY_ACL];
const YARN_KEYS: [&str; 4] = [YARN_ENABLE, YARN_ADMIN, YARN_VIEW, YARN_MODIFY];
/// The relevant settings of a Spark driver.
pub const SPARK_KEYS: [&str; 7] = [
    SPARK_ENABLE,
    SPARK_ADMIN,
    SPARK_ADMIN_GROUPS,
    SPARK_VIEW,
    SPARK_VIEW_GROUPS,
    SPARK_MODIFY,
    SPARK_MODIFY_GROUPS,
];

/// The relevant settings by dialect.
pub const KEYS: [(Dialect, &[&str]); 4] = [
    (Dialect::YuniKorn, &OWN_KEYS),
    (Dialect::YarnHadoop, &YARN_KEYS),
    (Dialect::YarnCloudera, &YARN_KEYS),
    (Dialect::Spark, &SPARK_KEYS),
];

/// The owner of an application, and the rules about who else may access it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationAcl {
    /// The user of the application, as the rules compare it: for YARN, the short name.
    pub owner: String,
    /// The rules of its dialect.
    pub rules: Rules,
}

/// The rules of a dialect, with the values of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rules {
    /// The owner, the queue's administrators, and users that the application grants access.
    YuniKorn(OwnRules),
    /// YARN's rules, according to the source or the handbook.
    Yarn(Reading, YarnRules),
    /// Spark's rules.
    Spark(SparkRules),
}

/// The values of YARN's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YarnRules {
    /// [`YARN_ENABLE`]
    pub enabled: bool,
    /// [`YARN_ADMIN`]
    pub admin: Written<YarnAcl>,
    /// [`YARN_VIEW`]; defaults to nobody (`DEFAULT_YARN_APP_ACL`).
    pub view: Written<YarnAcl>,
    /// [`YARN_MODIFY`]; defaults to nobody.
    pub modify: Written<YarnAcl>,
}

/// The values of Spark's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparkRules {
    /// [`SPARK_ENABLE`]
    pub enabled: bool,
    /// [`SPARK_ADMIN`] and [`SPARK_ADMIN_GROUPS`]
    pub admin: SparkLists,
    /// [`SPARK_VIEW`] and [`SPARK_VIEW_GROUPS`]
    pub view: SparkLists,
    /// [`SPARK_MODIFY`] and [`SPARK_MODIFY_GROUPS`]
    pub modify: SparkLists,
}

/// Users and groups, from separate settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparkLists {
    /// The users.
    pub users: Written<SparkList>,
    /// The groups.
    pub groups: Written<SparkList>,
}

/// A setting with its parsed value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written<T> {
    /// The key.
    pub key: &'static str,
    /// The text as set, or the default.
    pub text: String,
    /// True if the setting is present.
    pub set: bool,
    /// The parsed value.
    pub value: T,
}

/// A list of Spark, such as `a, b`. A `*` anywhere in it means everyone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SparkList(Vec<String>);

impl SparkList {
    /// Splits a text like Spark's `Utils.stringToSeq`.
    pub fn parse(text: &str) -> Self {
        Self(text.split(',').map(trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// Returns the names in the order of the text.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns whether it grants access to everyone.
    pub fn is_everyone(&self) -> bool {
        self.0.iter().any(|name| name == "*")
    }

    /// Returns the entry that grants access to a user, for a list of users (`isUserInACL`).
    pub fn user(&self, user: &str) -> Option<Match<'_>> {
        let named = || self.0.iter().find(|name| *name == user).map(|name| Match::User(name));
        if self.is_everyone() { Some(Match::Everyone) } else { named() }
    }

    /// Returns the entry that grants access to a member, for a list of groups.
    pub fn group(&self, groups: &[String]) -> Option<Match<'_>> {
        let named = || self.0.iter().find(|name| groups.contains(name)).map(|name| Match::Group(name));
        if self.is_everyone() { Some(Match::Everyone) } else { named() }
    }
}

impl ApplicationAcl {
    /// Returns the dialect of the rules.
    pub fn dialect(&self) -> Dialect {
        match &self.rules {
            Rules::YuniKorn(_) => Dialect::YuniKorn,
            Rules::Yarn(reading, _) => reading.dialect(),
            Rules::Spark(_) => Dialect::Spark,
        }
    }
}

impl Rules {
    /// Parses the settings and reports those with an unexpected effect. The last value of a key is used. If a
    /// finding is an error, the rules may differ from the rules that YARN or Spark would apply, but are never
    /// wider.
    pub fn read<'a>(
        dialect: Dialect,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> (Self, Vec<Diagnostic>) {
        let mut reader = Reader { dialect, known: Vec::new(), findings: Vec::new() };
        settings.into_iter().for_each(|(key, value)| reader.take(key, value));
        let rules = match dialect {
            Dialect::YuniKorn => Self::YuniKorn(reader.own()),
            Dialect::YarnHadoop => Self::Yarn(Reading::Hadoop, reader.yarn(Reading::Hadoop)),
            Dialect::YarnCloudera => Self::Yarn(Reading::Cloudera, reader.yarn(Reading::Cloudera)),
            Dialect::Spark => Self::Spark(reader.spark()),
        };
        (rules, reader.findings)
    }
}

/// Modifications.
impl Rules {
    /// Adds a user or a group to the setting with this key, and returns whether the setting can contain the
    /// name.
    pub fn name(&mut self, key: &str, name: Match<'_>) -> bool {
        match self {
            Self::YuniKorn(rules) => {
                let mut own = [&mut rules.view, &mut rules.modify].into_iter();
                match own.find(|acl| acl.key == key) {
                    Some(acl) => acl.name(name),
                    None => rules.spark.as_mut().is_some_and(|rules| rules.name(key, name)),
                }
            }
            Self::Yarn(reading, rules) => {
                let mut acls = [&mut rules.admin, &mut rules.view, &mut rules.modify].into_iter();
                acls.find(|acl| acl.key == key).is_some_and(|acl| acl.name(name, *reading))
            }
            Self::Spark(rules) => rules.name(key, name),
        }
    }
}

impl SparkRules {
    fn name(&mut self, key: &str, name: Match<'_>) -> bool {
        let lists = [&mut self.admin, &mut self.view, &mut self.modify];
        let mut lists = lists.into_iter().flat_map(|lists| [&mut lists.users, &mut lists.groups]);
        let (Match::User(name) | Match::Group(name)) = name else { return false };
        lists.find(|list| list.key == key).is_some_and(|list| {
            let text = if list.text.is_empty() { name.to_owned() } else { format!("{},{name}", list.text) };
            let value = SparkList::parse(&text);
            list.set_to(text, value)
        })
    }
}

impl<T> Written<T> {
    /// Replaces the text and its value unless the text is invalid.
    fn set_to(&mut self, text: String, value: T) -> bool {
        let is_readable = refusal(self.key, &text).is_none();
        if is_readable {
            *self = Self { key: self.key, text, set: true, value };
        }
        is_readable
    }
}

impl Written<Acl> {
    fn name(&mut self, name: Match<'_>) -> bool {
        let named = match name {
            Match::Everyone => return false,
            Match::User(user) => Acl::named::<_, &str>(&[user], &[]),
            Match::Group(group) => Acl::named::<&str, _>(&[], &[group]),
        };
        named.is_ok_and(|named| {
            let acl = self.value.union(&named);
            self.set_to(acl.canonical(), acl)
        })
    }
}

impl Written<YarnAcl> {
    fn name(&mut self, name: Match<'_>, reading: Reading) -> bool {
        let (users, groups) = (self.value.users().join(","), self.value.groups().join(","));
        let with = |names: &str, name: &str| {
            if names.is_empty() { name.to_owned() } else { format!("{names},{name}") }
        };
        let text = match name {
            Match::Everyone => return false,
            Match::User(user) => format!("{} {groups}", with(&users, user)),
            Match::Group(group) => format!("{users} {}", with(&groups, group)),
        };
        let value = YarnAcl::parse(&text, reading);
        self.set_to(text, value)
    }
}

/// The known settings of a dialect that have been read so far.
struct Reader<'a> {
    dialect: Dialect,
    /// The text of each setting, or `None` if it is invalid, which grants access to nobody.
    known: Vec<(&'static str, Option<&'a str>)>,
    findings: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, key: &str, value: &'a str) {
        // Hadoop trims the names of settings; Spark does not accept names with leading white space.
        let key = trim(key);
        let Some(known) = self.keys().iter().find(|known| **known == key) else {
            self.findings.push(self.unknown(key));
            return;
        };
        let refusal = refusal(known, value);
        self.known.retain(|(other, _)| other != known);
        self.known.push((known, refusal.is_none().then_some(value)));
        self.findings.extend(refusal);
    }

    fn keys(&self) -> &'static [&'static str] {
        KEYS.iter().find(|(dialect, _)| *dialect == self.dialect).map_or(&[], |(_, keys)| keys)
    }

    fn unknown(&self, key: &str) -> Diagnostic {
        if LEGACY.contains(&key) && self.dialect != Dialect::Spark {
            let message = format!("`{key}` is a setting of MapReduce's own servers and has no effect here");
            let help = format!("use `{YARN_ENABLE}` and `{YARN_ADMIN}`");
            return Diagnostic::warning(codes::LEGACY, message).help(help);
        }
        let owners = KEYS.iter().filter(|(_, keys)| keys.contains(&key));
        let owners: Vec<_> = owners.map(|(dialect, _)| dialect.to_string()).collect();
        let message = match owners.first() {
            Some(_) => format!("`{key}` is a setting of {}, not of {}", owners.join(" and "), self.dialect),
            None => format!("{} is not a setting of {}", quoted(key), self.dialect),
        };
        let help = match (self.keys(), nearest(self.keys().iter().copied(), key)) {
            ([], _) => "this dialect has no settings; choose the dialect of the setting".to_owned(),
            (_, Some(near)) => format!("did you mean `{near}`?"),
            (keys, None) => format!("the settings are {}", keys.join(", ")),
        };
        Diagnostic::warning(codes::UNKNOWN_SETTING, message).help(help)
    }

    fn own(&mut self) -> OwnRules {
        let [view, modify] = [VIEW_ACL, MODIFY_ACL].map(|key| {
            let written = self.written(key, "", |text| read_own(key, text));
            let Written { text, set, value: (value, findings), .. } = written;
            self.findings.extend(findings);
            Written { key, text, set, value }
        });
        OwnRules { view, modify, spark: None }
    }

    fn yarn(&mut self, reading: Reading) -> YarnRules {
        let rules = YarnRules {
            enabled: self.switch(YARN_ENABLE, reading == Reading::Cloudera),
            admin: self.written(YARN_ADMIN, "*", |text| YarnAcl::parse(text, reading)),
            view: self.written(YARN_VIEW, " ", |text| YarnAcl::parse(text, reading)),
            modify: self.written(YARN_MODIFY, " ", |text| YarnAcl::parse(text, reading)),
        };
        for acl in [&rules.admin, &rules.view, &rules.modify].into_iter().filter(|acl| acl.set) {
            self.findings.extend(misreadings(acl.key, &acl.text, reading));
        }
        self.pointless(YARN_ENABLE, rules.enabled, YARN_ADMIN, rules.admin.value.is_everyone());
        rules
    }

    fn spark(&mut self) -> SparkRules {
        let rules = SparkRules {
            enabled: self.switch(SPARK_ENABLE, false),
            admin: self.lists(SPARK_ADMIN, SPARK_ADMIN_GROUPS),
            view: self.lists(SPARK_VIEW, SPARK_VIEW_GROUPS),
            modify: self.lists(SPARK_MODIFY, SPARK_MODIFY_GROUPS),
        };
        let everyone =
            [&rules.admin.users, &rules.admin.groups].into_iter().find(|list| list.value.is_everyone());
        let key = everyone.map_or(SPARK_ADMIN, |list| list.key);
        self.pointless(SPARK_ENABLE, rules.enabled, key, everyone.is_some());
        rules
    }

    /// Reports a setting that gives everyone access, regardless of the others.
    fn pointless(&mut self, switch: &str, on: bool, admins: &str, everyone: bool) {
        let (code, key, value, help) = if !on {
            (codes::SWITCHED_OFF, switch, "off", format!("set `{switch}` to `true`"))
        } else if everyone {
            (codes::EVERYONE_ADMINISTERS, admins, "everyone", "list the administrators".to_owned())
        } else {
            return;
        };
        let message = format!("`{key}` is {value}, so everyone can do everything");
        self.findings.push(Diagnostic::warning(code, message).help(help));
    }

    fn get(&self, key: &str) -> Option<&(&'static str, Option<&'a str>)> {
        self.known.iter().find(|(known, _)| *known == key)
    }

    fn written<T>(&self, key: &'static str, default: &str, read: impl Fn(&str) -> T) -> Written<T> {
        let set = self.get(key);
        let text = set.map_or(default, |(_, text)| text.unwrap_or_default());
        Written { key, text: text.to_owned(), set: set.is_some(), value: read(text) }
    }

    fn lists(&self, users: &'static str, groups: &'static str) -> SparkLists {
        SparkLists {
            users: self.written(users, "", SparkList::parse),
            groups: self.written(groups, "", SparkList::parse),
        }
    }

    /// Parses a switch like `Configuration.getBoolean`, or like Spark's `toBoolean`, which throws an
    /// exception instead of using the default.
    fn switch(&mut self, key: &'static str, default: bool) -> bool {
        let text = match self.get(key) {
            None => return default,
            Some((_, Some(text))) => text,
            Some((_, None)) => return true,
        };
        match trim(text).to_ascii_lowercase().as_str() {
            "true" => return true,
            "false" => return false,
            _ => {}
        }
        let shown = quoted(text);
        let spark = self.dialect == Dialect::Spark;
        let found = if spark {
            Diagnostic::error(codes::NOT_A_SWITCH, format!("Spark does not start if `{key}` is {shown}"))
        } else {
            let message = format!("`{key}` is {shown}, so YARN uses its default `{default}`");
            Diagnostic::warning(codes::NOT_A_SWITCH, message)
        };
        self.findings.push(found.help("write `true` or `false`"));
        spark || default
    }
}

/// Returns why a value is invalid.
fn refusal(key: &str, value: &str) -> Option<Diagnostic> {
    if value.len() > MAX_TEXT {
        let message = format!("`{key}` has {} bytes; the maximum is {MAX_TEXT}", value.len());
        return Some(Diagnostic::error(codes::TOO_LONG, message).help("list groups instead of users"));
    }
    value.contains("${").then(|| {
        let message = format!("`{key}` contains a variable, {}, which is not expanded here", quoted(value));
        Diagnostic::error(codes::VARIABLE, message).help("write the value itself")
    })
}

/// Reports parts of an ACL that YARN probably reads differently than intended. Differences that only concern
/// `YuniKorn` are ignored.
fn misreadings(key: &str, text: &str, reading: Reading) -> impl Iterator<Item = Diagnostic> {
    const OF_YUNIKORN: [Code; 5] =
        [codes::DROPPED, codes::REAL_USER, codes::NOBODY_BY_NAME, codes::OTHER_FORM, MORE];
    let found = yarn_acl::lint(text, reading).diagnostics.into_iter();
    found.filter(|finding| !OF_YUNIKORN.contains(&finding.code)).map(move |finding| Diagnostic {
        severity: Severity::Warning,
        message: format!("`{key}`: {}", finding.message),
        span: None,
        ..finding
    })
}

// The rules attached to an application in `YuniKorn`: annotations of its pods, and the configuration of a
// Spark driver.
//
// The annotations are queuewarden's and use the syntax of queue ACLs, just as `mapreduce.job.acl-view-job`
// uses the syntax of YARN's. The submitter writes them, so they only ever grant access to the submitter's own
// application.

/// The annotation that lists who may view the application and read its logs, in addition to its owner and the
/// queue's administrators.
pub const VIEW_ACL: &str = "queuewarden.dev/view-acl";
/// The annotation that lists who may modify and kill the application.
pub const MODIFY_ACL: &str = "queuewarden.dev/modify-acl";

/// The rules of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnRules {
    /// [`VIEW_ACL`]; defaults to nobody.
    pub view: Written<Acl>,
    /// [`MODIFY_ACL`]; defaults to nobody.
    pub modify: Written<Acl>,
    /// A Spark driver's configuration with ACLs switched on. If they are off, everyone has full access, but
    /// only on Spark's own pages, so such a configuration is ignored.
    pub spark: Option<SparkRules>,
}

impl Default for OwnRules {
    /// Returns empty rules.
    fn default() -> Self {
        let unset = |key| Written { key, text: String::new(), set: false, value: Acl::nobody() };
        Self { view: unset(VIEW_ACL), modify: unset(MODIFY_ACL), spark: None }
    }
}

impl OwnRules {
    /// Adds the configuration of the Spark driver. A configuration that prevents Spark from starting adds
    /// nothing.
    #[must_use]
    pub fn with_spark<'a>(self, settings: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let (rules, findings) = Rules::read(Dialect::Spark, settings);
        let spark = match rules {
            Rules::Spark(rules) if rules.enabled && !findings.iter().any(Diagnostic::is_error) => Some(rules),
            _ => None,
        };
        Self { spark, ..self }
    }
}

/// Parses an ACL like `YuniKorn`, with findings about every difference between the text and the effective
/// ACL. A refused text gives nobody.
fn read_own(key: &str, text: &str) -> (Acl, Vec<Diagnostic>) {
    let analysis = acl::lint(text);
    // An error means that one of YuniKorn's two parsers refuses the text.
    let acl = if analysis.has_errors() { None } else { analysis.acl };
    let findings = analysis.diagnostics.into_iter().map(|finding| Diagnostic {
        message: format!("`{key}`: {}", finding.message),
        span: None,
        help: finding.help.or_else(|| Some("write it in the syntax of a queue ACL".to_owned())),
        ..finding
    });
    (acl.unwrap_or_default(), findings.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::settings::{SPARK_ENABLE, SPARK_VIEW};
    use go_compat::diag::Code;
    use proptest::prelude::*;

    type Case = (Dialect, &'static [(&'static str, &'static str)], &'static [Code]);

    fn read(dialect: Dialect, settings: &[(&str, &str)]) -> (Rules, Vec<Code>) {
        let (rules, findings) = Rules::read(dialect, settings.iter().copied());
        assert!(findings.iter().all(|finding| finding.help.is_some()));
        (rules, findings.iter().map(|finding| finding.code).collect())
    }

    fn yarn(dialect: Dialect, settings: &[(&str, &str)]) -> (YarnRules, Vec<Code>) {
        match read(dialect, settings) {
            (Rules::Yarn(_, rules), codes) => (rules, codes),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn yarns_defaults_are_open() {
        for (dialect, enabled) in [(Dialect::YarnHadoop, false), (Dialect::YarnCloudera, true)] {
            let (rules, codes) = yarn(dialect, &[]);
            assert_eq!((rules.enabled, rules.admin.text.as_str(), rules.admin.set), (enabled, "*", false));
            assert!(rules.admin.value.is_everyone() && rules.view.value.is_nobody());
            assert_eq!(codes, [if enabled { codes::EVERYONE_ADMINISTERS } else { codes::SWITCHED_OFF }]);
        }
    }

    #[test]
    fn set_values_are_read() {
        let settings =
            [(YARN_ENABLE, " True\n"), (YARN_ADMIN, "x"), (YARN_VIEW, "jane dev"), (YARN_ADMIN, "bob ops")];
        let (rules, codes) = yarn(Dialect::YarnHadoop, &settings);
        assert!(rules.enabled && rules.view.set && !rules.modify.set);
        assert_eq!(rules.admin.value.canonical(), "bob ops");
        assert_eq!(rules.view.value.canonical(), "jane dev");
        assert_eq!(codes, []);
    }

    #[test]
    fn setting_with_an_unexpected_effect_is_reported() {
        const ON: (&str, &str) = (YARN_ENABLE, "true");
        const BOB: (&str, &str) = (YARN_ADMIN, "bob");
        let cases: [Case; 12] = [
            (Dialect::YarnHadoop, &[ON], &[codes::EVERYONE_ADMINISTERS]),
            (Dialect::YarnHadoop, &[BOB], &[codes::SWITCHED_OFF]),
            (Dialect::YarnHadoop, &[(YARN_ENABLE, "yes")], &[codes::NOT_A_SWITCH, codes::SWITCHED_OFF]),
            (Dialect::YarnHadoop, &[ON, BOB, ("mapreduce.cluster.administrators", "x")], &[codes::LEGACY]),
            (Dialect::YarnHadoop, &[ON, BOB, ("yarn.admin.acls", "x")], &[codes::UNKNOWN_SETTING]),
            (Dialect::YarnHadoop, &[ON, BOB, ("spark.admin.acls", "x")], &[codes::UNKNOWN_SETTING]),
            (Dialect::YarnHadoop, &[ON, BOB, (YARN_VIEW, "a, b")], &[codes::COMMA_SPACE]),
            (Dialect::YarnHadoop, &[ON, BOB, (YARN_VIEW, "1001")], &[]),
            (Dialect::Spark, &[(SPARK_ENABLE, "yes")], &[codes::NOT_A_SWITCH]),
            (Dialect::Spark, &[(SPARK_VIEW, "a")], &[codes::SWITCHED_OFF]),
            (
                Dialect::Spark,
                &[(SPARK_ENABLE, "true"), (SPARK_ADMIN_GROUPS, "a,*")],
                &[codes::EVERYONE_ADMINISTERS],
            ),
            (Dialect::YuniKorn, &[ON], &[codes::UNKNOWN_SETTING]),
        ];
        for (dialect, settings, expected) in cases {
            assert_eq!(read(dialect, settings).1, expected, "{dialect} {settings:?}");
        }
    }

    /// An invalid value gives the narrower rules, not the open defaults.
    #[test]
    fn invalid_value_grants_nothing() {
        let long = "a".repeat(MAX_TEXT + 1);
        for (text, code) in [("${acls}", codes::VARIABLE), (&long, codes::TOO_LONG)] {
            let (rules, codes) = yarn(Dialect::YarnHadoop, &[(YARN_ENABLE, text), (YARN_ADMIN, text)]);
            assert!(rules.enabled && rules.admin.value.is_nobody());
            assert_eq!(codes, [code; 2]);
        }
        let Rules::Spark(rules) = read(Dialect::Spark, &[(SPARK_ENABLE, "1")]).0 else { panic!() };
        assert!(rules.enabled);
        let longest = "a".repeat(MAX_TEXT);
        let (rules, codes) = yarn(Dialect::YarnHadoop, &[(YARN_ENABLE, "true"), (YARN_ADMIN, &longest)]);
        assert_eq!((rules.admin.value.users(), codes), (&[longest][..], vec![]));
    }

    #[test]
    fn sparks_lists_are_split_at_commas_and_trimmed() {
        let list = SparkList::parse(" alice, bob ,,\tcarl\n, a b,*x");
        assert_eq!(list.names(), ["alice", "bob", "carl", "a b", "*x"]);
        assert!(!list.is_everyone() && SparkList::parse("alice, *").is_everyone());
        assert!(SparkList::parse(" ").names().is_empty());
    }

    proptest! {
        #[test]
        fn any_settings_parse(key in "[a-z.]{0,12}|yarn.acl.enable|yarn.admin.acl", value in any::<String>()) {
            for dialect in Dialect::ALL {
                Rules::read(dialect, [(key.as_str(), value.as_str())]);
            }
        }
    }

    fn own(settings: &[(&str, &str)]) -> (OwnRules, Vec<Diagnostic>) {
        match Rules::read(Dialect::YuniKorn, settings.iter().copied()) {
            (Rules::YuniKorn(rules), findings) => (rules, findings),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn annotations_are_separate_acls() {
        let (rules, findings) = own(&[(VIEW_ACL, "ann,bob qa"), (MODIFY_ACL, " ops")]);
        assert!(
            rules.view.set
                && rules.view.value.allows("x", &["qa"])
                && !rules.view.value.allows("x", &["ops"])
        );
        assert!(rules.modify.value.allows("x", &["ops"]) && findings.is_empty(), "{findings:?}");
        assert_eq!(own(&[]).0, OwnRules::default());
    }

    #[test]
    fn invalid_annotation_grants_nothing() {
        for text in ["ann  bob", "a b c", "sue dev qa", "${x}", "a\tb c\td e"] {
            let (rules, findings) = own(&[(VIEW_ACL, text)]);
            assert!(
                rules.view.value.is_nobody() && findings.iter().any(Diagnostic::is_error),
                "{text}: {findings:?}"
            );
        }
    }

    #[test]
    fn driver_is_used_only_if_it_enables_acls() {
        let with = |settings: &[(&'static str, &'static str)]| {
            OwnRules::default().with_spark(settings.iter().copied()).spark
        };
        assert!(with(&[(SPARK_ENABLE, "true"), (SPARK_VIEW, "ann")]).is_some());
        assert!(with(&[(SPARK_VIEW, "ann")]).is_none());
        assert!(with(&[(SPARK_ENABLE, "yes")]).is_none());
        assert!(with(&[(SPARK_ENABLE, "true"), (SPARK_VIEW, "${x}")]).is_none());
    }

    proptest! {
        #[test]
        fn text_never_grants_more_than_its_acl(text in any::<String>(), user in "[a-c]{1,2}", group in "[a-c]{1,2}") {
            let (acl, findings) = read_own(VIEW_ACL, &text);
            if acl.allows(&user, &[&group]) {
                prop_assert!(!findings.iter().any(Diagnostic::is_error));
                prop_assert!(acl::parse(&text).is_ok_and(|read| read.allows(&user, &[&group])));
            }
        }
    }
}
