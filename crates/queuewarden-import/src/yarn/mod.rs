//! Parses the queues of YARN's schedulers with their ACLs, as they are in force in Hadoop 3.4.1, and finds
//! the holders of each right.
//!
//! * `fair`: fair-scheduler.xml, the allocation file.
//! * `capacity`: capacity-scheduler.xml.
//! * `site`: the access settings of yarn-site.xml and of mapred-site.xml.
//! * `deciding`: settings outside the ACLs that decide whether the ACLs take effect.
//! * [`Holders`]: the holders of each right on each queue.
//!
//! A queue without an ACL gives its rights to no one, except the root, which gives them to everyone. A right
//! on a queue is also a right on all queues below it (`ConfiguredYarnAuthorizer.checkPermissionInternal`).

mod capacity;
mod deciding;
mod fair;
mod site;

pub use site::OfJobs;

use std::collections::{BTreeSet, HashMap};

use crate::configuration::{Configuration, Value};
use crate::export::Form;
use crate::{FileDiagnostic, Location, MAX_DEPTH, MAX_QUEUES, codes};
use go_compat::diag::{Diagnostic, Span, quoted};
use yunikorn::application::{Reading, YarnAcl};
use yunikorn::right::{ByRight, Right};
use yunikorn_access::subject::Subject;

/// The queues, and everything else that affects access to them.
#[derive(Debug, Clone)]
pub struct Source {
    /// The system whose interpretation of ACLs applies.
    pub reading: Reading,
    /// The queues, parents before children; the first is the root.
    pub queues: Vec<Queue>,
    /// The cluster administrators, if known.
    pub administrators: Option<Setting>,
    /// The ACLs that apply to each job.
    pub of_jobs: Vec<OfJobs>,
    /// The setting that shows that groups come from Active Directory and their names therefore arrive in
    /// lower case.
    pub active_directory: Option<String>,
}

/// A queue.
#[derive(Debug, Clone)]
pub struct Queue {
    /// The full path as in Hadoop: `root.Prod`.
    pub path: String,
    /// Its own name.
    pub name: String,
    /// The parent queue.
    pub parent: Option<usize>,
    /// The location of its declaration.
    pub location: Option<Location>,
    /// True if it has, or may have, child queues.
    pub is_parent: bool,
    /// Its ACLs.
    pub acls: ByRight<Setting>,
}

impl Queue {
    /// Creates a queue without settings: the root, or a child of one of `queues`.
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

/// The files, and how to interpret them.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    /// The system whose interpretation of ACLs applies.
    pub reading: Reading,
    /// The scheduler's file: its index among the files, and its text.
    pub scheduler: (usize, &'a str),
    /// The name of that file.
    pub name: &'a str,
    /// yarn-site.xml, which variables of the capacity scheduler may refer to.
    pub site: Option<(usize, &'a str)>,
    /// mapred-site.xml, with the access settings for jobs.
    pub mapred: Option<(usize, &'a str)>,
    /// core-site.xml and hadoop-policy.xml, in reading order, before yarn-site.xml.
    pub core: &'a [(usize, &'a str)],
    /// The values of variables (`-D`).
    pub defined: &'a [(String, String)],
}

/// A scheduler of YARN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
enum Scheduler {
    Fair,
    Capacity,
}

impl Scheduler {
    fn class(self) -> String {
        format!("org.apache.hadoop.yarn.server.resourcemanager.scheduler.{self}.{self:?}Scheduler")
    }

    /// The file with its queues.
    fn file(self) -> String {
        format!("{self}-scheduler.xml")
    }
}

impl Source {
    /// Reads fair-scheduler.xml. Returns `None` if nothing can be imported; the findings explain why.
    pub fn fair(wanted: Files<'_>, findings: &mut Vec<FileDiagnostic>) -> Option<Self> {
        Self::read(wanted, Scheduler::Fair, findings)
    }

    /// Reads capacity-scheduler.xml. Returns `None` if nothing can be imported; the findings explain why.
    pub fn capacity(wanted: Files<'_>, findings: &mut Vec<FileDiagnostic>) -> Option<Self> {
        Self::read(wanted, Scheduler::Capacity, findings)
    }

