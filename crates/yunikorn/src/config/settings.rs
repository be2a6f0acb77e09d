//! Settings that the shim does not read as plain text (yunikorn-k8shim v1.8.0 `pkg/conf/schedulerconf.go`,
//! `parseConfig`). If one is invalid, a running scheduler ignores the whole change, and a starting one exits
//! (`schedulerconf.go:157`). `YuniKorn`'s webhook checks none of them.

use super::codes::SETTING;
use crate::admission::keys as admission;
use crate::version::Version;
use go_compat::diag::{Diagnostic, Span, quoted};
use go_compat::go_bool::go_bool;

pub(super) const POLICY_GROUP: &str = "service.policyGroup";
pub(super) const HOT_REFRESH: &str = "service.enableConfigHotRefresh";

/// The type of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Plain text.
    Text,
    /// A boolean in Go's syntax.
    Bool,
    /// A 32-bit integer.
    Int,
    /// A 64-bit integer.
    Int64,
    /// An unsigned 64-bit integer.
    Uint,
    /// A duration in Go's syntax.
    Duration,
    /// A log level: its name or its number.
    Level,
    /// Regular expressions, separated by commas.
    List,
}

/// A program that reads keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// The scheduler's core, which replaces an invalid value by the default.
    Core,
    /// The scheduler's shim. An invalid value makes it ignore all changes, or exit at the start.
    Shim,
    /// The admission controller, which replaces an invalid value by the default.
    Admission,
}

/// A key that a program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The name.
    pub name: &'static str,
    /// The type of the value.
    pub kind: Kind,
    /// The programs that read it.
    pub readers: &'static [Reader],
    /// The first release line that reads it; `None` for all known lines.
    pub since: Option<Version>,
}

const CORE: &[Reader] = &[Reader::Core];
const SHIM: &[Reader] = &[Reader::Shim];
pub(super) const ADMISSION: &[Reader] = &[Reader::Admission];
const BOTH: &[Reader] = &[Reader::Shim, Reader::Admission];

const fn key(name: &'static str, kind: Kind, readers: &'static [Reader]) -> Key {
    Key { name, kind, readers, since: None }
}

const fn since(since: Version, key: Key) -> Key {
    Key { since: Some(since), ..key }
}

/// The keys with fixed names, sorted. `YuniKorn` also reads the key of the queues and all keys that
/// [`is_log`] accepts.
pub const KEYS: &[Key] = &[
    key(admission::BYPASS_AUTH, Kind::Bool, ADMISSION),
    key(admission::EXTERNAL_GROUPS, Kind::List, ADMISSION),
    key(admission::EXTERNAL_USERS, Kind::List, ADMISSION),
    key(admission::SYSTEM_USERS, Kind::List, ADMISSION),
    key(admission::TRUST_CONTROLLERS, Kind::Bool, ADMISSION),
    key(admission::BYPASS_NAMESPACES, Kind::List, ADMISSION),
    key(admission::GENERATE_UNIQUE_APP_ID, Kind::Bool, BOTH),
    key(admission::LABEL_NAMESPACES, Kind::List, ADMISSION),
    key(admission::NO_LABEL_NAMESPACES, Kind::List, ADMISSION),
    key(admission::PROCESS_NAMESPACES, Kind::List, ADMISSION),
    key("admissionController.webHook.amServiceName", Kind::Text, ADMISSION),
    key("admissionController.webHook.schedulerServiceAddress", Kind::Text, ADMISSION),
    key("event.RESTResponseSize", Kind::Uint, CORE),
    key("event.maxStreams", Kind::Uint, CORE),
    key("event.maxStreamsPerHost", Kind::Uint, CORE),
    key("event.requestCapacity", Kind::Uint, CORE),
    key("event.ringBufferCapacity", Kind::Uint, CORE),
    key("event.trackingEnabled", Kind::Bool, CORE),
    key("health.checkInterval", Kind::Duration, CORE),
    key("kubernetes.burst", Kind::Int, SHIM),
    key("kubernetes.qps", Kind::Int, SHIM),
    key("service.clusterId", Kind::Text, SHIM),
    key("service.disableGangScheduling", Kind::Bool, SHIM),
    key("service.dispatchTimeout", Kind::Duration, SHIM),
    key(HOT_REFRESH, Kind::Bool, BOTH),
    key("service.eventChannelCapacity", Kind::Int, SHIM),
    key("service.nodeInstanceTypeNodeLabelKey", Kind::Text, SHIM),
    since(Version::V1_9, key("service.placeholderFsGroup", Kind::Int64, SHIM)),
    key("service.placeholderImage", Kind::Text, SHIM),
    since(Version::V1_9, key("service.placeholderRunAsGroup", Kind::Int64, SHIM)),
    since(Version::V1_9, key("service.placeholderRunAsUser", Kind::Int64, SHIM)),
    key(POLICY_GROUP, Kind::Text, BOTH),
    key("service.schedulingInterval", Kind::Duration, SHIM),
    key("service.volumeBindTimeout", Kind::Duration, SHIM),
];

