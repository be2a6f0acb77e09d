//! One lookup: the messages to send, and what the server's messages mean (RFC 4511).
//!
//! As `YuniKorn`'s resolver, it binds, searches once, follows no referral and uses no pages. Other than
//! there, the answer has a bound.

use super::ber::{
    BOOLEAN, ENUMERATED, Elements, INTEGER, OCTETS, SEQUENCE, SET, Start, constructed, element, number, start,
};
use super::settings::Settings;
use super::{MEMBER_OF, groups, searchable};
use crate::identity::Refusal;
use go_compat::diag::{cut, quoted};

/// The most bytes of an answer. A thousand groups of one user have a hundred kilobytes.
const MAX_ANSWER: usize = 4 << 20;
/// The most characters of a server's message that are shown.
const MAX_MESSAGE: usize = 300;

const BIND: u32 = 1;
const SEARCH: u32 = 2;
const UNBIND: u32 = 3;

const BIND_REQUEST: u8 = 0x60;
const BIND_RESPONSE: u8 = 0x61;
const UNBIND_REQUEST: u8 = 0x42;
const SEARCH_REQUEST: u8 = 0x63;
const SEARCH_ENTRY: u8 = 0x64;
const SEARCH_DONE: u8 = 0x65;
const SEARCH_REFERENCE: u8 = 0x73;
const INTERMEDIATE: u8 = 0x79;

/// A lookup that has begun.
#[derive(Debug)]
pub struct Exchange<'a> {
    settings: &'a Settings,
    user: &'a str,
    /// The message that the server answers now.
    current: u32,
    /// Bytes that are no whole message yet.
    input: Vec<u8>,
    received: usize,
    /// The values of `memberOf` in all entries so far.
    values: Vec<String>,
}

/// The next step of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// More has to be received.
    Receive,
    /// These bytes are to be sent, then more has to be received.
    Send(Vec<u8>),
    /// The lookup is done: the user's groups, or `YuniKorn`'s refusal, or that it is not known.
    Done(Result<Vec<String>, Refusal>),
}

impl<'a> Exchange<'a> {
    /// Begins a lookup: returns it with the bytes to send first.
    ///
    /// # Errors
    /// [`Refusal::Undecided`] for a name that would change the filter.
    pub fn start(settings: &'a Settings, user: &'a str) -> Result<(Self, Vec<u8>), Refusal> {
        searchable(user)?;
        let bind = constructed(
            BIND_REQUEST,
            [
                element(INTEGER, &[3]),
                element(OCTETS, settings.bind_user.as_bytes()),
                element(0x80, settings.bind_password.as_bytes()),
            ],
        );
        let (input, values) = (Vec::new(), Vec::new());
        Ok((Self { settings, user, current: BIND, input, received: 0, values }, message(BIND, &bind)))
    }

    /// The bytes to send at the end, which closes the connection.
    pub fn unbind() -> Vec<u8> {
        message(UNBIND, &element(UNBIND_REQUEST, &[]))
    }

    /// Takes bytes that the server has sent.
    pub fn receive(&mut self, bytes: &[u8]) -> Step {
        self.input.extend(bytes);
        self.received = self.received.saturating_add(bytes.len());
        if self.received > MAX_ANSWER {
            return too_large();
        }
        let input = std::mem::take(&mut self.input);
        let mut rest = input.as_slice();
        loop {
            match start(rest) {
                _ if rest.first().is_some_and(|tag| *tag != SEQUENCE) => return unreadable(),
                Start::Cut(size) if size > MAX_ANSWER => return too_large(),
                Start::Cut(_) => break,
                Start::Element(_, content, behind) => {
                    rest = behind;
                    match self.message(content) {
                        Some(Step::Receive) => {}
                        Some(step) => return step,
                        None => return unreadable(),
                    }
                }
                Start::Wrong => return unreadable(),
            }
        }
        self.input = rest.to_vec();
        Step::Receive
    }

