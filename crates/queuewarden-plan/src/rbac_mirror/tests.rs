//! The mirror always gives the same answers as the ACLs, or denies.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;

use super::desired::{self, Desired, RolePair};
use super::{MAX_STEPS, MirrorAction, MirrorStep, finding, next};
use crate::conditions::Condition;
use crate::plan::{Plan, plan};
use crate::snapshot::{
    ConfigMapState, ConfigSpec, Entry, Meta, Mirror, MirrorContent, MirrorKind, MirrorObject, MirrorRule,
    MirrorSubject, Snapshot, WriteFailure, YUNIKORN_CONFIGS,
};
use yunikorn::identity::Identity;
use yunikorn::right::Right;
use yunikorn_access::Tree;
use yunikorn_access::decide::decide;
use yunikorn_access::testing::{QUEUES, any_identity, any_tree, people, tree};
use yunikorn_access::tree::Located;

const OWNER: &str = "uid-config";

/// Decides as RBAC does (kubernetes `pkg/apis/rbac/v1/evaluation_helpers.go`): some rule of a bound role
/// matches each part of the request, and a rule without names matches any name.
fn rbac(bound: &[(&[MirrorRule], &BTreeSet<MirrorSubject>)], who: &Identity, asked: [&str; 4]) -> bool {
    let [group, resource, name, verb] = asked;
    let has = |list: &[String], wanted: &str| list.iter().any(|item| item == wanted || item == "*");
    let allows = |rule: &MirrorRule| {
        has(&rule.verbs, verb)
            && has(&rule.groups, group)
            && has(&rule.resources, resource)
            && (rule.names.is_empty() || rule.names.iter().any(|other| other == name))
    };
    let is = |subject: &MirrorSubject| match subject {
        MirrorSubject::User(user) => *user == who.user,
        // Every authenticated request has the group.
        MirrorSubject::Group(group) => group == "system:authenticated" || who.groups.contains(group),
    };
    bound.iter().any(|(rules, subjects)| subjects.iter().any(is) && rules.iter().any(allows))
}

fn bound_by(desired: &Desired) -> Vec<(&[MirrorRule], &BTreeSet<MirrorSubject>)> {
    desired.pairs.values().map(|RolePair { rules, subjects }| (rules.as_slice(), subjects)).collect()
}

