//! The codes of the findings about a whole tree.

use go_compat::diag::Code;

go_compat::codes! {
    /// Everyone may submit to every queue, by a `*` in an ACL of the root.
    ///
    /// The ACLs of all other queues can only add to that, so they change nothing. YuniKorn's documentation
    /// shows `submitacl: "*"` on the root in its examples. To limit access, take it away there and grant each
    /// queue to those who need it.
    pub const ROOT_EVERYONE: Code = Code::new(7201, "root-everyone");
    /// An ACL that changes nothing, because everyone has the right by a `*` of the queue above or of the
    /// queue's `adminacl`.
    ///
    /// Grants add up towards the root (`queue.go:798-822`): a queue cannot be narrower than the one above it.
    /// Remove the `*` there, or this ACL here.
    pub const EVERYONE_ABOVE: Code = Code::new(7202, "everyone-above");
    /// Entries of an ACL that change nothing, because a queue above grants them the same.
    ///
    /// To give access to only some of them, remove the others above and grant them the queues they need: an
    /// ACL never takes anything away.
    pub const GRANTED_ABOVE: Code = Code::new(7203, "granted-above");
    /// An ACL of one space, `" "`, below a queue that grants access: it does not close the queue.
    ///
    /// It grants nobody anything, as if it were not there; there is no deny. To close a queue, grant nothing
    /// above it.
    pub const CLOSES_NOTHING: Code = Code::new(7204, "closes-nothing");
    /// Entries of an `adminacl` that change nothing in the scheduler, because they may submit already.
    ///
    /// The only use that YuniKorn 1.8 makes of `adminacl` is to let administrators submit (`CheckAdminAccess`
    /// has no caller outside of tests). The entries still name the queue's administrators for other readers,
    /// such as queuewarden in its decisions about applications.
    pub const ADMIN_WITHOUT_EFFECT: Code = Code::new(7205, "admin-without-effect");
    /// An ACL of a queue in which, and below which, no application can run: there is no leaf, and no
    /// placement rule creates one.
    ///
    /// Parents pass their grants on, but here there is no queue to receive them. Remove `parent: true`, add
    /// the queues that are missing, or let a placement rule create them (`create: true`).
    pub const NO_LEAF: Code = Code::new(7206, "no-leaf-below");
    /// An ACL of a queue to which no placement rule leads, neither to it nor to a queue below it.
    ///
    /// An application cannot choose its queue when no rule is `provided`. Add a rule that leads there.
    pub const UNREACHABLE: Code = Code::new(7207, "queue-unreachable");
    /// An ACL of the recovery queue `root.@recovery@`.
    ///
    /// Nobody may submit to it whatever its ACLs are; the scheduler alone puts applications there
    /// (`queue.go:800`). Remove the ACL.
    pub const RECOVERY_ACL: Code = Code::new(7208, "recovery-acl");
    /// Queues to which nobody may submit: neither they nor the queues above them grant it to anyone.
    ///
    /// Every application is rejected, or goes where the next placement rule leads. If it is on purpose, write
    /// `submitacl: " "`.
    pub const NOBODY_SUBMITS: Code = Code::new(7209, "nobody-may-submit");
    /// A name that none of the known users or groups has.
    ///
    /// Names are compared byte for byte. Write the name as the identity provider sends it.
    pub const NAME_UNKNOWN: Code = Code::new(7210, "name-unknown");
    /// A name that is a user in one ACL only, and a group in others, or the other way round.
    ///
    /// Users come before the space, groups after it; groups alone begin with a space, which unquoted YAML
    /// loses. A user is in a group of its own name only when there is no resolver and its applications come
    /// without groups; the admission controller always sends groups.
    pub const USER_OR_GROUP: Code = Code::new(7211, "user-or-group");
    /// A name that is in one ACL only, and one letter off a name that is in several.
    ///
    /// Case matters too: `Devs` and `devs` are two groups.
    pub const NAME_SLIP: Code = Code::new(7212, "name-slip");
    /// More findings than are listed.
    pub const MORE: Code = Code::new(7213, "more-lint");
    /// An object that grants nothing on a queue beyond what another object grants there, and not for longer.
    ///
    /// Somebody who is taken out of one of the two still has access by the other. Delete one, or keep each
    /// name in one of them.
    pub const GRANTED_TWICE: Code = Code::new(7214, "granted-twice");
}
