//! The annotation `yunikorn.apache.org/user.info`, parsed and written as in Go, and the submitting user that
//! results.

use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::request::{Pod, USER_INFO, USERNAME};
use crate::version::Version;
use go_compat::go_json::{self, GoString, is_field};

/// The user of pods that name no user (`constants.go:61`).
pub const NOBODY: &str = "nobody";

/// The content of the annotation (`si.UserGroupInformation`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UserInfo {
    /// The user; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// The groups in order, including duplicates and empty ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

impl UserInfo {
    /// Parses the annotation as Go's `json.Unmarshal` does into `si.UserGroupInformation`.
    ///
    /// # Errors
    /// If it is not JSON, or a value has the wrong type.
    pub fn read(text: &str) -> Result<Self, String> {
        go_json::read::<Option<Self>>(text).map(Option::unwrap_or_default)
    }

    /// Returns the text that the admission controller writes (`metadata/usergroup.go:133-140`). Empty fields
    /// are omitted.
    pub fn write(&self) -> String {
        go_json::write(self)
    }
}

impl<'de> Deserialize<'de> for UserInfo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader::default())
    }
}

/// Parses one field after another. Keys match in any case, and a repeated key starts from its previous value.
#[derive(Debug, Default)]
struct Reader {
    user: String,
    /// The memory of Go's slice: a second list overwrites the first, and `null` keeps the old elements.
    groups: Vec<String>,
    /// The number of valid elements.
    count: usize,
}

impl<'de> Visitor<'de> for Reader {
    type Value = UserInfo;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `user` and `groups`")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<UserInfo, A::Error> {
        while let Some(GoString(key)) = map.next_key()? {
            if is_field(&key, "user") {
                if let Some(GoString(user)) = map.next_value()? {
                    self.user = user;
                }
            } else if is_field(&key, "groups") {
                self.read_groups(map.next_value::<Option<_>>()?.unwrap_or_default());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        self.groups.truncate(self.count);
        Ok(UserInfo { user: self.user, groups: self.groups })
    }
}

impl Reader {
    fn read_groups(&mut self, groups: Vec<Option<GoString>>) {
        self.count = groups.len();
        if groups.is_empty() {
            self.groups.clear();
        }
        self.groups.resize(self.groups.len().max(self.count), String::new());
        for (target, group) in self.groups.iter_mut().zip(groups) {
            if let Some(GoString(group)) = group {
                *target = group;
            }
        }
    }
}

/// The submitting user and groups of a pod, as the shim reports them to the scheduler (k8shim
/// `pkg/common/utils/utils.go:349-388`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitter {
    /// The user; never empty.
    pub user: String,
    /// The groups. If empty, the scheduler resolves them.
    pub groups: Vec<String>,
    /// The source of the user.
    pub source: Source,
}

/// The source of a pod's user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The annotation names the user.
    Annotation,
    /// There is an annotation, but it names no user.
    AnnotationWithoutUser,
    /// The annotation cannot be parsed, for this reason.
    AnnotationUnreadable(String),
    /// There is no annotation; the label names the user.
    Label,
    /// Neither names a user.
    Nothing,
}

impl Submitter {
    /// Returns the submitting user of the pod in its current form.
    pub fn from_pod(pod: &Pod, version: Version) -> Self {
        let annotation = pod.annotation(USER_INFO);
        if !annotation.is_empty() {
            return match UserInfo::read(annotation) {
                Ok(UserInfo { user, groups }) if user.is_empty() => {
                    Self { user: NOBODY.to_owned(), groups, source: Source::AnnotationWithoutUser }
                }
                Ok(UserInfo { user, groups }) => Self { user, groups, source: Source::Annotation },
                Err(error) => Self::without_groups(NOBODY, Source::AnnotationUnreadable(error)),
            };
        }
        match pod.label(USERNAME) {
            user if !user.is_empty() && version.behavior().reads_username_label => {
                Self::without_groups(user, Source::Label)
            }
            _ => Self::without_groups(NOBODY, Source::Nothing),
        }
    }

