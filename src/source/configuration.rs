//! The configuration that questions are about: the queues that `YuniKorn` has, or would have, the texts that
//! they were read from, and locations in them (`queues.yaml:12:20`).

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::input::Inputs;
use super::input::object::{Document, token};
use super::input::scalar::ContentSpans;
use crate::output::findings::plural;
use crate::output::format::suggestion;
use crate::output::text::Source;
use crate::output::{Console, Failure, diagnostic, statuses};
use go_compat::diag::{Diagnostic, Span};
use queuewarden_plan::attribution::{self, Attribution};
use queuewarden_plan::conditions::{Reason, Status, Type, find};
use queuewarden_plan::simulate::{Settled, enforced, settle};
use queuewarden_plan::snapshot::{ConfigSpec, Mode, PolicyEntry, QueueAclEntry, Snapshot};
use queuewarden_plan::time::Later;
use queuewarden_plan::view::{AccessView, Locate, Writers};
use queuewarden_plan::{ObjectRef, ParseCache, ResourceKind, config_map_of, grants, merged_alone};
use yunikorn::config::{BUILT_IN, Config, Flattened};
use yunikorn::identity::{Claim, GroupResolver, Identity, Refusal, identify};
use yunikorn::right::Right;
use yunikorn::version::Version;
use yunikorn_access::alias::Aliased;
use yunikorn_access::{Origin, TextLocation, Tree};

/// A text, and its location if it is part of another.
#[derive(Debug, Clone)]
pub struct Text {
    /// The text that `YuniKorn` reads.
    pub text: String,
    /// The file or key that holds it: `yunikorn-configs/queues.yaml`.
    source: Source,
    /// The bytes of a text that is a string inside the file.
    inside: Option<ContentSpans>,
    /// True if it was generated, so that its line numbers mean nothing.
    made: bool,
}

impl Text {
    /// Creates a text that is the whole of `name`.
    pub fn whole(name: impl AsRef<str>, text: String) -> Self {
        Self::of(&Source::new(name, text.as_str()), text)
    }

    /// Creates a generated text with a name.
    pub fn made(name: impl AsRef<str>, text: String) -> Self {
        Self { made: true, ..Self::whole(name, text) }
    }

    /// Creates a text that is the whole of a source.
    pub fn of(source: &Source, text: String) -> Self {
        Self { source: source.clone(), text, inside: None, made: false }
    }

    /// Returns the name for people: a file, or `yunikorn-configs/queues.yaml`.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// Creates a text that is the value of a key of `data` in the manifest of a ConfigMap.
    pub fn inside(inputs: &Inputs, document: &Document, key: &str, text: String) -> Self {
        let content = inputs.content_spans(document, &format!("/data/{}", token(key)));
        match (content, inputs.sources.get(document.source)) {
            (Some(content), Some(source)) => {
                Self { text, source: source.clone(), inside: Some(content), made: false }
            }
            // In `binaryData` it is encoded: it has lines, but they are not those of the file.
            _ => Self::whole(format!("{}#{key}", inputs.name(document.source)), text),
        }
    }

    /// Returns the source and the span on which to draw a finding about it.
    pub fn shown(&self, span: Option<Span>) -> (&Source, Option<Span>) {
        (&self.source, span.map(|span| self.at_home(span)))
    }

    /// Returns the span in that source.
    pub fn at_home(&self, span: Span) -> Span {
        self.inside.as_ref().map_or(span, |inside| inside.span(span))
    }

    /// Returns the location of a part of it.
    pub fn locate(&self, span: Option<Span>) -> TextLocation {
        let position = span.filter(|_| !self.made).map(|span| self.source.position(self.at_home(span).start));
        let (line, column) = position.unzip();
        TextLocation { name: self.name().into(), line, column, span }
    }
}

/// A text and its origin.
#[derive(Debug, Clone)]
pub struct RenderedText {
    /// The text that the questions are about.
    pub text: Text,
    /// The base, if objects write ACLs into it.
    pub base: Option<Text>,
    /// The ACLs that objects write.
    pub attributions: Arc<[Attribution]>,
    /// The objects and settings of the cluster.
    pub context: ClusterContext,
    /// The objects that make another text when they begin or end; `None` if it stays as it is.
    pub over_time: Option<Arc<Snapshot>>,
    /// The texts that were parsed to make it.
    pub cache: ParseCache,
}

