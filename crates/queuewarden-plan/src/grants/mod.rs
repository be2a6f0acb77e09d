//! The grants of the objects: what each contributes, and what all of them decide together.
//!
//! * [`contribution`]: one `QueueAcl` after it was resolved; [`record`]: which version of it is in force.
//! * [`resolve`]: resolves one `QueueAcl`; [`policy`]: the `AdmissionPolicy` that counts.
//! * [`combine`]: joins them; [`delegation`]: refuses those whose writers administer nothing.
//! * [`render`]: writes the decided ACLs into the base; [`effect`]: finds ACLs that change nothing.
//! * [`objects`] and [`agreement`]: resolve all objects, and combine them.
//! * [`people`]: an ACL in words; [`attribution`]: which object wrote which ACL.
//! * [`entries`]: every entry that names a person.

pub(crate) mod contribution;
pub(crate) mod people;

pub(crate) mod combine;
pub(crate) mod effect;
pub(crate) mod policy;
pub(crate) mod record;
pub(crate) mod render;

pub(crate) mod delegation;
pub(crate) mod resolve;

pub(crate) mod objects;

pub(crate) mod agreement;

pub mod attribution;
pub mod entries;

pub(crate) use agreement::Combined;
pub(crate) use attribution::{Attribution, opens_root, returning, trees};
pub(crate) use contribution::{Contribution, ObjectRefusal, Resolved, joined};
pub(crate) use delegation::{Administrators, content, granted, not_administered, shown};
pub(crate) use effect::open_root;
pub(crate) use objects::ResolvedObjects;
pub(crate) use people::{push, push_people};
pub(crate) use policy::{Keys, ResolvedPolicy, field_of, former};
pub(crate) use record::InForceRecord;
pub(crate) use resolve::{dropped, grant_acl};
