//! One request to the API server: bounded in time, and with errors whose texts are the same for the same situation, because they go
//! into conditions.

use std::time::Duration;

use tokio::time::timeout;

/// Longest wait for an answer. kube's client repeats requests by itself for much longer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The same for writes of ConfigMaps: `YuniKorn`'s webhook `validate-conf` asks the scheduler for up to 10 s, and the API server goes on without
/// it then. A request that is given up before that is never made as long as the scheduler hangs.
pub const WRITE: Duration = Duration::from_secs(35);

/// Why a request did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing came back in time.
    #[error("the API server did not answer within {seconds} s", seconds = _0.as_secs())]
    Timeout(Duration),
    /// The API server said no.
    #[error("{message}")]
    Refused {
        /// HTTP status.
        code: u16,
        /// `reason` of the Status, e.g. `AlreadyExists`.
        reason: String,
        /// Why, in its words.
        message: String,
    },
    /// The API server could not be asked, or its answer was not understood. The details are in the source.
    #[error("the API server could not be reached")]
    Unreachable(#[source] Box<kube::Error>),
}

impl Error {
    /// The object is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. })
    }

    /// The object is not what the precondition says, or there is one already.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { code: 409, .. })
    }

    /// There is no right to it.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused { code: 403, .. })
    }

    /// The request was not carried out, and will not be. Otherwise that is unknown: an answer of 500 or more may come from a server that has
    /// lost sight of what it stored.
    pub fn is_definite(&self) -> bool {
        matches!(self, Self::Refused { code: 400..=407 | 409..=499, .. })
    }
}

/// Waits for the answer to one request, within bounds.
///
/// # Errors
/// When there is none, or it is no success.
pub async fn call<T>(request: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Error> {
    call_within(TIMEOUT, request).await
}

/// Waits for the answer to one request for at most `span`.
///
/// # Errors
/// When there is none, or it is no success.
pub async fn call_within<T>(
    span: Duration,
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Error> {
    match timeout(span, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => Err(Error::Refused {
            code: status.code,
            reason: status.reason.clone(),
            message: status.message.clone(),
        }),
        Ok(Err(error)) => Err(Error::Unreachable(Box::new(error))),
        Err(_) => Err(Error::Timeout(span)),
    }
}
