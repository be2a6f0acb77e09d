//! The placement rules, and the queue that each selects for an application (yunikorn-core
//! `pkg/scheduler/placement/*_rule.go`).
//!
//! All rules have the same steps: find the value, apply the filter, convert the value to one queue name or a
//! full path, prepend the parent rule's queue, and finally check whether the queue exists or may be created.

use super::Submission;
use super::filter::Filter;
use super::landing::Existing;
use super::trace::{RuleEnd, RuleName, RuleStep};
use go_compat::diag::Span;
use yunikorn::config::names::to_lower;
use yunikorn::config::schema::{self, PlacementRule};
use yunikorn::config::{NAME_REFUSED, activate};
use yunikorn::queue::{ROOT, name_ok};

/// The prefix of a full path.
const FROM_ROOT: &str = "root.";
/// The replacement of a dot in the name of a queue (`configs.DotReplace`).
const DOT: &str = "_dot_";

/// One placement rule.
#[derive(Debug)]
pub(super) struct Rule {
    name: RuleName,
    create: bool,
    span: Option<Span>,
    filter: Filter,
    parent: Option<Box<Rule>>,
}

/// Builds the rules of a partition, in order, without the rules that `YuniKorn` appends (`buildRules`,
/// `placement.go:223`).
///
/// # Errors
/// The first reason why they cannot be built.
pub(super) fn rules(written: &[PlacementRule]) -> Result<Vec<Rule>, String> {
    if written.is_empty() {
        return Ok(vec![Rule::provided()]);
    }
    let rules = written.iter().map(|rule| {
        activate::check_rule(rule).map_err(|error| error.message)?;
        Rule::parse(rule).ok_or_else(|| format!("unknown rule name specified {}", rule.name.value))
    });
    rules.collect()
}

impl Rule {
    /// Returns the only rule of a partition without configured rules.
    fn provided() -> Self {
        let filter = Filter::new(&schema::Filter::default());
        Self { name: RuleName::Provided, create: false, span: None, filter, parent: None }
    }

    /// Converts a rule that [`activate::check_rule`] accepts.
    fn parse(written: &PlacementRule) -> Option<Self> {
        let value = to_lower(written.value.as_str());
        let name = match to_lower(written.name.as_str()).as_str() {
            "provided" => RuleName::Provided,
            "user" => RuleName::User,
            "tag" => RuleName::Tag(value),
            "fixed" => RuleName::Fixed(value),
            "test" => RuleName::Test,
            _ => return None,
        };
        let parent = match &written.parent {
            Some(parent) => Some(Box::new(Self::parse(parent)?)),
            None => None,
        };
        let filter = Filter::new(&written.filter);
        Some(Self { name, create: written.create, span: Some(written.head()), filter, parent })
    }

    /// Runs the rule like `placeApplication`.
    pub(super) fn run(&self, submission: &Submission, existing: &Existing<'_>) -> RuleStep {
        let mut step = RuleStep {
            create: self.create,
            span: self.span,
            ..RuleStep::internal(self.name.clone(), RuleEnd::NothingToGoBy)
        };
        step.end = self.named(submission, existing, &mut step).unwrap_or_else(|end| end);
        step
    }

    /// Returns the queue's name, or an earlier end. Both variants are ends, so that `?` can return early.
    fn named(
        &self,
        submission: &Submission,
        existing: &Existing<'_>,
        step: &mut RuleStep,
    ) -> Result<RuleEnd, RuleEnd> {
        let goes_by = self.goes_by(submission);
        if self.name == RuleName::Test {
            return test_rule(goes_by);
        }
        if goes_by.is_empty() && matches!(self.name, RuleName::Provided | RuleName::Tag(_)) {
            return Err(RuleEnd::NothingToGoBy);
        }
        let filtered = self.filter.apply(&submission.identity);
        if let (false, why) = filtered.map_err(RuleEnd::Undecided)? {
            return Err(RuleEnd::Filtered { why, filter: self.filter.to_string() });
        }
        let queue = if self.is_full_path(goes_by) {
            goes_by.split('.').try_for_each(check_name)?;
            goes_by.to_owned()
        } else {
            let name = self.one_name(goes_by)?;
            let parent = self.parent_queue(submission, existing, step)?;
            format!("{parent}.{name}")
        };
        if !self.create && existing.find(&queue).is_none() {
            return Err(RuleEnd::Missing(queue));
        }
        Ok(RuleEnd::Named(queue))
    }

    fn goes_by<'a>(&'a self, submission: &'a Submission) -> &'a str {
        match &self.name {
            RuleName::User => &submission.identity.user,
            RuleName::Tag(tag) => submission.tag(tag),
            RuleName::Fixed(queue) => queue,
            _ => &submission.queue,
        }
    }

    /// Returns whether the value is a full path. The value of a fixed rule is one if it begins with `root`,
    /// even `rootfoo` (`fixed_rule.go:80`). A user's name never is.
    fn is_full_path(&self, goes_by: &str) -> bool {
        match self.name {
            RuleName::Fixed(_) => goes_by.starts_with(ROOT),
            RuleName::User => false,
            _ => goes_by.starts_with(FROM_ROOT),
        }
    }

    /// Converts the value to one queue name. Dots separate levels in a fixed rule and are replaced in other
    /// rules.
    fn one_name(&self, goes_by: &str) -> Result<String, RuleEnd> {
        if matches!(self.name, RuleName::Fixed(_)) {
            return Ok(goes_by.to_owned());
        }
        let name = goes_by.replace('.', DOT);
        check_name(&name).map(|()| name)
    }

    fn parent_queue(
        &self,
        submission: &Submission,
        existing: &Existing<'_>,
        step: &mut RuleStep,
    ) -> Result<String, RuleEnd> {
        let Some(parent) = &self.parent else {
            return Ok(ROOT.to_owned());
        };
        let named = parent.run(submission, existing);
        let end = named.end.clone();
        step.parent = Some(Box::new(named));
        let queue = match end {
            RuleEnd::Named(queue) if queue.starts_with(FROM_ROOT) => queue,
            RuleEnd::Named(queue) => format!("{FROM_ROOT}{queue}"),
            RuleEnd::Fails(_) | RuleEnd::Undecided(_) => return Err(end),
            _ => return Err(RuleEnd::NoParent),
        };
        if existing.find(&queue).is_some_and(|found| found.leaf) {
            return Err(RuleEnd::Fails(format!("parent rule returned a leaf queue: {queue}")));
        }
        Ok(queue)
    }
}

/// `testRule` (`testrule.go:72`), which the configuration may use although it is meant for tests.
fn test_rule(named: &str) -> Result<RuleEnd, RuleEnd> {
    if named.is_empty() {
        return Ok(RuleEnd::Named(RuleName::Test.key().to_owned()));
    }
    named.split('.').try_for_each(check_name)?;
    Ok(RuleEnd::Named(named.replace('.', DOT)))
}

fn check_name(name: &str) -> Result<(), RuleEnd> {
    if name_ok(name) { Ok(()) } else { Err(RuleEnd::Fails(NAME_REFUSED.to_owned())) }
}
