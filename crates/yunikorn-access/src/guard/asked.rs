//! What the guard is asked about: who does what to an object, and each place in it that says in whose name pods run.

use crate::running::joins::Running;
use yunikorn::admission::{AccessControl, Operation};

/// The most places of one object.
pub const MAX_SITES: usize = 256;

/// When it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// While mutating webhooks run: what is missing can be added.
    Mutating,
    /// After them all: what is there is what will be stored.
    Final,
}

/// Who does what to which object.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// What is done.
    pub operation: Operation,
    /// The object's kind, for people.
    pub kind: &'a str,
    /// Whether it is a `ReplicaSet`: a Deployment would make another one, for ever, if the one that its controller has made were changed.
    pub is_replica_set: bool,
    /// Who does it, as the API server has authenticated them.
    pub user: &'a str,
    /// Their groups.
    pub groups: &'a [String],
    /// Whether it is known where objects of its kind hold pod templates.
    pub has_templates: bool,
    /// The places.
    pub sites: &'a [Site],
    /// The object's namespace.
    pub namespace: &'a str,
    /// The applications that run, as far as the places name them, and the pod that asks.
    pub running: &'a Running,
    /// When it is asked.
    pub moment: Moment,
}

impl Asked<'_> {
    /// Whether the requester is one of the users that controllers run as. Whether these are trusted is not asked.
    pub(super) fn is_of_controller(&self, access: &AccessControl) -> bool {
        access.system_users.matching(self.user).is_some()
    }
}

/// One place: a pod, a pod template, or an object whose annotations become those of pods.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Site {
    /// Where it is, as `spec.template`; empty for a pod.
    pub place: String,
    /// What it says.
    pub given: Given,
    /// What it said before; [`Given::Absent`] where there was nothing.
    pub old: Given,
    /// Whether anything of it is changed.
    pub changed: bool,
    /// The label `yunikorn.apache.org/username`; empty where it is absent.
    pub username: String,
    /// The application that it names; empty for none, and for one that nobody else can have.
    pub application: String,
    /// `spec.nodeName`, where the pods are put past the scheduler.
    pub node_name: String,
}

/// What a place says in the annotation `yunikorn.apache.org/user.info`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Given {
    /// Nothing.
    #[default]
    Absent,
    /// This text.
    Text(String),
    /// Something that is no text; what it is instead, as JSON.
    Odd(String),
}
