//! Translates the source's queues for `YuniKorn`, with the parts of their ACLs that it can represent, and
//! reports the rest.
//!
//! Nothing is added. Names in an ACL are either mapped or omitted for a reason. The reasons are recorded to
//! explain differences.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::names::{Mapped, Names, subject};
use crate::yarn::{OfJobs, Queue, Setting, Source};
use crate::{FileDiagnostic, codes};
use go_compat::diag::{Code, Diagnostic, quoted};
use yunikorn::acl::lint::MAX_FINDINGS;
use yunikorn::acl::{Acl, List};
use yunikorn::application::settings::YARN_ADMIN;
use yunikorn::application::{codes as application_codes, yarn_acl};
use yunikorn::queue::QueuePath;
use yunikorn::right::{ByRight, Right};
use yunikorn_access::subject::Subject;

/// The result of a translation.
#[derive(Debug, Clone, Default)]
pub struct Imported {
    /// The queues, parents before children; the first is the root.
    pub queues: Vec<Target>,
    /// For each queue of the source, its index here, or why it was skipped.
    pub of_source: Vec<Result<usize, Code>>,
    pub(super) lost: HashMap<(usize, Right, Subject), Code>,
    pub(super) came: HashMap<(usize, Right, Subject), Vec<Came>>,
}

/// A queue for `YuniKorn`.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its path.
    pub path: QueuePath,
    /// Its name in the source.
    pub name: String,
    /// The parent queue.
    pub parent: Option<usize>,
    /// True if it has, or may have, child queues.
    pub is_parent: bool,
    /// Its ACLs.
    pub acls: ByRight<Acl>,
}

/// The origin of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Came {
    pub(super) from: Subject,
    /// True if it comes from the list of cluster administrators.
    pub(super) cluster: bool,
}

/// A name for `YuniKorn`, and its name in the source.
type Carried = (Subject, Subject);

/// Options of the translation.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The names of users and groups in Kubernetes.
    pub names: Names,
    /// True to make the cluster's administrators administrators of the root queue.
    pub administrators_to_root: bool,
}

/// Translates, and reports what cannot be translated.
pub fn translate(source: &Source, options: &Options, findings: &mut Vec<FileDiagnostic>) -> Imported {
    let mut translator =
        Translator { source, options, findings, imported: Imported::default(), taken: HashMap::new() };
    translator.queues();
    translator.administrators();
    translator.jobs();
    translator.imported
}

struct Translator<'a> {
    source: &'a Source,
    options: &'a Options,
    findings: &'a mut Vec<FileDiagnostic>,
    imported: Imported,
    taken: HashMap<QueuePath, usize>,
}