impl RenderedText {
    /// Wraps a text without other information.
    pub fn alone(text: Text, version: Version) -> Self {
        Self {
            text,
            base: None,
            attributions: [].into(),
            context: ClusterContext::default(),
            over_time: None,
            cache: ParseCache::new(version),
        }
    }
}

impl Locate for RenderedText {
    fn in_text(&self, span: Option<Span>) -> TextLocation {
        self.text.locate(span)
    }

    fn in_base(&self, span: Option<Span>) -> TextLocation {
        self.base.as_ref().unwrap_or(&self.text).locate(span)
    }
}

/// The objects and settings of a cluster, or of files.
#[derive(Debug, Clone, Default)]
pub struct ClusterContext {
    /// What was read.
    pub read: Arc<Snapshot>,
    /// The same after everything that the operator does.
    pub settled: Arc<Snapshot>,
}

impl ClusterContext {
    /// Wraps the given configuration, if the operator has nothing to do.
    pub fn unchanged(read: Snapshot) -> Self {
        let read = Arc::new(read);
        Self { settled: Arc::clone(&read), read }
    }

    /// Returns the objects that are refused, as messages name them, with the reasons.
    pub fn refused(&self) -> BTreeMap<String, String> {
        let acls = self.settled.queue_acls.iter().map(|entry| (ResourceKind::QueueAcl, &entry.meta));
        let policies = self.settled.policies.iter().map(|entry| (ResourceKind::AdmissionPolicy, &entry.meta));
        let refused = acls.chain(policies).filter_map(|(kind, meta)| {
            let accepted = find(&meta.conditions, Type::Accepted)?;
            let why = (accepted.status != Status::True).then(|| accepted.message.clone())?;
            Some((kind.object(meta.name.clone()).to_string(), why))
        });
        refused.collect()
    }

    /// Adds a note for each refused object, and for each `QueueAcl` of which a part is not in force because
    /// no webhook writes aliases.
    pub fn note_refused(&self, notes: &mut Vec<String>) {
        notes.extend(self.refused().iter().map(|(object, why)| format!("{object} grants nothing: {why}")));
        let metas = self.settled.queue_acls.iter().map(|entry| &entry.meta);
        notes.extend(metas.filter_map(|meta| {
            let effective = find(&meta.conditions, Type::Effective)?;
            let lacks = effective.reason == Reason::IdentityWebhookMissing.as_str();
            // A refused object is reported with the other refused ones.
            let is_accepted = find(&meta.conditions, Type::Accepted)?.status == Status::True;
            (lacks && is_accepted).then(|| {
                format!("{}: {}", ResourceKind::QueueAcl.object(meta.name.clone()), effective.message)
            })
        }));
    }
}

/// Returns the text in the ConfigMaps that merge to `flat`, or else `YuniKorn`'s own configuration, which is
/// in force then. `located` returns a text with its location, by the names of its ConfigMap and key.
///
/// # Errors
/// When the text is ambiguous.
pub fn current(
    flat: &Flattened,
    located: impl FnOnce(&str, &str, String) -> Text,
    notes: &mut Vec<String>,
) -> Result<Text, Failure> {
    let key = flat.queues_key();
    if flat.is_ambiguous(&key) {
        return Err(Failure::Undecided(format!(
            "several keys of one binaryData give {key} different values, and YuniKorn chooses one at \
            random"
        )));
    }
    if let Some(queues) = flat.queues(&key) {
        let origin = &queues.origin;
        return Ok(located(config_map_of(origin.source), &origin.key, queues.text.clone()));
    }
    notes.push(format!(
        "no ConfigMap has {key}: YuniKorn runs its built-in configuration, in which everyone may submit \
        everywhere"
    ));
    Ok(Text::made("YuniKorn's built-in configuration", BUILT_IN.to_owned()))
}

