//! The way from a tree that `YuniKorn` reads to one that queuewarden writes, as commands with the user's own
//! names. No step gives anybody more access than before: the base comes first, then an operator that only
//! observes, and at last one that writes.

use serde_json::{Value, json};

use super::yunikorn::Args;
use crate::cli::input::object::Kind;
use crate::cli::manifest::object;
use queuewarden_api::v1alpha1::SINGLETON;
use queuewarden_plan::config_map_of;
use queuewarden_plan::snapshot::{YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};
use yunikorn::config::Flattened;

/// Name of the base for a tree that is in the ConfigMap that queuewarden is to write. The shipped Role lets
/// the operator read it.
const NEW_BASE: &str = "yunikorn-queues";

/// The start and the end of the way.
pub(super) struct Way {
    namespace: String,
    /// The `ConfigMap` that holds the tree.
    from: &'static str,
    /// The field of the tree in it, and its key there.
    field: &'static str,
    at: String,
    /// The key that `YuniKorn` reads.
    key: String,
    /// The `ConfigMap` to start from.
    base: String,
}

impl Way {
    /// Starts from the ConfigMap that holds the tree; a file by itself counts as `yunikorn-configs`.
    pub(super) fn new(args: &Args, merged: &Flattened) -> Self {
        let key = merged.queues_key();
        let origin = merged.queues(&key).origin;
        let from = origin.map_or(YUNIKORN_CONFIGS, |origin| config_map_of(origin.source));
        let stays = if from == YUNIKORN_DEFAULTS { YUNIKORN_DEFAULTS } else { NEW_BASE };
        Self {
            namespace: args.source.cluster.cluster_namespace.as_deref().unwrap_or("yunikorn").to_owned(),
            from,
            field: if origin.is_some_and(|origin| origin.binary) { "binaryData" } else { "data" },
            at: origin.map_or_else(|| key.clone(), |origin| origin.key.clone()),
            base: args.base_config_map.clone().unwrap_or_else(|| stays.to_owned()),
            key,
        }
    }

    /// Returns the `YuniKornConfig`, which only observes at first.
    pub(super) fn config(&self) -> Value {
        let spec = json!({
            "namespace": self.namespace,
            "base": {"configMap": self.base},
            "output": {"configMap": YUNIKORN_CONFIGS},
            "mode": "Observe",
        });
        object(Kind::YuniKornConfig, SINGLETON, spec)
    }

    /// Returns the steps; a line that begins with three spaces is a command.
    pub(super) fn steps(&self) -> String {
        let Self { namespace, from, base, key, .. } = self;
        let read = self.read();
        let (name, copied) = if base == from {
            ("the base stays where it is; take a copy to compare with", String::new())
        } else {
            let copied = format!(
                "\x20  kubectl -n {namespace} create configmap {base} --from-file={key}=queues.yaml\n"
            );
            ("keep what YuniKorn reads now as the base", copied)
        };
        let unread = if [from, YUNIKORN_DEFAULTS, NEW_BASE].contains(&base.as_str()) {
            String::new()
        } else {
            format!(
                "   (and name {base} among the resourceNames of the Role queuewarden, which lets the \
                operator read it)\n"
            )
        };
        let falls_back = if *from == YUNIKORN_CONFIGS { self.falls_back() } else { String::new() };
        format!(
            "The way there, in which access is never wider than now:\n\
             1. {name}:\n\
             \x20  {read} > queues.yaml\n\
             {copied}{unread}\
             \x20  kubectl -n {namespace} get configmap {YUNIKORN_CONFIGS} {YUNIKORN_DEFAULTS} --ignore-not-found \
             -o yaml > before.yaml\n\
             2. apply what is printed here, which only looks on (mode: Observe):\n\
             \x20  kubectl apply -f imported.yaml\n\
             3. see that nobody gains or loses anything:\n\
             \x20  queuewarden diff --from before.yaml -f queues.yaml -f imported.yaml\n\
             \x20  kubectl wait yunikornconfig/default --for=condition=BaseResolved\n\
             {falls_back}\
             {}. let queuewarden write, once over the one who wrote before:\n\
             \x20  kubectl patch yunikornconfig default --type merge -p \
             '{{\"spec\":{{\"mode\":\"Enforce\",\"adoption\":\"Force\"}}}}'\n",
            if falls_back.is_empty() { 4 } else { 5 }
        )
    }

    /// Returns the command that prints the tree from the cluster.
    fn read(&self) -> String {
        let Self { namespace, from, field, at, .. } = self;
        let unpack = if *field == "binaryData" { " | base64 -d | gunzip" } else { "" };
        let path = at.replace('.', "\\.");
        format!("kubectl -n {namespace} get configmap {from} -o jsonpath='{{.{field}.{path}}}'{unpack}")
    }

    /// Returns the step that makes `YuniKorn` fall back to the same tree. While the key is missing,
    /// `YuniKorn` reads `yunikorn-defaults`, and without that one a tree that is open to everyone.
    fn falls_back(&self) -> String {
        let Self { namespace, at, key, .. } = self;
        format!(
            "4. where Git or Helm owns the key {at} of {YUNIKORN_CONFIGS}, take it out there; that may \
            delete it in the cluster, so let \
             YuniKorn fall back to the same tree first:\n\
             \x20  kubectl -n {namespace} create configmap {YUNIKORN_DEFAULTS} --from-file={key}=queues.yaml \
             --dry-run=client -o yaml | kubectl apply \
             --server-side --force-conflicts --field-manager=queuewarden-import -f -\n"
        )
    }
}
