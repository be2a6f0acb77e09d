//! The types of `queues.yaml`, field for field those of yunikorn-core v1.8.0
//! `pkg/common/configs/config.go:33-170`.
//!
//! They hold the configuration as written: quantities are text, names have their case, nothing is inserted.
//! Each struct also knows its span in the document, which Go's do not. [`super::Config`] is the view the rest
//! of the program uses.

use std::collections::BTreeMap;

use go_compat::diag::Span;
use go_compat::yaml::decode::{Decode, List, Map, Place, Record, Spanned, items};

/// Resource names and their quantities as written.
pub type Quantities = Map<Spanned>;

/// The whole document (`config.go:33`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SchedulerConfig {
    /// The partitions in the order of the text.
    pub partitions: List<PartitionConfig>,
    /// Accepted in the text, but overwritten by the scheduler.
    pub checksum: String,
}

/// One partition (`config.go:46`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartitionConfig {
    /// Its position in the document.
    pub place: Place,
    /// Its name as written; empty means `default`.
    pub name: Spanned,
    /// The queues; `None` is refused, an empty list is not.
    pub queues: List<QueueConfig>,
    /// The placement rules in order.
    pub placement_rules: List<PlacementRule>,
    /// Limits of the partition: another way to write the root queue's.
    pub limits: List<Limit>,
    /// Switches of preemption.
    pub preemption: Preemption,
    /// The order in which nodes are sorted.
    pub node_sort_policy: NodeSortPolicy,
    /// The resolver of users' groups.
    pub user_group_resolver: UserGroupResolver,
}

/// The resolver of users' groups (`config.go:56`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UserGroupResolver {
    /// `os`, `ldap` or `test`; anything else is no resolver.
    pub kind: Spanned,
}

/// Switches of preemption (`config.go:61`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Preemption {
    /// Switches preemption as a whole; on when not set.
    pub enabled: Option<bool>,
    /// Switches preemption when a quota shrinks; off when not set.
    pub quota_preemption_enabled: Option<bool>,
}

/// One queue (`config.go:74`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueueConfig {
    /// Its position in the document.
    pub place: Place,
    /// Its name as written.
    pub name: Spanned,
    /// True if it is declared a parent.
    pub parent: bool,
    /// Its quota and guarantee.
    pub resources: Resources,
    /// The most applications that may run in it; 0 means any number.
    pub max_applications: u64,
    /// Free properties, some of which the scheduler knows.
    pub properties: Map<String>,
    /// The ACL of those who administer it, as written.
    pub admin_acl: Spanned,
    /// The ACL of those who may submit to it, as written.
    pub submit_acl: Spanned,
    /// The properties and resources of dynamic leaf queues below it.
    pub child_template: ChildTemplate,
    /// Its children in the order of the text.
    pub queues: List<QueueConfig>,
    /// Limits of users and groups.
    pub limits: List<Limit>,
}

/// The properties and resources of a dynamic leaf queue (`config.go:88`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChildTemplate {
    /// The most applications that may run in it; 0 means any number.
    pub max_applications: u64,
    /// Its properties.
    pub properties: Map<Spanned>,
    /// Its quota and guarantee.
    pub resources: Resources,
}

/// Quota and guarantee of a queue (`config.go:98`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resources {
    /// The guaranteed resources.
    pub guaranteed: Quantities,
    /// The most resources that it may use.
    pub max: Quantities,
}

/// One placement rule (`config.go:110`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlacementRule {
    /// Its position in the document.
    pub place: Place,
    /// `provided`, `user`, `fixed` or `tag`, in any case.
    pub name: Spanned,
    /// True if it may create queues.
    pub create: bool,
    /// The users and groups it applies to.
    pub filter: Filter,
    /// The rule that names the queue above.
    pub parent: Option<Box<PlacementRule>>,
    /// The queue of a `fixed` rule, the tag of a `tag` rule.
    pub value: Spanned,
}

/// The users and groups that a placement rule applies to (`config.go:123`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    /// `allow` or `deny`; empty means `allow`.
    pub kind: Spanned,
    /// Users, or one regular expression.
    pub users: List<Spanned>,
    /// Groups, or one regular expression.
    pub groups: List<Spanned>,
}

/// A limit for some users and groups in a queue (`config.go:140`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Limit {
    /// Its position in the document.
    pub place: Place,
    /// A description.
    pub limit: Spanned,
    /// The users.
    pub users: List<Spanned>,
    /// The groups.
    pub groups: List<Spanned>,
    /// The most resources that each of them may use.
    pub max_resources: Quantities,
    /// The most applications that each of them may run; 0 means any number.
    pub max_applications: u64,
}

