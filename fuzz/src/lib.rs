//! Checks properties that hold for every input: nothing panics, nothing hangs, and what is read and written
//! again means the same.
//!
//! Each function takes bytes and panics when a property does not hold. `fuzz_targets` gives them to
//! libFuzzer, which looks for bytes that reach new code (`just fuzz`, for hours); `tests/corpus.rs` gives
//! them known inputs and changed versions of those (in every test run).

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "to panic is what these are for"
)]

use go_compat::go_regex::GoRegex;
use go_compat::yaml::edit::{Edit, Step, apply};
use go_compat::yaml::parse;
use queuewarden_api::review::{ReviewKind, access, admission, envelope, submission, user_info};
use queuewarden_import::yarn::{Files, Source};
use serde_json::Value;
use yunikorn::acl;
use yunikorn::admission::conf::AccessControl;
use yunikorn::admission::conf::Conf;
use yunikorn::admission::evaluate::evaluate;
use yunikorn::admission::request::Surroundings;
use yunikorn::application::Reading;
use yunikorn::config::verdict;
use yunikorn::identity::{Identity, ResolverKind};
use yunikorn::right::Right;
use yunikorn::version::Version;
use yunikorn_access::decide::{decide, explain};
use yunikorn_access::review::{AccessRequest, answer};
use yunikorn_access::running::joins::Running;
use yunikorn_access::tree::Scheduler;
use yunikorn_access::{Tree, user_info as policy};

/// Returns the bytes as text, if they are. Every endpoint checks that first.
fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// Checks an ACL: if it activates, its printed form validates, activates and means the same, and grants never
/// more than everyone has.
pub fn acl(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let _ = (acl::validates(text), acl::lint(text));
    let Ok(read) = acl::parse(text) else {
        assert!(acl::activates(text).is_err(), "read, or refused, and not both");
        return;
    };
    let canonical = read.canonical();
    assert_eq!(acl::parse(&canonical).as_ref(), Ok(&read), "{canonical:?} means what {text:?} means");
    assert!(acl::validates(&canonical).is_ok(), "{canonical:?} validates");
    assert_eq!(read.union(&read), read);
    for entry in read.entries() {
        assert!(read.has(entry));
    }
}

/// Checks a queues.yaml: it is validated without a panic, and a change of one ACL changes that ACL and
/// nothing else that decides.
pub fn yaml(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let decided = verdict(text, &[], Version::V1_8);
    let Some(config) = decided.config else { return };
    for partition in &config.partitions {
        let Ok(tree) = Tree::new(partition) else { continue };
        let sue = Identity { user: "sue".to_owned(), groups: vec!["dev".to_owned()] };
        for (_, node) in tree.queues().take(8) {
            for right in Right::ALL {
                let queue = node.path.as_str();
                let allowed = decide(&tree, right, queue, &sue).allowed();
                assert_eq!(explain(&tree, right, queue, &sue).granted_by().is_some(), allowed, "{queue}");
            }
        }
    }
    let path =
        vec![Step::Key("partitions".into()), Step::Index(0), Step::Key("queues".into()), Step::Index(0)];
    let edit = Edit { path, key: "submitacl".to_owned(), value: "sue  'q' dev".to_owned() };
    if let Ok(edited) = apply(text, std::slice::from_ref(&edit)) {
        assert!(parse(&edited).is_ok(), "{edited:?} is YAML");
        assert_eq!(
            apply(&edited, &[edit]).as_deref(),
            Ok(edited.as_str()),
            "what is written is not written again"
        );
    }
}

/// Checks a regular expression, a line end and a text: it is compiled within bounds, and matched in time.
pub fn regex(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let (pattern, subject) = text.split_once('\n').unwrap_or((text, ""));
    match GoRegex::new(pattern) {
        Ok(regex) => {
            assert_eq!(regex.as_str(), pattern);
            let _ = (regex.is_match(subject), regex.is_closed(), regex.has_split_anchors());
        }
        Err(refusal) => assert!(refusal.is_error()),
    }
}

/// Checks the body of an `AdmissionReview`, at every endpoint that reads one.
pub fn admission(data: &[u8]) {
    let Ok(request) = envelope::AdmissionRequest::read(data) else { return };
    if let Ok(read) = admission::read(&request) {
        let (conf, _) = Conf::from_keys(&std::collections::BTreeMap::new(), Version::V1_8);
        let evaluation = evaluate(&read, &Surroundings::default(), &conf);
        let response = admission::response(&request.uid, &evaluation);
        assert!(response["allowed"].is_boolean());
    }
    assert_eq!(envelope::response(&request.uid, Some("no"), &[])["response"]["allowed"], false);
    let _ = submission::read(&request);
    if let Ok(asked) = user_info::read(&request, &[]) {
        let (access, _) = AccessControl::from_keys(&std::collections::BTreeMap::new());
        let (running, granted) = (Running::default(), std::collections::BTreeSet::new());
        for moment in [policy::Moment::Mutating, policy::Moment::Final] {
            let evaluated = asked.at(&request, &running, &granted, moment);
            let decision = policy::decide(&evaluated, &access);
            let patch = user_info::patch(&asked, &decision);
            assert!(moment == policy::Moment::Mutating || patch.is_empty(), "at the end nothing is changed");
            let response = user_info::response(&request.uid, &asked, &decision, policy::Mode::Enforce);
            assert!(response["response"]["allowed"].is_boolean());
        }
    }
}

const QUEUES: &str = "partitions: [{name: default, queues: [{name: root, adminacl: ann, queues: [{name: prod, submitacl: 'sue devs'}]}]}]\n";

/// Checks the body of a `SubjectAccessReview` and its variants: it is answered, and never allowed to a caller
/// without a name.
pub fn access_review(data: &[u8]) {
    let Ok(body) = serde_json::from_slice::<Value>(data) else { return };
    let config = verdict(QUEUES, &[], Version::V1_8).config.expect("these are queues");
    let tree = Tree::new(&config.partitions[0]).expect("and they are active");
    let scheduler = Scheduler { tree: &tree, resolver: &ResolverKind::None, version: Version::V1_8 };
    let caller = Identity { user: "sue".to_owned(), groups: vec!["devs".to_owned()] };
    let Ok(review) = access::SubjectAccessReview::read(&body) else { return };
    for kind in [ReviewKind::Subject, ReviewKind::Local, ReviewKind::Own] {
        let Ok(user) = review.user(kind, Some(&caller)) else { continue };
        let answer = match review.action(false) {
            Ok(action) => answer(&AccessRequest { partition: "default", user, action }, None, scheduler),
            Err(elsewhere) => elsewhere,
        };
        assert!(!(answer.allowed() && answer.denied()));
        assert!(!(answer.allowed() && user.user.is_empty()), "{body}");
        assert!(access::filled(body.clone(), &answer)["status"]["allowed"].is_boolean());
    }
}

/// Checks an allocation file or a Hadoop configuration: it is read as either, as the scheduler's file and as
/// the site.
pub fn xml(data: &[u8]) {
    let Some(text) = text(data) else { return };
    for reading in [Reading::Hadoop, Reading::Cloudera] {
        let wanted = Files {
            reading,
            scheduler: (0, text),
            site: Some((1, text)),
            mapred: Some((2, text)),
            defined: &[],
            core: &[],
            name: "",
        };
        let _ = (Source::fair(wanted, &mut Vec::new()), Source::capacity(wanted, &mut Vec::new()));
    }
}
