//! Parses the capacity scheduler's queues as `CapacitySchedulerConfiguration` and
//! `CapacitySchedulerQueueManager.parseQueue` (hadoop-yarn-server-resourcemanager 3.4.1) do.
//!
//! `PATH.queues` lists the child queues of a queue, separated by commas, and white space around names is
//! trimmed. The ACLs are `PATH.acl_submit_applications` and `PATH.acl_administer_queue`, as written,
//! including all spaces. If an ACL is absent or empty, the default applies, which for the root is everyone.
//! Keys are exact: Hadoop silently ignores any other spelling.

use std::collections::{HashMap, HashSet};

use super::{Queue, Refused, Setting, placement_left_out, report_open, too_many_queues};
use crate::configuration::Configuration;
use crate::{FileDiagnostic, Location, MAX_DEPTH, MAX_QUEUES, codes, did_you_mean};
use go_compat::diag::{Diagnostic, quoted};
use yunikorn::application::Reading;
use yunikorn::application::yarn_acl::trim;
use yunikorn::queue::ROOT;
use yunikorn::right::Right;

const PREFIX: &str = "yarn.scheduler.capacity.";
const QUEUES: &str = "queues";
const SUBMIT: &str = "acl_submit_applications";
const ADMIN: &str = "acl_administer_queue";
/// Settings without a counterpart in `YuniKorn`.
const UNSUPPORTED: [&str; 4] = [
    "acl_submit_reservations",
    "acl_list_reservations",
    "acl_administer_reservations",
    "acl_application_max_priority",
];
/// Templates for queues that are created on demand.
const TEMPLATES: [&str; 4] = [
    "leaf-queue-template",
    "auto-queue-creation-v2.template",
    "auto-queue-creation-v2.parent-template",
    "auto-queue-creation-v2.leaf-template",
];
/// Switches that allow a queue to have child queues, even if `queues` lists none.
const AUTOMATIC: [&str; 2] = ["auto-create-child-queue.enabled", "auto-queue-creation-v2.enabled"];
/// Placement rules.
const MAPPINGS: [&str; 3] = ["queue-mappings", "mapping-rule-json", "mapping-rule-json-file"];

/// Parses the queues, the root first.
pub(super) fn read(
    configuration: &Configuration,
    file: usize,
    reading: Reading,
    findings: &mut Vec<FileDiagnostic>,
) -> Result<Vec<Queue>, Refused> {
    let mut reader = Reader { configuration, reading, queues: Vec::new(), used: HashSet::new(), findings };
    reader.all(file)?;
    let Reader { queues, used, .. } = reader;
    report_unused(configuration, &queues, &used, findings);
    report_open(&queues, findings);
    Ok(queues)
}

struct Reader<'a> {
    configuration: &'a Configuration,
    reading: Reading,
    queues: Vec<Queue>,
    used: HashSet<String>,
    findings: &'a mut Vec<FileDiagnostic>,
}

