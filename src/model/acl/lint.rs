//! x
#![allow(missing_docs)]
use super::Acl; use crate::text::diag::{Code, Diagnostic};
pub struct Analysis { pub acl: Option<Acl>, pub diagnostics: Vec<Diagnostic> }
pub fn lint(_t: &str) -> Analysis { todo!() }
pub fn user(_t: &str) -> Option<Diagnostic> { todo!() }
pub fn group(_t: &str) -> Option<Diagnostic> { todo!() }
pub fn drops(_c: Code) -> bool { todo!() }
