//! Tests certificates of the webhook server: shared, renewed without a failed call, replaced when unusable,
//! mounted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, PostParams};
use queuewarden_api::registration;
use queuewarden_e2e::faults::{Call, Fault};
use queuewarden_e2e::own_tls::{ASKED, KEEPER, KEEPER_USER, SECRET, WEBHOOK};
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Endpoints, FaultProxy, Kind, Operator, TestCluster, eventually, operator};
use queuewarden_operator::controller::clock;
use queuewarden_operator::server::certificates::material::{Material, Terms};
use queuewarden_operator::server::certificates::schedule::MOST;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::{client, prepared, shown_certificate};

/// The name that the API server uses to call the Service that leads here.
const SERVICE: &str = "endpoints.queuewarden-system.svc";
/// Short enough that the Secret is read every few seconds, but no certificate expires before the test is
/// over.
const LIFETIME: [&str; 4] = ["--tls-name", SERVICE, "--tls-certificate-lifetime", "5m"];

/// The group of webhook configurations.
const ADMISSION: &str = "admissionregistration.k8s.io";

/// Creates a webhook of ours that matches nothing.
async fn create_webhook(cluster: &TestCluster) -> Result<()> {
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(cluster.client()?);
    let webhook = serde_json::from_value(serde_json::json!({
        "metadata": {"name": WEBHOOK},
        "webhooks": [{
            "name": "nothing.queuewarden.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
        }],
    }))?;
    webhooks.create(&PostParams::default(), &webhook).await?;
    Ok(())
}

/// Makes the API server call these endpoints about `QueueAcl`s, and refuse changes if it cannot.
async fn ask_about_acls(cluster: &TestCluster, endpoints: &Endpoints) -> Result<()> {
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(cluster.client()?);
    let webhook = serde_json::from_value(serde_json::json!({
        "metadata": {"name": ASKED},
        "webhooks": [{
            "name": "validate.queuewarden.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
            "clientConfig": {"url": endpoints.url("/validate"), "caBundle": ByteString(endpoints.authority.clone().into_bytes())},
            "rules": [{
                "apiGroups": ["queuewarden.dev"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["queueacls"],
            }],
        }],
    }))?;
    webhooks.create(&PostParams::default(), &webhook).await?;
    Ok(())
}

/// Returns the authorities that the API server would trust, PEM.
async fn reported(cluster: &TestCluster) -> Result<Option<String>> {
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(cluster.client()?);
    let webhook = webhooks.get(WEBHOOK).await?.webhooks.unwrap_or_default().into_iter().next();
    let bundle = webhook.context("there is no webhook")?.client_config.ca_bundle;
    Ok(bundle.map(|bundle| String::from_utf8(bundle.0)).transpose()?)
}

#[tokio::test]
async fn replicas_share_a_certificate_and_publish_its_authority() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !prepared(cluster).await? {
            return Ok(());
        }
        create_webhook(cluster).await?;
        let (one, first) = Operator::start_self_certified(cluster, &[]).await?;
        let (other, second) = Operator::start_certified(cluster, &[], None).await?;
        ensure!(first.authority == second.authority);
        let bundle = eventually("the API server to know", PATIENCE, || reported(cluster)).await?;
        ensure!(bundle == first.authority);
        let client = client(&bundle)?;
        ensure!(shown_certificate(&client, &first).await? == shown_certificate(&client, &second).await?);
        // Replicas with the same answers use the same certificate.
        let snapshot = async |operator: &Operator<'_>| {
            let metrics = operator.get("/metrics").await?;
            let line = metrics.lines().find(|line| line.starts_with("queuewarden_snapshot_info{"));
            Ok::<_, anyhow::Error>(line.context("no snapshot is reported")?.to_owned())
        };
        ensure!(snapshot(&one).await? == snapshot(&other).await?);
        let made = one.metric("queuewarden_snapshot_timestamp_seconds", "").await?;
        ensure!(made > 1_700_000_000.0, "{made}");
        let stranger = reqwest::Client::builder().no_proxy().build()?;
        let error = stranger.get(first.url("/readyz")).send().await.unwrap_err();
        ensure!(format!("{error:?}").contains("UnknownIssuer"), "{error:?}");
        Ok(())
    })
    .await
}

