//! The settings: one file each, in one directory (`ReadLdapConfig` and `ldap_validator.go` beside the
//! resolver).
//!
//! `YuniKorn` takes white space off both ends of a text, and needs eight of the ten: if one is missing or
//! invalid, the scheduler ends when it starts. It ignores other files, and a boolean that Go does not read.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv6Addr;

use super::MEMBER_OF;
use super::filter::Filter;
use go_compat::diag::{Code, Diagnostic, Replacement, Span, quoted};
use go_compat::go_bool::go_bool;

/// The directory in which `YuniKorn` reads them (`common.LdapMountPath`).
pub const DIRECTORY: &str = "/run/secrets/ldap";

/// The names of the files; the last two may be missing.
pub const SETTINGS: [&str; 10] = [
    "Host",
    "Port",
    "BaseDN",
    "Filter",
    "GroupAttr",
    "ReturnAttr",
    "BindUser",
    "BindPassword",
    "Insecure",
    "SSL",
];

go_compat::codes! {
    /// A setting of YuniKorn's LDAP resolver is missing or invalid: the scheduler does not start with it,
    /// resolves nobody, or has another meaning for it than is known here.
    pub const INVALID: Code = Code::new(7003, "ldap-setting-invalid");
    /// A setting of YuniKorn's LDAP resolver is not read, or does not do what it says.
    pub const WITHOUT_EFFECT: Code = Code::new(7004, "ldap-setting-effect");
}

/// A finding about one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The name of the file.
    pub setting: String,
    /// The finding, with its location in the file if the file exists.
    pub diagnostic: Diagnostic,
}

/// The address of a directory service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// A host name or an IP address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// True for TLS from the first byte on.
    pub ssl: bool,
    /// True if any certificate is trusted.
    pub insecure: bool,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.ssl { "ldaps" } else { "ldap" };
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        write!(f, "{scheme}://{host}:{}", self.port)
    }
}

/// The settings of a resolver.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// The server.
    pub server: Server,
    pub(super) base: String,
    pub(super) filter: Filter,
    pub(super) attributes: Vec<String>,
    pub(super) bind_user: String,
    pub(super) bind_password: String,
}

impl fmt::Debug for Settings {
    /// Leaves out the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Settings");
        shown.field("server", &self.server).field("base", &self.base).field("bind_user", &self.bind_user);
        shown.finish_non_exhaustive()
    }
}

impl Settings {
    /// Reads the settings from the texts of the files, by name, with findings about what is odd in them.
    ///
    /// # Errors
    /// All findings, when `YuniKorn` would not start with them, or would resolve nobody.
    pub fn read(files: &BTreeMap<String, String>) -> Result<(Self, Vec<Finding>), Vec<Finding>> {
        let mut reader = Reader { files, found: Vec::new() };
        reader.unknown();
        let host = reader.required("Host", host);
        let port = reader.required("Port", port);
        let base = reader.required("BaseDN", plain);
        let filter = reader.required("Filter", filter);
        let group = reader.required("GroupAttr", plain);
        let attributes = reader.required("ReturnAttr", attributes);
        let bind_user = reader.required("BindUser", plain);
        let bind_password = reader.required("BindPassword", plain);
        let insecure = reader.boolean("Insecure");
        let ssl = reader.boolean("SSL");
        let (Some(host), Some(port), Some(base), Some(filter), Some(group)) =
            (host, port, base, filter, group)
        else {
            return Err(reader.found);
        };
        let (Some(attributes), Some(bind_user), Some(bind_password)) = (attributes, bind_user, bind_password)
        else {
            return Err(reader.found);
        };
        reader.of_groups(&group, &attributes);
        let server = Server { host, port, ssl, insecure };
        Ok((Self { server, base, filter, attributes, bind_user, bind_password }, reader.found))
    }
}

struct Reader<'a> {
    files: &'a BTreeMap<String, String>,
    found: Vec<Finding>,
}

