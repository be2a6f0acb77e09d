//! The types of `queues.yaml`, field by field as in yunikorn-core v1.8.0
//! `pkg/common/configs/config.go:33-170`.
//!
//! They hold the configuration as written: quantities are text, names keep their case, and nothing is
//! inserted. Unlike Go's structs, each also has its span in the document. The rest of the program uses the
//! view [`super::Config`].

use go_compat::diag::Span;
use go_compat::yaml::decode::{Decode, List, Location, Map, Record, Spanned, items};

/// Quantities by resource name, as written.
pub type Quantities = Map<Spanned>;

/// Declares Go structs, each with its name for messages, and each field with its key in the text. A struct
/// with `at` also has its position in the document, and a head, the field to which errors point.
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
                /// The position in the document.
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
            /// Returns the span that errors point to: the name, or the whole mapping if it has no name.
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
        /// The name as written; empty means `default`.
        "name" => name: Spanned,
        /// The queues. `None` is an error, an empty list is not.
        "queues" => queues: List<QueueConfig>,
        /// The placement rules in order.
        "placementrules" => placement_rules: List<PlacementRule>,
        /// Limits of the partition, an alternative to the limits of the root queue.
        "limits" => limits: List<Limit>,
        /// Preemption settings.
        "preemption" => preemption: Preemption,
        /// The node sort order.
        "nodesortpolicy" => node_sort_policy: NodeSortPolicy,
        /// The resolver for the groups of users.
        "usergroupresolver" => user_group_resolver: UserGroupResolver,
    }

    /// The resolver for the groups of users (`config.go:56`).
    UserGroupResolver = "a group resolver" {
        /// `os`, `ldap` or `test`; any other value disables the resolver.
        "type" => kind: Spanned,
    }

    /// Preemption settings (`config.go:61`).
    Preemption = "a preemption setting" {
        /// Enables preemption. Default true.
        "enabled" => enabled: Option<bool>,
        /// Enables preemption when a quota shrinks. Default false.
        "quotapreemptionenabled" => quota_preemption_enabled: Option<bool>,
    }

    /// One queue (`config.go:74`).
    QueueConfig = "a queue" at location or name {
        /// The name as written.
        "name" => name: Spanned,
        /// True if it is declared a parent.
        "parent" => parent: bool,
        /// Its quota and guarantee.
        "resources" => resources: Resources,
        /// Maximum number of running applications; 0 means unlimited.
        "maxapplications" => max_applications: u64,
        /// Free properties. The scheduler recognizes some of them.
        "properties" => properties: Map<String>,
        /// The ACL of administrators, as written.
        "adminacl" => admin_acl: Spanned,
        /// The ACL of submitters, as written.
        "submitacl" => submit_acl: Spanned,
        /// Properties and resources for dynamic leaf queues below this queue.
        "childtemplate" => child_template: ChildTemplate,
        /// The children in the order of the text.
        "queues" => queues: List<QueueConfig>,
        /// Limits of users and groups.
        "limits" => limits: List<Limit>,
    }

    /// Properties and resources for a dynamic leaf queue (`config.go:88`).
    ChildTemplate = "a child template" {
        /// Maximum number of running applications; 0 means unlimited.
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
        /// The maximum resources.
        "max" => max: Quantities,
    }

    /// One placement rule (`config.go:110`).
    PlacementRule = "a placement rule" at location or name {
        /// `provided`, `user`, `fixed` or `tag`, in any case.
        "name" => name: Spanned,
        /// True if it may create queues.
        "create" => create: bool,
        /// The users and groups to which it applies.
        "filter" => filter: Filter,
        /// The rule that determines the parent queue.
        "parent" => parent: Option<Box<PlacementRule>>,
        /// The queue of a `fixed` rule, the tag of a `tag` rule.
        "value" => value: Spanned,
    }

    /// The users and groups to which a placement rule applies (`config.go:123`).
    Filter = "a filter" {
        /// `allow` or `deny`; empty means `allow`.
        "type" => kind: Spanned,
        /// Users, or one regular expression.
        "users" => users: List<Spanned>,
        /// Groups, or one regular expression.
        "groups" => groups: List<Spanned>,
    }

    /// A limit for users and groups in a queue (`config.go:140`).
    Limit = "a limit" at location or limit {
        /// A description.
        "limit" => limit: Spanned,
        /// The users.
        "users" => users: List<Spanned>,
        /// The groups.
        "groups" => groups: List<Spanned>,
        /// The maximum resources for each of them.
        "maxresources" => max_resources: Quantities,
        /// The maximum number of running applications for each of them; 0 means unlimited.
        "maxapplications" => max_applications: u64,
    }

    /// The node sort order (`config.go:151`).
    NodeSortPolicy = "a node sorting policy" {
        /// `fair` or `binpacking`; empty means `fair`.
        "type" => kind: Spanned,
        /// The weight of each resource.
        "resourceweights" => resource_weights: Map<f64>,
    }
}

impl QueueConfig {
    /// Returns the children.
    pub fn children(&self) -> &[QueueConfig] {
        items(&self.queues)
    }

    /// Returns the number of queues below this one, on all levels.
    pub fn count_below(&self) -> usize {
        self.children().iter().map(|child| 1 + child.count_below()).sum()
    }
}

impl Limit {
    /// Compares like Go's `reflect.DeepEqual`: spans are ignored, and nil differs from empty.
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
