//! Tests that a queue tree is read wherever people keep it, and that findings point into their files.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::process::{BASE, acl, err, out, run};

/// A tree with this ACL, each line after `indent` spaces.
fn tree(acl: &str, indent: usize) -> String {
    let lines = ["partitions:", "- name: default", "  queues:", "  - name: root", "    submitacl: "];
    let text = format!("{}'{acl}'\n", lines.join("\n"));
    let space = " ".repeat(indent);
    text.lines().flat_map(|line| [space.as_str(), line, "\n"]).collect()
}

/// Helm values with a tree with this ACL, each line after `indent` spaces.
fn values(acl: &str, indent: usize) -> String {
    let space = " ".repeat(indent);
    let tree = tree(acl, indent + 4);
    format!("{space}yunikornDefaults:\n{space}  log.level: INFO\n{space}  queues.yaml: |\n{tree}")
}

/// Returns files that hold a tree with this ACL, each with its description.
fn files(acl: &str) -> Vec<(&'static str, String)> {
    let at = |indent| tree(acl, indent);
    let values = |indent| values(acl, indent);
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "yunikorn-defaults"}, "data": {"queues.yaml": at(0)}});
    let kubectl = json!({"metadata": {"name": "yunikorn-defaults", "namespace": "batch"}, "data": {"queues.yaml": at(0)}});
    let mut files = vec![
        ("a fragment", format!("# dev\nqueues.yaml: |\n{}", at(2))),
        ("a fragment of a policy group", format!("service.policyGroup: gpu\ngpu.yaml: |\n{}", at(4))),
        ("the data as JSON", json!({"queues.yaml": at(0)}).to_string()),
        ("Helm values", format!("image: {{tag: 1.8.0}}\n{}password: hunter2\n", values(0))),
        ("values of a subchart", format!("platform:\n  yunikorn:\n    replicas: 2\n{}", values(4))),
        ("values as text", format!("yunikornDefaults: |\n  queues.yaml: |\n{}", at(4))),
        ("other values", format!("yunikornConfigs:\n  queues.yaml: |\n{}", at(4))),
        (
            "an inflated chart of kustomize",
            format!("helmCharts:\n- name: yunikorn\n  valuesInline:\n{}", values(4)),
        ),
        (
            "a patch",
            format!(
                "patches:\n- target: {{kind: ConfigMap}}\n  patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata:\n      name: yunikorn-configs\n    data:\n      queues.yaml: |\n{}",
                at(8)
            ),
        ),
        ("a JSON patch", format!("- op: replace\n  path: /data/queues.yaml\n  value: |\n{}", at(4))),
        (
            "a generator",
            format!(
                "configMapGenerator:\n- name: yunikorn-configs\n  literals:\n  - log.level=INFO\n  - |-\n    queues.yaml={}",
                at(4).trim_start()
            ),
        ),
        (
            "what helm template prints",
            format!(
                "---\n# Source: yunikorn/templates/a.yaml\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: a}}\n---\n{map:#}\n"
            ),
        ),
        (
            "a list without kinds",
            json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": [kubectl]}).to_string(),
        ),
        ("an object in a list of other things", format!("resources:\n- {map}\n")),
    ];
    files.extend(files_of_tools(acl));
    files
}

