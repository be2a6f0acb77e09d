//! The user-info policy: it decides in whose name a workload may run. It adds the annotation
//! `yunikorn.apache.org/user.info` where it is missing, and refuses it where the requester may not set it.
//!
//! `YuniKorn`'s own admission controller does the same with gaps ([`yunikorn::admission::evaluate()`]);
//! profile [`Profile::YuniKorn`] behaves like it, gaps included. Profile [`Profile::Strict`] has none of
//! them: every annotation that names the user of pods is checked wherever it is written, at creation and at
//! each change.
//!
//! * `asked`, `answer`: the request and the answer.
//! * `judge`: profile strict.
//! * `json`: the annotation's text.
//! * `words`: the messages for people.
//! * `path`: the positions of pod templates in objects of other people's kinds.

mod answer;
mod asked;
mod json;
mod judge;
mod path;
#[cfg(test)]
mod tests;
mod words;

pub use answer::{Addition, Judgement, Rule, Verdict};
pub use asked::{Asked, Given, MAX_SITES, Moment, Site};
pub use judge::judge;
pub use path::{LeadsTo, MAX_LENGTH, MAX_NAMES, MAX_TEMPLATES, Path, Segment, Template};

/// The strictness of the policy (`AdmissionPolicy`'s `spec.userInfo.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Nothing is checked.
    #[default]
    Off,
    /// Refusals are only logged and counted; nothing is changed.
    Audit,
    /// The annotation is added or refused.
    Enforce,
}

/// The rules that decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// The rules of `YuniKorn`'s admission controller, applied in its place.
    YuniKorn,
    /// The same without its gaps.
    #[default]
    Strict,
}

/// `AdmissionPolicy`'s `spec.userInfo`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The strictness of the policy.
    pub mode: Mode,
    /// The rules that decide.
    pub profile: Profile,
    /// The positions of pod templates in kinds that are not Kubernetes' own.
    pub templates: Vec<Template>,
}
