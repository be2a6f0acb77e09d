//! The API server as a proxy: it has authenticated its client and names them in headers
//! (`k8s.io/apiserver/pkg/authentication/request/headerrequest/requestheader.go`).
//!
//! Every API server publishes for servers like this one which certificates may do so, and in which headers,
//! in `ConfigMap kube-system/extension-apiserver-authentication`. Without a certificate by that authority
//! the headers mean nothing, because every client of the Service could write them.

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use percent_encoding::percent_decode_str;
use rustls::pki_types::CertificateDer;

use crate::server::caller::{Authorities, Caller};
use yunikorn::identity::Identity;

/// The certificates that may name users in headers, and the headers.
#[derive(Debug)]
pub(super) struct FrontProxy {
    authorities: Authorities,
    /// Common names that are trusted; an empty list means all that the authorities sign.
    names: Vec<String>,
    user: Vec<String>,
    uid: Vec<String>,
    group: Vec<String>,
    /// Prefixes of header names.
    extra: Vec<String>,
}

impl FrontProxy {
    /// Reads the data of the `ConfigMap`.
    ///
    /// # Errors
    /// When no certificate may name users, or the data cannot be read.
    pub(super) fn from_data(data: &BTreeMap<String, String>) -> Result<Self, String> {
        let Some(authorities) = data.get("requestheader-client-ca-file") else {
            return Err("the API server runs without --requestheader-client-ca-file, and so proxies nothing"
                .to_owned());
        };
        let authorities = Authorities::from_pem(authorities.as_bytes()).map_err(|error| error.to_string())?;
        let list = |key: &str| match data.get(key) {
            None => Ok(Vec::new()),
            Some(text) => {
                serde_json::from_str::<Vec<String>>(text).map_err(|error| format!("{key}: {error}"))
            }
        };
        let proxy = Self {
            authorities,
            names: list("requestheader-allowed-names")?,
            user: list("requestheader-username-headers")?,
            uid: list("requestheader-uid-headers")?,
            group: list("requestheader-group-headers")?,
            extra: list("requestheader-extra-headers-prefix")?,
        };
        if proxy.user.is_empty() {
            return Err("requestheader-username-headers names no header".to_owned());
        }
        Ok(proxy)
    }