impl Translator<'_> {
    fn queues(&mut self) {
        for (at, queue) in self.source.queues.iter().enumerate() {
            let target = self.queue(at, queue);
            self.imported.of_source.push(target);
        }
    }

    /// Returns the index of the queue in `YuniKorn`, or why it was skipped.
    fn queue(&mut self, at: usize, queue: &Queue) -> Result<usize, Code> {
        let above = |above| self.imported.of_source.get(above).copied().unwrap_or(Err(codes::UNEXPLAINED));
        let parent = queue.parent.map(above).transpose()?;
        let above = parent.and_then(|parent| self.imported.queues.get(parent));
        let path = above.map_or(Some(QueuePath::root()), |above| above.path.child(&queue.name));
        let Some(path) = path.filter(|path| !path.is_recovery()) else {
            let message = format!("{} is not a valid queue name in YuniKorn", quoted(&queue.name));
            return Err(self.left_out(queue, codes::QUEUE_NAME, message));
        };
        if let Some(other) = self.taken.get(&path).and_then(|other| self.source.queues.get(*other)) {
            let message = format!(
                "{} and {} differ only in case, and are the same queue in YuniKorn",
                quoted(&other.path),
                quoted(&queue.path)
            );
            return Err(self.left_out(queue, codes::QUEUE_CASE, message));
        }
        self.taken.insert(path.clone(), at);
        let here = self.imported.queues.len();
        let [submit, admin] = Right::ALL.map(|right| self.acl(at, here, right, queue.acls.get(right)));
        let (name, is_parent) = (queue.name.clone(), queue.is_parent);
        self.imported.queues.push(Target { path, name, parent, is_parent, acls: ByRight { submit, admin } });
        Ok(here)
    }

    fn left_out(&mut self, queue: &Queue, code: Code, message: String) -> Code {
        let finding = Diagnostic::error(code, message)
            .help(format!("rename it; --accept {code} skips it and all queues below it"));
        self.findings.push(FileDiagnostic::at(queue.location, finding));
        code
    }

    /// Returns the part of an ACL that `YuniKorn` can represent.
    fn acl(&mut self, at: usize, here: usize, right: Right, setting: &Setting) -> Acl {
        self.report_text(setting);
        let (carried, lost) = self.names(setting);
        for (subject, code) in lost {
            self.imported.lost.entry((at, right, subject)).or_insert(code);
        }
        for (subject, from) in &carried {
            self.came(here, right, subject.clone(), Came { from: from.clone(), cluster: false });
        }
        acl_of(&carried)
    }

    fn came(&mut self, queue: usize, right: Right, subject: Subject, came: Came) {
        self.imported.came.entry((queue, right, subject)).or_default().push(came);
    }

    fn report_text(&mut self, setting: &Setting) {
        if setting.set {
            for finding in yarn_acl::misread(&setting.text, self.source.reading) {
                self.findings.push(FileDiagnostic::at(setting.part(finding.span), finding));
            }
            self.report_case(setting);
        }
    }

    /// Reports groups in capital letters, which have no members because Active Directory sends groups in
    /// lower case. Groups in the name map are exempt, because a person has checked them.
    fn report_case(&mut self, setting: &Setting) {
        let Some(key) = &self.source.active_directory else { return };
        let groups = yarn_acl::named(&setting.text, self.source.reading).into_iter().filter_map(
            |(span, list, name)| {
                let mapped = matches!(self.options.names.groups.map(name), Mapped::Pair(_) | Mapped::LeftOut);
                (list == List::Groups && name.chars().any(char::is_uppercase) && !mapped)
                    .then_some((span, name))
            },
        );
        for (span, name) in groups.take(MAX_FINDINGS) {
            let message = format!(
                "the group {} has no members: by `{key}`, groups come from Active Directory and arrive in lower \
                 case",
                quoted(name)
            );
            let finding = Diagnostic::warning(codes::GROUP_CASE, message).help(format!(
                "write {}, or map the group to the name that the API server sends: --group-map FILE",
                quoted(&name.to_lowercase())
            ));
            self.findings.push(FileDiagnostic::at(setting.part(Some(span)), finding));
        }
    }

    /// Returns the translated names with their origins, and the names that cannot be translated.
    fn names(&mut self, setting: &Setting) -> (Vec<Carried>, Vec<(Subject, Code)>) {
        if setting.acl.is_everyone() {
            return (vec![(Subject::Everyone, Subject::Everyone)], Vec::new());
        }
        let (mut carried, mut lost) = (Vec::new(), Vec::new());
        for (span, list, name) in yarn_acl::named(&setting.text, self.source.reading) {
            match self.name(list, name) {
                Ok(to) => carried.push((subject(list, &to), subject(list, name))),
                Err(finding) => {
                    lost.push((subject(list, name), finding.code));
                    if lost.len() <= MAX_FINDINGS {
                        self.findings.push(FileDiagnostic::at(setting.part(Some(span)), finding));
                    }
                }
            }
        }
        (carried, lost)
    }

    /// Returns the name in `YuniKorn`, or why there is no such name.
    fn name(&self, list: List, name: &str) -> Result<String, Diagnostic> {
        let unheld = |to: &str, how: &str| {
            let why = || format!("{how} {}, which YuniKorn's ACLs cannot hold", quoted(to));
            (!list.accepts(to)).then(|| unmapped(name, &why()))
        };
        let (to, objection) = match self.options.names.of(list).map(name) {
            Mapped::Pair(to) => {
                let objection = unheld(&to, "it is mapped to");
                (to, objection)
            }
            Mapped::LeftOut => (String::new(), Some(unmapped(name, "the name map omits it"))),
            Mapped::Same => (name.to_owned(), yarn_acl::objection(list, name)),
            Mapped::Made(to) => {
                // The template changes the name, so YuniKorn's objection to the original name does not
                // matter.
                let objection = yarn_acl::objection(list, name);
                let objection = objection.filter(|why| why.code != application_codes::DROPPED);
                let objection = objection.or_else(|| unheld(&to, "the template maps it to"));
                (to, objection)
            }
        };
        objection.map_or(Ok(to), |objection| Err(acknowledgeable(objection)))
    }

    /// Reports the ACLs of jobs, which belong to no queue and cannot be imported.
    fn jobs(&mut self) {
        for OfJobs { key, annotation, setting } in &self.source.of_jobs {
            if setting.acl.is_nobody() {
                continue;
            }
            self.report_text(setting);
            let (carried, _) = self.names(setting);
            let message = format!("`{key}` applies to each job, not to a queue");
            let finding = Diagnostic::warning(codes::APPLICATION_ACL, message).help(format!(
                "write the annotation `{annotation}: {}` on the pods of each application",
                acl_of(&carried).yaml()
            ));
            self.findings.push(FileDiagnostic::at(setting.location, finding));
        }
    }

    /// Translates the administrators of the cluster.
    fn administrators(&mut self) {
        let Some(setting) = self.source.administrators.as_ref().filter(|setting| !setting.acl.is_nobody())
        else {
            return;
        };
        if !self.options.administrators_to_root {
            let who = if setting.set {
                format!("`{YARN_ADMIN}` names cluster administrators, {}", quoted(&setting.text))
            } else {
                format!("`{YARN_ADMIN}` is not set, so everyone administers the cluster")
            };
            let message = format!("{who}: YuniKorn has no such list, so they get no right on any queue");
            let finding = Diagnostic::warning(codes::CLUSTER_ADMINS, message).help(
                "--cluster-admins root makes them administrators of the root queue, who may also \
                 submit everywhere",
            );
            let finding = FileDiagnostic::at(setting.location, finding);
            self.findings.push(FileDiagnostic { file: setting.file, ..finding });
            return;
        }
        self.report_text(setting);
        let (carried, _) = self.names(setting);
        for (subject, from) in carried.iter().cloned() {
            self.came(0, Right::Admin, subject, Came { from, cluster: true });
        }
        if let Some(root) = self.imported.queues.first_mut() {
            root.acls.admin = root.acls.admin.union(&acl_of(&carried));
        }
    }
}

