//! Converts the plan's output into `status` of the objects.
//!
//! Conditions are the same in all kinds, and most of what is written. So the rest is built without them, and
//! [`whole`] joins both.
//!
//! The types derive nothing on their own: the status is exactly the plan's output, so that reading it back
//! ([`super::convert`]) gives the plan the same memory.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use serde::Serialize;
use serde_json::Value;

use queuewarden_plan::conditions::Condition;

/// Name of the field of conditions.
pub const CONDITIONS: &str = "conditions";

/// A status without conditions, of an object whose spec was read at a generation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reported<'a, S> {
    /// `metadata.generation`
    pub observed_generation: i64,
    /// The rest of the status, as planned.
    #[serde(flatten)]
    pub rest: &'a S,
}

/// Returns the whole status: a [`Reported`] as JSON, and the conditions.
pub fn whole(mut rest: Value, conditions: &[Condition]) -> Value {
    if let (Value::Object(fields), Some(conditions)) = (&mut rest, self::conditions(conditions)) {
        fields.insert(CONDITIONS.to_owned(), conditions);
    }
    rest
}

/// Returns conditions as JSON; `None` when there are none, because then the field is left out.
pub fn conditions(conditions: &[Condition]) -> Option<Value> {
    let conditions: Vec<_> = conditions
        .iter()
        .map(|condition| meta::Condition {
            type_: condition.type_.to_string(),
            status: condition.status.as_str().to_owned(),
            reason: condition.reason.to_string(),
            message: condition.message.clone(),
            observed_generation: Some(condition.observed_generation),
            last_transition_time: meta::Time(condition.last_transition),
        })
        .collect();
    (!conditions.is_empty()).then(|| serde_json::to_value(conditions).ok()).flatten()
}
