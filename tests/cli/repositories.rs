//! Tests the hook for pre-commit and the action on repositories as people lay them out: they find the planted
//! faults, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::pipelines::{FILE, action, hook};
use super::process::{err, out, run};

/// A fault: its file, line and code.
type Fault = (String, u64, String);

/// A repository that is being written.
struct Repository {
    folder: tempfile::TempDir,
    faults: BTreeSet<Fault>,
}

impl Repository {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), faults: BTreeSet::new() }
    }

    /// Writes a file. A line that ends with `# QW1001` has this fault.
    fn file(mut self, name: &str, text: &str) -> Self {
        let mut written = String::new();
        for (line, number) in text.lines().zip(1..) {
            let fault = line.rsplit_once(" # QW").filter(|(_, code)| code.parse::<u16>().is_ok());
            if let Some((line, code)) = fault {
                self.faults.insert((name.to_owned(), number, format!("QW{code}")));
                written += line;
            } else {
                written += line;
            }
            written.push('\n');
        }
        self.bytes(name, written.as_bytes())
    }

    fn bytes(self, name: &str, bytes: &[u8]) -> Self {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    /// Runs the hook and the action.
    fn check(self) {
        let Self { folder, faults } = self;
        let hook = hook();
        let args = |more: &[&'static str]| -> Vec<String> {
            hook.iter().cloned().chain(more.iter().map(|arg| (*arg).to_owned())).collect()
        };
        let text = args(&[]);
        let ended = run(&text.iter().map(String::as_str).collect::<Vec<_>>(), folder.path(), "");
        let said = out(&ended) + &err(&ended);
        let code = i32::from(!faults.is_empty());
        assert_eq!(ended.status.code(), Some(code), "{said}");
        let args = args(&["-o", "json"]);
        let ended = run(&args.iter().map(String::as_str).collect::<Vec<_>>(), folder.path(), "");
        let answer: Value = serde_json::from_str(&out(&ended)).unwrap();
        let diagnostics = answer["diagnostics"].as_array().unwrap();
        let found = diagnostics.iter().map(|found| {
            let file = found["source"]["file"].as_str().unwrap_or_default().trim_start_matches("./");
            let word = |field: &str| found[field].as_str().unwrap().to_owned();
            (file.to_owned(), found["source"]["line"].as_u64().unwrap_or_default(), word("code"))
        });
        assert_eq!(found.collect::<BTreeSet<_>>(), faults, "{said}");
        assert_eq!(diagnostics.len(), faults.len(), "{said}");
        let (ended, results) = action(folder.path());
        assert_eq!(ended.status.code(), Some(code), "{}", err(&ended));
        let found = results.iter().map(|result| {
            let file = result.pointer(FILE).and_then(Value::as_str).unwrap_or_default().to_owned();
            let line = result.pointer("/locations/0/physicalLocation/region/startLine");
            (
                file,
                line.and_then(Value::as_u64).unwrap_or_default(),
                result["ruleId"].as_str().unwrap().to_owned(),
            )
        });
        assert_eq!(found.collect::<BTreeSet<_>>(), faults, "{results:#?}");
    }
}

/// Lines of a tree, after `indent` spaces: root lets platform in, and root.etl has this ACL.
fn tree(acl: &str, indent: usize) -> String {
    let text = format!(
        "partitions:\n  - name: default\n    queues:\n      - name: root\n        adminacl: ' platform'\n        queues:\n          - name: etl\n            submitacl: {acl}\n"
    );
    let space = " ".repeat(indent);
    text.lines().flat_map(|line| [space.as_str(), line, "\n"]).collect()
}

const GOOD: &str = "'nadia data-eng'";
const BAD: &str = "'nadia  data-eng' # QW1001";

fn acl(name: &str, queue: &str, spec: &str) -> String {
    format!(
        "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata:\n  name: {name}\nspec:\n  queue: {queue}\n{spec}"
    )
}

fn map(acl: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yunikorn-defaults\n  namespace: yunikorn\ndata:\n  queues.yaml: |\n{}",
        tree(acl, 4)
    )
}

