//! Reviews as API servers send them, and patches applied as API servers apply them.

use k8s_openapi::ByteString;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::*;
use yunikorn::admission::AccessControl;
use yunikorn::admission::request::USER_INFO;
use yunikorn_access::user_info::{Given, Outcome, decide};

fn template(resource: (&str, &str), path: &str) -> Template {
    let (group, resource) = (resource.0.to_owned(), resource.1.to_owned());
    Template { group, version: None, resource, path: path.to_owned() }
}

fn templates() -> Vec<Template> {
    let (spark, ray, torch) = (
        ("sparkoperator.k8s.io", "sparkapplications"),
        ("ray.io", "rayclusters"),
        ("kubeflow.org", "pytorchjobs"),
    );
    vec![
        template(spark, "spec.driver.annotations"),
        template(spark, "spec.executor.annotations"),
        template(ray, "spec.headGroupSpec.template"),
        template(ray, "spec.workerGroupSpecs.*.template"),
        template(torch, "spec.pytorchReplicaSpecs.*.template"),
    ]
}

/// Returns a request of `alice`, to create or update an object of this group, kind and resource.
fn request(of: (&str, &str, &str), object: &Value, old: &Value) -> AdmissionRequest {
    let operation = if old.is_null() { "CREATE" } else { "UPDATE" };
    let review = json!({"request": {
        "uid": "u", "kind": {"group": of.0, "version": "v1", "kind": of.1},
        "resource": {"group": of.0, "version": "v1", "resource": of.2}, "operation": operation, "namespace": "ns", "name": "n",
        "userInfo": {"username": "alice", "groups": ["devs"]}, "object": object, "oldObject": old}});
    AdmissionRequest::read(review.to_string().as_bytes()).unwrap()
}

fn access() -> AccessControl {
    AccessControl::from_keys(&std::collections::BTreeMap::default()).0
}

/// Applies the patch to the object, following RFC 6902 for `add` to object members.
fn patched(object: &Value, operations: &[Value]) -> Value {
    let mut object = object.clone();
    for operation in operations {
        assert_eq!(operation["op"], "add");
        let (parent, key) = operation["path"].as_str().unwrap().rsplit_once('/').unwrap();
        let parent = object.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        parent.insert(key.replace("~1", "/").replace("~0", "~"), operation["value"].clone());
    }
    object
}

fn guarded(of: (&str, &str, &str), object: &Value) -> (UserInfoContent, Vec<Value>) {
    let (content, decision) = decided(of, object);
    let patch = patch(&content, &decision);
    (content, patch)
}

fn decided(of: (&str, &str, &str), object: &Value) -> (UserInfoContent, Decision) {
    let request = request(of, object, &Value::Null);
    let content = read(&request, &templates()).unwrap();
    let decision =
        decide(&content.at(&request, &Running::default(), &BTreeSet::new(), Moment::Mutating), &access());
    (content, decision)
}

/// Returns an object with these owners: group and version, kind, name.
fn owned(owners: &[(&str, &str, &str)]) -> Value {
    let reference = |(version, kind, name): &(&str, &str, &str)| json!({"apiVersion": version, "kind": kind, "name": name, "uid": "u"});
    json!({"metadata": {"ownerReferences": owners.iter().map(reference).collect::<Vec<_>>()}})
}

#[test]
fn owners_are_the_references_to_groups_of_templates() {
    let read = |object: &Value| {
        let request = request(("", "Pod", "pods"), object, &Value::Null);
        owner_references(&request, &templates())
    };
    let ray = ("ray.io/v1", "RayCluster", "a");
    let found = read(&owned(&[("v1", "Pod", "p"), ("apps/v1", "ReplicaSet", "r"), ray])).unwrap();
    let [owner] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((&*owner.group, &*owner.version, &*owner.kind), ("ray.io", "v1", "RayCluster"));
    assert_eq!(owner.resources(&templates()), ["rayclusters"]);
    for none in [json!({}), json!({"metadata": {"ownerReferences": null}}), owned(&[])] {
        assert_eq!(read(&none).unwrap(), [], "{none}");
    }
    assert_eq!(read(&owned(&[ray; 8])).unwrap().len(), 8);
    let many = read(&owned(&[ray; 9])).unwrap_err();
    assert!(many.message.contains("more than 8 owners"), "{many:?}");
}

