//! Applications in access questions: their owner, and the rules that decide who else may view, kill or move
//! them.
//!
//! * [`yarn_acl`]: YARN's ACL text as Hadoop reads it, and as `YuniKorn` reads it.
//! * [`settings`]: the settings of a cluster and of an application, as YARN and Spark read them, and the
//!   rules that an application in `YuniKorn` brings itself; [`properties`]: the files that contain them.
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

// The rules by which a question about an application is answered.
//
// `YuniKorn` itself enforces nothing on applications, and its new users know the rules of the system they
// come from: YARN's as in Hadoop's source, YARN's as in Cloudera's handbook, or Spark's own. Where the
// handbook and the source differ, each dialect follows its own.

/// A set of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Dialect {
    /// queuewarden's own reading of `YuniKorn`'s queue ACLs: the owner, and those who administer the queue.
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

/// A reading of YARN ACL texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reading {
    /// `AccessControlList` of hadoop-common 3.4.1.
    Hadoop,
    /// The same, except that everything from a second space on is ignored.
    Cloudera,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 4] = [Self::YuniKorn, Self::YarnHadoop, Self::YarnCloudera, Self::Spark];
}

impl Reading {
    /// The dialect that uses this reading.
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
        known.ok_or("there is no such dialect: write yunikorn, yarn-hadoop, yarn-cloudera or spark")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.to_string().parse(), Ok(dialect));
        }
        assert!("yarn".parse::<Dialect>().is_err());
    }
}
