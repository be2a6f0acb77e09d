//! Describes checks for people: the expectation in one line without invisible characters.

use std::fmt;

use super::{Check, Expectation, ExpectedPlacement, Placing};
use crate::decide::visible;
use yunikorn::identity::Identity;

impl Check<'_> {
    /// `case 2`, or `case 2 (developers run in prod)`
    pub fn location(&self) -> String {
        let number = self.index.saturating_add(1);
        match self.case.name.as_str() {
            "" => format!("case {number}"),
            name => format!("case {number} ({})", visible(name)),
        }
    }

    /// The expectation, with the reason why it fails: `user sue may submit to root.prod, but no ACL ...`.
    pub fn line(&self) -> String {
        match self.verdict.reason() {
            None => self.to_string(),
            Some(reason) => format!("expected: {self}; but {reason}"),
        }
    }
}

impl fmt::Display for Check<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = who(self.subject);
        match self.expectation {
            Expectation::Right { right, queue, allowed } => {
                let may = if allowed { "may" } else { "may not" };
                write!(f, "{who} {may} {} {}", right.act(), visible(queue))
            }
            Expectation::Placement(Placing { workload, expected }) => {
                let asks = match workload.queue() {
                    "" => String::new(),
                    queue => format!(", asking for {},", visible(queue)),
                };
                let what = match expected {
                    ExpectedPlacement::In(queue) => format!("runs in {}", visible(queue)),
                    ExpectedPlacement::Nowhere => "is rejected".to_owned(),
                };
                let namespace = visible(&workload.namespace);
                write!(f, "an application of {who} in namespace {namespace}{asks} {what}")
            }
        }
    }
}

/// `user sue`, `user sue in group devs`, `user sue in groups devs and qa`, `user sue in 7 groups`
fn who(subject: &Identity) -> String {
    let user = visible(&subject.user);
    match subject.groups.as_slice() {
        [] => format!("user {user}"),
        [one] => format!("user {user} in group {}", visible(one)),
        [one, two] => format!("user {user} in groups {} and {}", visible(one), visible(two)),
        several => format!("user {user} in {} groups", several.len()),
    }
}
