//! Limits of single users and groups, each checked separately and against the limits of the queues above.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::{Display, Write as _};
use std::rc::Rc;

use super::super::codes::{LIMIT, LIMIT_HIERARCHY, LIMITS_DIFFER};
use super::super::names::{is_group, is_user, to_lower};
use super::super::quantity::{Amounts, write_map};
use super::super::schema::{Limit, PartitionConfig, QueueConfig};
use super::ROOT;
use crate::version::Behavior;
use go_compat::diag::Diagnostic;
use go_compat::yaml::decode::{List, Spanned, items};

/// The name of everyone in a limit.
const WILDCARD: &str = "*";

/// `checkLimitsStructure` (`configvalidator.go:596`). Limits of a partition are equivalent to limits of its
/// root queue.
pub(super) fn move_to_root(partition: &mut PartitionConfig) -> Result<(), Diagnostic> {
    let head = partition.head();
    let of_partition = items(&partition.limits);
    let Some(root) = partition.queues.as_mut().and_then(|queues| queues.first_mut()) else {
        return Ok(());
    };
    if to_lower(root.name.as_str()) != ROOT {
        let message = format!("top queue name is {} not root", root.name.value);
        return Err(Diagnostic::error(LIMITS_DIFFER, message).at(head));
    }
    let of_root = items(&root.limits);
    if of_partition.is_empty() {
        return Ok(());
    }
    if of_root.is_empty() {
        root.limits = Some(of_partition.to_vec());
        return Ok(());
    }
    let equal = of_partition.len() == of_root.len()
        && of_partition.iter().zip(of_root).all(|(left, right)| left.deep_equal(right));
    if equal {
        return Ok(());
    }
    Err(Diagnostic::error(LIMITS_DIFFER, "partition limits and root queue limits are not equivalent")
        .at(root.head())
        .help("write the limits in only one of the two places"))
}

/// `checkLimits` (`configvalidator.go:575`).
pub(super) fn check(queue: &QueueConfig) -> Result<(), Diagnostic> {
    if items(&queue.limits).is_empty() {
        return Ok(());
    }
    let mut users = HashSet::new();
    let mut groups = HashSet::new();
    items(&queue.limits).iter().try_for_each(|limit| check_limit(limit, &mut users, &mut groups, queue))
}

/// `checkLimit` (`configvalidator.go:501`). `users` and `groups` are the names in earlier limits.
fn check_limit<'a>(
    limit: &'a Limit,
    users: &mut HashSet<&'a str>,
    groups: &mut HashSet<&'a str>,
    queue: &QueueConfig,
) -> Result<(), Diagnostic> {
    let name = &limit.limit.value;
    let refused = |message: String| Err(Diagnostic::error(LIMIT, message).at(limit.head()));
    if items(&limit.users).is_empty() && items(&limit.groups).is_empty() {
        return refused(format!("empty user and group lists defined in limit '{}'", go_value(limit)));
    }
    for user in items(&limit.users) {
        check_name(user, users, is_user, "user", ", already exists")?;
    }
    for group in items(&limit.groups) {
        check_name(group, groups, is_group, "group", "")?;
    }
    if groups.contains(WILDCARD) && groups.len() == 1 {
        return refused(
            "should not specify only one group limit that is using the wildcard. There must be at least one \
             limit with a group name defined "
                .to_owned(),
        );
    }
    let quantities = limit.max_resources.as_ref().filter(|quantities| !quantities.is_empty());
    let amounts = Amounts::read(&limit.max_resources)?;
    if quantities.is_some() && !amounts.is_positive() {
        return refused(format!("MaxResources should be greater than zero in '{name}' limit"));
    }
    if limit.max_applications == 0 && quantities.is_none() {
        return refused(format!(
            "invalid resource combination for limit {name} all resource limits are null"
        ));
    }
    if queue.max_applications != 0 && queue.max_applications < limit.max_applications {
        return refused(format!(
            "invalid MaxApplications settings for limit {name} exceed current the queue MaxApplications"
        ));
    }
    check_against_queue(limit, &amounts, queue)
}

