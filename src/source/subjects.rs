//! The users and groups that arguments name.

use crate::output::Failure;
use go_compat::diag::Diagnostic;
use queuewarden_api::v1alpha1::{Grant, ServiceAccount};
use queuewarden_plan::entries::Names;
use yunikorn::acl::{Acl, Match};
use yunikorn_access::alias::{self, SERVICE_ACCOUNT};

/// Options for the users and groups of a grant.
#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = true)]
pub struct SubjectArgs {
    /// A user; may be repeated
    #[arg(long = "user", value_name = "NAME")]
    pub(crate) users: Vec<String>,
    /// A group; may be repeated
    #[arg(long = "group", value_name = "NAME")]
    pub(crate) groups: Vec<String>,
    /// A service account; may be repeated
    #[arg(long = "serviceaccount", value_name = "NAMESPACE:NAME", value_parser = service_account)]
    pub(crate) service_accounts: Vec<String>,
}

/// Reads a service account as kubectl does, into the name of its user.
pub(crate) fn service_account(text: &str) -> Result<String, String> {
    let parts = text.split_once(':').filter(|(namespace, name)| !namespace.is_empty() && !name.contains(':'));
    let (namespace, name) = parts.ok_or("write it as NAMESPACE:NAME, such as spark:driver")?;
    Ok(format!("{SERVICE_ACCOUNT}{namespace}:{name}"))
}

impl SubjectArgs {
    /// Returns the users and groups.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Match<'_>> {
        let groups = self.groups.iter().map(|name| Match::Group(name));
        self.users().map(|name| Match::User(name)).chain(groups)
    }

    /// Returns the users, service accounts included.
    pub(crate) fn users(&self) -> impl Iterator<Item = &String> {
        self.users.iter().chain(&self.service_accounts)
    }

    /// Returns the names to look for.
    pub(crate) fn names(&self) -> Names {
        Names { users: self.users().cloned().collect(), groups: self.groups.iter().cloned().collect() }
    }

    /// Returns the part of a manifest that names them.
    pub(crate) fn grant(&self) -> Grant {
        let account = |user: &String| {
            let (namespace, name) = alias::service_account(user)?;
            Some(ServiceAccount { namespace: namespace.to_owned(), name: Some(name.to_owned()) })
        };
        Grant {
            users: self.users().filter(|user| account(user).is_none()).cloned().collect(),
            groups: self.groups.clone(),
            service_accounts: self.users().filter_map(account).collect(),
            ..Grant::default()
        }
    }

    /// Returns the ACL that names them.
    ///
    /// # Errors
    /// When one of them cannot be granted anything.
    pub(crate) fn acl(&self) -> Result<Acl, Failure> {
        let users: Vec<_> = self.users().collect();
        alias::acl(&users, &self.groups).map(|(acl, _)| acl).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(Diagnostic::without_code).collect();
            Failure::Usage(lines.join("\n"))
        })
    }
}

/// Returns whether an entry of an ACL gives access to a subject.
pub(crate) fn covers(entry: Match<'_>, subject: Match<'_>) -> bool {
    [subject, Match::Everyone].contains(&entry)
}
