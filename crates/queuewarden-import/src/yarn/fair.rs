//! Parses the fair scheduler's allocation file as `AllocationFileLoaderService`, `AllocationFileParser` and
//! `AllocationFileQueueParser` (hadoop-yarn-server-resourcemanager 3.4.1) do.
//!
//! An ACL is the first piece of text in its element, as written, including all spaces. If the element occurs
//! more than once, the last one applies. If it is empty, Hadoop refuses the whole file. Inside a queue, every
//! element whose name is a suffix of `queue` (`queue`, `ueue`, … `e`), and `pool`, is a queue. Two queues
//! with the same path are one. White space around names is trimmed, and names contain no dots. As in Hadoop,
//! a document type is refused.

use std::collections::HashMap;

use roxmltree::Node;

use super::{Queue, Refused, Setting, placement_left_out, report_open, too_many_queues};
use crate::export::Form;
use crate::xml::{self, First};
use crate::{FileDiagnostic, Location, MAX_DEPTH, MAX_QUEUES, codes, did_you_mean};
use go_compat::diag::{Code, Diagnostic, quoted};
use yunikorn::application::Reading;
use yunikorn::queue::ROOT;
use yunikorn::right::Right;

const SUBMIT: &str = "aclSubmitApps";
const ADMIN: &str = "aclAdministerApps";
const RESERVATIONS: [&str; 3] = ["aclAdministerReservations", "aclListReservations", "aclSubmitReservations"];

/// Parses the queues, the root first.
pub(super) fn read(
    file: usize,
    text: &str,
    reading: Reading,
    findings: &mut Vec<FileDiagnostic>,
) -> Result<Vec<Queue>, Refused> {
    let mut reader = Reader { file, reading, queues: Vec::new(), by_path: HashMap::new(), findings };
    let read = reader.allocations(text);
    read.map_err(|diagnostic| Box::new(FileDiagnostic { file: Some(file), diagnostic }))?;
    Ok(reader.queues)
}

struct Reader<'f> {
    file: usize,
    reading: Reading,
    queues: Vec<Queue>,
    by_path: HashMap<String, usize>,
    findings: &'f mut Vec<FileDiagnostic>,
}

