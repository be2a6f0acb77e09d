//! Events: published beside the loop, so that a slow API server delays no write. One that cannot be published is only logged.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::call::call;
use super::status::target;
use crate::api::API_VERSION;
use crate::plan;
use crate::plan::snapshot::FIELD_MANAGER;

/// Events that may wait to be published.
const CAPACITY: usize = 1024;
/// What the operator was doing; events.k8s.io wants a word for it.
const ACTION: &str = "Reconcile";

/// Where events go. Dropping it lets the task end once the last one is published.
#[derive(Debug)]
pub struct Events {
    queue: mpsc::Sender<(Event, ObjectReference)>,
}

impl Events {
    /// Starts to publish in the name of `instance`.
    pub fn start(client: Client, instance: String) -> (Self, JoinHandle<()>) {
        let (queue, mut waiting) = mpsc::channel::<(Event, ObjectReference)>(CAPACITY);
        let reporter = Reporter { controller: FIELD_MANAGER.into(), instance: Some(instance) };
        let task = tokio::spawn(async move {
            let recorder = Recorder::new(client, reporter);
            while let Some((event, reference)) = waiting.recv().await {
                if let Err(error) = call(recorder.publish(&event, &reference)).await {
                    tracing::warn!(reason = event.reason, object = reference.name, %error, "Could not publish an event");
                }
            }
        });
        (Self { queue }, task)
    }

    /// Hands an event about the object with this uid over.
    pub fn publish(&self, event: &plan::Event, uid: &str) {
        let (kind, name) = target(&event.subject);
        let reference = ObjectReference {
            api_version: Some(API_VERSION.into()),
            kind: Some(kind.name().into()),
            name: Some(name.to_owned()),
            uid: Some(uid.to_owned()),
            ..ObjectReference::default()
        };
        let type_ = if event.warning { EventType::Warning } else { EventType::Normal };
        let event = Event {
            type_,
            reason: event.reason.clone(),
            note: Some(event.note.clone()),
            action: ACTION.into(),
            secondary: None,
        };
        if self.queue.try_send((event, reference)).is_err() {
            tracing::warn!(object = name, "Too many events wait to be published; dropped one");
        }
    }
}
