//! Tests reviews of changes to `YuniKorn`'s ConfigMaps.

use super::*;
use crate::admit::{Response, config_map};

/// Returns a cluster where everything is in order.
fn calm() -> Snapshot {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "bob")];
    settled(&snapshot).snapshot
}

fn changed(snapshot: &Snapshot, name: &str, new: Option<&ConfigMapState>) -> Response {
    config_map::admit(snapshot, "yunikorn", name, new)
}

fn base(text: &str) -> Arc<ConfigMapState> {
    map(YUNIKORN_DEFAULTS, &[(KEY, text)])
}

#[test]
fn texts_that_only_the_validator_takes_are_refused() {
    // The output's text is the one in force.
    for (text, words) in [
        (
            "partitions: [{name: default, queues: [{name: root, submitacl: 'a  b'}]}]",
            "more than one consecutive space",
        ),
        ("partitions: [{name: gpu, queues: [{name: root}]}]", "default"),
        ("partitions: [", "queues.yaml"),
    ] {
        let mut output = calm().output.unwrap();
        Arc::make_mut(&mut output).data.insert(KEY.into(), text.into());
        let answer = changed(&calm(), YUNIKORN_CONFIGS, Some(&output));
        assert!(answer.refusal.as_ref().is_some_and(|why| why.contains(words)), "{text}: {answer:?}");
    }
}

#[test]
fn shadowing_keys_are_refused_and_reported_where_they_are() {
    for key in ["queues.yaml.gz", "queues.yaml.bak"] {
        let mut output = calm().output.unwrap();
        let value = BinaryValue { len: 1, gunzipped: Some(BASE.into()) };
        Arc::make_mut(&mut output).binary.insert(key.into(), value);
        let answer = changed(&calm(), YUNIKORN_CONFIGS, Some(&output));
        assert!(answer.refusal.is_some_and(|why| why.contains(&format!("binaryData key `{key}`"))));
        let mut broken = calm();
        broken.output = Some(output.clone());
        Arc::make_mut(&mut output).annotations.insert("a".into(), "b".into());
        let answer = changed(&broken, YUNIKORN_CONFIGS, Some(&output));
        assert_eq!(answer.refusal, None, "half a repair is not in the way");
        assert!(answer.warnings[0].starts_with("still: "), "{answer:?}");
    }
}

/// A key that nothing reads is reported in the change that adds it, and not again.
#[test]
fn keys_that_nothing_reads_are_reported() {
    let set = |keys: &[(&str, &str)]| {
        let mut output = calm().output.unwrap();
        let entries = keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Arc::make_mut(&mut output).data.extend(entries);
        output
    };
    let typo = ("admissionController.accessControl.externalUser", "^livy$");
    let answer = changed(&calm(), YUNIKORN_CONFIGS, Some(&set(&[typo])));
    let [warning] = answer.warnings.as_slice() else { panic!("{answer:?}") };
    assert!(
        answer.refusal.is_none() && warning.contains("QW3045") && warning.contains("externalUsers"),
        "{warning}"
    );
    let mut before = calm();
    before.output = Some(set(&[typo]));
    let answer = changed(&before, YUNIKORN_CONFIGS, Some(&set(&[typo, ("notes.yaml", "a: [")])));
    assert_eq!((answer.refusal, answer.warnings.len()), (None, 0));
}

#[test]
fn settings_that_no_scheduler_can_read_are_refused() {
    let set = |value: &str| {
        let mut output = calm().output.unwrap();
        Arc::make_mut(&mut output).data.insert("service.schedulingInterval".into(), value.into());
        output
    };
    let answer = changed(&calm(), YUNIKORN_CONFIGS, Some(&set("5")));
    let refused = answer.refusal.unwrap();
    assert!(
        refused.contains("key service.schedulingInterval: QW3042: `5` is not a valid duration"),
        "{refused}"
    );
    assert_eq!(changed(&calm(), YUNIKORN_CONFIGS, Some(&set("5s"))).refusal, None);
    let mut broken = calm();
    broken.output = Some(set("5"));
    let answer = changed(&broken, YUNIKORN_CONFIGS, Some(&set("5")));
    assert!(answer.refusal.is_none() && answer.warnings[0].starts_with("still: key service"), "{answer:?}");
}

