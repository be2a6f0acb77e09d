//! Checks that the manifests and examples fit the code they are shipped with.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use kube::core::DynamicObject;
use queuewarden_api::convert;
use queuewarden_api::registration;
use queuewarden_operator::server::Endpoint;
use serde_json::{Value, json};
use yunikorn::admission::request::{DECIDING_ANNOTATIONS, DECIDING_LABELS};
use yunikorn_access::user_info::MAX_TEMPLATES;

fn read(path: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    serde_saphyr::from_multiple(&fs::read_to_string(path).unwrap()).unwrap()
}

fn files(dir: &str) -> BTreeSet<String> {
    fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(dir))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| {
            Path::new(name).extension().is_some_and(|extension| extension == "yaml")
                && name != "kustomization.yaml"
        })
        .collect()
}

fn kustomization(dir: &str) -> Value {
    read(&format!("{dir}/kustomization.yaml")).remove(0)
}

#[test]
fn every_file_is_installed() {
    for dir in [
        "manifests",
        "manifests/access",
        "manifests/config",
        "manifests/https",
        "manifests/rbac-mirror",
        "manifests/submission",
        "manifests/submission-policy",
        "manifests/user-info",
        "manifests/validating",
        "manifests/configmaps",
        "manifests/delegation",
        "crds",
    ] {
        let kustomization = kustomization(dir);
        let resources = kustomization["resources"].as_array().unwrap().iter().filter_map(Value::as_str);
        let patches = kustomization["patches"].as_array().into_iter().flatten();
        let listed = resources.chain(patches.filter_map(|patch| patch["path"].as_str()));
        let listed: BTreeSet<String> =
            listed.filter(|name| !name.starts_with("../")).map(str::to_owned).collect();
        assert_eq!(listed, files(dir), "{dir}");
    }
}

/// A single file can be applied, too, as `queuewarden check` advises: the uninstallation finds its objects by
/// this label. Objects of your own, such as the YuniKornConfig, do not have it.
#[test]
fn every_object_has_its_label_in_its_file() {
    let folders = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests")).unwrap();
    let folders = folders.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let names = folders.map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    let mut objects = 0;
    for dir in names.map(|name| format!("manifests/{name}")).chain(["manifests".to_owned()]) {
        for file in files(&dir).into_iter().filter(|name| !name.ends_with(".patch.yaml")) {
            for object in read(&format!("{dir}/{file}")) {
                let version = object["apiVersion"].as_str().unwrap_or_default();
                if version.is_empty() || version.starts_with("queuewarden.dev/") {
                    continue;
                }
                let label = &object["metadata"]["labels"]["app.kubernetes.io/name"];
                assert_eq!(label, "queuewarden", "{dir}/{file}: {}", object["metadata"]["name"]);
                objects += 1;
            }
        }
    }
    assert!(objects > 50, "{objects}");
}

/// The API server stores these fields with defaults, and their parent has one owner: a manifest without them
/// conflicts with itself when Helm takes over what kubectl applied.
#[test]
fn policies_spell_out_what_they_match() {
    let dirs = ["", "/applications", "/delegation", "/rbac-mirror", "/submission-policy", "/user-info"];
    let mut policies = 0;
    for dir in dirs.map(|dir| format!("manifests{dir}")) {
        let objects = files(&dir).into_iter().flat_map(|file| read(&format!("{dir}/{file}")));
        for policy in objects.filter(|object| object["kind"] == "ValidatingAdmissionPolicy") {
            let matched = &policy["spec"]["matchConstraints"];
            for field in ["matchPolicy", "namespaceSelector", "objectSelector"] {
                assert!(!matched[field].is_null(), "{dir}: {} has no {field}", policy["metadata"]["name"]);
            }
            let rules = matched["resourceRules"].as_array().unwrap();
            assert!(rules.iter().all(|rule| rule["scope"].is_string()), "{dir}: {rules:?}");
            policies += 1;
        }
    }
    assert_eq!(policies, 7);
}

