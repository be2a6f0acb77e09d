//! Reads the conditions of queuewarden's objects.

use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Api, DynamicObject};
use queuewarden_client::objects::api;
use serde_json::Value;

use crate::Kind;
use crate::test_cluster::TestCluster;
use crate::wait::eventually;

/// A condition that a test waits for: type, status (`True`, `False`, `Unknown`) and reason.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// `Ready`, `Accepted`, …
    pub r#type: &'a str,
    /// `True`, `False` or `Unknown`.
    pub status: &'a str,
    /// The reason; any if `None`.
    pub reason: Option<&'a str>,
}

/// Returns [`Expected`] for the usual case.
pub fn is_true(r#type: &str) -> Expected<'_> {
    Expected { r#type, status: "True", reason: None }
}

/// Returns [`Expected`] with status `False`.
pub fn is_false<'a>(r#type: &'a str, reason: &'a str) -> Expected<'a> {
    Expected { r#type, status: "False", reason: Some(reason) }
}

impl TestCluster {
    /// Returns the objects of a kind, untyped: as the API server stores them, without our types.
    ///
    /// # Errors
    /// When no client can be created.
    pub fn objects(&self, kind: Kind) -> Result<Api<DynamicObject>> {
        Ok(api(kind, self.client()?))
    }

    /// Returns all conditions of an object; empty before the operator has seen it.
    ///
    /// # Errors
    /// When the object does not exist.
    pub async fn conditions(&self, kind: Kind, name: &str) -> Result<Vec<Condition>> {
        let object = self.objects(kind)?.get(name).await?;
        conditions(&object)
    }

    /// Waits for a condition of the object's current generation, and returns it.
    ///
    /// # Errors
    /// When it is not set within `timeout`; the error lists the conditions instead.
    pub async fn wait_for(
        &self,
        kind: Kind,
        name: &str,
        expected: Expected<'_>,
        timeout: Duration,
    ) -> Result<Condition> {
        let objects = self.objects(kind)?;
        eventually(&format!("{kind:?}/{name} to be {expected:?}"), timeout, || async {
            let object = objects.get(name).await?;
            let all = conditions(&object)?;
            let found = all.iter().find(|condition| {
                condition.type_ == expected.r#type
                    && condition.status == expected.status
                    && expected.reason.is_none_or(|reason| condition.reason == reason)
                    && condition.observed_generation == object.metadata.generation
            });
            found.cloned().map(Some).with_context(|| format!("conditions are {}", summary(&all)))
        })
        .await
    }
}

fn conditions(object: &DynamicObject) -> Result<Vec<Condition>> {
    match object.data.pointer("/status/conditions") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(list) => Ok(serde_json::from_value(list.clone())?),
    }
}

fn summary(conditions: &[Condition]) -> String {
    let each = conditions.iter().map(|condition| {
        let generation = condition.observed_generation.unwrap_or_default();
        format!(
            "{}={} ({}, generation {generation}): {}",
            condition.type_, condition.status, condition.reason, condition.message
        )
    });
    format!("[{}]", each.collect::<Vec<_>>().join("; "))
}