/// Returns such files of Argo CD and Flux.
fn files_of_tools(acl: &str) -> Vec<(&'static str, String)> {
    let values = |indent| values(acl, indent);
    let copy = values(0).replace(acl, "x  y");
    let application = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
        "metadata": {"name": "yk", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": format!("{{\"spec\": {}}}", Value::from(copy.as_str()))}},
        "spec": {"source": {"helm": {"values": values(0)}}},
        "status": {"history": [{"source": {"helm": {"values": copy}}}]},
    });
    let argo = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: yk}\nspec:\n";
    vec![
        ("an Application", format!("{argo}  source:\n    helm:\n      values: |\n{}", values(8))),
        (
            "an Application with objects",
            format!("{argo}  source:\n    helm:\n      valuesObject:\n{}", values(8)),
        ),
        (
            "an Application with parameters",
            format!(
                "{argo}  source:\n    helm:\n      parameters:\n      - {{name: token, value: hunter2}}\n      - name: yk.yunikornDefaults.queues\\.yaml\n        value: |\n{}      - {{name: 'yk.yunikornDefaults.log\\.level', value: INFO}}\n",
                tree(acl, 10)
            ),
        ),
        (
            "an Application of several sources",
            format!(
                "{argo}  sources:\n  - ref: values\n  - chart: yunikorn\n    helm:\n      values: |\n{}",
                values(8)
            ),
        ),
        (
            "an ApplicationSet",
            format!(
                "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: yk}}\nspec:\n  generators: [{{list: {{elements: [{{cluster: a}}]}}}}]\n  template:\n    metadata: {{name: 'yk-{{{{cluster}}}}'}}\n    spec:\n      source:\n        helm:\n          values: |\n            host: '{{{{cluster}}}}.example'\n{}",
                values(12)
            ),
        ),
        ("an Application as JSON", format!("{application:#}\n")),
        (
            "a list of Applications",
            json!({"apiVersion": "v1", "kind": "List", "items": [application]}).to_string(),
        ),
        (
            "a HelmRelease",
            format!(
                "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: yk}}\nspec:\n  values:\n{}",
                values(4)
            ),
        ),
        (
            "values for a HelmRelease",
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: yk-values}}\ndata:\n  values.yaml: |\n{}",
                values(4)
            ),
        ),
        (
            "a HelmChart",
            format!(
                "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {{name: yk}}\nspec:\n  valuesContent: |-\n{}",
                values(4)
            ),
        ),
    ]
}

/// Returns the errors that `validate` finds in a file: the text at each.
fn errors(name: &str, text: &str, folder: &Path) -> Vec<String> {
    fs::write(folder.join("x.yaml"), text).unwrap();
    let ended = run(&["validate", "-o", "json", "-f", "x.yaml"], folder, "");
    let answer: Value =
        serde_json::from_str(&out(&ended)).unwrap_or_else(|_| panic!("{name}: {}", err(&ended)));
    let diagnostics = answer["diagnostics"].as_array().unwrap();
    let errors = diagnostics.iter().filter(|found| found["severity"] == "error").map(|found| {
        let number = |field: &str| usize::try_from(found["source"][field].as_u64().unwrap()).unwrap();
        let start = number("offset");
        text.get(start..start + number("length")).unwrap().to_owned()
    });
    errors.collect()
}

#[test]
fn a_tree_is_read_wherever_it_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    for ((name, good), (_, bad)) in files("sue dev").into_iter().zip(files("sue  dev")) {
        assert_eq!(errors(name, &good, folder.path()), [""; 0], "{name}");
        let asked = run(&["who-can", "submit", "root", "-f", "x.yaml", "-o", "csv"], folder.path(), "");
        let shown = out(&asked);
        let line =
            shown.split_once("x.yaml:").and_then(|(_, at)| at.split(':').next()?.parse::<usize>().ok());
        let line = line.unwrap_or_else(|| panic!("{name}: {shown}{}", err(&asked)));
        let line = good.lines().nth(line - 1).unwrap();
        assert!(line.contains("sue dev") && !line.trim().starts_with("\"kubectl"), "{name}: {line}");
        let found = errors(name, &bad, folder.path());
        let [at] = found.as_slice() else { panic!("{name}: {found:?}\n{bad}") };
        assert_eq!(at, "  ", "{name}");
        for args in [&["validate", "-f", "x.yaml"][..], &["lint", "-f", "x.yaml"]] {
            let shown = run(args, folder.path(), "");
            assert!(!(out(&shown) + &err(&shown)).contains("hunter2"), "{name}: {args:?}");
        }
        let fixed = run(&["validate", "--fix", "-f", "x.yaml"], folder.path(), "");
        assert_eq!(
            fs::read_to_string(folder.path().join("x.yaml")).unwrap(),
            good,
            "{name}: {}",
            err(&fixed)
        );
    }
}