/// Each endpoint has a component that serves it, and no other.
#[test]
fn each_endpoint_is_served_by_a_component() {
    let names: BTreeSet<&str> = Endpoint::ALL.iter().map(|endpoint| endpoint.name).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/https");
    let folders = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let folders = folders.filter(|entry| entry.file_type().unwrap().is_dir());
    let folders: BTreeSet<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert_eq!(folders.iter().map(String::as_str).collect::<BTreeSet<_>>(), names);
    for name in names {
        let patches = kustomization(&format!("manifests/https/{name}"))["patches"].clone();
        let [patch] = patches.as_array().unwrap().as_slice() else { panic!("{name}: {patches}") };
        assert_eq!(patch["target"], json!({"kind": "Deployment", "name": "queuewarden"}));
        let patch = patch["patch"].as_str().unwrap();
        assert!(patch.ends_with(&format!("args/-\n  value: --endpoints={name}")), "{patch}");
    }
}

#[test]
fn the_image_is_this_version() {
    for dir in ["manifests", "manifests/https"] {
        assert_eq!(kustomization(dir)["images"][0]["newTag"], env!("CARGO_PKG_VERSION"), "{dir}");
    }
}

/// The rights match the comments in the files: nothing by wildcard, no Secrets but its own, writes by name
/// wherever RBAC can restrict names.
#[test]
fn rights_are_narrow() {
    let files = ["manifests/rbac.yaml", "manifests/https/rbac.yaml"];
    let rules: Vec<Value> = files
        .into_iter()
        .flat_map(read)
        .filter_map(|object| object.get("rules").and_then(Value::as_array).cloned())
        .flatten()
        .collect();
    assert!(!rules.is_empty());
    for rule in rules {
        let words = |field: &str| -> Vec<String> {
            let list = rule[field].as_array().cloned().unwrap_or_default();
            list.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
        };
        let (resources, verbs) = (words("resources"), words("verbs"));
        let all = [words("apiGroups"), resources.clone(), verbs.clone()].concat();
        assert!(!all.iter().any(|word| word == "*"), "{rule}");
        // The history makes room for its next revision.
        let removes = if resources == ["controllerrevisions"] { vec!["delete"] } else { vec![] };
        let removing: Vec<_> = verbs.iter().filter(|verb| verb.starts_with("delete")).collect();
        assert_eq!(removing, removes, "{rule}");
        if resources.iter().any(|resource| resource == "secrets") {
            assert_eq!(words("resourceNames"), ["queuewarden-tls"], "{rule}");
            assert!(verbs == ["get"] || verbs == ["get", "create", "patch", "update"], "{rule}");
        }
        let own = resources.iter().all(|resource| resource.ends_with("/status") || resource == "events");
        let writes = verbs.iter().any(|verb| verb == "update" || verb == "patch");
        assert!(!writes || own || !words("resourceNames").is_empty(), "{rule}");
    }
}

/// The manifests name every object that the code writes by name.
#[test]
fn the_endpoints_may_write_what_they_write() {
    let rules: Vec<Value> = read("manifests/https/rbac.yaml")
        .into_iter()
        .filter_map(|object| object.get("rules").and_then(Value::as_array).cloned())
        .flatten()
        .collect();
    let names = |resource: &str| {
        let rule = rules.iter().find(|rule| rule["resources"][0] == resource).unwrap();
        rule["resourceNames"].clone()
    };
    assert_eq!(names("validatingwebhookconfigurations"), serde_json::json!(registration::VALIDATING));
    assert_eq!(names("mutatingwebhookconfigurations"), serde_json::json!(registration::MUTATING));
    assert_eq!(names("apiservices"), serde_json::json!([registration::API_SERVICE]));
    let secret = read("manifests/https/secret.yaml").remove(0);
    assert_eq!(names("secrets"), serde_json::json!([secret["metadata"]["name"]]));
    assert!(secret.get("data").is_none(), "applied again it would take away what was written");
}

/// A writer of webhook configurations controls the cluster: the pods that listen may not write them.
#[test]
fn only_the_keeper_of_the_certificate_writes_webhook_configurations() {
    for object in read("manifests/https/rbac.yaml") {
        let name = object["metadata"]["name"].as_str().unwrap();
        let keeper = name == "queuewarden-certificates";
        for rule in object["rules"].as_array().into_iter().flatten() {
            let verbs = rule["verbs"].as_array().unwrap();
            assert!(keeper || verbs.iter().all(|verb| verb == "get" || verb == "create"), "{name}: {rule}");
        }
        let Some(subjects) = object["subjects"].as_array() else { continue };
        assert_eq!((object["roleRef"]["name"].as_str(), subjects.len()), (Some(name), 1));
        assert_eq!(subjects[0]["name"] == "queuewarden-certificates", keeper, "{name}");
    }
}

