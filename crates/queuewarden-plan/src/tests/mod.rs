//! Tests plans for small clusters: the writes, and the statuses.

mod access_tests;
mod admit;
mod admit_others;
mod adoption;
mod ahead;
mod aliases;
mod base;
mod delegation;
mod entries;
mod guard;
mod history;
mod load;
mod machine;
mod objects;
mod policies;
mod promise;
mod properties;
mod timeline;
mod truth;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::conditions::{Condition, Status};
use crate::plan::{Plan, plan};
use crate::simulate::{Settled, settle};
use crate::snapshot::*;
use yunikorn::config::{self, Config};
use yunikorn::queue::QueuePath;
use yunikorn::version::Version;

/// A closed tree of two teams.
const BASE: &str = "\
# The queues of Acme.
partitions:
  - name: default
    queues:
      - name: root
        queues:
          - name: prod
            submitacl: 'sue dev' # the old ones
            queues:
              - name: etl
          - name: test
            adminacl: ' qa'
";

const KEY: &str = "queues.yaml";

fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

fn map(name: &str, data: &[(&str, &str)]) -> Arc<ConfigMapState> {
    Arc::new(ConfigMapState {
        name: name.into(),
        uid: format!("uid-{name}"),
        resource_version: "1".into(),
        data: data.iter().map(|(key, value)| ((*key).to_string(), (*value).to_string())).collect(),
        ..ConfigMapState::default()
    })
}

/// Returns the map with every key owned by `manager`.
fn owned_by(mut map: Arc<ConfigMapState>, manager: &str) -> Arc<ConfigMapState> {
    let owner = KeyOwner { manager: manager.into(), operation: "Update".into() };
    let owners = map.data.keys().map(|key| (key.clone(), vec![owner.clone()])).collect();
    Arc::make_mut(&mut map).owners = owners;
    map
}

fn entry<S, M>(name: &str, spec: S) -> Entry<S, M> {
    let meta =
        Meta { name: name.into(), uid: format!("uid-{name}").into(), generation: 1, ..Meta::default() };
    Entry { meta, spec: Ok(spec), in_force: None }
}

/// A cluster whose base is `base`, with nothing else in it.
fn cluster(base: &str) -> Snapshot {
    let defaults = map(YUNIKORN_DEFAULTS, &[(KEY, base)]);
    Snapshot {
        config: Some(entry("default", ConfigSpec::default())),
        defaults: Some(defaults.clone()),
        base: Some(defaults),
        ..Snapshot::empty(now())
    }
}

fn spec(snapshot: &mut Snapshot) -> &mut ConfigSpec {
    snapshot.config.as_mut().unwrap().spec.as_mut().unwrap()
}

/// A `QueueAcl` that sets submit to a raw ACL.
fn submit(name: &str, queue: &str, acl: &str) -> Arc<QueueAclEntry> {
    Arc::new(entry(
        name,
        QueueAclSpec {
            partition: "default".into(),
            queue: queue.into(),
            submit: Some(Grant::Raw(acl.into())),
            admin: None,
            base_acl: BaseAcl::Replace,
            not_before: None,
            expires_at: None,
            suspend: false,
            delegated_by: None,
        },
    ))
}

/// The spec of an object that can be read.
fn spec_of(object: &mut Arc<QueueAclEntry>) -> &mut QueueAclSpec {
    Arc::make_mut(object).spec.as_mut().unwrap()
}

fn with(mut object: Arc<QueueAclEntry>, change: impl FnOnce(&mut QueueAclSpec)) -> Arc<QueueAclEntry> {
    change(spec_of(&mut object));
    object
}

fn settled(snapshot: &Snapshot) -> Settled {
    settle(snapshot.clone())
}

fn text(snapshot: &Snapshot) -> &str {
    snapshot.output.as_deref().and_then(|output| output.data.get(KEY)).map_or("", String::as_str)
}

fn tree(snapshot: &Snapshot) -> Config {
    config::verdict(text(snapshot), &[], Version::V1_8).config.expect("the output activates")
}

/// The submit ACL in the output, as written.
fn submit_of(snapshot: &Snapshot, queue: &str) -> String {
    let tree = tree(snapshot);
    let queue = tree.partition("default").unwrap().queue(&QueuePath::parse(queue).unwrap()).unwrap();
    queue.submit_acl.value.clone()
}

fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|c| c.type_ == type_)
}

/// `status/reason` of a condition of a `QueueAcl`.
fn acl_condition(plan: &Plan, name: &str, type_: &str) -> String {
    shown(find(&plan.queue_acls[name].conditions, type_))
}