#[test]
fn a_tree_with_an_anchor_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("tree: &tree |\n{}yunikornDefaults: {{queues.yaml: *tree}}\n", tree("sue  dev", 2));
    let found = errors("an anchor", &text, folder.path());
    assert!(matches!(found.as_slice(), [at] if at.starts_with("&tree")), "{found:?}");
    errors("an anchor", &text.replace("  dev", " dev"), folder.path());
    let asked = run(&["can-i", "submit", "root", "--as", "sue", "-f", "x.yaml"], folder.path(), "");
    assert!(asked.status.success(), "{}{}", out(&asked), err(&asked));
}

/// What cannot be edited in its place is named.
#[test]
fn a_text_that_is_folded_is_not_fixed() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("yunikornDefaults:\n  queues.yaml: {}\n", Value::from(tree("sue  dev", 0)));
    let text = text.replace("sue  dev", "sue\\x20\\x20dev");
    fs::write(folder.path().join("x.yaml"), &text).unwrap();
    let ended = run(&["validate", "--fix", "-f", "x.yaml"], folder.path(), "");
    assert!(
        err(&ended).contains("note: x.yaml:2:") && err(&ended).contains(" is not fixed: "),
        "{}",
        err(&ended)
    );
    assert_eq!(
        (ended.status.code(), fs::read_to_string(folder.path().join("x.yaml")).unwrap()),
        (Some(1), text)
    );
}

#[test]
fn what_is_no_text_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for (text, at) in [
        ("yunikornDefaults:\n  queues.yaml:\n    partitions: []\n", "queues.yaml"),
        ("yunikornDefaults: [a, b]\n", "yunikornDefaults"),
        ("a:\n  yunikornDefaults: 'text'\n  x: hunter2\n", "yunikornDefaults"),
    ] {
        fs::write(folder.path().join("x.yaml"), text).unwrap();
        for args in [&["validate", "-f", "x.yaml"][..], &["validate", "-R", "-f", "."]] {
            let ended = run(args, folder.path(), "");
            let shown = out(&ended);
            assert_eq!(ended.status.code(), Some(1), "{text}: {shown}{}", err(&ended));
            assert!(
                shown.contains("error[QW6010]") && shown.contains(at) && !shown.contains("hunter2"),
                "{shown}"
            );
        }
    }
    // Numbers and booleans are quoted by the chart.
    let text = format!(
        "yunikornDefaults:\n  kubernetes.qps: 1000\n  service.schedulingInterval: 1s\n  queues.yaml: |\n{}",
        tree("sue", 4)
    );
    assert_eq!(errors("numbers", &text, folder.path()), [""; 0]);
}

#[test]
fn encodings_are_those_of_kubectl() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("x.yaml");
    let text = format!("\u{feff}# \u{fc}ber\r\n{}", tree("sue  dev", 0).replace('\n', "\r\n"));
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [text.as_bytes(), &little, &big] {
        fs::write(&at, bytes).unwrap();
        let ended = run(&["validate", "-f", "x.yaml"], folder.path(), "");
        assert!(out(&ended).contains("x.yaml:6:"), "{}{}", out(&ended), err(&ended));
        let ended = run(&["validate", "--fix", "-f", "x.yaml"], folder.path(), "");
        assert_eq!(ended.status.code(), Some(0), "{}", err(&ended));
        // The encoding stays.
        let lost = bytes.len() - fs::read(&at).unwrap().len();
        assert_eq!(lost, if bytes.len() == text.len() { 1 } else { 2 });
    }
    for (bytes, why) in [
        (&b"a: 1\npartitions: \xe4\n"[..], "line 2 is not UTF-8: save the file as UTF-8"),
        (b"\xff\xfea\x00b", "it starts like UTF-16, but is not valid"),
    ] {
        fs::write(&at, bytes).unwrap();
        let ended = run(&["validate", "-f", "x.yaml"], folder.path(), "");
        assert_eq!(ended.status.code(), Some(2));
        assert!(err(&ended).contains(&format!("cannot read `x.yaml`: {why}")), "{}", err(&ended));
    }
    fs::write(&at, vec![b' '; 9 << 20]).unwrap();
    let ended = run(&["who-can", "submit", "root", "-f", "x.yaml"], folder.path(), "");
    assert!(err(&ended).contains("8 MiB; pass only the relevant objects"), "{}", err(&ended));
}

