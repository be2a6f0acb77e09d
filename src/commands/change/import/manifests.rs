//! Manifests of the imported access.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::output::manifest::{DEFAULT_PARTITION, object_name, queue_acl};
use queuewarden_api::v1alpha1::{Grant, MAX_NAMES};
use queuewarden_import::translate::Imported;
use queuewarden_plan::snapshot::BaseAcl;
use yunikorn::acl::Acl;
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;

/// Maximum length of a name before its number.
const MAX_UNNUMBERED: usize = 245;

/// A queue and its grants; a right that is `None` is left to the base.
#[derive(Debug, Clone)]
pub(super) struct Granted {
    pub(super) partition: String,
    pub(super) path: QueuePath,
    pub(super) submit: Option<Acl>,
    pub(super) admin: Option<Acl>,
    pub(super) base_acl: BaseAcl,
}

impl Granted {
    /// Returns the root and each queue that grants access to anyone. Each sets both rights and so replaces
    /// the queue's ACLs in the base. The others keep the base's ACLs, which are empty in the tree that
    /// `--queues` writes.
    pub(super) fn from_imported(imported: &Imported) -> Vec<Self> {
        let queues = imported.queues.iter().filter(|queue| {
            queue.path.is_root() || Right::ALL.iter().any(|right| !queue.acls.get(*right).is_nobody())
        });
        let granted = queues.map(|queue| Self {
            partition: DEFAULT_PARTITION.to_owned(),
            path: queue.path.clone(),
            submit: Some(queue.acls.submit.clone()),
            admin: Some(queue.acls.admin.clone()),
            base_acl: BaseAcl::Replace,
        });
        granted.collect()
    }
}

/// Returns the `QueueAcl`s; several for a queue with more names than one can hold ([`MAX_NAMES`]).
pub(super) fn queue_acls(granted: &[Granted]) -> Vec<Value> {
    let mut names = HashSet::new();
    let mut objects = Vec::new();
    for Granted { partition, path, submit, admin, base_acl } in granted {
        let [submit, admin] = [submit, admin].map(|acl| acl.as_ref().map(grants).unwrap_or_default());
        for part in 0..submit.len().max(admin.len()) {
            let rights = [(Right::Submit, &submit), (Right::Admin, &admin)];
            // Grants in several objects add up.
            let rights = rights
                .into_iter()
                .filter_map(|(right, grants)| Some((right.field(), json!(grants.get(part)?))));
            let name = name(path, &mut names);
            objects.push(queue_acl(&name, (partition, path.as_str()), *base_acl, rights));
        }
    }
    objects
}

/// Converts an ACL to the grants of one or more objects.
fn grants(acl: &Acl) -> Vec<Grant> {
    let whole = Grant::from(acl);
    let Grant { users, groups, .. } = &whole;
    let parts = users.len().max(groups.len()).div_ceil(MAX_NAMES);
    if parts == 0 {
        return vec![whole];
    }
    let part =
        |names: &[String], at: usize| names.chunks(MAX_NAMES).nth(at).map(<[_]>::to_vec).unwrap_or_default();
    (0..parts)
        .map(|at| Grant { users: part(users, at), groups: part(groups, at), ..Grant::default() })
        .collect()
}

/// Returns an unused name for the object of a queue: the path without `root`, in the characters that
/// Kubernetes accepts.
fn name(path: &QueuePath, taken: &mut HashSet<String>) -> String {
    let path = path.as_str();
    let path = path.split_once('.').map_or(path, |(_, rest)| rest);
    let letters = object_name(&path.chars().take(MAX_UNNUMBERED).collect::<String>());
    let name = if letters.is_empty() { "queue" } else { &letters };
    let numbered = (2_usize..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| taken.insert(name.clone())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_object_has_a_name_of_its_own() {
        let mut taken = HashSet::new();
        let paths = ["root", "root.prod.etl", "root.prod-etl", "root.prod_etl", "root.@@", "root.root"];
        let names = paths.map(|path| name(&QueuePath::parse(path).unwrap(), &mut taken));
        assert_eq!(names, ["root", "prod-etl", "prod-etl-2", "prod-etl-3", "queue", "root-2"]);
    }

    #[test]
    fn only_what_is_no_default_is_said_of_the_base() {
        let granted = [BaseAcl::Extend, BaseAcl::Replace].map(|base_acl| Granted {
            partition: DEFAULT_PARTITION.to_owned(),
            path: QueuePath::root(),
            submit: None,
            admin: Some(Acl::everyone()),
            base_acl,
        });
        let said = queue_acls(&granted).into_iter().map(|object| object["spec"].get("baseAcl").cloned());
        assert_eq!(said.collect::<Vec<_>>(), [Some(json!("Extend")), None]);
    }

    #[test]
    fn long_lists_are_several_objects() {
        let users: Vec<String> = (0..600).map(|number| format!("u{number}")).collect();
        let acl = Acl::named(&users, &["g"]).unwrap();
        let grants = grants(&acl);
        assert_eq!(
            grants.iter().map(|grant| (grant.users.len(), grant.groups.len())).collect::<Vec<_>>(),
            [(256, 1), (256, 0), (88, 0)]
        );
        let nobody = Grant { nobody: Some(true), ..Grant::default() };
        assert_eq!(super::grants(&Acl::nobody()), [nobody]);
        assert_eq!(super::grants(&Acl::everyone()).len(), 1);
    }
}
