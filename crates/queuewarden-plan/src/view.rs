//! Converts a configuration into queue trees that know the writer of each entry. All answers about access
//! come from these trees.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use crate::grants::{Attribution, attribution};
use go_compat::diag::Span;
use yunikorn::identity::ResolverKind;
use yunikorn::{Config, Right, Version, acl};
use yunikorn_access::alias::{self, Aliased};
use yunikorn_access::expect::{Check, Expectations, World, run};
use yunikorn_access::tree::NotActive;
use yunikorn_access::{Origin, TextLocation, Tree, sentence};

/// The queues of a configuration.
#[derive(Debug, Clone)]
pub struct AccessView {
    /// The queues of each partition, in the order of the text.
    pub trees: Vec<Tree>,
    /// The resolver that the scheduler uses to look up groups.
    pub resolver: ResolverKind,
    /// The version of `YuniKorn` that reads the configuration.
    pub version: Version,
    /// The aliases that the ACLs name.
    pub granted_aliases: BTreeSet<String>,
}

/// Maps parts of the text that `YuniKorn` reads, and of its base, to locations.
pub trait Locate: fmt::Debug {
    /// Returns the location of a part of the text.
    fn in_text(&self, span: Option<Span>) -> TextLocation;

    /// Returns the location of a part of the base.
    fn in_base(&self, span: Option<Span>) -> TextLocation {
        self.in_text(span)
    }
}

/// A generated text, whose line numbers are meaningless.
impl Locate for Arc<str> {
    fn in_text(&self, _: Option<Span>) -> TextLocation {
        TextLocation { name: Self::clone(self), ..TextLocation::default() }
    }
}

/// The writers of a text.
#[derive(Debug)]
pub struct Writers<'w> {
    /// The ACLs that objects write.
    pub attributions: &'w [Attribution],
    /// The queues of the base, which wrote everything else, if it is known.
    pub base: Option<&'w Config>,
    /// The names in the objects by their aliases.
    pub aliased: &'w Arc<Aliased>,
    /// The locations in the text and the base.
    pub texts: &'w dyn Locate,
}

impl AccessView {
    /// Reads the queues of a configuration, without their writers.
    ///
    /// # Errors
    /// When an ACL cannot be activated.
    pub fn new(config: &Config, version: Version) -> Result<Self, NotActive> {
        let trees = config.partitions.iter().map(Tree::new).collect::<Result<_, _>>()?;
        Ok(Self::of(trees, config, version))
    }

    /// Reads the queues of the partitions that can be activated, without their writers.
    pub(super) fn active(config: &Config, version: Version) -> Self {
        let trees = config.partitions.iter().filter_map(|partition| Tree::new(partition).ok());
        Self::of(trees.collect(), config, version)
    }

    fn of(trees: Vec<Tree>, config: &Config, version: Version) -> Self {
        let (resolver, granted_aliases) = (ResolverKind::in_force(config), alias::granted(config));
        Self { trees, resolver, version, granted_aliases }
    }

    /// Returns the queues of one partition, by its case-insensitive name.
    pub fn tree(&self, partition: &str) -> Option<&Tree> {
        self.trees.iter().find(|tree| tree.partition().eq_ignore_ascii_case(partition))
    }

    /// Runs the checks of a test, and returns each with its result.
    pub(super) fn run<'e>(&'e self, expectations: &'e Expectations) -> Vec<Check<'e>> {
        let resolver = &self.resolver;
        run(expectations, World { trees: &self.trees, resolver, version: self.version, explain: &sentence })
    }
}