#[test]
fn a_trouble_that_has_moved_is_none_that_the_change_brings() {
    let text = |queues: &[&str]| {
        let queues: Vec<String> = queues
            .iter()
            .map(|name| format!("          - name: {name}\n            submitacl: 'sue  dev'\n"))
            .collect();
        format!(
            "partitions:\n  - name: default\n    queues:\n      - name: root\n        queues:\n{}",
            queues.concat()
        )
    };
    let mut broken = calm();
    let output = |text: String| {
        let mut output = calm().output.unwrap();
        Arc::make_mut(&mut output).data.insert(KEY.into(), text);
        output
    };
    broken.output = Some(output(text(&["a", "b"])));
    let changed = |queues: &[&str], head: &str| {
        changed(&broken, YUNIKORN_CONFIGS, Some(&output(format!("{head}{}", text(queues)))))
    };
    for (queues, head, line) in
        [(&["b"][..], "", ", line 7:"), (&["a", "b"], "# one more line\n", ", line 8:")]
    {
        let answer = changed(queues, head);
        assert_eq!(answer.refusal, None, "{queues:?}");
        assert!(answer.warnings[0].starts_with("still: ") && answer.warnings[0].contains(line), "{answer:?}");
    }
    let more = changed(&["a", "b", "c"], "");
    assert!(more.refusal.is_some_and(|why| why.contains(", line 11:")), "one more of the same kind");
}

#[test]
fn harmless_changes_and_those_of_others_are_let_through() {
    let snapshot = calm();
    let output = snapshot.output.clone().unwrap();
    let mut other = output.clone();
    Arc::make_mut(&mut other).data.insert("log.level".into(), "INFO".into());
    assert_eq!(changed(&snapshot, YUNIKORN_CONFIGS, Some(&other)), Response::default());
    assert_eq!(changed(&snapshot, "kube-root-ca.crt", Some(&base("a: ["))), Response::default());
    let elsewhere = config_map::admit(&snapshot, "default", YUNIKORN_CONFIGS, Some(&base("a: [")));
    assert_eq!(elsewhere, Response::default());
}

#[test]
fn our_own_writes_pass_without_a_word() {
    let mut snapshot = calm();
    let mut next = snapshot.clone();
    next.queue_acls.push(submit("b", "root.test", "tom"));
    next = settled(&next).snapshot;
    assert_ne!(text(&next), text(&snapshot));
    assert_eq!(changed(&snapshot, YUNIKORN_CONFIGS, next.output.as_deref()), Response::default());
    // A warning announces that another client's changes will be reverted.
    let mut foreign = snapshot.output.take().unwrap();
    snapshot.output = Some(foreign.clone());
    Arc::make_mut(&mut foreign).data.insert(KEY.into(), BASE.into());
    let answer = changed(&snapshot, YUNIKORN_CONFIGS, Some(&foreign));
    assert!(answer.warnings[0].contains("reverts this change"), "{answer:?}");
}

#[test]
fn what_is_changed_below_our_header_or_deleted_is_put_back() {
    let snapshot = calm();
    let mut edited = snapshot.output.clone().unwrap();
    let by_hand = text(&snapshot).replace("bob", "eve");
    assert_ne!(by_hand, text(&snapshot));
    Arc::make_mut(&mut edited).data.insert(KEY.into(), by_hand);
    for new in [Some(&*edited), None] {
        let answer = changed(&snapshot, YUNIKORN_CONFIGS, new);
        let expected = "queuewarden renders key `queues.yaml` and reverts this change: change ConfigMap yunikorn-defaults or QueueAcl objects instead";
        assert_eq!((answer.refusal, answer.warnings), (None, vec![expected.to_owned()]));
    }
}

#[test]
fn nothing_is_put_back_that_is_not_ours() {
    let snapshot = calm();
    let other = BASE.replace("sue dev", "ann");
    assert_eq!(changed(&snapshot, YUNIKORN_DEFAULTS, Some(&base(&other))), Response::default());
    // Another client has written this key, while queuewarden only observes.
    let mut observed = cluster(BASE);
    spec(&mut observed).mode = Mode::Observe;
    observed.output = Some(map(YUNIKORN_CONFIGS, &[(KEY, BASE)]));
    let observed = settled(&observed).snapshot;
    let answer = changed(&observed, YUNIKORN_CONFIGS, Some(&map(YUNIKORN_CONFIGS, &[(KEY, &other)])));
    assert_eq!(answer, Response::default());
}

