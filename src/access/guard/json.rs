//! The annotation's text, read strictly: `YuniKorn` takes keys in any case, the last of two, and any other key, so that what people
//! read in an object need not be what the scheduler reads.

use crate::model::admission::UserInfo;
use crate::text::diag::quoted;
use crate::text::go_json::{Token, Tokens};

/// What a text that is refused should have been.
pub(super) const FORM: &str = r#"{"user":"alice","groups":["devs"]}"#;

/// Reads the text.
///
/// # Errors
/// What is wrong with it, as the end of a sentence.
pub(super) fn read(text: &str) -> Result<UserInfo, String> {
    let mut tokens = Tokens::of(text).map_err(|error| format!("it is no JSON ({error})"))?;
    if tokens.next() != Some(Token::BeginObject) {
        return Err("it is no JSON object".to_owned());
    }
    let (mut user, mut groups) = (None, None);
    while let Some(Token::Text(key)) = tokens.next() {
        let Some(value) = tokens.next() else { break };
        let repeated = match key.as_str() {
            "user" => user.replace(user_of(value)?).is_some(),
            "groups" => groups.replace(groups_of(&value, &mut tokens)?).is_some(),
            other => {
                return Err(format!(
                    "it has the key {}, and only `user` and `groups` are any",
                    quoted(other)
                ));
            }
        };
        if repeated {
            return Err(format!("it has the key {} twice", quoted(&key)));
        }
    }
    let user: String = user.unwrap_or_default();
    if user.is_empty() {
        return Err("it names no user".to_owned());
    }
    Ok(UserInfo { user, groups: groups.unwrap_or_default() })
}

fn user_of(value: Token) -> Result<String, String> {
    match value {
        Token::Text(user) => Ok(user),
        other => Err(format!("its `user` is no string but {}", other.name())),
    }
}

fn groups_of(value: &Token, tokens: &mut Tokens<'_>) -> Result<Vec<String>, String> {
    if *value != Token::BeginArray {
        return Err(format!("its `groups` are no list but {}", value.name()));
    }
    let mut groups = Vec::new();
    loop {
        match tokens.next() {
            Some(Token::Text(group)) => groups.push(group),
            Some(Token::EndArray) | None => return Ok(groups),
            Some(other) => return Err(format!("one of its `groups` is no string but {}", other.name())),
        }
    }
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
            ("", "no JSON (unexpected end of JSON input)"),
            ("alice", "no JSON (invalid character 'a'"),
            (r#"{"user":"a"} x"#, "no JSON"),
            ("[]", "no JSON object"),
            ("null", "no JSON object"),
            ("{}", "names no user"),
            (r#"{"user":""}"#, "names no user"),
            (r#"{"groups":["devs"]}"#, "names no user"),
            (r#"{"User":"a"}"#, "the key `User`"),
            (r#"{"user":"a","uid":"1"}"#, "the key `uid`"),
            (r#"{"user":"a","user":"b"}"#, "the key `user` twice"),
            (r#"{"user":"a","groups":[],"groups":["x"]}"#, "the key `groups` twice"),
            (r#"{"user":1}"#, "no string but number"),
            (r#"{"user":null}"#, "no string but null"),
            (r#"{"user":["a"]}"#, "no string but array"),
            (r#"{"user":"a","groups":null}"#, "no list but null"),
            (r#"{"user":"a","groups":"devs"}"#, "no list but string"),
            (r#"{"user":"a","groups":[["devs"]]}"#, "no string but array"),
            (r#"{"user":"a","groups":[null]}"#, "no string but null"),
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
