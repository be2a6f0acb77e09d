//! Reads the queues of YARN's schedulers with their ACLs, as Hadoop 3.4.1 has them in force, and finds the
//! holders of each right.
//!
//! * `fair`: fair-scheduler.xml, the allocation file.
//! * `capacity`: capacity-scheduler.xml.
//! * `site`: the access settings of yarn-site.xml; `mapred`: those of mapred-site.xml.
//! * `deciding`: settings outside the ACLs that decide whether the ACLs take effect.
//! * [`Holders`]: the holders of each right on each queue.
//!
//! A queue without an ACL of its own gives its rights to nobody, except the root, which gives them to
//! everyone. A right on a queue is also a right on all queues below it
//! (`ConfiguredYarnAuthorizer.checkPermissionInternal`).

mod capacity;
mod deciding;
mod fair;
mod holders;
mod mapred;
mod setting;
mod site;

pub use holders::{Granting, Holders};
pub use mapred::OfJobs;
pub use setting::Setting;

use std::collections::HashMap;

use super::configuration::Configuration;
use super::export::Form;
use super::{FileDiagnostic, Location, MAX_DEPTH, MAX_QUEUES, codes};
use go_compat::diag::{Diagnostic, quoted};
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
    /// The setting that shows that groups come from Active Directory, so that their names arrive in lower
    /// case.
    pub active_directory: Option<String>,
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
    /// The name of that file.
    pub name: &'a str,
    /// yarn-site.xml, which the capacity scheduler's variables may refer to.
    pub site: Option<(usize, &'a str)>,
    /// core-site.xml and hadoop-policy.xml, in reading order, before yarn-site.xml.
    pub core: &'a [(usize, &'a str)],
    /// The values of variables (`-D`).
    pub defined: &'a [(String, String)],
}

/// A scheduler of YARN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheduler {
    Fair,
    Capacity,
}

impl Scheduler {
    fn name(self) -> &'static str {
        match self {
            Self::Fair => "fair scheduler",
            Self::Capacity => "capacity scheduler",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Fair => "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler",
            Self::Capacity => {
                "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
            }
        }
    }

    /// The file with its queues.
    fn file(self) -> &'static str {
        match self {
            Self::Fair => "fair-scheduler.xml",
            Self::Capacity => "capacity-scheduler.xml",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Fair => Self::Capacity,
            Self::Capacity => Self::Fair,
        }
    }
}

impl Source {
    /// Reads fair-scheduler.xml. `None` when nothing can be imported; the findings say why.
    pub fn fair(wanted: Files<'_>, findings: &mut Vec<FileDiagnostic>) -> Option<Self> {
        Self::read(wanted, Scheduler::Fair, findings)
    }

    /// Reads capacity-scheduler.xml. `None` when nothing can be imported; the findings say why.
    pub fn capacity(wanted: Files<'_>, findings: &mut Vec<FileDiagnostic>) -> Option<Self> {
        Self::read(wanted, Scheduler::Capacity, findings)
    }

    fn read(wanted: Files<'_>, scheduler: Scheduler, findings: &mut Vec<FileDiagnostic>) -> Option<Self> {
        let wanted = Files { site: wanted.site.or_else(|| site_inside(wanted, scheduler)), ..wanted };
        let mut configuration = Configuration::defining(wanted.defined.iter().cloned());
        let core = wanted.core.iter().try_for_each(|file| load(&mut configuration, *file, findings));
        let core = reported(core, findings);
        let administrators = site::read(wanted, scheduler, &mut configuration, findings);
        let administrators = reported(administrators, findings);
        deciding::report(&configuration, scheduler, wanted, findings);
        let active_directory = deciding::active_directory(&configuration);
        let (file, text) = wanted.scheduler;
        let queues = match scheduler {
            Scheduler::Fair => fair::read(file, text, wanted.reading, findings),
            Scheduler::Capacity => load(&mut configuration, wanted.scheduler, findings)
                .and_then(|()| capacity::read(&configuration, file, wanted.reading, findings)),
        };
        let queues = reported(queues, findings)?;
        core?;
        Some(Self {
            reading: wanted.reading,
            queues,
            administrators: administrators?,
            of_jobs: Vec::new(),
            active_directory,
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

/// Returns the scheduler's file as yarn-site.xml, too, if it is an export that holds the settings of both.
fn site_inside(wanted: Files<'_>, scheduler: Scheduler) -> Option<(usize, &str)> {
    let (_, text) = wanted.scheduler;
    if scheduler == Scheduler::Fair || Form::of(text) == Form::Xml {
        return None;
    }
    let mut configuration = Configuration::default();
    // Errors are reported when the file is read for the scheduler.
    load(&mut configuration, wanted.scheduler, &mut Vec::new()).ok()?;
    deciding::holds_site(&configuration).then_some(wanted.scheduler)
}

/// Reports queues that give a right to everyone: the root when nothing else is set, and each topmost queue
/// with a wildcard that makes ACLs below it pointless.
fn report_open(queues: &[Queue], findings: &mut Vec<FileDiagnostic>) {
    for right in Right::ALL {
        let act = right.act();
        // The topmost queue, here or above, that lets everyone in.
        let mut open: Vec<Option<usize>> = Vec::with_capacity(queues.len());
        let mut limited: HashMap<usize, usize> = HashMap::new();
        for (at, queue) in queues.iter().enumerate() {
            let acl = queue.acls.get(right);
            let above = queue.parent.and_then(|above| open.get(above).copied().flatten());
            open.push(above.or_else(|| acl.acl.is_everyone().then_some(at)));
            if let (Some(above), true) = (above, acl.set && !acl.acl.is_everyone()) {
                let count = limited.entry(above).or_default();
                *count = count.saturating_add(1);
            }
        }
        for (at, queue) in queues.iter().enumerate().filter(|(at, _)| open.get(*at) == Some(&Some(*at))) {
            let acl = queue.acls.get(right);
            if !acl.set {
                let message =
                    format!("nothing is written for the root queue, so that everyone may {act} every queue");
                let finding = Diagnostic::warning(codes::ROOT_OPEN, message)
                    .help("write a space for the root queue, and import again");
                findings.push(FileDiagnostic::at(queue.location, finding));
                continue;
            }
            let pointless = match limited.get(&at) {
                None if at > 0 => continue,
                None => String::new(),
                Some(1) => ", so an ACL below limits nobody".to_owned(),
                Some(count) => format!(", so {count} ACLs below limit nobody"),
            };
            let message =
                format!("`*` lets everyone {act} {} and all queues below it{pointless}", quoted(&queue.path));
            let finding = Diagnostic::warning(codes::OPEN, message)
                .help("name those who are meant, or write a space for nobody, and import again");
            findings.push(FileDiagnostic::at(acl.location, finding));
        }
    }
}