impl Reader<'_> {
    fn allocations(&mut self, text: &str) -> Result<(), Diagnostic> {
        if Form::of(text) != Form::Xml {
            let message = "the fair scheduler reads XML, but this is an export in another format";
            return Err(Diagnostic::error(codes::EXPORT, message)
                .help("pass fair-scheduler.xml from the ResourceManager's configuration directory"));
        }
        let document = xml::parse(text)?;
        let root = document.root_element();
        if xml::qualified(root) != "allocations" {
            let message =
                format!("the outermost element is {}, not `<allocations>`", quoted(xml::qualified(root)));
            return Err(Diagnostic::error(codes::NOT_THIS_FILE, message)
                .at(xml::tag_span(root))
                .help("pass the fair scheduler's allocation file"));
        }
        let mut queues = Vec::new();
        for element in xml::elements(root) {
            match xml::qualified(element) {
                "queue" | "pool" => queues.push(element),
                // Hadoop ignores a policy without rules.
                "queuePlacementPolicy" if xml::elements(element).next().is_some() => {
                    let location = Location { file: self.file, span: xml::tag_span(element) };
                    self.findings.push(FileDiagnostic::at(location, placement_left_out()));
                }
                _ => {}
            }
        }
        self.top(&queues)?;
        report_open(&self.queues, self.findings);
        Ok(())
    }

    /// Parses the outermost queues: the root, or queues below a root that is not written.
    fn top(&mut self, queues: &[Node<'_, '_>]) -> Result<(), Diagnostic> {
        let is_root =
            |node: &Node<'_, '_>| node.attribute("name").unwrap_or_default().eq_ignore_ascii_case(ROOT);
        let root = queues.iter().find(|node| is_root(node));
        if let (Some(root), true) = (root, queues.len() > 1) {
            let message = "there can be no other queue next to the root queue";
            return Err(refused(*root, message, "put the others inside it"));
        }
        if let Some(root) = root {
            let name = root.attribute("name").unwrap_or_default().trim();
            if name != ROOT {
                let message = format!(
                    "Hadoop never reads the ACLs of {}: the real root queue lets everyone in",
                    quoted(name)
                );
                return Err(Diagnostic::error(codes::ROOT_MISSPELT, message)
                    .at(xml::tag_span(*root))
                    .help("write `root`"));
            }
            return self.queue(None, *root, 0);
        }
        let at = self.declared(None, ROOT, None);
        self.make_parent(at);
        queues.iter().try_for_each(|node| self.queue(Some(at), *node, 1))
    }

    /// `loadQueue`.
    fn queue(&mut self, parent: Option<usize>, node: Node<'_, '_>, depth: usize) -> Result<(), Diagnostic> {
        // `FairSchedulerUtilities.trimQueueName`, whose table of white space is Unicode's.
        let name = node.attribute("name").unwrap_or_default().trim();
        if name.is_empty() {
            return Err(refused(node, "a queue has no name", "give it one: <queue name=\"…\">"));
        }
        if name.contains('.') {
            let message = format!("a queue name contains a dot: {}", quoted(name));
            return Err(refused(node, &message, "put the queue inside the one above it"));
        }
        if depth > MAX_DEPTH || self.queues.len() >= MAX_QUEUES {
            return Err(too_many_queues().at(xml::tag_span(node)));
        }
        let location = Location { file: self.file, span: xml::tag_span(node) };
        let queue = self.declared(parent, name, Some(location));
        let mut seen: Vec<&str> = Vec::new();
        let mut is_parent = node.attribute("type") == Some("parent");
        for field in xml::elements(node) {
            let tag = xml::qualified(field);
            match tag {
                SUBMIT => self.acl(queue, Right::Submit, field, &mut seen)?,
                ADMIN => self.acl(queue, Right::Admin, field, &mut seen)?,
                _ if RESERVATIONS.contains(&tag) => self.reservations(field)?,
                _ if is_queue(tag) => {
                    is_parent = true;
                    self.queue(Some(queue), field, depth.saturating_add(1))?;
                }
                _ => self.other(field),
            }
        }
        if is_parent {
            self.make_parent(queue);
        }
        Ok(())
    }

    /// Returns the queue with this path, which may already exist.
    fn declared(&mut self, parent: Option<usize>, name: &str, location: Option<Location>) -> usize {
        let queue = Queue::new(&self.queues, parent, name, location);
        let next = self.queues.len();
        let at = *self.by_path.entry(queue.path.clone()).or_insert(next);
        if at == next {
            self.queues.push(queue);
        } else if let Some(location) = location {
            let message = format!(
                "the queue {} is declared again here: both are one queue, and the last value of each ACL applies",
                quoted(&queue.path)
            );
            let finding = Diagnostic::warning(codes::TWICE, message).help("write it once");
            self.findings.push(FileDiagnostic::at(location, finding));
        }
        at
    }

    fn make_parent(&mut self, queue: usize) {
        if let Some(queue) = self.queues.get_mut(queue) {
            queue.is_parent = true;
        }
    }

    fn acl<'t>(
        &mut self,
        queue: usize,
        right: Right,
        field: Node<'_, 't>,
        seen: &mut Vec<&'t str>,
    ) -> Result<(), Diagnostic> {
        let tag = xml::qualified(field);
        let setting = self.text(field)?;
        if seen.contains(&tag) {
            let message = format!("`{tag}` is set again here; the last value applies");
            self.warn(field, codes::TWICE, message, "write it once");
        }
        seen.push(tag);
        if let Some(queue) = self.queues.get_mut(queue) {
            *queue.acls.get_mut(right) = setting;
        }
        Ok(())
    }

    /// `((Text) field.getFirstChild()).getData()`
    fn text(&mut self, field: Node<'_, '_>) -> Result<Setting, Diagnostic> {
        let tag = xml::qualified(field);
        match xml::first(field) {
            First::Text { text, cut } => {
                if cut {
                    let message =
                        format!("Hadoop reads only the first part of this `{tag}`: {}", quoted(&text.text));
                    self.warn(field, codes::CUT, message, "write the ACL as one piece of text");
                }
                let location = Location { file: self.file, span: text.span };
                Ok(Setting::written(text.text, location, text.verbatim, self.reading))
            }
            First::Nothing => {
                let message =
                    format!("`{tag}` is empty, which Hadoop refuses: it keeps its previous configuration");
                Err(refused(field, &message, "to grant no one access, write one space between the tags"))
            }
            First::Other => {
                let message = format!("`{tag}` does not begin with text, which Hadoop refuses");
                Err(refused(field, &message, "write the ACL between the tags"))
            }
        }
    }

    fn reservations(&mut self, field: Node<'_, '_>) -> Result<(), Diagnostic> {
        self.text(field)?;
        let message = format!("`{}` is not imported: YuniKorn has no reservations", xml::qualified(field));
        self.warn(field, codes::UNSUPPORTED, message, "there is nothing to write instead");
        Ok(())
    }

    /// Reports an element that does not affect access, if it was meant to.
    fn other(&mut self, field: Node<'_, '_>) {
        let tag = xml::qualified(field);
        let acls = [SUBMIT, ADMIN].into_iter().chain(RESERVATIONS);
        if !tag.to_ascii_lowercase().contains("acl") {
            return;
        }
        let message = format!("Hadoop does not know the element {} and ignores it", quoted(tag));
        let help = did_you_mean(acls, tag, format!("write `{SUBMIT}` or `{ADMIN}`"));
        self.warn(field, codes::IGNORED, message, help);
    }

    fn warn(&mut self, node: Node<'_, '_>, code: Code, message: impl Into<String>, help: impl Into<String>) {
        let location = Location { file: self.file, span: xml::tag_span(node) };
        self.findings.push(FileDiagnostic::at(location, Diagnostic::warning(code, message).help(help)));
    }
}

/// Returns `QUEUE.endsWith(tag)`, with the operands swapped as in Hadoop.
fn is_queue(tag: &str) -> bool {
    "queue".ends_with(tag) || tag == "pool"
}

fn refused(node: Node<'_, '_>, message: &str, help: &str) -> Diagnostic {
    Diagnostic::error(codes::HADOOP_REFUSES, message).at(xml::tag_span(node)).help(help)
}

#[cfg(test)]
mod tests;
