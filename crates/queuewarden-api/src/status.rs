//! Converts the plan's output into `status` of the objects.
//!
//! All kinds share the same conditions, which are also most of the data. The rest is built separately, and
//! [`whole`] joins the two.
//!
//! The types compute nothing themselves: the status is exactly the plan's output, so that the plan gets the
//! same state back when it is read again ([`super::convert`]).

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use serde::Serialize;
use serde_json::Value;

use queuewarden_plan::conditions::Condition;

/// Name of the field that holds conditions.
pub const CONDITIONS: &str = "conditions";

/// A status without conditions, and the generation of the spec that it was computed from.
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

/// Returns conditions as JSON, or `None` to leave the field out if there are no conditions.
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