/// Makes an error about a single name acknowledgeable: the name is then omitted.
fn acknowledgeable(finding: Diagnostic) -> Diagnostic {
    if !finding.is_error() {
        return finding;
    }
    let help = finding.help.clone().unwrap_or_default();
    let code = finding.code;
    finding.help(format!("{help}; map it with --group-map, or omit it with --accept {code}"))
}

/// Returns the finding for a name that is not imported.
pub(super) fn unmapped(name: &str, why: &str) -> Diagnostic {
    Diagnostic::warning(codes::UNMAPPED, format!("{} is not imported: {why}", quoted(name)))
        .help("map it to the name that the API server sends")
}

fn acl_of(carried: &[Carried]) -> Acl {
    let (mut users, mut groups) = (Vec::new(), Vec::new());
    for (subject, _) in carried {
        match subject {
            Subject::Everyone => return Acl::everyone(),
            Subject::User(name) => users.push(name.as_str()),
            Subject::Group(name) => groups.push(name.as_str()),
        }
    }
    // All names have been checked. If one were refused, no one would have access, and the comparison would
    // reveal it.
    Acl::named(&users, &groups).unwrap_or_default()
}

// Writes the queues as a queues.yaml.

impl Imported {
    /// Returns the text of a queues.yaml with these queues and their ACLs.
    pub fn queues_yaml(&self) -> String {
        let mut text = String::from("partitions:\n  - name: default\n    queues:\n");
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); self.queues.len()];
        for (at, queue) in self.queues.iter().enumerate() {
            if let Some(siblings) = queue.parent.and_then(|parent| below.get_mut(parent)) {
                siblings.push(at);
            }
        }
        let mut next: Vec<(usize, usize)> = vec![(0, 3)];
        while let Some((at, level)) = next.pop() {
            let children = below.get(at).map(Vec::as_slice).unwrap_or_default();
            self.queue(at, level, !children.is_empty(), &mut text);
            next.extend(children.iter().rev().map(|child| (*child, level.saturating_add(2))));
        }
        text
    }

    fn queue(&self, at: usize, level: usize, has_children: bool, text: &mut String) {
        let Some(queue) = self.queues.get(at) else { return };
        let pad = "  ".repeat(level);
        // Queue names contain no characters that need escaping in double quotes. Writing to a string cannot
        // fail.
        let _ = writeln!(text, "{pad}- name: \"{}\"", queue.name);
        for right in Right::ALL {
            let acl = queue.acls.get(right);
            if !acl.is_nobody() {
                let _ = writeln!(text, "{pad}  {}: {}", right.key(), acl.yaml());
            }
        }
        if has_children {
            let _ = writeln!(text, "{pad}  queues:");
        } else if queue.is_parent {
            let _ = writeln!(text, "{pad}  parent: true");
        }
    }
}