fn values(acl: &str, indent: usize) -> String {
    let space = " ".repeat(indent);
    format!("{space}yunikornDefaults:\n{space}  queues.yaml: |\n{}", tree(acl, indent + 4))
}

const PACKAGE: &str =
    "{\"name\": \"platform\", \"scripts\": {\"test\": \"true\"}, \"description\": \"yunikorn\"}";
const SUBMIT: &str = "  submit:\n    users: [carl]\n";

#[test]
fn plain_files() {
    Repository::new()
        .file("package.json", PACKAGE)
        .file(
            ".github/workflows/check.yaml",
            "on: [push]\njobs: {x: {steps: [{run: 'echo ${{ yunikorn }}'}]}}\n",
        )
        .file("yunikorn/queues.yaml", &tree(GOOD, 0))
        .file("acls/etl.yaml", &acl("etl", "root.etl", SUBMIT))
        .file("acls/typo.yaml", &acl("typo", "root.elt # QW6201", SUBMIT))
        .file("acls/list.yaml", &acl("list", "root.etl", "  submit:\n    users: carl # QW6103\n"))
        .check();
}

#[test]
fn kustomize() {
    let patch = format!(
        "resources:\n- ../../base\npatches:\n- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata:\n      name: yunikorn-defaults\n    data:\n      queues.yaml: |\n{}",
        tree(BAD, 8)
    );
    Repository::new()
        .file("base/kustomization.yaml", "resources: [map.yaml, etl.yaml]\n")
        .file("base/map.yaml", &map(GOOD))
        .file("base/etl.yaml", &acl("etl", "root.etl", SUBMIT))
        .file("overlays/prod/kustomization.yaml", &patch)
        .file("overlays/dev/kustomization.yaml", "resources: [../../base, map.yaml]\n")
        .file("overlays/test/kustomization.yaml", "resources: [../../base]\npatches:\n- path: acls/etl.yaml\n- {path: log.yaml}\n")
        .file("overlays/test/acls/etl.yaml", "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {name: etl}\nspec: {suspend: true}\n")
        .file("overlays/test/log.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yunikorn-defaults, namespace: yunikorn}\ndata: {log.level: DEBUG}\n")
        .file("base/typo.yaml", &acl("typo", "root.elt # QW6201", SUBMIT))
        .file("overlays/dev/map.yaml", &map("'nadia'"))
        .file(
            "overlays/dev/rbac.yaml",
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: yunikorn-configs}\n",
        )
        .check();
}

#[test]
fn an_umbrella_chart() {
    let template = "{{- range .Values.teams }}\n---\napiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata:\n  name: {{ .name }}\nspec:\n  queue: root.{{ .name }}\n{{- end }}\n";
    let simple = acl("'{{ .Release.Name }}'", "root.{{ .Values.queue }}", SUBMIT);
    Repository::new()
        .file("chart/Chart.yaml", "apiVersion: v2\nname: platform\nversion: 1.0.0\ndependencies:\n- name: yunikorn\n  version: 1.8.0\n  repository: https://charts.example.org\n")
        .file("chart/values.yaml", &format!("teams: []\nyunikorn:\n  replicaCount: 1\n{}", values(BAD, 2)))
        .file("chart/values-dev.yaml", &format!("yunikorn:\n{}", values(GOOD, 2)))
        .file("chart/values.schema.json", "{\"$schema\": \"http://json-schema.org/draft-07/schema#\", \"properties\": {\"yunikornDefaults\": {\"type\": \"object\", \"properties\": {\"queues.yaml\": {\"type\": \"string\"}}}}}")
        .file("chart/templates/acls.yaml", template)
        .file("chart/templates/simple.yaml", &simple)
        .file("chart/templates/static.yaml", &acl("static", "root.etl", "  sumbit: {} # QW6101\n"))
        .file("chart/templates/_helpers.tpl", "{{- define \"x\" }}yunikorn{{ end }}\n")
        .file("chart/charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 1.0.0\n")
        .check();
}

