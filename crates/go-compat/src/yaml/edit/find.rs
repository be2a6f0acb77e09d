//! From a path to the mapping it leads to, as long as nothing on the way is shared with another place of the text.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::place::{content, is};
use super::{Pair, Step, refuse};
use crate::diag::Diagnostic;
use crate::yaml::{KindIn, NodeIn};

/// A mapping that may be edited.
pub(super) struct Found<'t> {
    pub(super) pairs: &'t [Pair<'t>],
    /// The place of its opening brace, if it is written in braces.
    pub(super) open: Option<usize>,
}

/// Follows paths in one tree.
pub(super) struct Finder<'t> {
    text: &'t str,
    root: &'t NodeIn<'t>,
    /// The names of all anchors that an alias refers to; gathered when the first anchor is met on a path.
    referred: Option<HashSet<&'t str>>,
}

impl<'t> Finder<'t> {
    pub(super) fn new(text: &'t str, root: &'t NodeIn<'t>) -> Self {
        Self { text, root, referred: None }
    }

    /// The mapping at the end of `path`.
    pub(super) fn find(&mut self, path: &[Step]) -> Result<Found<'t>, Diagnostic> {
        let mut node = self.root;
        let mut in_flow = false;
        for (index, step) in path.iter().enumerate() {
            let here = || shown(path.get(..index).unwrap_or_default());
            self.refuse_shared(node, here)?;
            in_flow |= self.bracket(node).is_some();
            node = child(node, step, here)?;
        }
        let here = || shown(path);
        self.refuse_shared(node, here)?;
        let KindIn::Mapping(pairs) = &node.kind else {
            return Err(refuse(format!("{} is not a mapping", here())).at(node.span));
        };
        let open = self.bracket(node);
        if in_flow && open.is_none() {
            let message = format!("{} is a single pair without braces in a list", here());
            return Err(refuse(message).at(node.span).help("write it as `[{key: value}]`"));
        }
        Ok(Found { pairs, open })
    }

    /// The place of the bracket that opens the list or mapping, if it is not written in lines.
    fn bracket(&self, node: &NodeIn<'_>) -> Option<usize> {
        let start = content(self.text, node.span);
        let (bracket, first) = match &node.kind {
            KindIn::Scalar { .. } => return None,
            KindIn::Sequence(items) => (b'[', items.first()),
            KindIn::Mapping(pairs) => (b'{', pairs.first().map(|(key, _)| key)),
        };
        // In a block, the first key may itself be a `{mapping}`.
        let opens = is(self.text, start, bracket) && first.is_none_or(|first| first.span.start > start);
        opens.then_some(start)
    }

    /// An alias shows another place's text, and an anchored text is shown in other places.
    fn refuse_shared(&mut self, node: &NodeIn<'_>, here: impl Fn() -> String) -> Result<(), Diagnostic> {
        if !node.shared {
            return Ok(());
        }
        let help = "write the mapping out in each place, without anchor and alias";
        let Some(name) = node.anchor() else {
            return Err(refuse(format!("{} is an alias", here())).at(node.span).help(help));
        };
        let root = self.root;
        if self.referred.get_or_insert_with(|| referred(root)).contains(name) {
            let message = format!("{} is also used in other places, through its anchor `&{name}`", here());
            return Err(refuse(message).at(node.span).help(help));
        }
        Ok(())
    }
}

/// The names that the aliases in `root` refer to.
fn referred<'n>(root: &'n NodeIn<'_>) -> HashSet<&'n str> {
    let mut names = HashSet::new();
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        if let Some(alias) = node.alias() {
            names.insert(alias);
            continue;
        }
        match &node.kind {
            KindIn::Scalar { .. } => {}
            KindIn::Sequence(items) => open.extend(items),
            KindIn::Mapping(pairs) => open.extend(pairs.iter().flat_map(|(key, value)| [key, value])),
        }
    }
    names
}

fn child<'t>(
    node: &'t NodeIn<'t>,
    step: &Step,
    here: impl Fn() -> String,
) -> Result<&'t NodeIn<'t>, Diagnostic> {
    match (step, &node.kind) {
        (Step::Index(index), KindIn::Sequence(items)) => match items.get(*index) {
            Some(item) => Ok(item),
            None => Err(refuse(format!("{} has no item {index}", here())).at(node.span)),
        },
        (Step::Index(_), _) => Err(refuse(format!("{} is not a list", here())).at(node.span)),
        (Step::Key(key), KindIn::Mapping(pairs)) => match position(pairs, key)? {
            Some(index) => pairs.get(index).map(|(_, value)| value),
            None => None,
        }
        .ok_or_else(|| missing(node, pairs, key, here)),
        (Step::Key(_), _) => Err(refuse(format!("{} is not a mapping", here())).at(node.span)),
    }
}

fn missing(node: &NodeIn<'_>, pairs: &[Pair<'_>], key: &str, here: impl Fn() -> String) -> Diagnostic {
    let refusal = refuse(format!("{} has no key `{key}`", here())).at(node.span);
    if merges(pairs, key) {
        return refusal.help(format!("`{key}` comes through `<<`; write it out in this mapping"));
    }
    refusal
}

/// The pair with this key.
pub(super) fn position(pairs: &[Pair<'_>], key: &str) -> Result<Option<usize>, Diagnostic> {
    let mut found = pairs.iter().enumerate().filter(|(_, (found, _))| found.as_scalar() == Some(key));
    let first = found.next();
    match found.next() {
        Some((_, (again, _))) => Err(refuse(format!("the key `{key}` stands twice")).at(again.span)),
        None => Ok(first.map(|(index, _)| index)),
    }
}

/// Whether a merge key (`<<`) brings this key into the mapping.
pub(super) fn merges(pairs: &[Pair<'_>], key: &str) -> bool {
    pairs.iter().any(|(merge, source)| merge.is_merge() && brings(source, key))
}

fn brings(source: &NodeIn<'_>, key: &str) -> bool {
    match &source.kind {
        KindIn::Scalar { .. } => false,
        KindIn::Sequence(sources) => sources.iter().any(|source| brings(source, key)),
        KindIn::Mapping(pairs) => {
            pairs.iter().any(|(found, _)| found.as_scalar() == Some(key)) || merges(pairs, key)
        }
    }
}

/// The path as people write it: `partitions[0].queues[1]`.
pub(super) fn shown(path: &[Step]) -> String {
    let mut shown = String::new();
    for step in path {
        match step {
            Step::Key(key) if shown.is_empty() => shown.push_str(key),
            Step::Key(key) => _ = write!(shown, ".{key}"),
            Step::Index(index) => _ = write!(shown, "[{index}]"),
        }
    }
    if shown.is_empty() { "the document".to_owned() } else { format!("`{shown}`") }
}
