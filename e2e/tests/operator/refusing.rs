//! A scheduler that `YuniKorn`'s own webhook queries, and that refuses.

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Replaces the scheduler's REST interface and refuses every configuration until the test ends.
pub(super) struct Refusing {
    address: String,
    task: tokio::task::JoinHandle<()>,
}

impl Refusing {
    pub(super) async fn start() -> Result<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut buffer = vec![0; 1 << 16];
                    let _ = stream.read(&mut buffer).await;
                    let body = r#"{"allowed":false,"reason":"a scheduler from the future says no"}"#;
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
                    let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
                    let _ = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        Ok(Self { address, task })
    }

    /// Returns host and port.
    pub(super) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Refusing {
    fn drop(&mut self) {
        self.task.abort();
    }
}
