//! The settings that decide who may do what with an application: those of the cluster and those that came
//! with the application, as YARN and Spark read them from their configuration.
//!
//! Sources: `AdminACLsManager`, `ApplicationACLsManager` (hadoop-yarn-common 3.4.1), `MRJobConfig`
//! (hadoop-mapreduce-client-core 3.4.1), `SecurityManager.scala` (spark-core 3.5.3). The user that the
//! `ResourceManager` runs as administers the cluster too; no setting names this user, so add it to
//! `yarn.admin.acl`. Of Spark's two owners (the driver's `user.name` and `SPARK_USER`) neither is a setting:
//! the given owner counts as both.

use super::yarn_acl::{self, YarnAcl, trim};
use super::{Dialect, Reading, codes};
use crate::acl::codes::MORE;
use crate::acl::{self, Acl, Match};
use crate::queue::nearest;
use go_compat::diag::{Code, Diagnostic, Severity, quoted};

/// The longest value that is read, in bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// YARN's switch; off by default, on in a cluster that Cloudera Manager set up.
pub const YARN_ENABLE: &str = "yarn.acl.enable";
/// The ACL of those who administer the cluster; everyone by default.
pub const YARN_ADMIN: &str = "yarn.admin.acl";
/// The ACL of those who may view the application, besides its owner.
pub const YARN_VIEW: &str = "mapreduce.job.acl-view-job";
/// The ACL of those who may modify the application, besides its owner.
pub const YARN_MODIFY: &str = "mapreduce.job.acl-modify-job";
/// Spark's switch; off by default.
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

/// `MapReduce`'s own settings, which decide nothing here.
/// Settings of `MapReduce`'s own servers, which answer nothing here.
pub const LEGACY: [&str; 2] = ["mapreduce.cluster.acls.enabled", "mapreduce.cluster.administrators"];
const OWN_KEYS: [&str; 2] = [VIEW_ACL, MODIFY_ACL];
const YARN_KEYS: [&str; 4] = [YARN_ENABLE, YARN_ADMIN, YARN_VIEW, YARN_MODIFY];
/// The settings of a Spark driver that are read.
pub const SPARK_KEYS: [&str; 7] = [
    SPARK_ENABLE,
    SPARK_ADMIN,
    SPARK_ADMIN_GROUPS,
    SPARK_VIEW,
    SPARK_VIEW_GROUPS,
    SPARK_MODIFY,
    SPARK_MODIFY_GROUPS,
];

/// The settings that are read, by dialect.
pub const KEYS: [(Dialect, &[&str]); 4] = [
    (Dialect::YuniKorn, &OWN_KEYS),
    (Dialect::YarnHadoop, &YARN_KEYS),
    (Dialect::YarnCloudera, &YARN_KEYS),
    (Dialect::Spark, &SPARK_KEYS),
];

/// An application's owner, and the rules that decide who else may do what with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationAcl {
    /// The user it runs as, by the name that the rules compare: YARN's short name.
    pub owner: String,
    /// The rules of its dialect.
    pub rules: Rules,
}

/// The rules of a dialect with the values of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rules {
    /// The owner, the queue's administrators, and those to whom the application itself grants access.
    YuniKorn(OwnRules),
    /// YARN's, as in the source or in the handbook.
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
    /// [`YARN_VIEW`]; nobody when not set (`DEFAULT_YARN_APP_ACL`).
    pub view: Written<YarnAcl>,
    /// [`YARN_MODIFY`]; nobody when not set.
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

/// Users and groups, each in a setting of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparkLists {
    /// The users.
    pub users: Written<SparkList>,
    /// The groups.
    pub groups: Written<SparkList>,
}

/// A setting as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written<T> {
    /// Its key.
    pub key: &'static str,
    /// Its text: as set, else the default.
    pub text: String,
    /// True if the setting is written.
    pub set: bool,
    /// The value that is read from it.
    pub value: T,
}

/// One of Spark's lists: `a, b`; a `*` anywhere in it is everyone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SparkList(Vec<String>);

