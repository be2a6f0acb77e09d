//! Writes the queues as a queues.yaml.

use std::fmt::Write as _;

use super::translate::Imported;
use yunikorn::right::Right;

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
        // Characters of a queue's name need no escape between double quotes. Writing to a text does not fail.
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
