//! Runs a real directory service, `OpenLDAP`'s server, with entries of a test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use tokio::net::TcpStream;

use crate::browser::in_path;
use crate::control_plane::free_port;
use crate::front_proxy::Client;
use crate::process::Process;
use crate::session::Session;
use crate::wait::PATIENCE;

const SLAPD_WANTED: &str = "groups from LDAP are tested with a real directory service: install OpenLDAP's server \
                            (Debian's package slapd)";

/// The base of its tree.
pub const BASE: &str = "dc=example,dc=org";
/// The name that may read it.
pub const READER: &str = "cn=reader,dc=example,dc=org";
/// Its password.
pub const PASSWORD: &str = "secret";
/// The most entries that the server gives to one search.
pub const SIZE_LIMIT: usize = 20;

/// The meaning of `memberOf` in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberOf {
    /// A text, as it is in the entries: so values can be those of other servers.
    Text,
    /// `OpenLDAP`'s own, by its overlay: names of entries, as `OpenLDAP` spells them.
    Overlay,
}

/// A running server.
#[derive(Debug)]
pub struct Slapd {
    process: Process,
    /// The port without TLS.
    pub port: u16,
    /// The port with TLS from the first byte on.
    pub tls_port: u16,
    _directory: tempfile::TempDir,
}

impl Slapd {
    /// Starts a server with these entries below [`BASE`], in LDIF, and this certificate.
    ///
    /// # Errors
    /// When `OpenLDAP` is not installed, refuses the entries, or does not start.
    pub async fn start(member_of: MemberOf, entries: &str, identity: &Client) -> Result<Self> {
        let program = in_path(&["slapd"])
            .or_else(|| Some("/usr/sbin/slapd".into()).filter(|path: &PathBuf| path.is_file()));
        let program = program.context(SLAPD_WANTED)?;
        let directory = tempfile::tempdir()?;
        let configuration = written(directory.path(), member_of, identity)?;
        add(&program, &configuration, entries)?;
        let (port, tls_port) = (free_port()?, free_port()?);
        let addresses = format!("ldap://127.0.0.1:{port}/ ldaps://127.0.0.1:{tls_port}/");
        let process = Process::new(&format!("slapd-{port}"), &program, Session::get()?.directory());
        let process =
            process.args(["-f".into(), configuration.into_os_string(), "-h".into(), addresses.into()]);
        // With a debug level, also with none, it stays in the foreground.
        let process = process.args(["-d", "0"]);
        process.start()?;
        let listening = async || Ok(Some(TcpStream::connect(("127.0.0.1", tls_port)).await?));
        process.until("slapd to listen", PATIENCE, listening).await?;
        Ok(Self { process, port, tls_port, _directory: directory })
    }

    /// Ends the server.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn kill(&self) -> Result<()> {
        self.process.kill()
    }
}

/// Returns `YuniKorn`'s settings for a server on this port of this machine, by the names of their files.
pub fn settings(port: u16) -> BTreeMap<String, String> {
    [
        ("Host", "127.0.0.1"),
        ("Port", &port.to_string()),
        ("BaseDN", BASE),
        ("Filter", "(uid=%s)"),
        ("GroupAttr", "memberOf"),
        ("ReturnAttr", "memberOf"),
        ("BindUser", READER),
        ("BindPassword", PASSWORD),
    ]
    .map(|(name, text)| (name.to_owned(), text.to_owned()))
    .into()
}

/// Writes the configuration with the certificate, and returns its path.
fn written(directory: &Path, member_of: MemberOf, identity: &Client) -> Result<PathBuf> {
    let (certificate, key) = (directory.join("tls.crt"), directory.join("tls.key"));
    fs::write(&certificate, &identity.certificate)?;
    fs::write(&key, &identity.key)?;
    let database = directory.join("db");
    fs::create_dir(&database)?;
    let (schema, overlay) = match member_of {
        MemberOf::Text => (
            "attributetype ( 1.2.840.113556.1.2.102 NAME 'memberOf' EQUALITY caseExactMatch\n  \
             SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n\
             objectclass ( 1.3.6.1.4.1.4203.666.1.1 NAME 'member' AUXILIARY MAY memberOf )\n",
            "",
        ),
        MemberOf::Overlay => ("moduleload memberof\n", "overlay memberof\n"),
    };
    let text = format!(
        "include /etc/ldap/schema/core.schema\n\
         include /etc/ldap/schema/cosine.schema\n\
         include /etc/ldap/schema/inetorgperson.schema\n\
         modulepath /usr/lib/ldap\n\
         moduleload back_mdb\n\
         {schema}\
         TLSCertificateFile {}\n\
         TLSCertificateKeyFile {}\n\
         sizelimit {SIZE_LIMIT}\n\
         database mdb\n\
         suffix \"{BASE}\"\n\
         directory {}\n\
         {overlay}\
         access to * by users read by anonymous auth\n",
        certificate.display(),
        key.display(),
        database.display()
    );
    let configuration = directory.join("slapd.conf");
    fs::write(&configuration, text)?;
    Ok(configuration)
}

/// Puts the entries into the database, before the server starts.
fn add(slapd: &Path, configuration: &Path, entries: &str) -> Result<()> {
    let file = configuration.with_file_name("entries.ldif");
    let head = format!(
        "dn: {BASE}\nobjectClass: domain\ndc: example\n\n\
         dn: {READER}\nobjectClass: simpleSecurityObject\nobjectClass: organizationalRole\ncn: reader\n\
         userPassword: {PASSWORD}\n\n"
    );
    fs::write(&file, head + entries)?;
    let mut command = Command::new(slapd);
    command.args(["-T", "add", "-f"]).arg(configuration).arg("-l").arg(&file).stdin(Stdio::null());
    let output = command.output().context("cannot run slapd")?;
    ensure!(output.status.success(), "slapd adds no entries: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
