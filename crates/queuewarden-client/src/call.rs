//! Sends one request to the API server with a time limit. Error messages appear in conditions, so the same
//! situation always produces the same text.

use std::time::Duration;

use tokio::time::timeout;

/// Maximum wait for a response. On its own, kube's client retries requests for much longer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum wait for writes of ConfigMaps. `YuniKorn`'s webhook `validate-conf` waits up to 10 s for the
/// scheduler, after which the API server continues without it. With a shorter timeout, no write would succeed
/// while the scheduler hangs.
pub const WRITE: Duration = Duration::from_secs(35);

/// Why a request did not succeed.
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

    /// Returns whether the object does not match the precondition or already exists.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { code: 409, .. })
    }

    /// Returns whether the operator is not allowed to make the request.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused { code: 403, .. })
    }

    /// Returns whether the request was certainly not carried out. A status of 500 or more leaves it unknown,
    /// because it may come from a server that has lost track of the write.
    pub fn is_definite(&self) -> bool {
        matches!(self, Self::Refused { code: 400..=407 | 409..=499, .. })
    }
}

/// Waits at most 10 s for the response to one request.
///
/// # Errors
/// When there is no response, or it is an error.
pub async fn call<T>(request: impl Future<Output = Result<T, kube::Error>>) -> Result<T, CallError> {
    call_within(TIMEOUT, request).await
}

/// Waits at most `span` for the response to one request.
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