impl Writers<'_> {
    /// Attributes each entry of the trees to its writer.
    pub fn attribute(&self, trees: &mut [Tree]) {
        for tree in trees {
            tree.locate_text(|span| self.texts.in_text(span));
            tree.name_aliases(Arc::clone(self.aliased));
            attribution::mark(tree, self.attributions);
            self.attribute_base(tree);
        }
    }

    /// Attributes all entries to the base, unless objects replace its ACL.
    fn attribute_base(&self, tree: &mut Tree) {
        let Some(partition) = self.base.and_then(|base| base.partition(tree.partition())) else { return };
        let replacing = self
            .attributions
            .iter()
            .filter(|part| !part.base_stays && part.partition.eq_ignore_ascii_case(&partition.name));
        let replaced: HashSet<_> = replacing.map(|part| (&part.queue, part.right)).collect();
        for queue in partition.queues() {
            tree.name_at(&queue.path, queue.head.map(|head| self.texts.in_base(Some(head))));
            for right in Right::ALL {
                let written = queue.acl(right);
                if written.is_empty() || replaced.contains(&(&queue.path, right)) {
                    continue;
                }
                if let Ok(acl) = acl::parse(&written.value) {
                    let origin = Origin::Text(self.texts.in_base(written.span));
                    tree.attribute(&queue.path, right, origin, &acl);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::attribution::Part;
    use jiff::Timestamp;
    use yunikorn::config::verdict;
    use yunikorn::identity::Identity;
    use yunikorn::queue::QueuePath;
    use yunikorn_access::decide::explain;
    use yunikorn_access::until;

    const END: Option<Timestamp> = Some(Timestamp::UNIX_EPOCH);

    #[derive(Debug)]
    struct TextAndBase;

    impl Locate for TextAndBase {
        fn in_text(&self, span: Option<Span>) -> TextLocation {
            TextLocation { name: "live".into(), span, ..TextLocation::default() }
        }

        fn in_base(&self, span: Option<Span>) -> TextLocation {
            TextLocation { name: "base".into(), ..self.in_text(span) }
        }
    }

    fn config(acl: &str) -> Config {
        let root = format!("{{name: root, queues: [{{name: a, submitacl: '{acl}'}}]}}");
        let text = format!("partitions: [{{name: default, queues: [{root}]}}]");
        verdict(&text, &[], Version::V1_8).config.unwrap()
    }

    /// Returns the view of a text with an ACL from an object with an end.
    fn view(text: &str, base: Option<&str>, object: &str, base_stays: bool) -> AccessView {
        let acl = acl::parse(object).unwrap();
        let attribution = Attribution {
            partition: "default".into(),
            queue: QueuePath::parse("root.a").unwrap(),
            right: Right::Submit,
            objects: vec![Part { name: "object".into(), acl, until: END }],
            base_stays,
        };
        let base = base.map(config);
        let mut view = AccessView::new(&config(text), Version::V1_8).unwrap();
        let writers = Writers {
            attributions: &[attribution],
            base: base.as_ref(),
            aliased: &Arc::default(),
            texts: &TextAndBase,
        };
        writers.attribute(&mut view.trees);
        view
    }

    fn identity(user: &str) -> Identity {
        Identity { user: user.to_owned(), groups: Vec::new() }
    }

    /// Returns the writers of the entry for a user.
    fn writers(view: &AccessView, user: &str) -> Vec<String> {
        let decision = explain(view.tree("DEFAULT").unwrap(), Right::Submit, "root.a", &identity(user));
        let origins = decision.granted_by().map(|step| step.origins.clone()).unwrap_or_default().into_iter();
        let named = origins.map(|origin| match origin {
            Origin::Object { name, .. } => name,
            Origin::Text(location) => location.name.to_string(),
        });
        named.collect()
    }

    #[test]
    fn entries_come_from_objects_the_base_or_neither() {
        let extended = view("bob,eve,sue", Some("bob,sue"), "sue", true);
        assert_eq!(writers(&extended, "sue"), ["object", "base"]);
        assert_eq!(writers(&extended, "bob"), ["base"]);
        // Someone wrote the live text by hand.
        assert_eq!(writers(&extended, "eve"), ["live"]);
        let replaced = view("sue", Some("bob,sue"), "sue", false);
        assert_eq!(writers(&replaced, "sue"), ["object"]);
        assert!(writers(&replaced, "bob").is_empty());
        // An object whose grant is not live yet grants nothing.
        assert!(writers(&view("bob", Some("bob"), "sue", true), "sue").is_empty());
    }

    #[test]
    fn what_the_base_grants_as_well_has_no_end() {
        for (base, sue) in [(None, END), (Some("bob,sue"), None)] {
            let view = view("ann,bob,sue", base, "ann,sue", true);
            let tree = view.tree("default").unwrap();
            let id = tree.find(&QueuePath::parse("root.a").unwrap()).unwrap();
            let ends = ["ann", "bob", "sue"].map(|user| until(tree, Right::Submit, id, &identity(user)));
            assert_eq!(ends, [END, None, sue]);
        }
    }
}
