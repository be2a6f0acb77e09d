//! The codes of findings about a file of groups.

use go_compat::diag::Code;

go_compat::codes! {
    /// A user in a file of groups has no name, which no request can have either.
    pub const EMPTY_USER: Code = Code::new(7001, "empty-user-name");
    /// A group in a file of groups has no name: `YuniKorn` would keep it, and no ACL can name it.
    pub const EMPTY_GROUP: Code = Code::new(7002, "empty-group-name");
}