/// A subject that may change roles may pass on only the rights to queues.
#[test]
fn the_mirror_has_no_way_to_more_rights() {
    let rules: Vec<Value> = read("manifests/rbac-mirror/rbac.yaml")
        .into_iter()
        .filter_map(|object| object.get("rules").and_then(Value::as_array).cloned())
        .flatten()
        .collect();
    assert_eq!(rules.len(), 3);
    for rule in rules {
        let words = rule.to_string();
        for word in ["escalate", "bind\"", "impersonate", "\"*\"", "secrets"] {
            assert!(!words.contains(word), "{word} in {words}");
        }
    }
}

/// The kinds of the examples and of the installed default are valid, and no field is misspelled.
#[test]
fn examples_are_valid() {
    let shipped = ["examples/quickstart", "examples/operators"]
        .into_iter()
        .flat_map(|folder| files(folder).into_iter().map(move |name| format!("{folder}/{name}")));
    let mut kinds = BTreeSet::new();
    let more = ["manifests/config/yunikornconfig.yaml", "examples/access-tests/acme.yaml"];
    for path in shipped.chain(more.map(str::to_owned)) {
        for object in read(&path) {
            let object: DynamicObject = serde_json::from_value(object).unwrap();
            let kind = object.types.as_ref().unwrap().kind.clone();
            let result = match kind.as_str() {
                "QueueAcl" => convert::queue_acl(&object).spec.map(drop),
                "AdmissionPolicy" => convert::admission_policy(&object).spec.map(drop),
                "YuniKornConfig" => convert::yunikorn_config(&object).spec.map(drop),
                "QueueAccessTest" => convert::access_test(&object).spec.map(drop),
                "ConfigMap" | "ClusterRole" | "ClusterRoleBinding" => Ok(()),
                other => panic!("{path}: a {other} among the examples"),
            };
            assert_eq!(result, Ok(()), "{path}: {:?}", object.metadata.name);
            kinds.insert(kind);
        }
    }
    assert_eq!(kinds.len(), 7, "{kinds:?}");
}

/// Returns the policy in each file of `examples/operators`, by its path.
fn operators() -> Vec<(String, Value)> {
    let paths = files("examples/operators").into_iter().map(|name| format!("examples/operators/{name}"));
    paths.map(|path| (path.clone(), read(&path).remove(0))).collect()
}

/// Each file trusts an account, so it has to check what that account makes pods of.
#[test]
fn an_example_of_an_operator_is_valid_without_warnings_and_says_how_to_apply_it() {
    for (path, _) in operators() {
        let validate = ["validate", "--strict", "-f", &path];
        let mut command = Command::new(env!("CARGO_BIN_EXE_queuewarden"));
        let output = command.args(validate).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && printed.contains("0 errors, 0 warnings"), "{path}: {printed}");
        let name = Path::new(&path).file_stem().unwrap().to_str().unwrap();
        let first = format!("# kubectl apply --server-side --field-manager={name} -f {path}\n");
        assert!(fs::read_to_string(&path).unwrap().starts_with(&first), "{path}: {first}");
    }
}

/// Each file names an operator, and gives queuewarden the right to get the resources in its templates, and no
/// other right.
#[test]
fn an_example_of_an_operator_gives_the_right_to_read_owners() {
    for (path, policy) in operators() {
        let settings = &policy["spec"]["userInfo"];
        assert!(settings["operators"].as_array().is_some_and(|all| !all.is_empty()), "{path}");
        let templates = settings["templates"].as_array().unwrap().iter();
        let expected: BTreeSet<_> =
            templates.map(|it| (it["group"].to_string(), it["resource"].to_string())).collect();
        let objects = read(&path);
        let name = format!("queuewarden-owners-{}", Path::new(&path).file_stem().unwrap().to_str().unwrap());
        let [_, role, binding] = objects.as_slice() else { panic!("{path}: {objects:?}") };
        assert_eq!((&role["metadata"]["name"], &binding["roleRef"]["name"]), (&json!(name), &json!(name)));
        assert_eq!(binding["subjects"], read("manifests/user-info/rbac.yaml")[1]["subjects"], "{path}");
        let mut found = BTreeSet::new();
        for rule in role["rules"].as_array().unwrap() {
            assert_eq!(rule["verbs"], json!(["get"]), "{path}");
            let resources = rule["resources"].as_array().unwrap().iter();
            found.extend(resources.map(|resource| (rule["apiGroups"][0].to_string(), resource.to_string())));
        }
        assert_eq!(found, expected, "{path}");
    }
}

