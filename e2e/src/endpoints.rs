//! Serves the operator's endpoints: its webhooks and served resources, over TLS with a certificate made for
//! one test.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::Router;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{ValidatingWebhookConfiguration, WebhookClientConfig};
use kube::api::{Api, PostParams};
use queuewarden_operator::controller::health::Health;
use queuewarden_operator::memory::{Budget, MIB};
use queuewarden_operator::server::room::Requests;
use queuewarden_operator::server::{Endpoint, bounds, listener, tls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};

use crate::control_plane;
use crate::front_proxy;
use crate::operator::Operator;
use crate::process::Process;
use crate::session::Session;
use crate::test_cluster::TestCluster;

const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
/// The variable with the certificate's directory, for a process that serves.
const FOLDER: &str = "QUEUEWARDEN_E2E_SERVE";
/// The prefix of the address in the log of such a process.
const SERVING: &str = "serving on ";
/// The longest wait for its address.
const PATIENCE: Duration = Duration::from_secs(20);

/// The address of one operator's endpoints, and the authority of their certificate.
#[derive(Debug, Clone)]
pub struct Endpoints {
    /// `127.0.0.1:PORT`
    pub address: String,
    /// PEM of the authority.
    pub authority: String,
    /// The folder of a mounted certificate.
    pub(crate) mounted: Option<PathBuf>,
}

/// A mounted certificate that is being replaced: its key is still the old one.
#[derive(Debug)]
pub struct Renewal {
    pair: Pair,
    folder: PathBuf,
}

impl Renewal {
    /// Writes the new key; returns PEM of the new authority.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self) -> Result<String> {
        std::fs::write(self.folder.join(KEY), &self.pair.key)?;
        Ok(self.pair.authority)
    }
}

