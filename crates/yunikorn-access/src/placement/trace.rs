//! The answer to a placement question: the outcome, and each rule on the way to it.

use crate::check::Decision;
use go_compat::diag::Span;

/// What becomes of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It runs in this queue.
    Placed {
        /// The full path, in lower case.
        queue: String,
    },
    /// It is rejected.
    Rejected {
        /// `YuniKorn`'s words.
        message: String,
    },
    /// The scheduler crashes: the queue it was to create is not below the root (`placement.go:156`).
    Crashes {
        /// The queue that the rule named.
        queue: String,
    },
    /// It cannot be told.
    Undecided {
        /// Why.
        reason: String,
    },
}

/// What becomes of an application, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The answer.
    pub outcome: Outcome,
    /// Each rule that was tried, in order. The last one led to the outcome, unless no rule did.
    pub steps: Vec<Step>,
    /// Queues that come into being.
    pub created: Option<Created>,
    /// Why there are no rules, in `YuniKorn`'s words: a scheduler that *starts* with rules it cannot build goes on without any, and
    /// rejects every application (`placement.go:47`). One that runs refuses them, and keeps the configuration it has.
    pub inactive: Option<String>,
}

impl Placement {
    /// A rejection without any rule.
    pub fn rejected(message: String) -> Self {
        let outcome = Outcome::Rejected { message };
        Self { outcome, steps: Vec::new(), created: None, inactive: None }
    }

    /// The queue it runs in.
    pub fn queue(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Placed { queue } => Some(queue),
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
    /// Whether `queue` takes applications. It does not when its own child could not be created.
    pub leaf: bool,
}

impl Created {
    /// The new queues, from the top. All but the last are parents.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let above = self.above.len();
        super::landing::levels(&self.queue).filter(move |path| path.len() > above)
    }
}

/// One rule, and what became of the queue it named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The rule.
    pub rule: RuleStep,
    /// What became of its queue; `None` when it named none.
    pub landing: Option<Landing>,
}

/// Which rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleName {
    /// The queue the application asks for.
    Provided,
    /// The user's name.
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
    /// As a `queues.yaml` has it; the last two have no place there.
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
}

/// What a rule made of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleStep {
    /// Which rule.
    pub name: RuleName,
    /// Whether it may create queues.
    pub create: bool,
    /// Where it is written; `None` for one that `YuniKorn` adds.
    pub span: Option<Span>,
    /// Whether its filter lets the application pass.
    pub filter: Filtered,
    /// The filter in words: `deny users alice, bob, groups ^qa`; empty where there is none.
    pub filter_words: String,
    /// The rule that names the queue above; `None` when there is none, or it was not asked.
    pub parent: Option<Box<RuleStep>>,
    /// What came of it.
    pub end: RuleEnd,
}

impl RuleStep {
    /// A rule that `YuniKorn` has without being told.
    pub(super) fn internal(name: RuleName, end: RuleEnd) -> Self {
        Self {
            name,
            create: false,
            span: None,
            filter: Filtered::NotAsked,
            filter_words: String::new(),
            parent: None,
            end,
        }
    }
}

/// What a filter says (`filter.go:50`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filtered {
    /// It was not asked.
    NotAsked,
    /// The rule applies to this user.
    Passes(Why),
    /// It does not.
    Stops(Why),
}

/// Why a filter says so.
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

/// What came of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleEnd {
    /// It names this queue, as spelled by the rule.
    Named {
        /// The full path.
        queue: String,
    },
    /// The application asks for no queue, or does not have the tag.
    NothingToGoBy,
    /// The filter does not let the user pass.
    Filtered,
    /// The parent rule names no queue.
    NoParent,
    /// The queue does not exist, and the rule does not create queues.
    Missing {
        /// The full path, as spelled by the rule.
        queue: String,
    },
    /// The rule fails, and with it the whole submission: no other rule is tried (`placement.go:119-125`).
    Fails {
        /// `YuniKorn`'s words.
        message: String,
    },
    /// It cannot be told.
    Undecided {
        /// Why.
        reason: String,
    },
}

/// What became of a queue that a rule named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// The full path, as spelled by the rule.
    pub queue: String,
    /// What it leads to.
    pub target: Target,
    /// May the user submit there; `None` when nobody asked.
    pub decision: Option<Decision>,
    /// What came of it.
    pub end: LandingEnd,
}

/// What the name of a queue leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A queue that exists.
    Exists {
        /// Whether applications run in it.
        leaf: bool,
        /// Whether it is in the configuration.
        configured: bool,
    },
    /// No queue: this is the nearest one above, in lower case.
    New {
        /// The full path.
        above: String,
    },
    /// Nothing: the name does not begin with the root.
    Nowhere,
}

/// What came of a queue that a rule named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingEnd {
    /// The application runs there.
    Placed {
        /// The queues made for it.
        created: Option<Created>,
    },
    /// It is no leaf: the next rule is tried.
    NotALeaf,
    /// The user may not submit to it: the next rule is tried.
    Denied,
    /// It has been removed from the configuration: the next rule is tried.
    Draining,
    /// The whole submission fails.
    Fails {
        /// `YuniKorn`'s words.
        message: String,
        /// The queues made before it failed; they stay.
        created: Option<Created>,
    },
    /// The scheduler crashes.
    Crashes,
    /// It cannot be told.
    Undecided {
        /// Why.
        reason: String,
    },
}
