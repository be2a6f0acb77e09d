//! Tests the oracle itself with known answers of `YuniKorn` 1.8.0, so that results are not compared with
//! another version by accident.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use k8s_openapi::ByteString;
use queuewarden_e2e::Oracle;
use queuewarden_e2e::oracle::{
    AccessQuery, AccessQuestion, AclQuestion, AdmissionQuestion, ConfigMapData, ConfigMaps, ConfigQuestion,
    DEADLOCK, RegexQuestion, Subject, YamlQuestion, YamlTarget,
};
use queuewarden_e2e::yunikorn::checksum;

const ROOT: &str = "partitions:\n  - name: default\n    queues:\n      - name: root\n";

fn subject(user: &str, groups: &[&str]) -> Subject {
    Subject { user: user.to_owned(), groups: groups.iter().map(|&group| group.to_owned()).collect() }
}

#[test]
fn acls_have_two_parsers() -> Result<()> {
    let question =
        |acl: &str| AclQuestion { acl: acl.to_owned(), subjects: vec![subject("alice", &["devs"])] };
    let answers = Oracle::get()?.acl(&[
        question("alice  devs"),
        question("bob devs,de.vs"),
        question("* *"),
        question("é\t\u{7f}"),
    ])?;
    ensure!(answers[0].validate_error.is_empty());
    ensure!(answers[0].newacl_error == "multiple spaces found in ACL: 'alice  devs'");
    ensure!(
        (&answers[1].users[..], &answers[1].groups[..])
            == (&["bob".to_owned()][..], &["devs".to_owned()][..])
    );
    ensure!(answers[1].access == [true]);
    ensure!(answers[2].all_allowed);
    ensure!(answers[3].users.is_empty() && answers[3].panic.is_empty());
    Ok(())
}

#[test]
fn hundred_thousand_acls_take_seconds() -> Result<()> {
    let questions: Vec<AclQuestion> = (0..100_000)
        .map(|i| AclQuestion { acl: format!("user{i} group{i}"), subjects: vec![subject("user7", &[])] })
        .collect();
    let oracle = Oracle::get()?;
    let start = Instant::now();
    let answers = oracle.acl(&questions)?;
    ensure!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
    ensure!(answers.iter().filter(|answer| answer.access == [true]).count() == 1);
    Ok(())
}

#[test]
fn configurations_are_validated_started_and_reloaded() -> Result<()> {
    let question = |text: &str| ConfigQuestion { text: text.to_owned(), from: String::new() };
    let strict = format!("{ROOT}        submitacl: 'a  b'\n");
    let answers = Oracle::get()?.config(&[
        question(ROOT),
        question(&strict),
        question("# nothing\n"),
        question(&ROOT.replace("- name: root", "- name: Root")),
        question(&ROOT.replace("    queues", "    placementrules: [{name: nope}]\n    queues")),
        question("partitions: 3"),
        question(&ROOT.replace("    queues", "    nodesortpolicy: {resourceweights: {x: .inf}}\n    queues")),
        question(""),
    ])?;
    let errors: Vec<[&str; 3]> = answers
        .iter()
        .map(|answer| [&answer.validate_error, &answer.start_error, &answer.reload_error].map(String::as_str))
        .collect();
    let spaces = "configured queue creation failed: \nmultiple spaces found in ACL: 'a  b'";
    let no_root = "partition cannot be created without root queue";
    let unknown = "unknown rule name specified nope, failing placement rule config";
    ensure!(errors[0] == ["", "", ""] && errors[7] == ["", "", ""]);
    ensure!(errors[1] == ["", spaces, spaces]);
    ensure!(errors[2] == ["", "", DEADLOCK], "{:?}", errors[2]);
    ensure!(errors[3] == ["", no_root, no_root]);
    ensure!(errors[4] == ["", "", unknown]);
    ensure!(errors[5].iter().all(|error| error.contains("cannot unmarshal !!int")));
    ensure!(answers[6].config.get("unspeakable").is_some() && errors[6] == ["", "", ""], "{:?}", answers[6]);
    ensure!(answers[0].checksum == checksum(ROOT));
    ensure!(answers[0].config.pointer("/Partitions/0/Queues/0/Name").is_some_and(|name| name == "root"));
    ensure!(answers[0].rules["[oracle]default"] == ["provided", "recovery"], "{:?}", answers[0].rules);
    Ok(())
}

#[test]
fn a_reload_starts_from_the_given_configuration() -> Result<()> {
    let gpu = "partitions:\n  - name: gpu\n    queues:\n      - name: root\n";
    let both = format!("{ROOT}{}", gpu.trim_start_matches("partitions:\n"));
    let answers = Oracle::get()?.config(&[
        ConfigQuestion { text: both.clone(), from: ROOT.to_owned() },
        ConfigQuestion { text: ROOT.to_owned(), from: both },
    ])?;
    ensure!(answers[0].reload_error.is_empty());
    ensure!(answers[1].reload_error == DEADLOCK);
    Ok(())
}

