//! Connects a Service's cluster IP to a process.
//!
//! The test cluster has no kube-proxy, but the Service range is part of loopback, so listening on the cluster
//! IP is enough for the API server to call webhooks through their Service.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

use anyhow::{Context as _, Result};

/// Forwards TCP connections from `from` to `to` for the rest of this process. It uses plain threads, because
/// each test's runtime ends with the test.
pub(crate) fn forward(from: SocketAddr, to: SocketAddr) -> Result<()> {
    let listener = TcpListener::bind(from).with_context(|| {
        format!(
            "cannot listen on {from}: a port below 1024 needs root; `unshare -Urn` gives a namespace in \
             which you are"
        )
    })?;
    thread::Builder::new().name(format!("forward {from}")).spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || {
                // Dropping the stream closes it, so the caller sees a refused or broken connection.
                let _ = join(&client, to);
            });
        }
    })?;
    Ok(())
}

fn join(client: &TcpStream, to: SocketAddr) -> io::Result<()> {
    let server = TcpStream::connect(to)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    let upstream = thread::spawn(move || copy(&from_client, &to_server));
    copy(&server, client);
    // The thread has nothing to report, because a broken stream ends both directions.
    let _ = upstream.join();
    Ok(())
}

/// Copies until either side ends, and then closes the other.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    // Errors are ends, too.
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}
