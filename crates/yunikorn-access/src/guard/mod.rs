//! In whose name may a workload run? The identity guard: it adds the annotation `yunikorn.apache.org/user.info` where it is missing, and
//! refuses it where the requester may not set it.
//!
//! `YuniKorn`'s own admission controller does the same with holes ([`yunikorn::admission::evaluate`]); profile [`Profile::YuniKorn`] is it,
//! holes and all. Profile [`Profile::Strict`] has none of them: what says in whose name pods run is judged wherever it is
//! written, at creation and at each change.
//!
//! * `asked`, `answer`: what is asked, and what is answered.
//! * `judge`: profile strict.
//! * `json`: the annotation's text.
//! * `words`: what people read.
//! * `path`: where objects of other people's kinds hold pod templates.

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

/// How much is done (`AdmissionPolicy`'s `spec.userInfo.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Nobody looks.
    #[default]
    Off,
    /// What would be refused is written down and counted; nothing is changed.
    Audit,
    /// It is added, and refused.
    Enforce,
}

/// By which rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// What `YuniKorn`'s admission controller does, in its place.
    YuniKorn,
    /// The same without its holes.
    #[default]
    Strict,
}

/// `AdmissionPolicy`'s `spec.userInfo`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// How much is done.
    pub mode: Mode,
    /// By which rules.
    pub profile: Profile,
    /// Where other kinds than Kubernetes' own hold pod templates.
    pub templates: Vec<Template>,
}
