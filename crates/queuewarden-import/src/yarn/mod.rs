//! Reads the queues of YARN's schedulers with their ACLs, as Hadoop 3.4.1 has them in force, and finds the
//! holders of each right.
//!
//! * `fair`: fair-scheduler.xml, the allocation file.
//! * `capacity`: capacity-scheduler.xml.
//! * `site`: the access settings of yarn-site.xml; `mapred`: those of mapred-site.xml.
//! * [`Holders`]: the holders of each right on each queue.
//!
//! A queue without an ACL of its own gives its rights to nobody, except the root, which gives them to
//! everyone. A right on a queue is also a right on all queues below it
//! (`ConfiguredYarnAuthorizer.checkPermissionInternal`).

mod capacity;
mod fair;
mod holders;
mod mapred;
mod setting;
mod site;

pub use holders::{Granting, Holders};
pub use mapred::OfJobs;
pub use setting::Setting;

use super::configuration::Configuration;
use super::{FileDiagnostic, Location, MAX_DEPTH, MAX_QUEUES, codes};
use go_compat::diag::Diagnostic;
use yunikorn::application::Reading;
use yunikorn::right::{ByRight, Right};

/// The queues, and everything else that decides about access to them.
#[derive(Debug, Clone)]
pub struct Source {
    /// The system whose reading of the ACLs applies.
    pub reading: Reading,
    /// The queues, each after the one above it; the first is the root.
    pub queues: Vec<Queue>,
    /// The administrators of the cluster, if they are known.
    pub administrators: Option<Setting>,
    /// The ACLs that go with each job.
    pub of_jobs: Vec<OfJobs>,
}

/// A queue.
#[derive(Debug, Clone)]
pub struct Queue {
    /// The full path as Hadoop has it: `root.Prod`.
    pub path: String,
    /// Its own name.
    pub name: String,
    /// The queue above it.
    pub parent: Option<usize>,
    /// The location of its declaration.
    pub location: Option<Location>,
    /// True when it has queues below it, or may have.
    pub is_parent: bool,
    /// Its ACLs.
    pub acls: ByRight<Setting>,
}

impl Queue {
    /// Creates a queue that nothing is set for: the root, or one below another of `queues`.
    fn new(queues: &[Self], parent: Option<usize>, name: &str, location: Option<Location>) -> Self {
        let path = match parent.and_then(|parent| queues.get(parent)) {
            Some(above) => format!("{}.{name}", above.path),
            None => name.to_owned(),
        };
        let unset = Setting::default_of(parent.is_none());
        let acls = ByRight { submit: unset.clone(), admin: unset };
        Self { path, name: name.to_owned(), parent, location, is_parent: false, acls }
    }
}

/// The files, and the way to read them.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    /// The system whose reading of ACLs applies.
    pub reading: Reading,
    /// The scheduler's file: its number among the files, and its text.
    pub scheduler: (usize, &'a str),
    /// yarn-site.xml, which the capacity scheduler's variables may refer to.
    pub site: Option<(usize, &'a str)>,
    /// The values of variables (`-D`).
    pub defined: &'a [(String, String)],
}

impl Source {
    /// Reads fair-scheduler.xml. `None` when nothing can be imported; the findings say why.
    pub fn fair(wanted: Files<'_>, findings: &mut Vec<FileDiagnostic>) -> Option<Self> {
        let (file, text) = wanted.scheduler;
        Self::read(wanted, findings, |_, findings| fair::read(file, text, wanted.reading, findings))
    }

    /// Reads capacity-scheduler.xml. `None` when nothing can be imported; the findings say why.
    pub fn capacity(wanted: Files<'_>, findings: &mut Vec<FileDiagnostic>) -> Option<Self> {
        Self::read(wanted, findings, |configuration, findings| {
            load(configuration, wanted.scheduler, findings)?;
            capacity::read(configuration, wanted.scheduler.0, wanted.reading, findings)
        })
    }

    fn read(
        wanted: Files<'_>,
        findings: &mut Vec<FileDiagnostic>,
        queues: impl FnOnce(&mut Configuration, &mut Vec<FileDiagnostic>) -> Result<Vec<Queue>, Refused>,
    ) -> Option<Self> {
        let mut configuration = Configuration::defining(wanted.defined.iter().cloned());
        let administrators = site::read(wanted, &mut configuration, findings);
        let administrators = reported(administrators, findings);
        let queues = queues(&mut configuration, findings);
        Some(Self {
            reading: wanted.reading,
            queues: reported(queues, findings)?,
            administrators: administrators?,
            of_jobs: Vec::new(),
        })
    }

    /// Adds mapred-site.xml. `None` when nothing can be imported; the findings say why.
    #[must_use]
    pub fn with_jobs(
        self,
        wanted: Files<'_>,
        mapred: (usize, &str),
        findings: &mut Vec<FileDiagnostic>,
    ) -> Option<Self> {
        let of_jobs = mapred::read(wanted, mapred, findings);
        Some(Self { of_jobs: reported(of_jobs, findings)?, ..self })
    }
}

/// The reason why a file is not imported.
type Refused = Box<FileDiagnostic>;

/// Adds the reason to the findings where there is one.
fn reported<T>(read: Result<T, Refused>, findings: &mut Vec<FileDiagnostic>) -> Option<T> {
    read.map_err(|refused| findings.push(*refused)).ok()
}

/// Reads one more file into the configuration.
fn load(
    configuration: &mut Configuration,
    (file, text): (usize, &str),
    findings: &mut Vec<FileDiagnostic>,
) -> Result<(), Refused> {
    let read = configuration.load(file, text, findings);
    read.map_err(|diagnostic| Box::new(FileDiagnostic { file: Some(file), diagnostic }))
}

/// Returns the finding about more queues, or more levels of them, than are read.
fn too_many_queues() -> Diagnostic {
    let message = format!("more than {MAX_QUEUES} queues, or more than {MAX_DEPTH} levels");
    Diagnostic::error(codes::TOO_MANY, message)
}

/// Returns the finding about rules that place applications.
fn placement_left_out() -> Diagnostic {
    let message = "the rules that place applications are not carried over; where YARN rejects an \
                   application, YuniKorn goes on to the next rule";
    Diagnostic::warning(codes::PLACEMENT, message).help("write `placementrules` in the queues.yaml")
}

/// Reports a root queue that gives its rights to everyone because nothing else is set.
fn report_open_root(root: &Queue, findings: &mut Vec<FileDiagnostic>) {
    for right in Right::ALL {
        let acl = root.acls.get(right);
        if !acl.set && acl.acl.is_everyone() {
            let act = right.act();
            let message =
                format!("nothing is written for the root queue, so that everyone may {act} every queue");
            let finding = Diagnostic::warning(codes::ROOT_OPEN, message)
                .help("write a space for the root queue, and import again");
            findings.push(FileDiagnostic::at(root.location, finding));
        }
    }
}