#[test]
fn access_and_placement() -> Result<()> {
    let query = |subject: Subject, queue: &str| AccessQuery {
        subject,
        queue: queue.to_owned(),
        tags: BTreeMap::new(),
    };
    let text = format!("{ROOT}        queues:\n          - name: prod\n            adminacl: ' devs'\n");
    let answers = Oracle::get()?.access(&[AccessQuestion {
        text,
        queries: vec![
            query(subject("alice", &["devs"]), "root.prod"),
            query(subject("devs", &[]), "root.prod.deeper"),
            query(subject("bob", &["ops"]), "root.prod"),
            query(subject("", &[]), "root.prod"),
        ],
    }])?;
    let [alice, devs, bob, nobody] = &answers[0].decisions[..] else { anyhow::bail!("{answers:?}") };
    ensure!(alice.submit && alice.admin && alice.leaf && alice.exists && alice.placed == "root.prod");
    ensure!(devs.groups == ["devs"] && devs.submit && !devs.exists && devs.nearest == "root.prod");
    ensure!(!bob.submit && bob.placed_error.ends_with("application rejected: no placement rule matched"));
    ensure!(nobody.user_error == "empty user cannot resolve");
    Ok(())
}

#[test]
fn panic_in_yunikorn_is_an_answer() -> Result<()> {
    // A fixed rule's value that begins with `root` but not with `root.`: placement.go:156 slices out of
    // bounds.
    let rule = "    placementrules: [{name: fixed, value: rootfoo, create: true}]\n    queues";
    let query = AccessQuery {
        subject: subject("alice", &["devs"]),
        queue: "root.x".to_owned(),
        tags: BTreeMap::new(),
    };
    let answers = Oracle::get()?
        .access(&[AccessQuestion { text: ROOT.replace("    queues", rule), queries: vec![query] }])?;
    ensure!(answers[0].panic.contains("slice bounds out of range"), "{:?}", answers[0]);
    Ok(())
}

#[test]
fn regular_expressions_are_split_and_unanchored() -> Result<()> {
    let question = |patterns: &str| RegexQuestion {
        patterns: patterns.to_owned(),
        subjects: vec!["admin".to_owned(), "not-admin".to_owned()],
    };
    let answers = Oracle::get()?.regex(&[question("^admin$, x{1,3}"), question("admin"), question("a**")])?;
    ensure!(answers[0].parts == ["^admin$", "x{1", "3}"] && answers[0].matches == [true, false]);
    ensure!(answers[1].matches == [true, true] && answers[1].each == [[true, true]]);
    ensure!(answers[2].error.contains("invalid nested repetition operator") && answers[2].parts.is_empty());
    Ok(())
}

#[test]
fn yaml_is_decoded_as_yunikorn_does() -> Result<()> {
    let question = |into, text: &str| YamlQuestion { text: text.to_owned(), into };
    let answers = Oracle::get()?.yaml(&[
        question(YamlTarget::Queue, "name: ~\nparent: yes\nsubmitacl: 0x10\n"),
        question(YamlTarget::Queue, "submitACL: x\n"),
        question(YamlTarget::Nodes, "a: &x 'b' # c\n---\nd: e\n"),
        question(YamlTarget::Config, "# nothing\n"),
    ])?;
    ensure!(
        answers[0].value["Parent"] == true && answers[0].value["SubmitACL"] == "0x10",
        "{:?}",
        answers[0]
    );
    ensure!(answers[1].error.contains("field submitACL not found in type configs.QueueConfig"));
    let scalar = &answers[2].value["children"][0]["children"][1];
    ensure!((&scalar["style"], &scalar["anchor"]) == (&"single".into(), &"x".into()));
    ensure!(answers[3].empty);
    Ok(())
}

#[test]
fn config_maps_are_merged_by_key() -> Result<()> {
    let data = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    let key = "admissionController.accessControl.bypassAuth";
    let maps = ConfigMaps {
        defaults: Some(ConfigMapData {
            data: data(&[("queues.yaml", "x"), (key, "true")]),
            ..ConfigMapData::default()
        }),
        configs: Some(ConfigMapData {
            data: data(&[(key, "yes")]),
            binary_data: BTreeMap::from([("queues.yaml.bak".to_owned(), ByteString(b"y".to_vec()))]),
        }),
    };
    let oracle = Oracle::get()?;
    let flat = oracle.flatten(std::slice::from_ref(&maps))?;
    ensure!(flat[0]["queues.yaml"].is_empty() && flat[0][key] == "yes");
    let subjects =
        vec![subject("system:serviceaccount:kube-system:job-controller", &[]), subject("alice", &["devs"])];
    let answers = oracle.admission(&[AdmissionQuestion { maps, subjects }])?;
    ensure!(!answers[0].bypass_auth && answers[0].trust_controllers && answers[0].allowed == [true, false]);
    ensure!(answers[0].system_users == ["^system:serviceaccount:kube-system:"]);
    Ok(())
}