/// All examples fit into one policy, and the API server calls the webhooks for their kinds and no others.
#[test]
fn the_webhooks_are_called_for_the_kinds_of_all_examples() {
    let all: Vec<Value> = operators()
        .into_iter()
        .flat_map(|(_, policy)| policy["spec"]["userInfo"]["templates"].as_array().unwrap().clone())
        .collect();
    assert!(all.len() < MAX_TEMPLATES, "{} leave no room for others", all.len());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let expected: BTreeSet<_> =
        all.iter().map(|template| (text(&template["group"]), text(&template["resource"]))).collect();
    for name in ["mutating", "validating"] {
        let configuration = read(&format!("manifests/user-info/{name}.yaml")).remove(0);
        let mut found = BTreeSet::new();
        for rule in configuration["webhooks"][0]["rules"].as_array().unwrap() {
            let group = text(&rule["apiGroups"][0]);
            if ["", "apps", "batch"].contains(&&*group) {
                continue;
            }
            assert_eq!(
                (&rule["apiVersions"][0], &rule["operations"]),
                (&"*".into(), &json!(["CREATE", "UPDATE"]))
            );
            let resources = rule["resources"].as_array().unwrap().iter();
            found.extend(resources.map(|resource| (group.clone(), text(resource))));
        }
        assert_eq!(found, expected, "{name}");
    }
}

/// Only requests for our own kinds depend on queuewarden. It is also called for YuniKorn's two ConfigMaps,
/// but no other request waits.
#[test]
fn a_webhook_that_is_down_is_in_the_way_of_our_own_kinds_alone() {
    let webhooks = |path: &str| read(path).remove(0)["webhooks"].as_array().unwrap().clone();
    let webhook = |path: &str| {
        let webhooks = webhooks(path);
        assert_eq!(webhooks.len(), 1, "{path}");
        webhooks[0].clone()
    };
    let [own, deletions] = webhooks("manifests/validating/webhook.yaml").try_into().unwrap();
    assert_eq!((&own["failurePolicy"], &deletions["failurePolicy"]), (&"Fail".into(), &"Ignore".into()));
    assert_eq!(deletions["rules"][0]["operations"], serde_json::json!(["DELETE"]));
    assert_eq!(deletions["rules"][0]["resources"], own["rules"][0]["resources"]);
    let kinds = ["queueacls", "admissionpolicies", "yunikornconfigs", "queueaccesstests"];
    assert_eq!(own["rules"][0]["apiGroups"], serde_json::json!(["queuewarden.dev"]));
    assert_eq!(own["rules"][0]["resources"], serde_json::json!(kinds));
    assert_eq!(own["rules"].as_array().unwrap().len(), 1);
    let guard = webhook("manifests/configmaps/webhook.yaml");
    assert_eq!(guard["failurePolicy"], "Ignore");
    assert!(guard["namespaceSelector"].is_object() && guard["matchConditions"][0]["expression"].is_string());
}

/// The order of the webhooks decides: `YuniKorn`'s admission controller would refuse what the user-info
/// webhook adds before it.
#[test]
fn the_identity_guard_comes_behind_yunikorn_and_is_in_nobodys_way() {
    let [mutating, validating] =
        ["mutating", "validating"].map(|name| read(&format!("manifests/user-info/{name}.yaml")).remove(0));
    assert_eq!(mutating["metadata"]["name"], registration::MUTATING[0]);
    assert!(registration::MUTATING.iter().all(|name| *name > "yunikorn-admission-controller-mutations"));
    assert!(registration::VALIDATING.contains(&validating["metadata"]["name"].as_str().unwrap()));
    let [mutating, validating] = [&mutating, &validating].map(|object| &object["webhooks"][0]);
    for webhook in [mutating, validating] {
        assert_eq!((&webhook["failurePolicy"], &webhook["timeoutSeconds"]), (&"Ignore".into(), &3.into()));
    }
    for field in ["name", "namespaceSelector", "matchConditions"] {
        assert_eq!(mutating[field], validating[field], "{field}");
    }
    assert_eq!(
        (&mutating["rules"][1], &mutating["rules"][2]),
        (&validating["rules"][1], &validating["rules"][2])
    );
}