fn acl_message<'a>(plan: &'a Plan, name: &str, type_: &str) -> &'a str {
    &find(&plan.queue_acls[name].conditions, type_).unwrap().message
}

/// `status/reason` of a condition of the `YuniKornConfig`.
fn config_condition(plan: &Plan, type_: &str) -> String {
    shown(find(&plan.config.as_ref().unwrap().conditions, type_))
}

fn config_message<'a>(plan: &'a Plan, type_: &str) -> &'a str {
    &find(&plan.config.as_ref().unwrap().conditions, type_).unwrap().message
}

fn shown(condition: Option<&Condition>) -> String {
    condition.map_or("-".into(), |c| format!("{}/{}", c.status.as_str(), c.reason))
}

/// Asserts that nothing is left to write, and no status to change.
fn assert_at_rest(settled: &Settled) {
    let again = plan(&settled.snapshot);
    assert_eq!((&again.write, &again.import, &again.backup), (&None, &None, &None));
    assert_eq!(again.events, []);
    let statuses = |plan: &Plan| -> BTreeMap<Arc<str>, Vec<Condition>> {
        plan.queue_acls.iter().map(|(name, status)| (name.clone(), status.conditions.to_vec())).collect()
    };
    assert_eq!(statuses(&again), statuses(&settled.plan));
    assert_eq!(again.config, settled.plan.config);
    assert_eq!(again.policies, settled.plan.policies);
}

#[test]
fn without_a_configuration_nothing_is_written_and_everyone_is_warned() {
    let mut snapshot = cluster(BASE);
    snapshot.config = None;
    snapshot.queue_acls = vec![submit("good", "root.prod", "bob"), submit("bad", "root.prod", "a  b")];
    let plan = plan(&snapshot);
    assert_eq!(plan.write, None);
    assert_eq!(acl_condition(&plan, "good", "Ready"), "Unknown/ConfigNotReady");
    assert_eq!(acl_condition(&plan, "bad", "Ready"), "False/Invalid");
    let ready = find(&plan.queue_acls["good"].conditions, "Ready").unwrap();
    assert_eq!(ready.status, Status::Unknown);
    assert!(ready.message.contains("no YuniKornConfig named `default`"), "{}", ready.message);
}

#[test]
fn while_the_configuration_cannot_be_read_nothing_is_forgotten() {
    let mut snapshot = cluster(BASE);
    snapshot.output = Some(map(YUNIKORN_CONFIGS, &[]));
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann")];
    let mut before = settled(&snapshot).snapshot;
    let config = before.config.as_mut().unwrap();
    config.spec = Err(Vec::new());
    config.in_force.as_mut().unwrap().loaded_hash = Some("LOADED".into());

    let waiting = plan(&before);
    assert_eq!((&waiting.write, &waiting.rendered), (&None, &None));
    assert_eq!(config_condition(&waiting, "Ready"), "False/Invalid");
    assert_eq!(config_condition(&waiting, "Mirrored"), "-", "there was no mirror");
    let rest = &waiting.config.as_ref().unwrap().rest;
    assert_eq!((rest.revision, rest.loaded_hash.as_deref()), (Some(1), Some("LOADED")));
    assert_eq!(rest.config_hash, Some(config::checksum(text(&before))));
    let output = rest.output.as_ref().unwrap();
    assert_eq!((output.namespace.as_str(), output.name.as_str()), ("yunikorn", YUNIKORN_CONFIGS));
    assert_eq!(
        (output.uid.as_str(), output.keys.as_slice()),
        ("uid-yunikorn-configs", &[KEY.to_string()][..])
    );
    assert_eq!(waiting.queue_acls["a"].rest.in_force, before.queue_acls[0].in_force);
    assert_eq!(waiting.queue_acls["a"].rest.in_force.as_ref().unwrap().submit.as_deref(), Some("ann"));

    let meta = &mut before.config.as_mut().unwrap().meta;
    let mirrored = Condition { type_: "Mirrored".into(), ..meta.conditions[0].clone() };
    meta.conditions = meta.conditions.iter().cloned().chain([mirrored]).collect();
    assert_eq!(config_condition(&plan(&before), "Mirrored"), "Unknown/ConfigNotReady");
}

#[test]
fn only_an_output_that_is_in_a_cluster_is_remembered_by_its_uid() {
    let uid =
        |snapshot: &Snapshot| settled(snapshot).snapshot.config_status().unwrap().output.clone().unwrap().uid;
    let mut snapshot = cluster(BASE);
    assert_eq!(uid(&snapshot), "");
    snapshot.output = Some(map(YUNIKORN_CONFIGS, &[]));
    assert_eq!(uid(&snapshot), "uid-yunikorn-configs");
}
