//! The configuration that questions are about: the queues that `YuniKorn` has, or would have, and who wrote
//! their ACLs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::texts::Text;
use crate::output::format::suggestion;
use crate::output::text::Source;
use crate::output::{Console, Failure};
use go_compat::diag::{Diagnostic, Span};
use queuewarden_api::answer::{Texts, WrittenIn};
use queuewarden_plan::attribution::{self, Attribution};
use queuewarden_plan::conditions::{Reason, Status, Type, find};
use queuewarden_plan::snapshot::Snapshot;
use queuewarden_plan::timeline::Later;
use queuewarden_plan::{ResourceKind, admission_keys, admission_settings, merged, risks};
use queuewarden_report::{Change, Outside, WithoutEffect, changes, outside, without_effect};
use yunikorn::acl;
use yunikorn::config::{BUILT_IN, Config, verdict};
use yunikorn::identity::{Claim, GroupResolver, Identity, Refusal, identify};
use yunikorn::right::Right;
use yunikorn::version::Version;
use yunikorn_access::alias::Aliased;
use yunikorn_access::{Origin, Tree};

/// A text, its base, and who wrote which part.
#[derive(Debug, Clone)]
pub struct Written {
    /// The text that the questions are about.
    pub text: Text,
    /// The text it was made from, if objects write ACLs into it.
    pub base: Option<Text>,
    /// The ACLs that objects write.
    pub attributions: Arc<[Attribution]>,
    /// The objects and settings beside it.
    pub around: Around,
    /// The version of `YuniKorn` that reads it.
    pub version: Version,
    /// The objects that make another text of it when they begin or end; `None` if it stays as it is.
    pub over_time: Option<Arc<Snapshot>>,
}

/// The objects and settings beside the queues.
#[derive(Debug, Clone, Default)]
pub struct Around {
    /// Known changes and their authors.
    pub changes: Vec<Change>,
    /// The objects outside their time.
    pub outside: Vec<Outside>,
    /// The objects that change nothing.
    pub without_effect: Vec<WithoutEffect>,
    /// The admission settings, with what they are written in.
    pub admission: Vec<(&'static str, String, Origin)>,
    /// Findings about the admission settings, with what they are written in.
    pub risks: Vec<(Origin, Diagnostic)>,
    /// The admission settings, by their keys.
    pub settings: BTreeMap<String, String>,
    /// The objects that are refused, as messages name them, with the reasons.
    pub refused: BTreeMap<String, String>,
    /// The objects of which a part is not in force because no webhook writes aliases, with the reasons.
    pub without_webhook: Vec<String>,
    /// The names in the objects by their aliases.
    pub aliased: Arc<Aliased>,
}

impl Around {
    /// Takes what is beside the queues from what was read, and from what the operator makes of it.
    pub fn new(read: &Snapshot, settled: &Snapshot) -> Self {
        Self {
            changes: changes(read),
            outside: outside(read),
            without_effect: without_effect(settled),
            admission: admission_settings(settled),
            risks: risks(settled),
            settings: admission_keys(&merged(settled)),
            refused: refused(settled),
            without_webhook: without_webhook(settled),
            aliased: Arc::new(read.aliased()),
        }
    }

