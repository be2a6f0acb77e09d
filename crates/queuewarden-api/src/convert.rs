//! Converts our objects into the plan's input.
//!
//! Nothing here fails. An object that cannot be parsed, or that violates the CRD's rules because it is older
//! than a rule or comes from a file, becomes an [`Entry`] with its identity, the state kept in its status,
//! and a list of errors in place of its spec. One bad object therefore stops neither a watch nor a plan, and
//! its last valid version can stay in force.
//!
//! This module checks only what the plan's types cannot represent. The plan checks the rest: names, queue
//! paths, expressions, windows. The schema bounds of a `QueueAccessTest` are checked here again, because
//! files do not pass through an API server.

use std::io;

use jiff::{RoundMode, Timestamp, TimestampRound, Unit};
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use kube::core::DynamicObject;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::status::CONDITIONS;
use crate::touches::touches;
use crate::v1alpha1 as api;
use go_compat::diag::{Code, Diagnostic};
use queuewarden_plan::ConfigStatus;
use queuewarden_plan::conditions::{Condition, Reason, Status, Type};
use queuewarden_plan::snapshot::{
    AccessTestSpec, AdmissionPolicySpec, CONFIRM_REMOVAL, ConfigEntry, ConfigSpec, Entry, Grant, LEFT_EMPTY,
    Meta, QueueAclEntry, QueueAclSpec, SchedulerAddress,
};
use yunikorn::admission::request::{Pod, QUEUE};
use yunikorn::{Identity, QueuePath, Right, Version};
use yunikorn_access::expect::{Case, Expectations, ExpectedPlacement, MAX_CHECKS, Placing, Queues};
use yunikorn_access::placement::Workload;
use yunikorn_access::user_info;

go_compat::codes! {
    /// The spec is missing, has a field of the wrong type, or has a field that this version does not know.
    pub const UNREADABLE: Code = Code::new(5101, "unreadable-spec");
    /// More than one of lists, `everyone`, `nobody` and `acl` in one grant.
    pub const NOT_ONE_OF: Code = Code::new(5102, "grant-not-one-of");
    /// `everyone: false`, which is neither a grant to everyone nor to no one.
    pub const EVERYONE_FALSE: Code = Code::new(5103, "everyone-false");
    /// `nobody: false`, which names no one who has the right.
    pub const NOBODY_FALSE: Code = Code::new(5108, "nobody-false");
    /// `submit` or `admin` is `null`.
    pub const RIGHT_LEFT_EMPTY: Code = Code::new(5109, "right-left-empty");
    /// An `AdmissionPolicy` without any field.
    pub const EMPTY_POLICY: Code = Code::new(5104, "empty-policy");
    /// A `YuniKornConfig` with a name other than `default`.
    pub const NOT_THE_SINGLETON: Code = Code::new(5105, "not-the-singleton");
    /// Base and output are the same `ConfigMap`.
    pub const BASE_IS_OUTPUT: Code = Code::new(5106, "base-is-output");
    /// An invalid path to pod templates.
    pub const NO_PATH: Code = Code::new(5107, "no-template-path");
    /// A case without subjects, or without queues and placements, which would pass with any access.
    pub const EMPTY_CASE: Code = Code::new(5151, "empty-case");
    /// A placement without `runsIn` or `rejected`, or with both.
    pub const NO_OUTCOME: Code = Code::new(5152, "placement-without-outcome");
    /// A test with more checks than allowed: 10,000, counting each subject with each queue and each placement
    /// of its case.
    pub const TOO_MANY_CHECKS: Code = Code::new(5153, "too-many-checks");
    /// A queue that no configuration can have.
    pub const BAD_EXPECTED_QUEUE: Code = Code::new(5154, "bad-expected-queue");
    /// A subject without a user.
    pub const NO_USER: Code = Code::new(5155, "subject-without-user");
}

/// Converts a `QueueAcl` for the plan.
pub fn queue_acl(object: &DynamicObject) -> QueueAclEntry {
    Entry {
        meta: meta(object),
        spec: not_left_empty(object).and_then(|()| spec(object)).and_then(queue_acl_spec),
        in_force: status_field(object, "inForce"),
    }
}

