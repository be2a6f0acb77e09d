//! Output for programs: an application's decision with every clause, under the schema
//! `docs/schema/application.json`.

use schemars::JsonSchema;
use serde::Serialize;

use queuewarden_api::answer::About;
use yunikorn_access::application::{Remedy, Requirement, Verb};

/// The answer to `can-i` and `explain` about an application.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationAnswer {
    /// The configuration that was read.
    #[serde(flatten)]
    pub about: About,
    /// The requested action.
    pub verb: Verb,
    /// The application's name; null when none was given.
    pub application: Option<String>,
    /// The user that it runs as.
    pub owner: String,
    /// The queue it is in.
    pub queue: String,
    /// The queue to move it to; null for other verbs.
    pub target: Option<String>,
    /// The dialect of the rules: `yunikorn`, `yarn-hadoop`, `yarn-cloudera` or `spark`.
    pub dialect: String,
    /// The user.
    pub user: String,
    /// The groups that were assumed for the user.
    pub groups: Vec<String>,
    /// True if access is allowed.
    pub allowed: bool,
    /// The reason, in one sentence.
    pub reason: String,
    /// The requirements in the order they were evaluated; all of them must be met. Those after the first that
    /// is not met were not evaluated.
    pub requirements: Vec<Requirement>,
    /// Changes that would allow it, the smallest first; empty if it is allowed, and if nothing would help.
    pub remedies: Vec<Remedy>,
}