impl Reader<'_> {
    fn add(&mut self, setting: &str, diagnostic: Diagnostic) {
        self.found.push(Finding { setting: setting.to_owned(), diagnostic });
    }

    /// The text of a setting without the white space around it, and its location in the file.
    fn text(&self, setting: &str) -> Option<(&str, Span)> {
        let file = self.files.get(setting)?;
        let text = file.trim();
        let start = file.len().saturating_sub(file.trim_start().len());
        Some((text, Span::new(start, start.saturating_add(text.len()))))
    }

    fn unknown(&mut self) {
        for name in self.files.keys().filter(|name| !SETTINGS.contains(&name.as_str())) {
            let message =
                format!("{} is no setting of YuniKorn's LDAP resolver, and is not read", quoted(name));
            let meant = SETTINGS.into_iter().find(|setting| setting.eq_ignore_ascii_case(name));
            let help = meant.map_or_else(
                || format!("remove it; the settings are {}", SETTINGS.join(", ")),
                |meant| format!("name it `{meant}`"),
            );
            let diagnostic = Diagnostic::warning(WITHOUT_EFFECT, message).help(help);
            self.found.push(Finding { setting: name.clone(), diagnostic });
        }
    }

    fn required<T>(&mut self, setting: &str, read: impl Fn(&str) -> Result<T, Diagnostic>) -> Option<T> {
        let read = match self.text(setting) {
            None => Err(invalid(
                "it is missing, and YuniKorn's scheduler does not start without it",
                "add a file of this name, with the setting as its text",
            )),
            Some(("", _)) => Err(invalid(
                "it is empty, and YuniKorn's scheduler does not start with it",
                "write the setting",
            )),
            Some((text, span)) => read(text).map_err(|found| {
                let within = found.span.map_or(span, |within| within.shifted(span.start));
                found.at(within)
            }),
        };
        read.map_err(|found| self.add(setting, found.of_field(setting))).ok()
    }

    /// False where `YuniKorn` ignores the text.
    fn boolean(&mut self, setting: &str) -> bool {
        let Some((text, span)) = self.text(setting) else { return false };
        if let Some(value) = go_bool(text) {
            return value;
        }
        let message =
            format!("{setting}: {} is no boolean in Go, so YuniKorn takes it for `false`", quoted(text));
        let found = Diagnostic::warning(WITHOUT_EFFECT, message).at(span).help("write `true` or `false`");
        self.add(setting, found);
        false
    }

    /// Reports settings that do not lead to groups.
    fn of_groups(&mut self, group: &str, attributes: &[String]) {
        if group != MEMBER_OF {
            let span = self.text("GroupAttr").map(|(_, span)| span);
            let message =
                format!("GroupAttr: YuniKorn reads `{MEMBER_OF}` for groups, and never {}", quoted(group));
            let found = Diagnostic::warning(WITHOUT_EFFECT, message)
                .at(span)
                .help(format!("write `{MEMBER_OF}`, and let the directory have that attribute"))
                .replace(Replacement::new(group, MEMBER_OF));
            self.add("GroupAttr", found);
        }
        let returned =
            |name: &String| matches!(name.as_str(), "*" | "+") || name.eq_ignore_ascii_case(MEMBER_OF);
        if !attributes.iter().any(returned) {
            let span = self.text("ReturnAttr").map(|(_, span)| span);
            let message = format!(
                "ReturnAttr: `{MEMBER_OF}` is not among the attributes, so nobody has a group but that of their \
                 own name"
            );
            let help = format!("add it, without spaces around the comma, as in `{MEMBER_OF},cn`");
            let found = Diagnostic::warning(WITHOUT_EFFECT, message).at(span).help(help);
            self.add("ReturnAttr", found);
        }
    }
}

fn invalid(message: impl Into<String>, help: &str) -> Diagnostic {
    Diagnostic::error(INVALID, message).help(help)
}

#[expect(clippy::unnecessary_wraps, reason = "one of the readers of settings")]
fn plain(text: &str) -> Result<String, Diagnostic> {
    Ok(text.to_owned())
}

#[expect(clippy::unnecessary_wraps, reason = "one of the readers of settings")]
fn attributes(text: &str) -> Result<Vec<String>, Diagnostic> {
    Ok(text.split(',').map(str::to_owned).collect())
}

/// A host as it can be written in a URL, which `YuniKorn` puts together from its parts.
fn host(text: &str) -> Result<String, Diagnostic> {
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(address) = bracketed.filter(|address| address.parse::<Ipv6Addr>().is_ok()) {
        return Ok(address.to_owned());
    }
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
        return Ok(text.to_owned());
    }
    let help = if text.parse::<Ipv6Addr>().is_ok() {
        "write an IPv6 address in brackets, as in `[fd00::1]`"
    } else {
        "write a host name or an IP address, without scheme and port"
    };
    Err(invalid(format!("{} is no host", quoted(text)), help))
}

fn port(text: &str) -> Result<u16, Diagnostic> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| {
        let message = format!("{} is no port, and YuniKorn's scheduler does not start with it", quoted(text));
        invalid(message, "write a number from 1 to 65535, as in `389`, or `636` with SSL")
    })
}

