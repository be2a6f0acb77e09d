//! Finds the holders of each right on each queue, by the source's rules.
//!
//! To submit one needs either ACL of the queue or of one above it; to administer, the second
//! (`ConfiguredYarnAuthorizer`, and its callers in the schedulers). Administrators of the cluster end and see
//! every application, so here they administer every queue. In Hadoop's source that lets nobody submit; by
//! Cloudera's handbook it does.

use std::collections::{BTreeSet, HashMap};

use super::Source;
use yunikorn::application::{Reading, YarnAcl};
use yunikorn::right::Right;
use yunikorn_access::subject::Subject;

/// The source of a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granting {
    /// An ACL of a queue.
    Queue(usize, Right),
    /// The list of the cluster's administrators.
    Cluster,
}

/// The queues whose own ACLs name somebody, for each name.
#[derive(Debug)]
pub struct Holders<'a> {
    source: &'a Source,
    named: HashMap<Subject, Vec<(usize, Right)>>,
}

impl<'a> Holders<'a> {
    /// Collects the names of a source.
    pub fn new(source: &'a Source) -> Self {
        let mut named: HashMap<Subject, Vec<(usize, Right)>> = HashMap::new();
        for (at, queue) in source.queues.iter().enumerate() {
            for right in Right::ALL {
                for subject in subjects(&queue.acls.get(right).acl) {
                    named.entry(subject).or_default().push((at, right));
                }
            }
        }
        Self { source, named }
    }

    /// Returns everyone who is named, also as an administrator of the cluster.
    pub fn subjects(&self) -> BTreeSet<Subject> {
        let cluster = self.source.administrators.iter().flat_map(|setting| subjects(&setting.acl));
        self.named.keys().cloned().chain(cluster).collect()
    }

    /// Returns, for each queue, the source of the right of this user without groups, or of this group's
    /// member. A member of no group whom nobody names is [`Subject::Everyone`].
    pub fn reach(&self, right: Right, subject: &Subject) -> Vec<Option<Granting>> {
        let mut reached: Vec<Option<Granting>> = vec![None; self.source.queues.len()];
        for who in [subject, &Subject::Everyone] {
            for (at, acl) in self.named.get(who).into_iter().flatten() {
                if (right == Right::Submit || *acl == Right::Admin)
                    && let Some(queue) = reached.get_mut(*at)
                {
                    *queue = queue.or(Some(Granting::Queue(*at, *acl)));
                }
            }
        }
        for (at, queue) in self.source.queues.iter().enumerate() {
            let above = queue.parent.and_then(|parent| reached.get(parent).copied().flatten());
            if let Some(queue) = reached.get_mut(at) {
                *queue = queue.or(above);
            }
        }
        if self.by_cluster(right, subject) {
            for queue in &mut reached {
                *queue = queue.or(Some(Granting::Cluster));
            }
        }
        reached
    }

    fn by_cluster(&self, right: Right, subject: &Subject) -> bool {
        let counts = right == Right::Admin || self.source.reading == Reading::Cloudera;
        let lists = |setting: &super::Setting| {
            let named = subjects(&setting.acl);
            named.contains(subject) || named.contains(&Subject::Everyone)
        };
        counts && self.source.administrators.as_ref().is_some_and(lists)
    }
}

/// Returns everyone whom an ACL names.
fn subjects(acl: &YarnAcl) -> Vec<Subject> {
    if acl.is_everyone() {
        return vec![Subject::Everyone];
    }
    let users = acl.users().iter().cloned().map(Subject::User);
    users.chain(acl.groups().iter().cloned().map(Subject::Group)).collect()
}
