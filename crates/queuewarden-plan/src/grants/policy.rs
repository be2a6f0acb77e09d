//! `AdmissionPolicy` objects: which one is in effect, and what it writes to
//! `admissionController.accessControl.*`.
//!
//! Unlike ACLs, single values cannot be combined, so only one object is in effect: the one that the
//! `YuniKornConfig` names, otherwise the only one, otherwise the one already in force. Creation time does not
//! matter, because recreating an object must not put another one in its place. If the choice is ambiguous,
//! the written values stay.

use std::collections::BTreeMap;

use crate::conditions::{Finding, Reason, Type};
use crate::effective::{KeyClaim, config_map_of, merged};
use crate::grants::ObjectRefusal;
use crate::grants::contribution::invalid;
use crate::snapshot::{self, AdmissionPolicySpec, ConfigStatus, PolicyEntry, Snapshot};
use go_compat::diag::Diagnostic;
use go_compat::go_bool::go_bool;
use yunikorn::admission::codes::SHARED_APPLICATION;
use yunikorn::admission::keys::{DEFAULT_GENERATE_UNIQUE_APP_ID, GENERATE_UNIQUE_APP_ID};
use yunikorn::admission::pitfalls::{
    bypass_auth, trusted, trusted_anonymous, trusted_group, unchecked_copies,
};
use yunikorn::admission::{self, AccessControl, PatternList};
use yunikorn::config::Flattened;
use yunikorn_access::submission::Mode;
use yunikorn_access::{Origin, user_info};

/// The keys of one policy with their values.
pub(crate) type Keys = BTreeMap<&'static str, String>;

/// Returns how to treat workloads that `YuniKorn` would reject, according to the policy in effect or its last
/// valid version. While the `YuniKornConfig` only observes, workloads cause a warning instead of being
/// refused.
pub fn submission(snapshot: &Snapshot) -> Mode {
    let mode = in_force(snapshot).and_then(|policy| policy.submission).unwrap_or_default();
    let observes = snapshot.spec().is_some_and(|spec| spec.mode == snapshot::Mode::Observe);
    if observes { mode.min(Mode::Warn) } else { mode }
}

/// Returns the treatment of `user.info` by the same policy. It applies even if the `YuniKornConfig` only
/// observes, because a preview of queue changes must not let people submit in other people's names.
pub fn user_info(snapshot: &Snapshot) -> user_info::Settings {
    in_force(snapshot).and_then(|policy| policy.user_info.clone()).unwrap_or_default()
}

/// Checks that the user-info webhook writes aliases into all pods.
///
/// # Errors
/// The reason why not, and what to do.
pub(crate) fn aliases(snapshot: &Snapshot) -> Result<(), String> {
    if !is_strict(&user_info(snapshot)) {
        return Err(
            "it also needs an AdmissionPolicy in force with spec.userInfo.mode: Enforce and profile: strict"
                .to_owned(),
        );
    }
    snapshot.observed.identity_webhook.clone().unwrap_or(Ok(()))
}

/// Returns the spec of the policy in effect, or its last valid version.
pub(crate) fn in_force(snapshot: &Snapshot) -> Option<&AdmissionPolicySpec> {
    let name = resolve(snapshot).counting?;
    let entry = snapshot.policies.iter().find(|entry| *entry.meta.name == *name)?;
    match &entry.spec {
        Ok(spec) if keys(spec).is_ok() => Some(spec),
        _ => entry.in_force.as_ref().filter(|old| keys(old).is_ok()),
    }
}

/// The outcome for all objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Policies {
    /// Each of them, in the order of the snapshot.
    pub objects: Vec<ResolvedPolicy>,
    /// Name of the policy in effect.
    pub counting: Option<String>,
    /// The keys to write; `None`: queuewarden is to own no key.
    pub keys: Option<Keys>,
    /// The name in `spec.admissionPolicy` that no object has.
    pub missing: Option<String>,
}

impl Policies {
    /// Condition `Applied` while the object that is to count does not exist.
    pub(crate) fn not_found(&self) -> Option<Finding> {
        let name = self.missing.as_ref()?;
        let now = match &self.counting {
            Some(counting) => format!("AdmissionPolicy `{counting}`, which is in force, counts until then"),
            None => "the admissionController.accessControl keys that are written stay as they are".to_owned(),
        };
        let message = format!(
            "there is no AdmissionPolicy `{name}`, which spec.admissionPolicy names; {now}. Create it, or name another one"
        );
        Some(Finding::no(Type::Applied, Reason::AdmissionPolicyMissing, message))
    }

    /// Returns the name to remember in the status: the policy in effect or, if that cannot be decided, the
    /// previous one.
    pub(crate) fn remembered(&self, before: Option<&ConfigStatus>) -> Option<String> {
        let undecided = self.missing.is_some() || !self.objects.is_empty();
        let before = before.filter(|_| undecided).and_then(|memory| memory.admission_policy.clone());
        self.counting.clone().or(before)
    }
}

