//! What every status says, drawn from what was decided.

pub(super) mod config;
pub(super) mod events;
pub(super) mod policy;
pub(super) mod queue_acl;

use crate::model::acl::{Acl, Names};
use crate::text::diag::Diagnostic;

/// How many names a message lists.
const SHOWN: usize = 10;

/// An ACL for people: `users sue, bob and groups dev`, `everyone`, `nobody`.
fn people(acl: &Acl) -> String {
    if acl.is_everyone() {
        return "everyone".into();
    }
    match (names("user", acl.users()), names("group", acl.groups())) {
        (None, None) => "nobody".into(),
        (Some(users), None) => users,
        (None, Some(groups)) => groups,
        (Some(users), Some(groups)) => format!("{users} and {groups}"),
    }
}

fn names(kind: &str, names: &Names) -> Option<String> {
    let plural = match names.len() {
        0 => return None,
        1 => "",
        _ => "s",
    };
    let mut text = format!(
        "{kind}{plural} {}",
        names.iter().take(SHOWN).collect::<Vec<_>>().join(", ")
    );
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    Some(text)
}

/// Warnings behind a message.
fn with_warnings(mut message: String, warnings: &[Diagnostic]) -> String {
    for warning in warnings {
        message.push_str("; warning ");
        message.push_str(&warning.to_string());
    }
    message
}