impl Reader<'_> {
    /// Parses each queue before its children, in the order of the lists.
    fn all(&mut self, file: usize) -> Result<(), Refused> {
        let mut paths: HashMap<String, usize> = HashMap::new();
        let mut next = vec![(None, ROOT.to_owned(), None)];
        while let Some((parent, name, location)) = next.pop() {
            let queue = self.queue(parent, &name, location)?;
            if paths.insert(queue.path.clone(), self.queues.len()).is_some() {
                let message = format!("the queue {} is listed twice", quoted(&queue.path));
                let finding = Diagnostic::warning(codes::TWICE, message).help("name it once");
                self.findings.push(FileDiagnostic::at(location, finding));
                continue;
            }
            let below = self.below(&queue)?;
            let depth = queue.path.matches('.').count();
            if self.queues.len() >= MAX_QUEUES || depth > MAX_DEPTH {
                return Err(Box::new(FileDiagnostic::at(location, too_many_queues())));
            }
            if parent.is_none() && below.is_empty() && !self.automatic(ROOT) {
                let message =
                    format!("there are no queues below the root: `{PREFIX}{ROOT}.{QUEUES}` is not set");
                let finding =
                    Diagnostic::error(codes::HADOOP_REFUSES, message).help("give capacity-scheduler.xml");
                return Err(Box::new(FileDiagnostic { file: Some(file), diagnostic: finding }));
            }
            let is_parent = !below.is_empty() || self.automatic(&queue.path);
            let at = self.queues.len();
            self.queues.push(Queue { is_parent, ..queue });
            next.extend(below.into_iter().rev().map(|(name, location)| (Some(at), name, Some(location))));
        }
        Ok(())
    }

    fn queue(
        &mut self,
        parent: Option<usize>,
        name: &str,
        location: Option<Location>,
    ) -> Result<Queue, Refused> {
        let mut queue = Queue::new(&self.queues, parent, name, location);
        for (right, key) in [(Right::Submit, SUBMIT), (Right::Admin, ADMIN)] {
            let key = format!("{PREFIX}{}.{key}", queue.path);
            if let Some(value) = self.configuration.get(&key) {
                self.used.insert(key);
                *queue.acls.get_mut(right) = Setting::property(value, self.reading, self.findings)?;
            }
        }
        self.report_stopped(&queue);
        Ok(queue)
    }

    /// Reports a queue that accepts no applications despite its ACLs.
    fn report_stopped(&mut self, queue: &Queue) {
        let state = self.configuration.get(&format!("{PREFIX}{}.state", queue.path));
        let Some(state) = state.filter(|state| !trim(&state.text).eq_ignore_ascii_case("RUNNING")) else {
            return;
        };
        let message = format!(
            "the queue {} is {}, so no one may submit to it; YuniKorn has no such state",
            quoted(&queue.path),
            quoted(trim(&state.text))
        );
        let finding = Diagnostic::error(codes::STOPPED, message).help(format!(
            "remove its ACL and the ACLs below it from the file; --accept {} imports them as if it were running",
            codes::STOPPED
        ));
        self.findings.push(FileDiagnostic::at(state.location, finding));
    }

    /// `getQueues`
    fn below(&mut self, queue: &Queue) -> Result<Vec<(String, Location)>, Refused> {
        let Some(value) = self.configuration.get(&format!("{PREFIX}{}.{QUEUES}", queue.path)) else {
            return Ok(Vec::new());
        };
        value.check()?;
        if let Some(variable) = &value.unbound {
            let message =
                format!("the queues are unknown because the variable {} is not defined", quoted(variable));
            let finding =
                Diagnostic::error(codes::UNBOUND, message).help(format!("define it: -D {variable}=VALUE"));
            return Err(Box::new(FileDiagnostic::at(value.location, finding)));
        }
        let names = value.text.split(',').filter(|name| !name.is_empty()).map(trim);
        let names: Vec<(String, Location)> = names.map(|name| (name.to_owned(), value.location)).collect();
        if let Some((name, _)) = names.iter().find(|(name, _)| name.contains('.')) {
            let message = format!("a queue name contains a dot: {}", quoted(name));
            let finding = Diagnostic::error(codes::QUEUE_NAME, message)
                .help("rename it: Hadoop takes its path for a queue below another one");
            return Err(Box::new(FileDiagnostic::at(value.location, finding)));
        }
        if names.iter().any(|(name, _)| name.is_empty()) {
            let finding = Diagnostic::error(codes::HADOOP_REFUSES, "a queue has no name")
                .help("remove the space between the commas");
            return Err(Box::new(FileDiagnostic::at(value.location, finding)));
        }
        Ok(names)
    }

    fn automatic(&self, path: &str) -> bool {
        AUTOMATIC.iter().any(|key| {
            let value = self.configuration.get(&format!("{PREFIX}{path}.{key}"));
            value.is_some_and(|value| trim(&value.text).eq_ignore_ascii_case("true"))
        })
    }
}