/// The outcome for one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedPolicy {
    /// `metadata.name`
    pub name: String,
    /// The keys it sets, or why it is refused.
    pub outcome: Result<Keys, ObjectRefusal>,
    /// The keys of its last valid version, which stay because the object is invalid now and counts.
    pub last_valid: Option<Keys>,
    /// The warnings about an accepted object.
    pub warnings: Vec<Diagnostic>,
}

impl ResolvedPolicy {
    /// Returns the keys that it adds to the plan.
    pub(crate) fn keys(&self) -> Option<&Keys> {
        self.outcome.as_ref().ok().or(self.last_valid.as_ref())
    }
}

/// Resolves all policies.
pub(crate) fn resolve(snapshot: &Snapshot) -> Policies {
    let mut objects: Vec<_> = snapshot.policies.iter().map(alone).collect();
    let named = snapshot.spec().and_then(|spec| spec.admission_policy.as_deref());
    let (counting, missing) = match (named, objects.as_slice()) {
        (Some(name), all) if all.iter().any(|policy| policy.name == name) => (Some(name.to_owned()), None),
        (None, [only]) => (Some(only.name.clone()), None),
        (named, all) => (last_counting(snapshot, all), named.map(str::to_owned)),
    };
    let keys = if objects.is_empty() && missing.is_none() {
        None
    } else {
        let policy = objects.iter().find(|policy| counting.as_ref() == Some(&policy.name));
        Some(policy.and_then(ResolvedPolicy::keys).cloned().unwrap_or_else(|| written(snapshot)))
    };
    let count = objects.len();
    for policy in objects.iter_mut().filter(|policy| counting.as_ref() != Some(&policy.name)) {
        policy.last_valid = None;
        if policy.outcome.is_ok() {
            let message = conflict(counting.as_deref(), named, missing.as_deref(), count);
            policy.outcome = Err(ObjectRefusal::new(Reason::Conflicted, message));
        }
    }
    Policies { objects, counting, keys, missing }
}

/// Returns the policy in force, as remembered in the status of the `YuniKornConfig`. If that was lost,
/// returns the only one whose own status shows that it is in force, or the only one whose keys match the
/// written ones.
fn last_counting(snapshot: &Snapshot, policies: &[ResolvedPolicy]) -> Option<String> {
    let remembered = snapshot.config_status().and_then(|memory| memory.admission_policy.as_ref());
    if let Some(name) = remembered.filter(|name| policies.iter().any(|policy| policy.name == **name)) {
        return Some(name.clone());
    }
    let by_status = snapshot.policies.iter().filter(|entry| entry.in_force.is_some());
    let written = written(snapshot);
    let by_keys = policies.iter().filter(|policy| !written.is_empty() && policy.keys() == Some(&written));
    let only = only(by_status.map(|entry| &*entry.meta.name)).or_else(|| only(by_keys.map(|it| &*it.name)));
    only.map(str::to_owned)
}

/// Returns the element, if there is exactly one.
fn only<T>(mut elements: impl Iterator<Item = T>) -> Option<T> {
    let first = elements.next();
    first.filter(|_| elements.next().is_none())
}

/// Returns the keys in the output that queuewarden owns.
fn written(snapshot: &Snapshot) -> Keys {
    let ours = admission::KEYS.into_iter().filter(|key| snapshot.claim(key) == KeyClaim::Ours);
    ours.filter_map(|key| Some((key, snapshot.output_text(key)?.clone()))).collect()
}

/// Returns why an object is not in effect.
fn conflict(counting: Option<&str>, named: Option<&str>, missing: Option<&str>, count: usize) -> String {
    const NAME: &str = "name the one that counts in YuniKornConfig spec.admissionPolicy";
    match (counting, named, missing) {
        (Some(counting), _, Some(missing)) => format!(
            "YuniKornConfig spec.admissionPolicy names `{missing}`, which does not exist, so AdmissionPolicy `{counting}`, which is in \
             force, counts; create `{missing}`, or {NAME}"
        ),
        (Some(counting), Some(_), None) => format!(
            "YuniKornConfig spec.admissionPolicy names `{counting}`, so this one does not count; merge it into that one, or delete it"
        ),
        (Some(counting), None, None) => format!(
            "AdmissionPolicy `{counting}` is in force and goes on counting; merge this one into it, delete one of them, or {NAME}"
        ),
        (None, _, Some(missing)) => format!(
            "YuniKornConfig spec.admissionPolicy names `{missing}`, which does not exist, so none counts; create it, or {NAME}"
        ),
        (None, _, None) => format!(
            "there are {count} AdmissionPolicies and none of them is in force, so none counts; {NAME}, or delete the others"
        ),
    }
}