    /// Takes one message; `None` if it is none of those that may come here.
    fn message(&mut self, content: &[u8]) -> Option<Step> {
        let mut elements = Elements(content);
        let id = number(elements.take(INTEGER)?)?;
        let (operation, content) = elements.any()?;
        match (self.current, id, operation) {
            (BIND, BIND, BIND_RESPONSE) => match result(content)? {
                Ok(()) => {
                    self.current = SEARCH;
                    Some(Step::Send(message(SEARCH, &self.search())))
                }
                Err(refusal) => Some(Step::Done(Err(refusal))),
            },
            (SEARCH, SEARCH, SEARCH_ENTRY) => {
                self.values.extend(member_of(content)?);
                Some(Step::Receive)
            }
            (SEARCH, SEARCH, SEARCH_REFERENCE | INTERMEDIATE) => Some(Step::Receive),
            (SEARCH, SEARCH, SEARCH_DONE) => {
                Some(Step::Done(result(content)?.and_then(|()| groups(self.user, &self.values))))
            }
            _ => None,
        }
    }

    /// The search below the base: no alias is followed, and the server alone limits it.
    fn search(&self) -> Vec<u8> {
        const WHOLE_SUBTREE: u8 = 2;
        let settings = self.settings;
        let attributes = settings.attributes.iter().map(|name| element(OCTETS, name.as_bytes()));
        constructed(
            SEARCH_REQUEST,
            [
                element(OCTETS, settings.base.as_bytes()),
                element(ENUMERATED, &[WHOLE_SUBTREE]),
                element(ENUMERATED, &[0]),
                element(INTEGER, &[0]),
                element(INTEGER, &[0]),
                element(BOOLEAN, &[0]),
                settings.filter.encode(self.user),
                constructed(SEQUENCE, attributes),
            ],
        )
    }
}

fn message(id: u32, operation: &[u8]) -> Vec<u8> {
    // The identifiers here are small.
    let id = element(INTEGER, &[u8::try_from(id).unwrap_or(0)]);
    constructed(SEQUENCE, [id.as_slice(), operation])
}

fn too_large() -> Step {
    Step::Done(Err(Refusal::Undecided(format!("the LDAP server's answer has more than {MAX_ANSWER} bytes"))))
}

fn unreadable() -> Step {
    let why = "the LDAP server's answer is no answer to a bind or a search".to_owned();
    Step::Done(Err(Refusal::Undecided(why)))
}

/// The values of `memberOf` in an entry.
fn member_of(content: &[u8]) -> Option<Vec<String>> {
    let mut elements = Elements(content);
    elements.take(OCTETS)?;
    let mut attributes = Elements(elements.take(SEQUENCE)?);
    while !attributes.is_empty() {
        let mut attribute = Elements(attributes.take(SEQUENCE)?);
        let name = attribute.take(OCTETS)?;
        let mut values = Elements(attribute.take(SET)?);
        let mut found = Vec::new();
        while !values.is_empty() {
            found.push(String::from_utf8_lossy(values.take(OCTETS)?).into_owned());
        }
        if name == MEMBER_OF.as_bytes() {
            return Some(found);
        }
    }
    Some(Vec::new())
}

/// The result of an operation, with the message that `YuniKorn`'s client makes of it.
fn result(content: &[u8]) -> Option<Result<(), Refusal>> {
    let mut elements = Elements(content);
    let code = number(elements.take(ENUMERATED)?)?;
    elements.take(OCTETS)?;
    let text = String::from_utf8_lossy(elements.take(OCTETS)?).into_owned();
    if code == 0 {
        return Some(Ok(()));
    }
    // A terminal would obey control characters.
    let text =
        if text.chars().any(char::is_control) { quoted(&text) } else { cut(&text, MAX_MESSAGE).into_owned() };
    Some(Err(Refusal::Unresolved(format!("LDAP Result Code {code} \"{}\": {text}", name_of(code)))))
}