    fn read(wanted: Files<'_>, scheduler: Scheduler, findings: &mut Vec<FileDiagnostic>) -> Option<Self> {
        let given = wanted;
        let wanted = Files { site: given.site.or_else(|| site_inside(given, scheduler)), ..given };
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
        let administrators = administrators?;
        let of_jobs = reported(site::of_jobs(given, findings), findings)?;
        Some(Self { reading: wanted.reading, queues, administrators, of_jobs, active_directory })
    }
}

/// Why a file is not imported.
type Refused = Box<FileDiagnostic>;

/// Moves an error to the findings.
fn reported<T>(read: Result<T, Refused>, findings: &mut Vec<FileDiagnostic>) -> Option<T> {
    read.map_err(|refused| findings.push(*refused)).ok()
}

/// Reads another file into the configuration.
fn load(
    configuration: &mut Configuration,
    (file, text): (usize, &str),
    findings: &mut Vec<FileDiagnostic>,
) -> Result<(), Refused> {
    let read = configuration.load(file, text, findings);
    read.map_err(|diagnostic| Box::new(FileDiagnostic { file: Some(file), diagnostic }))
}

/// Returns the finding for too many queues or levels.
fn too_many_queues() -> Diagnostic {
    let message = format!("more than {MAX_QUEUES} queues, or more than {MAX_DEPTH} levels");
    Diagnostic::error(codes::TOO_MANY, message)
}

/// Returns the finding for placement rules.
fn placement_left_out() -> Diagnostic {
    let message = "the rules that place applications are not carried over; where YARN rejects an \
                   application, YuniKorn goes on to the next rule";
    Diagnostic::warning(codes::PLACEMENT, message).help("write `placementrules` in the queues.yaml")
}

/// If the scheduler's file is an export that also holds the settings of yarn-site.xml, returns it as
/// yarn-site.xml.
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

/// Reports queues that give a right to everyone: the root if nothing else is set, and each topmost queue with
/// a wildcard that makes ACLs below it pointless.
fn report_open(queues: &[Queue], findings: &mut Vec<FileDiagnostic>) {
    for right in Right::ALL {
        let act = right.act();
        // For each queue, the topmost queue that lets everyone in: the queue itself or an ancestor.
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
                    format!("the root queue does not set this right, so everyone may {act} every queue");
                let finding = Diagnostic::warning(codes::ROOT_OPEN, message)
                    .help("to give the right to no one, write a space for the root queue and import again");
                findings.push(FileDiagnostic::at(queue.location, finding));
                continue;
            }
            let pointless = match limited.get(&at) {
                None if at > 0 => continue,
                None => String::new(),
                Some(1) => ", so an ACL below limits no one".to_owned(),
                Some(count) => format!(", so {count} ACLs below limit no one"),
            };
            let message =
                format!("`*` lets everyone {act} {} and all queues below it{pointless}", quoted(&queue.path));
            let finding = Diagnostic::warning(codes::OPEN, message)
                .help("name the users and groups who need it, or write a space for nobody, and import again");
            findings.push(FileDiagnostic::at(acl.location, finding));
        }
    }
}

// One ACL of the source: its text, how Hadoop interprets it, and its location.

/// An ACL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The text, with variables replaced.
    pub text: String,
    /// The ACL as Hadoop parses it.
    pub acl: YarnAcl,
    /// True if it is written, false if it is the default.
    pub set: bool,
    /// The location of the text.
    pub location: Option<Location>,
    /// The file that it is written in, or would be written in.
    pub file: Option<usize>,
    verbatim: bool,
}

impl Setting {
    /// Returns the default ACL of a queue: everyone for the root, nobody for others.
    pub(super) fn default_of(is_root: bool) -> Self {
        let (text, acl) = if is_root { ("*", YarnAcl::everyone()) } else { (" ", YarnAcl::nobody()) };
        Self { text: text.to_owned(), acl, set: false, location: None, file: None, verbatim: false }
    }

    /// Returns the default, everyone, for a file that does not set the ACL.
    pub(super) fn everyone_in(file: usize) -> Self {
        Self { file: Some(file), ..Self::default_of(true) }
    }

    /// Parses a written ACL.
    fn written(text: String, location: Location, verbatim: bool, reading: Reading) -> Self {
        let acl = YarnAcl::parse(&text, reading);
        Self { text, acl, set: true, location: Some(location), file: Some(location.file), verbatim }
    }

