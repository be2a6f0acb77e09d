//! The annotation `yunikorn.apache.org/user.info`: how Go reads and writes it, and who submits in the end.

use super::request::{Pod, USER_INFO, USERNAME};
use crate::model::version::Version;
use crate::text::go_json::{Error, Token, Tokens, is_field, push_string};

/// The user of pods that say nothing else (`constants.go:61`).
pub const NOBODY: &str = "nobody";

/// What the annotation holds (`si.UserGroupInformation`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// The user; may be empty.
    pub user: String,
    /// The groups in order, with duplicates and empty ones.
    pub groups: Vec<String>,
}

impl UserInfo {
    /// Reads the annotation's text as Go's `json.Unmarshal` does into `si.UserGroupInformation`.
    ///
    /// # Errors
    /// With Go's message: a syntax error wherever it stands, else the first value of a wrong type.
    pub fn read(text: &str) -> Result<Self, Error> {
        let mut tokens = Tokens::of(text)?;
        let mut reader = Reader::default();
        match tokens.next() {
            Some(Token::BeginObject) => reader.read_fields(&mut tokens),
            Some(Token::Null) | None => {}
            Some(other) => reader.refuse(&other, "Go value of type si.UserGroupInformation"),
        }
        reader.finish()
    }

    /// The text that the admission controller writes (`metadata/usergroup.go:133-140`): fields that are empty are left out.
    pub fn write(&self) -> String {
        let mut text = String::from("{");
        if !self.user.is_empty() {
            text.push_str("\"user\":");
            push_string(&mut text, &self.user);
        }
        let mut before = if self.user.is_empty() { "\"groups\":[" } else { ",\"groups\":[" };
        for group in &self.groups {
            text.push_str(before);
            push_string(&mut text, group);
            before = ",";
        }
        text.push_str(if self.groups.is_empty() { "}" } else { "]}" });
        text
    }
}

/// Go's decoder on its way through the fields. A wrong type does not end it, and a repeated key finds what the one before has left.
#[derive(Debug, Default)]
struct Reader {
    user: String,
    /// The memory of the slice: a second list of groups is written over the first, and `null` leaves what stands there.
    groups: Vec<String>,
    /// How many of them count.
    count: usize,
    error: Option<Error>,
}

impl Reader {
    fn read_fields(&mut self, tokens: &mut Tokens<'_>) {
        while let Some(Token::Text(key)) = tokens.next() {
            let Some(value) = tokens.next() else { return };
            if is_field(&key, "user") {
                read_string(&mut self.user, value, tokens).unwrap_or_else(|token| {
                    self.refuse(&token, "Go struct field UserGroupInformation.user of type string");
                });
            } else if is_field(&key, "groups") {
                self.read_groups(&value, tokens);
            } else {
                tokens.skip_value(&value);
            }
        }
    }

    fn read_groups(&mut self, value: &Token, tokens: &mut Tokens<'_>) {
        match value {
            Token::BeginArray => self.read_elements(tokens),
            Token::Null => self.forget_groups(),
            other => {
                tokens.skip_value(other);
                self.refuse(other, "Go struct field UserGroupInformation.groups of type []string");
            }
        }
    }

    fn read_elements(&mut self, tokens: &mut Tokens<'_>) {
        let mut count = 0;
        while let Some(token) = tokens.next().filter(|token| *token != Token::EndArray) {
            if count == self.groups.len() {
                self.groups.push(String::new());
            }
            let read = self.groups.get_mut(count).map_or(Ok(()), |group| read_string(group, token, tokens));
            read.unwrap_or_else(|token| {
                self.refuse(&token, "Go struct field UserGroupInformation.groups of type string");
            });
            count += 1;
        }
        if count == 0 {
            self.forget_groups();
        }
        self.count = count;
    }

    fn forget_groups(&mut self) {
        self.groups.clear();
        self.count = 0;
    }

    fn refuse(&mut self, value: &Token, target: &str) {
        self.error
            .get_or_insert_with(|| Error(format!("json: cannot unmarshal {} into {target}", value.name())));
    }