/// Resolves one object, regardless of the others.
fn alone(entry: &PolicyEntry) -> ResolvedPolicy {
    let (outcome, last_valid, warnings) = match entry.spec.as_ref().map_err(Clone::clone).and_then(keys) {
        Ok((keys, warnings)) => (Ok(keys), None, warnings),
        Err(errors) => (Err(invalid(&errors)), former(entry.in_force.as_ref()), Vec::new()),
    };
    ResolvedPolicy { name: entry.meta.name.to_string(), outcome, last_valid, warnings }
}

/// Returns the keys of the version that a status remembers.
pub(crate) fn former(before: Option<&AdmissionPolicySpec>) -> Option<Keys> {
    before.and_then(|old| keys(old).ok()).map(|(keys, _)| keys)
}

/// Returns the keys that a spec sets and the warnings about them, or all errors.
pub(crate) fn keys(spec: &AdmissionPolicySpec) -> Result<(Keys, Vec<Diagnostic>), Vec<Diagnostic>> {
    let (keys, found) = rendered(spec);
    let found = found.into_iter().map(|it| it.found);
    let (errors, warnings): (Vec<_>, Vec<_>) = found.partition(Diagnostic::is_error);
    if errors.is_empty() { Ok((keys, warnings)) } else { Err(errors) }
}

/// Returns the keys that a spec sets, and all findings about them.
fn rendered(spec: &AdmissionPolicySpec) -> (Keys, Vec<FieldFinding>) {
    // Each additional field must be rendered here, belong to the lists, or be listed as a field that is not a
    // key of YuniKorn.
    let AdmissionPolicySpec {
        bypass_auth,
        trust_controllers,
        system_users: _,
        external_users: _,
        external_groups: _,
        submission: _,
        user_info: _,
    } = spec;
    let mut found = Vec::new();
    let flags = [(admission::BYPASS_AUTH, bypass_auth), (admission::TRUST_CONTROLLERS, trust_controllers)];
    let flags = flags.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?.to_string())));
    let mut keys: Keys = flags.collect();
    for (key, list) in spec.lists() {
        let Some(list) = list else { continue };
        let (text, of_list) = admission::render_list(list);
        let field = field_of(key);
        found.extend(of_list.into_iter().map(|found| FieldFinding { field, index: None, found }));
        if let Some(text) = text {
            keys.insert(key, text);
        }
    }
    found.extend(trusts(spec));
    let of_field = |it: FieldFinding| FieldFinding { found: it.found.of_field(it.field), ..it };
    (keys, found.into_iter().map(of_field).collect())
}

/// Returns the field of an `AdmissionPolicy` that sets a key: the key's last part.
pub fn field_of(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Returns the keys of `AdmissionPolicy` objects in the merged ConfigMaps, with their values.
pub fn admission_keys(flat: &Flattened) -> BTreeMap<String, String> {
    let set = flat.values().filter(|(key, _)| admission::KEYS.contains(key));
    set.map(|(key, value)| (key.to_owned(), value.text.clone())).collect()
}

/// Returns the settings that `YuniKorn`'s admission controller reads from the merged ConfigMaps. Settings
/// that are not set, values that it cannot parse and unknown lists are left out.
pub fn settings(flat: &Flattened) -> AdmissionPolicySpec {
    let keys = admission_keys(flat);
    let (control, findings) = AccessControl::from_keys(&keys);
    let readable = |key: &str| {
        keys.contains_key(key)
            && !findings.iter().any(|finding| finding.is_error() && finding.message.contains(key))
    };
    let switch = |key, value| readable(key).then_some(value);
    let list = |key, list: &PatternList| {
        let patterns = || list.patterns().iter().map(|pattern| pattern.as_str().to_owned()).collect();
        (readable(key) && list.is_known()).then(patterns)
    };
    AdmissionPolicySpec {
        bypass_auth: switch(admission::BYPASS_AUTH, control.bypass_auth),
        trust_controllers: switch(admission::TRUST_CONTROLLERS, control.trust_controllers),
        system_users: list(admission::SYSTEM_USERS, &control.system_users),
        external_users: list(admission::EXTERNAL_USERS, &control.external_users),
        external_groups: list(admission::EXTERNAL_GROUPS, &control.external_groups),
        ..AdmissionPolicySpec::default()
    }
}

/// Returns the admission settings in force, regardless of who wrote them: keys and values, each with the
/// object that contains it.
pub fn admission_settings(snapshot: &Snapshot) -> Vec<(&'static str, String, Origin)> {
    settings_with_origins(snapshot, &merged(snapshot))
}

pub(crate) fn settings_with_origins(
    snapshot: &Snapshot,
    flat: &Flattened,
) -> Vec<(&'static str, String, Origin)> {
    let policies = resolve(snapshot);
    let counting = policies.objects.iter().find(|policy| policies.counting.as_ref() == Some(&policy.name));
    let keys = counting.and_then(ResolvedPolicy::keys);
    let placed = |key| {
        let value = flat.get(key)?;
        let policy = counting.filter(|_| keys.is_some_and(|keys| keys.get(key) == Some(&value.text)));
        let (kind, name) = policy.map_or_else(
            || ("ConfigMap", config_map_of(value.origin.source).to_owned()),
            |policy| ("AdmissionPolicy", policy.name.clone()),
        );
        Some((key, value.text.clone(), Origin::Object { kind, name, until: None }))
    };
    admission::KEYS.into_iter().filter_map(placed).collect()
}

/// Returns the findings about the admission settings in force, each with the object that it is written in:
/// the same as an `AdmissionPolicy` with these settings has. The span of a finding on trust is in the value
/// of the key.
pub fn risks(snapshot: &Snapshot) -> Vec<(Origin, Diagnostic)> {
    let flat = merged(snapshot);
    let origins = settings_with_origins(snapshot, &flat);
    let spec = AdmissionPolicySpec { user_info: Some(user_info(snapshot)), ..settings(&flat) };
    let placed = |FieldFinding { field, index, found }| {
        let (_, text, origin) = origins.iter().find(|(key, ..)| field_of(key) == field)?;
        let span = index.and_then(|index| PatternList::spans(text).nth(index));
        Some((origin.clone(), found.at(span)))
    };
    rendered(&spec).1.into_iter().filter_map(placed).collect()
}

/// A finding about a field of an `AdmissionPolicy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFinding {
    /// The field.
    pub field: &'static str,
    /// The number of the element of a list, from 0, for a setting that trusts others.
    pub index: Option<usize>,
    /// The finding; its location is within the element.
    pub found: Diagnostic,
}