/// Returns the key with this name if this version reads it.
pub fn find(name: &str, version: Version) -> Option<&'static Key> {
    let is_read = |key: &&Key| key.name == name && key.since.is_none_or(|since| since <= version);
    KEYS.iter().find(is_read)
}

/// Returns the type of a key's value. `None` for text and for keys that the shim does not read.
fn kind(key: &str, version: Version) -> Option<Kind> {
    let of_shim = find(key, version).filter(|key| key.readers.contains(&Reader::Shim));
    of_shim.map(|key| key.kind).filter(|kind| *kind != Kind::Text)
}

impl Kind {
    /// Returns whether Go accepts a text as a value of this type. Lists are checked elsewhere.
    pub(super) fn parses(self, text: &str) -> bool {
        match self {
            Self::Text | Self::List => true,
            Self::Bool => go_bool(text).is_some(),
            // Go's `strconv.ParseInt(text, 10, …)` accepts the same texts as Rust's `parse`.
            Self::Int => text.parse::<i32>().is_ok(),
            Self::Int64 => text.parse::<i64>().is_ok(),
            Self::Uint => !text.starts_with('+') && text.parse::<u64>().is_ok(),
            Self::Duration => go_duration(text),
            Self::Level => {
                const NAMES: [&str; 9] =
                    ["", "debug", "info", "warn", "warning", "error", "dpanic", "panic", "fatal"];
                NAMES.iter().any(|name| text.eq_ignore_ascii_case(name)) || text.parse::<i8>().is_ok()
            }
        }
    }

    /// Returns the name of the type and the help.
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Text => ("text", "write a string"),
            Self::List => ("list of expressions", "separate the expressions with commas"),
            Self::Bool => ("boolean", "write `true` or `false`"),
            Self::Int => ("32-bit integer", "write an integer below 2147483648, without spaces"),
            Self::Int64 => ("64-bit integer", "write an integer, without spaces"),
            Self::Uint => ("unsigned integer", "write an integer, without spaces or a sign"),
            Self::Duration => {
                ("duration", "write numbers with units and no spaces, such as `10s` or `1m30s`")
            }
            Self::Level => ("log level", "write `DEBUG`, `INFO`, `WARN` or `ERROR`"),
        }
    }
}

/// Returns the error for an invalid value of this key, if it is a setting.
pub fn check(key: &str, text: &str, version: Version) -> Option<Diagnostic> {
    let kind = kind(key, version).filter(|kind| !kind.parses(text))?;
    let (what, help) = kind.words();
    let shown = quoted(text);
    let since = if kind == Kind::Int64 { " 1.9 and newer" } else { "" };
    let message = format!(
        "{shown} is not a valid {what} for YuniKorn{since}: a running scheduler ignores all changes of its \
         ConfigMaps, and a new one does not start"
    );
    Some(Diagnostic::error(SETTING, message).at(Span::new(0, text.len())).help(help))
}

/// Returns whether Go's `time.ParseDuration` accepts the text.
fn go_duration(text: &str) -> bool {
    let bare = text.strip_prefix(['+', '-']).unwrap_or(text);
    bare == "0" || nanoseconds(bare).is_some_and(|total| total < 1 << 63 || text.starts_with('-'))
}

/// Returns the sum of numbers with units, up to the absolute value of Go's smallest duration.
fn nanoseconds(text: &str) -> Option<u64> {
    let (mut total, mut rest) = duration_part(text)?;
    while !rest.is_empty() {
        let (more, behind) = duration_part(rest)?;
        total = total.checked_add(more).filter(|total| *total <= 1 << 63)?;
        rest = behind;
    }
    Some(total)
}

