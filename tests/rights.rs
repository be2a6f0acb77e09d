//! Checks that each right of queuewarden's accounts has a use in the code, that each part of the code that
//! calls the API server has a right, and that docs/rights.md names them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folders of the code that runs under these accounts. The first is left out of [`Use::uses`].
const CODE: [&str; 2] = ["crates/queuewarden-operator/src/", "crates/queuewarden-client/src/"];

/// A right and its use.
struct Use {
    /// The file in `manifests`.
    manifest: &'static str,
    /// `VERBS RESOURCE`, with the name of the account in front if it is not queuewarden.
    right: &'static str,
    /// The file that uses it, and its calls in the order of the verbs.
    uses: &'static [(&'static str, &'static [&'static str])],
}

const WATCH: (&str, &[&str]) = ("controller/watch.rs", &["watcher(api"]);

const USES: &[Use] = &[
    Use {
        manifest: "rbac.yaml",
        right: "get,list,watch queueacls,admissionpolicies,yunikornconfigs,queueaccesstests",
        uses: &[
            ("controller/status.rs", &["api.get_opt("]),
            ("queuewarden-client/src/objects.rs", &["Api<DynamicObject>"]),
            WATCH,
        ],
    },
    Use {
        manifest: "rbac.yaml",
        right: "patch queueacls/status,admissionpolicies/status,yunikornconfigs/status,queueaccesstests/status",
        uses: &[("controller/status.rs", &["api.patch_status("])],
    },
    Use {
        manifest: "rbac.yaml",
        right: "get,list,watch configmaps yunikorn-defaults,yunikorn-configs,yunikorn-queues",
        uses: &[
            ("controller/apply.rs", &[".get_opt("]),
            ("controller/cluster_watches.rs", &["Api::<ConfigMap>"]),
            WATCH,
        ],
    },
    Use {
        manifest: "rbac.yaml",
        right: "patch configmaps yunikorn-configs",
        uses: &[("controller/apply.rs", &[".patch("])],
    },
    Use {
        manifest: "rbac.yaml",
        right: "list,create,delete controllerrevisions",
        uses: &[("controller/history.rs", &["api.list_metadata(", "api.create(", "api.delete("])],
    },
    Use {
        manifest: "rbac.yaml",
        right: "create configmaps",
        uses: &[("controller/apply.rs", &[".create("]), ("controller/last_base.rs", &["api.create("])],
    },
    Use {
        manifest: "rbac.yaml",
        right: "get,update leases queuewarden",
        uses: &[("controller/leader.rs", &["api.get_opt(", "api.replace("])],
    },
    Use {
        manifest: "rbac.yaml",
        right: "create leases",
        uses: &[("controller/leader.rs", &["api.create("]), ("process/mod.rs", &["Api<Lease>"])],
    },
    Use {
        manifest: "rbac.yaml",
        right: "get,patch configmaps queuewarden-last-base",
        uses: &[("controller/last_base.rs", &["api.get_opt(", "api.patch("])],
    },
    Use {
        manifest: "rbac.yaml",
        right: "create,patch events",
        // The recorder patches the event that it created when it happens again.
        uses: &[("controller/events.rs", &["recorder.publish("])],
    },
    Use {
        manifest: "https/rbac.yaml",
        right: "get secrets queuewarden-tls",
        uses: &[
            ("server/certificates/material.rs", &["secrets.get_opt("]),
            ("server/certificates/loader.rs", &["Api<Secret>"]),
        ],
    },
    Use {
        manifest: "https/rbac.yaml",
        right: "queuewarden-certificates: get,create,patch,update secrets queuewarden-tls",
        uses: &[("server/certificates/keeper.rs", &["secrets.replace(", "secrets.patch("])],
    },
    Use {
        manifest: "https/rbac.yaml",
        right: "queuewarden-certificates: get,list,watch,patch validatingwebhookconfigurations \
            queuewarden,queuewarden-configmaps,queuewarden-submission,queuewarden-user-info",
        uses: &[("server/certificates/keeper.rs", &["get_opt(", "patch(", "watcher("])],
    },
    Use {
        manifest: "https/rbac.yaml",
        right: "queuewarden-certificates: get,list,watch,patch mutatingwebhookconfigurations \
            zz-queuewarden-user-info",
        uses: &[("server/certificates/keeper.rs", &["get_opt(", "patch(", "watcher("])],
    },
    Use {
        manifest: "https/rbac.yaml",
        right: "queuewarden-certificates: get,list,watch,patch apiservices v1alpha1.access.queuewarden.dev",
        uses: &[("server/certificates/keeper.rs", &["get_opt(", "patch(", "watcher("])],
    },
    Use {
        manifest: "access/rbac.yaml",
        right: "create subjectaccessreviews",
        uses: &[("server/permission.rs", &["reviews.create("])],
    },
    Use {
        manifest: "access/rbac.yaml",
        right: "create tokenreviews",
        uses: &[
            ("server/caller.rs", &["reviews.create("]),
            ("server/aggregated_api/mod.rs", &["callers.authenticate("]),
        ],
    },
    Use {
        manifest: "access/rbac.yaml",
        right: "role extension-apiserver-authentication-reader",
        uses: &[("server/aggregated_api/front_proxy.rs", &["maps.get("])],
    },
    Use {
        manifest: "authorizer/rbac.yaml",
        right: "create subjectaccessreviews",
        uses: &[("server/permission.rs", &["reviews.create("])],
    },
    Use {
        manifest: "authorizer/rbac.yaml",
        right: "create tokenreviews",
        uses: &[
            ("server/caller.rs", &["reviews.create("]),
            ("server/authorize/mod.rs", &["callers.authenticate("]),
        ],
    },
    Use {
        manifest: "validating/rbac.yaml",
        right: "create subjectaccessreviews",
        uses: &[("server/permission.rs", &["reviews.create("])],
    },
    Use {
        manifest: "submission/rbac.yaml",
        right: "get namespaces",
        uses: &[("server/lookups.rs", &["objects.get_metadata_opt("])],
    },
    Use {
        manifest: "user-info/rbac.yaml",
        right: "get namespaces",
        uses: &[("server/lookups.rs", &["objects.get_metadata_opt("])],
    },
    Use {
        manifest: "user-info/rbac.yaml",
        right: "get priorityclasses",
        uses: &[("server/lookups.rs", &["objects.get_metadata_opt("])],
    },
    Use {
        manifest: "user-info/rbac.yaml",
        right: "get,list,watch mutatingwebhookconfigurations yunikorn-admission-controller-mutations",
        uses: &[
            ("server/lookups.rs", &["objects.get_metadata_opt("]),
            ("controller/cluster_watches.rs", &["YUNIKORN, \"mutating"]),
            WATCH,
        ],
    },
    Use {
        manifest: "user-info/rbac.yaml",
        right: "list,watch mutatingwebhookconfigurations zz-queuewarden-user-info",
        uses: &[("controller/cluster_watches.rs", &["MUTATING, \"mutating"]), WATCH],
    },
    Use {
        manifest: "user-info/rbac.yaml",
        right: "list,watch validatingwebhookconfigurations queuewarden-user-info",
        uses: &[("controller/cluster_watches.rs", &["VALIDATING, \"validating"]), WATCH],
    },
    Use {
        manifest: "applications/rbac.yaml",
        right: "list,watch pods",
        uses: &[("server/applications.rs", &["Api::all,"]), WATCH],
    },
    Use {
        manifest: "scheduler-secret/rbac.yaml",
        right: "get secrets queuewarden-scheduler",
        uses: &[("queuewarden-client/src/scheduler/connector.rs", &["secrets.get("])],
    },
    Use {
        manifest: "rbac-mirror/rbac.yaml",
        right: "get,list,watch,create,update,delete clusterroles,clusterrolebindings",
        uses: &[
            ("controller/mirror.rs", &["api.get_opt(", "api.create(", "api.replace(", "api.delete("]),
            WATCH,
        ],
    },
    // It passes these on: the API server demands that the writer of a role has what is in it.
    Use { manifest: "rbac-mirror/rbac.yaml", right: "submit,use,administer queues", uses: &[] },
    Use {
        manifest: "rbac-mirror/rbac.yaml",
        right: "submit,use,administer queues.queuewarden.dev,queues.access.queuewarden.dev",
        uses: &[],
    },
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn words(value: &Value) -> String {
    let words: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    words.join(",")
}

/// Returns the rights that a manifest gives to queuewarden's two accounts.
fn rights(manifest: &str) -> Vec<String> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(&read(&format!("manifests/{manifest}"))).unwrap();
    let mut rights = Vec::new();
    for binding in objects.iter().filter(|object| !object["roleRef"].is_null()) {
        let subjects = binding["subjects"].as_array().unwrap().iter();
        for account in subjects.filter_map(|subject| subject["name"].as_str()) {
            let account = match account {
                "queuewarden" => "",
                "queuewarden-certificates" => "queuewarden-certificates: ",
                _ => continue,
            };
            let role = &binding["roleRef"]["name"];
            let here = |object: &&Value| {
                let of = |field: &str| &object["metadata"][field];
                object["kind"] == binding["roleRef"]["kind"]
                    && of("name") == role
                    && *of("namespace") == binding["metadata"]["namespace"]
            };
            let Some(role) = objects.iter().filter(|object| object.get("rules").is_some()).find(here) else {
                rights.push(format!("{account}role {}", role.as_str().unwrap()));
                continue;
            };
            for rule in role["rules"].as_array().unwrap() {
                let names = words(&rule["resourceNames"]);
                let right =
                    format!("{account}{} {} {names}", words(&rule["verbs"]), words(&rule["resources"]));
                rights.push(right.trim_end().to_owned());
            }
        }
    }
    rights
}

