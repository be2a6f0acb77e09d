//! Imports Spark's ACLs from spark-defaults.conf: reads them as Spark 3.5 does, and translates the names of
//! users and groups to those in Kubernetes.
//!
//! They are lists of applications, not of queues, and belong to each application. queuewarden reads a
//! driver's own configuration ([`yunikorn::application::settings`]), so the import writes the same settings. Only
//! those who administer all of Spark can become administrators of a queue.
//!
//! * `read`: the files.
//! * [`carry`]: the settings with other names, and the queue's ACL.
//! * [`prove`]: the users and groups that gain or lose access.

mod carry;
mod proof;
mod read;

pub use carry::{Carried, Options, carry};
pub use proof::prove;

use std::collections::HashMap;

use super::Location;
use yunikorn::acl::List;
use yunikorn::application::settings::{SparkList, SparkRules, Written};

/// The content of the files.
#[derive(Debug, Clone)]
pub struct Spark {
    /// The lists, taken as switched on. When the switch is off, that is among the findings.
    pub rules: SparkRules,
    locations: HashMap<&'static str, Location>,
}

impl Spark {
    /// Returns the location of a setting.
    pub fn location(&self, key: &str) -> Option<Location> {
        self.locations.get(key).copied()
    }

    /// Returns the lists, each with the kind of names in it.
    fn lists(&self) -> [(&Written<SparkList>, List); 6] {
        let SparkRules { admin, view, modify, .. } = &self.rules;
        [
            (&admin.users, List::Users),
            (&admin.groups, List::Groups),
            (&view.users, List::Users),
            (&view.groups, List::Groups),
            (&modify.users, List::Users),
            (&modify.groups, List::Groups),
        ]
    }
}
