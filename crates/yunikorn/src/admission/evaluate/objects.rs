//! Pods, created (`admission_controller.go:157-218`) and updated (`:284-322`), and objects with a pod
//! template (`:220-282`, `:333-345`).

use super::{Answer, Evaluator, Outcome, labels};
use crate::admission::keys::SYSTEM_USERS;
use crate::admission::patch::{ANNOTATIONS, LABELS, Patch, SCHEDULER_NAME, Value, YUNIKORN};
use crate::admission::request::{ALLOW_PREEMPTION, APP, IGNORE_APPLICATION, Pod, Texts, USER_INFO, Workload};
use go_compat::diag::quoted;

/// The last step for a pod of `YuniKorn`'s own.
const OWN_POD: &str = "a pod with the label `app: yunikorn` is admitted as it is";
/// The last step for an object that is not changed.
const LEFT_ALONE: &str = "it is admitted as it is";

impl Evaluator<'_> {
    /// Evaluates the creation of a pod. `user.info` is checked before anything else, also where the pod is
    /// then left alone.
    pub(super) fn create_pod(&mut self) -> Answer {
        let pod = &self.request.pod;
        let mut patches = Vec::new();
        if self.needs_user_info()? {
            let info = self.own_user_info();
            patches.push(annotations_with(&pod.annotations, USER_INFO, &info));
        }
        if pod.label(APP) == YUNIKORN {
            return self.allow(OWN_POD);
        }
        if !self.is_processed()? {
            return self.allow(LEFT_ALONE);
        }
        patches.push(Patch { path: SCHEDULER_NAME, value: Value::Text(YUNIKORN) });
        if self.is_labelled()? {
            let unique = self.conf.filtering.generate_unique_app_id;
            let labels = labels::updated(pod, self.request.namespace(), unique);
            patches.push(Patch { path: LABELS, value: Value::Texts(labels) });
            self.allow_preemption(pod, &mut patches);
        } else if !self.conf.version.behavior().keeps_user_info {
            self.ignore_application(pod, &mut patches);
        }
        Ok(patches)
    }

    /// Copies the preemption setting of the `PriorityClass` (`admission_controller.go:391-427`) into the
    /// annotations that are written anyway, if any are.
    fn allow_preemption(&self, pod: &Pod, patches: &mut Vec<Patch>) {
        if matches!(pod.annotation(ALLOW_PREEMPTION), "true" | "false") {
            return;
        }
        let class = &self.surroundings.priority_class_annotations;
        let forbidden = class.get(ALLOW_PREEMPTION).is_some_and(|value| value == "false");
        let value = if forbidden { "false" } else { "true" };
        match patches.iter_mut().find(|patch| patch.path == ANNOTATIONS).map(|patch| &mut patch.value) {
            Some(Value::Texts(annotations)) => {
                annotations.insert(ALLOW_PREEMPTION.to_owned(), value.to_owned());
            }
            _ => patches.push(annotations_with(&pod.annotations, ALLOW_PREEMPTION, value)),
        }
    }

    /// Writes the annotations a second time, from those the pod came with
    /// (`admission_controller.go:437-452`): a `user.info` that was set before is lost in this way.
    fn ignore_application(&mut self, pod: &Pod, patches: &mut Vec<Patch>) {
        if patches.iter().any(|patch| patch.path == ANNOTATIONS) {
            self.steps.push(format!(
                "{USER_INFO} is lost, as the annotations are written a second time without it"
            ));
        }
        patches.push(annotations_with(&pod.annotations, IGNORE_APPLICATION, "true"));
    }

    /// Evaluates the update of a pod: nobody may change `user.info`, whatever the lists say.
    pub(super) fn update_pod(&mut self) -> Answer {
        let pod = &self.request.pod;
        if pod.label(APP) == YUNIKORN {
            return self.allow(OWN_POD);
        }
        if !self.is_reviewed()? {
            return self.allow(LEFT_ALONE);
        }
        if pod.annotation(USER_INFO) != self.request.old_pod.annotation(USER_INFO) {
            return Err(Outcome::Denied("user info annotation change is not allowed".to_owned()));
        }
        self.allow(format!("{USER_INFO} stays as it was"))
    }

    /// Evaluates the creation of a workload. Without an application ID, present or to come, `user.info` is
    /// not even read.
    pub(super) fn create_workload(&mut self, workload: Workload) -> Answer {
        if workload == Workload::ReplicaSet && self.is_of_controller()? {
            return Err(Outcome::Allowed);
        }
        if !self.is_reviewed()? {
            return self.allow(LEFT_ALONE);
        }
        if !self.needs_user_info()? {
            return Err(Outcome::Allowed);
        }
        let mut annotations = self.request.pod.annotations.clone();
        annotations.insert(USER_INFO.to_owned(), self.own_user_info());
        Ok(vec![Patch { path: workload.annotations_path(), value: Value::Texts(annotations) }])
    }

    /// Returns whether it is a system user's `ReplicaSet`. It is left as it is, because its Deployment would
    /// otherwise make another one, again and again. `trust_controllers` does not matter here.
    fn is_of_controller(&mut self) -> Result<bool, Outcome> {
        let users = &self.conf.access.system_users;
        let Some(pattern) = users.matching(&self.request.user) else {
            return if users.is_known() { Ok(false) } else { Err(Outcome::Unknown(SYSTEM_USERS)) };
        };
        self.steps.push(format!(
            "a ReplicaSet of a system user, which {} matches, is left as it is",
            quoted(pattern.as_str())
        ));
        Ok(true)
    }
}

fn annotations_with(annotations: &Texts, key: &str, value: &str) -> Patch {
    let mut annotations = annotations.clone();
    annotations.insert(key.to_owned(), value.to_owned());
    Patch { path: ANNOTATIONS, value: Value::Texts(annotations) }
}
