//! Changes of the configuration or of a request, as values. A remedy is offered only after its changes have
//! been applied and evaluated.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::alias;
use super::subject::Subject;
use super::tree::Tree;
use yunikorn::application::ApplicationAcl;
use yunikorn::config::schema::PlacementRule;
use yunikorn::identity::Identity;
use yunikorn::queue::{QueuePath, in_recovery};
use yunikorn::right::Right;

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// An ACL of a queue gets another entry. A name that an ACL cannot contain is granted by its alias.
    Grant {
        /// The queue.
        queue: QueuePath,
        /// The kind of ACL.
        right: Right,
        /// The subject of the new entry.
        subject: Subject,
    },
    /// A queue is added to the configuration.
    AddQueue {
        /// The queue.
        queue: QueuePath,
        /// True for a leaf, false for a parent.
        leaf: bool,
    },
    /// A leaf becomes a parent.
    MakeParent {
        /// The queue.
        queue: QueuePath,
    },
    /// A placement rule is added before the others.
    AddRule(PlacementRule),
    /// The placement rule at this index is replaced.
    SetRule(usize, PlacementRule),
    /// The user-info webhook writes the user's name, so that `YuniKorn` accepts any name.
    Webhook,
    /// The user joins a group.
    Join {
        /// The group.
        group: String,
    },
    /// The user gets another name.
    Rename {
        /// The new name.
        user: String,
    },
    /// The request names another queue.
    Ask {
        /// The queue.
        queue: String,
    },
    /// The application has a tag.
    Tag {
        /// The name of the tag.
        name: String,
        /// The value of the tag.
        value: String,
    },
    /// A setting with rules about the application lists another name.
    List {
        /// The key of the setting.
        key: &'static str,
        /// The name.
        subject: Subject,
    },
}

/// The configuration and a request, which changes can be applied to.
#[derive(Debug, Clone)]
pub struct Case<'t> {
    /// The queues and the placement rules.
    pub tree: Cow<'t, Tree>,
    /// The user who requests access or submits.
    pub identity: Identity,
    /// The queue in the request, or an empty text.
    pub queue: String,
    /// The tags of the submitted application.
    pub tags: BTreeMap<String, String>,
    /// The application in the request.
    pub application: Option<ApplicationAcl>,
    /// True if the user-info webhook writes the user's name.
    pub webhook: bool,
}

impl Change {
    /// Returns whether the placement rules might not fit the queues afterwards.
    fn affects_rules(&self) -> bool {
        matches!(self, Self::AddQueue { .. } | Self::MakeParent { .. } | Self::AddRule(_) | Self::SetRule(..))
    }
}

impl<'t> Case<'t> {
    /// Returns a user's request about a queue.
    pub fn new(tree: Cow<'t, Tree>, identity: &Identity, queue: &str) -> Self {
        Self {
            tree,
            identity: identity.clone(),
            queue: queue.to_owned(),
            tags: BTreeMap::new(),
            application: None,
            webhook: false,
        }
    }

    /// Returns the case after the changes, or `None` if one of them is impossible.
    pub fn after(&self, changes: &[Change]) -> Option<Self> {
        let mut case = self.clone();
        let is_made = changes.iter().all(|change| case.apply(change));
        let is_accepted = !changes.iter().any(Change::affects_rules) || case.tree.has_valid_rules();
        (is_made && is_accepted).then_some(case)
    }

    /// Applies a change, and returns whether it is possible.
    fn apply(&mut self, change: &Change) -> bool {
        match change {
            Change::Grant { queue, right, subject } => {
                let entry = match subject {
                    Subject::Everyone => return false,
                    Subject::User(user) => alias::acl::<_, &str>(&[user], &[]),
                    Subject::Group(group) => alias::acl::<&str, _>(&[], &[group]),
                };
                return entry.is_ok_and(|(entry, _)| self.tree.to_mut().grant(queue, *right, &entry));
            }
            // Nobody may submit there, regardless of the configuration.
            Change::AddQueue { queue, .. } if in_recovery(queue.as_str()) => return false,
            Change::AddQueue { queue, leaf } => return self.tree.to_mut().add_queue(queue, *leaf),
            Change::MakeParent { queue } => return self.tree.to_mut().make_parent(queue),
            Change::AddRule(rule) => self.tree.to_mut().rules_mut().insert(0, rule.clone()),
            Change::SetRule(at, rule) => match self.tree.to_mut().rules_mut().get_mut(*at) {
                Some(written) => *written = rule.clone(),
                None => return false,
            },
            Change::Webhook => self.webhook = true,
            Change::Join { group } => self.identity.groups.push(group.clone()),
            Change::Rename { user } => self.identity.user.clone_from(user),
            Change::Ask { queue } => self.queue.clone_from(queue),
            Change::Tag { name, value } => {
                self.tags.insert(name.clone(), value.clone());
            }
            Change::List { key, subject } => {
                let rules = self.application.as_mut().map(|application| &mut application.rules);
                return rules.is_some_and(|rules| rules.name(key, subject.entry()));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