/// Returns the operator's output. `located` returns a text with its location, by the names of its
/// ConfigMap and key.
///
/// # Errors
/// When it would write nothing.
pub fn written(
    snapshot: &Snapshot,
    located: impl FnOnce(&str, &str, String) -> Text,
    notes: &mut Vec<String>,
) -> Result<RenderedText, Failure> {
    let settled = settle(enforced(snapshot));
    let Some(rendered) = settled.plan.rendered.as_ref().filter(|_| settled.applied()) else {
        let observed = settle(snapshot.clone());
        return Err(not_applied(if observed.only_observes() { &settled } else { &observed }));
    };
    if settled.written && snapshot.spec().is_some_and(|spec| spec.mode == Mode::Observe) {
        notes.push(
            "mode Observe: this shows the output that the operator would write with mode Enforce".to_owned(),
        );
    }
    let base = base(&settled.snapshot, snapshot.spec(), &rendered.key, located);
    let name = base.as_ref().map_or("the built-in configuration", Text::name);
    let name = match snapshot.queue_acls.len() {
        0 => name.to_owned(),
        count => format!("{name} with {}", plural(count, "QueueAcl")),
    };
    let attributions = Arc::clone(&settled.plan.contributions);
    let text = Text::made(name, rendered.text.clone());
    let context = ClusterContext { read: Arc::new(snapshot.clone()), settled: Arc::new(settled.snapshot) };
    context.note_refused(notes);
    let over_time = Some(Arc::clone(&context.settled));
    Ok(RenderedText { text, base, attributions, context, over_time, cache: settled.cache })
}

/// Returns the text of the base.
pub fn base(
    snapshot: &Snapshot,
    spec: Option<&ConfigSpec>,
    key: &str,
    located: impl FnOnce(&str, &str, String) -> Text,
) -> Option<Text> {
    let map = snapshot.base.as_deref()?;
    let alone = merged_alone(map);
    let value = alone
        .get(spec.and_then(|spec| spec.base_key.as_deref()).unwrap_or(key))
        .filter(|value| !value.text.is_empty())?;
    Some(located(&map.name, &value.origin.key, value.text.clone()))
}

fn not_applied(settled: &Settled) -> Failure {
    let objects = statuses::objects(&settled.plan);
    let config = objects.iter().filter(|object| object.kind == ResourceKind::YuniKornConfig);
    let why =
        config.flat_map(|object| object.problems().map(|(condition, _)| condition.message.clone())).next();
    Failure::Undecided(format!(
        "the operator would not write the ConfigMap: {}",
        why.unwrap_or_else(|| "its plan gives no text".to_owned())
    ))
}

/// A text as `YuniKorn` reads it.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// The queues of all partitions, with origins.
    pub view: AccessView,
    /// The configuration as `YuniKorn` reads it.
    pub config: Arc<Config>,
    /// The validators' findings on the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The text.
    pub rendered: RenderedText,
    /// The notes about reading it.
    pub notes: Vec<String>,
    base: Option<Arc<Config>>,
    aliased: Arc<Aliased>,
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

impl Refused {
    /// Prints the errors of the text, and returns the failure that follows.
    fn failure(&self, console: Console) -> Failure {
        let why = self.show(console);
        let unless = if self.starts { ", unless it is restarted" } else { "" };
        let name = self.text.name();
        Failure::Undecided(format!("YuniKorn does not accept the configuration in {name}{why}{unless}"))
    }

    /// Warns that the answers assume a scheduler that was started with the text.
    fn warn(&self, console: Console) {
        let why = self.show(console);
        console.err(&format!(
            "warning: a running YuniKorn does not take {} over{why}; the answer is that of one which starts with \
             it, and so without placement rules\n",
            self.text.name()
        ));
    }

    /// Prints the errors of the text. If it has no errors, returns the reason without line breaks.
    fn show(&self, console: Console) -> String {
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
        let draw = |found: &Diagnostic| {
            let (source, span) = self.text.shown(found.span);
            diagnostic::draw(&found.clone().at(span), Some(source), None, console.look_err())
        };
        let shown: String = errors.map(draw).collect();
        console.err(&shown);
        let reason = self.reason.split_whitespace().collect::<Vec<_>>().join(" ");
        if shown.is_empty() { format!(": {reason}") } else { String::new() }
    }
}

impl Configuration {
    /// Reads the text and attributes each entry to its writer. The notes are printed only if that fails.
    ///
    /// # Errors
    /// When `YuniKorn` would not start with the text, or a running one would reject it; the latter only
    /// without `starts`.
    pub fn read(
        rendered: RenderedText,
        notes: Vec<String>,
        starts: bool,
        console: Console,
    ) -> Result<Self, Failure> {
        let refuse = |refused: Box<Refused>| {
            console.notes(&notes);
            refused.failure(console)
        };
        let (configuration, refused) = Self::at_start(rendered).map_err(refuse)?;
        match refused {
            Some(refused) if starts => refused.warn(console),
            Some(refused) => return Err(refuse(refused)),
            None => {}
        }
        Ok(Self { notes, ..configuration })
    }

