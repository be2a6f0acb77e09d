//! Why the scheduler gives no usable response.

use std::error::Error as StdError;
use std::io;

use http::StatusCode;
use rustls::{AlertDescription, CertificateError};

use queuewarden_plan::conditions::Reason;
use queuewarden_plan::snapshot::NoChecksum;

/// Why there is no usable response. The messages appear in conditions, so the same situation always produces
/// the same text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchedulerError {
    /// No connection.
    #[error("cannot connect to {0}")]
    Unreachable(String),
    /// No response in time.
    #[error("no answer from {0} within {seconds} s", seconds = super::TIMEOUT.as_secs())]
    Timeout(String),
    /// A response with a status other than 200.
    #[error("{0} answered {1}")]
    Status(String, StatusCode),
    /// The certificate of the scheduler cannot be trusted, with the reason.
    #[error("the certificate of {0} is not trusted: {1}")]
    Certificate(String, String),
    /// The certificate of the scheduler has expired.
    #[error("the certificate of {0} has expired")]
    Expired(String),
    /// The scheduler requires a different client certificate.
    #[error("{0} rejects the client certificate or requires one")]
    ClientCertificate(String),
    /// The trusted authorities cannot be read.
    #[error("the trusted authorities of the scheduler are not PEM certificates")]
    Authorities,
    /// The Secret cannot be used, with the reason.
    #[error("Secret {0} with the credentials for the scheduler: {1}")]
    Secret(String, String),
    /// Credentials would be sent in plain text.
    #[error("credentials are not sent to {0}: they are only sent over https")]
    Insecure(String),
    /// A response larger than [`MAX_BODY`](super::MAX_BODY).
    #[error("the response of {0} is larger than {max} MiB", max = super::MAX_BODY >> 20)]
    TooLarge(String),
    /// A response that is not `YuniKorn`'s JSON.
    #[error("the response of {0} is not YuniKorn's JSON")]
    Malformed(String),
    /// `YuniKorn` runs, but has no configuration yet.
    #[error("{0} runs no configuration yet")]
    NoConfiguration(String),
}

impl SchedulerError {
    /// Returns the label of this error in metrics: an HTTP status, or a word.
    pub fn code(&self) -> &str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::Timeout(_) => "timeout",
            Self::Status(_, status) => status.as_str(),
            Self::Certificate(..) | Self::Expired(_) | Self::ClientCertificate(_) => "certificate",
            Self::Authorities | Self::Secret(..) | Self::Insecure(_) => "credentials",
            Self::TooLarge(_) | Self::Malformed(_) | Self::NoConfiguration(_) => "malformed",
        }
    }

    /// Returns the reason of condition `Loaded`.
    fn reason(&self) -> Reason {
        match self {
            Self::Certificate(..) | Self::Authorities => Reason::SchedulerCertificateInvalid,
            Self::Expired(_) => Reason::SchedulerCertificateExpired,
            Self::Status(_, StatusCode::UNAUTHORIZED) | Self::ClientCertificate(_) => {
                Reason::SchedulerUnauthorized
            }
            Self::Status(_, StatusCode::FORBIDDEN) => Reason::SchedulerForbidden,
            Self::Secret(..) | Self::Insecure(_) => Reason::SchedulerSecretInvalid,
            _ => Reason::SchedulerUnreachable,
        }
    }
}

impl From<SchedulerError> for NoChecksum {
    fn from(error: SchedulerError) -> Self {
        match error.reason() {
            Reason::SchedulerUnreachable => Self::unreachable(&error.to_string()),
            reason => Self { reason, message: error.to_string() },
        }
    }
}

/// Converts the error of a request that failed below HTTP.
pub(super) fn failure(url: &str, error: &(dyn StdError + 'static)) -> SchedulerError {
    let mut causes = std::iter::successors(Some(error), |&error| error.source());
    let url = url.to_owned();
    match causes.find_map(tls) {
        Some(rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )) => SchedulerError::Expired(url),
        Some(rustls::Error::InvalidCertificate(why)) => SchedulerError::Certificate(url, in_words(why)),
        Some(rustls::Error::AlertReceived(alert)) if is_about_us(*alert) => {
            SchedulerError::ClientCertificate(url)
        }
        _ => SchedulerError::Unreachable(url),
    }
}

/// Returns the TLS error in a cause. It may be inside an I/O error, which does not report it as its source.
fn tls<'e>(cause: &'e (dyn StdError + 'static)) -> Option<&'e rustls::Error> {
    cause.downcast_ref().or_else(|| tls(cause.downcast_ref::<io::Error>()?.get_ref()?))
}

fn in_words(why: &CertificateError) -> String {
    match why {
        CertificateError::UnknownIssuer => "no trusted authority signed it".to_owned(),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for a different name".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet".to_owned()
        }
        other => other.to_string(),
    }
}

/// Returns whether a server rejects the client certificate, or requires one.
fn is_about_us(alert: AlertDescription) -> bool {
    use AlertDescription as Alert;
    matches!(
        alert,
        Alert::CertificateRequired
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied
    )
}
