//! Tests how the endpoints identify their callers.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::{Endpoints, Operator, TestCluster, operator};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};

use super::prepared;

/// An endpoint that needs the caller's identity, and answers each caller about themselves.
const PATH: &str = "/apis/access.queuewarden.dev/v1alpha1/selfqueueaccessreviews";
const QUESTION: &str = r#"{"apiVersion": "access.queuewarden.dev/v1alpha1", "kind": "SelfQueueAccessReview",
    "spec": {"queue": "root.prod", "verb": "submit"}}"#;

/// An authority that signs certificates of clients.
type Authority = CertifiedIssuer<'static, KeyPair>;

/// A client certificate and its key, PEM.
struct Client(String);

fn authority() -> Result<Authority> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

fn client(authority: &Authority, name: &str) -> Result<Client> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate()?;
    Ok(Client(params.signed_by(&key, authority)?.pem() + &key.serialize_pem()))
}

/// Returns status and text of the answer to a caller with this certificate, or this token.
async fn ask(
    endpoints: &Endpoints,
    certificate: Option<&Client>,
    token: Option<&str>,
) -> Result<(u16, String)> {
    let authority = reqwest::Certificate::from_pem(endpoints.authority.as_bytes())?;
    let mut client = reqwest::Client::builder().tls_certs_only([authority]).no_proxy();
    if let Some(Client(pem)) = certificate {
        client = client.identity(reqwest::Identity::from_pem(pem.as_bytes())?);
    }
    let request =
        client.build()?.post(endpoints.url(PATH)).header("content-type", "application/json").body(QUESTION);
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    let answer = request.send().await?;
    Ok((answer.status().as_u16(), answer.text().await?))
}

#[tokio::test]
async fn unknown_callers_get_the_reason() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !prepared(cluster).await? {
            return Ok(());
        }
        cluster.apply_kustomization("manifests/access").await?;
        let ours = authority()?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("clients.crt");
        std::fs::write(&file, ours.pem())?;
        let file = file.to_str().context("a path is not UTF-8")?;
        let (_operator, endpoints) =
            Operator::start_self_certified(cluster, &["--client-ca-file", file]).await?;
        let token = cluster.kubectl(&["create", "token", operator::NAME, "-n", operator::NAMESPACE]).await?;
        let (sue, stranger) = (client(&ours, "sue")?, client(&authority()?, "sue")?);

        let refused = [
            (ask(&endpoints, None, None).await?, "authenticate with a client certificate"),
            (ask(&endpoints, None, Some("guess")).await?, "the token is not accepted here"),
            (ask(&endpoints, Some(&stranger), None).await?, "the client certificate is not accepted here"),
        ];
        for ((status, text), why) in refused {
            ensure!(status == 401 && text.contains(why), "{status}: {text}");
            ensure!(text.contains(r#""kind":"Status""#), "{text}");
        }
        for known in [
            ask(&endpoints, Some(&sue), None).await?,
            ask(&endpoints, None, Some(token.trim())).await?,
            ask(&endpoints, Some(&stranger), Some(token.trim())).await?,
        ] {
            ensure!(known.0 == 201, "{known:?}");
        }
        Ok(())
    })
    .await
}

/// Webhooks answer only the callers named by `--webhook-client`, and endpoints that are not served do not
/// exist.
#[tokio::test]
async fn webhooks_answer_only_the_named_client() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !prepared(cluster).await? {
            return Ok(());
        }
        let ours = authority()?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("clients.crt");
        std::fs::write(&file, ours.pem())?;
        let file = file.to_str().context("a path is not UTF-8")?;
        let args = ["--client-ca-file", file, "--webhook-client=apiserver", "--endpoints=access,configmaps"];
        let (_operator, endpoints) = Operator::start_self_certified(cluster, &args).await?;
        let (named, sue, stranger) =
            (client(&ours, "apiserver")?, client(&ours, "sue")?, client(&authority()?, "apiserver")?);
        let review = r#"{"request": {"uid": "u", "kind": {"group": "", "kind": "ConfigMap"}, "object": {}}}"#;
        let post = async |path: &str, certificate: Option<&Client>| {
            let authority = reqwest::Certificate::from_pem(endpoints.authority.as_bytes())?;
            let mut client = reqwest::Client::builder().tls_certs_only([authority]).no_proxy();
            if let Some(Client(pem)) = certificate {
                client = client.identity(reqwest::Identity::from_pem(pem.as_bytes())?);
            }
            let answer = client.build()?.post(endpoints.url(path)).body(review).send().await?;
            anyhow::Ok(answer.status().as_u16())
        };
        for (certificate, status) in
            [(None, 401), (Some(&stranger), 401), (Some(&sue), 403), (Some(&named), 200)]
        {
            ensure!(post("/configmaps", certificate).await? == status, "{status}");
        }
        for path in ["/validate", "/submission", "/user-info", "/authorize"] {
            ensure!(post(path, Some(&named)).await? == 404, "{path}");
        }
        ensure!(ask(&endpoints, Some(&sue), None).await?.0 != 404, "access is served");
        Ok(())
    })
    .await
}