impl SparkList {
    /// Splits a text as Spark's `Utils.stringToSeq` does.
    pub fn parse(text: &str) -> Self {
        Self(text.split(',').map(trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// The names in the order written.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns whether it grants everyone access.
    pub fn is_everyone(&self) -> bool {
        self.0.iter().any(|name| name == "*")
    }

    /// The entry that grants a user access, if it is a list of users (`isUserInACL`).
    pub fn user(&self, user: &str) -> Option<Match<'_>> {
        let named = || self.0.iter().find(|name| *name == user).map(|name| Match::User(name));
        if self.is_everyone() { Some(Match::Everyone) } else { named() }
    }

    /// The entry that grants a member access, if it is a list of groups.
    pub fn group(&self, groups: &[String]) -> Option<Match<'_>> {
        let named = || self.0.iter().find(|name| groups.contains(name)).map(|name| Match::Group(name));
        if self.is_everyone() { Some(Match::Everyone) } else { named() }
    }
}

impl ApplicationAcl {
    /// The dialect of the rules.
    pub fn dialect(&self) -> Dialect {
        match &self.rules {
            Rules::YuniKorn(_) => Dialect::YuniKorn,
            Rules::Yarn(reading, _) => reading.dialect(),
            Rules::Spark(_) => Dialect::Spark,
        }
    }
}

impl Rules {
    /// Reads the settings, of which the last of a key counts, and reports what does not do what it seems to.
    /// With an error among the findings the rules are not those that YARN or Spark would apply; they are then
    /// the narrower ones.
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

/// Changes of what is written.
impl Rules {
    /// Adds a user or a group to the setting with this key, and returns whether the setting can hold the
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
    /// Takes another text and its value, unless the text cannot be read.
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

/// The settings that a dialect knows, as far as they have been read.
struct Reader<'a> {
    dialect: Dialect,
    /// Each with its text; `None` where that cannot be read, so that it grants nobody access.
    known: Vec<(&'static str, Option<&'a str>)>,
    findings: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, key: &str, value: &'a str) {
        // Hadoop trims the names of settings, Spark does not allow them to begin with white space.
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
            let message =
                format!("`{key}` is a setting of MapReduce's own servers, and answers nothing here");
            let help = format!("write `{YARN_ENABLE}` and `{YARN_ADMIN}`");
            return Diagnostic::warning(codes::LEGACY, message).help(help);
        }
        let owners = KEYS.iter().filter(|(_, keys)| keys.contains(&key));
        let owners: Vec<_> = owners.map(|(dialect, _)| dialect.to_string()).collect();
        let message = match owners.first() {
            Some(_) => format!("`{key}` is a setting of {}, not of {}", owners.join(" and "), self.dialect),
            None => format!("{} is no setting that {} has", quoted(key), self.dialect),
        };
        let help = match (self.keys(), nearest(self.keys().iter().copied(), key)) {
            ([], _) => "this dialect has no settings; choose the one that has".to_owned(),
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

    /// Reports rules that give everybody access, whatever else is written.
    fn pointless(&mut self, switch: &str, on: bool, admins: &str, everyone: bool) {
        let (code, key, value, help) = if !on {
            (codes::SWITCHED_OFF, switch, "off", format!("set `{switch}` to `true`"))
        } else if everyone {
            (codes::EVERYONE_ADMINISTERS, admins, "everyone", "name the administrators".to_owned())
        } else {
            return;
        };
        let message = format!("`{key}` is {value}, so that everybody may do everything");
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

    /// Reads a switch: `Configuration.getBoolean`, and Spark's `toBoolean`, which throws where the former
    /// takes the default.
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
            Diagnostic::error(codes::NOT_A_SWITCH, format!("Spark does not start: `{key}` is {shown}"))
        } else {
            let message = format!("`{key}` is {shown}, for which YARN takes its default, `{default}`");
            Diagnostic::warning(codes::NOT_A_SWITCH, message)
        };
        self.findings.push(found.help("write `true` or `false`"));
        spark || default
    }
}

/// The reason why a value cannot be read.
fn refusal(key: &str, value: &str) -> Option<Diagnostic> {
    if value.len() > MAX_TEXT {
        let message = format!("`{key}` has {} bytes, more than {MAX_TEXT}", value.len());
        return Some(Diagnostic::error(codes::TOO_LONG, message).help("name groups instead of users"));
    }
    value.contains("${").then(|| {
        let message = format!("`{key}` has a variable in it, {}, which is not replaced here", quoted(value));
        Diagnostic::error(codes::VARIABLE, message).help("write the value itself")
    })
}

/// Reports what YARN reads of an ACL otherwise than its writer is likely to have meant. Differences that only
/// concern `YuniKorn` do not matter here.
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

// The rules that an application in `YuniKorn` brings itself: annotations of its pods, and the configuration
// of a Spark driver.
//
// The annotations are queuewarden's, in the syntax of queue ACLs, as `mapreduce.job.acl-view-job` is in that
// of YARN's. The submitter writes them, so they only ever grant access to the submitter's own application.

/// The annotation that lists who may view the application and read its logs, besides its owner and the
/// queue's administrators.
pub const VIEW_ACL: &str = "queuewarden.dev/view-acl";
/// The annotation that lists who may modify and end the application.
pub const MODIFY_ACL: &str = "queuewarden.dev/modify-acl";

/// The rules of one application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnRules {
    /// [`VIEW_ACL`]; nobody when not set.
    pub view: Written<Acl>,
    /// [`MODIFY_ACL`]; nobody when not set.
    pub modify: Written<Acl>,
    /// A Spark driver's configuration, where it switches ACLs on. With ACLs off everybody may do everything,
    /// but only on Spark's own pages, so that case is not used here.
    pub spark: Option<SparkRules>,
}