    /// Adds a note for each refused object, and for each that names what only an alias can.
    pub fn note_refused(&self, notes: &mut Vec<String>) {
        notes.extend(self.refused.iter().map(|(object, why)| format!("{object} grants nothing: {why}")));
        notes.extend(self.without_webhook.iter().cloned());
    }
}

/// Returns the objects of a settled snapshot that are refused.
fn refused(settled: &Snapshot) -> BTreeMap<String, String> {
    let acls = settled.queue_acls.iter().map(|entry| (ResourceKind::QueueAcl, &entry.meta));
    let policies = settled.policies.iter().map(|entry| (ResourceKind::AdmissionPolicy, &entry.meta));
    let refused = acls.chain(policies).filter_map(|(kind, meta)| {
        let accepted = find(&meta.conditions, Type::Accepted)?;
        let why = (accepted.status != Status::True).then(|| accepted.message.clone())?;
        Some((kind.object(meta.name.clone()).to_string(), why))
    });
    refused.collect()
}

/// Names the `QueueAcl`s of which a part is not in force because no webhook writes aliases.
fn without_webhook(settled: &Snapshot) -> Vec<String> {
    let metas = settled.queue_acls.iter().map(|entry| &entry.meta);
    let lacking = metas.filter_map(|meta| {
        let effective = find(&meta.conditions, Type::Effective)?;
        let lacks = effective.reason == Reason::IdentityWebhookMissing.as_str();
        // A refused object is reported with the other refused ones.
        let is_accepted = find(&meta.conditions, Type::Accepted)?.status == Status::True;
        (lacks && is_accepted)
            .then(|| format!("{}: {}", ResourceKind::QueueAcl.object(meta.name.clone()), effective.message))
    });
    lacking.collect()
}

impl Written {
    /// Wraps a text of which nothing else is known.
    pub fn text_alone(text: Text, version: Version) -> Self {
        let (attributions, around) = ([].into(), Around::default());
        Self { text, base: None, attributions, around, version, over_time: None }
    }
}

/// The queues of all partitions, with origins.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// The configuration as `YuniKorn` reads it.
    pub config: Config,
    /// The validators' findings on the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The objects and settings beside it.
    pub around: Around,
    /// The version of `YuniKorn` that reads it.
    pub version: Version,
    /// The notes about reading it.
    pub notes: Vec<String>,
    /// The objects that change it when they begin or end; `None` if it stays as it is.
    pub over_time: Option<Arc<Snapshot>>,
    trees: Vec<Tree>,
    text: Text,
    base: Option<Text>,
    attributions: Arc<[Attribution]>,
}

/// A text that `YuniKorn` does not accept.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The reason in `YuniKorn`'s words.
    pub reason: String,
    /// True if `YuniKorn` would start with it all the same: a wrong placement rule stops only a reload.
    pub starts: bool,
    /// Findings, with spans in the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The text.
    pub text: Text,
}

impl Configuration {
    /// Reads the text and attributes each entry to its writer.
    ///
    /// # Errors
    /// When a running `YuniKorn` would reject the text: then nobody knows what it runs.
    pub fn from_written(written: Written) -> Result<Self, Box<Refused>> {
        let (configuration, refused) = Self::at_start(written)?;
        refused.map_or(Ok(configuration), Err)
    }

    /// Reads the text as a `YuniKorn` that starts with it, and returns the reason why a running one would
    /// reject it.
    ///
    /// # Errors
    /// When it would not start, either.
    pub fn at_start(written: Written) -> Result<(Self, Option<Box<Refused>>), Box<Refused>> {
        let Written { text, base, attributions, around, version, over_time } = written;
        let verdict = verdict(&text.text, &[], version);
        let refusal = verdict.refusal();
        let refused = |reason: String, starts: bool| {
            Box::new(Refused { reason, starts, diagnostics: verdict.diagnostics.clone(), text: text.clone() })
        };
        let Some(config) = verdict.config.filter(|_| verdict.starts.is_ok()) else {
            return Err(refused(refusal.unwrap_or_default(), false));
        };
        let trees = config.partitions.iter().map(Tree::new).collect::<Result<Vec<_>, _>>();
        let trees = trees.map_err(|error| refused(error.to_string(), false))?;
        let refused = refusal.map(|reason| refused(reason, true));
        let diagnostics = verdict.diagnostics;
        let notes = Vec::new();
        let mut configuration =
            Self { config, diagnostics, around, version, notes, over_time, trees, text, base, attributions };
        for tree in &mut configuration.trees {
            attribution::mark(tree, &configuration.attributions, None);
            tree.name_aliases(Arc::clone(&configuration.around.aliased));
        }
        let mut trees = std::mem::take(&mut configuration.trees);
        configuration.attribute_base(&mut trees, &configuration.attributions);
        Ok((Self { trees, ..configuration }, refused))
    }

    /// Returns the same with these notes about reading it.
    #[must_use]
    pub fn with_notes(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }

    /// Prints the notes about reading it, except those that are about another one, too.
    pub fn note(&self, before: Option<&Self>, console: Console) {
        let is_new = |note: &&String| before.is_none_or(|before| !before.notes.contains(note));
        self.notes.iter().filter(is_new).for_each(|note| console.note(note));
    }

    /// Returns the queues of one partition; its name is matched without case.
    ///
    /// # Errors
    /// When there is no partition of this name.
    pub fn tree(&self, partition: &str) -> Result<&Tree, Failure> {
        let tree = self.trees.iter().find(|tree| tree.partition().eq_ignore_ascii_case(partition));
        tree.ok_or_else(|| {
            let names: Vec<&str> = self.trees.iter().map(Tree::partition).collect();
            let hint = suggestion(names.iter().copied(), partition);
            let only = match names.as_slice() {
                [] => "none at all".to_owned(),
                names => format!("only `{}`", names.join("`, `")),
            };
            Failure::Undecided(format!("{} has no partition `{partition}`, {only}{hint}", self.text.name()))
        })
    }