#[test]
fn values_at_the_root() {
    let defaults = "embedAdmissionController: true\nyunikornDefaults: {}\n";
    Repository::new()
        .file("Chart.yaml", "apiVersion: v2\nname: yunikorn\nversion: 1.8.0\n")
        .file("values.yaml", &format!("# YuniKorn\nembedAdmissionController: true\n{}", values(BAD, 0)))
        .file("ci/values.yaml", defaults)
        .file("templates/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yunikorn-defaults\ndata:\n{{- range $k, $v := .Values.yunikornDefaults }}\n  {{ $k }}: {{ quote $v }}\n{{- end }}\n")
        .file("package.json", PACKAGE)
        .check();
    // Nothing of YuniKorn's is no fault.
    Repository::new()
        .file("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.8.0\n")
        .file("values.yaml", "replicas: 2\n")
        .file("templates/web.yaml", "kind: {{ .Values.kind }}\n")
        .file("package.json", PACKAGE)
        .check();
}

/// Returns an Application with this `source`.
fn application(name: &str, source: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: {name}\n  namespace: argocd\nspec:\n  project: default\n{source}  destination:\n    namespace: yunikorn\n"
    )
}

#[test]
fn an_application_of_applications() {
    let chart = |values: &str| {
        format!("  source:\n    chart: yunikorn\n    targetRevision: 1.8.0\n    helm:\n{values}")
    };
    Repository::new()
        .file(
            "root.yaml",
            &application(
                "root",
                "  source:\n    repoURL: https://git.example.org/yunikorn\n    path: apps\n",
            ),
        )
        .file(
            "apps/yunikorn.yaml",
            &application(
                "yunikorn",
                &chart(&format!("      values: |\n        host: x\n{}", values(BAD, 8))),
            ),
        )
        .file(
            "apps/grafana.yaml",
            &application(
                "grafana",
                &chart("      values: |\n        title: yunikorn {{ x }}\n        broken: [\n"),
            ),
        )
        .file("apps/acls.yaml", &application("acls", "  source:\n    path: acls\n"))
        .file("acls/etl.yaml", &acl("etl", "root.etl", "  submit:\n    everyone: 'yes' # QW6103\n"))
        .check();
}

#[test]
fn an_application_of_several_sources() {
    let sources = format!(
        "  sources:\n  - repoURL: https://git.example.org/values\n    ref: values\n  - chart: yunikorn\n    helm:\n      valueFiles: [$values/envs/prod/values.yaml]\n      valuesObject:\n{}",
        values(BAD, 8)
    );
    let parameters = "  sources:\n  - chart: yunikorn\n    helm:\n      parameters:\n      - name: yunikornDefaults.queues\\.yaml\n        value: \"partitions: [{name: default, queues: [{name: root, adminacl: 'a  b'}]}]\" # QW1001\n";
    Repository::new()
        .file("apps/prod.yaml", &application("prod", &sources))
        .file("apps/dev.yaml", &application("dev", parameters))
        .file("envs/prod/values.yaml", &values(GOOD, 0))
        .check();
}

#[test]
fn flux() {
    let release = |values: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: yunikorn\n  namespace: yunikorn\nspec:\n  interval: 10m\n{values}"
        )
    };
    Repository::new()
        .file("sources/yunikorn.yaml", "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: yunikorn}\nspec: {url: https://charts.example.org}\n")
        .file("clusters/prod/yunikorn.yaml", &release(&format!("  values:\n{}", values(BAD, 4))))
        .file("clusters/dev/yunikorn.yaml", &release("  valuesFrom:\n  - kind: ConfigMap\n    name: yunikorn-values\n"))
        .file("clusters/dev/values.yaml", &format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yunikorn-values\ndata:\n  values.yaml: |\n{}", values(BAD, 4)))
        .file("clusters/dev/secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: yunikorn-values}\nstringData: {values.yaml: 'yunikornDefaults: ['}\n")
        .file("clusters/prod/flux.yaml", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: yunikorn}\nspec: {path: ./clusters/prod}\n")
        .check();
}

