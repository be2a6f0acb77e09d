//! The codes of findings about the access rules of applications: each with its meaning, its reason and what
//! to write instead.
//!
//! About a YARN ACL text, an error marks what has no counterpart in `YuniKorn`; a warning marks what
//! `YuniKorn` reads otherwise. About the settings, an error marks what cannot be read; a warning marks what
//! does not do what it seems to.

use go_compat::diag::Code;

go_compat::codes! {
    /// A group's name with a space in it. **Error.**
    ///
    /// YARN cuts an ACL at the first space only, so that `alice dev test` names the group `dev test`.
    /// `YuniKorn` refuses a second space and allows no such group name. Where two groups were meant, put a
    /// comma between them: `alice dev,test`.
    pub const GROUP_SPACE: Code = Code::new(7101, "yarn-group-space");
    /// Text after a second space, which Cloudera's handbook says is ignored.
    ///
    /// Hadoop's source does not ignore it: there it is part of the groups. `YuniKorn` refuses the text. Leave
    /// it out, or put commas between the groups.
    pub const SECOND_SPACE: Code = Code::new(7102, "yarn-second-space");
    /// Names beside a wildcard that is in force.
    ///
    /// `*` alone in either part is everyone; the other part changes nothing. Write `*`, or the names without
    /// it.
    pub const WILDCARD_BESIDE: Code = Code::new(7103, "yarn-wildcard-beside");
    /// `*` among other names.
    ///
    /// In a list it is a name like any other for YARN. `YuniKorn` drops it. Write `*` alone for everyone, or
    /// leave it out.
    pub const LITERAL_WILDCARD: Code = Code::new(7104, "yarn-literal-wildcard");
    /// A space beside the comma where the users end.
    ///
    /// The first space ends the users whatever the comma says: in `alice, bob`, bob is a group. Write
    /// `alice,bob` for two users.
    pub const COMMA_SPACE: Code = Code::new(7105, "yarn-comma-space");
    /// A tab, a control character, or white space outside ASCII within a name.
    ///
    /// YARN trims these at the ends of a list and keeps them within a name, so that nobody has that name.
    /// Write the ACL on one line with U+0020.
    pub const CONTROL: Code = Code::new(7106, "yarn-control-character");
    /// An ACL on a line of its own, indented: its users have become part of a group's name.
    ///
    /// The first space is that of the indentation, so there are no users. Write `<value>alice dev</value>` on
    /// one line.
    pub const PRETTY_PRINTED: Code = Code::new(7107, "yarn-pretty-printed");
    /// A name that YARN takes and `YuniKorn` drops.
    ///
    /// YARN takes any name; `YuniKorn` only what matches [`crate::acl::USER_NAME`] and
    /// [`crate::acl::GROUP_NAME`].
    pub const DROPPED: Code = Code::new(7108, "yarn-name-dropped");
    /// A proxy user's marker, `~name` (Hadoop 3.4, YARN-1115). `YuniKorn` knows no proxy users, and drops it.
    pub const REAL_USER: Code = Code::new(7109, "yarn-real-user");
    /// An attempt to deny, such as `!bob` or `-bob`. It is a name, to YARN and to `YuniKorn`: neither can
    /// deny.
    pub const DENY: Code = Code::new(7110, "yarn-deny");
    /// A Kerberos principal.
    ///
    /// YARN compares short names, which have no realm, so that this entry never grants anything. `YuniKorn`
    /// compares what the API server sends, which may be such a name: the same entry may then grant access.
    /// Write the name that is sent.
    pub const PRINCIPAL: Code = Code::new(7111, "yarn-principal");
    /// Names that are in use for "nobody".
    ///
    /// They are names like any other, and a user of that name would have access. Write the ACL empty.
    pub const NOBODY_BY_NAME: Code = Code::new(7112, "yarn-nobody-by-name");
    /// A text that `YuniKorn` refuses or reads otherwise, though the same can be written for it.
    pub const OTHER_FORM: Code = Code::new(7113, "yarn-other-form");
    /// A line break between two names, without a comma or another space.
    ///
    /// YARN takes it for a comma. The first space ends the users: without one, names on a later line are
    /// users even if groups were meant, and if that line is indented, its names are groups. Write the ACL on
    /// one line: `alice,bob dev,ops`.
    pub const LINE_BREAK: Code = Code::new(7114, "yarn-line-break");
    /// A name with a quotation mark at an end.
    ///
    /// YARN and Spark do not remove quotation marks, so nobody has this name. Write it without them.
    pub const QUOTED: Code = Code::new(7115, "quoted-name");

    /// `mapreduce.cluster.acls.enabled` and `mapreduce.cluster.administrators`.
    ///
    /// They are settings of `MapReduce`'s own application master and history server, not of YARN; Cloudera's
    /// handbook advises against them. They decide nothing here. Write `yarn.acl.enable` and `yarn.admin.acl`.
    pub const LEGACY: Code = Code::new(7121, "mapreduce-cluster-acls");
    /// A switch that is neither `true` nor `false`.
    ///
    /// Hadoop takes its default, with a line in the log; Spark does not start.
    pub const NOT_A_SWITCH: Code = Code::new(7122, "not-a-switch");
    /// A value with `${…}`, which Hadoop and Spark replace by another setting's. **Error.** Write the value
    /// itself.
    pub const VARIABLE: Code = Code::new(7123, "variable-in-value");
    /// A setting that does not exist in the dialect.
    ///
    /// It changes nothing; a misspelt setting is one of these.
    pub const UNKNOWN_SETTING: Code = Code::new(7124, "unknown-setting");
    /// The switch for ACLs is off, as it is by default in Hadoop and in Spark, so everybody may do
    /// everything.
    pub const SWITCHED_OFF: Code = Code::new(7125, "acls-switched-off");
    /// Everybody administers the cluster, so that everybody may do everything.
    ///
    /// `*` is the default of `yarn.admin.acl`. Name the administrators.
    pub const EVERYONE_ADMINISTERS: Code = Code::new(7126, "everyone-administers");
    /// More than [`super::settings::MAX_TEXT`] bytes. **Error.** The value is not read.
    pub const TOO_LONG: Code = Code::new(7127, "setting-too-long");
}
