//! Objects with a pod template (`admission_controller.go:220-282`, `:333-345`).

use super::{Answer, Outcome, Step, Walk};
use crate::admission::keys::AccessList;
use crate::admission::patch::{Patch, Value};
use crate::admission::request::{USER_INFO, Workload};

impl Walk<'_> {
    /// Evaluates the creation of a workload. Without an application ID, present or to come, `user.info` is
    /// not even read.
    pub(super) fn create_workload(&mut self, workload: Workload) -> Answer {
        if workload == Workload::ReplicaSet && self.is_of_controller()? {
            return Err(Outcome::Allowed);
        }
        if !self.is_reviewed()? {
            return self.allow(Step::LeftAlone);
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
            return if users.is_known() {
                Ok(false)
            } else {
                Err(Outcome::Unknown(AccessList::SystemUsers.key()))
            };
        };
        self.steps.push(Step::ControllersReplicaSet { pattern: pattern.as_str().to_owned() });
        Ok(true)
    }
}