impl Endpoints {
    /// Writes a new certificate by another authority, but not yet its key.
    ///
    /// # Errors
    /// When the certificate is not mounted, or the file cannot be written.
    pub fn renew_half(&self) -> Result<Renewal> {
        let folder = self.mounted.clone().context("the certificate is not mounted")?;
        let pair = Pair::new()?;
        std::fs::write(folder.join(CERTIFICATE), &pair.certificate)?;
        Ok(Renewal { pair, folder })
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// Returns a client that trusts the authority, and no other.
    ///
    /// # Errors
    /// When the authority cannot be read.
    pub fn client(&self) -> Result<reqwest::Client> {
        Ok(self.trusting()?.build()?)
    }

    /// Returns the same client with a client certificate.
    ///
    /// # Errors
    /// When one of the files cannot be read.
    pub fn client_with(&self, own: &front_proxy::Client) -> Result<reqwest::Client> {
        let identity = format!("{}{}", own.certificate, own.key);
        Ok(self.trusting()?.identity(reqwest::Identity::from_pem(identity.as_bytes())?).build()?)
    }

    fn trusting(&self) -> Result<reqwest::ClientBuilder> {
        let authority = reqwest::Certificate::from_pem(self.authority.as_bytes())?;
        let client = reqwest::Client::builder().tls_certs_only([authority]).no_proxy();
        Ok(client.timeout(Duration::from_secs(10)))
    }

    /// Serves `router` from this process until it ends, as the operator serves its endpoints: with the same
    /// listener and the same limits. [`Self::serve_by`] starts such a process and reads the address that is
    /// printed.
    ///
    /// # Errors
    /// When [`Self::serve_by`] has not started this process, or no address can be used.
    pub async fn serve(router: Router) -> Result<()> {
        let folder = PathBuf::from(std::env::var_os(FOLDER).context("another test starts this one")?);
        let [certificate, key] = [CERTIFICATE, KEY].map(|name| std::fs::read(folder.join(name)));
        let identity = tls::ServerCertificate::default();
        identity.show(&certificate?, &key?)?;
        let tls = Some(tls::server_config(identity)?);
        let health = Arc::new(Health::default());
        let body = bounds::BODY;
        let limits = bounds::RequestLimits { body, cuts: false, all: 3 * body, cost: 1 };
        let requests = Requests::new(&Budget::new(176 * MIB));
        let router = bounds::bound(router, limits, &requests, &health);
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("\n{SERVING}{}", socket.local_addr()?);
        let limits = listener::ConnectionLimits::DEFAULT;
        let server = listener::Server { tls, router, limits, requests, is_api_server: None, health };
        server.serve(socket, std::future::pending()).await;
        Ok(())
    }

    /// Starts a process that runs the test of this name, which is ignored and calls [`Self::serve`].
    ///
    /// # Errors
    /// When the process ends before it serves.
    pub async fn serve_by(test: &str) -> Result<(Process, Self)> {
        let pair = Pair::new()?;
        let folder = pair.mount()?;
        let process = Process::new(test, &std::env::current_exe()?, Session::get()?.directory())
            .args([test, "--exact", "--ignored", "--nocapture"])
            .env(FOLDER, &folder);
        process.start()?;
        let address = process.until("an address", PATIENCE, || async {
            Ok(process.log().lines().find_map(|line| line.strip_prefix(SERVING)).map(str::to_owned))
        });
        let address = address.await?;
        Ok((process, Self { address, authority: pair.authority, mounted: Some(folder) }))
    }

    /// Returns the port.
    ///
    /// # Errors
    /// When the address has no port.
    pub fn port(&self) -> Result<u16> {
        Ok(self.address.rsplit(':').next().context("no port")?.parse()?)
    }
}

impl TestCluster {
    /// Makes the API server call the webhook of `manifests/FOLDER/webhook.yaml`, at an address instead of a
    /// Service.
    ///
    /// # Errors
    /// When the file is invalid, or the API server refuses it.
    pub async fn register(&self, endpoints: &Endpoints, folder: &str) -> Result<()> {
        let path = format!("{}/../manifests/{folder}/webhook.yaml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path)?;
        let mut hook: ValidatingWebhookConfiguration = serde_saphyr::from_str(&text)?;
        for one in hook.webhooks.iter_mut().flatten() {
            let service = one.client_config.service.take().context("the webhook has no service")?;
            let path = service.path.context("the webhook has no path")?;
            one.client_config = WebhookClientConfig {
                url: Some(endpoints.url(&path)),
                ca_bundle: Some(ByteString(endpoints.authority.clone().into_bytes())),
                service: None,
            };
        }
        let hooks: Api<ValidatingWebhookConfiguration> = Api::all(self.client()?);
        hooks.create(&PostParams::default(), &hook).await?;
        Ok(())
    }
}

impl<'cluster> Operator<'cluster> {
    /// Starts one replica that serves its endpoints, and waits until it is ready.
    ///
    /// # Errors
    /// As [`Operator::start_with`].
    pub async fn start_serving(cluster: &'cluster TestCluster, args: &[&str]) -> Result<(Self, Endpoints)> {
        let pair = Pair::new()?;
        let address = format!("127.0.0.1:{}", control_plane::free_port()?);
        let folder = pair.mount()?;
        let [certificate, key] = [CERTIFICATE, KEY].map(|name| folder.join(name));
        let [certificate, key] =
            [&certificate, &key].map(|path| path.to_str().context("a path is not UTF-8"));
        let endpoints = served(args);
        let mut all =
            vec!["--https", &address, "--tls-cert-file", certificate?, "--tls-private-key-file", key?];
        all.extend(args.iter().copied().chain(endpoints.as_deref()));
        let operator = Self::start_with(cluster, &all, &[]).await?;
        Ok((operator, Endpoints { address, authority: pair.authority, mounted: Some(folder) }))
    }
}

/// Returns the flag that serves all endpoints, if these flags serve none.
pub(crate) fn served(args: &[&str]) -> Option<String> {
    let names: Vec<&str> = Endpoint::ALL.iter().map(|endpoint| endpoint.name).collect();
    let some = args.iter().any(|arg| arg.starts_with("--endpoints"));
    (!some).then(|| format!("--endpoints={}", names.join(",")))
}

/// A certificate for this machine.
#[derive(Debug)]
struct Pair {
    authority: String,
    certificate: String,
    key: String,
}

impl Pair {
    fn new() -> Result<Self> {
        let mut authority = CertificateParams::default();
        authority.distinguished_name.push(DnType::CommonName, "queuewarden-e2e");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let names = ["localhost", "127.0.0.1", "*.queuewarden-system.svc"].map(str::to_owned).to_vec();
        let certificate = CertificateParams::new(names)?.signed_by(&key, &authority)?;
        Ok(Self { authority: authority.pem(), certificate: certificate.pem(), key: key.serialize_pem() })
    }

    /// Writes certificate and key into a new folder, and returns it.
    fn mount(&self) -> Result<PathBuf> {
        let folder = tempfile::tempdir_in(Session::get()?.directory())?.keep();
        std::fs::write(folder.join(CERTIFICATE), &self.certificate)?;
        std::fs::write(folder.join(KEY), &self.key)?;
        Ok(folder)
    }
}
