//! The types of `queues.yaml`, field for field those of yunikorn-core v1.8.0
//! `pkg/common/configs/config.go:33-170`.
//!
//! They hold the configuration as written: quantities are text, names have their case, nothing is inserted.
//! Each struct also knows its span in the document, which Go's do not. [`super::Config`] is the view the rest
//! of the program uses.

use go_compat::diag::Span;
use go_compat::yaml::decode::{Decode, List, Location, Map, Record, Spanned, items};

/// Resource names and their quantities as written.
pub type Quantities = Map<Spanned>;

/// Declares Go structs: each with its name in messages, and each field with its key in the text. One with
/// `at` also has its position in the document, and a head: the field to point at when something is wrong.
macro_rules! records {
    ($(
        $(#[$doc:meta])* $type:ident = $called:literal $(at $location:ident or $head:ident)? {
            $($(#[$about:meta])* $key:literal => $field:ident: $value:ty,)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct $type {
            $(
                /// Its position in the document.
                pub $location: Location,
            )?
            $($(#[$about])* pub $field: $value,)*
        }

        impl Record for $type {
            const NAME: &'static str = $called;
            const FIELDS: &'static [&'static str] = &[$($key),*];

            fn field(&mut self, name: &str) -> Option<&mut dyn Decode> {
                match name {
                    $($key => Some(&mut self.$field),)*
                    _ => None,
                }
            }

            $(fn located(&mut self, location: Location) {
                self.$location = location;
            })?
        }

        $(impl $type {
            /// The span to point at when something is wrong with it: its name, or its mapping when it has
            /// none.
            pub fn head(&self) -> Span {
                self.$head.span.unwrap_or(self.$location.span)
            }
        })?
    )*};
}

records! {
    /// The whole document (`config.go:33`).
    SchedulerConfig = "a configuration" {
        /// The partitions in the order of the text.
        "partitions" => partitions: List<PartitionConfig>,
        /// Accepted in the text, but overwritten by the scheduler.
        "checksum" => checksum: String,
    }

    /// One partition (`config.go:46`).
    PartitionConfig = "a partition" at location or name {
        /// Its name as written; empty means `default`.
        "name" => name: Spanned,
        /// The queues; `None` is refused, an empty list is not.
        "queues" => queues: List<QueueConfig>,
        /// The placement rules in order.
        "placementrules" => placement_rules: List<PlacementRule>,
        /// Limits of the partition: another way to write the root queue's.
        "limits" => limits: List<Limit>,
        /// Switches of preemption.
        "preemption" => preemption: Preemption,
        /// The order in which nodes are sorted.
        "nodesortpolicy" => node_sort_policy: NodeSortPolicy,
        /// The resolver of users' groups.
        "usergroupresolver" => user_group_resolver: UserGroupResolver,
    }

    /// The resolver of users' groups (`config.go:56`).
    UserGroupResolver = "a group resolver" {
        /// `os`, `ldap` or `test`; anything else is no resolver.
        "type" => kind: Spanned,
    }

    /// Switches of preemption (`config.go:61`).
    Preemption = "a preemption setting" {
        /// Switches preemption as a whole; on when not set.
        "enabled" => enabled: Option<bool>,
        /// Switches preemption when a quota shrinks; off when not set.
        "quotapreemptionenabled" => quota_preemption_enabled: Option<bool>,
    }

    /// One queue (`config.go:74`).
    QueueConfig = "a queue" at location or name {
        /// Its name as written.
        "name" => name: Spanned,
        /// True if it is declared a parent.
        "parent" => parent: bool,
        /// Its quota and guarantee.
        "resources" => resources: Resources,
        /// The most applications that may run in it; 0 means any number.
        "maxapplications" => max_applications: u64,
        /// Free properties, some of which the scheduler knows.
        "properties" => properties: Map<String>,
        /// The ACL of those who administer it, as written.
        "adminacl" => admin_acl: Spanned,
        /// The ACL of those who may submit to it, as written.
        "submitacl" => submit_acl: Spanned,
        /// The properties and resources of dynamic leaf queues below it.
        "childtemplate" => child_template: ChildTemplate,
        /// Its children in the order of the text.
        "queues" => queues: List<QueueConfig>,
        /// Limits of users and groups.
        "limits" => limits: List<Limit>,
    }

    /// The properties and resources of a dynamic leaf queue (`config.go:88`).
    ChildTemplate = "a child template" {
        /// The most applications that may run in it; 0 means any number.
        "maxapplications" => max_applications: u64,
        /// Its properties.
        "properties" => properties: Map<Spanned>,
        /// Its quota and guarantee.
        "resources" => resources: Resources,
    }

    /// Quota and guarantee of a queue (`config.go:98`).
    Resources = "a resource setting" {
        /// The guaranteed resources.
        "guaranteed" => guaranteed: Quantities,
        /// The most resources that it may use.
        "max" => max: Quantities,
    }

    /// One placement rule (`config.go:110`).
    PlacementRule = "a placement rule" at location or name {
        /// `provided`, `user`, `fixed` or `tag`, in any case.
        "name" => name: Spanned,
        /// True if it may create queues.
        "create" => create: bool,
        /// The users and groups it applies to.
        "filter" => filter: Filter,
        /// The rule that names the queue above.
        "parent" => parent: Option<Box<PlacementRule>>,
        /// The queue of a `fixed` rule, the tag of a `tag` rule.
        "value" => value: Spanned,
    }

    /// The users and groups that a placement rule applies to (`config.go:123`).
    Filter = "a filter" {
        /// `allow` or `deny`; empty means `allow`.
        "type" => kind: Spanned,
        /// Users, or one regular expression.
        "users" => users: List<Spanned>,
        /// Groups, or one regular expression.
        "groups" => groups: List<Spanned>,
    }

    /// A limit for some users and groups in a queue (`config.go:140`).
    Limit = "a limit" at location or limit {
        /// A description.
        "limit" => limit: Spanned,
        /// The users.
        "users" => users: List<Spanned>,
        /// The groups.
        "groups" => groups: List<Spanned>,
        /// The most resources that each of them may use.
        "maxresources" => max_resources: Quantities,
        /// The most applications that each of them may run; 0 means any number.
        "maxapplications" => max_applications: u64,
    }

    /// The order in which nodes are sorted (`config.go:151`).
    NodeSortPolicy = "a node sorting policy" {
        /// `fair` or `binpacking`; empty means `fair`.
        "type" => kind: Spanned,
        /// The weight of each resource.
        "resourceweights" => resource_weights: Map<f64>,
    }
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
}

impl Limit {
    /// Compares like Go's `reflect.DeepEqual`: spans do not count, nil and empty differ.
    pub fn deep_equal(&self, other: &Self) -> bool {
        let names = |list: &List<Spanned>| list.as_ref().map(|names| texts(names.iter()));
        let quantities = |map: &Quantities| {
            map.as_ref().map(|map| (map.keys().cloned().collect::<Vec<_>>(), texts(map.values())))
        };
        self.limit.value == other.limit.value
            && names(&self.users) == names(&other.users)
            && names(&self.groups) == names(&other.groups)
            && quantities(&self.max_resources) == quantities(&other.max_resources)
            && self.max_applications == other.max_applications
    }
}

fn texts<'a>(values: impl Iterator<Item = &'a Spanned>) -> Vec<String> {
    values.map(|value| value.value.clone()).collect()
}