/// The policy leaves aliases to this webhook, so it is called wherever the policy holds, and no answer of it
/// is a no.
#[test]
fn the_webhook_of_aliases_is_called_for_all_that_the_policy_leaves_to_it() {
    let policy = &read("manifests/user-info/policy.yaml")[0]["spec"];
    let webhook = &read("manifests/user-info/validating.yaml")[0]["webhooks"][2];
    assert_eq!(
        (&webhook["name"], &webhook["failurePolicy"]),
        (&"alias.user-info.queuewarden.dev".into(), &"Fail".into())
    );
    assert_eq!(webhook["namespaceSelector"], policy["matchConstraints"]["namespaceSelector"]);
    let mut rules = policy["matchConstraints"]["resourceRules"].clone();
    let exempt = ["pods/binding", "bindings", "controllerrevisions", "serviceaccounts/token"];
    for rule in rules.as_array_mut().unwrap() {
        let resources = rule["resources"].as_array_mut().unwrap();
        resources.retain(|resource| !exempt.contains(&resource.as_str().unwrap()));
    }
    assert_eq!(webhook["rules"], rules);
    let own_pod = &read("manifests/user-info/validating.yaml")[0]["webhooks"][1];
    assert_eq!(
        (&own_pod["failurePolicy"], &own_pod["namespaceSelector"]),
        (&"Fail".into(), &webhook["namespaceSelector"])
    );
}

/// Returns the lists of texts in an expression, such as `['a', 'b']`.
fn lists(expression: &str) -> Vec<BTreeSet<&str>> {
    let ends = expression.split("['").skip(1).filter_map(|rest| Some(rest.split_once("']")?.0));
    ends.map(|list| list.split("',").map(|text| text.trim().trim_matches('\'')).collect()).collect()
}

/// All that `YuniKorn` derives from a pod is checked at each change of it, by the API server and by the
/// webhooks.
#[test]
fn the_policy_and_the_webhooks_know_all_that_yunikorn_derives_from_a_pod() {
    let known = [BTreeSet::from(DECIDING_LABELS), BTreeSet::from(DECIDING_ANNOTATIONS)];
    let policy = &read("manifests/user-info/policy.yaml")[0]["spec"];
    let variables = policy["variables"].as_array().unwrap();
    for (name, known) in ["labels", "annotations"].into_iter().zip(&known) {
        let variable = variables.iter().find(|variable| variable["name"] == name).unwrap();
        assert_eq!(lists(variable["expression"].as_str().unwrap()), std::slice::from_ref(known), "{name}");
    }
    for file in ["mutating", "validating"] {
        let webhook = read(&format!("manifests/user-info/{file}.yaml"))[0]["webhooks"][0].clone();
        let condition = webhook["matchConditions"][0]["expression"].as_str().unwrap();
        assert_eq!(lists(condition), known, "{file}");
    }
}

/// The policy leaves to this webhook what operators create for custom resources, so it is called wherever the
/// policy holds, for all objects that the policy means, and no answer of it is a no.
#[test]
fn the_webhook_of_operators_is_called_for_all_that_the_policy_leaves_to_it() {
    let policy = &read("manifests/user-info/policy.yaml")[0]["spec"];
    let configuration = &read("manifests/user-info/validating.yaml")[0];
    let [alias, webhook] = [2, 3].map(|index| &configuration["webhooks"][index]);
    assert_eq!(
        (&webhook["name"], &webhook["failurePolicy"]),
        (&"operator.user-info.queuewarden.dev".into(), &"Fail".into())
    );
    for field in ["namespaceSelector", "rules", "clientConfig"] {
        assert_eq!(webhook[field], alias[field], "{field}");
    }
    let conditions = webhook["matchConditions"].as_array().unwrap();
    let names: Vec<_> = conditions.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["of-a-custom-resource", "names-somebody", "not-an-update-that-leaves-it"]);
    assert_eq!(conditions[2], alias["matchConditions"][1]);
    let variables = policy["variables"].as_array().unwrap();
    let left = variables.iter().find(|variable| variable["name"] == "isOfACustomResource").unwrap();
    assert!(left["expression"].as_str().unwrap().ends_with(conditions[0]["expression"].as_str().unwrap()));
}

#[test]
fn the_page_names_all_that_the_api_server_asks() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/webhooks.md")).unwrap();
    let named = |kind: &str, names: &[&str]| {
        for name in names {
            assert!(page.contains(&format!("`{kind} {name}`")), "{kind} {name}");
        }
    };
    named("mutatingwebhookconfiguration", &registration::MUTATING);
    named("validatingwebhookconfiguration", &registration::VALIDATING);
}
