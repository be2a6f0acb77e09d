//! Looks up groups in a directory service, as `YuniKorn`'s `ldap` resolver does.
//!
//! [`yunikorn::identity::ldap`] has the settings and the messages; here are the files, the connection and the
//! time limit. Each lookup has a connection of its own, as in `YuniKorn`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use go_compat::diag::quoted;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use yunikorn::identity::Refusal;
use yunikorn::identity::ldap::{Exchange, Settings, Step};

/// Longest lookup, from the name of the host to the last answer.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of a setting.
const MAX_SETTING: u64 = 64 << 10;
/// The most files in the directory of the settings.
const MAX_FILES: usize = 100;

/// Reads the files of settings, by name. What `YuniKorn` passes over is left out: folders, and the names that
/// begin with `..`, which a mounted Secret has.
///
/// # Errors
/// With the path, when one of them cannot be read, is too long or is no text.
pub fn read(directory: &Path) -> Result<BTreeMap<String, String>, String> {
    let failed = |path: &Path, why: &dyn Display| format!("{}: {why}", path.display());
    let entries = fs::read_dir(directory).map_err(|error| failed(directory, &error))?;
    let mut files = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(|error| failed(directory, &error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("..") || path.is_dir() {
            continue;
        }
        if files.len() >= MAX_FILES {
            return Err(failed(directory, &format!("there are more than {MAX_FILES} files")));
        }
        let text = read_setting(&path).map_err(|error| failed(&path, &error))?;
        files.insert(name, text);
    }
    Ok(files)
}

fn read_setting(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_SETTING.saturating_add(1)).read_to_string(&mut text)?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > MAX_SETTING {
        return Err(io::Error::other(format!("it has more than {MAX_SETTING} bytes")));
    }
    Ok(text)
}

/// Returns the groups of a user.
///
/// # Errors
/// [`Refusal::Unresolved`] with the server's refusal, which `YuniKorn` gets, too. [`Refusal::Undecided`] when
/// the server cannot be reached from here, or `YuniKorn` would do something else than a search for this user.
pub async fn groups(settings: &Settings, user: &str) -> Result<Vec<String>, Refusal> {
    let (exchange, bind) = Exchange::start(settings, user)?;
    let unreachable = |why: &dyn Display| {
        let (server, user) = (&settings.server, quoted(user));
        Refusal::Undecided(format!(
            "the groups of {user} come from {server}, which cannot be reached from here: {why}"
        ))
    };
    match timeout(TIMEOUT, connected(settings, exchange, bind)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => Err(unreachable(&error)),
        Err(_) => Err(unreachable(&format!("there is no answer within {} s", TIMEOUT.as_secs()))),
    }
}

type Answer = Result<Vec<String>, Refusal>;

async fn connected(settings: &Settings, exchange: Exchange<'_>, bind: Vec<u8>) -> io::Result<Answer> {
    let server = &settings.server;
    let stream = TcpStream::connect((server.host.as_str(), server.port)).await?;
    if !server.ssl {
        return exchanged(stream, exchange, bind).await;
    }
    let name = ServerName::try_from(server.host.clone()).map_err(io::Error::other)?;
    let config = tls(server.insecure)?;
    let stream = Box::pin(TlsConnector::from(Arc::new(config)).connect(name, stream)).await?;
    exchanged(stream, exchange, bind).await
}

async fn exchanged(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    mut exchange: Exchange<'_>,
    bind: Vec<u8>,
) -> io::Result<Answer> {
    stream.write_all(&bind).await?;
    stream.flush().await?;
    let mut buffer = vec![0; 16 << 10];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it closed the connection"));
        }
        match exchange.receive(buffer.get(..count).unwrap_or_default()) {
            Step::Receive => {}
            Step::Send(bytes) => {
                stream.write_all(&bytes).await?;
                stream.flush().await?;
            }
            Step::Done(answer) => {
                // The answer is here; a server that has gone does not change it.
                let _ = stream.write_all(&Exchange::unbind()).await;
                let _ = stream.shutdown().await;
                return Ok(answer);
            }
        }
    }
}

/// The settings of TLS: the authorities of this machine are trusted, or everybody.
fn tls(insecure: bool) -> io::Result<ClientConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    if insecure {
        let trusting = builder.dangerous().with_custom_certificate_verifier(Arc::new(Insecure(provider)));
        return Ok(trusting.with_no_client_auth());
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Trusts every certificate, which the setting `Insecure` asks of `YuniKorn`.
#[derive(Debug)]
struct Insecure(Arc<CryptoProvider>);

impl ServerCertVerifier for Insecure {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use tokio::net::TcpListener;

    /// Settings for a server on this port.
    fn settings(port: u16, ssl: &str) -> Settings {
        let port = port.to_string();
        let files = [
            ("Host", "127.0.0.1"),
            ("Port", port.as_str()),
            ("BaseDN", "dc=x"),
            ("Filter", "(uid=%s)"),
            ("GroupAttr", "memberOf"),
            ("ReturnAttr", "memberOf"),
            ("BindUser", "cn=r"),
            ("BindPassword", "pw"),
            ("SSL", ssl),
        ];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
        Settings::read(&files.into()).unwrap().0
    }

    fn reason(answer: Answer) -> String {
        let Err(Refusal::Undecided(why)) = answer else { panic!("{answer:?}") };
        why
    }

    #[test]
    fn files_of_a_mounted_secret_are_read_once_and_folders_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let data = path.join("..2026_01_01");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("Host"), "ldap\n").unwrap();
        symlink("..2026_01_01", path.join("..data")).unwrap();
        symlink("..data/Host", path.join("Host")).unwrap();
        fs::create_dir(path.join("folder")).unwrap();
        let files = BTreeMap::from([("Host".to_owned(), "ldap\n".to_owned())]);
        assert_eq!(read(path), Ok(files));
        for (name, text, why) in [
            ("long", "x".repeat(64 * 1024 + 1).into_bytes(), "more than 65536 bytes"),
            ("binary", vec![0xff], "UTF-8"),
        ] {
            fs::write(path.join(name), text).unwrap();
            let wrong = read(path).unwrap_err();
            assert!(wrong.contains(name) && wrong.contains(why), "{wrong}");
            fs::remove_file(path.join(name)).unwrap();
        }
        for number in 0..MAX_FILES {
            fs::write(path.join(number.to_string()), "").unwrap();
        }
        assert!(read(path).unwrap_err().ends_with("there are more than 100 files"));
        assert!(read(&path.join("none")).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn server_without_an_answer_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        for ssl in ["false", "true"] {
            let why = reason(groups(&settings(port, ssl), "sue").await);
            assert!(
                why.ends_with("which cannot be reached from here: there is no answer within 10 s"),
                "{why}"
            );
        }
    }

    #[tokio::test]
    async fn server_that_closes_the_connection_is_not_decided() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let settings = settings(listener.local_addr().unwrap().port(), "false");
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_exact(&mut [0; 20]).await.unwrap();
        };
        let (answer, ()) = tokio::join!(groups(&settings, "sue"), server);
        assert!(reason(answer).ends_with("it closed the connection"));
        let address = listener.local_addr().unwrap();
        drop(listener);
        let why = reason(groups(&settings, "sue").await);
        assert!(why.contains(&address.port().to_string()) && why.contains("Connection refused"), "{why}");
    }
}