    fn without_groups(user: &str, source: Source) -> Self {
        Self { user: user.to_owned(), groups: Vec::new(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn info(user: &str, groups: &[&str]) -> UserInfo {
        UserInfo { user: user.into(), groups: groups.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn annotation_parses_like_in_go() {
        for (text, expected) in [
            ("{}", info("", &[])),
            ("null", info("", &[])),
            (r#" {"user":"a"} "#, info("a", &[])),
            (r#"{"User":"Case","GROUPS":["G"]}"#, info("Case", &["G"])),
            (r#"{"user":"a","user":"b"}"#, info("b", &[])),
            (r#"{"user":"a","user":null}"#, info("a", &[])),
            (r#"{"user":"a","groups":[null]}"#, info("a", &[""])),
            (r#"{"groups":["a","a",""]}"#, info("", &["a", "a", ""])),
            (r#"{"x":{"user":["y"]},"user":"a","groups":[]}"#, info("a", &[])),
            (r#"{"groups":["a","b"],"groups":[null]}"#, info("", &["a"])),
            (r#"{"groups":["a","b"],"groups":["x"],"groups":[null,null,null]}"#, info("", &["x", "b", ""])),
            (r#"{"groups":["a","b"],"groups":[],"groups":[null]}"#, info("", &[""])),
            (r#"{"groups":["a","b"],"groups":null,"groups":[null]}"#, info("", &[""])),
            (r#"{"user":"\u0061\ud800"}"#, info("a\u{fffd}", &[])),
        ] {
            assert_eq!(UserInfo::read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn other_types_are_refused_with_their_location() {
        for (text, message) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            ("[]", "invalid type: sequence, expected an object with `user` and `groups` at line 1 column 0"),
            (r#"{"USER":1}"#, "invalid type: integer `1`, expected a string at line 1 column 9"),
            (r#"{"groups":{},"user":1}"#, "invalid type: map, expected a sequence at line 1 column 10"),
            (r#"{"groups":["a",[1]]}"#, "invalid type: sequence, expected a string at line 1 column 16"),
            (r#"{"user":1} x"#, "trailing characters at line 1 column 12"),
        ] {
            assert_eq!(UserInfo::read(text), Err(message.to_owned()), "{text}");
        }
        for text in ["\"x\"", "true", r#"{"groups":"x"}"#, r#"{"groups":[{}]}"#, r#"{"user":["a"]}"#] {
            assert!(UserInfo::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn unknown_field_may_nest_as_deeply_as_in_go() {
        let nested = |depth| format!(r#"{{"x":{}{},"user":"a"}}"#, "[".repeat(depth), "]".repeat(depth));
        assert_eq!(UserInfo::read(&nested(go_json::MAX_DEPTH - 1)), Ok(info("a", &[])));
        assert!(UserInfo::read(&nested(go_json::MAX_DEPTH)).is_err());
    }

    #[test]
    fn empty_fields_are_omitted() {
        for (info, text) in [
            (info("", &[]), "{}"),
            (info("a", &[]), r#"{"user":"a"}"#),
            (info("", &["", "g"]), r#"{"groups":["","g"]}"#),
            (info("a<", &["g&h"]), r#"{"user":"a\u003c","groups":["g\u0026h"]}"#),
        ] {
            assert_eq!(info.write(), text);
        }
    }

    fn submitter(annotation: Option<&str>, label: &str, version: Version) -> (String, Vec<String>) {
        let mut pod = Pod::default();
        pod.annotations.extend(annotation.map(|text| (USER_INFO.to_owned(), text.to_owned())));
        pod.labels.insert(USERNAME.to_owned(), label.to_owned());
        let Submitter { user, groups, .. } = Submitter::from_pod(&pod, version);
        (user, groups)
    }

    #[test]
    fn pod_without_a_user_is_submitted_by_nobody() {
        let nobody = |groups: &[&str]| ("nobody".to_owned(), info("", groups).groups);
        assert_eq!(submitter(Some("{}"), "x", Version::V1_8), nobody(&[]));
        assert_eq!(submitter(Some(r#"{"groups":["g"]}"#), "x", Version::V1_8), nobody(&["g"]));
        assert_eq!(submitter(Some("x"), "x", Version::V1_8), nobody(&[]));
        assert_eq!(submitter(None, "", Version::V1_8), nobody(&[]));
        assert_eq!(submitter(Some(""), "x", Version::V1_9), ("x".to_owned(), vec![]));
        assert_eq!(submitter(None, "x", Version::V1_10), nobody(&[]));
    }

    proptest! {
        #[test]
        fn written_annotation_parses(user in r"\PC{0,8}", groups in prop::collection::vec(r"\PC{0,8}", 0..4)) {
            let info = UserInfo { user, groups };
            prop_assert_eq!(UserInfo::read(&info.write()), Ok(info));
        }

        #[test]
        fn every_text_parses(text in r#"[{}\[\]",:usergopnl\\ 0-9]{0,40}|\PC{0,20}"#) {
            if let Err(error) = UserInfo::read(&text) {
                prop_assert!(!error.is_empty());
            }
        }
    }
}
