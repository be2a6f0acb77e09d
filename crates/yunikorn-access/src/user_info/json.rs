//! Reads the annotation's text strictly. `YuniKorn` takes keys in any case, the last of two, and any other
//! key, so a person who reads an object could see another user than the scheduler.

use serde::Deserialize;

use yunikorn::admission::UserInfo;

/// An example of the form that is expected, for messages.
pub(super) const FORM: &str = r#"{"user":"alice","groups":["devs"]}"#;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Strict {
    user: String,
    groups: Vec<String>,
}

/// Reads the annotation's text.
///
/// # Errors
/// The error, as the end of a sentence.
pub(super) fn read(text: &str) -> Result<UserInfo, String> {
    // The decoder would also accept a list of the two values.
    if !text.trim_ascii_start().starts_with('{') {
        return Err("it is no JSON object".to_owned());
    }
    let Strict { user, groups } =
        serde_json::from_str(text).map_err(|error| format!("it cannot be taken: {error}"))?;
    if user.is_empty() {
        return Err("it names no user".to_owned());
    }
    Ok(UserInfo { user, groups })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_what_everybody_reads_alike_is_read() {
        for text in [FORM, r#" { "groups" : [ ] , "user" : "a" } "#, r#"{"user":"a"}"#] {
            let info = read(text).unwrap();
            assert_eq!(UserInfo::read(text), Ok(info), "{text}");
        }
        for (text, why) in [
            ("", "no JSON object"),
            ("alice", "no JSON object"),
            (r#"["a",[]]"#, "no JSON object"),
            ("null", "no JSON object"),
            (r#"{"user":"a"} x"#, "trailing characters"),
            ("{}", "names no user"),
            (r#"{"user":""}"#, "names no user"),
            (r#"{"groups":["devs"]}"#, "names no user"),
            (r#"{"User":"a"}"#, "unknown field `User`, expected `user` or `groups` at line 1 column 7"),
            (r#"{"user":"a","uid":"1"}"#, "unknown field `uid`"),
            (r#"{"user":"a","user":"b"}"#, "duplicate field `user`"),
            (r#"{"user":"a","groups":[],"groups":["x"]}"#, "duplicate field `groups`"),
            (r#"{"user":"a\ud800"}"#, "hex escape"),
            (r#"{"user":1}"#, "integer `1`, expected a string"),
            (r#"{"user":null}"#, "null, expected a string"),
            (r#"{"user":["a"]}"#, "sequence, expected a string"),
            (r#"{"user":"a","groups":null}"#, "null, expected a sequence"),
            (r#"{"user":"a","groups":"devs"}"#, "string \"devs\", expected a sequence"),
            (r#"{"user":"a","groups":[["devs"]]}"#, "sequence, expected a string"),
            (r#"{"user":"a","groups":[null]}"#, "null, expected a string"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(user in r"\PC{1,8}", groups in prop::collection::vec(r"\PC{0,8}", 0..4)) {
            let info = UserInfo { user, groups };
            prop_assert_eq!(read(&info.write()), Ok(info));
        }

        #[test]
        fn what_is_read_is_what_yunikorn_reads(text in r#"[{}\[\]",:usergopnlUa\\ 0-9]{0,40}|\{"user":"[a-z\\u0-9]{0,9}"(,"groups":\["[a-z]","\PC"\])?\}"#) {
            if let Ok(info) = read(&text) {
                prop_assert_eq!(UserInfo::read(&text), Ok(info));
            }
        }
    }
}