fn manifests() -> BTreeSet<String> {
    let folders = fs::read_dir(root().join("manifests")).unwrap();
    let folders = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files = folders.map(|folder| format!("{folder}/rbac.yaml")).chain(["rbac.yaml".to_owned()]);
    files.filter(|file| root().join("manifests").join(file).is_file()).collect()
}

#[test]
fn each_right_has_a_use() {
    let given: BTreeSet<(String, String)> = manifests()
        .into_iter()
        .flat_map(|manifest| rights(&manifest).into_iter().map(move |right| (manifest.clone(), right)))
        .collect();
    let used: BTreeSet<(String, String)> =
        USES.iter().map(|used| (used.manifest.to_owned(), used.right.to_owned())).collect();
    assert_eq!(given, used);
    for used in USES {
        for (file, calls) in used.uses {
            let folder = if file.contains("/src/") { "crates/" } else { CODE[0] };
            let text = read(&format!("{folder}{file}"));
            let code = text.split("\nmod tests {").next().unwrap();
            for call in *calls {
                assert!(code.contains(call), "{} {}: {file} has no {call}", used.manifest, used.right);
            }
        }
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

#[test]
fn each_use_has_a_right() {
    let mut files = Vec::new();
    for folder in CODE {
        sources(&root().join(folder), &mut files);
    }
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("\nmod tests {").next().unwrap();
        if ["Api<", "Api::", "Recorder"].iter().any(|word| text.contains(word)) {
            let path = path.strip_prefix(root()).unwrap().to_str().unwrap();
            let file = path.strip_prefix(CODE[0]).or_else(|| path.strip_prefix("crates/")).unwrap_or(path);
            let named = USES.iter().flat_map(|used| used.uses).any(|(used, _)| *used == file);
            assert!(named, "{file} calls the API server; name the right that it uses");
        }
    }
}

/// docs/rights.md has a row for each manifest, with the kinds of objects in it.
#[test]
fn each_right_is_described() {
    let page = read("docs/rights.md");
    for used in USES {
        let manifest = match used.manifest.strip_suffix("/rbac.yaml") {
            Some(folder) => format!("`manifests/{folder}`"),
            None => "`manifests/rbac.yaml`".to_owned(),
        };
        let row = page.lines().find(|line| line.starts_with(&format!("| {manifest}")));
        let row = row.unwrap_or_else(|| panic!("docs/rights.md has no row for {manifest}"));
        for (resource, word) in [
            ("configmaps", "ConfigMap"),
            ("controllerrevisions", "ControllerRevision"),
            ("leases", "Lease"),
            ("events", "event"),
            ("secrets", "Secret"),
            ("tokenreviews", "TokenReview"),
            ("subjectaccessreviews", "SubjectAccessReview"),
            ("namespaces", "namespace"),
            ("priorityclasses", "PriorityClass"),
            ("pods", "pods"),
            ("clusterrolebindings", "ClusterRoleBinding"),
        ] {
            let is_about = used.right.contains(&format!(" {resource}"));
            assert!(!is_about || row.contains(word), "{manifest}: no word about {resource}");
        }
    }
    for row in page.lines().filter(|line| line.starts_with("| `manifests/")) {
        let of_row = |used: &&Use| {
            row.contains(&format!("`manifests/{}`", used.manifest.trim_end_matches("/rbac.yaml")))
        };
        for (resource, word) in
            [("tokenreviews", "TokenReview"), ("subjectaccessreviews", "SubjectAccessReview")]
        {
            let has = USES.iter().filter(of_row).any(|used| used.right.ends_with(resource));
            assert_eq!(row.contains(word), has, "{row}");
        }
    }
}
