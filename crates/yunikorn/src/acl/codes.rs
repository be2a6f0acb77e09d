//! Codes of findings about an ACL text, each with its meaning, the reason and the fix.
//!
//! An error is a text that `YuniKorn` refuses at validation or activation. A warning is a text that it
//! accepts but reads in an unexpected way.

use go_compat::diag::Code;

go_compat::codes! {
    /// Two or more consecutive spaces. **Error.**
    ///
    /// Activation splits at every space, so a second space begins a third list, which activation refuses
    /// (`acl.go:120-123`). The validator treats them as one: such an ACL passes the webhook, is ignored by a
    /// hot reload, and prevents the scheduler's next start. Write one space between the users and the groups.
    pub const MULTIPLE_SPACES: Code = Code::new(1001, "multiple-spaces");
    /// An extra space at the beginning or the end. **Error.**
    ///
    /// As with [`MULTIPLE_SPACES`], activation does not trim spaces. A leading space is correct only before
    /// groups without users (`" dev"`), a trailing space only after users without groups. Remove the space.
    pub const OUTER_SPACE: Code = Code::new(1002, "outer-space");
    /// Three or more lists. **Error.**
    ///
    /// An ACL consists of users, one space, and groups. Both parsers refuse more lists; the validator also
    /// splits at tabs and line breaks. Separate names within a list with commas: `sue,bob dev,ops`.
    pub const TOO_MANY_LISTS: Code = Code::new(1003, "too-many-lists");
    /// A tab, a line break or other white space that is not U+0020.
    ///
    /// It does not separate anything. It becomes part of a name, and `YuniKorn` drops that name. A YAML block
    /// scalar (`|`, `>`) ends in such a line break. Write the ACL on one line in quotes, with U+0020.
    pub const ODD_SPACE: Code = Code::new(1004, "odd-space");
    /// A space next to a comma.
    ///
    /// The space ends the users despite the comma: in `sue, bob`, bob is a group. Write `sue,bob` for two
    /// users, or `sue bob` for a user and a group.
    pub const COMMA_SPACE: Code = Code::new(1005, "comma-space");
    /// A comma without a name before or after it. Harmless, but often the trace of a lost name. Remove the
    /// comma.
    pub const EMPTY_ELEMENT: Code = Code::new(1006, "empty-element");
    /// The same name appears twice in a list. Harmless. Write it once.
    pub const DUPLICATE: Code = Code::new(1007, "duplicate");
    /// Two names in a list differ only in case.
    ///
    /// `YuniKorn` treats them as different names. Write the name that the identity provider sends.
    pub const CASE: Code = Code::new(1008, "case");
    /// `*` in a list with other names. **Drops the `*`.**
    ///
    /// `*` is the wildcard only if it is the entire list (`acl.go:54,88`); otherwise it is an invalid name.
    /// Write only `*` for everyone, or remove it.
    pub const WILDCARD_IN_LIST: Code = Code::new(1009, "wildcard-in-list");
    /// Names next to an effective wildcard.
    ///
    /// `sue *` and `* dev` grant access to everyone; the names have no effect. Write `*`, or the names
    /// without it.
    pub const WILDCARD_WITH_NAMES: Code = Code::new(1010, "wildcard-with-names");
    /// A pattern or regular expression. **Drops the name.**
    ///
    /// Names in an ACL are compared byte for byte. Only the filters of placement rules support expressions.
    /// Write each name, or a group.
    pub const PATTERN: Code = Code::new(1011, "pattern");
    /// Quotes inside the text. **Drops the name.**
    ///
    /// YAML's quotes are already removed when `YuniKorn` reads the ACL, so this text is quoted twice. Quote
    /// it once: `submitacl: "*"`.
    pub const QUOTES: Code = Code::new(1012, "quotes");
    /// An attempt to deny access, such as `!bob`. **Drops the name.**
    ///
    /// ACLs cannot deny, and a child queue cannot remove access that a queue above it grants. Grant access at
    /// the lowest suitable queue, to only the names that need it.
    pub const DENY: Code = Code::new(1013, "deny");
    /// The only name looks like a keyword but is the name of a user or group, such as `none` or `all`.
    ///
    /// The wildcard is `*`, and an empty ACL grants access to nobody. There are no other keywords. `nobody`
    /// is even in use: it is the user of pods without user information.
    pub const KEYWORD: Code = Code::new(1014, "keyword");
    /// A prefix that distinguishes users from groups, such as `group:dev`, `@dev` or `%dev`. **Drops the
    /// name.**
    ///
    /// The position determines the kind: users come before the space, groups after it.
    pub const PREFIX: Code = Code::new(1015, "prefix");
    /// A service account, `system:serviceaccount:<namespace>:<name>`. **Drops the name.**
    ///
    /// [`super::USER_NAME`] allows no colon in 1.8 and 1.9, so an ACL can contain neither the name of a
    /// service account nor its `system:` groups. List the account in `serviceAccounts:` of a `QueueAcl`:
    /// queuewarden writes an alias into the ACL, and the user-info webhook writes the alias into the pods.
    /// Without the webhook, set a plain user or group in `yunikorn.apache.org/user.info` of the workload
    /// (only users in `externalUsers` or `externalGroups` of an `AdmissionPolicy` can do this), or grant `*`
    /// on a separate queue.
    pub const SERVICE_ACCOUNT: Code = Code::new(1016, "service-account");
    /// A name reserved by Kubernetes, `system:…`, such as `system:authenticated` or `system:masters`. **Drops
    /// the name.**
    ///
    /// Names in ACLs cannot contain a colon. Grant access to a group of the identity provider, or `*` for
    /// everyone.
    pub const SYSTEM_NAME: Code = Code::new(1017, "system-name");
    /// A name with `:`, `/` or `#`, as OIDC providers create them. **Drops the name.**
    ///
    /// Such a user can submit (`configvalidator.go:87` allows more) and can have limits, but cannot be named
    /// in an ACL. Configure the API server to use plain names (with its OIDC claim mappings or prefix flags),
    /// or grant access to a group with a plain name.
    pub const SUBMIT_ONLY: Code = Code::new(1018, "submit-only-name");
    /// A group with `.`, `@` or a final `$`, which only users can have. **Drops the name.**
    ///
    /// [`super::GROUP_NAME`] is narrower than [`super::USER_NAME`]. If it is a user, write it before the
    /// space; if it is a group, it needs a plain name.
    pub const USER_AS_GROUP: Code = Code::new(1019, "user-as-group");
    /// A name does not begin with a letter or `_`. **Drops the name.**
    ///
    /// Numbers and UUIDs are common user names but cannot be named in ACLs. Grant access to a group with a
    /// plain name.
    pub const FIRST_CHARACTER: Code = Code::new(1020, "first-character");
    /// A name with a character outside ASCII, which may be invisible. **Drops the name.**
    pub const NON_ASCII: Code = Code::new(1021, "non-ascii");
    /// An LDAP distinguished name. **Drops the name, in pieces.**
    ///
    /// Its commas separate names, and no name can contain `=`. Write the plain name: `bob`, not
    /// `CN=bob,OU=eng`.
    pub const LDAP_DN: Code = Code::new(1022, "ldap-dn");
    /// A name with any other invalid character. **Drops the name.**
    pub const INVALID_NAME: Code = Code::new(1023, "invalid-name");
    /// The text is not empty but grants access to nobody.
    pub const NOBODY: Code = Code::new(1024, "grants-nobody");
    /// There are more findings than [`super::lint::MAX_FINDINGS`]; this finding counts the others.
    pub const MORE: Code = Code::new(1025, "more-findings");
}

/// The codes of findings about a name that `YuniKorn` silently drops. In queuewarden's objects, they are
/// errors.
pub const DROPS: &[Code] = &[
    ODD_SPACE,
    WILDCARD_IN_LIST,
    PATTERN,
    QUOTES,
    DENY,
    PREFIX,
    SERVICE_ACCOUNT,
    SYSTEM_NAME,
    SUBMIT_ONLY,
    USER_AS_GROUP,
    FIRST_CHARACTER,
    NON_ASCII,
    LDAP_DN,
    INVALID_NAME,
    MORE,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_unique_and_in_range() {
        let numbers: BTreeSet<u16> = CODES.iter().map(|code| code.number).collect();
        let titles: BTreeSet<&str> = CODES.iter().map(|code| code.title).collect();
        assert_eq!((numbers.len(), titles.len()), (CODES.len(), CODES.len()));
        assert!(numbers.iter().all(|number| (1001..2000).contains(number)));
        assert!(DROPS.iter().all(|code| CODES.contains(code)));
    }
}