#[test]
fn a_base_that_the_scheduler_does_not_read_is_decided_by_itself() {
    const OWN: &str = "acme-queues";
    let mut snapshot = cluster(BASE);
    spec(&mut snapshot).base_config_map = OWN.into();
    snapshot.base = Some(map(OWN, &[(KEY, BASE)]));
    let snapshot = settled(&snapshot).snapshot;
    let spaces = BASE.replace("sue dev", "sue  dev");
    let answer = changed(&snapshot, OWN, Some(&map(OWN, &[(KEY, &spaces)])));
    let start = "key queues.yaml of ConfigMap acme-queues, line 8: ";
    assert!(answer.refusal.as_ref().is_some_and(|why| why.starts_with(start)), "{answer:?}");
    let harmless = BASE.replace("sue dev", "ann");
    assert_eq!(changed(&snapshot, OWN, Some(&map(OWN, &[(KEY, &harmless)]))), Response::default());
    // Once another key is named, only that one is used.
    let mut keyed = snapshot.clone();
    spec(&mut keyed).base_key = Some("acme.yaml".into());
    let answer = |key: &str| changed(&keyed, OWN, Some(&map(OWN, &[("acme.yaml", BASE), (key, &spaces)])));
    assert_eq!(answer(KEY).refusal, None);
    let why = answer("acme.yaml").refusal.unwrap_or_default();
    assert!(why.starts_with("key acme.yaml of ConfigMap acme-queues, line 8: "), "{why}");
}

#[test]
fn a_base_that_the_output_hides_is_decided_by_itself() {
    let snapshot = calm();
    let answer = changed(&snapshot, YUNIKORN_DEFAULTS, Some(&base("partitions: [")));
    let start = "key queues.yaml of ConfigMap yunikorn-defaults, line 1: ";
    assert!(answer.refusal.as_ref().is_some_and(|why| why.starts_with(start)), "{answer:?}");
    // A problem of the text in force is reported once.
    let answer = changed(&cluster(BASE), YUNIKORN_DEFAULTS, Some(&base("partitions: [")));
    let why = answer.refusal.unwrap_or_default();
    assert!(why.starts_with("key queues.yaml, line 1: ") && !why.contains("of ConfigMap"), "{why}");
    // A problem of the text in force is not new if a good text hides it, or if it was hidden all along.
    let mut broken = cluster("partitions: [");
    let good = map(YUNIKORN_CONFIGS, &[(KEY, BASE)]);
    for _ in 0..2 {
        let answer = changed(&broken, YUNIKORN_CONFIGS, Some(&good));
        assert_eq!(answer.refusal, None);
        assert!(answer.warnings[0].starts_with(&format!("still: {start}")), "{answer:?}");
        broken.output = Some(map(YUNIKORN_CONFIGS, &[(KEY, &BASE.replace("sue dev", "ann"))]));
    }
}

#[test]
fn a_base_that_goes_away_is_reported() {
    const OWN: &str = "acme-queues";
    let mut own = cluster(BASE);
    spec(&mut own).base_config_map = OWN.into();
    own.base = Some(map(OWN, &[(KEY, BASE)]));
    let own = settled(&own).snapshot;
    for (snapshot, name, new, why) in [
        (&own, OWN, None, "ConfigMap yunikorn/acme-queues does not exist; create it"),
        (
            &own,
            OWN,
            Some(map(OWN, &[])),
            "ConfigMap yunikorn/acme-queues has no key `queues.yaml`; create it",
        ),
        (&own, OWN, Some(map(OWN, &[(KEY, "")])), "ConfigMap yunikorn/acme-queues has no key `queues.yaml`"),
        (
            &calm(),
            YUNIKORN_DEFAULTS,
            None,
            "ConfigMap yunikorn/yunikorn-defaults does not exist; it existed before",
        ),
    ] {
        let answer = changed(snapshot, name, new.as_deref());
        assert_eq!(answer.refusal, None);
        let expected = format!("no new grants are written, only withdrawals: {why}");
        assert!(answer.warnings.iter().any(|warning| warning.starts_with(&expected)), "{answer:?}");
        // Later changes do not repeat the warning.
        let mut gone = snapshot.clone();
        gone.base = new.clone();
        assert_eq!(changed(&gone, name, new.as_deref()).warnings, Vec::<String>::new());
    }
}

#[test]
fn the_way_to_the_built_in_default_is_reported() {
    let mut snapshot = cluster(BASE);
    snapshot.config.as_mut().unwrap().spec.as_mut().unwrap().mode = Mode::Observe;
    let answer = changed(&snapshot, YUNIKORN_DEFAULTS, None);
    assert_eq!(answer.refusal, None, "an uninstallation is not in the way");
    assert!(answer.warnings[0].contains("lets everyone submit everywhere"), "{answer:?}");
}
