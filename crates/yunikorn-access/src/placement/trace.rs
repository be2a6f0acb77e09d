//! The result of a placement: the outcome, and each rule on the way to it.

use crate::decide::Decision;
use crate::tree::levels;
use go_compat::diag::Span;

/// The outcome for an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It runs in this queue: its full path, in lower case.
    Placed(String),
    /// It is rejected, with this message of `YuniKorn`.
    Rejected(String),
    /// The scheduler crashes: the queue that a rule named is not below the root (`placement.go:156`).
    Crashes(String),
    /// It cannot be known, with the reason.
    Undecided(String),
}

/// The outcome for an application, with its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The outcome.
    pub outcome: Outcome,
    /// Each rule that was tried, in order. The last one led to the outcome, unless no rule did.
    pub steps: Vec<Step>,
    /// The reason why there are no rules, in `YuniKorn`'s words: a scheduler that *starts* with rules it
    /// cannot build continues without any, and rejects every application (`placement.go:47`). One that runs
    /// refuses them, and keeps its configuration.
    pub inactive: Option<String>,
}

impl Placement {
    /// A rejection without any rule.
    pub fn rejected(message: String) -> Self {
        let outcome = Outcome::Rejected(message);
        Self { outcome, steps: Vec::new(), inactive: None }
    }

    /// The queues that are created, also by a placement that fails: they stay.
    pub fn created(&self) -> Option<&Created> {
        match &self.steps.last()?.landing.as_ref()?.end {
            LandingEnd::Placed(created) | LandingEnd::Fails { created, .. } => created.as_ref(),
            _ => None,
        }
    }

    /// The queue it runs in.
    pub fn queue(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Placed(queue) => Some(queue),
            _ => None,
        }
    }
}

/// Queues that a placement creates: each level from below `above` down to `queue`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// The nearest queue that exists, in lower case.
    pub above: String,
    /// The lowest of the new ones, in lower case.
    pub queue: String,
    /// True if `queue` takes applications. It does not when its own child could not be created.
    pub leaf: bool,
}

impl Created {
    /// The new queues, from the top. All but the last are parents.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let above = self.above.len();
        levels(&self.queue).filter(move |path| path.len() > above)
    }
}

/// One rule, and the result for the queue it named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The rule with its result.
    pub rule: RuleStep,
    /// The result for its queue; `None` when it named none.
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
    /// `root.@recovery@`, for applications that run already.
    Recovery,
    /// `root.default`, for applications that no rule placed.
    Default,
}

impl RuleName {
    /// The name in a `queues.yaml`; the last two kinds cannot be written there.
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

    /// The tag of a `tag` rule, the queue of a `fixed` rule.
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
    /// The span where it is written; `None` for one that `YuniKorn` adds.
    pub span: Option<Span>,
    /// The rule that names the queue above; `None` when there is none, or it was not run.
    pub parent: Option<Box<RuleStep>>,
    /// The end of the rule.
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

    /// A rule that `YuniKorn` adds itself.
    pub(super) fn internal(name: RuleName, end: RuleEnd) -> Self {
        Self { name, create: false, span: None, parent: None, end }
    }
}

/// The reason for the decision of a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It has no lists: `allow` lets all pass, `deny` nobody.
    Empty,
    /// It lists the user.
    User,
    /// It lists this group of the user.
    Group(String),
    /// It lists neither the user nor a group of the user.
    NotListed,
}

/// The end of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleEnd {
    /// It names this queue: its full path, as spelled by the rule.
    Named(String),
    /// The application names no queue, or does not have the tag.
    NothingToGoBy,
    /// The filter does not let the user pass.
    Filtered {
        /// The reason.
        why: Why,
        /// The filter in words: `deny users alice, bob, groups ^qa`.
        filter: String,
    },
    /// The parent rule names no queue.
    NoParent,
    /// This queue does not exist, and the rule does not create queues: its full path, as spelled by the rule.
    Missing(String),
    /// The rule fails with this message of `YuniKorn`, and with it the whole submission: no other rule is
    /// tried (`placement.go:119-125`).
    Fails(String),
    /// It cannot be known, with the reason.
    Undecided(String),
}

/// The result for a queue that a rule named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// The full path, as spelled by the rule.
    pub queue: String,
    /// The queue that the name leads to.
    pub target: Target,
    /// The decision whether the user may submit there; `None` when it was not evaluated.
    pub decision: Option<Decision>,
    /// The end of the landing.
    pub end: LandingEnd,
}

/// The queue that a name leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A queue that exists.
    Exists {
        /// True if it is in the configuration.
        configured: bool,
    },
    /// No queue: this is the nearest one above, in lower case.
    New {
        /// The full path of the nearest queue.
        above: String,
    },
    /// Nowhere: the name does not begin with the root.
    Nowhere,
}

/// The end for a queue that a rule named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingEnd {
    /// The application runs there, with the queues that are made for it, if any.
    Placed(Option<Created>),
    /// It is not a leaf: the next rule is tried.
    NotALeaf,
    /// The user may not submit to it: the next rule is tried.
    Denied,
    /// It has been removed from the configuration: the next rule is tried.
    Draining,
    /// The whole submission fails.
    Fails {
        /// The message in `YuniKorn`'s words.
        message: String,
        /// The queues made before it failed; they stay.
        created: Option<Created>,
    },
    /// The scheduler crashes.
    Crashes,
    /// It cannot be known, with the reason.
    Undecided(String),
}
