//! The objects of ours with their conditions. A condition of an older generation is ignored, because it does
//! not describe the current object.

use kube::Client;
use kube::api::{DynamicObject, ListParams};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use queuewarden_operator::controller::call::{self, call};
use queuewarden_operator::controller::world::Kind;
use queuewarden_plan::conditions::{Status, Type};

/// Reason for an object that the operator has not seen since it was changed.
const NOT_SEEN: &str = "NotSeen";

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedCondition {
    /// `status`
    pub status: Status,
    /// `reason`
    pub reason: String,
    /// `message`
    pub message: String,
}

/// An object as the cluster has it.
#[derive(Debug, Clone)]
pub struct ObservedObject {
    /// Its kind.
    pub kind: Kind,
    object: DynamicObject,
}

/// An object that needs attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Attention {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The reason why it is not Ready.
    pub reason: String,
    /// The same in a sentence, with a remedy.
    pub message: String,
}

impl ObservedObject {
    /// Returns the condition of a type for the current generation; `None` if there is none.
    pub fn condition(&self, type_: Type) -> Option<ObservedCondition> {
        let conditions = self.field("/status/conditions")?.as_array()?;
        let condition = conditions.iter().find(|condition| word(condition, "type") == type_.as_str())?;
        let generation = condition.get("observedGeneration").and_then(Value::as_i64);
        (generation == self.object.metadata.generation).then(|| ObservedCondition {
            status: Status::parse(word(condition, "status")),
            reason: word(condition, "reason").to_owned(),
            message: word(condition, "message").to_owned(),
        })
    }

    /// Returns whether a condition is true.
    pub fn holds(&self, type_: Type) -> bool {
        self.condition(type_).is_some_and(|condition| condition.status == Status::True)
    }

    /// Returns the reason why it is not Ready; `None` if it is.
    pub fn attention(&self) -> Option<Attention> {
        let (reason, message) = match self.condition(Type::Ready) {
            Some(ready) if ready.status == Status::True => return None,
            Some(ready) => (ready.reason, ready.message),
            None => {
                let message = "queuewarden has not looked at it since it was changed: is it running?";
                (NOT_SEEN.to_owned(), message.to_owned())
            }
        };
        let name = self.object.metadata.name.clone().unwrap_or_default();
        Some(Attention { kind: self.kind.name().to_owned(), name, reason, message })
    }

    /// Returns a field of the object by its JSON pointer.
    pub fn field(&self, pointer: &str) -> Option<&Value> {
        self.object.data.pointer(pointer)
    }

    /// Returns an annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.object.metadata.annotations.as_ref()?.get(name).map(String::as_str)
    }
}

/// Lists all objects of all kinds, by kind and name; none of a kind that is not installed.
pub async fn all(client: &Client) -> Vec<(Kind, Result<Vec<ObservedObject>, call::Error>)> {
    let mut all = Vec::new();
    for kind in Kind::ALL {
        all.push((kind, list(client, kind).await));
    }
    all
}

async fn list(client: &Client, kind: Kind) -> Result<Vec<ObservedObject>, call::Error> {
    match call(kind.api(client.clone()).list(&ListParams::default())).await {
        Ok(list) => Ok(list.items.into_iter().map(|object| ObservedObject { kind, object }).collect()),
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn word<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn standing(generation: i64, conditions: &Value) -> ObservedObject {
        let object = json!({
            "apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl",
            "metadata": {"name": "prod", "generation": generation}, "status": {"conditions": conditions},
        });
        ObservedObject { kind: Kind::QueueAcl, object: serde_json::from_value(object).unwrap() }
    }

    #[test]
    fn only_what_was_said_about_this_generation_counts() {
        let conditions = json!([
            {"type": "Ready", "status": "False", "reason": "Expired", "message": "over", "observedGeneration": 2},
            {"type": "Programmed", "status": "True", "reason": "Programmed", "message": "", "observedGeneration": 2},
        ]);
        let now = standing(2, &conditions);
        assert_eq!(now.attention().unwrap().reason, "Expired");
        assert!(now.holds(Type::Programmed) && !now.holds(Type::Ready));
        let later = standing(3, &conditions);
        assert_eq!(later.attention().unwrap().reason, NOT_SEEN);
        assert!(!later.holds(Type::Programmed));
        for unreadable in [json!(null), json!({}), json!(["Ready"]), json!([{"type": 1}])] {
            assert_eq!(standing(1, &unreadable).attention().unwrap().reason, NOT_SEEN, "{unreadable}");
        }
    }

    #[test]
    fn what_is_ready_needs_no_attention() {
        let conditions = json!([{"type": "Ready", "status": "True", "reason": "Ready", "message": "in force", "observedGeneration": 1}]);
        assert_eq!(standing(1, &conditions).attention(), None);
    }
}
