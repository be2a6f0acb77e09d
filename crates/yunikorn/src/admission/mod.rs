//! `YuniKorn`'s admission controller: who may name the user of a workload (the
//! `admissionController.accessControl.*` keys), which namespaces it handles
//! (`admissionController.filtering.*`), and its answer to a request.
//!
//! Nothing in `YuniKorn` validates these keys: a value that the admission controller cannot read becomes the
//! default, with a line in its log.
//!
//! * [`keys`]: their names and defaults.
//! * [`lists`]: lists of regular expressions as the admission controller reads them, and written so that they
//!   are read as they were meant.
//! * [`pitfalls`]: expressions that match more, or less, than they seem to, or trust more people than they
//!   name.
//! * [`conf`]: the decisions of the access keys and of the filtering keys.
//! * [`request`]: the input of the admission controller, and the changes it makes.
//! * [`evaluate`](mod@evaluate): its answer.
//! * [`user_info`]: the annotation, and the user who submits.
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

/// The most expressions of one list that are checked.
pub const MAX_EXPRESSIONS: usize = 256;
