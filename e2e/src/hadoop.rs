//! The oracle for Hadoop: gives the answers of the real YARN and the real Spark.
//!
//! It is a program of this project (`e2e/oracle/hadoop`, Java) that runs their own classes on our inputs,
//! with the same protocol as [`crate::Oracle`].

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use crate::assets;
use crate::line_program::LineProgram;
use crate::oracle::Subject;

/// A running oracle.
#[derive(Debug)]
pub struct Hadoop {
    program: LineProgram,
}

/// An ACL text, and the subjects to check against it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct YarnAclQuestion {
    /// The text.
    pub acl: String,
    /// The subjects, checked with the groups as given. The empty user is excluded, because Hadoop refuses it.
    pub subjects: Vec<Subject>,
}

/// `AccessControlList`'s reading of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct YarnAclAnswer {
    /// `isAllAllowed`
    pub all_allowed: bool,
    /// `getUsers`, in its order.
    pub users: Vec<String>,
    /// `getGroups`, in its order.
    pub groups: Vec<String>,
    /// `getAclString`
    pub canonical: String,
    /// `isUserAllowed`, one per subject.
    pub access: Vec<bool>,
    /// The exception that Hadoop threw. If there is one, all other fields are meaningless.
    pub exception: String,
}

/// An application, the queues around it, and the subjects that want to act on it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ApplicationQuestion {
    /// The settings as in yarn-site.xml; YARN's defaults apply to missing ones.
    pub configuration: BTreeMap<String, String>,
    /// The user it runs as.
    pub owner: String,
    /// The application's ACL for viewing.
    pub view: Option<String>,
    /// The application's ACL for modifying.
    pub modify: Option<String>,
    /// All queues there are.
    pub queues: Vec<YarnQueue>,
    /// The queue it is in, which is one of the queues above.
    pub queue: String,
    /// The queue to move it to.
    pub target: String,
    /// The subjects to check.
    pub subjects: Vec<Subject>,
}

/// A queue and its own ACLs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct YarnQueue {
    /// The full path.
    pub path: String,
    /// `SUBMIT_APPLICATIONS`
    pub submit: String,
    /// `ADMINISTER_QUEUE`
    pub admin: String,
}

/// The rights of one subject on the application.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "four independent answers")]
pub struct ApplicationAnswer {
    /// See it.
    pub view: bool,
    /// Change or kill it.
    pub modify: bool,
    /// Read its logs.
    pub logs: bool,
    /// Move it to the target.
    #[serde(rename = "move")]
    pub moves: bool,
}

/// A Spark application, and the subjects that want to act on it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SparkQuestion {
    /// The settings as in spark-defaults.conf. The behavior of a switch that is not true or false is
    /// undefined.
    pub configuration: BTreeMap<String, String>,
    /// The text of a spark-defaults.conf, which is read before the settings.
    pub file: Option<String>,
    /// The user of the driver.
    pub owner: String,
    /// The subjects to check.
    pub subjects: Vec<Subject>,
}

/// The rights of one subject on a Spark application, according to `SecurityManager`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub struct SparkAnswer {
    /// `checkUIViewPermissions`
    pub view: bool,
    /// `checkModifyPermissions`
    pub modify: bool,
}

/// A command line of `spark-submit`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SubmitQuestion {
    /// The arguments of the program.
    pub arguments: Vec<String>,
}

/// Spark's reading of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum SubmitAnswer {
    /// Spark would submit an application.
    Submitted {
        /// `--deploy-mode`
        deploy_mode: Option<String>,
        /// `--class`
        main_class: Option<String>,
        /// The settings, as in spark-defaults.conf.
        settings: BTreeMap<String, String>,
    },
    /// Spark threw an exception.
    Refused {
        /// The exception, in Spark's words.
        exception: String,
    },
}

/// Spark's reading of a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum SparkFileAnswer {
    /// One per subject.
    Subjects(Vec<SparkAnswer>),
    /// Spark threw an exception.
    Refused {
        /// The exception, in Spark's words.
        exception: String,
    },
}

/// A scheduler's file, and the subjects to check on its queues.
#[derive(Debug, Clone, Default, Serialize)]
pub struct QueuesQuestion {
    /// fair-scheduler.xml or capacity-scheduler.xml.
    pub file: String,
    /// yarn-site.xml, for the latter.
    pub site: Option<String>,
    /// The subjects to check.
    pub subjects: Vec<Subject>,
}

/// Hadoop's reading of a scheduler's file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum QueuesAnswer {
    /// The queues, sorted by path.
    Queues(Vec<DeclaredQueue>),
    /// Hadoop threw an exception.
    Refused {
        /// The exception, in Hadoop's words.
        exception: String,
    },
}

/// A queue that a file declares, and the rights of the subjects there.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DeclaredQueue {
    /// The full path.
    pub path: String,
    /// `getAclString` of its own submit ACL.
    pub submit: String,
    /// The same for administering.
    pub admin: String,
    /// The right to submit, one per subject.
    pub submits: Vec<bool>,
    /// The right to administer, one per subject.
    pub administers: Vec<bool>,
}

impl Hadoop {
    /// Returns the oracle of this process, built and started at the first call.
    ///
    /// # Errors
    /// When it cannot be built or started.
    pub fn get() -> Result<&'static Self> {
        static HADOOP: OnceLock<std::result::Result<Hadoop, String>> = OnceLock::new();
        match HADOOP.get_or_init(|| Self::start().map_err(|error| format!("{error:#}"))) {
            Ok(hadoop) => Ok(hadoop),
            Err(message) => bail!("no Hadoop: {message}"),
        }
    }

    fn start() -> Result<Self> {
        let directory = assets::hadoop()?;
        let classes = format!("{0}/classes:{0}/lib/*", directory.display());
        let mut java = Command::new("java");
        java.args(["-cp", &classes, "dev.queuewarden.oracle.Oracle"]);
        Ok(Self { program: LineProgram::start(&mut java)? })
    }

    /// Evaluates ACL texts.
    ///
    /// # Errors
    /// When the oracle does not answer; the same below.
    pub fn acl(&self, questions: &[YarnAclQuestion]) -> Result<Vec<YarnAclAnswer>> {
        self.program.ask("acl", questions)
    }

    /// Evaluates applications: for each of them, an answer for each of its subjects.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn application(&self, questions: &[ApplicationQuestion]) -> Result<Vec<Vec<ApplicationAnswer>>> {
        self.program.ask("application", questions)
    }

    /// Evaluates allocation files of the fair scheduler.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn fair(&self, questions: &[QueuesQuestion]) -> Result<Vec<QueuesAnswer>> {
        self.program.ask("fair", questions)
    }

    /// Evaluates configurations of the capacity scheduler.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn capacity(&self, questions: &[QueuesQuestion]) -> Result<Vec<QueuesAnswer>> {
        self.program.ask("capacity", questions)
    }

    /// Evaluates Spark applications: for each of them, an answer for each of its subjects.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn spark(&self, questions: &[SparkQuestion]) -> Result<Vec<Vec<SparkAnswer>>> {
        self.program.ask("spark", questions)
    }

    /// Evaluates Spark files, which Spark may refuse.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn spark_files(&self, questions: &[SparkQuestion]) -> Result<Vec<SparkFileAnswer>> {
        self.program.ask("spark", questions)
    }

    /// Reads command lines of `spark-submit`.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn spark_submit(&self, questions: &[SubmitQuestion]) -> Result<Vec<SubmitAnswer>> {
        self.program.ask("submit", questions)
    }
}
