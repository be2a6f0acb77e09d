//! The five `admissionController.accessControl.*` keys.
#![allow(missing_docs)]
use crate::text::diag::Diagnostic;
pub const BYPASS_AUTH: &str = "admissionController.accessControl.bypassAuth";
pub const TRUST_CONTROLLERS: &str = "admissionController.accessControl.trustControllers";
pub const SYSTEM_USERS: &str = "admissionController.accessControl.systemUsers";
pub const EXTERNAL_USERS: &str = "admissionController.accessControl.externalUsers";
pub const EXTERNAL_GROUPS: &str = "admissionController.accessControl.externalGroups";
pub const KEYS: [&str; 5] = [BYPASS_AUTH, TRUST_CONTROLLERS, SYSTEM_USERS, EXTERNAL_USERS, EXTERNAL_GROUPS];
pub fn render_list(l: &[String]) -> (Option<String>, Vec<Diagnostic>) { (Some(l.join(",")), vec![]) }