/// Returns the settings that let people who are on no list submit as anyone. With `bypassAuth` everyone can,
/// and the lists make no difference.
pub fn trusts(spec: &AdmissionPolicySpec) -> Vec<FieldFinding> {
    if spec.bypass_auth == Some(true) {
        return vec![FieldFinding { field: "bypassAuth", index: None, found: bypass_auth() }];
    }
    let strict = spec.user_info.as_ref().filter(|settings| is_strict(settings));
    let operators = strict.map_or(&[][..], |settings| &settings.operators);
    let mut found = Vec::new();
    if spec.trust_controllers == Some(true) && spec.system_users.is_none() && strict.is_none() {
        found.push(FieldFinding { field: "trustControllers", index: None, found: unchecked_copies() });
    }
    for (key, list) in spec.lists() {
        if key == admission::SYSTEM_USERS && spec.trust_controllers == Some(false) {
            continue;
        }
        let field = field_of(key);
        let check = |element: &String| match key {
            admission::EXTERNAL_GROUPS => [trusted_group(element), None],
            _ => [trusted(element, operators), trusted_anonymous(element)],
        };
        let elements = list.into_iter().flatten().take(admission::MAX_EXPRESSIONS).enumerate();
        found.extend(elements.flat_map(|(index, element)| {
            let found = check(element).into_iter().flatten();
            found.map(move |found| FieldFinding { field, index: Some(index), found })
        }));
    }
    found
}

/// Returns whether the user-info webhook refuses what `YuniKorn`'s admission controller does not check.
fn is_strict(settings: &user_info::Settings) -> bool {
    settings.mode == user_info::Mode::Enforce && settings.profile == user_info::Profile::Strict
}

/// Returns a warning if the user of each pod is checked but `YuniKorn` takes one user for all pods of a
/// namespace that name no application; and the field that demands the check.
pub fn shared_application(
    snapshot: &Snapshot,
    spec: &AdmissionPolicySpec,
) -> Option<(&'static str, Diagnostic)> {
    let warns = spec.submission.is_some_and(|mode| mode >= Mode::Warn);
    let guards = spec.user_info.as_ref().is_some_and(|settings| settings.mode == user_info::Mode::Enforce);
    let field = match (warns, guards) {
        (true, _) => "submission",
        (false, true) => "userInfo",
        (false, false) => return None,
    };
    let flat = merged(snapshot);
    let text = flat.get(GENERATE_UNIQUE_APP_ID).map(|value| value.text.as_str());
    let unique = text.and_then(go_bool).unwrap_or(DEFAULT_GENERATE_UNIQUE_APP_ID);
    let warning = || {
        let message = "the pods of a namespace that name no application share one, with the user and the queue of the first of them";
        Diagnostic::warning(SHARED_APPLICATION, message)
            .help("set admissionController.filtering.generateUniqueAppId to \"true\" in ConfigMap yunikorn-defaults")
    };
    (!unique).then(|| (field, warning()))
}
