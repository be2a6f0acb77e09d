//! The known releases of `YuniKorn` and the differences between them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A line of `YuniKorn` releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Version {
    /// 1.8
    #[serde(rename = "1.8")]
    V1_8,
    /// 1.9
    #[serde(rename = "1.9")]
    V1_9,
    /// 1.10, based on the changes merged so far. Not compared with the real code.
    #[serde(rename = "1.10")]
    V1_10,
    /// Any other or unknown release, for which the strictest known behavior is assumed.
    #[serde(rename = "unknown")]
    Unknown,
}

/// Behavior that differs between the lines. Everything else is the same in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the differences are independent")]
pub struct Behavior {
    /// A queue named `root` below the root changes which limits the following queues inherit. The validator
    /// of 1.8 stores limits by path and starts a new path at that name (core 1.8.0 `configvalidator.go:155`;
    /// YUNIKORN-3215).
    pub limits_by_path: bool,
    /// A queue inherits the limits of its parent (core 1.9.0 `configvalidator.go:155`).
    pub limits_by_parent: bool,
    /// The IDs of placeholder pods are integers, and any other value makes the shim refuse all settings
    /// (k8shim 1.9.0 `schedulerconf.go:364`; YUNIKORN-3132). Earlier releases have no such settings.
    pub integer_placeholder_ids: bool,
    /// The queue property that delays preemption by quota (YUNIKORN-3208).
    pub quota_preemption_delay: &'static str,
    /// Cached groups expire and are resolved again. The clock of 1.8's cache never advances (core 1.8.0
    /// `usergroup.go:44`; YUNIKORN-3250).
    pub user_cache_expires: bool,
    /// The name of a user is checked even if no groups are given (YUNIKORN-3432).
    pub checks_all_names: bool,
    /// The label `yunikorn.apache.org/username` names the user of a pod without `user.info` (YUNIKORN-3311).
    pub reads_username_label: bool,
    /// A namespace without application IDs keeps `user.info` (YUNIKORN-3324).
    pub keeps_user_info: bool,
}

const V1_8: Behavior = Behavior {
    limits_by_path: true,
    limits_by_parent: false,
    integer_placeholder_ids: false,
    quota_preemption_delay: "preemption.quota.delay",
    user_cache_expires: false,
    checks_all_names: false,
    reads_username_label: true,
    keeps_user_info: false,
};
const V1_9: Behavior = Behavior {
    limits_by_path: false,
    limits_by_parent: true,
    integer_placeholder_ids: true,
    quota_preemption_delay: "quota.preemption.delay",
    user_cache_expires: true,
    ..V1_8
};
const V1_10: Behavior =
    Behavior { checks_all_names: true, reads_username_label: false, keeps_user_info: true, ..V1_9 };
// If the label is assumed to be read, it must not name another user, which is stricter.
const UNKNOWN: Behavior =
    Behavior { limits_by_path: true, reads_username_label: true, keeps_user_info: false, ..V1_10 };

impl Version {
    /// The lines that this crate was compared with.
    pub const PROVEN: [Self; 2] = [Self::V1_8, Self::V1_9];

    /// Returns the line of a release: `1.9`, `1.9.1` and `v1.9.1` belong to 1.9. All other texts, such as
    /// builds between releases, are unknown.
    pub fn of_release(text: &str) -> Self {
        let release = text.strip_prefix('v').unwrap_or(text);
        let is = |line: &str| {
            release
                .strip_prefix(line)
                .is_some_and(|patch| patch.is_empty() || patch.strip_prefix('.').is_some_and(is_number))
        };
        let lines = [Self::V1_8, Self::V1_9, Self::V1_10];
        lines.into_iter().find(|version| is(version.as_str())).unwrap_or(Self::Unknown)
    }

    /// Returns whether a release begins with the number of another line.
    pub fn contradicts(self, release: &str) -> bool {
        let release = release.strip_prefix('v').unwrap_or(release);
        let mut parts = release.split(|c: char| !c.is_ascii_digit());
        match (parts.next(), parts.next()) {
            (Some(major), Some(minor)) if is_number(major) && is_number(minor) => {
                self.as_str() != format!("{major}.{minor}")
            }
            _ => false,
        }
    }

    /// Returns the name of the line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1_8 => "1.8",
            Self::V1_9 => "1.9",
            Self::V1_10 => "1.10",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the behavior of the line.
    pub fn behavior(self) -> &'static Behavior {
        match self {
            Self::V1_8 => &V1_8,
            Self::V1_9 => &V1_9,
            Self::V1_10 => &V1_10,
            Self::Unknown => &UNKNOWN,
        }
    }

    /// Returns a message and a help text if the name of a property belongs to another line.
    pub(crate) fn renamed(self, name: &str) -> Option<(&'static str, &'static str)> {
        let read = self.behavior().quota_preemption_delay;
        match name {
            _ if name == read => None,
            "preemption.quota.delay" => Some((
                "YuniKorn 1.9 and newer ignore the property `preemption.quota.delay`",
                "write `quota.preemption.delay`",
            )),
            "quota.preemption.delay" => Some((
                "YuniKorn 1.8 ignores the property `quota.preemption.delay`",
                "write `preemption.quota.delay`",
            )),
            _ => None,
        }
    }

    /// Returns whether this crate was compared with the code of the line.
    pub fn is_proven(self) -> bool {
        Self::PROVEN.contains(&self)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_belong_to_lines() {
        for (text, version) in [
            ("1.8", Version::V1_8),
            ("1.8.0", Version::V1_8),
            ("v1.9.12", Version::V1_9),
            ("1.10.0", Version::V1_10),
            ("1.80", Version::Unknown),
            ("1.8.", Version::Unknown),
            ("1.9.0-SNAPSHOT", Version::Unknown),
            ("1.7.0", Version::Unknown),
            ("2.0.0", Version::Unknown),
            ("latest", Version::Unknown),
            ("", Version::Unknown),
        ] {
            assert_eq!(Version::of_release(text), version, "{text}");
        }
    }
}