/// The annotation in which `kubectl apply` stores its input, including nulls that it does not send.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Refuses a right that is `null`, or that was `null` in the input of `kubectl apply`, which leaves it out.
/// Unlike other fields, it is not dropped, because it reads as "nobody".
fn not_left_empty(object: &DynamicObject) -> Result<(), Vec<Diagnostic>> {
    let applied = object.metadata.annotations.as_ref().and_then(|annotations| annotations.get(LAST_APPLIED));
    let applied = applied.filter(|text| text.contains(":null"));
    let applied: Option<Value> = applied.and_then(|text| serde_json::from_str(text).ok());
    let spec = object.data.get("spec");
    let rights = Right::ALL.into_iter().map(Right::field);
    let empty = rights.filter(|field| {
        let given = || applied.as_ref()?.get("spec")?.get(field);
        spec.and_then(|spec| spec.get(field)).or_else(given).is_some_and(Value::is_null)
    });
    let wrong: Vec<_> =
        empty.map(|field| Diagnostic::error(RIGHT_LEFT_EMPTY, format!("{field}: {LEFT_EMPTY}"))).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// Converts an `AdmissionPolicy` for the plan.
pub fn admission_policy(object: &DynamicObject) -> Entry<AdmissionPolicySpec, AdmissionPolicySpec> {
    let memory: Option<AdmissionPolicySpec> = status_field(object, "inForce");
    Entry {
        meta: meta(object),
        spec: policy_spec(object),
        // The spec was valid when it was stored.
        in_force: memory.map(|memory| AdmissionPolicySpec {
            user_info: memory.user_info.filter(|settings| template_paths(settings).is_ok()),
            ..memory
        }),
    }
}

/// Converts the `YuniKornConfig` for the plan.
pub fn yunikorn_config(object: &DynamicObject) -> ConfigEntry {
    let meta = meta(object);
    let confirmed =
        object.metadata.annotations.as_ref().and_then(|all| all.get(CONFIRM_REMOVAL)?.parse().ok());
    let spec = spec(object).and_then(|spec| config_spec(&meta.name, spec));
    let spec = spec.map(|spec| ConfigSpec { confirmed_removal: confirmed, ..spec });
    Entry { meta, spec, in_force: Some(config_status(object)) }
}

/// Converts what all kinds have in common: their metadata, and the conditions of their status.
pub fn meta(object: &DynamicObject) -> Meta {
    let metadata = &object.metadata;
    let conditions: Vec<Value> = status_field(object, CONDITIONS).unwrap_or_default();
    Meta {
        name: metadata.name.as_deref().unwrap_or_default().into(),
        uid: metadata.uid.as_deref().unwrap_or_default().into(),
        generation: metadata.generation.unwrap_or_default(),
        created: metadata.creation_timestamp.as_ref().map(|time| time.0),
        deleting: metadata.deletion_timestamp.is_some(),
        finalizers: metadata.finalizers.clone().unwrap_or_default(),
        stored: stored(object),
        conditions: conditions.into_iter().filter_map(condition).collect(),
        touches: touches(metadata),
    }
}

/// Bytes of `managedFields` attributed to the API server: enough for several programs with a few fields each.
const MANAGED: usize = 8 << 10;

/// Returns how many bytes of JSON an object's writers contributed: its spec and metadata. Its status is
/// queuewarden's and is left out. `managedFields` belong to the API server, but clients can send any, so
/// bytes beyond [`MANAGED`] are included.
fn stored(object: &DynamicObject) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    fn size(part: &impl Serialize) -> usize {
        let mut counter = Counter(0);
        // An object that cannot be measured is too large for any limit.
        serde_json::to_writer(&mut counter, part).map_or(usize::MAX, |()| counter.0)
    }
    let meta::ObjectMeta { name, labels, annotations, finalizers, owner_references, .. } = &object.metadata;
    let chosen = (object.data.get("spec"), name, labels, annotations, finalizers, owner_references);
    size(&chosen).saturating_add(size(&object.metadata.managed_fields).saturating_sub(MANAGED))
}

/// Returns a description of an object's unreadable conditions, or `None` if all can be parsed.
pub fn unreadable_conditions(object: &DynamicObject) -> Option<String> {
    let conditions = object.data.pointer("/status/conditions").filter(|conditions| !conditions.is_null())?;
    let read: Result<Vec<meta::Condition>, _> = serde_path_to_error::deserialize(conditions);
    read.err().map(|error| format!("status.conditions cannot be read: {error}"))
}

/// Parses a condition. An unreadable one is treated as absent and written again.
fn condition(value: Value) -> Option<Condition> {
    let condition: meta::Condition = serde_json::from_value(value).ok()?;
    Some(Condition {
        type_: Type::shared(condition.type_),
        status: Status::parse(&condition.status),
        reason: Reason::shared(condition.reason),
        message: condition.message,
        observed_generation: condition.observed_generation.unwrap_or_default(),
        last_transition: condition.last_transition_time.0,
    })
}

/// Reads one field of `status`; `None` when it is absent or unreadable.
fn status_field<T: DeserializeOwned>(object: &DynamicObject, field: &str) -> Option<T> {
    T::deserialize(object.data.get("status")?.get(field)?).ok()
}

/// Reads the spec as its API type, dropping null fields as the API server does. An absent spec reads as
/// empty.
pub(super) fn spec<T: DeserializeOwned>(object: &DynamicObject) -> Result<T, Vec<Diagnostic>> {
    let mut spec = object.data.get("spec").cloned().unwrap_or_else(|| Value::Object(Map::new()));
    drop_nulls(&mut spec);
    serde_path_to_error::deserialize(spec).map_err(|error| {
        let path = match error.path().to_string().as_str() {
            "." => "spec".to_owned(),
            path => path.to_owned(),
        };
        let why = match path.as_str() {
            "notBefore" | "expiresAt" => "write a time such as `2026-12-01T00:00:00Z`".to_owned(),
            _ => error.inner().to_string(),
        };
        vec![Diagnostic::error(UNREADABLE, format!("{path}: {why}"))]
    })
}

/// Drops nulls. Recursion is bounded by the JSON and YAML readers, which refuse deep nesting.
pub(super) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(elements) => elements.iter_mut().for_each(drop_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn queue_acl_spec(spec: api::QueueAclSpec) -> Result<QueueAclSpec, Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    let submit = spec.submit.and_then(|it| collect(grant("submit", it), &mut wrong));
    let admin = spec.admin.and_then(|it| collect(grant("admin", it), &mut wrong));
    let spec = QueueAclSpec {
        partition: spec.partition,
        queue: spec.queue,
        submit,
        admin,
        base_acl: spec.base_acl,
        not_before: spec.not_before.map(|time| whole_second(time.0, RoundMode::Ceil)),
        expires_at: spec.expires_at.map(|time| whole_second(time.0, RoundMode::Floor)),
        suspend: spec.suspend.unwrap_or_default(),
        delegated_by: spec.delegated_by,
    };
    if wrong.is_empty() { Ok(spec) } else { Err(wrong) }
}

