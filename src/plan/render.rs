//! The base text with the decided ACLs in it, and the proof that nothing else changed.

use super::base::Base;
use super::grants::{Grants, acl_of, text_of};
use crate::model::acl;
use crate::model::config::{Config, verdict};
use crate::text::diag::{Code, Diagnostic};
use crate::text::yaml::edit::{self, Edit};

/// The text that would be written is not what was meant. It is not written.
pub(super) const NOT_AS_MEANT: Code = Code::new(5401, "render-not-as-meant");

/// Renders the ACLs into the base's text (without a header); gives its queues as well.
///
/// # Errors
/// When the text cannot be edited in those places alone, or when the result would not activate or not say what was decided.
pub(super) fn body(base: &Base, grants: &Grants) -> Result<(String, Config), Diagnostic> {
    let text = edit::apply(&base.text, &edits(base, grants))?;
    let tree = prove(&text, grants)?;
    Ok((text, tree))
}

/// The edits: none where the base says the same already, so that its bytes stay.
fn edits(base: &Base, grants: &Grants) -> Vec<Edit> {
    let mut edits = Vec::new();
    for ((partition, path, right), decided) in grants {
        let Some(queue) = base.tree.partition(partition).and_then(|p| p.queue(path)) else {
            continue;
        };
        let Some(place) = &queue.place else { continue };
        let same = match text_of(queue, *right) {
            None => decided.acl.is_nobody(),
            Some(text) => acl::parse(text).is_ok_and(|acl| acl == decided.acl),
        };
        if !same {
            edits.push(Edit {
                path: place.path.steps(),
                key: right.key().into(),
                value: Some(decided.acl.explicit()),
            });
        }
    }
    edits
}

/// Reads the text as the scheduler will, and compares.
fn prove(text: &str, grants: &Grants) -> Result<Config, Diagnostic> {
    let verdict = verdict(text, &[]);
    let refused = |why: String| Err(Diagnostic::error(NOT_AS_MEANT, why));
    if let Some(refusal) = verdict.refusal() {
        return refused(format!("YuniKorn would not take the rendered text: {refusal}"));
    }
    let Some(tree) = verdict.config else {
        return refused("the rendered text has no queues".into());
    };
    for ((partition, path, right), decided) in grants {
        let in_text =
            tree.partition(partition).and_then(|p| p.queue(path)).map(|queue| acl_of(queue, *right));
        if in_text.as_ref() != Some(&decided.acl) {
            return refused(format!("queue `{path}` would not get the {} that was decided", right.key()));
        }
    }
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::queue::QueuePath;
    use crate::model::right::Right;
    use crate::plan::grants::Decided;

    /// The last look before a text is written: whatever made it, it must load and grant what was decided.
    #[test]
    fn a_text_that_is_not_as_meant_is_refused() {
        let acl = acl::parse("sue").unwrap();
        let place = ("default".to_owned(), QueuePath::parse("root.a").unwrap(), Right::Submit);
        let grants =
            Grants::from([(place, Decided { acl, taken: acl::parse(" ").unwrap(), objects: Vec::new() })]);
        let text = |queue: &str| {
            format!("partitions: [{{name: default, queues: [{{name: root, queues: [{queue}]}}]}}]")
        };
        assert!(prove(&text("{name: a, submitacl: sue}"), &grants).is_ok());
        let wrong = [
            "{name: a, submitacl: bob}",
            "{name: a, adminacl: sue}",
            "{name: b, submitacl: sue}",
            "{name: a, submitacl: s  e}",
        ];
        for queue in wrong {
            let refusal = prove(&text(queue), &grants).unwrap_err();
            assert_eq!(refusal.code, NOT_AS_MEANT, "{queue}");
        }
    }
}
