//! Connects to the scheduler's REST service, with the trusted certificates and credentials from the
//! `YuniKornConfig`.
//!
//! `YuniKorn` serves plain HTTP without a login. Vendors and administrators put a proxy in front of it.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::uri::Scheme;
use http::{HeaderValue, Uri};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use k8s_openapi::api::core::v1::Secret;
use kube::client::{Body, ClientBuilder, ConfigExt as _};
use kube::{Api, Client, Config};
use tokio::time::Instant;
use tower::{BoxError, ServiceBuilder};

use super::error::SchedulerError;
use super::rest::SchedulerClient;
use crate::call::{CallError, call};
use queuewarden_plan::snapshot::SchedulerAddress;

/// The keys read from a Secret: a bearer token, a user with a password, a client certificate, and the
/// authorities of the scheduler's certificate. They are the same as in Kubernetes' built-in types of Secrets.
const KEYS: [&str; 6] = ["token", "username", "password", "tls.crt", "tls.key", "ca.crt"];
/// How long an idle connection stays open.
const IDLE: Duration = Duration::from_secs(30);
/// How long a client is used before it is replaced. Only the first connection of a new client shows whether
/// the certificate is still valid; later ones may resume the session without the certificate.
const AGE: Duration = Duration::from_mins(1);

/// The values of a Secret by key.
type Values = BTreeMap<&'static str, String>;

/// Connects to schedulers, and keeps the last client for a minute.
#[expect(
    missing_debug_implementations,
    reason = "kube's client does not implement Debug, and credentials stay out of logs"
)]
pub struct Connector {
    client: Client,
    last: Mutex<Option<Last>>,
}

/// The last client.
struct Last {
    address: SchedulerAddress,
    values: Values,
    made: Instant,
    scheduler: SchedulerClient,
}

impl Connector {
    /// Creates a connector that reads Secrets with this client.
    pub fn new(client: Client) -> Self {
        Self { client, last: Mutex::default() }
    }

    /// Returns a client of the scheduler. The Secret is read each time, so that new credentials take effect
    /// at once.
    ///
    /// # Errors
    /// When the Secret or the certificates in the address cannot be used.
    pub async fn connect(&self, address: &SchedulerAddress) -> Result<SchedulerClient, SchedulerError> {
        let values = match &address.secret {
            Some((namespace, name)) => Box::pin(self.values(namespace, name)).await?,
            None => Values::new(),
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(last) if last.address == *address && last.values == values && last.made.elapsed() < AGE => {
                Ok(last.scheduler.clone())
            }
            _ => {
                let scheduler = SchedulerClient::new(client(address, &values)?, &address.url);
                let (address, made) = (address.clone(), Instant::now());
                *last = Some(Last { address, values, made, scheduler: scheduler.clone() });
                Ok(scheduler)
            }
        }
    }

    async fn values(&self, namespace: &str, name: &str) -> Result<Values, SchedulerError> {
        let wrong = |why: &str| SchedulerError::Secret(format!("{namespace}/{name}"), why.to_owned());
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let secret = call(secrets.get(name)).await.map_err(|error| match error {
            error if error.is_not_found() => wrong("it does not exist"),
            CallError::Refused { message, .. } => wrong(&message),
            error => wrong(&error.to_string()),
        })?;
        let mut data = secret.data.unwrap_or_default();
        let mut values = Values::new();
        for key in KEYS {
            if let Some(value) = data.remove(key) {
                let text = String::from_utf8(value.0).map_err(|_| wrong(&format!("`{key}` is not text")))?;
                // Secrets created from a file often end with a line break.
                values.insert(key, text.trim_end_matches(['\r', '\n']).to_owned());
            }
        }
        is_complete(&values).map_err(|why| wrong(&why))?;
        Ok(values)
    }
}

/// Checks that the values form one valid way to log in.
fn is_complete(values: &Values) -> Result<(), String> {
    let has = |key| values.contains_key(key);
    let pairs = [("username", "password"), ("tls.crt", "tls.key")];
    for (one, other) in pairs.into_iter().flat_map(|(one, other)| [(one, other), (other, one)]) {
        if has(one) && !has(other) {
            return Err(format!("it has `{one}` but not `{other}`"));
        }
    }
    if values.get("token").is_some_and(|token| HeaderValue::from_str(token).is_err()) {
        return Err("its `token` contains a line break or another control character".to_owned());
    }
    if has("token") && has("username") {
        return Err("it has both `token` and `username`: remove one of them".to_owned());
    }
    if values.is_empty() {
        return Err(
            "it has no `token`, no `username` and `password`, no `tls.crt` and `tls.key`, and no `ca.crt`"
                .to_owned(),
        );
    }
    Ok(())
}

/// Makes the client. It follows no redirect, uses no proxy and repeats no request.
fn client(address: &SchedulerAddress, values: &Values) -> Result<Client, SchedulerError> {
    let SchedulerAddress { url, ca_bundle, secret } = address;
    let uri: Uri = url.parse().map_err(|_| SchedulerError::Unreachable(url.clone()))?;
    let is_plain = uri.scheme() != Some(&Scheme::HTTPS);
    if is_plain && secret.is_some() {
        return Err(SchedulerError::Insecure(url.clone()));
    }
    let mut config = Config::new(uri);
    config.root_cert = match (ca_bundle, values.get("ca.crt")) {
        // Plain HTTP needs no certificate authority, and an image may not contain any.
        _ if is_plain => Some(Vec::new()),
        (Some(bundle), _) => Some(certificates(bundle)?),
        (None, Some(bundle)) => Some(certificates(bundle.as_bytes())?),
        (None, None) => None,
    };
    let value = |key| values.get(key).cloned();
    let encoded = |key| values.get(key).map(|text| STANDARD.encode(text));
    let login = &mut config.auth_info;
    login.token = value("token").map(Into::into);
    (login.username, login.password) = (value("username"), value("password").map(Into::into));
    login.client_certificate_data = encoded("tls.crt");
    login.client_key_data = encoded("tls.key").map(Into::into);
    connection(&config).map_err(|error| {
        let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        match secret {
            Some((namespace, name)) if values.contains_key("tls.crt") => {
                SchedulerError::Secret(format!("{namespace}/{name}"), why)
            }
            _ => SchedulerError::Certificate(url.clone(), why),
        }
    })
}