/// The faults of each write. The last write is executed, but the response is lost, so it need not be made
/// again.
const FAULTS: [Fault; 4] = [Fault::Refuse(403), Fault::Refuse(409), Fault::Refuse(500), Fault::Mask(504)];

#[tokio::test]
async fn certificate_survives_wrong_answers() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !prepared(cluster).await? {
            return Ok(());
        }
        create_webhook(cluster).await?;
        let (proxy, mut left) = (FaultProxy::start(cluster).await?, BTreeMap::new());
        let about = |call: &Call| call.is_about("secrets") || call.path.ends_with(WEBHOOK);
        proxy.inject(move |call| {
            about(call)
                .then(|| left.entry(call.purpose()).or_insert_with(|| FAULTS.iter()).next().copied())?
        });
        let kubeconfig = proxy.kubeconfig_of(cluster, KEEPER).await?;
        let env = [("KUBECONFIG", &*kubeconfig.to_string_lossy())];
        let _keeper = cluster.start_keeper(&LIFETIME, &env).await?;
        eventually("the API server to know what there is", LONG, || async {
            let there = cluster.tls_secret().await?.remove("ca.crt");
            Ok((there.is_some() && reported(cluster).await? == there).then_some(()))
        })
        .await?;
        let purposes = proxy.calls().into_iter().filter(about).map(|call| call.purpose());
        let mut made: BTreeMap<String, usize> = BTreeMap::new();
        purposes.for_each(|purpose| *made.entry(purpose).or_default() += 1);
        ensure!(made.len() == 4 && made.values().all(|calls| *calls >= FAULTS.len()), "{made:?}");
        Ok(())
    })
    .await
}

/// The observations of a load.
#[derive(Default)]
struct Load {
    calls: AtomicU64,
    failures: Mutex<Vec<String>>,
    shown: Mutex<BTreeSet<Vec<u8>>>,
    trusted: Mutex<String>,
    over: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Load {
    fn trusted(&self) -> String {
        lock(&self.trusted).clone()
    }

    /// Trusts this bundle, as the API server does after a change of its webhooks.
    fn trust(&self, bundle: String) {
        *lock(&self.trusted) = bundle;
    }

    /// Returns whether callers have seen a certificate.
    fn saw(&self, certificate: &str) -> Result<bool> {
        Ok(lock(&self.shown).contains(CertificateDer::from_pem_slice(certificate.as_bytes())?.as_ref()))
    }

    fn note(&self, outcome: Result<Vec<u8>>) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        match outcome {
            Ok(shown) => drop(lock(&self.shown).insert(shown)),
            Err(error) => lock(&self.failures).push(format!("{error:?}")),
        }
    }

    /// Connects repeatedly, trusting the authorities that the API server trusts at that moment.
    async fn connect_anew(&self, endpoints: &Endpoints) -> Result<()> {
        while !self.over.load(Ordering::Relaxed) {
            let client = client(&self.trusted())?;
            self.note(shown_certificate(&client, endpoints).await);
        }
        Ok(())
    }

