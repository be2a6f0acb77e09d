//! The ACLs a plan wants: per queue and right, the union of what the objects grant.
//!
//! A right that any object of a queue sets is the union over those objects; the base's own value gives way, unless all of them say
//! `Extend`. A right that none of them sets keeps the base's text. So the order of the objects never matters.

use std::collections::BTreeMap;

use super::resolve::{Contribution, Resolved};
use super::snapshot::BaseAcl;
use crate::model::acl::{self, Acl};
use crate::model::config::{Config, Queue};
use crate::model::queue::QueuePath;
use crate::model::right::Right;

/// Which ACL: partition name, queue, right.
pub(super) type Place = (String, QueuePath, Right);

/// One ACL that objects decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decided {
    /// What is to be in force.
    pub acl: Acl,
    /// What the base's own ACL grants and this one does not.
    pub taken: Acl,
    /// The objects that decide it, sorted by name.
    pub objects: Vec<String>,
}

/// All ACLs that objects decide.
pub(super) type Grants = BTreeMap<Place, Decided>;

/// Joins what the objects contribute.
pub(super) fn decide<'a>(objects: impl IntoIterator<Item = &'a Resolved>, tree: &Config) -> Grants {
    let mut grouped: BTreeMap<Place, Vec<(&str, &Contribution, &Acl)>> = BTreeMap::new();
    for object in objects {
        let Some(contribution) = object.contribution() else {
            continue;
        };
        for right in Right::ALL {
            let Some(acl) = contribution.grant(right) else {
                continue;
            };
            let place = (contribution.partition.clone(), contribution.queue.clone(), right);
            grouped.entry(place).or_default().push((&object.name, contribution, acl));
        }
    }
    grouped.into_iter().map(|(place, parts)| (place.clone(), join(&base_acl(tree, &place), &parts))).collect()
}

fn join(base: &Acl, parts: &[(&str, &Contribution, &Acl)]) -> Decided {
    let extend = parts.iter().all(|(_, contribution, _)| contribution.base_acl == BaseAcl::Extend);
    let start = if extend { base.clone() } else { Acl::nobody() };
    let acl = parts.iter().fold(start, |union, (_, _, acl)| union.union(acl));
    let mut objects: Vec<_> = parts.iter().map(|(name, _, _)| (*name).to_string()).collect();
    objects.sort_unstable();
    Decided { taken: base.lost(&acl), acl, objects }
}

/// The base's own ACL at a place: nobody where there is none.
fn base_acl(tree: &Config, (partition, queue, right): &Place) -> Acl {
    tree.partition(partition)
        .and_then(|p| p.queue(queue))
        .map_or_else(Acl::nobody, |queue| acl_of(queue, *right))
}

/// A queue's own ACL as activation reads it; a text that does not activate grants nothing.
pub(super) fn acl_of(queue: &Queue, right: Right) -> Acl {
    text_of(queue, right).and_then(|text| acl::parse(text).ok()).unwrap_or_default()
}

/// A queue's own ACL as written.
pub(super) fn text_of(queue: &Queue, right: Right) -> Option<&str> {
    let written = match right {
        Right::Submit => &queue.submit_acl,
        Right::Admin => &queue.admin_acl,
    };
    Some(written.value.as_str()).filter(|text| !text.is_empty())
}
