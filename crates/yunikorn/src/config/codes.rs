//! Codes of this module's diagnostics. Each describes the behavior of `YuniKorn`; refusals use `YuniKorn`'s
//! own messages.

use go_compat::diag::Code;

go_compat::codes! {
    /// Two partitions have the same name, ignoring case (`configvalidator.go:770`).
    pub const PARTITION_DUPLICATE: Code = Code::new(3001, "partition-duplicate");
    /// A partition has no `queues` (`configvalidator.go:696`).
    pub const QUEUES_MISSING: Code = Code::new(3002, "queues-missing");
    /// The root queue has resources (`configvalidator.go:738`).
    pub const ROOT_RESOURCES: Code = Code::new(3003, "root-resources");
    /// The limits of a partition differ from the limits of its root queue (`configvalidator.go:605`).
    pub const LIMITS_DIFFER: Code = Code::new(3004, "limits-differ");
    /// A queue name has invalid characters or is too long (`configvalidator.go:684`).
    pub const QUEUE_NAME: Code = Code::new(3005, "queue-name");
    /// Two children of a queue have the same name, ignoring case (`configvalidator.go:668`).
    pub const QUEUE_DUPLICATE: Code = Code::new(3006, "queue-duplicate");
    /// An ACL has more than two parts (`configvalidator.go:120`).
    pub const ACL_PARTS: Code = Code::new(3007, "acl-parts");
    /// A limit is invalid (`configvalidator.go:501`).
    pub const LIMIT: Code = Code::new(3008, "limit-invalid");
    /// A resource quantity is invalid (`resources/quantity.go:78`).
    pub const QUANTITY: Code = Code::new(3009, "quantity-invalid");
    /// The resources of a queue are inconsistent with a queue above or below it (`configvalidator.go:125`).
    pub const RESOURCES: Code = Code::new(3010, "resources-do-not-fit");
    /// A placement rule is invalid (`configvalidator.go:316`).
    pub const RULE: Code = Code::new(3011, "placement-rule");
    /// The filter of a placement rule is invalid (`configvalidator.go:460`).
    pub const FILTER: Code = Code::new(3012, "placement-filter");
    /// The node sort policy is invalid (`configvalidator.go:618`).
    pub const NODE_SORT: Code = Code::new(3013, "node-sort-policy");
    /// `maxapplications` of a child is inconsistent with its parent (`configvalidator.go:211`).
    pub const MAX_APPLICATIONS: Code = Code::new(3014, "max-applications");
    /// A limit exceeds a limit of a queue above it (`configvalidator.go:155`).
    pub const LIMIT_HIERARCHY: Code = Code::new(3015, "limit-hierarchy");

    /// The configuration has too many queues, limits, rules and kinds of resources to compare with each
    /// other. `YuniKorn` has no such limit.
    pub const TOO_LARGE: Code = Code::new(3016, "config-too-large");

    /// The top queue is named `root` in another case. It passes validation but is never activated
    /// (`partition.go:114`).
    pub const ROOT_CASE: Code = Code::new(3020, "root-case");
    /// An ACL passes validation but not activation: a reload is refused, and the next start fails
    /// (`acl.go:120`).
    pub const ACL_STRICT: Code = Code::new(3021, "acl-not-activated");
    /// A child template has an invalid quantity that only activation reads (`template.go:41`).
    pub const TEMPLATE: Code = Code::new(3022, "template-not-activated");
    /// A placement rule passes validation but not activation: a reload is refused, and a start continues
    /// without any rule, so that every application is rejected (`placement.go:46`).
    pub const RULE_INACTIVE: Code = Code::new(3023, "rule-not-activated");
    /// An active partition is missing, which makes the scheduler hang (`partition_manager.go:168`).
    pub const PARTITION_MISSING: Code = Code::new(3024, "partition-missing");
    /// A placement rule crashes the scheduler when it places its first application (`placement.go:156`). This
    /// is a warning, because `YuniKorn` accepts the text.
    pub const RULE_PANICS: Code = Code::new(3025, "rule-panics");

    /// The type of a filter is `deny` in another case, which acts as `allow` (`filter.go:138`).
    pub const FILTER_TYPE: Code = Code::new(3030, "filter-allows");
    /// A filter lists names that can never match (`filter.go:160`).
    pub const FILTER_NAME: Code = Code::new(3031, "filter-name-ignored");
    /// Text after the first document is ignored (`config.go:181`). This can happen without a `---`, because
    /// the document ends with its root.
    pub const TEXT_IGNORED: Code = Code::new(3032, "text-ignored");
    /// The text contains `checksum: `, which excludes the text after it from the scheduler's checksum
    /// (`config.go:196`).
    pub const CHECKSUM: Code = Code::new(3033, "checksum-marker");
    /// The type of the user group resolver is unknown, which disables it (`usergroup.go:79`).
    pub const RESOLVER: Code = Code::new(3034, "resolver-unknown");
    /// The text is empty, or no ConfigMap has its key. The built-in configuration then applies, which lets
    /// everyone submit everywhere (`context.go:177`).
    ///
    /// The key is `service.policyGroup` with `.yaml` appended, or `queues.yaml` by default. Any other
    /// spelling is ignored, and compressed text is read only from `binaryData`.
    pub const DEFAULT_CONFIG: Code = Code::new(3035, "default-config");
    /// Resources of a queue named `root` below the root are ignored (`queue.go:364`).
    pub const NESTED_ROOT: Code = Code::new(3036, "nested-root");
    /// The only name in a filter's list ends in `$`, which makes it a regular expression (`filter.go:145`).
    pub const FILTER_EXPRESSION: Code = Code::new(3037, "filter-expression");
    /// A property of a queue has another name in this version (`configvalidator.go:53`).
    pub const PROPERTY_RENAMED: Code = Code::new(3038, "property-renamed");

    /// A key of `binaryData` has no effect: the value of a `.gz` key is not gzip, so that the value it should
    /// replace stays in force, or the name does not end in `.gz` (`schedulerconf.go:445`). Or a compressed
    /// value is in `data`, which is not decompressed.
    pub const NOT_UNPACKED: Code = Code::new(3040, "binary-not-unpacked");
    /// A key of `binaryData` overrides or empties a key of `data`, or conflicts with another one for the same
    /// key (`schedulerconf.go:445`).
    pub const HIDES: Code = Code::new(3041, "binary-hides-data");
    /// A setting of the scheduler is invalid. A running scheduler ignores the whole change, and a starting
    /// one fails (`schedulerconf.go:157`).
    pub const SETTING: Code = Code::new(3042, "setting-unreadable");

    /// A placement rule never places an application on Kubernetes.
    ///
    /// It needs a tag that YuniKorn's shim never sets, its filter excludes everyone, or its queue does not
    /// exist or accepts no applications. YuniKorn accepts the rule and tries the next one. If no rule
    /// matches, the application goes to `root.default` or is rejected.
    pub const RULE_DEAD: Code = Code::new(3043, "rule-never-places");
    /// The user group resolver is used only for users without groups, but the admission controller writes
    /// groups into each pod (`usergroup.go:160`).
    ///
    /// Kubernetes gives every user groups, such as `system:authenticated`, and the scheduler compares these
    /// with the ACLs. It does not add groups from LDAP or from its own machine. To grant access to an LDAP
    /// group, configure the Kubernetes login to send that group.
    pub const RESOLVER_UNASKED: Code = Code::new(3044, "resolver-never-asked");
    /// No YuniKorn program reads this key of YuniKorn's ConfigMaps: it is misspelled, in another case, or
    /// only read by other releases.
    ///
    /// Keys are compared byte for byte, and YuniKorn ignores an unknown key without logging it. The intended
    /// setting has its default.
    pub const KEY_UNREAD: Code = Code::new(3045, "key-not-read");
    /// The value of a key is invalid, so the default is in force.
    pub const VALUE_DISCARDED: Code = Code::new(3046, "value-discarded");
}
