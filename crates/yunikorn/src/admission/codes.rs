//! The codes of findings about the admission controller's keys.

use go_compat::diag::Code;

go_compat::codes! {
    /// A boolean that Go does not read, so that the key has its default.
    pub const NOT_A_BOOLEAN: Code = Code::new(4101, "not-a-go-boolean");
    /// An expression of a list does not compile in Go, so that the whole list is discarded for its default.
    pub const LIST_DISCARDED: Code = Code::new(4102, "list-discarded");
    /// A list element contains a comma, which separates elements and cannot be escaped.
    pub const COMMA: Code = Code::new(4103, "comma-in-expression");
    /// A list element begins or ends with white space, which would be cut off.
    pub const OUTER_SPACE: Code = Code::new(4104, "space-around-expression");
    /// A list element is empty, which would be left out.
    pub const EMPTY: Code = Code::new(4105, "empty-expression");
    /// An expression that looks like a name or the end of one matches anywhere in a name.
    pub const UNANCHORED: Code = Code::new(4106, "unanchored-expression");
    /// An expression matches every name.
    pub const MATCHES_ALL: Code = Code::new(4107, "expression-matches-all");
    /// A list that Go may or may not compile: its meaning is not known here.
    pub const LIST_UNDECIDED: Code = Code::new(4108, "list-undecided");
    /// A count was cut in two at its comma: `a{1` and `3}`, which match these characters literally.
    pub const COUNT_CUT: Code = Code::new(4109, "count-cut-at-comma");
    /// An expression that looks like a prefix is closed with `$`, and so matches nothing longer than itself.
    pub const CLOSED_PREFIX: Code = Code::new(4110, "closed-prefix");
    /// In `^a|b$` the first alternative has no end and the last one no start.
    pub const SPLIT_ANCHORS: Code = Code::new(4111, "split-anchors");
    /// The namespace of a service account is not closed with `:`, so that other namespaces that begin alike
    /// match too. `:*` does not close it: it is any number of colons, or none.
    pub const OPEN_NAMESPACE: Code = Code::new(4112, "open-namespace");
    /// A list has more expressions than are checked.
    pub const TOO_MANY: Code = Code::new(4113, "too-many-expressions");

    /// An entry of `systemUsers` or `externalUsers` is a service account outside of kube-system.
    ///
    /// Such an account is on a list because it makes pods in other people's names: it takes the annotation
    /// `user.info` from objects of its own kinds, such as a `SparkApplication`. So everyone who may create or
    /// change one of these submits as anyone. An account in `operators` of `userInfo` needs no such entry:
    /// with `mode: Enforce` and profile `strict` it passes on the name in the object that owns the pod, and
    /// sets no other. An entry that matches one of `operators` is not reported, because `YuniKorn`'s own
    /// admission controller needs it. A trusted account that reads no objects, but runs programs that others
    /// write, cannot be limited like this.
    pub const UNGUARDED_ACCOUNT: Code = Code::new(4114, "unguarded-account");
    /// An entry of `systemUsers` or `externalUsers` matches every service account of kube-system.
    ///
    /// That is `YuniKorn`'s default for `systemUsers`. Seven controllers of Kubernetes copy pod templates,
    /// whose `user.info` was checked before. Add-ons in kube-system may make pods from other objects that
    /// tenants write, and are trusted as well. Name the seven, as the help does.
    pub const ALL_OF_KUBE_SYSTEM: Code = Code::new(4115, "all-of-kube-system");
    /// The pods of a namespace that name no application share one, while the user of each pod is checked.
    ///
    /// They are all in `yunikorn-<namespace>-autogen`, as long as
    /// `admissionController.filtering.generateUniqueAppId` is not `true`: queue and user are those of the
    /// first of them, and `YuniKorn` looks at no ACL for the others. With `true` each of them is an
    /// application of its own.
    pub const SHARED_APPLICATION: Code = Code::new(4116, "shared-application");
    /// With `bypassAuth: true` every user may set `user.info`, and so submits as anyone.
    ///
    /// `YuniKorn`'s admission controller then neither checks the annotation nor adds it, and the user-info
    /// webhook lets everyone write it, too. What the lists name makes no difference.
    pub const BYPASS_AUTH: Code = Code::new(4117, "bypass-auth");
    /// An expression of `externalGroups` matches a group of everyone, or of every service account of a
    /// cluster or a namespace.
    ///
    /// All who are in the group submit as anyone. Kubernetes puts everyone who has logged in into
    /// `system:authenticated`, everyone else into `system:unauthenticated`, and each service account into
    /// `system:serviceaccounts` and a group for its namespace. Anyone who may create a pod in a namespace
    /// acts as its service accounts.
    pub const GROUP_OF_EVERYONE: Code = Code::new(4118, "group-of-everyone");
    /// `trustControllers: true` without `systemUsers` trusts every account of kube-system, and nothing checks
    /// what they copy from changed workloads.
    ///
    /// `YuniKorn`'s admission controller checks a Deployment, and the other kinds that it knows, at creation
    /// alone. Anyone who may change one writes any name into its pod template, and the trusted controller
    /// copies it to a pod. `userInfo` of the `AdmissionPolicy` checks changes, too, with `mode: Enforce` and
    /// profile `strict`. Where `trustControllers` is not set either, `YuniKorn`'s default is the same, which
    /// is not reported.
    pub const UNCHECKED_COPIES: Code = Code::new(4119, "unchecked-copies");
    /// An expression of `externalUsers` or `externalGroups` matches a user or a group that ACLs of queues
    /// name.
    ///
    /// These lists are for front ends such as Livy, which pass on the names of their users. A user or group
    /// on a list writes any name into `user.info`, also an administrator's, and so submits to every queue. An
    /// ACL is enough to use a queue: remove the name from the list. A name that may submit to root is not
    /// reported.
    pub const TENANT_TRUSTED: Code = Code::new(4120, "tenant-trusted");
    /// An expression of `systemUsers` or `externalUsers` matches `system:anonymous`, the name of every
    /// request without a login.
    ///
    /// If such requests may create pods, everyone who reaches the API server submits as anyone.
    pub const ANONYMOUS_TRUSTED: Code = Code::new(4121, "anonymous-trusted");
    /// A `*` in an expression is written as in a shell, which reads it as any text.
    ///
    /// In a regular expression it repeats what precedes it, from zero times on: `team-*` is `team` with any
    /// number of dashes. Write `.*` for any text. At the end of an expression without `$` nothing is needed.
    pub const SHELL_PATTERN: Code = Code::new(4122, "shell-pattern");
}