#[test]
fn a_monorepo() {
    let kafka = "partitions: 12\nqueues: [a]\n";
    let disks = "partitions:\n- {label: yunikorn, size: 1G}\n";
    Repository::new()
        .file("package.json", PACKAGE)
        .file("tsconfig.json", "{\n  // yunikorn\n  \"strict\": true,\n}\n")
        .file("node_modules/x/acl.yaml", "kind: QueueAcl\n")
        .file("services/kafka/topic.yaml", kafka)
        .file("services/disks.yml", disks)
        .file("services/web/docker-compose.yml", "services: {web: {image: yunikorn}}\n")
        .file("services/web/skeleton.yaml", &acl("${{ values.name }}", "root.${{ values.queue }}", ""))
        .file("services/web/deployment.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {queue: root.etl}}\nspec: [yunikorn\n")
        .bytes("services/web/latin1.yaml", b"name: \xe4\n")
        .file("clusters/dev/map.yaml", &map(GOOD))
        .file("clusters/dev/acls.yaml", &acl("etl", "root.etl", SUBMIT))
        .file("clusters/prod/map.yaml", &map(GOOD).replace("name: etl", "name: batch"))
        .file("clusters/prod/acls.yaml", &acl("etl", "root.etl # QW6201", SUBMIT))
        .file("clusters/prod/broken.yaml", "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {name: x # QW2001\nspec: {}\n")
        .check();
}

#[test]
fn an_application_set() {
    let set = |values: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata:\n  name: yunikorn\nspec:\n  generators:\n  - clusters: {{}}\n  template:\n    metadata:\n      name: 'yunikorn-{{{{name}}}}'\n    spec:\n      destination:\n        server: '{{{{server}}}}'\n      source:\n        chart: yunikorn\n        helm:\n          values: |\n            cluster: {{{{name}}}}\n{values}"
        )
    };
    Repository::new()
        .file("set.yaml", &set(&values(BAD, 12)))
        .file("each.yaml", &set(&values("'{{name}}  devs'", 12)))
        .file("list.yaml", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: queuewarden.dev/v1alpha1\n  kind: QueueACL # QW6002\n  metadata: {name: x}\n")
        .check();
}

#[test]
fn a_dump_of_powershell() {
    let dump = json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": [
        {"metadata": {"name": "kube-root-ca.crt", "namespace": "yunikorn"}, "data": {"ca.crt": "x"}},
        {"metadata": {"name": "yunikorn-defaults", "namespace": "yunikorn"}, "data": {"queues.yaml": tree("'nadia  data-eng'", 0)}},
    ]});
    let text = format!("\u{feff}{dump:#}\n").replace('\n', "\r\n");
    let line = text.lines().position(|line| line.contains("nadia")).unwrap() + 1;
    let mut repository = Repository::new();
    repository.faults.insert((
        "dumps/maps.json".to_owned(),
        u64::try_from(line).unwrap(),
        "QW1001".to_owned(),
    ));
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let notes: Vec<u8> = "\u{feff}yunikorn: [".encode_utf16().flat_map(u16::to_le_bytes).collect();
    repository.bytes("dumps/maps.json", &bytes).bytes("notes.yaml", &notes).check();
}

/// A folder with nothing but files of others is no wrong path.
#[test]
fn what_is_skipped_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(Path::new(folder.path()).join(name), text).unwrap();
    write("a.yaml", "a: 1\n");
    write("b.json", "{");
    let ended = run(&["validate", "-f", "."], folder.path(), "");
    let said = err(&ended);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(said.contains("note: 2 files skipped") && said.contains("note: nothing was checked: "), "{said}");
    write("c.yaml", &values(GOOD, 0));
    let ended = run(&["who-can", "submit", "root.etl", "-f", "."], folder.path(), "");
    assert!(ended.status.success() && err(&ended).contains("note: 2 files skipped"), "{}", err(&ended));
}
