//! `YuniKorn`'s admission controller: who may set the user of a workload
//! (`admissionController.accessControl.*`), which namespaces it handles (`admissionController.filtering.*`),
//! and how it answers a request.
//!
//! `YuniKorn` does not validate these keys: if the admission controller cannot read a value, it logs this and
//! uses the default.
//!
//! * [`keys`]: names and defaults.
//! * [`lists`]: lists of regular expressions, parsed and rendered.
//! * [`pitfalls`]: expressions that match more or less than they seem to, or trust more people than they
//!   name.
//! * [`conf`]: the settings and their decisions.
//! * [`request`]: the input of the admission controller, and the changes it makes.
//! * [`evaluate`](mod@evaluate): its answer.
//! * [`user_info`]: the annotation, and the submitting user.
//! * [`codes`]: the findings.

pub mod codes;
pub mod conf;
pub mod evaluate;
pub mod keys;
pub mod lists;
pub mod pitfalls;
pub mod request;
pub mod user_info;

pub use codes::CODES;
pub use conf::{Access, AccessControl, Allowed, Conf, Filtering};
pub use evaluate::{Evaluation, Outcome, evaluate, generated_id, remedies};
pub use keys::{BYPASS_AUTH, EXTERNAL_GROUPS, EXTERNAL_USERS, KEYS, SYSTEM_USERS, TRUST_CONTROLLERS};
pub use lists::{PatternList, render_list};
pub use request::{Kind, Operation, Patch, Pod, Request, Surroundings, Workload};
pub use user_info::{Submitter, UserInfo};

/// Maximum number of checked expressions per list.
pub const MAX_EXPRESSIONS: usize = 256;
