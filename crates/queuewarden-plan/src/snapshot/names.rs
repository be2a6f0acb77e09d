//! Names of ConfigMaps, annotations, labels and field managers.

/// The field manager of every write, and the name in `managedFields` that distinguishes our keys from other
/// people's.
pub const FIELD_MANAGER: &str = "queuewarden";
/// The field manager of `YuniKorn`'s queue operator (k8shim pull request 1049): the name of its program,
/// which the API server takes from `User-Agent`.
pub const QUEUE_OPERATOR: &str = "yunikorn-queue-operator";
/// The label of the objects that queuewarden creates. Its value is [`FIELD_MANAGER`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Annotation on the output ConfigMap: the keys that queuewarden wrote, separated by commas.
pub const MANAGED_KEYS: &str = "queuewarden.dev/managed-keys";
/// Annotation on the output ConfigMap: the key whose queue tree is kept up to date, where several keys are
/// ours.
pub const QUEUES_KEY: &str = "queuewarden.dev/queues-key";
/// Annotation on the output ConfigMap: the number of objects that its queue tree was rendered from.
pub const OBJECTS: &str = "queuewarden.dev/objects";
/// Annotation on the output ConfigMap: a number for writes that change nothing else.
pub const EPOCH: &str = "queuewarden.dev/epoch";
/// Annotation on the output ConfigMap: the grants of its queue tree that the statuses of the objects do not
/// show yet.
pub const IN_FORCE: &str = "queuewarden.dev/in-force";
/// Annotation on the `YuniKornConfig`: the revision of the output that permits the removal of most objects at
/// once.
pub const CONFIRM_REMOVAL: &str = "queuewarden.dev/confirm-removal";
/// Annotation on a base ConfigMap that `adoption: Import` created: `namespace/name` of the origin of its
/// text.
pub const IMPORTED_FROM: &str = "queuewarden.dev/imported-from";
/// `YuniKorn`'s first ConfigMap (Helm's); k8shim `constants.go:67`.
pub const YUNIKORN_DEFAULTS: &str = "yunikorn-defaults";
/// `YuniKorn`'s second ConfigMap, whose keys win; k8shim `constants.go:68`.
pub const YUNIKORN_CONFIGS: &str = "yunikorn-configs";
