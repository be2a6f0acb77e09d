//! Names queuewarden's objects: the kinds, and one object of a kind.

use std::fmt;
use std::sync::Arc;

/// A kind of queuewarden's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceKind {
    /// `YuniKornConfig`
    YuniKornConfig,
    /// `QueueAcl`
    QueueAcl,
    /// `AdmissionPolicy`
    AdmissionPolicy,
    /// `QueueAccessTest`
    QueueAccessTest,
}

impl ResourceKind {
    /// All kinds.
    pub const ALL: [Self; 4] =
        [Self::QueueAcl, Self::AdmissionPolicy, Self::YuniKornConfig, Self::QueueAccessTest];

    /// Returns the name as in `kind:`, the plural as in URLs and RBAC, and the short name of kubectl.
    pub fn names(self) -> [&'static str; 3] {
        match self {
            Self::YuniKornConfig => ["YuniKornConfig", "yunikornconfigs", "ykc"],
            Self::QueueAcl => ["QueueAcl", "queueacls", "qacl"],
            Self::AdmissionPolicy => ["AdmissionPolicy", "admissionpolicies", "admpol"],
            Self::QueueAccessTest => ["QueueAccessTest", "queueaccesstests", "qat"],
        }
    }

    /// Returns the name as in `kind:`.
    pub fn name(self) -> &'static str {
        let [name, ..] = self.names();
        name
    }

    /// Returns the plural as in URLs and in RBAC.
    pub fn plural(self) -> &'static str {
        let [_, plural, _] = self.names();
        plural
    }

    /// Parses a name as kubectl takes it: `queueacl`, `queueacls` or `qacl`, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.names().iter().any(|name| name.eq_ignore_ascii_case(text)))
    }

    /// Returns the object of this name.
    pub fn object(self, name: impl Into<Arc<str>>) -> ObjectRef {
        ObjectRef { kind: self, name: name.into() }
    }
}

/// One object, by its kind and name: `QueueAcl/prod`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: ResourceKind,
    /// `metadata.name`
    pub name: Arc<str>,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.name(), self.name)
    }
}