fn bound_in(mirror: &Mirror) -> Vec<(&[MirrorRule], &BTreeSet<MirrorSubject>)> {
    mirror
        .bindings
        .iter()
        .filter_map(|(name, binding)| match (&binding.content, &mirror.roles.get(name)?.content) {
            (MirrorContent::Binding(subjects), MirrorContent::Role(rules)) => {
                Some((rules.as_slice(), subjects))
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

/// A user without a name, which does not exist in Kubernetes.
fn everybody() -> Vec<Identity> {
    people().into_iter().filter(|who| !who.user.is_empty()).collect()
}

fn verbs(right: Right) -> &'static [&'static str] {
    match right {
        Right::Submit => &["submit", "use"],
        Right::Admin => &["administer"],
    }
}

const SPELLINGS: [(&str, &str); 4] = [
    ("queuewarden.dev", "queues"),
    ("access.queuewarden.dev", "queues"),
    ("", "queues.queuewarden.dev"),
    ("", "queues.access.queuewarden.dev"),
];

/// The complete mirror, after all steps.
fn standing(desired: &Desired) -> Mirror {
    let mut mirror = Mirror { synced: true, ..Mirror::default() };
    for _ in 0..10 {
        for step in next(&mirror, desired, OWNER) {
            apply(&mut mirror, &step);
        }
    }
    assert_eq!(next(&mirror, desired, OWNER), [], "it comes to an end");
    mirror
}

/// Applies a step as the API server does, or refuses it: a binding may not refer to a role that does not
/// exist.
fn apply(mirror: &mut Mirror, step: &MirrorStep) {
    let Mirror { roles, bindings, .. } = mirror;
    let objects = match step.kind {
        MirrorKind::Role => &mut *roles,
        MirrorKind::Binding => &mut *bindings,
    };
    let seen = objects.get(&step.name).map(|it| (it.uid.clone(), it.resource_version.clone()));
    assert_eq!(step.last, seen, "the precondition of {step:?}");
    let version = seen.map_or(0, |(_, version)| version.parse::<u64>().unwrap()) + 1;
    let content = match &step.action {
        MirrorAction::Delete => {
            objects.remove(&step.name).expect("it is there");
            return;
        }
        MirrorAction::Rules(rules) => MirrorContent::Role(rules.clone()),
        MirrorAction::Subjects(subjects) => MirrorContent::Binding(subjects.clone()),
    };
    let standing = MirrorObject {
        name: step.name.clone(),
        uid: format!("uid-{}", step.name),
        resource_version: version.to_string(),
        owner: Some(OWNER.to_owned()),
        content,
    };
    objects.insert(step.name.clone(), Arc::new(standing));
    assert!(step.kind == MirrorKind::Role || roles.contains_key(&step.name), "{step:?}");
}

/// For each named queue, each verb and each person: whether it is allowed.
fn answers(
    bound: &[(&[MirrorRule], &BTreeSet<MirrorSubject>)],
) -> BTreeMap<(usize, &'static str, &'static str), bool> {
    let mut answers = BTreeMap::new();
    for (number, who) in everybody().iter().enumerate() {
        for queue in QUEUES {
            for verb in Right::ALL.iter().flat_map(|right| verbs(*right)) {
                let asked = ["queuewarden.dev", "queues", queue, verb];
                answers.insert((number, queue, *verb), rbac(bound, who, asked));
            }
        }
    }
    answers
}

fn grants(tree: &Tree, right: Right, queue: &str, who: &Identity) -> bool {
    decide(tree, right, queue, who).allowed()
}

proptest! {
    #[test]
    fn it_answers_as_the_acls_do(tree in any_tree(), who in any_identity()) {
        let desired = desired::from_trees(&tree, None);
        let bound = bound_by(&desired);
        for queue in QUEUES {
            let known = matches!(tree.locate(queue), Located::Queue(_));
            for (right, verb) in Right::ALL.iter().flat_map(|right| verbs(*right).iter().map(move |verb| (*right, verb))) {
                let expected = known && grants(&tree, right, queue, &who);
                for (group, resource) in SPELLINGS {
                    prop_assert_eq!(rbac(&bound, &who, [group, resource, queue, verb]), expected, "{} {}", verb, queue);
                }
            }
            for verb in ["get", "list", "create", "delete", "*", "escalate"] {
                prop_assert!(!rbac(&bound, &who, ["queuewarden.dev", "queues", queue, verb]));
            }
        }
        for verb in ["submit", "administer", "use"] {
            for other in ["", "*", "root.new", "Root", "root.@recovery@.new"] {
                prop_assert!(!rbac(&bound, &who, ["queuewarden.dev", "queues", other, verb]), "{}", other);
            }
            prop_assert!(!rbac(&bound, &who, ["", "queues", "root", verb]));
            prop_assert!(!rbac(&bound, &who, ["queuewarden.dev", "queueacls", "root", verb]));
        }
    }

    #[test]
    fn what_the_scheduler_does_not_run_yet_grants_nothing(tree in any_tree(), running in any_tree(), who in any_identity()) {
        let desired = desired::from_trees(&tree, Some(&running));
        let bound = bound_by(&desired);
        for queue in QUEUES {
            for right in Right::ALL {
                for verb in verbs(right) {
                    if rbac(&bound, &who, ["queuewarden.dev", "queues", queue, verb]) {
                        prop_assert!(grants(&tree, right, queue, &who), "not granted: {} {}", verb, queue);
                        prop_assert!(grants(&running, right, queue, &who), "not running: {} {}", verb, queue);
                    }
                }
            }
        }
        prop_assert_eq!(desired::from_trees(&tree, Some(&tree)), desired::from_trees(&tree, None));
    }

    #[test]
    fn on_the_way_nothing_is_granted_that_was_not_and_will_not_be(
        old in any_tree(), new in any_tree(), order in any::<prop::sample::Index>(),
    ) {
        let (old, new) = (desired::from_trees(&old, None), desired::from_trees(&new, None));
        let mut mirror = standing(&old);
        let (before, after) = (answers(&bound_by(&old)), answers(&bound_by(&new)));
        // Applies one arbitrary step at a time, because steps run concurrently and some may fail.
        for count in 0.. {
            prop_assert!(count < 200, "no end");
            let steps = next(&mirror, &new, OWNER);
            if steps.is_empty() {
                break;
            }
            apply(&mut mirror, order.get(&steps));
            for (asked, allowed) in answers(&bound_in(&mirror)) {
                prop_assert!(!allowed || before[&asked] || after[&asked], "{:?} in between", asked);
            }
        }
        prop_assert_eq!(answers(&bound_in(&mirror)), after);
        prop_assert_eq!(mirror.roles.len(), mirror.bindings.len());
    }
}

#[test]
fn an_acl_is_a_role_with_the_queues_that_it_reaches() {
    let tree = tree(&[("root", "", " ops"), ("root.prod", "sue devs", ""), ("root.prod.etl", "", "")]);
    let Desired { pairs, left_out } = desired::from_trees(&tree, None);
    let reported: Vec<_> = pairs
        .iter()
        .map(|(name, pair)| {
            let subjects: Vec<_> = pair.subjects.iter().map(|subject| format!("{subject:?}")).collect();
            let rule = &pair.rules[0];
            format!("{name} {} {} {}", subjects.join(","), rule.verbs.join(","), rule.names.join(","))
        })
        .collect();
    assert_eq!(
        reported,
        [
            "queuewarden:mirror:administer:root Group(\"ops\") administer,submit,use root,root.prod,root.prod.etl",
            "queuewarden:mirror:submit:root.prod User(\"sue\"),Group(\"devs\") submit,use root.prod,root.prod.etl",
        ]
    );
    assert_eq!(left_out, None);
}

#[test]
fn names_that_rbac_or_a_path_would_not_take_are_hashed() {
    let long = "q".repeat(60);
    let mut queues =
        vec![("root".to_owned(), ""), ("root.a/b".to_owned(), "u"), ("root.a#b".to_owned(), "u")];
    let mut deep = "root".to_owned();
    for _ in 0..4 {
        deep = format!("{deep}.{long}");
        queues.push((deep.clone(), "u"));
    }
    let queues: Vec<_> = queues.iter().map(|(path, acl)| (path.as_str(), *acl, "")).collect();
    let desired = desired::from_trees(&tree(&queues), None);
    assert_eq!(desired.pairs.len(), 6);
    for name in desired.pairs.keys() {
        assert!(name.len() <= 253 && !name.contains(['/', '%', '#']), "{name}");
    }
}

/// A text with this many queues below the root, each with this ACL.
fn many(queues: u32, acl: &str) -> Tree {
    let mut text = "partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n".to_owned();
    for number in 0..queues {
        writeln!(text, "    - {{name: queue{number:06}, submitacl: '{acl}'}}").unwrap();
    }
    yunikorn_access::testing::parsed(&text)
}

#[test]
fn it_is_bounded_and_says_where_it_ends() {
    let desired = desired::from_trees(&many(1500, "u"), None);
    assert_eq!(desired.pairs.len(), 1000);
    assert_eq!(desired.left_out.as_deref(), Some("the submitacl of queue `root.queue001000`"));
    let names: Vec<_> = (0..20_000).map(|number| format!("user{number:06}")).collect();
    let large = desired::from_trees(&many(20, &names.join(",")), None);
    assert!(large.left_out.is_some());
    let bytes: usize = large.pairs.values().flat_map(|pair| &pair.subjects).map(|of| of.name().len()).sum();
    assert!(bytes < 8 << 20, "{bytes}");
}

#[test]
fn what_is_too_large_for_one_object_is_in_several() {
    let mut text =
        "partitions:\n- name: default\n  queues:\n  - name: root\n    submitacl: u\n    queues:\n".to_owned();
    for number in 0..5000 {
        writeln!(text, "    - {{name: queue{number:06}}}").unwrap();
    }
    let Desired { pairs, left_out } = desired::from_trees(&yunikorn_access::testing::parsed(&text), None);
    assert_eq!(left_out, None);
    let names: Vec<_> = pairs.keys().map(String::as_str).collect();
    let one = "queuewarden:mirror:submit:root";
    assert_eq!(names, [one, &format!("{one}~2"), &format!("{one}~3")]);
    let queues: BTreeSet<_> = pairs.values().flat_map(|pair| &pair.rules[0].names).collect();
    assert_eq!(queues.len(), 5001);
}

#[test]
fn what_only_bears_the_label_is_left_alone() {
    let mut mirror = standing(&desired::from_trees(&tree(&[("root", "u", "")]), None));
    let other = MirrorObject {
        name: "cluster-admin".to_owned(),
        uid: "1".to_owned(),
        resource_version: "1".to_owned(),
        owner: None,
        content: MirrorContent::Other,
    };
    mirror.roles.insert(other.name.clone(), Arc::new(other.clone()));
    mirror.bindings.insert(other.name.clone(), Arc::new(other));
    let steps = next(&mirror, &Desired::default(), OWNER);
    let names: Vec<_> = steps.iter().map(|step| (step.kind, step.name.as_str())).collect();
    assert_eq!(names, [(MirrorKind::Binding, "queuewarden:mirror:submit:root")]);
}

#[test]
fn what_somebody_changed_is_put_right_and_what_cannot_be_is_made_anew() {
    let desired = desired::from_trees(&tree(&[("root", "u", "")]), None);
    let whole = standing(&desired);
    let name = "queuewarden:mirror:submit:root";
    let changed = |kind: MirrorKind, change: &dyn Fn(&mut MirrorObject)| {
        let mut mirror = whole.clone();
        let objects = match kind {
            MirrorKind::Role => &mut mirror.roles,
            MirrorKind::Binding => &mut mirror.bindings,
        };
        change(Arc::make_mut(objects.get_mut(name).unwrap()));
        let steps = next(&mirror, &desired, OWNER);
        let [step] = steps.as_slice() else { panic!("{steps:?}") };
        (step.kind, step.action.clone())
    };
    let rules = desired.pairs[name].rules.clone();
    let subjects = desired.pairs[name].subjects.clone();
    let put_rules = (MirrorKind::Role, MirrorAction::Rules(rules.clone()));
    let delete = (MirrorKind::Binding, MirrorAction::Delete);
    assert_eq!(changed(MirrorKind::Role, &|role| role.content = MirrorContent::Other), put_rules);
    assert_eq!(changed(MirrorKind::Role, &|role| role.content = MirrorContent::Role(Vec::new())), put_rules);
    assert_eq!(
        changed(MirrorKind::Role, &|role| role.owner = None),
        put_rules,
        "an owner of another uid is gone"
    );
    assert_eq!(changed(MirrorKind::Binding, &|binding| binding.content = MirrorContent::Other), delete);
    let secrets = MirrorRule {
        groups: vec![String::new()],
        resources: vec!["secrets".to_owned()],
        names: Vec::new(),
        verbs: vec!["*".to_owned()],
    };
    let more =
        BTreeSet::from([MirrorSubject::User("u".to_owned()), MirrorSubject::User("mallory".to_owned())]);
    assert_eq!(
        changed(MirrorKind::Binding, &|binding| binding.content = MirrorContent::Binding(more.clone())),
        (MirrorKind::Binding, MirrorAction::Subjects(subjects))
    );
    // A binding to a role that allows more than we hold could not be written.
    let mut mirror = whole.clone();
    Arc::make_mut(mirror.bindings.get_mut(name).unwrap()).content = MirrorContent::Binding(more);
    Arc::make_mut(mirror.roles.get_mut(name).unwrap()).content = MirrorContent::Role(vec![secrets]);
    let steps: Vec<_> =
        next(&mirror, &desired, OWNER).into_iter().map(|step| (step.kind, step.action)).collect();
    assert_eq!(steps, [delete]);
}

#[test]
fn who_loses_a_right_does_not_wait_for_those_who_get_one() {
    let mut text = "partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n".to_owned();
    for number in 0..2 * MAX_STEPS {
        writeln!(text, "    - {{name: a{number:03}, submitacl: w}}").unwrap();
    }
    let with = |acl: &str| {
        desired::from_trees(
            &yunikorn_access::testing::parsed(&format!("{text}    - {{name: z, submitacl: '{acl}'}}\n")),
            None,
        )
    };
    let mut mirror = standing(&with("u,v"));
    // Deleted bindings, which would come first by name when they are created again.
    mirror.bindings.retain(|name, _| name.ends_with(":root.z"));
    let steps = next(&mirror, &with("u"), OWNER);
    let first = steps.first().unwrap();
    let left = BTreeSet::from([MirrorSubject::User("u".to_owned())]);
    assert_eq!((first.kind, &first.action), (MirrorKind::Binding, &MirrorAction::Subjects(left)));
    assert_eq!(steps.len(), MAX_STEPS);
}

#[test]
fn as_much_as_fits_is_in_it_to_the_last_byte() {
    const LEVELS: usize = 16;
    let queues: Vec<String> = (0..1080).map(|number| format!("{{name: q{number:04}}}, ")).collect();
    let queues = queues.concat();
    let with = |last: &str| {
        let mut below = format!("{queues}{{name: z, submitacl: '{last}'}}");
        for level in (0..LEVELS).rev() {
            let name = if level == 0 { "root" } else { "a" };
            below = format!("{{name: {name}, submitacl: u, adminacl: u, queues: [{below}]}}");
        }
        let text = format!("partitions: [{{name: default, queues: [{below}]}}]");
        desired::from_trees(&yunikorn_access::testing::parsed(&text), None)
    };
    let size = |desired: &Desired| -> usize {
        let rules = desired.pairs.values().flat_map(|pair| &pair.rules);
        let queues = rules.flat_map(|rule| &rule.names).map(String::len);
        let subjects = desired.pairs.values().flat_map(|pair| &pair.subjects).map(|of| of.name().len());
        // Each name needs some bytes in addition to itself.
        queues.chain(subjects).map(|len| len + 80).sum()
    };
    let room = (8 << 20) - size(&with("v"));
    let full = with(&"v".repeat(1 + room));
    assert_eq!((size(&full), &full.left_out), (8 << 20, &None));
    assert_eq!(full.pairs.len(), 2 * LEVELS + 1);
    let over = with(&"v".repeat(2 + room));
    let last = format!("the submitacl of queue `root{}.z`", ".a".repeat(LEVELS - 1));
    assert_eq!((over.pairs.len(), over.left_out), (2 * LEVELS, Some(last)));
}

#[test]
fn who_stays_keeps_the_binding_while_its_role_allows_only_what_the_mirror_may_hand_on() {
    let old = desired::from_trees(
        &tree(&[("root", "", ""), ("root.prod", "u,v", ""), ("root.prod.etl", "", "")]),
        None,
    );
    let new = desired::from_trees(&tree(&[("root", "", ""), ("root.prod", "u", "")]), None);
    let name = "queuewarden:mirror:submit:root.prod";
    let narrowed = |change: &dyn Fn(&mut MirrorRule)| {
        let mut mirror = standing(&old);
        let role = Arc::make_mut(mirror.roles.get_mut(name).unwrap());
        let MirrorContent::Role(rules) = &mut role.content else { panic!("{role:?}") };
        change(&mut rules[0]);
        let steps = next(&mirror, &new, OWNER);
        let [step] = steps.as_slice() else { panic!("{steps:?}") };
        assert_eq!((step.kind, step.name.as_str()), (MirrorKind::Binding, name));
        step.action.clone()
    };
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let stay = MirrorAction::Subjects(BTreeSet::from([MirrorSubject::User("u".to_owned())]));
    assert_eq!(narrowed(&|_| ()), stay);
    assert_eq!(narrowed(&|rule| rule.verbs = words(&["administer"])), stay);
    assert_eq!(narrowed(&|rule| rule.verbs = words(&["use", "delete"])), MirrorAction::Delete);
    assert_eq!(narrowed(&|rule| rule.resources = words(&["queueacls"])), MirrorAction::Delete);
    assert_eq!(narrowed(&|rule| rule.groups = words(&["*"])), MirrorAction::Delete);
    assert_eq!(narrowed(&|rule| rule.groups = words(&[""])), MirrorAction::Delete, "queues of no group");
}

#[test]
fn kinds_are_called_as_kubernetes_calls_them() {
    assert_eq!(
        [MirrorKind::Role, MirrorKind::Binding].map(MirrorKind::name),
        ["ClusterRole", "ClusterRoleBinding"]
    );
}

/// A text in which these subjects may submit to `root.prod`.
fn prod(submit: &str) -> String {
    yunikorn_access::testing::text(&[("root", "", ""), ("root.prod", submit, "")])
}

/// A cluster that runs this text, and should have a mirror that does not exist yet.
fn cluster(text: &str) -> Snapshot {
    let output = ConfigMapState {
        name: YUNIKORN_CONFIGS.to_owned(),
        data: [("queues.yaml".to_owned(), text.to_owned())].into(),
        ..ConfigMapState::default()
    };
    let meta = Meta { name: "default".into(), uid: OWNER.into(), generation: 1, ..Meta::default() };
    Snapshot {
        config: Some(Entry {
            meta,
            spec: Ok(ConfigSpec { rbac_mirror: true, ..ConfigSpec::default() }),
            in_force: None,
        }),
        output: Some(Arc::new(output)),
        mirror: Some(Mirror { synced: true, ..Mirror::default() }),
        ..Snapshot::empty("2026-06-01T12:00:00Z".parse().unwrap())
    }
}

fn turn(snapshot: &mut Snapshot, on: bool) {
    snapshot.config.as_mut().unwrap().spec.as_mut().unwrap().rbac_mirror = on;
}

fn mirror(snapshot: &mut Snapshot) -> &mut Mirror {
    snapshot.mirror.as_mut().unwrap()
}

/// Stores the planned status, so that the next plan reads it.
fn remember(snapshot: &mut Snapshot, plan: &Plan) {
    snapshot.config.as_mut().unwrap().meta.conditions.clone_from(&plan.config.as_ref().unwrap().conditions);
}

/// The cluster after all steps.
fn done(mut snapshot: Snapshot) -> Snapshot {
    for _ in 0..10 {
        let plan = plan(&snapshot);
        for step in &plan.mirror.steps {
            apply(mirror(&mut snapshot), step);
        }
        remember(&mut snapshot, &plan);
    }
    assert_eq!(plan(&snapshot).mirror.steps, [], "it comes to an end");
    snapshot
}

/// The users in the binding of `root.prod`.
fn users(snapshot: &Snapshot) -> Vec<&str> {
    let binding = snapshot.mirror.as_ref().unwrap().bindings.get("queuewarden:mirror:submit:root.prod");
    match binding.map(|binding| &binding.content) {
        None => Vec::new(),
        Some(MirrorContent::Binding(subjects)) => subjects.iter().map(MirrorSubject::name).collect(),
        other => panic!("{other:?}"),
    }
}

/// `status/reason` of condition `Mirrored`, and its message.
fn reported(plan: &Plan) -> (String, &str) {
    let conditions = &plan.config.as_ref().unwrap().conditions;
    let mirrored = conditions.iter().find(|condition| condition.type_ == "Mirrored");
    mirrored.map_or(("-".to_owned(), ""), |Condition { status, reason, message, .. }| {
        (format!("{}/{reason}", status.as_str()), message.as_str())
    })
}

#[test]
fn only_what_the_text_and_the_scheduler_both_grant_is_mirrored() {
    let mut snapshot = cluster(&prod("u,v"));
    assert_eq!(users(&done(snapshot.clone())), ["u", "v"], "of a scheduler that nobody asks");
    snapshot.observed.loaded_text = Some(prod("u,w"));
    let between = done(snapshot.clone());
    assert_eq!(users(&between), ["u"]);
    snapshot = between;
    snapshot.observed.loaded_text = Some(prod("u,v"));
    assert_eq!(users(&done(snapshot.clone())), ["u", "v"]);
    snapshot.observed.loaded_text = Some("partitions: [{name: default, queues: [{name: root}]}]".to_owned());
    assert_eq!(users(&done(snapshot)), [""; 0]);
}

#[test]
fn a_text_that_is_refused_leaves_the_mirror_to_what_runs() {
    let mut snapshot = done(cluster(&prod("u,v")));
    Arc::make_mut(snapshot.output.as_mut().unwrap()).data.insert("queues.yaml".to_owned(), prod("u  v"));
    let unknown = plan(&snapshot);
    assert_eq!(unknown.mirror.steps, []);
    let (mirrored, message) = reported(&unknown);
    assert_eq!(mirrored, "Unknown/ConfigNotReady");
    assert!(message.contains("the mirror stays as it is: YuniKorn refuses the configuration, and the configuration that it runs is unknown: "), "{message}");
    snapshot.observed.loaded_text = Some(prod("u"));
    assert_eq!(users(&done(snapshot)), ["u"]);
}

#[test]
fn while_nobody_knows_what_the_scheduler_runs_the_mirror_stays() {
    let mut snapshot = done(cluster(&prod("u")));
    Arc::make_mut(snapshot.output.as_mut().unwrap()).data.insert("queues.yaml".to_owned(), prod("u,v"));
    snapshot.observed.read_back =
        Some(crate::snapshot::ReadBack { at: snapshot.now, checksum: Ok("ANOTHER".to_owned()) });
    let since = snapshot.now.checked_sub(jiff::SignedDuration::from_secs(60)).ok();
    let loading = snapshot.now;
    for (since, seen) in [(since, None), (since, Some(prod("u,v,w"))), (Some(loading), None)] {
        snapshot.observed.pending_since = since;
        snapshot.observed.loaded_text = seen;
        let unknown = plan(&snapshot);
        assert_eq!(unknown.mirror.steps, []);
        let (mirrored, message) = reported(&unknown);
        assert_eq!(mirrored, "Unknown/ConfigNotReady");
        assert!(message.starts_with("the mirror stays as it is: YuniKorn runs a different"), "{message}");
    }
}

#[test]
fn nothing_is_done_to_what_cannot_be_seen() {
    let mut snapshot = cluster(&prod("u"));
    assert_eq!(plan(&snapshot).mirror.steps.len(), 1);
    mirror(&mut snapshot).synced = false;
    let unread = plan(&snapshot);
    assert_eq!(unread.mirror.steps, []);
    assert_eq!(reported(&unread).0, "Unknown/Pending");

    mirror(&mut snapshot).synced = true;
    mirror(&mut snapshot).problem = Some("clusterroles is forbidden".to_owned());
    let forbidden = plan(&snapshot);
    assert_eq!(forbidden.mirror.steps, []);
    let (mirrored, message) = reported(&forbidden);
    assert_eq!(mirrored, "False/Forbidden");
    assert!(
        message.contains("rbacMirror: Disabled") && message.ends_with(": clusterroles is forbidden"),
        "{message}"
    );

    remember(&mut snapshot, &forbidden);
    turn(&mut snapshot, false);
    let off = plan(&snapshot);
    assert_eq!(reported(&off).0, "False/Forbidden", "there may be one");
    assert!(
        reported(&off).1.contains("kubectl delete clusterrolebindings,clusterroles"),
        "{}",
        reported(&off).1
    );

    snapshot.mirror = None;
    let unseen = plan(&snapshot);
    assert_eq!((unseen.mirror.steps.as_slice(), reported(&unseen).0.as_str()), (&[][..], "-"));
}

#[test]
fn it_is_reported_from_the_first_step_until_it_has_gone() {
    let mut snapshot = cluster(&prod("u"));
    let first = plan(&snapshot);
    assert_eq!(first.mirror.owner, OWNER);
    assert_eq!(reported(&first), ("False/Pending".to_owned(), "the mirror is being written"));
    snapshot = done(snapshot);
    let text = "the ACLs of partition `default` are in 1 ClusterRole";
    assert_eq!(reported(&plan(&snapshot)), ("True/Mirrored".to_owned(), text));
    turn(&mut snapshot, false);
    assert_eq!(reported(&plan(&snapshot)), ("False/Pending".to_owned(), "it is being removed"));
    snapshot = done(snapshot);
    assert_eq!((users(&snapshot), snapshot.mirror.as_ref().unwrap().roles.len()), (Vec::new(), 0));
    assert_eq!(reported(&plan(&snapshot)).0, "-");
    // If there was never a mirror, the object's other conditions do not cause one to be reported.
    assert_ne!(snapshot.config.as_ref().unwrap().meta.conditions.len(), 0);
    mirror(&mut snapshot).problem = Some("clusterroles is forbidden".to_owned());
    assert_eq!(reported(&plan(&snapshot)).0, "-");
}

#[test]
fn why_the_last_step_failed_and_what_has_no_room_is_reported() {
    let mut snapshot = cluster(&prod("u"));
    let failures = [
        (WriteFailure::Forbidden("no".to_owned()), "False/Forbidden", "apply manifests/rbac-mirror: no"),
        (WriteFailure::Rejected("no".to_owned()), "False/Rejected", "no"),
        (WriteFailure::Transient("no".to_owned()), "False/Pending", "no"),
    ];
    for (failure, expected, message) in failures {
        snapshot.observed.mirror_failure = Some(failure);
        let failed = plan(&snapshot);
        assert_eq!(reported(&failed).0, expected);
        assert!(reported(&failed).1.ends_with(message), "{}", reported(&failed).1);
        assert_eq!(failed.mirror.steps.len(), 1, "it is tried again");
    }
    let full =
        Ok(Desired { left_out: Some("the submitacl of queue `root.z`".to_owned()), ..Desired::default() });
    let mirror = Mirror { synced: true, ..Mirror::default() };
    let found = finding(true, &mirror, &full, 0, None).unwrap();
    assert_eq!((found.status.as_str(), found.reason.as_str()), ("False", "TooLarge"));
    assert!(
        found.message.contains("full: it leaves out the submitacl of queue `root.z` and those after"),
        "{}",
        found.message
    );
    assert_eq!(finding(false, &mirror, &full, 0, None), None, "there is to be none");
}