pub(super) fn collect<T>(result: Result<T, Diagnostic>, wrong: &mut Vec<Diagnostic>) -> Option<T> {
    result.map_err(|diagnostic| wrong.push(diagnostic)).ok()
}

/// Returns the form of a grant. `path` is its field, for error messages.
fn grant(path: &str, grant: api::Grant) -> Result<Grant, Diagnostic> {
    let api::Grant { mut users, mut groups, service_accounts, everyone, nobody, acl } = grant;
    for account in service_accounts {
        let list = if account.name.is_some() { &mut users } else { &mut groups };
        list.push(account.subject());
    }
    let lists = !users.is_empty() || !groups.is_empty();
    let wrong = |code, message: &str, help: &str| {
        Err(Diagnostic::error(code, format!("{path}: {message}")).help(help))
    };
    match (lists, everyone, nobody, acl) {
        (false, None, None, Some(acl)) => Ok(Grant::Raw(acl)),
        (false, Some(true), None, None) => Ok(Grant::Everyone),
        (false, None, Some(true), None) => Ok(Grant::Nobody),
        (_, None, None, None) => Ok(Grant::Lists { users, groups }),
        (false, Some(false), None, None) => wrong(
            EVERYONE_FALSE,
            "`everyone: false` does not name anyone and does not mean nobody",
            "write `nobody: true` to grant the right to no one",
        ),
        (false, None, Some(false), None) => wrong(
            NOBODY_FALSE,
            "`nobody: false` does not name anyone who has the right",
            "to grant the right, write `users`, `groups` or `everyone: true`",
        ),
        _ => wrong(
            NOT_ONE_OF,
            "`users` and `groups`, `everyone`, `nobody`, and `acl` cannot be combined",
            "keep only the lists, `everyone: true`, `nobody: true` or `acl`",
        ),
    }
}

/// Rounds to the second, as Kubernetes stores times. Rounding never widens a window: its start is rounded up,
/// its end down.
fn whole_second(time: Timestamp, mode: RoundMode) -> Timestamp {
    // Rounding fails only if the result is outside jiff's range, in the last second of the year 9999.
    time.round(TimestampRound::new().smallest(Unit::Second).mode(mode)).unwrap_or(time)
}

fn policy_spec(object: &DynamicObject) -> Result<AdmissionPolicySpec, Vec<Diagnostic>> {
    // The API's type rejects unknown fields. The plan's type has the same fields.
    let _: api::AdmissionPolicySpec = spec(object)?;
    let spec: AdmissionPolicySpec = spec(object)?;
    spec.user_info.as_ref().map_or(Ok(()), template_paths)?;
    if spec == AdmissionPolicySpec::default() {
        return Err(vec![Diagnostic::error(EMPTY_POLICY, "no field is set, so nothing would change").help(
            "set one of `bypassAuth`, `trustControllers`, `systemUsers`, `externalUsers`, `externalGroups`, \
             `submission`, `userInfo`",
        )]);
    }
    Ok(spec)
}

/// Checks that all paths to pod templates are valid.
fn template_paths(settings: &user_info::Settings) -> Result<(), Vec<Diagnostic>> {
    if settings.templates.len() > user_info::MAX_TEMPLATES {
        let message = format!("userInfo.templates: more than {} templates", user_info::MAX_TEMPLATES);
        return Err(vec![Diagnostic::error(NO_PATH, message)]);
    }
    let wrong = settings.templates.iter().enumerate().filter_map(|(index, template)| {
        let why = user_info::Path::read(&template.path).err()?;
        Some(Diagnostic::error(NO_PATH, format!("userInfo.templates[{index}].path: {why}")))
    });
    let wrong: Vec<_> = wrong.collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

fn config_spec(name: &str, spec: api::YuniKornConfigSpec) -> Result<ConfigSpec, Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    if name != api::SINGLETON {
        wrong.push(
            Diagnostic::error(NOT_THE_SINGLETON, format!("the YuniKornConfig `{name}` is ignored"))
                .help(format!("name it `{}`: a cluster has only one YuniKornConfig", api::SINGLETON)),
        );
    }
    if spec.base.config_map == spec.output.config_map {
        let message = format!("base and output are both the ConfigMap `{}`", spec.base.config_map);
        let help = "use two ConfigMaps: you write the base, and queuewarden writes the output";
        wrong.push(Diagnostic::error(BASE_IS_OUTPUT, message).help(help));
    }
    let (ca_bundle, secret) = (spec.scheduler_ca_bundle.map(|bundle| bundle.0), spec.scheduler_secret);
    let scheduler = spec.scheduler_url.map(|url| SchedulerAddress {
        url,
        ca_bundle,
        secret: secret.map(|name| (spec.namespace.clone(), name)),
    });
    let spec = ConfigSpec {
        namespace: spec.namespace,
        base_config_map: spec.base.config_map,
        base_key: spec.base.key,
        output_config_map: spec.output.config_map,
        mode: spec.mode,
        adoption: spec.adoption,
        scheduler,
        version: match spec.version {
            api::YuniKornVersion::Auto => None,
            api::YuniKornVersion::V1_8 => Some(Version::V1_8),
            api::YuniKornVersion::V1_9 => Some(Version::V1_9),
        },
        rbac_mirror: spec.rbac_mirror == api::Switch::Enabled,
        delegation: spec.delegation == api::Switch::Enabled,
        accept_open_root: spec.accept_open_root,
        confirmed_removal: None,
        admission_policy: spec.admission_policy,
    };
    if wrong.is_empty() { Ok(spec) } else { Err(wrong) }
}

