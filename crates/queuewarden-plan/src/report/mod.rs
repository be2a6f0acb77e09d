//! The conditions and statuses of all objects, derived from the decisions of the plan.

pub(super) mod config;
pub(super) mod events;
pub(super) mod policy;
pub(super) mod queue_acl;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::conditions::{Finding, Reason, Type};
use crate::resolve::Refusal;
use crate::snapshot::Mode;
use go_compat::diag::Diagnostic;
use yunikorn::acl::Acl;
use yunikorn_access::alias::{Aliased, shown};

/// The output that objects are written to, and its conditions.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    /// The mode, which determines whether the operator writes.
    pub mode: Mode,
    /// Condition `Applied`.
    pub applied: &'a Finding,
    /// `ConfigMap namespace/name` of the output.
    pub output: &'a str,
    /// Condition `Loaded`.
    pub loaded: &'a Finding,
}

impl Target<'_> {
    /// Condition `Programmed` of an object whose contribution is not in what `YuniKorn` reads.
    fn not_programmed(&self) -> Finding {
        let Self { mode, applied, output, .. } = self;
        let (reason, message) = match applied.reason {
            _ if *mode == Mode::Observe => (Reason::ObserveMode, self.why()),
            Reason::Pending | Reason::Applied => {
                (Reason::Pending, format!("{output} is being written").into())
            }
            Reason::ShadowedByBinaryData => (Reason::ShadowedByBinaryData, self.why()),
            _ => {
                let message = format!("YuniKornConfig `default` is not in order: {}", applied.message);
                (Reason::ConfigNotReady, message.into())
            }
        };
        Finding::no(Type::Programmed, reason, message)
    }

    /// Returns the reason why the desired text is not in the output.
    fn why(&self) -> Arc<str> {
        let Self { mode, applied, output, .. } = self;
        match applied.reason {
            _ if *mode == Mode::Observe => "nothing is written in mode Observe".into(),
            Reason::Applied => format!("{output} is being written").into(),
            _ => applied.message.clone(),
        }
    }

    /// Condition `Ready` where all other conditions are as they should be.
    pub(super) fn ready(&self) -> Finding {
        let Self { output, loaded, .. } = self;
        if loaded.reason == Reason::NotVerified {
            let message = format!("in {output}; {}", loaded.message);
            return Finding::yes(Type::Ready, Reason::NotVerified, message);
        }
        Finding::yes(Type::Ready, Reason::Ready, "in force")
    }
}

/// Condition `Programmed` of an object that is valid now, or stays in its last valid version, where `source`
/// holds what it contributes.
pub(super) fn programmed(source: &str, valid: bool) -> Finding {
    if valid {
        return Finding::yes(Type::Programmed, Reason::Programmed, format!("in {source}"));
    }
    let message = format!("the object is not valid now, so its last valid version stays in {source}");
    Finding::yes(Type::Programmed, Reason::LastValidKept, message)
}

/// Condition `Effective` of an object whose rights all count.
pub(super) fn effective() -> Finding {
    Finding::yes(Type::Effective, Reason::Effective, "it decides access to the queue and those below")
}

/// The conditions of an object, accepted or refused, while there is nothing that it could be written to,
/// because of `why`.
pub(super) fn waiting_conditions(refusal: Option<&Refusal>, why: &str) -> [Finding; 4] {
    let unknown = |type_| Finding::unknown(type_, Reason::ConfigNotReady, why);
    let accepted = match refusal {
        Some(Refusal { reason, message }) if *reason != Reason::ConfigNotReady => {
            Finding::no(Type::Accepted, *reason, message.clone())
        }
        refusal => Finding::unknown(
            Type::Accepted,
            Reason::ConfigNotReady,
            refusal.map_or(why, |refusal| &refusal.message),
        ),
    };
    let ready = Finding { type_: Type::Ready, ..accepted.clone() };
    [accepted, unknown(Type::Programmed), unknown(Type::Effective), ready]
}

/// The maximal number of names that a message lists.
const SHOWN: usize = 10;

/// Returns an ACL in words: `users sue, bob and groups dev`, `everyone`, `nobody`.
pub(super) fn people(acl: &Acl, aliased: &Aliased) -> String {
    // Room for most, so that the text is not moved name by name.
    let mut text = String::with_capacity(64);
    push_people(&mut text, acl, aliased);
    text
}

/// Appends an ACL for people to a text. There may be ten thousand ACLs, and formatting takes several times as
/// long.
fn push_people(text: &mut String, acl: &Acl, aliased: &Aliased) {
    if acl.is_everyone() || acl.is_nobody() {
        return text.push_str(if acl.is_everyone() { "everyone" } else { "nobody" });
    }
    if aliased.is_empty() {
        return push_lists(text, acl.users().iter(), acl.groups().iter());
    }
    let entries: BTreeSet<_> = acl.entries().map(|entry| aliased.real(entry)).collect();
    let users: Vec<_> = entries.iter().filter_map(|entry| entry.user()).collect();
    let groups: Vec<_> = entries.iter().filter_map(|entry| entry.group()).collect();
    push_lists(text, users.into_iter(), groups.into_iter());
}

fn push_lists<'n>(
    text: &mut String,
    users: impl ExactSizeIterator<Item = &'n str>,
    groups: impl ExactSizeIterator<Item = &'n str>,
) {
    let both = users.len() > 0 && groups.len() > 0;
    push_names(text, "user", users);
    if both {
        text.push_str(" and ");
    }
    push_names(text, "group", groups);
}

fn push_names<'n>(text: &mut String, kind: &str, names: impl ExactSizeIterator<Item = &'n str>) {
    let count = names.len();
    if count == 0 {
        return;
    }
    push(text, &[kind, if count == 1 { "" } else { "s" }]);
    for (index, name) in names.take(SHOWN).enumerate() {
        push(text, &[if index == 0 { " " } else { ", " }, &shown(name)]);
    }
    if count > SHOWN {
        let _ = write!(text, " and {} more", count - SHOWN);
    }
}

fn push(text: &mut String, parts: &[&str]) {
    for part in parts {
        text.push_str(part);
    }
}

/// Appends warnings to a message.
fn with_warnings(mut message: String, warnings: &[Diagnostic]) -> String {
    for warning in warnings {
        message.push_str("; warning ");
        message.push_str(&warning.to_string());
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use yunikorn::acl;

    #[test]
    fn people_are_named_and_of_many_some() {
        let many = |count| (0..count).map(|n| format!("u{n}")).collect::<Vec<_>>().join(",");
        let ten = "u0, u1, u2, u3, u4, u5, u6, u7, u8, u9";
        for (text, expected) in [
            ("", "nobody".to_owned()),
            ("*", "everyone".to_owned()),
            ("sue", "user sue".to_owned()),
            ("sue,bob", "users bob, sue".to_owned()),
            (" dev", "group dev".to_owned()),
            ("sue dev,qa", "user sue and groups dev, qa".to_owned()),
            (&many(10), format!("users {ten}")),
            (&format!("{},v", many(10)), format!("users {ten} and 1 more")),
        ] {
            assert_eq!(people(&acl::parse(text).unwrap(), &Aliased::default()), expected, "{text}");
        }
    }
}
