//! Applications in access questions: their owner, and the rules about who else may view, kill or move them.
//!
//! * [`yarn_acl`]: YARN's ACL text as read by Hadoop and by `YuniKorn`.
//! * [`settings`]: the settings of a cluster and of an application as read by YARN and Spark, and the rules
//!   attached to an application in `YuniKorn`; [`properties`]: the files that contain them.
//!
//! The questions themselves are in `yunikorn_access::application`.

pub mod codes;
pub mod properties;
pub mod settings;
pub mod yarn_acl;

pub use codes::CODES;
pub use settings::{ApplicationAcl, OwnRules, Rules};
pub use yarn_acl::YarnAcl;

use std::str::FromStr;

// The sets of rules for questions about applications.
//
// `YuniKorn` itself restricts nothing on applications, and its new users know the rules of their previous
// system: YARN's according to Hadoop's source, YARN's according to Cloudera's handbook, or Spark's. The two
// YARN dialects differ wherever the handbook and the source differ.

/// A set of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Dialect {
    /// queuewarden's interpretation of `YuniKorn`'s queue ACLs: the owner and the administrators of the
    /// queue.
    #[default]
    #[strum(serialize = "yunikorn")]
    YuniKorn,
    /// Hadoop 3.4.1's source.
    YarnHadoop,
    /// Cloudera's "Managing YARN ACLs".
    YarnCloudera,
    /// Spark 3.5's `SecurityManager`.
    Spark,
}

/// A way of parsing YARN ACL texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reading {
    /// `AccessControlList` of hadoop-common 3.4.1.
    Hadoop,
    /// The same, except that everything after a second space is ignored.
    Cloudera,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 4] = [Self::YuniKorn, Self::YarnHadoop, Self::YarnCloudera, Self::Spark];
}

impl Reading {
    /// Returns the dialect that parses ACLs in this way.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Hadoop => Dialect::YarnHadoop,
            Self::Cloudera => Dialect::YarnCloudera,
        }
    }
}

impl FromStr for Dialect {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|dialect| dialect.to_string() == text);
        known.ok_or("unknown dialect; write yunikorn, yarn-hadoop, yarn-cloudera or spark")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_text_parses() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.to_string().parse(), Ok(dialect));
        }
        assert!("yarn".parse::<Dialect>().is_err());
    }
}
