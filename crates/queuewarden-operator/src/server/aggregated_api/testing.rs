//! An authority for front proxies, and the data that API servers publish about it.

use std::collections::BTreeMap;

use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::pki_types::CertificateDer;

use crate::controller::testing::Issuer;

pub(super) fn certificate(issuer: &Issuer, name: &str) -> Vec<CertificateDer<'static>> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    vec![params.signed_by(&KeyPair::generate().unwrap(), issuer).unwrap().der().clone()]
}

pub(super) fn data(issuer: &Issuer, names: &str) -> BTreeMap<String, String> {
    let texts = [
        ("requestheader-client-ca-file", issuer.pem()),
        ("requestheader-allowed-names", names.to_owned()),
        ("requestheader-username-headers", r#"["X-Remote-User","X-User"]"#.to_owned()),
        ("requestheader-uid-headers", r#"["X-Remote-Uid"]"#.to_owned()),
        ("requestheader-group-headers", r#"["X-Remote-Group"]"#.to_owned()),
        ("requestheader-extra-headers-prefix", r#"["X-Remote-Extra-"]"#.to_owned()),
    ];
    texts.into_iter().map(|(key, text)| (key.to_owned(), text)).collect()
}
