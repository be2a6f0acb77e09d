//! Codes of findings about the access rules of applications, each with its meaning, the reason and the fix.
//!
//! In a YARN ACL text, an error has no equivalent in `YuniKorn`, and a warning is a part that `YuniKorn`
//! reads differently. In the settings, an error is an invalid value, and a warning is a setting with an
//! unexpected effect.

use go_compat::diag::Code;

go_compat::codes! {
    /// The name of a group contains a space. **Error.**
    ///
    /// YARN splits an ACL only at the first space, so `alice dev test` names the group `dev test`. `YuniKorn`
    /// refuses a second space and allows no such group name. If these are two groups, separate them with a
    /// comma: `alice dev,test`.
    pub const GROUP_SPACE: Code = Code::new(7101, "yarn-group-space");
    /// Text after a second space, which is ignored according to Cloudera's handbook.
    ///
    /// Hadoop's source does not ignore it but makes it part of the groups. `YuniKorn` refuses the text.
    /// Remove it, or separate the groups with commas.
    pub const SECOND_SPACE: Code = Code::new(7102, "yarn-second-space");
    /// Names next to an effective wildcard.
    ///
    /// A lone `*` in either part means everyone; the other part has no effect. Write `*`, or the names
    /// without it.
    pub const WILDCARD_BESIDE: Code = Code::new(7103, "yarn-wildcard-beside");
    /// `*` among other names.
    ///
    /// In a list, YARN treats it like any other name. `YuniKorn` drops it. Write only `*` for everyone, or
    /// remove it.
    pub const LITERAL_WILDCARD: Code = Code::new(7104, "yarn-literal-wildcard");
    /// A space next to the comma that follows the users.
    ///
    /// The first space ends the users despite the comma: in `alice, bob`, bob is a group. Write `alice,bob`
    /// for two users.
    pub const COMMA_SPACE: Code = Code::new(7105, "yarn-comma-space");
    /// A tab, a control character, or white space outside ASCII inside a name.
    ///
    /// YARN trims these at the ends of a list but keeps them inside a name, so the name matches nobody. Write
    /// the ACL on one line with U+0020.
    pub const CONTROL: Code = Code::new(7106, "yarn-control-character");
    /// The ACL is on a separate, indented line, so its users become part of the name of a group.
    ///
    /// The first space belongs to the indentation, so there are no users. Write `<value>alice dev</value>` on
    /// one line.
    pub const PRETTY_PRINTED: Code = Code::new(7107, "yarn-pretty-printed");
    /// YARN accepts the name, but `YuniKorn` drops it.
    ///
    /// YARN accepts any name; `YuniKorn` accepts only names that match [`crate::acl::USER_NAME`] and
    /// [`crate::acl::GROUP_NAME`].
    pub const DROPPED: Code = Code::new(7108, "yarn-name-dropped");
    /// A proxy user's marker, `~name` (Hadoop 3.4, YARN-1115). `YuniKorn` does not support proxy users and
    /// drops the name.
    pub const REAL_USER: Code = Code::new(7109, "yarn-real-user");
    /// An attempt to deny access, such as `!bob` or `-bob`. YARN and `YuniKorn` treat it as a name, because
    /// they cannot deny.
    pub const DENY: Code = Code::new(7110, "yarn-deny");
    /// A Kerberos principal.
    ///
    /// YARN compares short names without a realm, so this entry never grants anything. `YuniKorn` compares
    /// the name that the API server sends, which can be a principal, so the same entry may grant access
    /// there. Write the name that the API server sends.
    pub const PRINCIPAL: Code = Code::new(7111, "yarn-principal");
    /// A name that is often used to mean "nobody".
    ///
    /// It is an ordinary name, and a user of that name would have access. Leave the ACL empty.
    pub const NOBODY_BY_NAME: Code = Code::new(7112, "yarn-nobody-by-name");
    /// `YuniKorn` refuses the text or reads it differently, but an equivalent text exists.
    pub const OTHER_FORM: Code = Code::new(7113, "yarn-other-form");
    /// A line break separates two names, without a comma or another space.
    ///
    /// YARN reads it as a comma. The first space ends the users. If there is no space, names on a later line
    /// are users, even if groups were intended; if that line is indented, its names are groups. Write the ACL
    /// on one line: `alice,bob dev,ops`.
    pub const LINE_BREAK: Code = Code::new(7114, "yarn-line-break");
    /// A name begins or ends with a quotation mark.
    ///
    /// YARN and Spark do not remove quotation marks, so the name matches nobody. Write it without them.
    pub const QUOTED: Code = Code::new(7115, "quoted-name");

    /// `mapreduce.cluster.acls.enabled` and `mapreduce.cluster.administrators` have no effect here.
    ///
    /// They belong to `MapReduce`'s application master and history server, not to YARN, and Cloudera's
    /// handbook advises against them. Use `yarn.acl.enable` and `yarn.admin.acl`.
    pub const LEGACY: Code = Code::new(7121, "mapreduce-cluster-acls");
    /// The value of a switch is not `true` or `false`.
    ///
    /// Hadoop logs this and uses the default; Spark does not start.
    pub const NOT_A_SWITCH: Code = Code::new(7122, "not-a-switch");
    /// A value contains `${…}`, which Hadoop and Spark replace with another setting. **Error.** Write the
    /// value itself.
    pub const VARIABLE: Code = Code::new(7123, "variable-in-value");
    /// The setting does not exist in the dialect.
    ///
    /// It has no effect. It may be misspelled.
    pub const UNKNOWN_SETTING: Code = Code::new(7124, "unknown-setting");
    /// ACLs are switched off, the default in Hadoop and Spark, so everyone can do everything.
    pub const SWITCHED_OFF: Code = Code::new(7125, "acls-switched-off");
    /// Everyone is an administrator of the cluster and can do everything.
    ///
    /// `*` is the default of `yarn.admin.acl`. List the administrators.
    pub const EVERYONE_ADMINISTERS: Code = Code::new(7126, "everyone-administers");
    /// The value has more than [`super::settings::MAX_TEXT`] bytes and is ignored. **Error.**
    pub const TOO_LONG: Code = Code::new(7127, "setting-too-long");
}