impl Default for OwnRules {
    /// No rules.
    fn default() -> Self {
        let unset = |key| Written { key, text: String::new(), set: false, value: Acl::nobody() };
        Self { view: unset(VIEW_ACL), modify: unset(MODIFY_ACL), spark: None }
    }
}

impl OwnRules {
    /// Adds the configuration of the Spark driver. A configuration that Spark could not start with adds
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

/// Reads an ACL as `YuniKorn` would, and reports everything that differs from what is written. A text that it
/// would refuse is nobody.
fn read_own(key: &str, text: &str) -> (Acl, Vec<Diagnostic>) {
    let analysis = acl::lint(text);
    // An error means that one of YuniKorn's two parsers refuses the text.
    let acl = if analysis.has_errors() { None } else { analysis.acl };
    let findings = analysis.diagnostics.into_iter().map(|finding| Diagnostic {
        message: format!("`{key}`: {}", finding.message),
        span: None,
        help: finding.help.or_else(|| Some("write it as the ACL of a queue".to_owned())),
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
    fn what_is_set_is_read() {
        let settings =
            [(YARN_ENABLE, " True\n"), (YARN_ADMIN, "x"), (YARN_VIEW, "jane dev"), (YARN_ADMIN, "bob ops")];
        let (rules, codes) = yarn(Dialect::YarnHadoop, &settings);
        assert!(rules.enabled && rules.view.set && !rules.modify.set);
        assert_eq!(rules.admin.value.canonical(), "bob ops");
        assert_eq!(rules.view.value.canonical(), "jane dev");
        assert_eq!(codes, []);
    }

    #[test]
    fn what_does_not_do_what_it_says_is_reported() {
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

    /// A value that cannot be read gives the narrower rules, not the open defaults.
    #[test]
    fn what_cannot_be_read_lets_nobody_in() {
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
        fn any_settings_are_read(key in "[a-z.]{0,12}|yarn.acl.enable|yarn.admin.acl", value in any::<String>()) {
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
    fn annotations_are_acls_of_their_own() {
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
    fn an_annotation_that_cannot_be_read_lets_nobody_in() {
        for text in ["ann  bob", "a b c", "sue dev qa", "${x}", "a\tb c\td e"] {
            let (rules, findings) = own(&[(VIEW_ACL, text)]);
            assert!(
                rules.view.value.is_nobody() && findings.iter().any(Diagnostic::is_error),
                "{text}: {findings:?}"
            );
        }
    }

    #[test]
    fn only_a_driver_that_has_switched_acls_on_is_heard() {
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
        fn no_text_lets_in_more_than_its_acl(text in any::<String>(), user in "[a-c]{1,2}", group in "[a-c]{1,2}") {
            let (acl, findings) = read_own(VIEW_ACL, &text);
            if acl.allows(&user, &[&group]) {
                prop_assert!(!findings.iter().any(Diagnostic::is_error));
                prop_assert!(acl::parse(&text).is_ok_and(|read| read.allows(&user, &[&group])));
            }
        }
    }
}