    /// Makes the API server call: as a proxy for the served resources, and with a review of a QueueAcl that
    /// is not stored. It does not retry these calls.
    async fn through_the_api_server(&self, cluster: &TestCluster) -> Result<()> {
        let acls = cluster.objects(Kind::QueueAcl)?;
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        let acl = serde_json::from_value(serde_json::json!({
            "apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": "asked"},
            "spec": {"queue": "root.prod", "submit": {"users": ["sue"]}},
        }))?;
        while !self.over.load(Ordering::Relaxed) {
            let request = http::Request::get("/apis/access.queuewarden.dev/v1alpha1").body(Vec::new())?;
            let proxied = cluster.client()?.request_text(request).await;
            self.note(proxied.map(|_| Vec::new()).context("the proxy"));
            let asked = acls.create(&dry, &acl).await;
            self.note(asked.map(|_| Vec::new()).context("the webhook"));
        }
        Ok(())
    }

    /// Calls on one lasting connection.
    async fn stay_connected(&self, endpoints: &Endpoints) -> Result<()> {
        let client = client(&self.trusted())?;
        while !self.over.load(Ordering::Relaxed) {
            self.note(shown_certificate(&client, endpoints).await);
        }
        Ok(())
    }
}

/// Renews everything until an authority is forgotten. Dates in the past make each step due, so nothing
/// expires on a slow machine.
async fn renew(cluster: &TestCluster, load: &Load) -> Result<()> {
    let ago = |hours| clock::now().checked_sub(SignedDuration::from_hours(hours));
    let first = load.trusted();
    for _ in 0..MOST {
        let mut material = kept(cluster).await?;
        let old = material.authorities.len() - 1;
        // Its certificate has less than a third of its time left, and the next authority is old enough to
        // sign.
        material.sign(ago(9)?, &terms(), old)?;
        material.add_authority(ago(10)?, &terms())?;
        let newest = material.authorities.last().cloned();
        cluster.set_tls_secret(material.data()).await?;
        eventually("callers to see what the new authority signed", LONG, || async {
            load.trust(reported(cluster).await?.context("nobody is trusted")?);
            let material = kept(cluster).await?;
            let by_newest = material.signer().and_then(|at| material.authorities.get(at)) == newest.as_ref();
            let shown = material.shown.as_ref().context("nothing is shown")?;
            Ok((by_newest && load.saw(&shown.chain)?).then_some(()))
        })
        .await?;
    }
    ensure!(!load.trusted().contains(&first), "the first authority is still trusted");
    Ok(())
}

/// Returns the contents of the webhook server's Secret.
async fn kept(cluster: &TestCluster) -> Result<Material> {
    let bytes = |text: String| ByteString(text.into_bytes());
    let data = cluster.tls_secret().await?.into_iter().map(|(key, text)| (key, bytes(text))).collect();
    Ok(Material::read(&Secret { data: Some(data), ..Secret::default() })?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificate_is_renewed_under_load_without_a_failed_call() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !prepared(cluster).await? {
            return Ok(());
        }
        create_webhook(cluster).await?;
        let _keeper = cluster.start_keeper(&LIFETIME, &[]).await?;
        let (_one, first) = Operator::start_certified(cluster, &[], None).await?;
        let (_other, second) = Operator::start_certified(cluster, &[], None).await?;
        cluster.serve_access(&first).await?;
        ask_about_acls(cluster, &second).await?;
        let begin = eventually("the API server to know", PATIENCE, || reported(cluster)).await?;
        let load = Arc::new(Load::default());
        load.trust(begin);
        let mut tasks = tokio::task::JoinSet::new();
        for endpoints in [&first, &second] {
            for _ in 0..3 {
                let (load, endpoints) = (Arc::clone(&load), endpoints.clone());
                tasks.spawn(async move { load.connect_anew(&endpoints).await });
            }
            let (load, endpoints) = (Arc::clone(&load), endpoints.clone());
            tasks.spawn(async move { load.stay_connected(&endpoints).await });
        }
        let renewals = async {
            let renewed = renew(cluster, &load).await;
            load.over.store(true, Ordering::Relaxed);
            renewed
        };
        let (renewed, through) = tokio::join!(renewals, load.through_the_api_server(cluster));
        renewed?;
        through?;
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        let failures = lock(&load.failures).clone();
        let calls = load.calls.load(Ordering::Relaxed);
        eprintln!("{calls} calls, {} certificates", lock(&load.shown).len());
        ensure!(failures.is_empty(), "{} of {calls} calls failed: {:?}", failures.len(), failures.first());
        cluster.install_https().await?;
        Ok(())
    })
    .await
}

