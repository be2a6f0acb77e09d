//! The conditions that every object would get, as a table for people and as JSON for programs.

use serde_json::{Value, json};

use crate::output::format::{Table, escaped_json};
use go_compat::diag::Severity;
use queuewarden_api::answer::VERSION;
use queuewarden_api::v1alpha1::SINGLETON;
use queuewarden_plan::conditions::{Condition, Reason, Status, Type, find};
use queuewarden_plan::{Plan, ResourceKind};

/// Output format of statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// A line for each object, and one more for each condition worth a look.
    #[default]
    Table,
    /// All conditions.
    Json,
    /// No output.
    None,
}

/// The status of one object.
#[derive(Debug, Clone, Copy)]
pub struct ObjectConditions<'a> {
    /// Its kind.
    pub kind: ResourceKind,
    /// Its name.
    pub name: &'a str,
    /// Its conditions.
    pub conditions: &'a [Condition],
}

impl ObjectConditions<'_> {
    /// Returns `Kind/name`, as used in messages.
    pub fn label(&self) -> String {
        self.kind.object(self.name).to_string()
    }

    /// Returns the condition of a type.
    pub fn get(&self, type_: Type) -> Option<&Condition> {
        find(self.conditions, type_)
    }

    /// Returns the message about the object: the cause if it is not ready or has another reason, or its
    /// effect. Missing verification is mentioned once, for the `YuniKornConfig`.
    fn summary<'a>(&'a self, ready: &'a Condition) -> &'a str {
        let does = [Type::Accepted, Type::BaseResolved].into_iter().find_map(|type_| self.get(type_));
        let unverified = self.kind == ResourceKind::YuniKornConfig && ready.has(Reason::NotVerified);
        match does {
            Some(does) if ready.status == Status::True && !unverified => &does.message,
            _ => &ready.message,
        }
    }

    /// Returns the problems, by condition. Input that `YuniKorn` or Kubernetes rejects is an error, and
    /// accepted input without the apparent effect is a warning. Consequences of a refused object are not
    /// reported. The summary is only used if nothing else is known: for a `YuniKornConfig` that cannot be
    /// read.
    pub fn problems(&self) -> impl Iterator<Item = (&Condition, Severity)> {
        let refused = self.get(Type::Accepted).is_some_and(|accepted| accepted.status != Status::True);
        let follows = move |condition: &Condition| refused && !condition.is(Type::Accepted);
        let unread = self.get(Type::BaseResolved).is_some_and(|base| base.status == Status::Unknown);
        let summary = self.get(Type::Ready).filter(|_| unread);
        let own = self.conditions.iter().filter(move |condition| !follows(condition));
        let single = own.filter_map(|condition| Some((condition, severity(condition)?)));
        single.chain(summary.map(|ready| (ready, Severity::Error)))
    }
}

/// Returns the severity of a condition; `None` if it is no problem.
fn severity(condition: &Condition) -> Option<Severity> {
    let type_ = Type::ALL.iter().find(|type_| condition.is(**type_))?;
    match (type_, condition.status) {
        // An object outside its time, or suspended, is reported by another condition.
        (Type::Effective, _)
            if [Reason::NotYetValid, Reason::Expired, Reason::Suspended]
                .into_iter()
                .any(|reason| condition.has(reason)) =>
        {
            None
        }
        (Type::FailOpen, Status::True) | (Type::Effective, Status::False) => Some(Severity::Warning),
        (Type::Accepted, Status::True) if condition.has(Reason::Expired) => Some(Severity::Warning),
        (Type::FailOpen | Type::Loaded | Type::Passing | Type::Ready, _) | (_, Status::True) => None,
        // This mode is intended.
        (Type::Applied | Type::Programmed, _) if condition.has(Reason::ObserveMode) => None,
        // This is a consequence of another problem, which has a separate condition.
        _ if condition.has(Reason::ConfigNotReady) || condition.has(Reason::WithdrawalPending) => None,
        (Type::BaseResolved | Type::Applied, Status::Unknown) => None,
        (Type::Effective, Status::Unknown) => Some(Severity::Warning),
        _ => Some(Severity::Error),
    }
}

/// Returns every object with its conditions: the `YuniKornConfig` first, then by kind and name.
pub fn objects(plan: &Plan) -> Vec<ObjectConditions<'_>> {
    let mut objects = Vec::new();
    let mut add = |kind, name, conditions| objects.push(ObjectConditions { kind, name, conditions });
    plan.config.iter().for_each(|status| add(ResourceKind::YuniKornConfig, SINGLETON, &status.conditions));
    plan.queue_acls.iter().for_each(|(name, status)| add(ResourceKind::QueueAcl, name, &status.conditions));
    plan.policies
        .iter()
        .for_each(|(name, status)| add(ResourceKind::AdmissionPolicy, name, &status.conditions));
    plan.access_tests
        .iter()
        .for_each(|(name, status)| add(ResourceKind::QueueAccessTest, name, &status.conditions));
    objects
}

/// Formats the statuses of a plan; `width` is the terminal's.
pub fn show(plan: &Plan, format: Format, width: Option<usize>) -> String {
    match format {
        Format::None => String::new(),
        Format::Table => table(&objects(plan), width),
        Format::Json => escaped_json(&format!("{:#}\n", to_json(plan))),
    }
}

/// Builds a row for each object, with its long message below it.
fn table(objects: &[ObjectConditions<'_>], width: Option<usize>) -> String {
    let mut table = Table::new(["KIND", "NAME", "READY", "REASON"]);
    for object in objects {
        let ready = object.get(Type::Ready);
        let [is_ready, reason] = ready.map_or(["", ""], |ready| [ready.status.as_str(), &ready.reason]);
        table.row([object.kind.name(), object.name, is_ready, reason]);
        if let Some(ready) = ready {
            table.below(object.summary(ready));
        }
        for (condition, _) in object.problems() {
            let repeated = ready.is_some_and(|ready| {
                ready.reason == condition.reason
                    && [ready.message.as_str(), object.summary(ready)].contains(&condition.message.as_str())
            });
            if !repeated {
                table.below(format!("{}: {}", condition.reason, condition.message));
            }
        }
    }
    table.text(true, width)
}

/// Returns `{version, objects: [{kind, name, conditions: [{type, status, reason, message}]}]}`.
fn to_json(plan: &Plan) -> Value {
    let objects: Vec<Value> = objects(plan)
        .iter()
        .map(|object| {
            let conditions: Vec<Value> = object
                .conditions
                .iter()
                .map(|c| json!({"type": c.type_, "status": c.status.as_str(), "reason": c.reason, "message": c.message}))
                .collect();
            json!({"kind": object.kind.name(), "name": object.name, "conditions": conditions})
        })
        .collect();
    json!({"version": VERSION, "objects": objects})
}