    /// Returns the text that the questions are about.
    pub fn written(&self) -> &str {
        &self.text.text
    }

    /// Returns whether it is `YuniKorn`'s built-in configuration, or was made of it.
    pub fn is_built_in(&self) -> bool {
        self.base.as_ref().unwrap_or(&self.text).text == BUILT_IN
    }

    /// Returns a user as the scheduler sees it.
    ///
    /// # Errors
    /// `YuniKorn`'s refusal, or that it cannot be known.
    pub fn identify(&self, of: &Identity, resolver: &dyn GroupResolver) -> Result<Identity, Refusal> {
        let tree = self.trees.iter().find(|tree| tree.has_aliases()).or(self.trees.first());
        tree.map_or_else(
            || identify(Claim::from(of), resolver, self.version),
            |tree| tree.identify(of, resolver, self.version),
        )
    }

    /// Returns the queues of each partition, in the order of the text.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// Returns the source and the span on which to draw a finding about an origin; `None` for an object, and
    /// if the span is unknown.
    pub fn shown(&self, origin: &Origin) -> Option<(&Source, Option<Span>)> {
        let Origin::Text(Some(span)) = origin else { return None };
        let (text, span) = self.home(*span);
        Some(text.shown(Some(span)))
    }

    /// Returns the source on which to draw findings about the text, and the findings with their spans in it.
    pub fn drawn(
        &self,
        findings: impl Iterator<Item = Diagnostic>,
    ) -> (&Source, impl Iterator<Item = Diagnostic>) {
        let moved = move |found: Diagnostic| Diagnostic {
            span: found.span.map(|span| self.text.at_home(span)),
            ..found
        };
        (self.text.shown(None).0, findings.map(moved))
    }

    /// Returns the text that contains a span, and the span in that text.
    fn home(&self, span: Span) -> (&Text, Span) {
        match span.start.checked_sub(self.behind()) {
            Some(start) => {
                let length = span.end.saturating_sub(span.start);
                (self.base.as_ref().unwrap_or(&self.text), Span::new(start, start.saturating_add(length)))
            }
            None => (&self.text, span),
        }
    }

    /// Returns the offset of spans in the base, which distinguishes them from spans in the text.
    fn behind(&self) -> usize {
        self.text.text.len().saturating_add(1)
    }

    /// Describes each ACL of the base that objects replaced before and that none replaces now.
    pub fn returning(&self, before: &Self) -> Vec<String> {
        let base = self.base_queues();
        // A text that no object writes into is a base by itself.
        attribution::returning(
            &before.attributions,
            &self.attributions,
            base.as_ref().unwrap_or(&self.config),
        )
    }

    fn base_queues(&self) -> Option<Config> {
        verdict(&self.base.as_ref()?.text, &[], self.version).config
    }

    /// Returns its partitions at later moments, with each entry attributed to its writer.
    pub fn later(&self, moments: Vec<Later>) -> Vec<(Timestamp, Vec<Tree>)> {
        let attributed = |mut later: Later| {
            for tree in &mut later.trees {
                attribution::mark(tree, &later.attributions, None);
            }
            self.attribute_base(&mut later.trees, &later.attributions);
            later.into_step()
        };
        moments.into_iter().map(attributed).collect()
    }

    /// Attributes to the base all entries that no object writes.
    fn attribute_base(&self, trees: &mut [Tree], attributions: &[Attribution]) {
        let behind = self.behind();
        let Some(base) = self.base_queues() else { return };
        for tree in trees {
            let Some(partition) = base.partition(tree.partition()) else { continue };
            for queue in partition.queues() {
                tree.name_at(&queue.path, queue.head.map(|head| head.shifted(behind)));
            }
            let replaced: BTreeSet<_> = attributions
                .iter()
                .filter(|part| !part.base_stays && part.partition.eq_ignore_ascii_case(&partition.name))
                .map(|part| (&part.queue, part.right))
                .collect();
            for (queue, right) in partition.queues().flat_map(|queue| Right::ALL.map(|right| (queue, right)))
            {
                if replaced.contains(&(&queue.path, right)) {
                    continue;
                }
                let written = queue.acl(right);
                if let (Some(span), Ok(own)) = (written.span, acl::parse(&written.value)) {
                    tree.attribute(&queue.path, right, Origin::Text(Some(span.shifted(behind))), &own);
                }
            }
        }
    }
}

