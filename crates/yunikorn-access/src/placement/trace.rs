//! The result of a placement: the outcome, and each rule that was tried.

use crate::decide::Decision;
use crate::tree::levels;
use go_compat::diag::Span;

/// The outcome for an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It runs in this queue, given by its full path in lower case.
    Placed(String),
    /// It is rejected with this message of `YuniKorn`.
    Rejected(String),
    /// The scheduler crashes, because the queue that a rule selected is not below the root
    /// (`placement.go:156`).
    Crashes(String),
    /// It is unknown, for this reason.
    Undecided(String),
}

/// The outcome for an application, with its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The outcome.
    pub outcome: Outcome,
    /// The rules that were tried, in order. The last one led to the outcome, unless no rule did.
    pub steps: Vec<Step>,
    /// The reason why there are no rules, in `YuniKorn`'s words. A scheduler that *starts* with invalid rules
    /// continues without any and rejects every application (`placement.go:47`). A running scheduler refuses
    /// them and keeps its configuration.
    pub inactive: Option<String>,
}

impl Placement {
    /// Returns a rejection without any rule.
    pub fn rejected(message: String) -> Self {
        let outcome = Outcome::Rejected(message);
        Self { outcome, steps: Vec::new(), inactive: None }
    }

    /// Returns the created queues. Queues created by a failed placement stay.
    pub fn created(&self) -> Option<&Created> {
        match &self.steps.last()?.landing.as_ref()?.end {
            LandingEnd::Placed(created) | LandingEnd::Fails { created, .. } => created.as_ref(),
            _ => None,
        }
    }

    /// Returns the queue that it runs in.
    pub fn queue(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Placed(queue) => Some(queue),
            _ => None,
        }
    }
}

/// Queues created by a placement, one per level from below `above` down to `queue`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// The nearest existing queue, in lower case.
    pub above: String,
    /// The lowest new queue, in lower case.
    pub queue: String,
    /// True if `queue` accepts applications. It does not if its child could not be created.
    pub leaf: bool,
}

impl Created {
    /// Iterates over the new queues from the top. All but the last are parents.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let above = self.above.len();
        levels(&self.queue).filter(move |path| path.len() > above)
    }
}

/// A rule, and the result for the queue it selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The rule with its result.
    pub rule: RuleStep,
    /// The result for its queue; `None` if it selected none.
    pub landing: Option<Landing>,
}

/// The kind of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleName {
    /// The queue named by the application.
    Provided,
    /// The queue with the user's name.
    User,
    /// The value of this tag, in lower case.
    Tag(String),
    /// This queue, in lower case.
    Fixed(String),
    /// The rule of `YuniKorn`'s own tests.
    Test,
    /// `root.@recovery@`, for applications that already run.
    Recovery,
    /// `root.default`, for applications that no rule placed.
    Default,
}

impl RuleName {
    /// Returns the name in a `queues.yaml`. The last two kinds cannot be written there.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Provided => "provided",
            Self::User => "user",
            Self::Tag(_) => "tag",
            Self::Fixed(_) => "fixed",
            Self::Test => "test",
            Self::Recovery => "recovery",
            Self::Default => "default",
        }
    }

    /// Returns the tag of a `tag` rule or the queue of a `fixed` rule.
    pub fn value(&self) -> Option<&str> {
        match self {
            Self::Tag(value) | Self::Fixed(value) => Some(value),
            _ => None,
        }
    }
}

/// The result of a rule for an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleStep {
    /// The kind of the rule.
    pub name: RuleName,
    /// True if it may create queues.
    pub create: bool,
    /// The span in the text; `None` for a rule that `YuniKorn` adds.
    pub span: Option<Span>,
    /// The rule that determines the parent queue, if it exists and was run.
    pub parent: Option<Box<RuleStep>>,
    /// How the rule ends.
    pub end: RuleEnd,
}

impl RuleStep {
    /// Returns `tag namespace`, or `user below tag namespace` if the rule has a parent rule.
    pub fn label(&self) -> String {
        match &self.name {
            RuleName::Default => "(no rule fits)".to_owned(),
            RuleName::Provided if self.span.is_none() => "provided (no rules are configured)".to_owned(),
            name => {
                let value = name.value().map(|value| format!(" {value}")).unwrap_or_default();
                let parent = self.parent.as_ref();
                let below = parent.map(|parent| format!(" below {}", parent.label())).unwrap_or_default();
                format!("{}{value}{below}", name.key())
            }
        }
    }

    /// Returns a rule that `YuniKorn` adds itself.
    pub(super) fn internal(name: RuleName, end: RuleEnd) -> Self {
        Self { name, create: false, span: None, parent: None, end }
    }
}

/// The reason for a filter's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The filter has no lists: `allow` accepts everyone, `deny` nobody.
    Empty,
    /// The filter lists the user.
    User,
    /// The filter lists this group of the user.
    Group(String),
    /// The filter does not list the user or a group of the user.
    NotListed,
}

/// How a rule ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleEnd {
    /// The rule selects this queue, given by its full path as the rule spells it.
    Named(String),
    /// The application names no queue, or does not have the tag.
    NothingToGoBy,
    /// The filter excludes the user.
    Filtered {
        /// The reason.
        why: Why,
        /// The filter in words: `deny users alice, bob, groups ^qa`.
        filter: String,
    },
    /// The parent rule selects no queue.
    NoParent,
    /// This queue does not exist, and the rule does not create queues. The path is spelled as in the rule.
    Missing(String),
    /// The rule fails with this message of `YuniKorn`, and so does the whole submission: no other rule is
    /// tried (`placement.go:119-125`).
    Fails(String),
    /// It is unknown, for this reason.
    Undecided(String),
}

/// The result for a queue that a rule selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// The full path, as the rule spells it.
    pub queue: String,
    /// What the path leads to.
    pub target: Target,
    /// The decision whether the user may submit there; `None` if it was not evaluated.
    pub decision: Option<Decision>,
    /// How the landing ends.
    pub end: LandingEnd,
}

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An existing queue.
    Exists {
        /// True if it is in the configuration.
        configured: bool,
    },
    /// A queue that does not exist yet.
    New {
        /// The full path of the nearest queue above, in lower case.
        above: String,
    },
    /// Nothing: the path does not begin with the root.
    Nowhere,
}

/// How the landing of a queue ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingEnd {
    /// The application runs there, in a queue created for it if necessary.
    Placed(Option<Created>),
    /// It is not a leaf; the next rule is tried.
    NotALeaf,
    /// The user may not submit to it; the next rule is tried.
    Denied,
    /// It was removed from the configuration; the next rule is tried.
    Draining,
    /// The whole submission fails.
    Fails {
        /// The message in `YuniKorn`'s words.
        message: String,
        /// The queues created before the failure, which stay.
        created: Option<Created>,
    },
    /// The scheduler crashes.
    Crashes,
    /// It is unknown, for this reason.
    Undecided(String),
}