/// Reports access settings that were never read.
fn report_unused(
    configuration: &Configuration,
    queues: &[Queue],
    used: &HashSet<String>,
    findings: &mut Vec<FileDiagnostic>,
) {
    let paths: HashSet<&str> = queues.iter().map(|queue| queue.path.as_str()).collect();
    for name in configuration.names() {
        let Some(key) = name.strip_prefix(PREFIX).filter(|_| !used.contains(name)) else { continue };
        // A setting without a value is not set.
        let Some(value) = configuration.get(name) else { continue };
        let unused = unused(key, &value.text, &paths);
        findings.extend(unused.map(|diagnostic| FileDiagnostic::at(value.location, diagnostic)));
    }
}

fn unused(key: &str, value: &str, paths: &HashSet<&str>) -> Option<Diagnostic> {
    // Hadoop drops empty items from a list.
    let is_empty = value.split(',').all(|item| trim(item).is_empty());
    if MAPPINGS.contains(&key) {
        return (!is_empty).then(placement_left_out);
    }
    let (path, setting) = key.rsplit_once('.')?;
    if !setting.to_ascii_lowercase().contains("acl_") {
        return None;
    }
    let known = format!("write `PATH.{SUBMIT}` or `PATH.{ADMIN}`");
    let is_template = TEMPLATES.iter().any(|template| path.ends_with(template));
    if is_empty && (is_template || UNSUPPORTED.contains(&setting)) {
        return None;
    }
    let (code, message, help) = if is_template {
        (
            codes::TEMPLATE,
            format!("a template's ACL is not imported: {}", quoted(key)),
            "grant on the queue above, or declare the queues".to_owned(),
        )
    } else if UNSUPPORTED.contains(&setting) {
        (
            codes::UNSUPPORTED,
            format!("{} is not imported: YuniKorn has no equivalent", quoted(key)),
            "there is nothing to write instead".to_owned(),
        )
    } else if [SUBMIT, ADMIN].contains(&setting) {
        (
            codes::IGNORED,
            format!("queue {} does not exist, so this is ignored", quoted(path)),
            did_you_mean(paths.iter().copied(), path, known),
        )
    } else {
        (
            codes::IGNORED,
            format!("Hadoop does not know the setting {} and ignores it", quoted(setting)),
            did_you_mean([SUBMIT, ADMIN], setting, known),
        )
    };
    Some(Diagnostic::warning(code, message).help(help))
}

#[cfg(test)]
mod tests {
    use super::super::reported;
    use super::*;

    fn load(settings: &[(&str, &str)]) -> (Option<Vec<Queue>>, Vec<FileDiagnostic>) {
        let property = |(key, value): &(&str, &str)| {
            format!("<property><name>{PREFIX}{key}</name><value>{value}</value></property>")
        };
        let text =
            format!("<configuration>{}</configuration>", settings.iter().map(property).collect::<String>());
        let (mut configuration, mut findings) = (Configuration::default(), Vec::new());
        configuration.load(0, &text, &mut findings).expect("a configuration");
        let read = reported(read(&configuration, 0, Reading::Hadoop, &mut findings), &mut findings);
        (read, findings)
    }

    fn acls(settings: &[(&str, &str)]) -> Vec<(String, String, String)> {
        let (queues, findings) = load(settings);
        let queues = queues.unwrap_or_else(|| panic!("{findings:?}"));
        queues.into_iter().map(|queue| (queue.path, queue.acls.submit.text, queue.acls.admin.text)).collect()
    }

    fn row(path: &str, submit: &str, admin: &str) -> (String, String, String) {
        (path.to_owned(), submit.to_owned(), admin.to_owned())
    }

    #[test]
    fn queues_and_acls_are_read_as_hadoop_does() {
        let found = acls(&[
            ("root.queues", " a ,b,,"),
            ("root.a.queues", "c"),
            ("root.acl_submit_applications", " "),
            ("root.acl_administer_queue", ""),
            ("root.a.acl_submit_applications", "x\n"),
            ("root.a.c.acl_administer_queue", "${y} z"),
            ("y", "never"),
        ]);
        let expected = [
            row("root", " ", "*"),
            row("root.a", "x\n", " "),
            row("root.a.c", " ", "${y} z"),
            row("root.b", " ", " "),
        ];
        assert_eq!(found, expected);
    }

