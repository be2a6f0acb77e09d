//! The names that an operator's account may pass on: the names in the resources that own its objects.
//!
//! An operator has its own code to turn a resource into pods, and its parsers may find a name that no path of
//! `templates` leads to. So the pods are compared with the resource, and not only the resource is checked.

use super::names::Names;
use go_compat::diag::quoted;

/// The resources that own the object of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Owners {
    /// The requester is no operator's account, so owners do not matter.
    #[default]
    Irrelevant,
    /// All owners of a kind in `templates`.
    Read(Vec<Owner>),
    /// The reason why an owner is unknown, as the end of a sentence.
    Unread(String),
}

/// A resource that owns the object of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its kind and name, for people.
    pub object: String,
    /// The annotation's values at the paths of its kind.
    pub texts: Vec<String>,
}

impl Owners {
    /// Returns why an operator's account may not write these names, or none, as the end of a sentence; `None`
    /// if it may. If there are several owners, each has to have the names: a user may have added one of them.
    pub(super) fn objection(&self, names: Option<&Names>) -> Option<String> {
        let why = match (self, names) {
            (Self::Irrelevant, _) => return None,
            (Self::Unread(why), _) => return Some(why.clone()),
            (Self::Read(_), None) => String::new(),
            (Self::Read(owners), Some(_)) if owners.is_empty() => {
                "no resource of a kind in spec.userInfo.templates owns it, and ".to_owned()
            }
            (Self::Read(owners), Some(names)) => {
                owners.iter().find_map(|owner| owner.objection(names))? + ", and "
            }
        };
        Some(format!("{why}an account in userInfo.operators only passes on the name in the owner"))
    }
}

impl Owner {
    fn objection(&self, names: &Names) -> Option<String> {
        let own: Vec<_> = self.texts.iter().filter_map(|text| Names::read(text).ok()).collect();
        if own.iter().any(|own| own.are_the_same_as(names)) {
            return None;
        }
        let who = match own.first() {
            _ if own.iter().any(|own| own.user() == names.user()) => "that user with other groups".to_owned(),
            Some(first) => format!("user {}", quoted(first.user())),
            None => "nobody".to_owned(),
        };
        Some(format!("{}, which owns it, names {who}", self.object))
    }
}
