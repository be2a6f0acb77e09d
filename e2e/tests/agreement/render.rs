//! Compares the configuration that queuewarden renders, as parsed by `YuniKorn`: exactly one ACL changes, as
//! intended.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use queuewarden_e2e::Oracle;
use queuewarden_e2e::oracle::{ConfigAnswer, ConfigQuestion};
use queuewarden_plan::snapshot::{
    BaseAcl, ConfigMapState, ConfigSpec, Entry, Grant, Meta, Observed, QueueAclSpec, Snapshot,
    YUNIKORN_DEFAULTS,
};
use queuewarden_plan::{Plan, plan};
use serde_json::Value;
use yunikorn::config::{Queue, contains_checksum_marker, verdict};
use yunikorn::version::Version;

use super::config::ask;
use super::oracles;
use super::samples::texts;

const GRANTED: &str = "sue devs";

/// Samples that `YuniKorn` accepts, but where queuewarden refuses to set a queue's ACL, with the diagnostic's
/// code.
const REFUSED: [(&str, &str, &str); 2] = [
    // The value to set belongs to an anchor, so it is the value of other queues too.
    ("anchors-shared-acl.yaml", "root.north", "QW2004"),
    ("yunikorn/anchor-merge.yaml", "root", "QW2004"),
];

/// A sample with a `QueueAcl` for one of its queues.
struct Case {
    name: String,
    before: ConfigAnswer,
    base: String,
    queue: String,
    rendered: String,
}

#[test]
fn one_queue_acl_changes_one_value_of_every_sample() -> Result<()> {
    oracles()?.into_iter().try_for_each(|(version, oracle)| changes_one_value(oracle, version))
}

fn changes_one_value(oracle: &Oracle, version: Version) -> Result<()> {
    let texts = texts();
    let mut cases = Vec::new();
    let answers = ask(oracle, &texts.values().cloned().collect::<Vec<_>>())?;
    for ((name, text), before) in texts.iter().zip(answers) {
        let accepted = [&before.validate_error, &before.start_error, &before.reload_error]
            .iter()
            .all(|error| error.is_empty());
        // Nothing is written over a base that hides the text after a checksum from the scheduler.
        if accepted && !text.is_empty() && !contains_checksum_marker(text) {
            cases.extend(grants(name, text, &before, version)?);
        }
    }
    ensure!(cases.len() > 80, "only {} queues", cases.len());

    let questions: Vec<ConfigQuestion> = cases
        .iter()
        .map(|case| ConfigQuestion { text: case.rendered.clone(), from: case.base.clone() })
        .collect();
    for (case, after) in cases.iter().zip(oracle.config(&questions)?) {
        let label = format!("{} with a grant for {}", case.name, case.queue);
        let errors = [&after.validate_error, &after.start_error, &after.reload_error];
        ensure!(errors.iter().all(|error| error.is_empty()), "{label}: {errors:?}\n{}", case.rendered);
        let mut expected = case.before.config.clone();
        *submit_acl(&mut expected, &case.queue).with_context(|| label.clone())? = GRANTED.into();
        ensure!(same(&expected, &after.config), "{label}: {} became {}", case.before.config, after.config);
    }
    println!("{version}: {} queues", cases.len());
    Ok(())
}

/// Returns a case for each queue of partition `default` whose ACL can be set.
fn grants(name: &str, text: &str, before: &ConfigAnswer, version: Version) -> Result<Vec<Case>> {
    let config = verdict(text, &["default"], version)
        .config
        .with_context(|| format!("the model does not read {name}"))?;
    let partition =
        config.partition("default").with_context(|| format!("{name} has no partition default"))?;
    let mut cases = Vec::new();
    for queue in partition.queues() {
        let path = queue.path.to_string();
        let plan = plan(&snapshot(text, &path, version));
        let refusal = REFUSED.iter().find(|(sample, queue, _)| *sample == name && *queue == path);
        let rendered = plan.rendered.as_ref().map(|rendered| rendered.text.clone());
        let rendered = rendered.with_context(|| format!("{name}, {path}: nothing is rendered: {plan:#?}"))?;
        if let Some((.., code)) = refusal {
            ensure!(messages(&plan).any(|message| message.contains(code)), "{name}, {path}: {plan:#?}");
        }
        // Setting one of several queues that share their lines would set all of them, so it is refused.
        if settable(queue) && refusal.is_none() {
            cases.push(Case {
                name: name.to_owned(),
                before: before.clone(),
                base: text.to_owned(),
                queue: path,
                rendered,
            });
        } else {
            let after = verdict(&rendered, &["default"], version)
                .config
                .context("what is rendered does not validate")?;
            let after = after
                .partition("default")
                .and_then(|partition| partition.queue(&queue.path))
                .context("the queue is gone")?;
            ensure!(after.submit_acl.value == queue.submit_acl.value, "{name}: {path} was changed");
        }
    }
    Ok(cases)
}

fn messages(plan: &Plan) -> impl Iterator<Item = &str> {
    let conditions = plan.queue_acls.values().flat_map(|status| status.conditions.iter());
    conditions.map(|condition| condition.message.as_str())
}

fn settable(queue: &Queue) -> bool {
    queue.location.as_ref().is_some_and(|location| !location.shared)
}

fn snapshot(base: &str, queue: &str, version: Version) -> Snapshot {
    let grant = QueueAclSpec {
        partition: "default".to_owned(),
        queue: queue.to_owned(),
        submit: Some(Grant::Lists { users: vec!["sue".to_owned()], groups: vec!["devs".to_owned()] }),
        admin: None,
        base_acl: BaseAcl::Replace,
        not_before: None,
        expires_at: None,
        suspend: false,
        delegated_by: None,
    };
    let defaults = Arc::new(ConfigMapState {
        name: YUNIKORN_DEFAULTS.to_owned(),
        data: BTreeMap::from([("queues.yaml".to_owned(), base.to_owned())]),
        ..ConfigMapState::default()
    });
    Snapshot {
        now: Timestamp::UNIX_EPOCH,
        config: Some(entry("default", ConfigSpec { version: Some(version), ..ConfigSpec::default() })),
        queue_acls: vec![Arc::new(entry("grant", grant))],
        policies: Vec::new(),
        access_tests: Vec::new(),
        defaults: Some(Arc::clone(&defaults)),
        base: Some(defaults),
        output: None,
        last_base: None,
        mirror: None,
        observed: Observed::default(),
    }
}

fn entry<S, M>(name: &str, spec: S) -> Entry<S, M> {
    Entry { meta: Meta { name: name.into(), ..Meta::default() }, spec: Ok(spec), in_force: None }
}

/// Returns a queue's submit ACL in `YuniKorn`'s JSON, adding it if it is empty.
fn submit_acl<'a>(config: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let partitions = config.get_mut("Partitions")?.as_array_mut()?;
    let mut level = partitions.iter_mut().find(|partition| partition["Name"] == "default")?;
    for wanted in path.split('.') {
        let queues = level.get_mut("Queues")?.as_array_mut()?;
        level = queues
            .iter_mut()
            .find(|queue| queue["Name"].as_str().is_some_and(|name| name.eq_ignore_ascii_case(wanted)))?;
    }
    Some(level.as_object_mut()?.entry("SubmitACL").or_insert(Value::Null))
}

/// Returns whether both are equal except for the checksum of the text.
fn same(one: &Value, other: &Value) -> bool {
    let fields = |config: &Value| {
        config.as_object().map(|fields| {
            fields
                .iter()
                .filter(|(key, _)| *key != "Checksum")
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect::<Vec<_>>()
        })
    };
    fields(one) == fields(other)
}
