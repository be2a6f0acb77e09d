//! Test helpers of this crate and the crates above it.

use std::cell::Cell;

thread_local! {
    /// The number of pairs of names that [`nearest`](crate::queue::nearest) has compared letter by letter in
    /// this thread, so that tests can bound its work.
    pub static COMPARED: Cell<usize> = const { Cell::new(0) };
}

/// Returns whether two messages are equal or both report an invalid `user.info`. For that, `YuniKorn` uses
/// the message of Go's JSON parser.
pub fn is_same_refusal(ours: &str, theirs: &str) -> bool {
    let of_go = ["invalid character '", "unexpected end of JSON input", "json: cannot unmarshal "];
    let is_unreadable = of_go.iter().any(|begin| theirs.starts_with(begin));
    if is_unreadable {
        ours.starts_with("yunikorn.apache.org/user.info cannot be read: ")
    } else {
        ours == theirs
    }
}