    /// Reads the text like a `YuniKorn` that starts with it, and returns the reason if a running one would
    /// reject it.
    ///
    /// # Errors
    /// When it would not start, either.
    pub fn at_start(mut rendered: RenderedText) -> Result<(Self, Option<Box<Refused>>), Box<Refused>> {
        let parsed = rendered.cache.read(&rendered.text.text);
        let refused = |reason: &str, starts| {
            let (diagnostics, text) = (parsed.diagnostics.clone(), rendered.text.clone());
            Box::new(Refused { reason: reason.to_owned(), starts, diagnostics, text })
        };
        let Some(config) = parsed.tree.clone().filter(|_| parsed.starts) else {
            return Err(refused(parsed.refusal.as_deref().unwrap_or_default(), false));
        };
        let view = AccessView::new(&config, rendered.cache.version());
        let view = view.map_err(|error| refused(&error.to_string(), false))?;
        let refused = parsed.refusal.as_deref().map(|reason| refused(reason, true));
        let base = rendered.base.as_ref().and_then(|base| rendered.cache.read(&base.text).tree.clone());
        let (diagnostics, notes) = (parsed.diagnostics.clone(), Vec::new());
        let aliased = Arc::new(rendered.context.read.aliased());
        let mut configuration = Self { view, config, diagnostics, rendered, notes, base, aliased };
        let mut trees = std::mem::take(&mut configuration.view.trees);
        configuration.writers(&configuration.rendered.attributions).attribute(&mut trees);
        configuration.view.trees = trees;
        Ok((configuration, refused))
    }

    fn writers<'a>(&'a self, attributions: &'a [Attribution]) -> Writers<'a> {
        Writers { attributions, base: self.base.as_deref(), aliased: &self.aliased, texts: &self.rendered }
    }

    /// Prints the notes about reading it, except notes that also apply to another configuration.
    pub fn note(&self, before: Option<&Self>, console: Console) {
        let is_new = |note: &&String| before.is_none_or(|before| !before.notes.contains(note));
        self.notes.iter().filter(is_new).for_each(|note| console.note(note));
    }

    /// Returns the name of the text.
    pub fn name(&self) -> &str {
        self.rendered.text.name()
    }

    /// Returns the queues of one partition; its name is matched without case.
    ///
    /// # Errors
    /// When there is no partition of this name.
    pub fn tree(&self, partition: &str) -> Result<&Tree, Failure> {
        self.view.tree(partition).ok_or_else(|| {
            let names: Vec<&str> = self.view.trees.iter().map(Tree::partition).collect();
            let hint = suggestion(names.iter().copied(), partition);
            let only = match names.as_slice() {
                [] => "none at all".to_owned(),
                names => format!("only `{}`", names.join("`, `")),
            };
            Failure::Undecided(format!("{} has no partition `{partition}`, {only}{hint}", self.name()))
        })
    }

    /// Returns the text that the questions are about.
    pub fn text(&self) -> &str {
        &self.rendered.text.text
    }

    /// Returns whether it is `YuniKorn`'s built-in configuration, or was made of it.
    pub fn is_built_in(&self) -> bool {
        self.rendered.base.as_ref().unwrap_or(&self.rendered.text).text == BUILT_IN
    }

    /// Returns a user as the scheduler sees it.
    ///
    /// # Errors
    /// `YuniKorn`'s refusal, or that it cannot be known.
    pub fn identify(&self, of: &Identity, resolver: &dyn GroupResolver) -> Result<Identity, Refusal> {
        let AccessView { trees, version, .. } = &self.view;
        let tree = trees.iter().find(|tree| tree.has_aliases()).or(trees.first());
        tree.map_or_else(
            || identify(Claim::from(of), resolver, *version),
            |tree| tree.identify(of, resolver, *version),
        )
    }

    /// Returns the source and the span on which to draw a finding about an origin; `None` for an object, and
    /// if the span is unknown.
    pub fn shown(&self, origin: &Origin) -> Option<(&Source, Option<Span>)> {
        let Origin::Text(TextLocation { name, line, span: Some(span), .. }) = origin else { return None };
        let RenderedText { text, base, .. } = &self.rendered;
        // A generated text may have the name of its base, but has no lines.
        let base = base.as_ref().filter(|base| line.is_some() && base.name() == &**name);
        Some(base.unwrap_or(text).shown(Some(*span)))
    }