/// Checks a user or group of a limit. The name must be valid, not in an earlier limit, and not after the
/// wildcard.
fn check_name<'a>(
    name: &'a Spanned,
    seen: &mut HashSet<&'a str>,
    is_valid: impl Fn(&str) -> bool,
    kind: &str,
    duplicated: &str,
) -> Result<(), Diagnostic> {
    let text = name.as_str();
    let refused = |message: String| Err(Diagnostic::error(LIMIT, message).at(name.span));
    if text != WILDCARD && !is_valid(text) {
        return refused(format!("invalid limit {kind} name '{text}' in limit definition"));
    }
    if !seen.insert(text) {
        return refused(format!("duplicated {kind} name '{text}'{duplicated}"));
    }
    if seen.contains(WILDCARD) && text != WILDCARD {
        return refused(format!("should not set no wildcard {kind} {text} after wildcard {kind} limit"));
    }
    Ok(())
}

/// The end of `checkLimit` (`configvalidator.go:559`): a limit must not exceed its queue.
fn check_against_queue(limit: &Limit, amounts: &Amounts, queue: &QueueConfig) -> Result<(), Diagnostic> {
    if queue.name.as_str() == ROOT {
        return Ok(());
    }
    let max = Amounts::read(&queue.resources.max).map_err(|error| {
        let message = format!("parse queue {} max resource failed: {}", queue.name.value, error.message);
        Diagnostic { message, ..error }
    })?;
    if max.fits(amounts) {
        return Ok(());
    }
    let message = format!(
        "invalid MaxResources settings for limit {} exeecd current the queue MaxResources",
        limit.limit.value
    );
    Err(Diagnostic::error(LIMIT, message).at(limit.head()))
}

/// Formats a limit like Go's `%v`.
fn go_value(limit: &Limit) -> String {
    let list = |names: &List<Spanned>| items(names).iter().map(Spanned::as_str).collect::<Vec<_>>().join(" ");
    let mut text = format!("{{{} [{}] [{}] ", limit.limit.value, list(&limit.users), list(&limit.groups));
    let quantities = limit.max_resources.iter().flatten().map(|(name, quantity)| (name, quantity.as_str()));
    _ = write_map(&mut text, quantities);
    _ = write!(text, " {}}}", limit.max_applications);
    text
}

/// The effective limits by queue path. Paths are as written.
type InForce<T> = HashMap<String, Rc<Frame<T>>>;

/// The limits of one queue by user or group, linked to the limits of its parent. Go copies inherited limits;
/// this has the same effect without the copies.
struct Frame<T> {
    own: BTreeMap<String, Rc<T>>,
    above: Option<Rc<Frame<T>>>,
}

impl<T> Frame<T> {
    fn get(&self, name: &str) -> Option<&Rc<T>> {
        std::iter::successors(Some(self), |frame| frame.above.as_deref())
            .find_map(|frame| frame.own.get(name))
    }
}

/// A limited quantity, which is compared with the limits above in Go's words.
trait Bound: Display + Sized {
    fn read(limit: &Limit) -> Result<Self, Diagnostic>;
    /// Returns whether `below` does not exceed this bound.
    fn allows(&self, below: &Self) -> bool;
    /// Returns the effective bound if both are set.
    fn narrowed(own: &Rc<Self>, above: &Self) -> Rc<Self>;
    /// The name of the quantity, and of the bound it is compared with.
    const WHAT: &'static str;
    const ABOVE: &'static str;
}

impl Bound for Amounts {
    fn read(limit: &Limit) -> Result<Self, Diagnostic> {
        Self::read(&limit.max_resources)
    }

    fn allows(&self, below: &Self) -> bool {
        self.fits(below)
    }

    fn narrowed(own: &Rc<Self>, above: &Self) -> Rc<Self> {
        Rc::new(own.least(above))
    }

    const WHAT: &'static str = "max resource";
    const ABOVE: &'static str = "maximum resource";
}

impl Bound for u64 {
    fn read(limit: &Limit) -> Result<Self, Diagnostic> {
        Ok(limit.max_applications)
    }

    fn allows(&self, below: &Self) -> bool {
        *self == 0 || (*self >= *below && *below != 0)
    }

