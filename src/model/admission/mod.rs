//! The five `admissionController.accessControl.*` keys.
#![allow(missing_docs)]
use crate::text::diag::Diagnostic;
pub const BYPASS_AUTH: &str = ""; pub const TRUST_CONTROLLERS: &str = ""; pub const SYSTEM_USERS: &str = ""; pub const EXTERNAL_USERS: &str = ""; pub const EXTERNAL_GROUPS: &str = "";
pub const KEYS: [&str; 5] = [BYPASS_AUTH, TRUST_CONTROLLERS, SYSTEM_USERS, EXTERNAL_USERS, EXTERNAL_GROUPS];
pub fn render_list(_l: &[String]) -> (Option<String>, Vec<Diagnostic>) { todo!() }
