//! The rights that a queue's ACLs grant: `submitacl` and `adminacl`.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// A right, named as in requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "Verb")]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// The user may run applications.
    Submit,
    /// The user administers the queue.
    // An administrator may also submit.
    #[serde(rename = "administer")]
    Admin,
}

impl Right {
    /// Both rights, in the order of reports.
    pub const ALL: [Self; 2] = [Self::Submit, Self::Admin];

    /// Returns the ACLs that grant the right, in the order in which they are checked. Administrators may also
    /// submit.
    pub fn acls(self) -> &'static [Self] {
        match self {
            Self::Submit => &Self::ALL,
            Self::Admin => &[Self::Admin],
        }
    }

    /// Serializes the key in queues.yaml.
    ///
    /// # Errors
    /// The errors of the serializer.
    pub fn serialize_key<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }

    /// Returns the key in queues.yaml.
    pub fn key(self) -> &'static str {
        match self {
            Self::Submit => "submitacl",
            Self::Admin => "adminacl",
        }
    }

    /// Returns the verb of access questions and `SubjectAccessReview`s.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Admin => "administer",
        }
    }

    /// Returns the verb phrase for a sentence that continues with a queue.
    pub fn act(self) -> &'static str {
        match self {
            Self::Submit => "submit to",
            Self::Admin => "administer",
        }
    }

    /// Returns the field of a `QueueAcl`.
    pub fn field(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Admin => "admin",
        }
    }
}

/// The key of an ACL in queues.yaml.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AclKey {
    /// `submitacl`
    SubmitAcl,
    /// `adminacl`
    AdminAcl,
}

impl From<Right> for AclKey {
    fn from(right: Right) -> Self {
        match right {
            Right::Submit => Self::SubmitAcl,
            Right::Admin => Self::AdminAcl,
        }
    }
}

/// A value for each right.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ByRight<T> {
    /// The value for [`Right::Submit`].
    pub submit: T,
    /// The value for [`Right::Admin`].
    pub admin: T,
}

impl<T> ByRight<T> {
    /// Returns the value of a right.
    pub fn get(&self, right: Right) -> &T {
        match right {
            Right::Submit => &self.submit,
            Right::Admin => &self.admin,
        }
    }

    /// Returns the value of a right for modification.
    pub fn get_mut(&mut self, right: Right) -> &mut T {
        match right {
            Right::Submit => &mut self.submit,
            Right::Admin => &mut self.admin,
        }
    }
}
