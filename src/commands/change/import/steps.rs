//! The migration steps from `YuniKorn`'s tree to queuewarden's output, as commands with the user's names. No
//! step widens access: the base comes first, then an operator that only observes, then an operator that
//! writes, and finally the migrated ACLs are removed from the base.

use serde_json::{Value, json};

use super::yunikorn::ImportYunikornArgs;
use crate::output::manifest::object;
use queuewarden_api::v1alpha1::SINGLETON;
use queuewarden_plan::snapshot::{YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};
use queuewarden_plan::{ResourceKind, config_map_of};
use yunikorn::config::{BUILT_IN, Flattened};

/// Name of the base for a tree that is in the ConfigMap that queuewarden is to write. The shipped Role lets
/// the operator read it.
const NEW_BASE: &str = "yunikorn-queues";

/// The namespace of the shipped manifests.
const DEFAULT_NAMESPACE: &str = "yunikorn";

/// The installation of `YuniKorn` that queuewarden is to manage.
pub(super) struct ImportTarget {
    pub(super) namespace: String,
    /// The address of the scheduler's REST service, for the comparison with the written text.
    pub(super) scheduler_url: String,
}

/// The `YuniKornConfig` and the steps. A line that begins with three spaces is a command.
pub(super) struct Steps {
    /// It only observes at first.
    pub(super) config: Value,
    pub(super) steps: String,
}

/// Returns the `YuniKornConfig` in mode Observe.
fn observing(ImportTarget { namespace, scheduler_url }: &ImportTarget, base: &str) -> Value {
    let spec = json!({
        "namespace": namespace,
        "base": {"configMap": base},
        "output": {"configMap": YUNIKORN_CONFIGS},
        "mode": "Observe",
        "schedulerUrl": scheduler_url,
    });
    object(ResourceKind::YuniKornConfig, SINGLETON, &spec)
}

/// Returns the command that writes `YuniKorn`'s built-in tree into a file.
fn print_built_in() -> String {
    let lines = BUILT_IN.trim().lines().map(|line| format!(" '{}'", line.replace('\'', "'\\''")));
    format!("printf '%s\\n'{} > queues.yaml", lines.collect::<String>())
}