fn terms() -> Terms {
    Terms {
        authority: SignedDuration::from_hours(48),
        certificate: SignedDuration::from_hours(12),
        names: BTreeSet::from(["127.0.0.1".to_owned(), SERVICE.to_owned()]),
    }
}

/// The state after a long pause: everything has expired, and nobody ran to renew it.
#[tokio::test]
async fn an_expired_one_is_made_anew() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !prepared(cluster).await? {
            return Ok(());
        }
        create_webhook(cluster).await?;
        let then = Timestamp::from_second(1_700_000_000)?;
        let mut old = Material::default();
        old.add_authority(then, &terms())?;
        old.sign(then, &terms(), 0)?;
        cluster.set_tls_secret(old.data()).await?;
        let (operator, endpoints) = Operator::start_self_certified(cluster, &[]).await?;
        ensure!(endpoints.authority != old.bundle());
        shown_certificate(&client(&endpoints.authority)?, &endpoints).await?;
        let trusted = eventually("the API server to know", PATIENCE, || reported(cluster)).await?;
        ensure!(trusted == endpoints.authority);
        let until = operator.metric("queuewarden_tls_certificate_expiry_timestamp_seconds", "").await?;
        ensure!(until > 1_700_000_000.0 + 7.0 * 86400.0, "{until}");

        // The Secret is emptied, or filled with unreadable data: its content is restored, and no call fails.
        for damage in [None, Some(ByteString(b"damaged".to_vec()))] {
            let mut data = std::collections::BTreeMap::new();
            if let Some(damage) = damage {
                data.extend(
                    ["ca.crt", "ca.key", "tls.crt", "tls.key"].map(|key| (key.to_owned(), damage.clone())),
                );
            }
            cluster.set_tls_secret(data).await?;
            eventually("the Secret to be whole", PATIENCE, || async {
                Ok((cluster.tls_secret().await?.get("ca.crt") == Some(&endpoints.authority)).then_some(()))
            })
            .await?;
        }
        // It is deleted: the one right to create it is by name.
        cluster.kubectl(&["delete", "secret", SECRET, "-n", operator::NAMESPACE]).await?;
        eventually("the Secret to be there again", PATIENCE, || async {
            Ok((cluster.tls_secret().await?.get("ca.crt") == Some(&endpoints.authority)).then_some(()))
        })
        .await?;
        // A foreign certificate is not touched, even without the authority that signed it.
        let foreign = ["tls.crt", "tls.key"].map(|key| (key.to_owned(), endpoints.authority.clone()));
        let data = foreign.clone().map(|(key, value)| (key, ByteString(value.into_bytes())));
        cluster.set_tls_secret(data.into()).await?;
        eventually("the operator to say so", PATIENCE, || async {
            Ok(operator.log().await?.contains("was not written by queuewarden").then_some(()))
        })
        .await?;
        ensure!(cluster.tls_secret().await? == foreign.into());
        shown_certificate(&client(&endpoints.authority)?, &endpoints).await?;
        Ok(())
    })
    .await
}

/// Without permission to read its Secret there is no certificate; the replica reports the reason, and is not
/// ready.
#[tokio::test]
async fn without_rights_it_says_what_is_missing() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !prepared(cluster).await? {
            return Ok(());
        }
        cluster.kubectl(&["delete", "role", "queuewarden-https", "-n", "queuewarden-system"]).await?;
        let keeper = cluster.start_keeper(&[], &[]).await?;
        let address = "127.0.0.1:0";
        let operator = Operator::launch(cluster, &["--https", address, "--endpoints=validate"], &[]).await?;
        eventually("the operator to say so", PATIENCE, || async {
            Ok(operator.log().await?.contains("cannot read Secret queuewarden-tls").then_some(()))
        })
        .await?;
        let unready = operator.get("/readyz").await.unwrap_err().to_string();
        ensure!(unready.contains("503"), "{unready}");
        cluster.install_https().await?;
        operator.ready().await?;
        drop(keeper);
        Ok(())
    })
    .await
}