    /// Returns the source for drawing findings about the text, and the findings with their spans in it.
    pub fn drawn(
        &self,
        findings: impl Iterator<Item = Diagnostic>,
    ) -> (&Source, impl Iterator<Item = Diagnostic>) {
        let text = &self.rendered.text;
        let moved =
            |found: Diagnostic| Diagnostic { span: found.span.map(|span| text.at_home(span)), ..found };
        (text.shown(None).0, findings.map(moved))
    }

    /// Describes each ACL of the base that objects replaced before and that none replaces now.
    pub fn returning(&self, before: &Self) -> Vec<String> {
        let [before, after] = [before, self].map(|of| &*of.rendered.attributions);
        // A text that no object writes into is a base by itself.
        attribution::returning(before, after, self.base.as_ref().unwrap_or(&self.config))
    }

    /// Returns its partitions at later moments, with each entry attributed to its writer.
    pub fn later(&self, moments: Vec<Later>) -> Vec<(Timestamp, Vec<Tree>)> {
        let attributed = |mut later: Later| {
            self.writers(&later.attributions).attribute(&mut later.trees);
            later.into_step()
        };
        moments.into_iter().map(attributed).collect()
    }
}

/// Everything that entries are looked for in.
#[derive(Debug)]
pub struct Evidence {
    /// The objects and ConfigMaps as they were read.
    pub read: Snapshot,
    /// The same, with the statuses that the operator writes.
    pub snapshot: Snapshot,
    /// The text of the base.
    pub base: Option<Text>,
}

/// Objects that are applied to the existing ones, and objects that are deleted.
#[derive(Debug, Clone, Default)]
pub struct ObjectChange {
    /// The `QueueAcl`s to apply.
    pub queue_acls: Vec<Arc<QueueAclEntry>>,
    /// The `AdmissionPolicy` objects to apply.
    pub policies: Vec<PolicyEntry>,
    /// The objects to delete.
    pub deleted: Vec<ObjectRef>,
}

impl ObjectChange {
    /// Returns the objects to apply, as messages name them.
    pub fn applied(&self) -> impl Iterator<Item = String> {
        let acls = self.queue_acls.iter().map(|entry| (ResourceKind::QueueAcl, &entry.meta));
        let policies = self.policies.iter().map(|entry| (ResourceKind::AdmissionPolicy, &entry.meta));
        acls.chain(policies).map(|(kind, meta)| kind.object(meta.name.clone()).to_string())
    }

    /// Returns the rights on queues of a partition that the objects to apply are to give a user.
    pub fn naming(&self, partition: &str, who: &Identity) -> impl Iterator<Item = (String, Right)> {
        let specs = self.queue_acls.iter().filter_map(|entry| entry.spec.as_ref().ok());
        let here = specs.filter(move |spec| spec.partition.eq_ignore_ascii_case(partition));
        let rights = here.flat_map(|spec| {
            [(Right::Submit, &spec.submit), (Right::Admin, &spec.admin)]
                .map(|(right, grant)| (spec, right, grant))
        });
        let named = rights.filter(|(_, _, grant)| grant.as_ref().is_some_and(|grant| grants(grant, who)));
        named.filter_map(|(spec, right, _)| Some((spec.target()?.1.to_string(), right)))
    }