    /// Parses an ACL from a property.
    ///
    /// # Errors
    /// Fails when Hadoop refuses it.
    pub(super) fn property(
        value: Value,
        reading: Reading,
        findings: &mut Vec<FileDiagnostic>,
    ) -> Result<Self, Refused> {
        value.check()?;
        if let Some(variable) = &value.unbound {
            let message = format!(
                "the variable {} is unknown, so this is read as {}",
                quoted(variable),
                quoted(&value.text)
            );
            let finding =
                Diagnostic::warning(codes::UNBOUND, message).help(format!("define it: -D {variable}=VALUE"));
            findings.push(FileDiagnostic::at(value.location, finding));
        }
        Ok(Self::written(value.text, value.location, value.verbatim, reading))
    }

    /// Returns the location of a part of the text, or of the whole text if the part's location is unknown.
    pub fn part(&self, part: Option<Span>) -> Option<Location> {
        let location = self.location?;
        let span = match part {
            Some(part) if self.verbatim => part.shifted(location.span.start),
            _ => location.span,
        };
        Some(Location { span, ..location })
    }
}

// Finds the holders of each right on each queue, by the source's rules.
//
// To submit, a user needs either ACL of the queue or of an ancestor; to administer, the second one
// (`ConfiguredYarnAuthorizer`, and its callers in the schedulers). Cluster administrators can end and see
// every application, so here they administer every queue. By Hadoop's source this does not let them submit;
// by Cloudera's handbook it does.

/// The source of a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granting {
    /// An ACL of a queue.
    Queue(usize, Right),
    /// The list of cluster administrators.
    Cluster,
}

/// For each name, the queues whose own ACLs contain it.
#[derive(Debug)]
pub struct Holders<'a> {
    source: &'a Source,
    named: HashMap<Subject, Vec<(usize, Right)>>,
}

impl<'a> Holders<'a> {
    /// Collects the names of a source.
    pub fn new(source: &'a Source) -> Self {
        let mut named: HashMap<Subject, Vec<(usize, Right)>> = HashMap::new();
        for (at, queue) in source.queues.iter().enumerate() {
            for right in Right::ALL {
                for subject in subjects(&queue.acls.get(right).acl) {
                    named.entry(subject).or_default().push((at, right));
                }
            }
        }
        Self { source, named }
    }

    /// Returns every named subject, including cluster administrators.
    pub fn subjects(&self) -> BTreeSet<Subject> {
        let cluster = self.source.administrators.iter().flat_map(|setting| subjects(&setting.acl));
        self.named.keys().cloned().chain(cluster).collect()
    }

    /// Returns, for each queue, where this user without groups, or a member of this group, gets the right.
    /// [`Subject::Everyone`] represents a user who is not named and in no group.
    pub fn reach(&self, right: Right, subject: &Subject) -> Vec<Option<Granting>> {
        let mut reached: Vec<Option<Granting>> = vec![None; self.source.queues.len()];
        for who in [subject, &Subject::Everyone] {
            for (at, acl) in self.named.get(who).into_iter().flatten() {
                if (right == Right::Submit || *acl == Right::Admin)
                    && let Some(queue) = reached.get_mut(*at)
                {
                    *queue = queue.or(Some(Granting::Queue(*at, *acl)));
                }
            }
        }
        for (at, queue) in self.source.queues.iter().enumerate() {
            let above = queue.parent.and_then(|parent| reached.get(parent).copied().flatten());
            if let Some(queue) = reached.get_mut(at) {
                *queue = queue.or(above);
            }
        }
        if self.by_cluster(right, subject) {
            for queue in &mut reached {
                *queue = queue.or(Some(Granting::Cluster));
            }
        }
        reached
    }

    fn by_cluster(&self, right: Right, subject: &Subject) -> bool {
        let counts = right == Right::Admin || self.source.reading == Reading::Cloudera;
        let lists = |setting: &Setting| {
            let named = subjects(&setting.acl);
            named.contains(subject) || named.contains(&Subject::Everyone)
        };
        counts && self.source.administrators.as_ref().is_some_and(lists)
    }
}

/// Returns every subject that an ACL names.
fn subjects(acl: &YarnAcl) -> Vec<Subject> {
    if acl.is_everyone() {
        return vec![Subject::Everyone];
    }
    let users = acl.users().iter().cloned().map(Subject::User);
    users.chain(acl.groups().iter().cloned().map(Subject::Group)).collect()
}