/// The names of results as `YuniKorn`'s client (go-ldap) spells them, for those that a bind or a search can
/// have. Another has none here.
fn name_of(code: u32) -> &'static str {
    match code {
        1 => "Operations Error",
        2 => "Protocol Error",
        3 => "Time Limit Exceeded",
        4 => "Size Limit Exceeded",
        7 => "Auth Method Not Supported",
        8 => "Strong Auth Required",
        10 => "Referral",
        11 => "Admin Limit Exceeded",
        12 => "Unavailable Critical Extension",
        13 => "Confidentiality Required",
        18 => "Inappropriate Matching",
        21 => "Invalid Attribute Syntax",
        32 => "No Such Object",
        33 => "Alias Problem",
        34 => "Invalid DN Syntax",
        36 => "Alias Dereferencing Problem",
        48 => "Inappropriate Authentication",
        49 => "Invalid Credentials",
        50 => "Insufficient Access Rights",
        51 => "Busy",
        52 => "Unavailable",
        53 => "Unwilling To Perform",
        54 => "Loop Detect",
        80 => "Other",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    fn settings() -> Settings {
        let files: BTreeMap<String, String> = [
            ("Host", "ldap"),
            ("Port", "389"),
            ("BaseDN", "dc=x"),
            ("Filter", "(uid=%s)"),
            ("GroupAttr", "memberOf"),
            ("ReturnAttr", "memberOf,cn"),
            ("BindUser", "cn=r"),
            ("BindPassword", "pw"),
        ]
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into();
        Settings::read(&files).unwrap().0
    }

    fn response(id: u8, operation: u8, code: u8, text: &str) -> Vec<u8> {
        let content = [element(ENUMERATED, &[code]), element(OCTETS, b""), element(OCTETS, text.as_bytes())];
        message(u32::from(id), &constructed(operation, content))
    }

    fn entry(attributes: &[(&str, &[&str])]) -> Vec<u8> {
        let attributes = attributes.iter().map(|(name, values)| {
            let values = constructed(SET, values.iter().map(|value| element(OCTETS, value.as_bytes())));
            constructed(SEQUENCE, [element(OCTETS, name.as_bytes()), values])
        });
        let content = [element(OCTETS, b"cn=sue,dc=x"), constructed(SEQUENCE, attributes)];
        message(SEARCH, &constructed(SEARCH_ENTRY, content))
    }

    /// Runs a lookup of `sue` against these messages after a successful bind.
    fn found(messages: &[Vec<u8>]) -> Step {
        let settings = settings();
        let (mut exchange, _) = Exchange::start(&settings, "sue").unwrap();
        assert!(matches!(exchange.receive(&response(1, BIND_RESPONSE, 0, "")), Step::Send(_)));
        exchange.receive(&messages.concat())
    }

    fn done() -> Vec<u8> {
        response(2, SEARCH_DONE, 0, "")
    }

    fn list(groups: &[&str]) -> Step {
        Step::Done(Ok(groups.iter().map(ToString::to_string).collect()))
    }

    #[test]
    fn requests_are_those_of_the_protocol() {
        let settings = settings();
        let (mut exchange, bind) = Exchange::start(&settings, "sue").unwrap();
        assert_eq!(bind, b"\x30\x12\x02\x01\x01\x60\x0d\x02\x01\x03\x04\x04cn=r\x80\x02pw");
        let search =
            b"\x30\x36\x02\x01\x02\x63\x31\x04\x04dc=x\x0a\x01\x02\x0a\x01\x00\x02\x01\x00\x02\x01\x00\
                       \x01\x01\x00\xa3\x0a\x04\x03uid\x04\x03sue\x30\x0e\x04\x08memberOf\x04\x02cn";
        assert_eq!(exchange.receive(&response(1, BIND_RESPONSE, 0, "")), Step::Send(search.to_vec()));
        assert_eq!(Exchange::unbind(), b"\x30\x05\x02\x01\x03\x42\x00");
        assert!(matches!(Exchange::start(&settings, "*"), Err(Refusal::Undecided(_))));
    }

    #[test]
    fn all_entries_count_and_nobody_found_is_a_group_of_the_own_name() {
        assert_eq!(found(&[done()]), list(&["sue"]));
        let devs = entry(&[("cn", &["sue"]), ("memberOf", &["CN=devs,DC=x", "CN=ops,DC=x"])]);
        assert_eq!(found(&[devs.clone(), done()]), list(&["sue", "devs", "ops"]));
        let other = entry(&[("memberOf", &["CN=qa"])]);
        let reference = message(SEARCH, &constructed(SEARCH_REFERENCE, [element(OCTETS, b"ldap://b")]));
        assert_eq!(found(&[devs, reference, other, done()]), list(&["sue", "devs", "ops", "qa"]));
        for attributes in
            [&[][..], &[("memberof", &["CN=devs"][..])], &[("memberOf;range=0-9", &["CN=devs"])]]
        {
            assert_eq!(found(&[entry(attributes), done()]), list(&["sue"]), "{attributes:?}");
        }
    }

    #[test]
    fn refusals_have_the_message_of_yunikorns_client() {
        let refused = |code: u32, text: &str, shown: &str| {
            let settings = settings();
            let (mut exchange, _) = Exchange::start(&settings, "sue").unwrap();
            let step = exchange.receive(&response(1, BIND_RESPONSE, u8::try_from(code).unwrap(), text));
            assert_eq!(step, Step::Done(Err(Refusal::Unresolved(shown.to_owned()))));
        };
        refused(49, "", "LDAP Result Code 49 \"Invalid Credentials\": ");
        refused(8, "use TLS", "LDAP Result Code 8 \"Strong Auth Required\": use TLS");
        refused(52, "a\u{1b}[2J", "LDAP Result Code 52 \"Unavailable\": `a\\u{1b}[2J`");
        refused(119, "", "LDAP Result Code 119 \"\": ");
        let step = found(&[entry(&[("memberOf", &["CN=devs"])]), response(2, SEARCH_DONE, 4, "")]);
        let refusal = Refusal::Unresolved("LDAP Result Code 4 \"Size Limit Exceeded\": ".to_owned());
        assert_eq!(step, Step::Done(Err(refusal)));
    }

    #[test]
    fn messages_may_arrive_in_pieces() {
        let messages = [entry(&[("memberOf", &["CN=devs"])]), done()].concat();
        let settings = settings();
        let (mut exchange, _) = Exchange::start(&settings, "sue").unwrap();
        exchange.receive(&response(1, BIND_RESPONSE, 0, ""));
        let (last, before) = messages.split_last().unwrap();
        for byte in before {
            assert_eq!(exchange.receive(&[*byte]), Step::Receive);
        }
        assert_eq!(exchange.receive(&[*last]), list(&["sue", "devs"]));
    }

    #[test]
    fn other_messages_and_too_much_are_not_decided() {
        let undecided = |step: &Step, reason: &str| {
            let Step::Done(Err(Refusal::Undecided(why))) = step else { panic!("{reason}: {step:?}") };
            assert!(why.contains(reason), "{why}");
        };
        for message in [
            b"HTTP/1.1 400 Bad Request\r\n".to_vec(),
            b"\x30\x80\0\0".to_vec(),
            b"\x30\x03\x02\x01\x02".to_vec(),
            response(1, SEARCH_DONE, 0, ""),
            response(3, SEARCH_DONE, 0, ""),
            response(2, BIND_RESPONSE, 0, ""),
            // A notice of disconnection.
            response(0, 0x78, 52, "bye"),
            message(SEARCH, &constructed(SEARCH_ENTRY, [element(OCTETS, b"cn=x"), element(SET, b"")])),
        ] {
            undecided(&found(&[message]), "is no answer");
        }
        undecided(&found(&[b"\x30\x84\x7f\xff\xff\xff".to_vec()]), "has more than");
        let much = entry(&[("memberOf", &["CN=devs"; 1000])]);
        undecided(&found(&vec![much; 500]), "has more than");
    }

    proptest! {
        #[test]
        fn no_answer_panics(bytes: Vec<u8>, tags in prop::collection::vec(
            prop::sample::select(vec![INTEGER, OCTETS, SEQUENCE, SET, SEARCH_ENTRY, SEARCH_DONE, 2, 3, 0x84]), 0..40
        )) {
            for bytes in [bytes, tags.clone(), message(SEARCH, &tags), message(SEARCH, &element(SEARCH_ENTRY, &tags))] {
                let _ = found(&[bytes]);
            }
        }
    }
}
