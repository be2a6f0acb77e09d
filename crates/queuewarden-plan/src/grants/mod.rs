//! The grants of the objects: what each one contributes, and the combined decision.
//!
//! * [`contribution`]: one `QueueAcl` after it was resolved, and which version of it is in force.
//! * [`resolve`]: resolves one `QueueAcl`; [`policy`]: the `AdmissionPolicy` in effect.
//! * [`combine`]: joins them; [`delegation`]: refuses those whose writers administer nothing.
//! * [`objects`]: resolves all objects, combines them, and renders the decided ACLs into the base.
//! * [`attribution`]: which object wrote which ACL; an ACL in words.
//! * [`entries`]: every entry that names a person.

pub(crate) mod contribution;

pub(crate) mod combine;
pub(crate) mod policy;

pub(crate) mod delegation;
pub(crate) mod resolve;

pub(crate) mod objects;

pub mod attribution;
pub mod entries;

pub(crate) use attribution::{Attribution, opens_root, people, push, push_people, returning, trees};
pub(crate) use contribution::{
    Contribution, InForceRecord, ObjectRefusal, Resolved, joined, open_root, redundant,
};
pub(crate) use delegation::{Administrators, content, granted, not_administered, shown};
pub(crate) use objects::{Combined, ResolvedObjects};
pub(crate) use policy::{Keys, ResolvedPolicy, field_of, former};
pub(crate) use resolve::{dropped, grant_acl};