    fn finish(mut self) -> Result<UserInfo, Error> {
        self.groups.truncate(self.count);
        self.error.map_or(Ok(UserInfo { user: self.user, groups: self.groups }), Err)
    }
}

/// Stores a string; `null` changes nothing. What is neither has been skipped and is handed back.
fn read_string(target: &mut String, value: Token, tokens: &mut Tokens<'_>) -> Result<(), Token> {
    match value {
        Token::Text(text) => *target = text,
        Token::Null => {}
        other => {
            tokens.skip_value(&other);
            return Err(other);
        }
    }
    Ok(())
}

/// Who submits a pod, as the shim tells the scheduler (k8shim `pkg/common/utils/utils.go:349-388`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitter {
    /// The user; never empty.
    pub user: String,
    /// The groups. Where there are none, the scheduler resolves them.
    pub groups: Vec<String>,
    /// Where the user comes from.
    pub source: Source,
}

/// What says who submits a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The annotation.
    Annotation,
    /// The annotation, but it names no user.
    AnnotationWithoutUser,
    /// Nothing: the annotation cannot be read.
    AnnotationUnreadable(Error),
    /// The label, as there is no annotation.
    Label,
    /// Nothing.
    Nothing,
}

impl Submitter {
    /// Who submits the pod as it is.
    pub fn of(pod: &Pod, version: Version) -> Self {
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
            user if !user.is_empty() && version < Version::Next => Self::without_groups(user, Source::Label),
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
    fn the_annotation_is_read_as_go_reads_it() {
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
    fn refusals_have_gos_messages() {
        for (text, message) in [
            ("", "unexpected end of JSON input"),
            ("[]", "json: cannot unmarshal array into Go value of type si.UserGroupInformation"),
            ("\"x\"", "json: cannot unmarshal string into Go value of type si.UserGroupInformation"),
            ("true", "json: cannot unmarshal bool into Go value of type si.UserGroupInformation"),
            (
                r#"{"USER":1}"#,
                "json: cannot unmarshal number into Go struct field UserGroupInformation.user of type string",
            ),
            (
                r#"{"groups":{},"user":1}"#,
                "json: cannot unmarshal object into Go struct field UserGroupInformation.groups of type []string",
            ),
            (
                r#"{"groups":["a",[1]]}"#,
                "json: cannot unmarshal array into Go struct field UserGroupInformation.groups of type string",
            ),
            (r#"{"user":1} x"#, "invalid character 'x' after top-level value"),
        ] {
            assert_eq!(UserInfo::read(text), Err(Error(message.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_is_empty_is_left_out() {
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
        let Submitter { user, groups, .. } = Submitter::of(&pod, version);
        (user, groups)
    }

    #[test]
    fn nobody_submits_what_names_no_user() {
        let nobody = |groups: &[&str]| ("nobody".to_owned(), info("", groups).groups);
        assert_eq!(submitter(Some("{}"), "x", Version::V1_8), nobody(&[]));
        assert_eq!(submitter(Some(r#"{"groups":["g"]}"#), "x", Version::V1_8), nobody(&["g"]));
        assert_eq!(submitter(Some("x"), "x", Version::V1_8), nobody(&[]));
        assert_eq!(submitter(None, "", Version::V1_8), nobody(&[]));
        assert_eq!(submitter(Some(""), "x", Version::V1_9), ("x".to_owned(), vec![]));
        assert_eq!(submitter(None, "x", Version::Next), nobody(&[]));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(user in r"\PC{0,8}", groups in prop::collection::vec(r"\PC{0,8}", 0..4)) {
            let info = UserInfo { user, groups };
            prop_assert_eq!(UserInfo::read(&info.write()), Ok(info));
        }

        #[test]
        fn reading_is_total(text in r#"[{}\[\]",:usergopnl\\ 0-9]{0,40}|\PC{0,20}"#) {
            if let Err(error) = UserInfo::read(&text) {
                prop_assert!(!error.0.is_empty());
            }
        }
    }
}
