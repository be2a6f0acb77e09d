//! The name that an administrator of a queue writes into a `QueueAcl`: `spec.delegatedBy`.

use serde_json::{Value, json};

use crate::output::Failure;
use crate::source::session::{Session, SourceArgs};
use yunikorn::identity::Identity;
use yunikorn::right::Right;
use yunikorn_access::Tree;
use yunikorn_access::decide::decide;

/// Returns `delegatedBy` of the kubeconfig's user for a queue.
///
/// # Errors
/// When the ACLs cannot be read, or the user does not administer the queue.
pub(super) fn by(session: &Session, source: &SourceArgs, queue: &str) -> Result<Value, Failure> {
    let cluster = session.cluster().ok_or_else(|| {
        Failure::Usage("--delegated writes your name as the cluster knows it: leave -f out".to_owned())
    })?;
    let own = cluster.whoami()?;
    named(session.configuration.tree(&source.partition)?, queue, &own).ok_or_else(|| {
        Failure::Refused(format!(
            "{} does not administer {queue}, so queuewarden would refuse the QueueAcl (NotDelegated)",
            own.user
        ))
    })
}

/// Returns the user, and if that name alone does not administer the queue, the first group that does. No
/// other group is named, because queuewarden does not notice when the user leaves it.
fn named(tree: &Tree, queue: &str, own: &Identity) -> Option<Value> {
    let administers = |groups: &[String]| {
        let who = Identity { user: own.user.clone(), groups: groups.to_vec() };
        decide(tree, Right::Admin, queue, &who).allowed()
    };
    if administers(&[]) {
        return Some(json!({"user": own.user}));
    }
    let group = own.groups.iter().find(|group| administers(std::slice::from_ref(group)))?;
    Some(json!({"user": own.user, "groups": [group]}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_group_that_administers_the_queue_is_named() {
        let text = "partitions: [{name: default, queues: [{name: root, queues: [{name: etl, adminacl: 'sue etl-admins'}]}]}]";
        let tree = yunikorn_access::testing::parsed(text);
        let named = |user: &str, groups: &[&str]| {
            let groups = groups.iter().map(ToString::to_string).collect();
            named(&tree, "root.etl", &Identity { user: user.to_owned(), groups })
        };
        assert_eq!(named("sue", &["etl-admins"]), Some(json!({"user": "sue"})));
        let ann = json!({"user": "ann", "groups": ["etl-admins"]});
        assert_eq!(named("ann", &["system:authenticated", "etl-admins", "devs"]), Some(ann));
        assert_eq!(named("bob", &["devs"]), None);
    }
}