    /// Settings, and the codes of the expected findings.
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [go_compat::diag::Code]);

    #[test]
    fn what_hadoop_refuses_or_ignores_is_reported() {
        let closed =
            [("root.queues", "a"), ("root.acl_submit_applications", " "), ("root.acl_administer_queue", " ")];
        let cases: [Case<'_>; 23] = [
            (&[], &[]),
            (&[("root.a.acl_submit_application", "x")], &[codes::IGNORED]),
            (&[("root.a.ACL_SUBMIT_APPLICATIONS", "x")], &[codes::IGNORED]),
            (&[("root.b.acl_submit_applications", "x")], &[codes::IGNORED]),
            (&[("root.a.acl_submit_reservations", "x")], &[codes::UNSUPPORTED]),
            (&[("root.a.leaf-queue-template.acl_submit_applications", "x")], &[codes::TEMPLATE]),
            (&[("root.a.auto-queue-creation-v2.template.acl_administer_queue", "x")], &[codes::TEMPLATE]),
            (&[("queue-mappings", "u:a:a")], &[codes::PLACEMENT]),
            (&[("queue-mappings", "\n  ")], &[]),
            (&[("queue-mappings", " , ")], &[]),
            (&[("mapping-rule-json", " ")], &[]),
            (&[("root.a.leaf-queue-template.acl_submit_applications", " ")], &[]),
            (&[("root.a.acl_submit_reservations", " ")], &[]),
            (&[("root.a.state", "RUNNING")], &[]),
            (&[("root.a.state", "stopped")], &[codes::STOPPED]),
            (&[("root.a.acl_submit_applications", "*"), ("root.a.queues", "b")], &[]),
            (
                &[
                    ("root.a.acl_submit_applications", "*"),
                    ("root.a.queues", "b"),
                    ("root.a.b.acl_submit_applications", "x"),
                ],
                &[codes::OPEN],
            ),
            (&[("root.a.acl_submit_applications", "${x}")], &[codes::UNBOUND]),
            (&[("root.a.acl_submit_applications", "${env.X:-*}")], &[codes::UNBOUND]),
            (&[("root.a.queues", "${x}")], &[codes::UNBOUND]),
            (&[("root.a.queues", "${env.X:-b}")], &[codes::UNBOUND]),
            (&[("root.a.queues", "b, ,c")], &[codes::HADOOP_REFUSES]),
            (&[("root.a.queues", "b,b.c")], &[codes::QUEUE_NAME]),
        ];
        for (settings, expected) in cases {
            let (_, findings) = load(&[&closed, settings].concat());
            let found: Vec<_> = findings.iter().map(|finding| finding.diagnostic.code).collect();
            assert_eq!(found, expected, "{settings:?}");
        }
        let (none, findings) = load(&[]);
        assert!(
            none.is_none() && findings.iter().any(|finding| finding.diagnostic.code == codes::HADOOP_REFUSES)
        );
        let (_, findings) = load(&[("root.queues", "a")]);
        assert_eq!(findings.iter().filter(|finding| finding.diagnostic.code == codes::ROOT_OPEN).count(), 2);
        let (_, findings) = load(&[
            ("root.queues", "a,b"),
            ("root.acl_submit_applications", "*"),
            ("root.acl_administer_queue", "*"),
            ("root.a.acl_submit_applications", "x"),
            ("root.b.acl_submit_applications", " "),
            ("root.b.acl_administer_queue", "*"),
        ]);
        let messages: Vec<_> = findings.iter().map(|finding| finding.diagnostic.message.as_str()).collect();
        let open = "lets everyone";
        assert_eq!(
            messages,
            [
                format!("`*` {open} submit to `root` and all queues below it, so 2 ACLs below limit no one"),
                format!("`*` {open} administer `root` and all queues below it"),
            ]
        );
    }

    #[test]
    fn a_queue_below_itself_ends() {
        let (queues, _) =
            load(&[("root.queues", "root"), ("root.root.queues", "root"), ("root.root.root.queues", "a,a")]);
        assert_eq!(queues.map(|queues| queues.len()), Some(4));
    }
}
