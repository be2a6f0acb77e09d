//! Environments: a repository may hold the objects and the queue tree of several clusters. An object belongs
//! to the tree that is nearest to it in the folders; if several are equally near, to each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::object::{Kind, Object};
use super::{Inputs, ours};
use crate::output::text::SourceDiagnostic;

/// Maximum number of environments in one run.
const MAX_ENVIRONMENTS: usize = 100;

/// The queue tree of an environment: a text, and the object unless it is a bare queues.yaml.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Tree {
    source: usize,
    object: Option<usize>,
}

impl Inputs {
    /// Returns the findings on a text that are the same in every environment with an object of it. Returns
    /// nothing for one environment, or too many.
    pub fn in_environments(&self, find: impl Fn(Self) -> Vec<SourceDiagnostic>) -> Vec<SourceDiagnostic> {
        let trees = self.trees();
        let is_one = trees.len() < 2 && self.alternatives.is_empty();
        if is_one || trees.len() > MAX_ENVIRONMENTS {
            return Vec::new();
        }
        let mut belongs: BTreeMap<usize, usize> = BTreeMap::new();
        let mut found = BTreeMap::new();
        for tree in &trees {
            let environment = self.environment(*tree, &trees);
            let sources: BTreeSet<usize> =
                environment.objects.iter().map(|object| object.document.source).collect();
            for source in sources {
                *belongs.entry(source).or_default() += 1;
            }
            for finding in find(environment) {
                let Some(source) = finding.source else { continue };
                let key = (source, finding.diagnostic.span, finding.diagnostic.code);
                found.entry(key).or_insert((0_usize, finding)).0 += 1;
            }
        }
        let mut everywhere = Vec::new();
        for ((source, ..), (count, finding)) in found {
            everywhere.extend((belongs.get(&source) == Some(&count)).then_some(finding));
        }
        everywhere
    }

    /// Returns the queue trees of all environments.
    fn trees(&self) -> Vec<Tree> {
        let is_one = |object: &&Object| {
            let label = object.label();
            object.kind == Kind::ConfigMap
                && ours::holds_tree(&object.document.value)
                && self.alternatives.iter().any(|finding| finding.object.as_ref() == Some(&label))
        };
        let of_objects = self.objects.iter().enumerate().filter(|(_, object)| is_one(object));
        let objects =
            of_objects.map(|(at, object)| Tree { source: object.document.source, object: Some(at) });
        objects.chain(self.bare.iter().map(|bare| Tree { source: bare.source, object: None })).collect()
    }

    /// Returns the inputs of the environment of a tree. Of objects with one name it has the nearest.
    fn environment(&self, tree: Tree, all: &[Tree]) -> Self {
        let near = |object: &Object, tree: &Tree| self.nearness(object.document.source, tree.source);
        let mut nearest: BTreeMap<(Kind, &str), Vec<(usize, &Object)>> = BTreeMap::new();
        for (at, object) in self.objects.iter().enumerate() {
            let is_tree = all.iter().any(|other| other.object == Some(at));
            let here = near(object, &tree);
            let mine = if is_tree {
                tree.object == Some(at)
            } else {
                all.iter().all(|other| near(object, other) <= here)
            };
            if mine {
                let same = nearest.entry((object.kind, object.name.as_str())).or_default();
                same.retain(|(other, _)| *other >= here);
                if same.first().is_none_or(|(other, _)| *other <= here) {
                    same.push((here, object));
                }
            }
        }
        let only = nearest.into_values().filter_map(|same| match same.as_slice() {
            [(_, object)] => Some((*object).clone()),
            _ => None,
        });
        Self {
            objects: only.collect(),
            bare: self
                .bare
                .iter()
                .filter(|bare| tree.object.is_none() && bare.source == tree.source)
                .cloned()
                .collect(),
            base: tree.object.is_none().then_some(tree.source),
            sources: self.sources.clone(),
            namespace: self.namespace.clone(),
            version: self.version,
            ..Self::default()
        }
    }

    /// Returns the number of folders that two texts have in common, and more if they are the same.
    fn nearness(&self, one: usize, other: usize) -> usize {
        if one == other {
            return usize::MAX;
        }
        let folders = |source: usize| {
            let path = self.sources.get(source).and_then(super::Source::path);
            path.and_then(Path::parent).into_iter().flat_map(Path::components)
        };
        folders(one).zip(folders(other)).take_while(|(one, other)| one == other).count()
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::read;
    use super::*;
    use crate::output::Console;
    use go_compat::diag::{Code, Diagnostic};

    #[test]
    fn objects_belong_to_the_nearest_tree() {
        let dir = tempfile::tempdir().unwrap();
        let map = |name: &str| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n  queues.yaml: |\n    partitions: [{{queues: []}}]\n"
            )
        };
        let acl = |name: &str| {
            format!(
                "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: {name}}}\nspec: {{queue: root}}\n"
            )
        };
        for (path, text) in [
            ("dev/map.yaml", map("yunikorn-defaults")),
            ("prod/map.yaml", map("yunikorn-defaults")),
            ("dev/acls/a.yaml", acl("a")),
            ("prod/a.yaml", acl("a")),
            ("prod/b.yaml", acl("b")),
            ("all/c.yaml", acl("c")),
        ] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let paths = [dir.path().to_path_buf()];
        let texts = read(&paths, true, None, |_| true, Console::silent()).unwrap();
        let inputs = Inputs::new(texts.sources);
        assert!(inputs.findings.is_empty(), "{:?}", inputs.findings);
        let trees = inputs.trees();
        let names = |tree: &Tree| -> Vec<String> {
            inputs.environment(*tree, &trees).objects.iter().map(Object::label).collect()
        };
        assert_eq!(
            trees.iter().map(names).collect::<Vec<_>>(),
            [
                vec!["ConfigMap/yunikorn-defaults", "QueueAcl/a", "QueueAcl/c"],
                vec!["ConfigMap/yunikorn-defaults", "QueueAcl/a", "QueueAcl/b", "QueueAcl/c"],
            ]
        );
        // What is found of an object in one of its environments only may be right in the other.
        let find = |inputs: Inputs| -> Vec<SourceDiagnostic> {
            let many = inputs.objects.len() > 3;
            let finding =
                |object: &Object| object.finding(Diagnostic::warning(Code::new(9999, "test"), "odd"));
            inputs.objects.iter().filter(|_| many).map(finding).collect()
        };
        let found: Vec<_> =
            inputs.in_environments(find).into_iter().filter_map(|found| found.object).collect();
        assert_eq!(found, ["QueueAcl/a", "QueueAcl/b", "ConfigMap/yunikorn-defaults"]);
    }
}
