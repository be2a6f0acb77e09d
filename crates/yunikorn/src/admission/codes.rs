//! Codes of findings about the admission controller's keys.

use go_compat::diag::Code;

go_compat::codes! {
    /// A value is not a valid boolean in Go, so the key has its default.
    pub const NOT_A_BOOLEAN: Code = Code::new(4101, "not-a-go-boolean");
    /// An expression does not compile in Go, so the whole list is replaced by its default.
    pub const LIST_DISCARDED: Code = Code::new(4102, "list-discarded");
    /// A list element contains a comma. Commas separate elements and cannot be escaped.
    pub const COMMA: Code = Code::new(4103, "comma-in-expression");
    /// A list element begins or ends with white space, which would be removed.
    pub const OUTER_SPACE: Code = Code::new(4104, "space-around-expression");
    /// A list element is empty and would be ignored.
    pub const EMPTY: Code = Code::new(4105, "empty-expression");
    /// An expression without anchors matches anywhere in a name.
    pub const UNANCHORED: Code = Code::new(4106, "unanchored-expression");
    /// An expression matches every name.
    pub const MATCHES_ALL: Code = Code::new(4107, "expression-matches-all");
    /// It is unknown whether Go compiles all expressions of a list, so the effective list is unknown.
    pub const LIST_UNDECIDED: Code = Code::new(4108, "list-undecided");
    /// The comma in a repetition count splits the expression into parts such as `a{1` and `3}`, which match
    /// literally.
    pub const COUNT_CUT: Code = Code::new(4109, "count-cut-at-comma");
    /// An expression looks like a prefix but ends in `$`, so it matches nothing longer than itself.
    pub const CLOSED_PREFIX: Code = Code::new(4110, "closed-prefix");
    /// In `^a|b$` the first alternative has no end anchor and the last one no start anchor.
    pub const SPLIT_ANCHORS: Code = Code::new(4111, "split-anchors");
    /// The namespace of a service account does not end with `:`, so the expression also matches namespaces
    /// with the same prefix. `:*` does not end it, because it matches any number of colons, including zero.
    pub const OPEN_NAMESPACE: Code = Code::new(4112, "open-namespace");
    /// A list has more expressions than can be checked.
    pub const TOO_MANY: Code = Code::new(4113, "too-many-expressions");

    /// An entry of `systemUsers` or `externalUsers` is a service account outside kube-system.
    ///
    /// Such an account is on a list because it creates pods for other users: it copies the annotation
    /// `user.info` from objects of its own kinds, such as a `SparkApplication`. Anyone who can create or
    /// change such an object can therefore submit as anyone. If the account is in `operators` of `userInfo`,
    /// it needs no entry here: with `mode: Enforce` and profile `strict`, it can only pass on the name in the
    /// object that owns the pod. An entry that matches one of `operators` is not reported, because
    /// `YuniKorn`'s admission controller needs it. An account that reads no objects but runs code written by
    /// others cannot be restricted in this way.
    pub const UNGUARDED_ACCOUNT: Code = Code::new(4114, "unguarded-account");
    /// An entry of `systemUsers` or `externalUsers` matches every service account of kube-system.
    ///
    /// This is `YuniKorn`'s default for `systemUsers`. Seven Kubernetes controllers copy pod templates whose
    /// `user.info` has already been checked. However, add-ons in kube-system may create pods from other
    /// objects that tenants write, and the entry trusts them as well. List only the seven controllers, as
    /// shown in the help.
    pub const ALL_OF_KUBE_SYSTEM: Code = Code::new(4115, "all-of-kube-system");
    /// Pods that name no application share one per namespace, although the user of each pod is checked.
    ///
    /// They all belong to `yunikorn-<namespace>-autogen` unless
    /// `admissionController.filtering.generateUniqueAppId` is `true`. The first pod determines the queue and
    /// the user, and `YuniKorn` checks no ACL for the others. With `true`, each pod is a separate
    /// application.
    pub const SHARED_APPLICATION: Code = Code::new(4116, "shared-application");
    /// With `bypassAuth: true`, every user can set `user.info` and so submit as anyone.
    ///
    /// `YuniKorn`'s admission controller does not check or add the annotation, and the user-info webhook also
    /// lets everyone write it. The lists have no effect.
    pub const BYPASS_AUTH: Code = Code::new(4117, "bypass-auth");
    /// An expression of `externalGroups` matches a group that contains everyone, or every service account of
    /// a cluster or a namespace.
    ///
    /// All members of the group can submit as anyone. Kubernetes puts every authenticated user into
    /// `system:authenticated`, everyone else into `system:unauthenticated`, and each service account into
    /// `system:serviceaccounts` and a group for its namespace. Anyone who can create a pod in a namespace can
    /// act as its service accounts.
    pub const GROUP_OF_EVERYONE: Code = Code::new(4118, "group-of-everyone");
    /// `trustControllers: true` without `systemUsers` trusts every account of kube-system, and nothing checks
    /// `user.info` when a workload is updated.
    ///
    /// `YuniKorn`'s admission controller checks Deployments and the other kinds it supports only when they
    /// are created. Anyone who can update one can write any name into its pod template, and the trusted
    /// controller copies it to a pod. With `mode: Enforce` and profile `strict`, `userInfo` of the
    /// `AdmissionPolicy` checks updates, too. If `trustControllers` is not set either, `YuniKorn`'s default
    /// has the same effect, which is not reported.
    pub const UNCHECKED_COPIES: Code = Code::new(4119, "unchecked-copies");
    /// An expression of `externalUsers` or `externalGroups` matches a user or a group that ACLs of queues
    /// name.
    ///
    /// These lists are for front ends such as Livy, which pass on the names of their users. A listed user or
    /// group can write any name into `user.info`, including an administrator's, and so submit to every queue.
    /// Access to a queue only requires an ACL: remove the name from the list. A name that may submit to root
    /// is not reported.
    pub const TENANT_TRUSTED: Code = Code::new(4120, "tenant-trusted");
    /// An expression of `systemUsers` or `externalUsers` matches `system:anonymous`, the user of every
    /// unauthenticated request.
    ///
    /// If such requests can create pods, everyone who reaches the API server can submit as anyone.
    pub const ANONYMOUS_TRUSTED: Code = Code::new(4121, "anonymous-trusted");
    /// An expression uses `*` like a shell pattern.
    ///
    /// In a regular expression, `*` repeats the preceding item zero or more times: `team-*` is `team`
    /// followed by any number of dashes. Write `.*` for any text. At the end of an expression without `$`,
    /// nothing is needed.
    pub const SHELL_PATTERN: Code = Code::new(4122, "shell-pattern");
}
