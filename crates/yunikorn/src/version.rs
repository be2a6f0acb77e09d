//! The versions of `YuniKorn` that are in use, where they differ.

/// A line of `YuniKorn` releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Version {
    /// 1.8: users that were resolved once are never resolved again, because its clock never advances.
    #[default]
    V1_8,
    /// 1.9: entries of the user cache expire (YUNIKORN-3250).
    V1_9,
    /// The release after 1.9, as far as it is merged: names are also checked where no groups are given
    /// (YUNIKORN-3432), the label `yunikorn.apache.org/username` is not read (YUNIKORN-3311), and a namespace
    /// without application IDs keeps `user.info` (YUNIKORN-3324).
    Next,
}

impl Version {
    /// The version of this name: `1.8`, `1.8.0`, `1.9.1`, `next`. `None` for any other.
    pub fn parse(text: &str) -> Option<Self> {
        let is =
            |line: &str| text.strip_prefix(line).is_some_and(|patch| patch.is_empty() || is_patch(patch));
        match text {
            "next" => Some(Self::Next),
            _ if is("1.8") => Some(Self::V1_8),
            _ if is("1.9") => Some(Self::V1_9),
            _ => None,
        }
    }
}

fn is_patch(text: &str) -> bool {
    text.strip_prefix('.')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_names() {
        for (text, version) in [
            ("1.8", Some(Version::V1_8)),
            ("1.8.0", Some(Version::V1_8)),
            ("1.9.12", Some(Version::V1_9)),
            ("next", Some(Version::Next)),
            ("1.80", None),
            ("1.8.", None),
            ("1.7", None),
            ("", None),
        ] {
            assert_eq!(Version::parse(text), version, "{text}");
        }
    }
}