    fn narrowed(own: &Rc<Self>, _above: &Self) -> Rc<Self> {
        Rc::clone(own)
    }

    const WHAT: &'static str = "max applications";
    const ABOVE: &'static str = "max applications";
}

/// Checks each limit against the limits of the queues above.
pub(super) fn check_hierarchies(root: &QueueConfig, behavior: &Behavior) -> Result<(), Diagnostic> {
    if !any_limits(root) {
        return Ok(());
    }
    let paths = [(behavior.limits_by_path, Paths::BeginAtRoot), (behavior.limits_by_parent, Paths::Whole)];
    // `checkLimitResource` (`configvalidator.go:155`), `checkLimitMaxApplications` (`:228`).
    for (_, paths) in paths.into_iter().filter(|(applies, _)| *applies) {
        check_hierarchy::<Amounts>(root, &mut HashMap::new(), &mut HashMap::new(), "", paths)?;
        check_hierarchy::<u64>(root, &mut HashMap::new(), &mut HashMap::new(), "", paths)?;
    }
    Ok(())
}

/// The paths along which limits are inherited ([`Behavior`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paths {
    /// A new path begins at each queue named `root`.
    BeginAtRoot,
    /// A path contains all names from the root.
    Whole,
}

fn any_limits(queue: &QueueConfig) -> bool {
    !items(&queue.limits).is_empty() || queue.children().iter().any(any_limits)
}

fn check_hierarchy<T: Bound>(
    queue: &QueueConfig,
    users: &mut InForce<T>,
    groups: &mut InForce<T>,
    above: &str,
    paths: Paths,
) -> Result<(), Diagnostic> {
    let name = queue.name.as_str();
    let begins = name == ROOT && (paths == Paths::BeginAtRoot || above.is_empty());
    let path = if begins { ROOT.to_owned() } else { format!("{above}.{name}") };
    // A queue `root` below the root has the path of its parent, whose limits it has just replaced.
    let inherited = |in_force: &InForce<T>| in_force.get(above).filter(|_| path != above).cloned();
    let mut of_users = Frame { own: BTreeMap::new(), above: inherited(users) };
    let mut of_groups = Frame { own: BTreeMap::new(), above: inherited(groups) };
    for limit in items(&queue.limits) {
        let bound = Rc::new(T::read(limit)?);
        for user in items(&limit.users) {
            of_users.narrow(&bound, user, ("user", name))?;
        }
        for group in items(&limit.groups) {
            of_groups.narrow(&bound, group, ("group", name))?;
        }
    }
    users.insert(path.clone(), Rc::new(of_users));
    groups.insert(path.clone(), Rc::new(of_groups));
    queue.children().iter().try_for_each(|child| check_hierarchy(child, users, groups, &path, paths))
}

impl<T: Bound> Frame<T> {
    /// Sets the bound of one user or group unless a bound above is narrower.
    fn narrow(
        &mut self,
        bound: &Rc<T>,
        who: &Spanned,
        (kind, queue): (&str, &str),
    ) -> Result<(), Diagnostic> {
        let name = who.as_str();
        let above = self.above.as_deref();
        let own = above.and_then(|bounds| bounds.get(name));
        let wildcard = above.and_then(|bounds| bounds.get(WILDCARD)).filter(|_| name != WILDCARD);
        let refused = |relation: String| {
            let message =
                format!("{kind} {name} {} {bound} of queue {queue} is greater than {relation}", T::WHAT);
            Err(Diagnostic::error(LIMIT_HIERARCHY, message).at(who.span))
        };
        let bound = match (own, wildcard) {
            (Some(own), _) if !own.allows(bound) => {
                return refused(format!("immediate or ancestor parent {} {own}", T::ABOVE));
            }
            (Some(own), _) => T::narrowed(bound, own),
            (None, Some(wildcard)) if !wildcard.allows(bound) => {
                return refused(format!(
                    "wildcard {} {wildcard} of immediate or ancestor parent queue",
                    T::ABOVE
                ));
            }
            (None, _) => Rc::clone(bound),
        };
        self.own.insert(name.to_owned(), bound);
        Ok(())
    }
}