    /// Makes the change. An object of the same name is replaced, but keeps its record of previous grants.
    ///
    /// # Errors
    /// When there is no object that is to be deleted.
    pub fn apply(&self, snapshot: &mut Snapshot) -> Result<(), Failure> {
        let Snapshot { queue_acls, policies, .. } = snapshot;
        for object in &self.deleted {
            let name = &object.name;
            let count = queue_acls.len() + policies.len();
            match object.kind {
                ResourceKind::QueueAcl => queue_acls.retain(|entry| entry.meta.name != *name),
                _ => policies.retain(|entry| entry.meta.name != *name),
            }
            if queue_acls.len() + policies.len() == count {
                return Err(Failure::Usage(format!("there is no {object} to delete")));
            }
        }
        for entry in &self.queue_acls {
            match queue_acls.iter_mut().find(|other| other.meta.name == entry.meta.name) {
                Some(other) => {
                    let in_force = other.in_force.clone();
                    *other = Arc::new(QueueAclEntry { in_force, ..(**entry).clone() });
                }
                None => queue_acls.push(Arc::clone(entry)),
            }
        }
        for entry in &self.policies {
            match policies.iter_mut().find(|other| other.meta.name == entry.meta.name) {
                Some(other) => *other = PolicyEntry { in_force: other.in_force.take(), ..entry.clone() },
                None => policies.push(entry.clone()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::input::object::Kind;

    fn queues(acl: &str) -> String {
        format!(
            "partitions: [{{name: default, queues: [{{name: root, queues: [{{name: a, submitacl: '{acl}'}}]}}]}}]\n"
        )
    }

    fn words(text: &Text, span: Span) -> String {
        Origin::Text(text.locate(Some(span))).words()
    }

    #[test]
    fn entries_of_the_base_are_located_in_it() {
        let rendered = RenderedText {
            base: Some(Text::whole("base", format!("# one line more\n{}", queues("bob,sue")))),
            ..RenderedText::alone(Text::whole("live", queues("bob,eve,sue")), Version::V1_8)
        };
        let (configuration, _) = Configuration::at_start(rendered).unwrap();
        let (_, queue) = configuration.tree("default").unwrap().queues().last().unwrap();
        let parts = queue.grants(Right::Submit).parts.iter();
        let origins: Vec<String> = parts.map(|(origin, _)| origin.words()).collect();
        // Somebody wrote eve into the live text by hand.
        assert_eq!(origins, ["live:1:82", "base:2:82"]);
    }

    #[test]
    fn places_are_lines_and_columns() {
        let text = Text::whole("q.yaml", "a: 1\nbé: x\n".to_owned());
        let cases = [(0, "q.yaml:1:1"), (5, "q.yaml:2:1"), (10, "q.yaml:2:5"), (99, "q.yaml:3:1")];
        for (offset, expected) in cases {
            assert_eq!(words(&text, Span::new(offset, offset)), expected);
        }
        let made = Text::made("the scheduler", "a".to_owned());
        assert_eq!(words(&made, Span::new(0, 1)), "the scheduler");
    }

    #[test]
    fn places_inside_a_config_map_are_those_of_the_file() {
        let manifest = "# one\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  queues.yaml: |\n    a: 1\n    b: 2\n";
        let source = Source::new("c.yaml", manifest);
        let inputs = Inputs::new(vec![source]);
        let object = inputs.of_kind(Kind::ConfigMap).next().unwrap();
        let text = Text::inside(&inputs, &object.document, "queues.yaml", "a: 1\nb: 2\n".to_owned());
        assert_eq!(words(&text, Span::new(8, 9)), "c.yaml:8:8");
        let packed = Text::inside(&inputs, &object.document, "queues.yaml.gz", "a: 1\nb: 2\n".to_owned());
        assert_eq!(words(&packed, Span::new(8, 9)), "c.yaml#queues.yaml.gz:2:4");
    }

    #[test]
    fn what_yunikorn_refuses_is_not_asked_about() {
        let rendered = |text: String| RenderedText::alone(Text::whole("q", text), Version::V1_8);
        let refused = Configuration::at_start(rendered(queues("a  b"))).unwrap_err();
        assert!(refused.reason.contains("multiple spaces found"), "{}", refused.reason);
        assert!(refused.diagnostics.iter().any(Diagnostic::is_error));
        let rules = "partitions: [{name: default, placementrules: [{name: nope}], queues: [{name: root}]}]";
        let read =
            |starts| Configuration::read(rendered(rules.to_owned()), Vec::new(), starts, Console::silent());
        assert!(read(true).is_ok());
        assert!(read(false).unwrap_err().to_string().ends_with("unless it is restarted"));
        let (_, refused) = Configuration::at_start(rendered(rules.to_owned())).unwrap();
        assert!(refused.unwrap().reason.starts_with("unknown rule name specified nope"));
        let (configuration, refused) = Configuration::at_start(rendered(queues("a"))).unwrap();
        assert!(refused.is_none());
        assert!(configuration.tree("DEFAULT").is_ok());
        let failure = configuration.tree("defualt").unwrap_err().to_string();
        assert!(failure.ends_with("did you mean `default`?"), "{failure}");
    }
}
