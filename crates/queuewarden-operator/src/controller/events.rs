//! Publishes Kubernetes events in a separate task, so that a slow API server delays no write. An event that
//! cannot be published is only logged.

use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use queuewarden_api::API_VERSION;
use queuewarden_client::call::call;
use queuewarden_plan::ObjectRef;
use queuewarden_plan::snapshot::FIELD_MANAGER;

/// Maximum number of events waiting to be published.
const CAPACITY: usize = 1024;
/// The action in each event, which events.k8s.io requires.
const ACTION: &str = "Reconcile";

/// The queue of events to publish. After this is dropped, the task publishes the remaining events and ends.
#[derive(Debug)]
pub struct Events {
    queue: mpsc::Sender<(Event, ObjectReference)>,
    /// The number of events dropped since the queue last had space. When thousands of objects become ready at
    /// once, they are reported in two log lines.
    dropped: AtomicUsize,
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
        (Self { queue, dropped: AtomicUsize::new(0) }, task)
    }

    /// Queues an event about the object with this uid.
    pub fn publish(&self, event: &queuewarden_plan::Event, uid: &str) {
        let ObjectRef { kind, name } = &event.object;
        let reference = ObjectReference {
            api_version: Some(API_VERSION.into()),
            kind: Some(kind.name().into()),
            name: Some(name.to_string()),
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
        if self.queue.try_send((event, reference)).is_ok() {
            let dropped = self.dropped.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                tracing::warn!(
                    dropped,
                    "There is room for events again; conditions say what those that were dropped would have said"
                );
            }
        } else if self.dropped.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!(
                object = &**name,
                waiting = CAPACITY,
                "Too many events wait to be published; dropping those that follow"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_counted_until_there_is_some() {
        let (queue, mut waiting) = mpsc::channel(1);
        let events = Events { queue, dropped: AtomicUsize::new(0) };
        let event = queuewarden_plan::Event {
            object: queuewarden_plan::ResourceKind::QueueAcl.object("a"),
            warning: false,
            reason: "Ready".into(),
            note: "in force".into(),
        };
        let dropped = |count: usize| {
            for _ in 0..count {
                events.publish(&event, "uid");
            }
            events.dropped.load(Ordering::Relaxed)
        };
        assert_eq!(dropped(1), 0);
        assert_eq!(dropped(3), 3);
        waiting.try_recv().unwrap();
        assert_eq!(dropped(1), 0, "there was room");
        assert_eq!(dropped(1), 1);
    }
}
