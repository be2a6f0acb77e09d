//! The codes of findings about an ACL text: each with its meaning, its reason and what to write instead.
//!
//! An error marks what `YuniKorn` refuses, when it validates or when it activates; a warning marks what it
//! accepts but reads otherwise than written.

use go_compat::diag::Code;

go_compat::codes! {
    /// Two or more spaces in a row. **Error.**
    ///
    /// Activation splits at every single space, so a second one begins a third list, and activation refuses
    /// that (`acl.go:120-123`). The validator collapses them and accepts: such an ACL passes the webhook, is
    /// ignored by a hot reload, and stops the scheduler at its next start. Write one space between the users
    /// and the groups.
    pub const MULTIPLE_SPACES: Code = Code::new(1001, "multiple-spaces");
    /// A space at the beginning or the end that makes one too many. **Error.**
    ///
    /// As with [`MULTIPLE_SPACES`]: activation does not trim. One space in front is right only for groups
    /// without users (`" dev"`), one at the end only after users without groups. Write the ACL without it.
    pub const OUTER_SPACE: Code = Code::new(1002, "outer-space");
    /// Three or more lists. **Error.**
    ///
    /// An ACL is users, one space, groups. Both parsers refuse more; the validator also counts what a tab or
    /// a line break separates. Separate names within a list with commas: `sue,bob dev,ops`.
    pub const TOO_MANY_LISTS: Code = Code::new(1003, "too-many-lists");
    /// A tab, a line break or other white space that is not U+0020.
    ///
    /// It separates nothing: it becomes part of the name beside it, and `YuniKorn` then drops that name. A
    /// YAML block scalar (`|`, `>`) ends in such a line break. Write the ACL on one line, quoted, with
    /// U+0020.
    pub const ODD_SPACE: Code = Code::new(1004, "odd-space");
    /// A space beside a comma.
    ///
    /// The space ends the users, whatever the comma says: in `sue, bob`, bob is a group. Write `sue,bob` for
    /// two users, or `sue bob` for a user and a group.
    pub const COMMA_SPACE: Code = Code::new(1005, "comma-space");
    /// Nothing between two commas, or beside one. Harmless, and often the trace of a name that was lost.
    /// Remove the comma.
    pub const EMPTY_ELEMENT: Code = Code::new(1006, "empty-element");
    /// A name that is twice in its list. Harmless. Write it once.
    pub const DUPLICATE: Code = Code::new(1007, "duplicate");
    /// Two names in one list that differ in case only.
    ///
    /// They are two different names to `YuniKorn`. Write the one that the identity provider sends.
    pub const CASE: Code = Code::new(1008, "case");
    /// `*` in a list with other names. **Drops the `*`.**
    ///
    /// The wildcard is one only when it is the whole list (`acl.go:54,88`); here it is a name that is not
    /// valid. Write `*` alone for everyone, or leave it out.
    pub const WILDCARD_IN_LIST: Code = Code::new(1009, "wildcard-in-list");
    /// Names beside a wildcard that is in force.
    ///
    /// `sue *` and `* dev` grant everyone; the names change nothing. Write `*`, or the names without it.
    pub const WILDCARD_WITH_NAMES: Code = Code::new(1010, "wildcard-with-names");
    /// A pattern or regular expression. **Drops the name.**
    ///
    /// Names in an ACL are compared byte for byte; only the filters of placement rules know expressions. Name
    /// each, or a group.
    pub const PATTERN: Code = Code::new(1011, "pattern");
    /// Quotes inside the text. **Drops the name.**
    ///
    /// YAML's quotes are already removed when `YuniKorn` reads the ACL, so these are quoted twice. Quote
    /// once: `submitacl: "*"`.
    pub const QUOTES: Code = Code::new(1012, "quotes");
    /// An attempt to deny, such as `!bob`. **Drops the name.**
    ///
    /// There is no deny entry, and a child queue cannot take away what a queue above it grants. Grant only
    /// who should have access, at the lowest queue that fits.
    pub const DENY: Code = Code::new(1013, "deny");
    /// A word that looks like a keyword and is a user's or a group's name, such as `none` or `all`, as the
    /// only name.
    ///
    /// The wildcard is `*` and nobody is the empty ACL; there are no other keywords. `nobody` is even a name
    /// in use: the user of pods that carry no user information.
    pub const KEYWORD: Code = Code::new(1014, "keyword");
    /// A prefix that distinguishes users from groups, such as `group:dev`, `@dev` or `%dev`. **Drops the
    /// name.**
    ///
    /// The position decides: users come before the space, groups after it.
    pub const PREFIX: Code = Code::new(1015, "prefix");
    /// A service account, `system:serviceaccount:<namespace>:<name>`. **Drops the name.**
    ///
    /// [`super::USER_NAME`] has no colon, in all of 1.8 and 1.9, so no ACL can hold the name of a service
    /// account, nor its `system:` groups. Name the account under `serviceAccounts:` of a `QueueAcl`:
    /// queuewarden writes an alias into the ACL, and the user-info webhook writes it into the pods. Without
    /// the webhook, let the workload carry a plain user or group in `yunikorn.apache.org/user.info` (set by
    /// someone whom `externalUsers` or `externalGroups` of an `AdmissionPolicy` admits), or grant `*` on a
    /// queue of its own.
    pub const SERVICE_ACCOUNT: Code = Code::new(1016, "service-account");
    /// A name of Kubernetes' own, `system:…`, such as `system:authenticated` or `system:masters`. **Drops the
    /// name.**
    ///
    /// Neither expression has a colon. Grant a group of the identity provider, or `*` for everyone.
    pub const SYSTEM_NAME: Code = Code::new(1017, "system-name");
    /// A name with `:`, `/` or `#`, as OIDC providers make them. **Drops the name.**
    ///
    /// Such a user may submit (`configvalidator.go:87` is wider), and may be limited, but cannot be granted.
    /// Make the API server send plain names (its claim mappings or prefix flags for OIDC), or grant a group
    /// with a plain name.
    pub const SUBMIT_ONLY: Code = Code::new(1018, "submit-only-name");
    /// A group with `.`, `@` or a final `$`, which only users may have. **Drops the name.**
    ///
    /// [`super::GROUP_NAME`] is narrower than [`super::USER_NAME`]. If it is a user, write it before the
    /// space; if it is a group, it needs a plain name.
    pub const USER_AS_GROUP: Code = Code::new(1019, "user-as-group");
    /// A name that begins with something other than a letter or `_`. **Drops the name.**
    ///
    /// Numbers and UUIDs as user names are common and cannot be granted. Grant a group with a plain name.
    pub const FIRST_CHARACTER: Code = Code::new(1020, "first-character");
    /// A name with a character outside ASCII, which may be invisible. **Drops the name.**
    pub const NON_ASCII: Code = Code::new(1021, "non-ascii");
    /// An LDAP distinguished name. **Drops the name, in pieces.**
    ///
    /// Its commas separate names and its `=` is not valid in any. Write the plain name: `bob`, not
    /// `CN=bob,OU=eng`.
    pub const LDAP_DN: Code = Code::new(1022, "ldap-dn");
    /// A name with any other character that the expression does not allow. **Drops the name.**
    pub const INVALID_NAME: Code = Code::new(1023, "invalid-name");
    /// Something is written, and nobody is granted anything by it.
    pub const NOBODY: Code = Code::new(1024, "grants-nobody");
    /// More findings than [`super::lint::MAX_FINDINGS`]; this finding counts those that are not listed.
    pub const MORE: Code = Code::new(1025, "more-findings");
}

/// The codes of findings about a name that `YuniKorn` drops in silence. In queuewarden's own objects they are
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
