//! Reads the running configuration from `YuniKorn`'s REST service, with limits on time and size.
//!
//! `GET /ws/v1/config` returns the configuration and the checksum of the text it came from (yunikorn-core
//! `pkg/webservice/handlers.go` `getClusterConfig`). The response is only JSON if the `Accept` header is
//! exactly `application/json`. The checksum proves that a text is in force. `GET /ws/v1/clusters` returns the
//! release (`getClusterInfo`). The list of queues shows which queues exist only at run time.
//!
//! * [`connector`]: the connection, with the credentials from the `YuniKornConfig`.

pub mod connector;
mod error;
mod rest;

use std::time::Duration;

pub use connector::Connector;
pub use error::SchedulerError;
pub use rest::{SchedulerClient, application_path, beside, queues_path, release};

/// Maximum wait for a complete response.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size of a response. A configuration is at most 1 MiB of YAML and a few times that as JSON; 10,000
/// queues are about 10 MB.
pub const MAX_BODY: usize = 32 << 20;
