//! The rights that a queue's ACLs grant: `submitacl` and `adminacl`.

/// One of the two rights `YuniKorn` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Right {
    /// May run applications in the queue.
    Submit,
    /// Administers the queue; also may submit.
    Admin,
}

impl Right {
    /// Both rights, in the order in which they are reported.
    pub const ALL: [Self; 2] = [Self::Submit, Self::Admin];

    /// The key in queues.yaml.
    pub fn key(self) -> &'static str {
        match self {
            Self::Submit => "submitacl",
            Self::Admin => "adminacl",
        }
    }

    /// The verb of access questions and of `SubjectAccessReview`s.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Admin => "administer",
        }
    }

    /// The field of a `QueueAcl`.
    pub fn field(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Admin => "admin",
        }
    }
}