/// Reads each field separately, so that an unreadable one does not affect the others.
fn config_status(object: &DynamicObject) -> ConfigStatus {
    ConfigStatus {
        revision: status_field(object, "revision"),
        config_hash: status_field(object, "configHash"),
        loaded_hash: status_field(object, "loadedHash"),
        version: status_field(object, "version"),
        output: status_field(object, "output"),
        admission_policy: status_field(object, "admissionPolicy"),
    }
}

/// Converts a `QueueAccessTest` for the plan.
pub fn access_test(object: &DynamicObject) -> Entry<AccessTestSpec, ()> {
    Entry { meta: meta(object), spec: spec(object).and_then(test), in_force: None }
}

fn test(spec: api::QueueAccessTestSpec) -> Result<AccessTestSpec, Vec<Diagnostic>> {
    let api::QueueAccessTestSpec { partition, enforcement, cases } = spec;
    let mut wrong = Vec::new();
    if cases.is_empty() {
        wrong.push(Diagnostic::error(EMPTY_CASE, "spec.cases: the list is empty, so nothing is checked"));
    }
    let read = |(index, case)| self::case(&format!("spec.cases[{index}]"), case, &mut wrong);
    let cases: Vec<Case> = cases.into_iter().enumerate().map(read).collect();
    let expectations = Expectations { partition, cases };
    let size = expectations.size();
    if size > MAX_CHECKS {
        let message = format!("spec.cases: {size} checks; a test can have at most {MAX_CHECKS}");
        let help = "split it into several tests, or list fewer subjects: one member of each group is enough";
        wrong.push(Diagnostic::error(TOO_MANY_CHECKS, message).help(help));
    }
    if wrong.is_empty() { Ok(AccessTestSpec { expectations, enforcement }) } else { Err(wrong) }
}

fn case(at: &str, case: api::AccessCase, wrong: &mut Vec<Diagnostic>) -> Case {
    let api::AccessCase { name, subjects, allow, deny, placements, dynamic } = case;
    for (index, subject) in subjects.iter().enumerate().filter(|(_, subject)| subject.user.is_empty()) {
        let location = format!("{at}.subjects[{index}]");
        let groups = subject.groups.join(", ");
        let message = format!("{location}: the user is empty, and YuniKorn accepts nothing without a user");
        let help = format!("name any user who is not used elsewhere, with groups: [{groups}]");
        wrong.push(Diagnostic::error(NO_USER, message).help(help));
    }
    let mut queues = |field: &str, rights: Option<Queues>| {
        let rights = rights.unwrap_or_default();
        for (list, queues) in [("submit", &rights.submit), ("administer", &rights.administer)] {
            for (index, queue) in queues.iter().enumerate() {
                wrong.extend(check_queue(&format!("{at}.{field}.{list}[{index}]"), queue).err());
            }
        }
        rights
    };
    let (allow, deny) = (queues("allow", allow), queues("deny", deny));
    let subjects = subjects.into_iter().map(|api::AccessSubject { user, groups }| Identity { user, groups });
    let placed = placements.into_iter().enumerate().filter_map(|(index, placement)| {
        collect(placing(&format!("{at}.placements[{index}]"), placement), wrong)
    });
    let placements = placed.collect();
    let case = Case { name, subjects: subjects.collect(), allow, deny, placements, dynamic };
    if case.size() == 0 && wrong.is_empty() {
        let message = format!("{at}: the case checks nothing, so it always passes");
        let help = "name subjects, and queues in `allow` or `deny`, or `placements`";
        wrong.push(Diagnostic::error(EMPTY_CASE, message).help(help));
    }
    case
}

fn check_queue(at: &str, queue: &str) -> Result<(), Diagnostic> {
    let refused = |Diagnostic { message, help, .. }| {
        let error = Diagnostic::error(BAD_EXPECTED_QUEUE, format!("{at}: {message}"));
        Diagnostic { help, ..error }
    };
    QueuePath::parse(queue).map(drop).map_err(refused)
}