fn filter(text: &str) -> Result<Filter, Diagnostic> {
    Filter::parse(text).map_err(|wrong| invalid(wrong.message, wrong.help).at(wrong.span))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual() -> BTreeMap<String, String> {
        [
            ("Host", "ldap.example.org"),
            ("Port", "389\n"),
            ("BaseDN", "dc=example,dc=org"),
            ("Filter", "(uid=%s)"),
            ("GroupAttr", "memberOf"),
            ("ReturnAttr", "memberOf,cn"),
            ("BindUser", "cn=reader,dc=example,dc=org"),
            ("BindPassword", " secret\n"),
        ]
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into()
    }

    fn with(name: &str, text: &str) -> Result<(Settings, Vec<Finding>), Vec<Finding>> {
        let mut files = usual();
        files.insert(name.to_owned(), text.to_owned());
        Settings::read(&files)
    }

    #[test]
    fn settings_are_the_texts_without_white_space_around_them() {
        let (settings, found) = Settings::read(&usual()).unwrap();
        assert_eq!(found, []);
        assert_eq!(settings.server.to_string(), "ldap://ldap.example.org:389");
        assert_eq!(settings.bind_password, "secret");
        assert_eq!(settings.attributes, ["memberOf", "cn"]);
        assert!(!settings.server.ssl && !settings.server.insecure);
        assert!(!format!("{settings:?}").contains("secret"));
        for (name, text, server) in [
            ("SSL", "true", "ldaps://ldap.example.org:389"),
            ("SSL", "T\n", "ldaps://ldap.example.org:389"),
            ("SSL", "0", "ldap://ldap.example.org:389"),
            ("Host", "[::1]", "ldap://[::1]:389"),
            ("Host", "10.0.0.1", "ldap://10.0.0.1:389"),
            ("Port", "+0636", "ldap://ldap.example.org:636"),
        ] {
            let (settings, found) = with(name, text).unwrap();
            assert_eq!((settings.server.to_string().as_str(), found), (server, vec![]), "{name} {text}");
        }
    }

    #[test]
    fn missing_and_invalid_settings_are_errors_with_their_location() {
        for setting in &SETTINGS[..8] {
            let mut files = usual();
            files.remove(*setting);
            let found = Settings::read(&files).unwrap_err();
            assert_eq!(found.len(), 1, "{setting}");
            assert!(found[0].setting == *setting && found[0].diagnostic.message.contains("is missing"));
            let found = with(setting, " \n").unwrap_err();
            assert!(found[0].setting == *setting && found[0].diagnostic.message.contains("is empty"));
        }
        for (setting, text, span, help) in [
            ("Host", "ldap://ldap", (0, 11), "without scheme"),
            ("Host", " ::1", (1, 4), "in brackets"),
            ("Host", "a/b", (0, 3), "without scheme"),
            ("Port", "ldap", (0, 4), "from 1 to 65535"),
            ("Port", "65536", (0, 5), "from 1 to 65535"),
            ("Port", "0", (0, 1), "from 1 to 65535"),
            ("Port", "3_89", (0, 4), "from 1 to 65535"),
            ("Filter", "\n(uid=%s", (8, 8), "in parentheses"),
        ] {
            let found = with(setting, text).unwrap_err();
            let [Finding { diagnostic, .. }] = found.as_slice() else { panic!("{found:?}") };
            assert!(diagnostic.is_error() && diagnostic.code == INVALID);
            assert_eq!(diagnostic.span, Some(Span::new(span.0, span.1)), "{text}");
            assert!(diagnostic.help.as_ref().unwrap().contains(help), "{text}: {diagnostic:?}");
        }
        assert_eq!(Settings::read(&BTreeMap::new()).unwrap_err().len(), 8);
    }

    #[test]
    fn settings_without_effect_are_warnings() {
        for (setting, text, reason) in [
            ("port", "636", "no setting"),
            ("CACert", "x", "no setting"),
            ("SSL", "yes", "takes it for `false`"),
            ("Insecure", "", "takes it for `false`"),
            ("GroupAttr", "groups", "never `groups`"),
            ("ReturnAttr", "cn", "nobody has a group"),
            ("ReturnAttr", "cn, memberOf", "nobody has a group"),
        ] {
            let (_, found) = with(setting, text).unwrap();
            let [Finding { setting: about, diagnostic }] = found.as_slice() else { panic!("{found:?}") };
            assert!(about == setting && diagnostic.code == WITHOUT_EFFECT && !diagnostic.is_error());
            assert!(diagnostic.message.contains(reason), "{text}: {diagnostic:?}");
        }
        for text in ["*", "+", "MEMBEROF"] {
            assert_eq!(with("ReturnAttr", text).unwrap().1, [], "{text}");
        }
    }
}
