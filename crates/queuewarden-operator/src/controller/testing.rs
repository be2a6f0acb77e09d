//! An in-memory API server for tests.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::{Request, Response};
use kube::Client;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::{Value, json};

/// Returns a client of an API server that answers with `answer`.
pub(crate) fn client<F, A>(answer: F) -> Client
where
    F: Fn(Request<kube::client::Body>) -> A + Clone + Send + 'static,
    A: Future<Output = Response<Body>> + Send + 'static,
{
    let service = tower::service_fn(move |request| {
        let answered = answer(request);
        async move { Ok::<_, Infallible>(answered.await) }
    });
    Client::new(service, "default")
}

/// An authority that signs certificates.
pub(crate) type Issuer = CertifiedIssuer<'static, KeyPair>;

/// Makes an authority of this name.
pub(crate) fn issuer(name: &str) -> Issuer {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Returns an answer of the API server.
pub(crate) fn reply(code: u16, body: &Value) -> Response<Body> {
    Response::builder().status(code).body(Body::from(body.to_string())).unwrap()
}

/// Returns the API server's answer for an object that does not exist.
pub(crate) fn not_found() -> Response<Body> {
    reply(
        404,
        &json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound",
            "message": "not found"}),
    )
}
