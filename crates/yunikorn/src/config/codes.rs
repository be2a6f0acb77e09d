//! The codes of this module's diagnostics. Each describes what `YuniKorn` does; the message of a refusal is
//! `YuniKorn`'s own.

use go_compat::diag::Code;

go_compat::codes! {
    /// Two partitions have one name, ignoring case (`configvalidator.go:770`).
    pub const PARTITION_DUPLICATE: Code = Code::new(3001, "partition-duplicate");
    /// A partition has no `queues` (`configvalidator.go:696`).
    pub const QUEUES_MISSING: Code = Code::new(3002, "queues-missing");
    /// The root queue has resources (`configvalidator.go:738`).
    pub const ROOT_RESOURCES: Code = Code::new(3003, "root-resources");
    /// The partition's limits and those of its root queue differ (`configvalidator.go:605`).
    pub const LIMITS_DIFFER: Code = Code::new(3004, "limits-differ");
    /// A queue name has characters or a length that `YuniKorn` refuses (`configvalidator.go:684`).
    pub const QUEUE_NAME: Code = Code::new(3005, "queue-name");
    /// Two children of one queue have one name, ignoring case (`configvalidator.go:668`).
    pub const QUEUE_DUPLICATE: Code = Code::new(3006, "queue-duplicate");
    /// An ACL has more than two parts (`configvalidator.go:120`).
    pub const ACL_PARTS: Code = Code::new(3007, "acl-parts");
    /// A limit is refused by itself (`configvalidator.go:501`).
    pub const LIMIT: Code = Code::new(3008, "limit-invalid");
    /// A resource quantity cannot be read (`resources/quantity.go:78`).
    pub const QUANTITY: Code = Code::new(3009, "quantity-invalid");
    /// Resources of a queue do not fit those above or below it (`configvalidator.go:125`).
    pub const RESOURCES: Code = Code::new(3010, "resources-do-not-fit");
    /// A placement rule is refused (`configvalidator.go:316`).
    pub const RULE: Code = Code::new(3011, "placement-rule");
    /// The filter of a placement rule is refused (`configvalidator.go:460`).
    pub const FILTER: Code = Code::new(3012, "placement-filter");
    /// The node sort policy is refused (`configvalidator.go:618`).
    pub const NODE_SORT: Code = Code::new(3013, "node-sort-policy");
    /// `maxapplications` of a child does not fit that of its parent (`configvalidator.go:211`).
    pub const MAX_APPLICATIONS: Code = Code::new(3014, "max-applications");
    /// A limit is wider than one above it (`configvalidator.go:155`).
    pub const LIMIT_HIERARCHY: Code = Code::new(3015, "limit-hierarchy");

    /// More queues, limits, rules and kinds of resources than are compared with each other here. `YuniKorn`
    /// has no such bound.
    pub const TOO_LARGE: Code = Code::new(3016, "config-too-large");

    /// The top queue is named `root` in another case: validated, but never activated (`partition.go:114`).
    pub const ROOT_CASE: Code = Code::new(3020, "root-case");
    /// An ACL passes the validator but not activation: a reload is refused and the next start fails
    /// (`acl.go:120`).
    pub const ACL_STRICT: Code = Code::new(3021, "acl-not-activated");
    /// A child template has a quantity that only activation reads (`template.go:41`).
    pub const TEMPLATE: Code = Code::new(3022, "template-not-activated");
    /// A placement rule passes the validator but not activation: a reload is refused, a start continues
    /// without any rule, so that every application is rejected (`placement.go:46`).
    pub const RULE_INACTIVE: Code = Code::new(3023, "rule-not-activated");
    /// A partition that is active is missing: the scheduler blocks itself (`partition_manager.go:168`).
    pub const PARTITION_MISSING: Code = Code::new(3024, "partition-missing");
    /// A placement rule crashes the scheduler with the first application it places (`placement.go:156`). A
    /// warning, because `YuniKorn` neither refuses the text nor hangs on it.
    pub const RULE_PANICS: Code = Code::new(3025, "rule-panics");

    /// A filter's type is `deny` in another case, and acts as `allow` (`filter.go:138`).
    pub const FILTER_TYPE: Code = Code::new(3030, "filter-allows");
    /// A filter lists names that can never match (`filter.go:160`).
    pub const FILTER_NAME: Code = Code::new(3031, "filter-name-ignored");
    /// Text after the first document is not read (`config.go:181`). This does not need a `---`: the document
    /// ends with its root.
    pub const TEXT_IGNORED: Code = Code::new(3032, "text-ignored");
    /// The text contains `checksum: `, which hides what follows from the scheduler's checksum
    /// (`config.go:196`).
    pub const CHECKSUM: Code = Code::new(3033, "checksum-marker");
    /// The type of the user group resolver is not known, which means none (`usergroup.go:79`).
    pub const RESOLVER: Code = Code::new(3034, "resolver-unknown");
    /// The text is empty, or no ConfigMap has its key, which means the built-in configuration: everyone may
    /// submit everywhere (`context.go:177`).
    ///
    /// The key is that of `service.policyGroup` with `.yaml`, or else `queues.yaml`. No other spelling is
    /// read, and a packed text only in `binaryData`.
    pub const DEFAULT_CONFIG: Code = Code::new(3035, "default-config");
    /// Resources of a queue named `root` below the root are not read (`queue.go:364`).
    pub const NESTED_ROOT: Code = Code::new(3036, "nested-root");
    /// The only name in a filter's list ends in `$`, which makes it a regular expression (`filter.go:145`).
    pub const FILTER_EXPRESSION: Code = Code::new(3037, "filter-expression");
    /// A property of a queue has its name in another version (`configvalidator.go:53`).
    pub const PROPERTY_RENAMED: Code = Code::new(3038, "property-renamed");

    /// A key of `binaryData` gives the scheduler nothing: the value of a `.gz` key is not gzip, so that the
    /// value it should replace stays in force, or the name does not end in `.gz` at all
    /// (`schedulerconf.go:445`). Or a packed value is in `data`, which is not unpacked.
    pub const NOT_UNPACKED: Code = Code::new(3040, "binary-not-unpacked");
    /// A key of `binaryData` wins over a key of `data`, or empties it, or differs from another one for the
    /// same key (`schedulerconf.go:445`).
    pub const HIDES: Code = Code::new(3041, "binary-hides-data");
    /// A setting of the scheduler cannot be read: a running one ignores the change as a whole, and a starting
    /// one fails (`schedulerconf.go:157`).
    pub const SETTING: Code = Code::new(3042, "setting-unreadable");

    /// A placement rule that places no application on Kubernetes.
    ///
    /// It needs a tag that YuniKorn's shim never sets, a filter lets nobody pass, or the queue it names does
    /// not exist or takes no applications. YuniKorn accepts the rule and tries the next one. If no rule is
    /// left, an application goes to `root.default`, or is rejected.
    pub const RULE_DEAD: Code = Code::new(3043, "rule-never-places");
    /// The user group resolver is asked for a user without groups only, and the admission controller writes
    /// groups into each pod (`usergroup.go:160`).
    ///
    /// Kubernetes gives every user groups, `system:authenticated` among them, and these are what the
    /// scheduler compares with ACLs. Groups of LDAP or of the scheduler's machine are not added. To
    /// grant a group of LDAP, let the login of Kubernetes send it.
    pub const RESOLVER_UNASKED: Code = Code::new(3044, "resolver-never-asked");
    /// A key of YuniKorn's ConfigMaps that no program of YuniKorn reads: misspelt, in another case, or read
    /// by other releases only.
    ///
    /// Keys are compared byte for byte, and an unknown one is ignored without a word in any log. What it was
    /// meant to set has its default.
    pub const KEY_UNREAD: Code = Code::new(3045, "key-not-read");
    /// The value of a key cannot be read, so the default is in force.
    pub const VALUE_DISCARDED: Code = Code::new(3046, "value-discarded");
}
