//! The reason why a check fails, computed when it is first read.
//!
//! A status lists only a few of perhaps ten thousand failed checks, and finding the queue that was perhaps
//! meant compares every queue.

use std::sync::{Arc, LazyLock};

type MakeText = Box<dyn FnOnce() -> String + Send>;

/// A text that is computed when it is first read.
#[derive(Debug, Clone)]
pub struct Reason(Arc<LazyLock<String, MakeText>>);

impl Reason {
    /// Takes a text to compute later.
    pub(super) fn later(say: impl FnOnce() -> String + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(say))))
    }

    /// The text, computed now if it was not before.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Reason {
    fn from(said: String) -> Self {
        Self::later(|| said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_it_says() {
        let said = Reason::from("a".to_owned());
        assert_eq!([said.as_str(), said.clone().as_str()], ["a", "a"]);
    }
}
