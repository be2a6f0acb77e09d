//! Spark's ACLs, as spark-defaults.conf has them: read as Spark 3.5 reads them, with the names that users and
//! groups have in Kubernetes.
//!
//! They are lists of applications, not of queues, and go with each application: queuewarden hears a driver's
//! own configuration ([`yunikorn::application::own`]), so that what is carried over are the same settings.
//! Only those who administer all of Spark can become administrators of a queue.
//!
//! * `read`: the files.
//! * [`carry`]: the settings with other names, and the queue's ACL.
//! * [`prove`]: who may do more, or less, than before.

mod carry;
mod proof;
mod read;

pub use carry::{Carried, Options, carry};
pub use proof::{Asked, Difference, Proof, prove};

use std::collections::HashMap;

use super::Place;
use yunikorn::application::settings::{SparkList, SparkRules, Written};

/// What the files say.
#[derive(Debug, Clone)]
pub struct Spark {
    /// The lists; switched on, whatever the switch says: that it is off is among the findings.
    pub rules: SparkRules,
    places: HashMap<&'static str, Place>,
}

impl Spark {
    /// Where a setting is written.
    pub fn place(&self, key: &str) -> Option<Place> {
        self.places.get(key).copied()
    }

    /// The lists, each with whether it names users.
    fn lists(&self) -> [(&Written<SparkList>, bool); 6] {
        let SparkRules { admin, view, modify, .. } = &self.rules;
        [
            (&admin.users, true),
            (&admin.groups, false),
            (&view.users, true),
            (&view.groups, false),
            (&modify.users, true),
            (&modify.groups, false),
        ]
    }
}
