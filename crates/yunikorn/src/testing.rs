//! Helpers that the tests of this crate and of those above it share.

use std::cell::Cell;

thread_local! {
    /// The number of pairs of names that [`nearest`](crate::queue::nearest) has compared letter by letter in
    /// this thread, so that tests can bound its work.
    pub static COMPARED: Cell<usize> = const { Cell::new(0) };
}

/// Returns whether two messages are equal, or both say that a `user.info` cannot be read: `YuniKorn`'s is
/// that of Go's JSON reader.
pub fn is_same_refusal(ours: &str, theirs: &str) -> bool {
    let of_go = ["invalid character '", "unexpected end of JSON input", "json: cannot unmarshal "];
    let is_unreadable = of_go.iter().any(|begin| theirs.starts_with(begin));
    if is_unreadable {
        ours.starts_with("yunikorn.apache.org/user.info cannot be read: ")
    } else {
        ours == theirs
    }
}
