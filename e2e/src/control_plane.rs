//! Runs etcd and kube-apiserver, and on request kube-controller-manager, as processes on loopback.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::ByteString;
use kube::Config;
use serde_json::json;

use crate::assets::Servers;
use crate::audit::{self, Audit};
use crate::authorization;
use crate::front_proxy::{self, Authority};
use crate::kubeconfig::{self, Access};
use crate::process::Process;

/// Maximum duration of a cold start on a busy machine; two seconds are usual.
const START: Duration = Duration::from_mins(2);
/// Services live on loopback: see [`crate::forward`].
const SERVICE_RANGE: &str = "127.96.0.0/16";

#[derive(Debug)]
pub(crate) struct ControlPlane {
    pub(crate) etcd: Process,
    /// `http://HOST:PORT` of etcd's client interface.
    pub(crate) store_url: String,
    pub(crate) apiserver: Process,
    pub(crate) controller_manager: Process,
    pub(crate) admin: Config,
    pub(crate) admin_kubeconfig: PathBuf,
    pub(crate) access: Access,
    pub(crate) audit: Audit,
    /// Signs the client certificates of users.
    pub(crate) people: Authority,
}

impl ControlPlane {
    pub(crate) async fn start(servers: &Servers, directory: &Path) -> Result<Self> {
        let etcd_port = free_port()?;
        let etcd = etcd(servers, directory, etcd_port)?;
        etcd.start()?;

        let port = free_port()?;
        let token = secret()?;
        let people = Authority::new()?;
        let apiserver = apiserver(servers, directory, port, etcd_port, &token)?
            .args(flag("--client-ca-file", &people.file(&directory.join("pki/people-ca.crt"))?));
        apiserver.start()?;
        // The API server makes its certificate itself, before it listens.
        let certificate = directory.join("pki/apiserver.crt");
        let pem = apiserver
            .until("the API server's certificate", START, || async {
                let pem = fs::read_to_string(&certificate)?;
                Ok(pem.ends_with("-----END CERTIFICATE-----\n").then_some(pem))
            })
            .await?;
        let cluster = json!({
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority-data": ByteString(pem.into_bytes()),
        });
        let access = Access { cluster, token };
        let admin_kubeconfig = access.write(&directory.join("admin.kubeconfig"))?;
        let plane = Self {
            etcd,
            store_url: format!("http://127.0.0.1:{etcd_port}"),
            apiserver,
            controller_manager: controller_manager(servers, directory, &admin_kubeconfig),
            admin: kubeconfig::load(&admin_kubeconfig).await?,
            admin_kubeconfig,
            access,
            audit: Audit::new(&directory.join("audit.log")),
            people,
        };
        plane.ready().await?;
        Ok(plane)
    }

    /// Starts every process that is not running, resumes every paused one, and waits until the API server
    /// answers.
    pub(crate) async fn ensure(&self) -> Result<()> {
        for process in [&self.etcd, &self.apiserver] {
            if process.running() {
                process.resume()?;
            } else {
                process.start()?;
            }
        }
        self.ready().await
    }

    async fn ready(&self) -> Result<()> {
        self.apiserver
            .until("the API server to be ready", START, || async {
                let request = http_get("/readyz")?;
                let answer = kubeconfig::client(&self.admin)?.request_text(request).await?;
                Ok((answer == "ok").then_some(()))
            })
            .await
    }
}

fn http_get(path: &str) -> Result<http::Request<Vec<u8>>> {
    Ok(http::Request::get(path).body(Vec::new())?)
}

fn etcd(servers: &Servers, directory: &Path, port: u16) -> Result<Process> {
    let peer = format!("http://127.0.0.1:{}", free_port()?);
    let client = format!("http://127.0.0.1:{port}");
    Ok(Process::new("etcd", &servers.etcd(), directory)
        .args(["--data-dir".into(), directory.join("etcd").into_os_string()])
        .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
        .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("default={peer}")])
        .args(["--unsafe-no-fsync", "--log-level=warn"]))
}

fn apiserver(servers: &Servers, directory: &Path, port: u16, etcd: u16, token: &str) -> Result<Process> {
    let pki = directory.join("pki");
    fs::create_dir_all(&pki)?;
    let policy = directory.join("audit-policy.json");
    fs::write(&policy, audit::POLICY)?;
    let authorization = directory.join(authorization::FILE);
    fs::write(&authorization, authorization::RBAC)?;
    let tokens = directory.join("tokens.csv");
    fs::write(&tokens, format!("{token},admin,admin,\"system:masters\"\n"))?;
    // The key of the generated serving certificate also signs service account tokens, which saves creating
    // another key.
    let key = pki.join("apiserver.key");
    Ok(Process::new("kube-apiserver", &servers.apiserver(), directory)
        .args([
            format!("--etcd-servers=http://127.0.0.1:{etcd}"),
            format!("--secure-port={port}"),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--service-cluster-ip-range={SERVICE_RANGE}"),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            // Pods never run, so nothing would mount their tokens. Without this plugin, namespaces need no
            // ServiceAccount.
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            "--audit-log-mode=blocking".to_owned(),
            // 500 objects applied at once should be limited by the scheduler, not by these limits.
            "--max-requests-inflight=2000".to_owned(),
            "--max-mutating-requests-inflight=1000".to_owned(),
        ])
        .args(flag("--cert-dir", &pki))
        .args(flag("--authorization-config", &authorization))
        .args(flag("--token-auth-file", &tokens))
        .args(flag("--service-account-key-file", &key))
        .args(flag("--service-account-signing-key-file", &key))
        .args(flag("--audit-policy-file", &policy))
        .args(flag("--audit-log-path", &directory.join("audit.log")))
        .args(front_proxy::flags(&pki)?))
}

fn controller_manager(servers: &Servers, directory: &Path, kubeconfig: &Path) -> Process {
    Process::new("kube-controller-manager", &servers.controller_manager(), directory)
        .args([
            // The test cluster's node sends no heartbeats, so this controller would declare it dead.
            "--controllers=*,-node-lifecycle-controller",
            "--use-service-account-credentials=true",
            "--leader-elect=false",
            "--secure-port=0",
        ])
        .args(flag("--kubeconfig", kubeconfig))
        .args(flag("--service-account-private-key-file", &directory.join("pki/apiserver.key")))
}

pub(crate) fn flag(name: &str, path: &Path) -> [std::ffi::OsString; 1] {
    let mut flag = std::ffi::OsString::from(name);
    flag.push("=");
    flag.push(path);
    [flag]
}

/// Returns a port that is not in use. It is below the range that the kernel uses for outgoing connections, so
/// that none of those takes it before the server does.
pub(crate) fn free_port() -> Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    (0..8000)
        .map(|_| 21_000 + NEXT.fetch_add(1, Ordering::Relaxed) % 8000)
        .find(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
        .context("no free port between 21000 and 29000")
}

/// Returns 128 random bits in hex.
fn secret() -> Result<String> {
    use std::io::Read as _;
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