impl Steps {
    /// Starts from the ConfigMap that holds the tree, or from the built-in tree if that is the text `now`; a
    /// file by itself is taken for `yunikorn-configs`. `leaves` is set when ACLs become objects, and so leave
    /// the base.
    pub(super) fn new(
        args: &ImportYunikornArgs,
        target: &ImportTarget,
        merged: &Flattened,
        now: &str,
        leaves: bool,
    ) -> Self {
        let namespace = &target.namespace;
        // The key that YuniKorn reads, and the location of its value.
        let key = merged.queues_key();
        let built_in = merged.queues(&key).is_none() && now == BUILT_IN;
        let origin = merged.get(&key).map(|queues| &queues.origin).filter(|_| !built_in);
        let from = origin.map_or(YUNIKORN_CONFIGS, |origin| config_map_of(origin.source));
        let at = origin.map_or(&key, |origin| &origin.key);
        let (field, unpack) = match origin {
            Some(origin) if origin.binary => ("binaryData", " | base64 -d | gunzip"),
            _ => ("data", ""),
        };
        let stays = if from == YUNIKORN_DEFAULTS { YUNIKORN_DEFAULTS } else { NEW_BASE };
        let base = args.base_config_map.as_deref().unwrap_or(stays);
        let create = |name: &str, key: &str, file: &str| {
            format!("kubectl -n {namespace} create configmap {name} --from-file={key}={file}")
        };
        let apply = "--dry-run=client -o yaml | kubectl apply --server-side --force-conflicts \
                     --field-manager=queuewarden-import -f -\n";
        let (name, copied) = if built_in {
            let copied = format!("\x20  {}\n", create(base, &key, "queues.yaml"));
            ("keep the built-in tree, which YuniKorn runs because no ConfigMap has one, as the base", copied)
        } else if base == from {
            ("the base stays where it is; take a copy to compare with", String::new())
        } else {
            let copied = format!("\x20  {}\n", create(base, &key, "queues.yaml"));
            ("keep what YuniKorn reads now as the base", copied)
        };
        // A base that stays packed where it is stays packed.
        let (packs, base_key, file) = match origin {
            Some(origin) if origin.binary && base == from => {
                ("\x20  gzip base.yaml\n", &origin.key, "base.yaml.gz")
            }
            _ => ("", &key, "base.yaml"),
        };
        let unread = if [from, YUNIKORN_DEFAULTS, NEW_BASE].contains(&base) {
            String::new()
        } else {
            format!(
                "   (and name {base} among the resourceNames of the Role queuewarden, which lets the \
                operator read it)\n"
            )
        };
        let elsewhere = if namespace == DEFAULT_NAMESPACE {
            String::new()
        } else {
            format!("   (and put the Role queuewarden and its RoleBinding into namespace {namespace})\n")
        };
        let saved = if built_in {
            print_built_in()
        } else {
            let path = at.replace('.', "\\.");
            format!(
                "kubectl -n {namespace} get configmap {from} -o jsonpath='{{.{field}.{path}}}'{unpack} > \
                 queues.yaml"
            )
        };
        // While the key is missing, YuniKorn reads `yunikorn-defaults`, and without that one a tree that is
        // open to everyone, as it does already with the built-in tree.
        let (falls_back, last) = if from == YUNIKORN_CONFIGS && !built_in {
            let falls_back = format!(
                "4. where Git or Helm owns the key {at} of {YUNIKORN_CONFIGS}, take it out there; that may \
                delete it in the cluster, so let \
                 YuniKorn fall back to the same tree first:\n\
                 \x20  {} {apply}",
                create(YUNIKORN_DEFAULTS, &key, "queues.yaml")
            );
            (falls_back, 5)
        } else {
            (String::new(), 4)
        };
        let cleaned = format!(
            "{}. when the QueueAcls are written, take their ACLs out of the base, so that none is in force again \
             when its QueueAcl is deleted; where Git or Helm owns the base, change it there:\n\
             \x20  kubectl wait queueacl --all --for=condition=Programmed\n\
             \x20  queuewarden import yunikorn -f queues.yaml --queues > base.yaml\n\
             \x20  queuewarden diff -f base.yaml -f imported.yaml\n\
             {packs}\x20  {} {apply}",
            last + 1,
            create(base, base_key, file)
        );
        let cleaned = if leaves { cleaned } else { String::new() };
        let steps = format!(
            "Migration steps (access never widens):\n\
             1. {name}:\n\
             \x20  {saved}\n\
             {copied}{unread}{elsewhere}\
             \x20  kubectl -n {namespace} get configmap {YUNIKORN_CONFIGS} {YUNIKORN_DEFAULTS} \
             --ignore-not-found -o yaml > before.yaml\n\
             2. apply what is printed here, which only looks on (mode: Observe):\n\
             \x20  kubectl apply -f imported.yaml\n\
             3. see that nobody gains or loses anything:\n\
             \x20  queuewarden diff --from before.yaml -f queues.yaml -f imported.yaml\n\
             \x20  kubectl wait yunikornconfig/default --for=condition=BaseResolved\n\
             {falls_back}\
             {last}. let queuewarden write, once over the former writer:\n\
             \x20  kubectl patch yunikornconfig default --type merge -p \
             '{{\"spec\":{{\"mode\":\"Enforce\",\"adoption\":\"Force\"}}}}'\n\
             \x20  kubectl wait yunikornconfig/default --for=condition=Ready\n\
             \x20  kubectl patch yunikornconfig default --type merge -p \
             '{{\"spec\":{{\"adoption\":\"IfUnowned\"}}}}'\n\
             {cleaned}"
        );
        Self { config: observing(target, base), steps }
    }
}
