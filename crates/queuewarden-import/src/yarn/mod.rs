//! Reads the queues of YARN's schedulers with their ACLs, as Hadoop 3.4.1 has them in force, and finds the
//! holders of each right.
//!
//! * `fair`: fair-scheduler.xml, the allocation file.
//! * `capacity`: capacity-scheduler.xml.
//! * `site`: the access settings of yarn-site.xml and of mapred-site.xml.
//! * `deciding`: settings outside the ACLs that decide whether the ACLs take effect.
//! * [`Holders`]: the holders of each right on each queue.
//!
//! A queue without an ACL of its own gives its rights to nobody, except the root, which gives them to
//! everyone. A right on a queue is also a right on all queues below it
//! (`ConfiguredYarnAuthorizer.checkPermissionInternal`).

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
    /// mapred-site.xml, with the access settings that jobs bring.
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
    /// Reads fair-scheduler.xml. `None` when nothing can be imported; the findings say why.
    pub fn fair(wanted: Files<'_>, findings: &mut Vec<FileDiagnostic>) -> Option<Self> {
        Self::read(wanted, Scheduler::Fair, findings)
    }

    /// Reads capacity-scheduler.xml. `None` when nothing can be imported; the findings say why.
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

// One ACL of the source: its text, its meaning to Hadoop, and its location.

/// An ACL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The text, with variables replaced.
    pub text: String,
    /// The ACL as Hadoop reads it.
    pub acl: YarnAcl,
    /// True when it is written; otherwise it is the default.
    pub set: bool,
    /// The location of the text.
    pub location: Option<Location>,
    /// The file that it is written in, or could be.
    pub file: Option<usize>,
    verbatim: bool,
}

impl Setting {
    /// Returns the ACL of a queue that has none: everyone for the root, else nobody.
    pub(super) fn default_of(is_root: bool) -> Self {
        let (text, acl) = if is_root { ("*", YarnAcl::everyone()) } else { (" ", YarnAcl::nobody()) };
        Self { text: text.to_owned(), acl, set: false, location: None, file: None, verbatim: false }
    }

    /// Returns the default, everyone, for a file that does not set the ACL.
    pub(super) fn everyone_in(file: usize) -> Self {
        Self { file: Some(file), ..Self::default_of(true) }
    }

    /// Reads an ACL that is written somewhere.
    fn written(text: String, location: Location, verbatim: bool, reading: Reading) -> Self {
        let acl = YarnAcl::parse(&text, reading);
        Self { text, acl, set: true, location: Some(location), file: Some(location.file), verbatim }
    }

    /// Reads an ACL from a property.
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
                "the variable {} is not known here, so that this is read as {}",
                quoted(variable),
                quoted(&value.text)
            );
            let finding =
                Diagnostic::warning(codes::UNBOUND, message).help(format!("define it: -D {variable}=VALUE"));
            findings.push(FileDiagnostic::at(value.location, finding));
        }
        Ok(Self::written(value.text, value.location, value.verbatim, reading))
    }

    /// Returns the location of a part of the text; the location of the whole text when that is not known.
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
// To submit one needs either ACL of the queue or of one above it; to administer, the second
// (`ConfiguredYarnAuthorizer`, and its callers in the schedulers). Administrators of the cluster end and see
// every application, so here they administer every queue. In Hadoop's source that lets nobody submit; by
// Cloudera's handbook it does.

/// The source of a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granting {
    /// An ACL of a queue.
    Queue(usize, Right),
    /// The list of the cluster's administrators.
    Cluster,
}

/// The queues whose own ACLs name somebody, for each name.
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

    /// Returns everyone who is named, also as an administrator of the cluster.
    pub fn subjects(&self) -> BTreeSet<Subject> {
        let cluster = self.source.administrators.iter().flat_map(|setting| subjects(&setting.acl));
        self.named.keys().cloned().chain(cluster).collect()
    }

    /// Returns, for each queue, the source of the right of this user without groups, or of this group's
    /// member. A member of no group whom nobody names is [`Subject::Everyone`].
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

/// Returns everyone whom an ACL names.
fn subjects(acl: &YarnAcl) -> Vec<Subject> {
    if acl.is_everyone() {
        return vec![Subject::Everyone];
    }
    let users = acl.users().iter().cloned().map(Subject::User);
    users.chain(acl.groups().iter().cloned().map(Subject::Group)).collect()
}