#[test]
fn binary_data_may_have_line_breaks() {
    use base64::Engine;
    let packed = queuewarden_api::config_map::gzip(tree("sue dev", 0)).unwrap();
    let packed = base64::engine::general_purpose::STANDARD.encode(packed);
    let lines: Vec<&str> =
        packed.as_bytes().chunks(60).map(|line| std::str::from_utf8(line).unwrap()).collect();
    let folder = tempfile::tempdir().unwrap();
    for text in [
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: yunikorn-configs}}\nbinaryData:\n  queues.yaml.gz: |\n    {}\n", lines.join("\n    ")),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "yunikorn-configs"}, "binaryData": {"queues.yaml.gz": lines.join("\r\n")}}).to_string(),
    ] {
        fs::write(folder.path().join("x.yaml"), text).unwrap();
        let ended = run(&["can-i", "submit", "root", "--as", "sue", "-f", "x.yaml"], folder.path(), "");
        assert_eq!(ended.status.code(), Some(0), "{}{}", out(&ended), err(&ended));
    }
}

#[test]
fn the_namespace_is_that_of_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let map = |namespace: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: yunikorn-configs, namespace: {namespace}}}\ndata:\n  queues.yaml: |\n{}",
            tree(namespace, 4)
        )
    };
    let config = |spec: &str| {
        format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: YuniKornConfig\nmetadata: {{name: default}}\nspec: {spec}\n"
        )
    };
    for (name, text) in [
        ("batch.yaml", map("batch")),
        ("spark.yaml", map("spark")),
        ("yunikorn.yaml", map("yunikorn")),
        ("config.yaml", config("{namespace: batch}")),
        ("observe.yaml", config("{namespace: batch, mode: Observe}")),
        ("acl.yaml", acl("ann").replace("root.a", "root")),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let ask = |user: &str, files: &[&str], more: &[&str]| {
        let files = files.iter().flat_map(|file| ["-f", file]);
        let args: Vec<&str> = ["can-i", "submit", "root", "--as", user]
            .into_iter()
            .chain(files)
            .chain(more.iter().copied())
            .collect();
        let ended = run(&args, folder.path(), "");
        (ended.status.code(), err(&ended))
    };
    for (files, namespace, more) in [
        (&["batch.yaml"][..], "batch", &[][..]),
        (&["batch.yaml", "config.yaml"], "batch", &[]),
        (&["batch.yaml", "observe.yaml"], "batch", &[]),
        (&["spark.yaml", "batch.yaml", "config.yaml"], "batch", &[]),
        (&["spark.yaml", "batch.yaml", "yunikorn.yaml"], "yunikorn", &[]),
        (&["spark.yaml", "batch.yaml"], "spark", &["--cluster-namespace", "spark"]),
        (&["spark.yaml", "batch.yaml", "config.yaml"], "spark", &["--cluster-namespace", "spark"]),
    ] {
        let (code, said) = ask(namespace, files, more);
        assert_eq!(code, Some(0), "{files:?} {more:?}: {said}");
    }
    let (code, said) = ask("batch", &["spark.yaml", "batch.yaml"], &[]);
    assert!(
        code == Some(2) && said.contains("batch and spark: name YuniKorn's with --cluster-namespace"),
        "{said}"
    );
    let (code, said) = ask("yunikorn", &["batch.yaml"], &["--cluster-namespace", "yunikorn"]);
    assert!(
        code == Some(3) && said.contains("in namespace yunikorn, or give --cluster-namespace batch"),
        "{said}"
    );
    // Someone else owns the key, so the operator would not write the grant.
    let (code, said) = ask("ann", &["batch.yaml", "config.yaml", "acl.yaml"], &[]);
    assert!(code == Some(3) && said.contains("would not write"), "{said}");
    for command in ["validate", "render"] {
        let args = [command, "-f", "spark.yaml", "-f", "batch.yaml", "--cluster-namespace", "spark"];
        let ended = run(&args, folder.path(), "");
        assert!(ended.status.code() != Some(2), "{}", err(&ended));
    }
}