fn connection(config: &Config) -> Result<Client, kube::Error> {
    let connector = config.rustls_https_connector()?;
    let http =
        legacy::Client::builder(TokioExecutor::new()).pool_idle_timeout(IDLE).build::<_, Body>(connector);
    let service = ServiceBuilder::new().layer(config.base_uri_layer()).option_layer(config.auth_layer()?);
    let service = service.map_err(BoxError::from);
    Ok(ClientBuilder::new(service.service(http), "").build())
}

/// Returns the certificates in a PEM text.
fn certificates(text: &[u8]) -> Result<Vec<Vec<u8>>, SchedulerError> {
    let blocks = pem::parse_many(text).unwrap_or_default();
    let certificates = blocks.into_iter().filter(|block| block.tag() == "CERTIFICATE");
    let found: Vec<_> = certificates.map(pem::Pem::into_contents).collect();
    if found.is_empty() { Err(SchedulerError::Authorities) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use http::Response;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
    use rustls::ServerConfig;
    use rustls::crypto::aws_lc_rs::default_provider;
    use rustls::server::{ClientHello, ResolvesServerCert};
    use rustls::sign::CertifiedKey;
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    /// The certificate that new connections get.
    #[derive(Debug)]
    struct Shown(Mutex<Arc<CertifiedKey>>);

    impl ResolvesServerCert for Shown {
        fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
            Some(Arc::clone(&self.0.lock().unwrap()))
        }
    }

    /// Returns a certificate that ends with this year.
    fn certificate(authority: &CertifiedIssuer<'_, KeyPair>, year: i32) -> Arc<CertifiedKey> {
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        params.not_after = date_time_ymd(year, 12, 31);
        let key = KeyPair::generate().unwrap();
        let chain = vec![params.signed_by(&key, authority).unwrap().der().clone()];
        Arc::new(CertifiedKey::from_der(chain, key.into(), &default_provider()).unwrap())
    }

    /// Serves a checksum on connections that are kept; returns the URL.
    async fn serve(shown: Arc<Shown>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_cert_resolver(shown);
        let acceptor = TlsAcceptor::from(Arc::new(config));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let Ok(stream) = acceptor.accept(stream).await else { continue };
                let answer =
                    async |_| Ok::<_, Infallible>(Response::new(r#"{"Checksum": "7A4F"}"#.to_owned()));
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
                tokio::spawn(connection);
            }
        });
        url
    }

    #[tokio::test]
    async fn an_expired_certificate_on_a_kept_connection_is_noticed_after_a_minute() {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let shown = Arc::new(Shown(Mutex::new(certificate(&authority, 2099))));
        let url = serve(Arc::clone(&shown)).await;
        let ca_bundle = Some(authority.pem().into_bytes());
        let address = SchedulerAddress { ca_bundle, ..SchedulerAddress::from(url.as_str()) };
        let connector = Connector::new(Client::new(tower::service_fn(no_api_server), "default"));
        let checksum = async || connector.connect(&address).await?.checksum().await;

        assert_eq!(checksum().await, Ok("7A4F".to_owned()));
        *shown.0.lock().unwrap() = certificate(&authority, 2019);
        assert_eq!(checksum().await, Ok("7A4F".to_owned()), "the connection is not kept");
        tokio::time::pause();
        tokio::time::advance(AGE).await;
        tokio::time::resume();
        assert_eq!(checksum().await, Err(SchedulerError::Expired(format!("{url}/ws/v1/config"))));
    }

    async fn no_api_server(_: http::Request<Body>) -> Result<Response<Body>, Infallible> {
        Ok(Response::new(Body::empty()))
    }

    /// The check must be complete, because kube's authentication layer panics on invalid tokens.
    #[test]
    fn values_are_one_way_to_log_in() {
        for (values, wrong) in [
            (&[("token", "abc")][..], None),
            (&[("username", "sue"), ("password", "")], None),
            (&[("tls.crt", "a"), ("tls.key", "b"), ("token", "abc")], None),
            (&[("ca.crt", "a")], None),
            (&[], Some("it has no `token`")),
            (&[("token", "a\nb")], Some("contains a line break")),
            (&[("token", "a\u{0}")], Some("control character")),
            (&[("username", "sue")], Some("not `password`")),
            (&[("tls.key", "b")], Some("not `tls.crt`")),
            (&[("token", "abc"), ("username", "sue"), ("password", "x")], Some("remove one of them")),
        ] {
            let values: Values = values.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
            match (is_complete(&values), wrong) {
                (Ok(()), None) => {}
                (Err(why), Some(part)) => assert!(why.contains(part), "{why}"),
                (result, _) => panic!("{values:?}: {result:?}"),
            }
        }
    }

    #[tokio::test]
    async fn credentials_are_not_sent_in_plain_text() {
        let secret = Some(("yunikorn".to_owned(), "login".to_owned()));
        let address = SchedulerAddress { secret, ..SchedulerAddress::from("http://127.0.0.1:9080") };
        assert!(matches!(client(&address, &Values::new()), Err(SchedulerError::Insecure(_))));
    }
}
