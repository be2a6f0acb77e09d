//! Codes of findings about a whole tree.

use go_compat::diag::Code;

go_compat::codes! {
    /// An ACL of the root contains `*`, so everyone may submit to every queue.
    ///
    /// The ACLs of all other queues can only add access, so they have no effect. YuniKorn's documentation
    /// uses `submitacl: "*"` on the root in its examples. To limit access, remove the `*` and grant access
    /// per queue.
    pub const ROOT_EVERYONE: Code = Code::new(7201, "root-everyone");
    /// An ACL has no effect, because a `*` of a queue above, or of the queue's own `adminacl`, gives everyone
    /// the right.
    ///
    /// Grants add up towards the root (`queue.go:798-822`), so a queue cannot be narrower than the queue
    /// above it. Remove the `*` there, or the ACL here.
    pub const EVERYONE_ABOVE: Code = Code::new(7202, "everyone-above");
    /// Entries of an ACL have no effect, because a queue above already grants the same.
    ///
    /// An ACL never removes access. To give access to only some of the entries, remove the others from the
    /// queue above and grant them the queues they need.
    pub const GRANTED_ABOVE: Code = Code::new(7203, "granted-above");
    /// An ACL consists of one space, `" "`, below a queue that grants access. It does not close the queue.
    ///
    /// It grants access to nobody, like a missing ACL, but cannot deny access. To close a queue, grant
    /// nothing above it.
    pub const CLOSES_NOTHING: Code = Code::new(7204, "closes-nothing");
    /// Entries of an `adminacl` have no effect in the scheduler, because they may submit already.
    ///
    /// YuniKorn 1.8 uses `adminacl` only to let administrators submit (`CheckAdminAccess` has no caller
    /// outside of tests). The entries still name the queue's administrators for other software, such as
    /// queuewarden in its decisions about applications.
    pub const ADMIN_WITHOUT_EFFECT: Code = Code::new(7205, "admin-without-effect");
    /// A queue with an ACL has no leaf, and no placement rule creates one, so no application can run in it or
    /// below it.
    ///
    /// Parents pass their grants on, but here no queue receives them. Remove `parent: true`, add the missing
    /// queues, or let a placement rule create them (`create: true`).
    pub const NO_LEAF: Code = Code::new(7206, "no-leaf-below");
    /// No placement rule reaches a queue with an ACL or any queue below it.
    ///
    /// If no rule is `provided`, an application cannot choose its queue. Add a rule that leads to the queue.
    pub const UNREACHABLE: Code = Code::new(7207, "queue-unreachable");
    /// The recovery queue `root.@recovery@` has an ACL.
    ///
    /// Nobody may submit to it regardless of its ACLs, because only the scheduler places applications there
    /// (`queue.go:800`). Remove the ACL.
    pub const RECOVERY_ACL: Code = Code::new(7208, "recovery-acl");
    /// Nobody may submit to these queues, because neither their ACLs nor the ACLs of the queues above grant
    /// submit to anyone.
    ///
    /// Every application is rejected, or goes where the next placement rule leads. If this is intended, write
    /// `submitacl: " "`.
    pub const NOBODY_SUBMITS: Code = Code::new(7209, "nobody-may-submit");
    /// A name does not belong to any known user or group.
    ///
    /// Names are compared byte for byte. Write the name as the identity provider sends it.
    pub const NAME_UNKNOWN: Code = Code::new(7210, "name-unknown");
    /// A name is a user in only one ACL but a group in others, or the other way round.
    ///
    /// Users come before the space, groups after it. Groups without users begin with a space, which unquoted
    /// YAML loses. A user is in a group of the same name only if there is no resolver and the application
    /// comes without groups; the admission controller always sends groups.
    pub const USER_OR_GROUP: Code = Code::new(7211, "user-or-group");
    /// A name is in only one ACL, and differs by one letter from a name in several.
    ///
    /// Names are case-sensitive: `Devs` and `devs` are two groups.
    pub const NAME_SLIP: Code = Code::new(7212, "name-slip");
    /// There are more findings than are listed.
    pub const MORE: Code = Code::new(7213, "more-lint");
    /// An object grants nothing on a queue beyond what another object grants for at least as long.
    ///
    /// A subject that is removed from one of them still has access through the other. Delete one of them, or
    /// keep each name in only one.
    pub const GRANTED_TWICE: Code = Code::new(7214, "granted-twice");
}