#[test]
fn a_base_alone_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let values = format!("yk:\n  yunikornDefaults:\n    queues.yaml: |\n{}", tree("sue dev", 6));
    let two = format!("{values}other:\n  yunikornDefaults:\n    queues.yaml: |\n{}", tree("bob", 6));
    for (name, text) in
        [("base.yaml", BASE.to_owned()), ("values.yaml", values), ("two.yaml", two), ("acl.yaml", acl("ann"))]
    {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let ended = |args: &[&str]| run(args, folder.path(), "");
    for (args, code) in [
        (&["who-can", "submit", "root.a", "--base", "base.yaml"][..], 1),
        (&["who-can", "submit", "root", "--base", "values.yaml"], 0),
        (&["can-i", "submit", "root", "--as", "sue", "--base", "values.yaml", "-f", "acl.yaml"], 0),
        (&["can-i", "submit", "root", "--as", "bob", "--base", "values.yaml", "-f", "two.yaml"], 1),
        (&["grant", "submit", "root.a", "--user", "ann", "--base", "base.yaml"], 0),
        (&["validate", "--base", "values.yaml"], 0),
        (&["render", "--base", "base.yaml"], 0),
        (&["can-i", "submit", "root", "--as", "bob", "--base", "two.yaml"], 2),
        (&["can-i", "submit", "root", "--as", "bob", "-f", "two.yaml"], 3),
        (&["can-i", "submit", "root", "--as", "bob", "--base", "base.yaml", "--live"], 2),
        (&["can-i", "submit", "root", "--as", "bob", "--yunikorn-version", "1.8"], 2),
    ] {
        let ended = ended(args);
        assert_eq!(ended.status.code(), Some(code), "{args:?}: {}{}", out(&ended), err(&ended));
    }
    let two = err(&ended(&["can-i", "submit", "root", "--as", "bob", "-f", "two.yaml"]));
    assert!(two.contains("QW6004") && two.contains("two.yaml:3:5") && two.contains("--base"), "{two}");
    let version = err(&ended(&["matrix", "--yunikorn-version", "1.8"]));
    assert!(version.contains("--yunikorn-version is for files"), "{version}");
}

#[test]
fn dead_ends_of_the_command_line_name_the_option() {
    let folder = tempfile::tempdir().unwrap();
    for (args, advice) in [
        (&["can-i", "submit", "root.a", "ann"][..], "did you mean `--as ann`?"),
        (&["explain", "submit", "root.a", "ann"], "did you mean `--as ann`?"),
        (&["grant", "submit", "root.a", "ann"], "did you mean `--user ann`?"),
        (&["revoke", "submit", "root.a", "ann"], "did you mean `--user ann`?"),
        (&["grant", "submit", "root.a", "-u", "ann"], "did you mean `--user`?"),
        (&["can-i", "submit", "root.a", "-u", "ann"], "did you mean `--as`?"),
        (&["who-can", "submit", "root.a", "-n", "yunikorn"], "did you mean `--cluster-namespace`?"),
        (&["who-can", "submit", "root.a", "-R"], "pass files or folders with `-f`"),
    ] {
        let ended = run(args, folder.path(), "");
        assert_eq!(ended.status.code(), Some(2), "{args:?}");
        assert!(err(&ended).contains(advice), "{args:?}: {}", err(&ended));
    }
}

#[test]
fn a_file_that_is_named_and_holds_nothing_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, words) in [
        ("Chart.yaml", "apiVersion: v2\nname: yunikorn\n", "it has no `kind`"),
        ("values.yaml", "replicas: 1\n", "below `yunikornDefaults`"),
        (
            "acl.yaml",
            "{{- if .Values.x }}\napiVersion: queuewarden.dev/v1alpha1\n{{- end }}\n",
            "if this is a template",
        ),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
        let ended = run(&["validate", "-f", name], folder.path(), "");
        assert!(
            ended.status.code() == Some(1) && out(&ended).contains(words),
            "{}{}",
            out(&ended),
            err(&ended)
        );
    }
    let ended = run(&["validate", "-f", "."], folder.path(), "");
    assert_eq!(ended.status.code(), Some(0), "{}{}", out(&ended), err(&ended));
    let said = err(&ended);
    assert!(said.contains("note: ./acl.yaml:1:1 is a template") || said.contains("acl.yaml"), "{said}");
    assert!(said.contains("note: 3 files skipped"), "{said}");
}