/// Returns one number with its unit in nanoseconds, and the rest of the text.
fn duration_part(text: &str) -> Option<(u64, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = text.split_at_checked(digits(text))?;
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at_checked(digits(rest))?,
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let number: u64 =
        if whole.is_empty() { 0 } else { whole.parse().ok().filter(|number| *number <= 1 << 63)? };
    let unit = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at_checked(unit)?;
    let scale: u64 = match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let fraction = fraction_of(fraction, scale);
    number
        .checked_mul(scale)?
        .checked_add(fraction)
        .filter(|total| *total <= 1 << 63)
        .map(|total| (total, rest))
}

/// Converts the digits after the point to nanoseconds, truncated. Extra digits are ignored. Go computes in
/// floating point, so it may differ near the longest duration, 292 years.
fn fraction_of(digits: &str, scale: u64) -> u64 {
    let (mut sum, mut scale) = (0_u128, u128::from(scale) * 1_000_000_000_000_000_000);
    for digit in digits.bytes().take(18) {
        scale /= 10;
        sum += u128::from(digit.saturating_sub(b'0')) * scale;
    }
    u64::try_from(sum / 1_000_000_000_000_000_000).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_setting_is_reported_with_its_type() {
        for (key, text, expected) in [
            ("service.schedulingInterval", "abc", Some("duration")),
            ("service.schedulingInterval", "5", Some("duration")),
            ("service.schedulingInterval", "", Some("duration")),
            ("service.dispatchTimeout", "300s", None),
            (HOT_REFRESH, "nope", Some("boolean")),
            (HOT_REFRESH, "T", None),
            ("admissionController.filtering.generateUniqueAppId", "yes", Some("boolean")),
            ("kubernetes.qps", "x", Some("32-bit integer")),
            ("kubernetes.burst", "2147483648", Some("32-bit integer")),
            ("kubernetes.burst", "1000", None),
            // Plain text, and keys that the shim does not know.
            ("service.policyGroup", "", None),
            ("service.other", "abc", None),
            ("queues.yaml", "abc", None),
        ] {
            let reported = check(key, text, Version::V1_8);
            assert_eq!(reported.is_some(), expected.is_some(), "{key}: {text}");
            if let (Some(reported), Some(what)) = (reported, expected) {
                assert!(reported.is_error(), "{reported}");
                assert!(
                    reported.message.contains(&format!(" is not a valid {what} for YuniKorn")),
                    "{reported}"
                );
                assert_eq!((reported.code, reported.span), (SETTING, Some(Span::new(0, text.len()))));
            }
        }
    }

    #[test]
    fn ids_of_placeholders_are_integers_since_1_9() {
        for key in ["placeholderRunAsUser", "placeholderRunAsGroup", "placeholderFsGroup"] {
            let key = format!("service.{key}");
            for text in ["nobody", "", "1.5", "9223372036854775808"] {
                assert_eq!(check(&key, text, Version::V1_8), None, "{key}: {text}");
                for version in [Version::V1_9, Version::V1_10, Version::Unknown] {
                    let refused = check(&key, text, version).unwrap();
                    assert!(
                        refused.message.contains(" is not a valid 64-bit integer for YuniKorn"),
                        "{refused}"
                    );
                }
            }
            assert_eq!(check(&key, "1000", Version::V1_9), None);
        }
    }

    #[test]
    fn durations_are_in_nanoseconds() {
        for (text, nanoseconds, rest) in [
            ("7ns", 7, ""),
            ("7us", 7_000, ""),
            ("7\u{b5}s", 7_000, ""),
            ("7\u{3bc}s", 7_000, ""),
            ("7ms", 7_000_000, ""),
            ("7s", 7_000_000_000, ""),
            ("7m30s", 420_000_000_000, "30s"),
            ("7h.5m", 25_200_000_000_000, ".5m"),
            ("1.25h", 4_500_000_000_000, ""),
            (".5m", 30_000_000_000, ""),
            ("3.s", 3_000_000_000, ""),
            ("0.000000001s", 1, ""),
            // Fractions of a nanosecond are dropped.
            ("1.9ns", 1, ""),
            ("0.0019us", 1, ""),
            ("1.0023456789ms", 1_002_345, ""),
            // Further digits are ignored.
            ("0.10000000000000000000000009s", 100_000_000, ""),
        ] {
            assert_eq!(duration_part(text), Some((nanoseconds, rest)), "{text}");
        }
    }
}