    /// Returns the user that a request with this certificate is for; `None` when the headers name no user.
    ///
    /// # Errors
    /// When the client may not name users.
    pub(super) fn caller(
        &self,
        chain: &[CertificateDer<'_>],
        headers: &HeaderMap,
    ) -> Result<Option<Caller>, String> {
        let subject = self.authorities.verify(chain)?;
        if !(self.names.is_empty() || self.names.contains(&subject.user)) {
            return Err(format!("{} may not speak for others", go_compat::diag::quoted(&subject.user)));
        }
        let Some(user) = first(headers, &self.user) else { return Ok(None) };
        let groups = all(headers, &self.group);
        let uid = first(headers, &self.uid).unwrap_or_default();
        Ok(Some(Caller { identity: Identity { user, groups }, uid, extra: self.extra(headers) }.known()))
    }

    fn extra(&self, headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for prefix in &self.extra {
            let prefix = prefix.to_ascii_lowercase();
            for (name, value) in headers {
                if let (Some(key), Some(value)) =
                    (name.as_str().strip_prefix(&prefix), text(value.as_bytes()))
                {
                    extra.entry(unescaped(key)).or_default().push(value);
                }
            }
        }
        extra
    }
}

fn first(headers: &HeaderMap, names: &[String]) -> Option<String> {
    all(headers, names).into_iter().next()
}

/// Returns the values of these headers that are not empty.
fn all(headers: &HeaderMap, names: &[String]) -> Vec<String> {
    let values = names.iter().flat_map(|name| headers.get_all(name.as_str()));
    values.filter_map(|value| text(value.as_bytes())).filter(|value| !value.is_empty()).collect()
}

/// Decodes a header. Names may have any letters; a value that is not UTF-8 is no name.
fn text(value: &[u8]) -> Option<String> {
    std::str::from_utf8(value).ok().map(str::to_owned)
}

/// Decodes `%2F` as a slash; a malformed text stays as it is (`unescapeExtraKey`).
fn unescaped(key: &str) -> String {
    let is_escape =
        |rest: &str| rest.get(..2).is_some_and(|code| code.bytes().all(|digit| digit.is_ascii_hexdigit()));
    match percent_decode_str(key).decode_utf8() {
        Ok(decoded) if key.split('%').skip(1).all(is_escape) => decoded.into_owned(),
        _ => key.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_key_with_a_malformed_escape_stays_as_it_is() {
        for (key, expected) in
            [("a%2Fb", "a/b"), ("a%2Fb%", "a%2Fb%"), ("%2F%zz", "%2F%zz"), ("%ff", "%ff"), ("%C3%A9", "é")]
        {
            assert_eq!(super::unescaped(key), expected);
        }
    }

    use axum::http::{HeaderName, HeaderValue};

    use super::super::testing::{certificate, data};
    use super::*;
    use crate::controller::testing::issuer;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            (
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            )
        });
        pairs.collect()
    }

    #[test]
    fn the_api_server_speaks_for_others() {
        let issuer = issuer("proxies");
        let proxy = FrontProxy::from_data(&data(&issuer, r#"["front"]"#)).unwrap();
        let sent = headers(&[
            ("X-Remote-User", ""),
            ("X-User", "j\u{fc}rgen"),
            ("x-remote-group", "devs"),
            ("X-Remote-Group", "system:authenticated"),
            ("X-Remote-Group", ""),
            ("X-Remote-Uid", "7"),
            ("X-Remote-Extra-Scopes.example.com%2FA", "view"),
            ("X-Remote-Extra-scopes.example.com%2fa", "edit"),
            ("X-Remote-Extra-50%", "x"),
            ("X-Other", "y"),
        ]);
        let caller = proxy.caller(&certificate(&issuer, "front"), &sent).unwrap().unwrap();
        assert_eq!((caller.identity.user.as_str(), caller.uid.as_str()), ("j\u{fc}rgen", "7"));
        assert_eq!(caller.identity.groups, ["devs", "system:authenticated"]);
        let extra: Vec<_> = caller.extra.iter().map(|(key, values)| (key.as_str(), values.len())).collect();
        assert_eq!(extra, [("50%", 1), ("scopes.example.com/a", 2)]);
        let anonymous =
            headers(&[("X-Remote-User", "system:anonymous"), ("X-Remote-Group", "system:unauthenticated")]);
        let caller = proxy.caller(&certificate(&issuer, "front"), &anonymous).unwrap().unwrap();
        assert_eq!(caller.identity.groups, ["system:unauthenticated"]);
        let bare = headers(&[("X-Remote-User", "system:aggregator")]);
        let caller = proxy.caller(&certificate(&issuer, "front"), &bare).unwrap().unwrap();
        assert_eq!(caller.identity.groups, ["system:authenticated"]);
        assert_eq!(proxy.caller(&certificate(&issuer, "front"), &headers(&[])), Ok(None));
    }

    #[test]
    fn nobody_else_does() {
        let (issuer, other) = (issuer("proxies"), issuer("others"));
        let proxy = FrontProxy::from_data(&data(&issuer, r#"["front"]"#)).unwrap();
        let admin = headers(&[("X-Remote-User", "admin"), ("X-Remote-Group", "system:masters")]);
        for chain in [
            Vec::new(),
            certificate(&other, "front"),
            certificate(&issuer, "Front"),
            certificate(&issuer, ""),
        ] {
            assert!(proxy.caller(&chain, &admin).is_err());
        }
        let any = FrontProxy::from_data(&data(&issuer, "[]")).unwrap();
        assert!(any.caller(&certificate(&issuer, "Front"), &admin).is_ok());
        assert!(any.caller(&certificate(&other, "Front"), &admin).is_err());
    }

    #[test]
    fn without_an_authority_nobody_speaks_for_others() {
        let issuer = issuer("proxies");
        let without = |key: &str| {
            let mut data = data(&issuer, "[]");
            data.remove(key);
            FrontProxy::from_data(&data).map(drop)
        };
        assert!(
            without("requestheader-client-ca-file").unwrap_err().contains("--requestheader-client-ca-file")
        );
        assert!(without("requestheader-username-headers").unwrap_err().contains("names no header"));
        assert!(without("requestheader-uid-headers").is_ok());
        let reported = FrontProxy::from_data(&data(&issuer, "front")).unwrap_err();
        assert!(reported.starts_with("requestheader-allowed-names: "), "{reported}");
    }
}