/// queuewarden requests the path with its own permissions, but a user may write the reference.
#[test]
fn the_path_to_an_owner_leads_nowhere_else() {
    let owner = |name: &str, version: &str| OwnerReference {
        group: "ray.io".to_owned(),
        version: version.to_owned(),
        kind: "RayCluster".to_owned(),
        name: name.to_owned(),
        uid: "u".to_owned(),
    };
    let path = owner("a.b-c", "v1").path("jobs", "rayclusters");
    assert_eq!(path.as_deref(), Some("/apis/ray.io/v1/namespaces/jobs/rayclusters/a.b-c"));
    for name in ["", ".", "..", "a/b", "a/../../secrets/s", "a?x=y", "a#b", "a%2fb", "é", "a b"] {
        assert_eq!(owner(name, "v1").path("jobs", "rayclusters"), None, "{name}");
        assert_eq!(owner("a", name).path("jobs", "rayclusters"), None, "{name}");
        assert_eq!(owner("a", "v1").path(name, "rayclusters"), None, "{name}");
    }
    // The usual plural of the kind comes first, followed by the group's other resources.
    let of_group = ["rayjobs", "rayclusters", "rayclusters"].map(|name| template(("ray.io", name), "spec.a"));
    assert_eq!(owner("a", "v1").resources(&of_group), ["rayclusters", "rayjobs"]);
}