impl Texts for Configuration {
    fn name(&self) -> &str {
        self.text.name()
    }

    fn locate(&self, span: Option<Span>) -> WrittenIn {
        match span.map(|span| self.home(span)) {
            Some((text, span)) => text.locate(span),
            None => WrittenIn::text(self.name(), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewarden_api::answer::Answers;
    use queuewarden_plan::attribution::Part;
    use yunikorn::identity::Identity;
    use yunikorn::queue::QueuePath;
    use yunikorn_access::decide::explain;

    fn queues(acl: &str) -> String {
        format!(
            "partitions: [{{name: default, queues: [{{name: root, queues: [{{name: a, submitacl: '{acl}'}}]}}]}}]\n"
        )
    }

    fn attribution(object: &str, acl: &str, base_stays: bool) -> Attribution {
        Attribution {
            partition: "default".into(),
            queue: QueuePath::parse("root.a").unwrap(),
            right: Right::Submit,
            objects: vec![Part { name: object.into(), acl: acl::parse(acl).unwrap(), until: None }],
            base_stays,
        }
    }

    /// Returns the locations of the entry for a user.
    fn origins(configuration: &Configuration, user: &str) -> Vec<String> {
        let tree = configuration.tree("default").unwrap();
        let identity = Identity { user: user.to_owned(), groups: Vec::new() };
        let decision = explain(tree, Right::Submit, "root.a", &identity);
        let entry = decision.granted_by().and_then(|step| step.entry.clone());
        let origins = entry.map(|entry| entry.origins).unwrap_or_default();
        Answers { configuration, tree }.origins(&origins).iter().map(WrittenIn::words).collect()
    }

    fn written(text: &str, base: &str, attributions: Vec<Attribution>) -> Configuration {
        let written = Written {
            text: Text::whole("live", queues(text)),
            base: Some(Text::whole("base", format!("# one line more\n{}", queues(base)))),
            attributions: attributions.into(),
            around: Around::default(),
            version: Version::V1_8,
            over_time: None,
        };
        Configuration::from_written(written).unwrap()
    }

    #[test]
    fn entries_come_from_objects_the_base_or_neither() {
        let extended = written("bob,eve,sue", "bob,sue", vec![attribution("a", "sue", true)]);
        assert_eq!(origins(&extended, "sue"), ["QueueAcl/a", "base:2:82"]);
        assert_eq!(origins(&extended, "bob"), ["base:2:82"]);
        // Somebody wrote the live text by hand.
        assert_eq!(origins(&extended, "eve"), ["live:1:82"]);
        let replaced = written("sue", "bob,sue", vec![attribution("a", "sue", false)]);
        assert_eq!(origins(&replaced, "sue"), ["QueueAcl/a"]);
        assert!(origins(&replaced, "bob").is_empty());
        // An object whose grant is not live yet grants nothing.
        let pending = written("bob", "bob", vec![attribution("a", "sue", true)]);
        assert!(origins(&pending, "sue").is_empty());
    }

    #[test]
    fn what_yunikorn_refuses_is_not_asked_about() {
        let written = |text: String| Written::text_alone(Text::whole("q", text), Version::V1_8);
        let refused = Configuration::from_written(written(queues("a  b"))).unwrap_err();
        assert!(refused.reason.contains("multiple spaces found"), "{}", refused.reason);
        assert!(refused.diagnostics.iter().any(Diagnostic::is_error));
        let rules = "partitions: [{name: default, placementrules: [{name: nope}], queues: [{name: root}]}]";
        assert!(Configuration::from_written(written(rules.to_owned())).is_err_and(|refused| refused.starts));
        let (_, refused) = Configuration::at_start(written(rules.to_owned())).unwrap();
        assert!(refused.unwrap().reason.starts_with("unknown rule name specified nope"));
        let configuration = Configuration::from_written(written(queues("a"))).unwrap();
        assert!(configuration.tree("DEFAULT").is_ok());
        let failure = configuration.tree("defualt").unwrap_err().to_string();
        assert!(failure.ends_with("did you mean `default`?"), "{failure}");
    }
}