fn placing(at: &str, placement: api::ExpectedPlacement) -> Result<Placing, Diagnostic> {
    let api::ExpectedPlacement {
        namespace,
        queue,
        mut labels,
        annotations,
        namespace_annotations,
        runs_in,
        rejected,
    } = placement;
    let expected = match (runs_in, rejected) {
        (Some(queue), None) => {
            check_queue(&format!("{at}.runsIn"), &queue)?;
            ExpectedPlacement::In(queue)
        }
        (None, Some(true)) => ExpectedPlacement::Nowhere,
        _ => {
            let message = format!("{at}: set exactly one of `runsIn` and `rejected`");
            let help = "write `runsIn: root.prod`, or `rejected: true`";
            return Err(Diagnostic::error(NO_OUTCOME, message).help(help));
        }
    };
    if let Some(queue) = queue {
        labels.insert(QUEUE.to_owned(), queue);
    }
    let pod = Pod { labels, annotations, ..Pod::default() };
    let workload = Workload { namespace, namespace_annotations, pod, ..Workload::default() };
    Ok(Placing { workload, expected })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSON;
    use serde_json::json;

    use super::*;
    use crate::crds;
    use crate::status::{self, Reported};
    use queuewarden_plan::AdmissionPolicyStatus;
    use queuewarden_plan::release::Release;
    use queuewarden_plan::snapshot::{BaseAcl, QueueAclInForce};

    fn object(value: Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    fn with_spec(spec: &Value) -> DynamicObject {
        object(json!({"metadata": {"name": "x"}, "spec": spec}))
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_spec_of_an_admission_policy_has_the_fields_that_are_rendered() {
        let fields = |schema: schemars::Schema| -> BTreeSet<String> {
            schema.get("properties").and_then(Value::as_object).unwrap().keys().cloned().collect()
        };
        let spec = fields(schemars::schema_for!(api::AdmissionPolicySpec));
        assert!(spec.contains("bypassAuth"), "{spec:?}");
        assert_eq!(spec, fields(schemars::schema_for!(AdmissionPolicySpec)));
    }

    fn lists(users: &[&str], groups: &[&str]) -> Grant {
        let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Grant::Lists { users: own(users), groups: own(groups) }
    }

    #[test]
    fn a_whole_object_is_read() {
        let entry = queue_acl(&object(json!({
            "apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl",
            "metadata": {"name": "prod", "uid": "u1", "generation": 4, "creationTimestamp": "2026-01-02T03:04:05Z",
                "finalizers": ["example.com/stay"]},
            "spec": {
                "partition": "gpu", "queue": "root.prod", "baseAcl": "Extend",
                "submit": {"users": ["sue"], "groups": ["devs"]}, "admin": {"acl": " ops"},
                "notBefore": "2026-12-01T00:00:00Z", "expiresAt": "2027-01-01T01:00:00+01:00", "suspend": true,
            },
            "status": {
                "observedGeneration": 3, "submit": "sue devs",
                "inForce": {"partition": "gpu", "queue": "root.prod", "submit": "sue", "expiresAt": "2027-01-01T00:00:00Z"},
                "conditions": [
                    {"type": "Ready", "status": "False", "reason": "Pending", "message": "m", "observedGeneration": 3,
                     "lastTransitionTime": "2026-01-02T03:04:06Z"},
                    {"type": "Half"},
                ],
            },
        })));
        assert_eq!(
            entry.meta,
            Meta {
                name: "prod".into(),
                uid: "u1".into(),
                generation: 4,
                created: Some(at("2026-01-02T03:04:05Z")),
                deleting: false,
                finalizers: vec!["example.com/stay".into()],
                stored: 261,
                conditions: [Condition {
                    type_: "Ready".into(),
                    status: Status::False,
                    reason: "Pending".into(),
                    message: "m".into(),
                    observed_generation: 3,
                    last_transition: at("2026-01-02T03:04:06Z"),
                }]
                .into(),
                touches: Vec::new(),
            }
        );
        assert_eq!(
            entry.spec.unwrap(),
            QueueAclSpec {
                partition: "gpu".into(),
                queue: "root.prod".into(),
                submit: Some(lists(&["sue"], &["devs"])),
                admin: Some(Grant::Raw(" ops".into())),
                base_acl: BaseAcl::Extend,
                not_before: Some(at("2026-12-01T00:00:00Z")),
                expires_at: Some(at("2027-01-01T00:00:00Z")),
                suspend: true,
                delegated_by: None,
            }
        );
        assert_eq!(
            *entry.in_force.unwrap(),
            QueueAclInForce {
                partition: "gpu".into(),
                queue: "root.prod".into(),
                submit: Some("sue".into()),
                admin: None,
                base_acl: BaseAcl::Replace,
                expires_at: Some(at("2027-01-01T00:00:00Z")),
                delegated_by: None,
            }
        );
    }

    #[test]
    fn grants_have_four_forms_and_an_empty_one() {
        let cases = [
            (json!({}), lists(&[], &[])),
            (json!({"users": []}), lists(&[], &[])),
            (json!({"users": null, "acl": null}), lists(&[], &[])),
            (json!({"groups": ["g"]}), lists(&[], &["g"])),
            (json!({"everyone": true}), Grant::Everyone),
            (json!({"nobody": true}), Grant::Nobody),
            (json!({"acl": ""}), Grant::Raw(String::new())),
            (json!({"acl": "*"}), Grant::Raw("*".into())),
        ];
        for (written, expected) in cases {
            let entry = queue_acl(&with_spec(&json!({"queue": "root.a", "submit": written})));
            assert_eq!(entry.spec.unwrap().submit, Some(expected), "{written}");
        }
    }

    /// Inputs that the CRD refuses, but that may still occur in a file or an older object.
    #[test]
    fn wrong_queue_acls_say_where_and_why() {
        let cases = [
            (json!({}), UNREADABLE, "spec: missing field `queue`"),
            (
                json!({"queue": 5, "submit": {}}),
                UNREADABLE,
                "queue: invalid type: integer `5`, expected a string",
            ),
            (json!({"queue": "root", "submits": {}}), UNREADABLE, "submits: unknown field `submits`"),
            (
                json!({"queue": "root", "submit": {"user": []}}),
                UNREADABLE,
                "submit.user: unknown field `user`",
            ),
            (
                json!({"queue": "root", "submit": {"users": ["a", 5]}}),
                UNREADABLE,
                "submit.users[1]: invalid type",
            ),
            (
                json!({"queue": "root", "submit": {"users": [null]}}),
                UNREADABLE,
                "submit.users[0]: invalid type: null",
            ),
            (
                json!({"queue": "root", "submit": {"users": "sue"}}),
                UNREADABLE,
                "submit.users: invalid type: string",
            ),
            (
                json!({"queue": "root", "submit": {}, "baseAcl": "Merge"}),
                UNREADABLE,
                "baseAcl: unknown variant `Merge`",
            ),
            (
                json!({"queue": "root", "submit": {}, "expiresAt": "tomorrow"}),
                UNREADABLE,
                "expiresAt: write a time such as `2026-12-01T00:00:00Z`",
            ),
            (json!("root"), UNREADABLE, "spec: invalid type: string"),
            (
                json!({"queue": "root", "admin": {"everyone": false}}),
                EVERYONE_FALSE,
                "admin: `everyone: false`",
            ),
            (json!({"queue": "root", "admin": {"nobody": false}}), NOBODY_FALSE, "admin: `nobody: false`"),
            (
                json!({"queue": "root", "submit": null, "admin": {"users": ["a"]}}),
                RIGHT_LEFT_EMPTY,
                "submit: is left empty (null)",
            ),
            (json!({"queue": "root", "submit": {"nobody": true, "users": ["b"]}}), NOT_ONE_OF, "submit: "),
            (json!({"queue": "root", "submit": {"nobody": true, "everyone": true}}), NOT_ONE_OF, "submit: "),
            (json!({"queue": "root", "submit": {"acl": "a", "users": ["b"]}}), NOT_ONE_OF, "submit: "),
            (json!({"queue": "root", "submit": {"acl": "a", "everyone": true}}), NOT_ONE_OF, "submit: "),
            (json!({"queue": "root", "submit": {"groups": ["a"], "everyone": true}}), NOT_ONE_OF, "submit: "),
        ];
        for (spec, code, message) in cases {
            let wrong = queue_acl(&with_spec(&spec)).spec.unwrap_err();
            let [diagnostic] = wrong.as_slice() else { panic!("{spec}: {wrong:?}") };
            assert_eq!(diagnostic.code, code, "{spec}: {diagnostic}");
            assert!(diagnostic.message.starts_with(message), "{spec}: {diagnostic}");
            assert!(diagnostic.is_error());
        }
    }

    #[test]
    fn a_right_that_kubectl_apply_was_given_as_null_is_refused() {
        let applied = |right: Value, spec: Value| {
            let applied = json!({"spec": {"queue": "root", "submit": right, "admin": {"users": ["a"]}}});
            queue_acl(&object(json!({
                "metadata": {"name": "x", "annotations": {LAST_APPLIED: applied.to_string()}},
                "spec": spec,
            })))
            .spec
        };
        let admin = json!({"queue": "root", "admin": {"users": ["a"]}});
        let wrong = applied(Value::Null, admin.clone()).unwrap_err();
        assert_eq!(wrong.first().unwrap().code, RIGHT_LEFT_EMPTY);
        let both = json!({"queue": "root", "submit": {"users": ["a"]}, "admin": {"users": ["a"]}});
        assert!(applied(Value::Null, both).is_ok(), "another client has written it since");
        assert!(applied(json!({"groups": null}), admin).is_ok());
    }

    #[test]
    fn every_mistake_is_reported_at_once() {
        let wrong = queue_acl(&with_spec(&json!({
            "queue": "root", "submit": {"everyone": false}, "admin": {"acl": "a", "everyone": true},
            "notBefore": "2027-01-01T00:00:00Z", "expiresAt": "2026-01-01T00:00:00Z",
        })))
        .spec
        .unwrap_err();
        let codes: Vec<Code> = wrong.iter().map(|diagnostic| diagnostic.code).collect();
        assert_eq!(codes, [EVERYONE_FALSE, NOT_ONE_OF]);
    }

    #[test]
    fn an_unreadable_object_keeps_its_identity_and_memory() {
        let entry = queue_acl(&object(json!({
            "metadata": {"name": "prod", "uid": "u1", "generation": 2, "deletionTimestamp": "2026-01-02T03:04:05Z"},
            "spec": {"queue": ["root"]},
            "status": {"inForce": {"partition": "default", "queue": "root.a", "submit": "sue"}, "conditions": "none"},
        })));
        assert!(entry.spec.is_err());
        assert_eq!((&*entry.meta.name, &*entry.meta.uid, entry.meta.generation), ("prod", "u1", 2));
        assert!(entry.meta.deleting, "held by a finalizer");
        assert_eq!(entry.in_force.unwrap().submit.as_deref(), Some("sue"));
    }

    #[test]
    fn fractions_of_a_second_never_widen_a_window() {
        let spec = queue_acl(&with_spec(&json!({
            "queue": "root", "submit": {},
            "notBefore": "2026-01-01T00:00:00.2Z", "expiresAt": "2026-01-01T00:00:09.9Z",
        })))
        .spec
        .unwrap();
        assert_eq!(spec.not_before, Some(at("2026-01-01T00:00:01Z")));
        assert_eq!(spec.expires_at, Some(at("2026-01-01T00:00:09Z")));
        for instant in [Timestamp::MIN, Timestamp::MAX] {
            for mode in [RoundMode::Ceil, RoundMode::Floor] {
                whole_second(instant, mode);
            }
        }
    }

    #[test]
    fn policies_tell_absent_from_empty() {
        let entry = admission_policy(&with_spec(
            &json!({"bypassAuth": false, "externalUsers": [], "externalGroups": null}),
        ));
        let expected = AdmissionPolicySpec {
            bypass_auth: Some(false),
            external_users: Some(vec![]),
            ..AdmissionPolicySpec::default()
        };
        assert_eq!(entry.spec.unwrap(), expected);
        let wrong = admission_policy(&with_spec(&json!({}))).spec.unwrap_err();
        assert_eq!(wrong.first().unwrap().code, EMPTY_POLICY);
        let wrong = admission_policy(&with_spec(&json!({"bypassAuth": "no"}))).spec.unwrap_err();
        assert!(wrong.first().unwrap().message.starts_with("bypassAuth: invalid type"), "{wrong:?}");
    }

    #[test]
    fn the_identity_guard_is_off_and_strict_unless_said_otherwise() {
        let read = |user_info: Value| admission_policy(&with_spec(&json!({"userInfo": user_info}))).spec;
        let settings = read(json!({})).unwrap().user_info.unwrap();
        assert_eq!((settings.mode, settings.profile), (user_info::Mode::Off, user_info::Profile::Strict));
        let template = |path: &str| json!({"group": "g", "version": "v1", "resource": "r", "path": path});
        let all =
            json!({"mode": "Enforce", "profile": "yunikorn", "templates": [template("spec.*.annotations")]});
        let spec = read(all.clone()).unwrap();
        let rest = AdmissionPolicyStatus { in_force: Some(spec.clone()) };
        let status = Reported { observed_generation: 1, rest: &rest };
        assert_eq!(serde_json::to_value(&status).unwrap()["inForce"]["userInfo"], all);
        let entry = admission_policy(&object(json!({"metadata": {"name": "x"}, "status": status})));
        assert_eq!(entry.in_force, Some(spec));
        let wrong = read(json!({"templates": [template("a"), template("*"), template("a..b")]})).unwrap_err();
        assert_eq!(wrong.iter().map(|it| it.code).collect::<Vec<_>>(), [NO_PATH, NO_PATH]);
        assert!(wrong[1].message.starts_with("userInfo.templates[2].path: `` is not a field"), "{wrong:?}");
        let many: Vec<Value> = (0..=user_info::MAX_TEMPLATES).map(|_| template("a")).collect();
        assert_eq!(read(json!({"templates": many})).unwrap_err()[0].code, NO_PATH);
        let account = "system:serviceaccount:kuberay:kuberay-operator";
        assert_eq!(read(json!({"operators": [account]})).unwrap().user_info.unwrap().operators, [account]);
    }

    /// The defaults that the API server fills in equal the plan's own.
    #[test]
    fn an_empty_config_is_the_default_one() {
        let entry = yunikorn_config(&object(json!({"metadata": {"name": "default"}, "spec": {}})));
        assert_eq!(entry.spec.unwrap(), ConfigSpec::default());
        let defaults = crds().into_iter().find(|crd| crd.spec.names.kind == "YuniKornConfig").unwrap();
        let spec = &defaults.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
        let fields = spec.properties.as_ref().unwrap()["spec"].properties.clone().unwrap();
        let filled: Map<String, Value> = fields
            .into_iter()
            .filter_map(|(name, field)| field.default.map(|JSON(default)| (name, default)))
            .collect();
        let names = "acceptOpenRoot adoption base delegation mode namespace output rbacMirror version";
        assert_eq!(filled.keys().cloned().collect::<Vec<_>>().join(" "), names);
        let entry = yunikorn_config(&object(json!({"metadata": {"name": "default"}, "spec": filled})));
        assert_eq!(entry.spec.unwrap(), ConfigSpec::default());
    }

    #[test]
    fn configs_of_another_name_or_with_one_map_for_both_are_refused() {
        let same = json!({"base": {"configMap": "c"}, "output": {"configMap": "c"}});
        let wrong =
            yunikorn_config(&object(json!({"metadata": {"name": "other"}, "spec": same}))).spec.unwrap_err();
        let codes: Vec<Code> = wrong.iter().map(|diagnostic| diagnostic.code).collect();
        assert_eq!(codes, [NOT_THE_SINGLETON, BASE_IS_OUTPUT]);
    }

    #[test]
    fn what_status_says_is_what_is_remembered() {
        let in_force = Arc::new(QueueAclInForce {
            partition: "default".into(),
            queue: "root.a".into(),
            submit: Some("sue".into()),
            admin: None,
            base_acl: BaseAcl::Extend,
            expires_at: Some(at("2027-01-01T00:00:00Z")),
            delegated_by: None,
        });
        let condition = Condition {
            type_: "Ready".into(),
            status: Status::Unknown,
            reason: "Pending".into(),
            message: "é".into(),
            observed_generation: 7,
            last_transition: at("2026-01-02T03:04:05Z"),
        };
        let rest = queuewarden_plan::QueueAclStatus {
            submit: "sue".into(),
            admin: "-".into(),
            active: "True".into(),
            in_force: Some(in_force.clone()),
        };
        let status = status::whole(
            json!(Reported { observed_generation: 7, rest: &rest }),
            std::slice::from_ref(&condition),
        );
        let entry = queue_acl(&object(json!({"metadata": {"name": "x"}, "status": status})));
        assert_eq!((entry.in_force, entry.meta.conditions), (Some(in_force), [condition].into()));

        let policy = AdmissionPolicySpec { system_users: Some(vec![]), ..AdmissionPolicySpec::default() };
        let rest = AdmissionPolicyStatus { in_force: Some(policy.clone()) };
        let status = Reported { observed_generation: 1, rest: &rest };
        let entry = admission_policy(&object(json!({"metadata": {"name": "x"}, "status": status})));
        assert_eq!(entry.in_force, Some(policy));

        let rest = queuewarden_plan::ConfigStatus {
            revision: Some(12),
            config_hash: Some("A".into()),
            loaded_hash: Some("B".into()),
            version: Some(Release::new(None, Some("1.9.0"))),
            output: Some(queuewarden_plan::OutputRef {
                namespace: "yunikorn".into(),
                name: "yunikorn-configs".into(),
                uid: "u9".into(),
                keys: vec!["a".into(), "queues.yaml".into()],
            }),
            admission_policy: Some("strict".into()),
        };
        let status = Reported { observed_generation: 1, rest: &rest };
        let entry = yunikorn_config(&object(json!({"metadata": {"name": "x"}, "status": status})));
        assert_eq!(entry.in_force, Some(rest));
    }

    #[test]
    fn managed_fields_beyond_those_of_a_few_programs_count_as_stored() {
        let of = |count: usize| {
            let entry = |number| json!({"manager": format!("m{number:0100}"), "operation": "Apply", "fieldsV1": {"f:spec": {}}});
            let managed: Vec<_> = (0..count).map(entry).collect();
            meta(&object(json!({"metadata": {"name": "x", "managedFields": managed}}))).stored
        };
        assert_eq!(of(0), of(40), "entries of the API server");
        assert!(of(4000) > 400_000, "{}", of(4000));
    }

    #[test]
    fn codes_differ() {
        let numbers: BTreeSet<u16> = CODES.iter().map(|code| code.number).collect();
        assert_eq!(numbers.len(), CODES.len());
        assert!(numbers.iter().all(|number| (5101..5200).contains(number)));
    }
}

#[cfg(test)]
mod access_test_tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;
    use queuewarden_plan::snapshot::Enforcement;

    fn read(spec: &Value) -> Result<AccessTestSpec, Vec<Diagnostic>> {
        let object = json!({"metadata": {"name": "x"}, "spec": spec});
        access_test(&serde_json::from_value(object).unwrap()).spec
    }

    #[test]
    fn a_whole_test_is_read() {
        let spec = read(&json!({
            "partition": "gpu", "enforcement": "Block",
            "cases": [{
                "name": "n", "subjects": [{"user": "sue", "groups": ["devs"]}], "dynamic": true,
                "allow": {"submit": ["root.a"]}, "deny": {"administer": ["root.b"]},
                "placements": [
                    {"queue": "q", "labels": {"l": "1"}, "annotations": {"a": "2"}, "namespaceAnnotations": {"n": "3"}, "runsIn": "root.a"},
                    {"namespace": "etl", "rejected": true},
                ],
            }],
        }))
        .unwrap();
        assert_eq!((spec.enforcement, spec.expectations.partition.as_str()), (Enforcement::Block, "gpu"));
        let [case] = spec.expectations.cases.as_slice() else { panic!("{spec:?}") };
        assert_eq!((case.size(), case.dynamic, case.name.as_str()), (4, true, "n"));
        let [first, second] = case.placements.as_slice() else { panic!("{case:?}") };
        assert_eq!((first.workload.queue(), first.workload.namespace.as_str()), ("q", "default"));
        assert_eq!(first.workload.pod.labels["l"], "1");
        assert_eq!(first.workload.pod.annotations, BTreeMap::from([("a".to_owned(), "2".to_owned())]));
        assert_eq!(first.workload.namespace_annotations["n"], "3");
        assert_eq!((&second.expected, second.workload.queue()), (&ExpectedPlacement::Nowhere, ""));
    }

    #[test]
    fn what_would_check_nothing_or_too_much_is_refused() {
        let sue = json!([{"user": "sue"}]);
        let many: Vec<Value> = (0..101).map(|n| json!({"user": format!("u{n}")})).collect();
        let queues: Vec<String> = (0..100).map(|n| format!("root.q{n}")).collect();
        let cases = [
            (json!([]), EMPTY_CASE, "spec.cases: "),
            (json!([{"subjects": sue}]), EMPTY_CASE, "spec.cases[0]: "),
            (json!([{"subjects": [], "allow": {"submit": ["root"]}}]), EMPTY_CASE, "spec.cases[0]: "),
            (json!([{"subjects": sue, "allow": {}}]), EMPTY_CASE, "spec.cases[0]: "),
            (json!([{"subjects": sue, "placements": [{}]}]), NO_OUTCOME, "spec.cases[0].placements[0]: "),
            (
                json!([{"subjects": sue, "placements": [{"runsIn": "root", "rejected": true}]}]),
                NO_OUTCOME,
                "spec.cases[0].placements[0]: ",
            ),
            (
                json!([{"subjects": sue, "placements": [{"runsIn": "prod"}]}]),
                BAD_EXPECTED_QUEUE,
                "spec.cases[0].placements[0].runsIn: ",
            ),
            (
                json!([{"subjects": sue, "deny": {"administer": ["root", "a.b"]}}]),
                BAD_EXPECTED_QUEUE,
                "spec.cases[0].deny.administer[1]: ",
            ),
            (
                json!([{"subjects": [{"user": ""}], "allow": {"submit": ["root"]}}]),
                NO_USER,
                "spec.cases[0].subjects[0]: ",
            ),
            (json!([{"subjects": many, "deny": {"submit": queues}}]), TOO_MANY_CHECKS, "spec.cases: 10100"),
        ];
        for (cases, code, start) in cases {
            let wrong = read(&json!({ "cases": cases })).unwrap_err();
            let [diagnostic] = wrong.as_slice() else { panic!("{wrong:?}") };
            assert_eq!(diagnostic.code, code, "{diagnostic}");
            assert!(diagnostic.message.starts_with(start), "{diagnostic}");
        }
        for spec in [json!({}), json!({"cases": [{}]}), json!({"cases": [{"subjects": [{"users": "a"}]}]})] {
            assert_eq!(read(&spec).unwrap_err().first().unwrap().code, super::super::convert::UNREADABLE);
        }
    }
}