/// The account of the listening pods cannot change webhook configurations or the Secret, but the account of
/// the process that does not listen can.
#[tokio::test]
async fn listening_process_cannot_write_webhooks_or_the_secret() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !prepared(cluster).await? {
            return Ok(());
        }
        cluster.apply_kustomization("manifests/user-info").await?;
        let webhooks =
            registration::VALIDATING.map(|name| ("validatingwebhookconfigurations", name)).into_iter();
        let webhooks =
            webhooks.chain(registration::MUTATING.map(|name| ("mutatingwebhookconfigurations", name)));
        for (resource, name) in webhooks.clone() {
            let object = Some(("", name));
            for verb in ["get", "list", "create", "update", "patch", "delete", "deletecollection"] {
                // Grants to aliases depend on the registration of the user-info webhook.
                let reads = verb == "list" && name.ends_with("queuewarden-user-info");
                let may = cluster.may(operator::USER, verb, ADMISSION, resource, object).await?;
                ensure!(may == reads, "{verb} {resource} {name}: {may}");
            }
            ensure!(
                cluster.may(KEEPER_USER, "patch", ADMISSION, resource, object).await?,
                "{resource} {name}"
            );
            ensure!(
                !cluster.may(KEEPER_USER, "update", ADMISSION, resource, object).await?,
                "{resource} {name}"
            );
            let asked = [
                "auth",
                "can-i",
                "patch",
                &format!("{resource}/{name}"),
                &format!("--as={}", operator::USER),
            ];
            ensure!(cluster.kubectl(&asked).await.is_err(), "{asked:?}");
        }
        let account = cluster.sa_kubeconfig(operator::NAMESPACE, operator::NAME).await?;
        for (kind, name) in [
            ("mutatingwebhookconfiguration", "zz-queuewarden-user-info"),
            ("validatingwebhookconfiguration", "queuewarden-user-info"),
            ("apiservice", "v1.apps"),
            ("apiservice", registration::API_SERVICE),
        ] {
            let patch = ["patch", kind, name, "--type=merge", "-p", r#"{"metadata":{"labels":{"x":"y"}}}"#];
            let error = cluster.kubectl_as(&account, &patch, "").await.unwrap_err().to_string();
            ensure!(error.contains("forbidden"), "{kind} {name}: {error}");
        }
        let secret = ["patch", "secret", "queuewarden-tls", "-n", operator::NAMESPACE, "-p", "{}"];
        let error = cluster.kubectl_as(&account, &secret, "").await.unwrap_err().to_string();
        ensure!(error.contains("forbidden"), "{error}");
        cluster.remove_webhooks().await
    })
    .await
}

#[tokio::test]
async fn mounted_certificate_is_reloaded() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !prepared(cluster).await? {
            return Ok(());
        }
        let (_operator, endpoints) = Operator::start_serving(cluster, &[]).await?;
        let (before, connected) = (client(&endpoints.authority)?, client(&endpoints.authority)?);
        shown_certificate(&connected, &endpoints).await?;
        // Half of a pair is unusable, so the old pair stays in use.
        let renewed = endpoints.renew_half()?;
        shown_certificate(&before, &endpoints).await?;
        let authority = renewed.finish()?;
        let after = client(&authority)?;
        eventually("the new certificate", PATIENCE, || async {
            shown_certificate(&after, &endpoints).await.map(Some)
        })
        .await?;
        ensure!(
            shown_certificate(&client(&endpoints.authority)?, &endpoints).await.is_err(),
            "the old one is still shown"
        );
        // No connection is dropped because of it.
        tokio::time::timeout(Duration::from_secs(5), shown_certificate(&connected, &endpoints)).await??;
        Ok(())
    })
    .await
}