#[test]
fn the_names_in_an_owner_are_at_the_paths_of_its_version() {
    let template_with = |text: Value| json!({"template": {"metadata": {"annotations": {USER_INFO: text}}}});
    let object = json!({"metadata": {"uid": "u", "annotations": {USER_INFO: "no path leads here"}}, "spec": {
        "headGroupSpec": template_with("b".into()), "workerGroupSpecs": [template_with("a".into()), {}, template_with("b".into()), template_with(1.into())]}});
    let object = serde_json::value::to_raw_value(&object).unwrap();
    let owner = |uid: &str, version: &str| OwnerReference {
        group: "ray.io".to_owned(),
        version: version.to_owned(),
        kind: "RayCluster".to_owned(),
        name: "n".to_owned(),
        uid: uid.to_owned(),
    };
    let names = owner("u", "v1").names_in(&object, "rayclusters", &templates()).unwrap();
    assert_eq!(names, Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(owner("other", "v1").names_in(&object, "rayclusters", &templates()).unwrap(), None);
    let only = |version: &str| Template {
        version: Some(version.to_owned()),
        ..template(("ray.io", "rayclusters"), "spec.headGroupSpec.template")
    };
    let names = owner("u", "v1").names_in(&object, "rayclusters", &[only("v1")]).unwrap();
    assert_eq!(names, Some(vec!["b".to_owned()]));
    owner("u", "v2").names_in(&object, "rayclusters", &[only("v1")]).unwrap_err();
}

const OWN_NAME: &str = r#"{"user":"alice","groups":["devs"]}"#;

#[test]
fn the_name_is_added_where_each_kind_holds_its_templates() {
    let name = json!({USER_INFO: OWN_NAME});
    let metadata = json!({"annotations": name});
    for (of, object, expected) in [
        (("", "Pod", "pods"), json!({"metadata": {}}), vec![("/metadata/annotations", name.clone())]),
        (
            ("", "Pod", "pods"),
            json!({"metadata": {"annotations": {"a/b": "c"}}}),
            vec![("/metadata/annotations/yunikorn.apache.org~1user.info", OWN_NAME.into())],
        ),
        (
            ("apps", "Deployment", "deployments"),
            json!({"metadata": {"annotations": {USER_INFO: "x"}}, "spec": {"template": {"metadata": {"annotations": null}}}}),
            vec![("/spec/template/metadata/annotations", name.clone())],
        ),
        (
            ("", "ReplicationController", "replicationcontrollers"),
            json!({"spec": {"template": {"metadata": null, "spec": {}}}}),
            vec![("/spec/template/metadata", metadata.clone())],
        ),
        (
            ("batch", "CronJob", "cronjobs"),
            json!({"spec": {"jobTemplate": {"spec": {"template": {}}}}}),
            vec![("/spec/jobTemplate/spec/template/metadata", metadata.clone())],
        ),
        (
            ("sparkoperator.k8s.io", "SparkApplication", "sparkapplications"),
            json!({"spec": {"driver": {"cores": 1}, "executor": {"annotations": {}}}}),
            vec![
                ("/spec/driver/annotations", name.clone()),
                ("/spec/executor/annotations/yunikorn.apache.org~1user.info", OWN_NAME.into()),
            ],
        ),
        (
            ("ray.io", "RayCluster", "rayclusters"),
            json!({"spec": {"headGroupSpec": {"template": {}}, "workerGroupSpecs": [{}, {"template": {"metadata": {}}}]}}),
            vec![
                ("/spec/headGroupSpec/template/metadata", metadata.clone()),
                ("/spec/workerGroupSpecs/1/template/metadata/annotations", name.clone()),
            ],
        ),
        (
            ("kubeflow.org", "PyTorchJob", "pytorchjobs"),
            json!({"spec": {"pytorchReplicaSpecs": {"Master": {"template": {}}, "a/b~": {"template": {}}}}}),
            vec![
                ("/spec/pytorchReplicaSpecs/Master/template/metadata", metadata.clone()),
                ("/spec/pytorchReplicaSpecs/a~1b~0/template/metadata", metadata),
            ],
        ),
        (("example.com", "Job", "jobs"), json!({"spec": {"template": {}}}), vec![]),
        (("apps", "Deployment", "deployments"), json!({"spec": {"template": 1}}), vec![]),
    ] {
        let expected: Vec<Value> = expected
            .into_iter()
            .map(|(path, value)| json!({"op": "add", "path": path, "value": value}))
            .collect();
        assert_eq!(guarded(of, &object).1, expected, "{object}");
    }
}

#[test]
fn a_pod_that_yunikorn_schedules_may_move_and_a_template_may_not() {
    let pod = |scheduler: &str, labels: Value, annotations: Value| json!({"metadata": {"labels": labels, "annotations": annotations}, "spec": {"schedulerName": scheduler}});
    let none = || json!({});
    for (now, moved_by) in [
        (pod("yunikorn", json!({"queue": "a"}), none()), Some("queue")),
        (pod("yunikorn", json!({"applicationId": "a", "run": "a"}), none()), Some("applicationId")),
        (
            pod("yunikorn", none(), json!({"yunikorn.apache.org/app-id": "a"})),
            Some("yunikorn.apache.org/app-id"),
        ),
        (pod("yunikorn", json!({"queue": ""}), none()), None),
        (pod("yunikorn", json!({"run": "a"}), json!({"note": "a", USER_INFO: OWN_NAME})), None),
    ] {
        let before = pod("yunikorn", none(), none());
        for (old, new) in [(&before, &now), (&now, &before)] {
            let request = request(("", "Pod", "pods"), new, old);
            let site = read(&request, &[]).unwrap().sites.remove(0);
            assert_eq!((site.is_scheduled, site.moved_by), (true, moved_by), "{new}");
        }
        let [old, new] = [&before, &now].map(|pod| json!({"spec": {"template": pod}}));
        let request = request(("apps", "Deployment", "deployments"), &new, &old);
        assert!(!read(&request, &[]).unwrap().sites.remove(0).is_scheduled);
    }
    let other = request(("", "Pod", "pods"), &pod("default-scheduler", none(), none()), &Value::Null);
    assert!(!read(&other, &[]).unwrap().sites.remove(0).is_scheduled);
}

#[test]
fn what_an_object_says_is_read_where_its_pods_get_it_from() {
    let spec = |annotations: Value| {
        json!({"metadata": {"annotations": annotations, "labels": {"yunikorn.apache.org/username": "carol"}},
        "spec": {"nodeName": "n1"}})
    };
    let job = json!({"spec": {"template": spec(json!({USER_INFO: "x"}))}});
    let (content, _) = guarded(("batch", "Job", "jobs"), &job);
    let site = &content.sites[0];
    assert_eq!((site.location.as_str(), &site.given), ("spec.template", &Given::Text("x".into())));
    assert_eq!((site.username.as_str(), site.node_name.as_str()), ("carol", "n1"));
    for (annotations, expected) in [
        (json!({USER_INFO: 1}), Given::Odd("a number".into())),
        (json!({USER_INFO: null}), Given::Odd("null".into())),
        (json!(["x"]), Given::Odd("annotations that are a list".into())),
        (json!({}), Given::Absent),
    ] {
        let (content, _) = guarded(("", "Pod", "pods"), &spec(annotations));
        assert_eq!(content.sites[0].given, expected);
    }
}

/// Inserting an element moves the list elements after it, without changing anyone's name.
#[test]
fn a_key_that_no_pod_has_is_found_among_annotations() {
    let spark = ("sparkoperator.k8s.io", "SparkApplication", "sparkapplications");
    for (key, is_odd) in [
        ("a.b/c-d_e", false),
        ("yunikorn.apache.org/user.info={\"user\":\"boss\"}", true),
        ("{{inputs.parameters.key}}", true),
        ("a b", true),
        ("\u{e9}", true),
    ] {
        let object = json!({"spec": {"driver": {"annotations": {"note": "x", key: "y"}}}});
        let (content, _) = guarded(spark, &object);
        assert_eq!(content.sites[0].odd_key, if is_odd { key } else { "" });
    }
    let (content, _) = guarded(spark, &json!({"spec": {"driver": {"annotations": ["a b"]}}}));
    assert_eq!(content.sites[0].odd_key, "");
}

#[test]
fn elements_of_a_list_are_known_again() {
    let of = ("ray.io", "RayCluster", "rayclusters");
    let group = |text: Option<&str>| match text {
        Some(text) => json!({"template": {"metadata": {"annotations": {USER_INFO: text}}}}),
        None => json!({"template": {}}),
    };
    let cluster = |groups: &[Option<&str>]| {
        let groups: Vec<Value> = groups.iter().map(|text| group(*text)).collect();
        json!({"spec": {"workerGroupSpecs": groups}})
    };
    for (old, new, outcome) in [
        (&[Some("x")][..], &[None, Some("x")][..], Outcome::Added),
        (&[Some("x"), Some("y")], &[Some("y"), Some("x")], Outcome::Unchanged),
        (&[Some("x"), Some("y")], &[Some("y")], Outcome::Unchanged),
        (&[Some("x")], &[None], Outcome::Refused),
        (&[Some("x")], &[Some("z")], Outcome::Refused),
        (&[Some("x")], &[Some("x"), Some("z")], Outcome::Refused),
    ] {
        let request = request(of, &cluster(new), &cluster(old));
        let content = read(&request, &templates()).unwrap();
        assert_eq!(
            decide(&content.at(&request, &Running::default(), &BTreeSet::new(), Moment::Mutating), &access())
                .outcome,
            outcome,
            "{old:?} {new:?}"
        );
    }
}

#[test]
fn an_object_of_too_many_templates_is_not_read() {
    let groups: Vec<Value> = (0..=user_info::MAX_SITES).map(|_| json!({"template": {}})).collect();
    let cluster = json!({"spec": {"workerGroupSpecs": groups}});
    let of = ("ray.io", "RayCluster", "rayclusters");
    let why = read(&request(of, &cluster, &Value::Null), &templates()).unwrap_err();
    assert!(why.message.contains("more than 256 pod templates"), "{why}");
}

/// A template describes one version only: in another version the pods may be elsewhere.
#[test]
fn a_version_without_templates_of_a_guarded_resource_is_not_read() {
    let of = ("sparkoperator.k8s.io", "SparkApplication", "sparkapplications");
    let mut templates = templates();
    let version = |templates: &mut Vec<Template>, version: &str| {
        for template in templates {
            template.version = Some(version.to_owned());
        }
    };
    version(&mut templates, "v1");
    assert!(read(&request(of, &json!({}), &Value::Null), &templates).unwrap().has_templates);
    version(&mut templates, "v2");
    let why = read(&request(of, &json!({}), &Value::Null), &templates).unwrap_err();
    assert!(why.to_string().contains("version `v1` of sparkapplications.sparkoperator.k8s.io"), "{why}");
    let other = ("example.com", "Other", "others");
    assert!(!read(&request(other, &json!({}), &Value::Null), &templates).unwrap().has_templates);
}

#[test]
fn the_response_does_what_the_mode_lets_it() {
    let object = json!({"metadata": {"labels": {"yunikorn.apache.org/username": "carol"}}});
    let (content, decision) = decided(("", "Pod", "pods"), &object);
    let enforced = response("u", &content, &decision, Mode::Enforce)["response"].clone();
    let bytes: ByteString = serde_json::from_value(enforced["patch"].clone()).unwrap();
    let operations: Vec<Value> = serde_json::from_slice(&bytes.0).unwrap();
    assert_eq!(patched(&object, &operations)["metadata"]["annotations"][USER_INFO], OWN_NAME);
    assert_eq!((&enforced["allowed"], &enforced["patchType"]), (&json!(true), &json!("JSONPatch")));
    assert_eq!(enforced["warnings"].as_array().unwrap().len(), 1);
    let audited = response("u", &content, &decision, Mode::Audit)["response"].clone();
    assert_eq!(
        audited,
        json!({"uid": "u", "allowed": true, "auditAnnotations": {"decision": "added", "clause": "missing"}})
    );
    let (content, decision) =
        decided(("", "Pod", "pods"), &json!({"metadata": {"annotations": {USER_INFO: "{}"}}}));
    let refused = response("u", &content, &decision, Mode::Enforce)["response"].clone();
    assert_eq!((&refused["allowed"], &refused["status"]["code"]), (&json!(false), &json!(403)));
    assert_eq!(response("u", &content, &decision, Mode::Audit)["response"]["allowed"], true);
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z/~]{0,4}".prop_map(Value::from),
        Just(Value::from(OWN_NAME)),
        Just(Value::from(r#"{"user":"bob"}"#)),
    ];
    let name = prop_oneof![
        Just("spec"),
        Just("template"),
        Just("metadata"),
        Just("annotations"),
        Just("driver"),
        Just("executor"),
        Just("labels"),
        Just("headGroupSpec"),
        Just("workerGroupSpecs"),
        Just("pytorchReplicaSpecs"),
        Just("a/b~c"),
        Just(USER_INFO),
    ];
    leaf.prop_recursive(6, 48, 4, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            4 => prop::collection::btree_map(name.clone().prop_map(str::to_owned), inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Generates objects with some of these fields.
fn some(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| {
            prop::option::weighted(0.8, value).prop_map(move |value| Some((name.to_owned(), value?)))
        })
        .collect();
    let object = fields.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect()));
    prop_oneof![12 => object, 1 => Just(Value::Null)].boxed()
}

/// Generates annotated metadata, as in a pod and in the driver of a `SparkApplication`.
fn annotated() -> BoxedStrategy<Value> {
    let names = [OWN_NAME, r#"{"user":"bob"}"#, r#"{"user":"carol"}"#, ""].map(Value::from).to_vec();
    let name = prop::sample::select(names).boxed();
    let annotations = some(vec![(USER_INFO, name), ("a/b", Just(json!("c")).boxed())]);
    some(vec![("annotations", annotations), ("labels", Just(json!({"x": "y"})).boxed())])
}

/// Generates the `spec` of one of the kinds with templates, mostly well-formed.
fn spec() -> BoxedStrategy<Value> {
    let template =
        || some(vec![("metadata", annotated()), ("spec", Just(json!({"containers": []})).boxed())]);
    let group = || some(vec![("template", template()), ("replicas", Just(json!(1)).boxed())]);
    let groups = prop::collection::vec(group(), 0..4).prop_map(Value::from).boxed();
    let ordered = some(vec![
        ("template", template()),
        ("driver", annotated()),
        ("executor", annotated()),
        ("headGroupSpec", group()),
        ("workerGroupSpecs", groups),
        ("pytorchReplicaSpecs", some(vec![("Master", group()), ("Wor/ker", group())])),
    ]);
    prop_oneof![6 => ordered, 1 => json_value()].boxed()
}

/// Removes the annotation from all locations, and the objects that only hold it.
fn without(content: &UserInfoContent, object: &Value) -> Value {
    let mut object = object.clone();
    for location in &content.locations {
        let operation = location.addition("");
        let path = operation["path"].as_str().unwrap();
        let (parent, key) = path.rsplit_once('/').unwrap();
        let parent = object.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        parent.remove(&key.replace("~1", "/").replace("~0", "~"));
    }
    object
}

/// Most generated objects have a location to check; otherwise the properties below would prove nothing.
#[test]
fn objects_have_places() {
    let mut runner = TestRunner::deterministic();
    let specs = (0..256).map(|_| spec().new_tree(&mut runner).unwrap().current());
    let of = ("ray.io", "RayCluster", "rayclusters");
    let locations: usize = specs.map(|spec| guarded(of, &json!({"spec": spec})).0.sites.len()).sum();
    assert!(locations > 256, "{locations}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The patch applies and changes nothing else, and a second request needs no patch.
    #[test]
    fn a_patch_adds_the_name_and_nothing_else(spec in spec(), kind in 0..5_usize) {
        let of = [
            ("", "Pod", "pods"), ("apps", "Deployment", "deployments"),
            ("sparkoperator.k8s.io", "SparkApplication", "sparkapplications"),
            ("ray.io", "RayCluster", "rayclusters"), ("kubeflow.org", "PyTorchJob", "pytorchjobs"),
        ][kind];
        let object = if kind == 0 { json!({"metadata": spec["driver"]}) } else { json!({"spec": spec}) };
        let (content, patch) = guarded(of, &object);
        let after = patched(&object, &patch);
        if !patch.is_empty() {
            // `null` in place of an object is treated as absent.
            prop_assert_eq!(without(&content, &after), without(&content, &object));
        }
        let (again, more) = guarded(of, &after);
        prop_assert!(more.is_empty());
        if !patch.is_empty() {
            let added = again.sites.iter().filter(|site| site.given == Given::Text(OWN_NAME.to_owned())).count();
            prop_assert!(added >= patch.len());
        }
    }

    /// In an object that passes the check, each name was there before or is the requester's own, and no name
    /// is lost while its location exists.
    #[test]
    fn no_name_comes_or_goes_unseen(old in spec(), new in spec(), kind in 0..3_usize) {
        let of = [
            ("sparkoperator.k8s.io", "SparkApplication", "sparkapplications"),
            ("ray.io", "RayCluster", "rayclusters"), ("kubeflow.org", "PyTorchJob", "pytorchjobs"),
        ][kind];
        let (old, new) = (json!({"spec": old}), json!({"spec": new}));
        let said = guarded(of, &old).0;
        let request = request(of, &new, &old);
        let content = read(&request, &templates()).unwrap();
        if decide(&content.at(&request, &Running::default(), &BTreeSet::new(), Moment::Final), &access()).outcome == Outcome::Refused {
            return Ok(());
        }
        let texts = |content: &UserInfoContent| -> Vec<Given> {
            content.sites.iter().map(|site| site.given.clone()).filter(|given| *given != Given::Absent).collect()
        };
        let (before, after) = (texts(&said), texts(&content));
        for given in &after {
            prop_assert!(*given == Given::Text(OWN_NAME.to_owned()) || before.contains(given), "{:?}", given);
        }
        // List elements may be added, removed and reordered.
        let named = said.sites.iter().filter(|site| site.given != Given::Absent && !site.location.contains("workerGroupSpecs"));
        for site in named {
            let stands = content.sites.iter().any(|now| now.location == site.location);
            prop_assert!(!stands || after.contains(&site.given), "{:?}", site);
        }
    }
}
