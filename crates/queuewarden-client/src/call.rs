//! Sends one request to the API server with a limit on time. The texts of errors go into conditions, so the
//! same situation always gives the same text.

use std::time::Duration;

use tokio::time::timeout;

/// Longest wait for a response. kube's client repeats requests by itself for much longer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Longest wait for writes of ConfigMaps. `YuniKorn`'s webhook `validate-conf` waits for the scheduler for up
/// to 10 s, after which the API server continues without it. Giving up earlier would mean that no write
/// succeeds while the scheduler hangs.
pub const WRITE: Duration = Duration::from_secs(35);

/// The reasons why a request did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No response in time.
    #[error("the API server did not answer within {seconds} s", seconds = _0.as_secs())]
    Timeout(Duration),
    /// The API server refused the request.
    #[error("{message}")]
    Refused {
        /// HTTP status.
        code: u16,
        /// The reason in the API server's words.
        message: String,
    },
    /// The API server could not be reached, or its response was not understood. The details are in the
    /// source.
    #[error("the API server could not be reached")]
    Unreachable(#[source] Box<kube::Error>),
}

impl CallError {
    /// Returns whether the object does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. })
    }

    /// Returns whether the object differs from the precondition, or exists already.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { code: 409, .. })
    }

    /// Returns whether the operator has no right to the request.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused { code: 403, .. })
    }

    /// Returns whether the request was certainly not carried out. Otherwise that is unknown: a status of 500
    /// or more may come from a server that no longer knows what it stored.
    pub fn is_definite(&self) -> bool {
        matches!(self, Self::Refused { code: 400..=407 | 409..=499, .. })
    }
}

/// Waits for the response to one request for at most 10 s.
///
/// # Errors
/// When there is no response, or it is an error.
pub async fn call<T>(request: impl Future<Output = Result<T, kube::Error>>) -> Result<T, CallError> {
    call_within(TIMEOUT, request).await
}

/// Waits for the response to one request for at most `span`.
///
/// # Errors
/// When there is no response, or it is an error.
pub async fn call_within<T>(
    span: Duration,
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, CallError> {
    match timeout(span, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => {
            Err(CallError::Refused { code: status.code, message: status.message.clone() })
        }
        Ok(Err(error)) => Err(CallError::Unreachable(Box::new(error))),
        Err(_) => Err(CallError::Timeout(span)),
    }
}