/// The order in which nodes are sorted (`config.go:151`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeSortPolicy {
    /// `fair` or `binpacking`; empty means `fair`.
    pub kind: Spanned,
    /// The weight of each resource.
    pub resource_weights: Map<f64>,
}

impl QueueConfig {
    /// Its children.
    pub fn children(&self) -> &[QueueConfig] {
        items(&self.queues)
    }

    /// The number of queues below it, on all levels.
    pub fn count_below(&self) -> usize {
        self.children().iter().map(|child| 1 + child.count_below()).sum()
    }

    /// The span to point at when something is wrong with it: its name, or its mapping when it has none.
    pub fn head(&self) -> Span {
        self.name.span.unwrap_or(self.place.span)
    }
}

impl PartitionConfig {
    /// The span to point at when something is wrong with it.
    pub fn head(&self) -> Span {
        self.name.span.unwrap_or(self.place.span)
    }
}

impl PlacementRule {
    /// The span to point at when something is wrong with it.
    pub fn head(&self) -> Span {
        self.name.span.unwrap_or(self.place.span)
    }
}

impl Limit {
    /// The span to point at when something is wrong with it.
    pub fn head(&self) -> Span {
        self.limit.span.unwrap_or(self.place.span)
    }

    /// Compares like Go's `reflect.DeepEqual`: spans do not count, nil and empty differ.
    pub fn deep_equal(&self, other: &Self) -> bool {
        self.limit.value == other.limit.value
            && same_texts(self.users.as_deref(), other.users.as_deref())
            && same_texts(self.groups.as_deref(), other.groups.as_deref())
            && same_quantities(&self.max_resources, &other.max_resources)
            && self.max_applications == other.max_applications
    }
}

fn same_texts(left: Option<&[Spanned]>, right: Option<&[Spanned]>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => left.iter().map(Spanned::as_str).eq(right.iter().map(Spanned::as_str)),
        (left, right) => left.is_none() && right.is_none(),
    }
}

fn same_quantities(left: &Quantities, right: &Quantities) -> bool {
    let texts = |quantities: &Quantities| -> Option<BTreeMap<String, String>> {
        quantities
            .as_ref()
            .map(|map| map.iter().map(|(name, text)| (name.clone(), text.value.clone())).collect())
    };
    texts(left) == texts(right)
}

/// Declares the fields of a Go struct.
macro_rules! record {
    ($type:ident, $called:literal, { $($name:literal => $field:ident),* $(,)? } $(, $place:ident)?) => {
        impl Record for $type {
            const NAME: &'static str = $called;
            const FIELDS: &'static [&'static str] = &[$($name),*];

            fn field(&mut self, name: &str) -> Option<&mut dyn Decode> {
                match name {
                    $($name => Some(&mut self.$field),)*
                    _ => None,
                }
            }

            $(fn placed(&mut self, place: Place) {
                self.$place = place;
            })?
        }
    };
}

record!(SchedulerConfig, "a configuration", { "partitions" => partitions, "checksum" => checksum });
record!(PartitionConfig, "a partition", {
    "name" => name, "queues" => queues, "placementrules" => placement_rules, "limits" => limits, "preemption" => preemption,
    "nodesortpolicy" => node_sort_policy, "usergroupresolver" => user_group_resolver,
}, place);
record!(UserGroupResolver, "a group resolver", { "type" => kind });
record!(Preemption, "a preemption setting", {
    "enabled" => enabled, "quotapreemptionenabled" => quota_preemption_enabled,
});
record!(QueueConfig, "a queue", {
    "name" => name, "parent" => parent, "resources" => resources, "maxapplications" => max_applications,
    "properties" => properties, "adminacl" => admin_acl, "submitacl" => submit_acl, "childtemplate" => child_template,
    "queues" => queues, "limits" => limits,
}, place);
record!(ChildTemplate, "a child template", {
    "maxapplications" => max_applications, "properties" => properties, "resources" => resources,
});
record!(Resources, "a resource setting", { "guaranteed" => guaranteed, "max" => max });
record!(PlacementRule, "a placement rule", {
    "name" => name, "create" => create, "filter" => filter, "parent" => parent, "value" => value,
}, place);
record!(Filter, "a filter", { "type" => kind, "users" => users, "groups" => groups });
record!(Limit, "a limit", {
    "limit" => limit, "users" => users, "groups" => groups, "maxresources" => max_resources,
    "maxapplications" => max_applications,
}, place);
record!(NodeSortPolicy, "a node sorting policy", { "type" => kind, "resourceweights" => resource_weights });
