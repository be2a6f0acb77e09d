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

/// The `YuniKornConfig`, and the steps, in which a line that begins with three spaces is a command.
pub(super) struct Way {
    /// It only observes at first.
    pub(super) config: Value,
    pub(super) steps: String,
}

impl Way {
    /// Starts from the ConfigMap that holds the tree; a file by itself counts as `yunikorn-configs`.
    pub(super) fn new(args: &Args, merged: &Flattened) -> Self {
        let namespace = args.source.cluster.cluster_namespace.as_deref().unwrap_or("yunikorn");
        // The key that YuniKorn reads, and the location of its value.
        let key = merged.queues_key();
        let origin = merged.queues(&key).origin;
        let from = origin.map_or(YUNIKORN_CONFIGS, |origin| config_map_of(origin.source));
        let at = origin.map_or(&key, |origin| &origin.key);
        let (field, unpack) = match origin {
            Some(origin) if origin.binary => ("binaryData", " | base64 -d | gunzip"),
            _ => ("data", ""),
        };
        let stays = if from == YUNIKORN_DEFAULTS { YUNIKORN_DEFAULTS } else { NEW_BASE };
        let base = args.base_config_map.as_deref().unwrap_or(stays);
        let (name, copied) = if base == from {
            ("the base stays where it is; take a copy to compare with", String::new())
        } else {
            let copied = format!(
                "\x20  kubectl -n {namespace} create configmap {base} --from-file={key}=queues.yaml\n"
            );
            ("keep what YuniKorn reads now as the base", copied)
        };
        let unread = if [from, YUNIKORN_DEFAULTS, NEW_BASE].contains(&base) {
            String::new()
        } else {
            format!(
                "   (and name {base} among the resourceNames of the Role queuewarden, which lets the \
                operator read it)\n"
            )
        };
        // While the key is missing, YuniKorn reads `yunikorn-defaults`, and without that one a tree that is
        // open to everyone.
        let (falls_back, last) = if from == YUNIKORN_CONFIGS {
            let falls_back = format!(
                "4. where Git or Helm owns the key {at} of {YUNIKORN_CONFIGS}, take it out there; that may \
                delete it in the cluster, so let \
                 YuniKorn fall back to the same tree first:\n\
                 \x20  kubectl -n {namespace} create configmap {YUNIKORN_DEFAULTS} \
                 --from-file={key}=queues.yaml --dry-run=client -o yaml | kubectl apply \
                 --server-side --force-conflicts --field-manager=queuewarden-import -f -\n"
            );
            (falls_back, 5)
        } else {
            (String::new(), 4)
        };
        let path = at.replace('.', "\\.");
        let steps = format!(
            "The way there, in which access is never wider than now:\n\
             1. {name}:\n\
             \x20  kubectl -n {namespace} get configmap {from} -o jsonpath='{{.{field}.{path}}}'{unpack} \
             > queues.yaml\n\
             {copied}{unread}\
             \x20  kubectl -n {namespace} get configmap {YUNIKORN_CONFIGS} {YUNIKORN_DEFAULTS} \
             --ignore-not-found -o yaml > before.yaml\n\
             2. apply what is printed here, which only looks on (mode: Observe):\n\
             \x20  kubectl apply -f imported.yaml\n\
             3. see that nobody gains or loses anything:\n\
             \x20  queuewarden diff --from before.yaml -f queues.yaml -f imported.yaml\n\
             \x20  kubectl wait yunikornconfig/default --for=condition=BaseResolved\n\
             {falls_back}\
             {last}. let queuewarden write, once over the one who wrote before:\n\
             \x20  kubectl patch yunikornconfig default --type merge -p \
             '{{\"spec\":{{\"mode\":\"Enforce\",\"adoption\":\"Force\"}}}}'\n"
        );
        let spec = json!({
            "namespace": namespace,
            "base": {"configMap": base},
            "output": {"configMap": YUNIKORN_CONFIGS},
            "mode": "Observe",
        });
        Self { config: object(Kind::YuniKornConfig, SINGLETON, &spec), steps }
    }
}
