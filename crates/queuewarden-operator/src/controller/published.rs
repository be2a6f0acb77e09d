//! The state that all endpoints answer from: the cluster as the reconciler observed it in its last round.
//! Each replica has its own, leader or not; states made from the same input have the same hash.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use queuewarden_plan::attribution::{self, Attribution, Part};
use queuewarden_plan::snapshot::Snapshot;
use queuewarden_plan::view::{AccessView, Writers};
use queuewarden_plan::{ParseCache, Plan, SchedulerText, base_tree, config_map_of, merged, user_info};
use yunikorn::admission::Conf;
use yunikorn::config::{Config, Flattened};
use yunikorn::version::Version;
use yunikorn_access::{Tree, user_info};

/// The state at one moment.
#[derive(Debug)]
pub struct Published {
    /// When it was made.
    pub made: Timestamp,
    /// SHA-256 of everything that access answers depend on, in hexadecimal digits.
    pub hash: String,
    /// The objects that were observed.
    pub snapshot: Arc<Snapshot>,
    /// The queues that the scheduler runs, or why they are unknown.
    pub queues: Result<Arc<AccessView>, String>,
    /// The name of the text that contains them. Positions in the text would not help, because it is
    /// generated.
    pub source: Arc<str>,
    /// The configuration of `YuniKorn`'s admission controller.
    pub conf: Conf,
    /// The settings for `user.info`.
    pub user_info: user_info::Settings,
    /// The namespace that queuewarden itself runs in, if it runs in one.
    pub own_namespace: Option<String>,
}

/// The namespace that is always ignored, whatever the selectors of webhooks let through: a cluster repairs
/// itself from there, and by default `YuniKorn` ignores it too.
pub const LEFT_ALONE: &str = "kube-system";

/// No alias.
static NO_ALIASES: BTreeSet<String> = BTreeSet::new();

impl Published {
    /// Returns the state after a round. Unchanged parts are taken from `before`, and texts that the plan has
    /// parsed are not parsed again.
    pub fn new(snapshot: Arc<Snapshot>, plan: &Plan, known: &mut ParseCache, before: Option<&Self>) -> Self {
        let flat = merged(&snapshot);
        let running = SchedulerText::new(&flat, &snapshot);
        // The plan knows which objects wrote each ACL of the text that it rendered; for any other text, the
        // statuses name them.
        let attributions = match &plan.rendered {
            Some(rendered) if running.text == Ok(&*rendered.text) => Arc::clone(&plan.contributions),
            _ => attribution::in_force(&snapshot.queue_acls),
        };
        let base = base_tree(&snapshot, &flat, known);
        let base = base.as_deref();
        let keys = flat.values().map(|(key, value)| (key.to_owned(), value.text.clone())).collect();
        let version = snapshot.version();
        let source = source_of(&flat);
        let hash = hash(&running, &source, &attributions, base, &keys, version);
        let same = before.filter(|before| before.hash == hash);
        let queues = same.map(|before| before.queues.clone());
        let queues = queues.unwrap_or_else(|| {
            let (attributions, aliased) = (&*attributions, &Arc::new(snapshot.aliased()));
            view_of(&running, &Writers { attributions, base, aliased, texts: &source }, known).map(Arc::new)
        });
        let conf = same.map_or_else(|| Conf::from_keys(&keys, version).0, |before| before.conf.clone());
        let user_info = user_info(&snapshot);
        Self { made: snapshot.now, hash, snapshot, queues, source, conf, user_info, own_namespace: None }
    }

    /// Returns the aliases in the ACLs that the scheduler runs; empty while these are unknown.
    pub fn granted_aliases(&self) -> &BTreeSet<String> {
        self.queues.as_ref().map_or(&NO_ALIASES, |queues| &queues.granted_aliases)
    }

    /// Returns whether requests in this namespace are ignored. This applies to `YuniKorn`'s own namespace,
    /// queuewarden's, and the cluster's.
    pub fn leaves_alone(&self, namespace: &str) -> bool {
        let config = self.snapshot.config.as_ref().and_then(|config| config.spec.as_ref().ok());
        config.is_some_and(|config| config.namespace == namespace)
            || self.own_namespace.as_deref() == Some(namespace)
            || LEFT_ALONE == namespace
    }
}

/// Returns the view of the text that the scheduler runs, with everything that the endpoints need.
fn view_of(
    running: &SchedulerText<'_>,
    writers: &Writers<'_>,
    known: &mut ParseCache,
) -> Result<AccessView, String> {
    let version = known.version();
    running.read(|text| {
        let config = known.parse_accepted(text)?;
        let mut view = AccessView::new(&config, version).map_err(|error| error.to_string())?;
        writers.attribute(&mut view.trees);
        view.trees.iter().for_each(Tree::make_ready);
        Ok(view)
    })
}

/// Returns the ConfigMap and key of the text that `YuniKorn` runs: `yunikorn-configs/queues.yaml`.
fn source_of(flat: &Flattened) -> Arc<str> {
    let key = flat.queues_key();
    match flat.queues(&key).map(|queues| &queues.origin) {
        None => "YuniKorn's built-in default".into(),
        Some(origin) => format!("{}/{}", config_map_of(origin.source), origin.key).into(),
    }
}

fn hash(
    running: &SchedulerText<'_>,
    source: &str,
    attributions: &[Attribution],
    base: Option<&Config>,
    keys: &BTreeMap<String, String>,
    version: Version,
) -> String {
    let mut hasher = Sha256::new();
    // The length prefix prevents two different lists of parts from having the same bytes.
    let mut add = |part: &str| {
        hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(part.as_bytes());
    };
    add(version.as_str());
    add(source);
    match running.text {
        Ok(text) => add(text),
        Err(why) => ["unknown", why].into_iter().for_each(&mut add),
    }
    add(running.proven.unwrap_or_default());
    for (key, value) in keys {
        add(key);
        add(value);
    }
    for part in attributions {
        add(&part.partition);
        add(part.queue.as_str());
        add(part.right.verb());
        add(&part.of_base(base).canonical());
        for Part { name, acl, until } in &part.objects {
            add(name);
            add(&acl.canonical());
            add(&until.map(|end| end.to_string()).unwrap_or_default());
        }
    }
    hexadecimal(&hasher.finalize())
}

/// Returns bytes as lower-case hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a String cannot fail.
        _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Publishes the state to the endpoints.
pub type Publisher = watch::Sender<Option<Arc<Published>>>;
/// Reads the current state; `None` until everything was read once.
pub type PublishedReceiver = watch::Receiver<Option<Arc<Published>>>;

#[cfg(test)]
mod tests {
    use super::*;
    use yunikorn::queue::QueuePath;
    use yunikorn::right::Right;
    use yunikorn_access::alias::{Kind, alias};

    fn text(acl: &str) -> String {
        format!("partitions: [{{name: default, queues: [{{name: root, submitacl: '{acl}'}}]}}]\n")
    }

    fn submit(view: &Result<AccessView, String>) -> String {
        let tree = view.as_ref().unwrap().tree("DEFAULT").unwrap();
        let (_, root) = tree.queues().next().unwrap();
        root.grants(Right::Submit).acl.canonical()
    }

    fn view_of(running: &SchedulerText<'_>) -> Result<AccessView, String> {
        let (aliased, texts) = (&Arc::default(), &Arc::<str>::from("here"));
        let writers = Writers { attributions: &[], base: None, aliased, texts };
        super::view_of(running, &writers, &mut ParseCache::new(Version::V1_8))
    }

    #[test]
    fn what_was_seen_to_run_counts_where_the_text_is_refused() {
        let queues_of = |text: &str, proven: Option<&str>| view_of(&SchedulerText { text: Ok(text), proven });
        assert_eq!(submit(&queues_of(&text("sue"), None)), "sue");
        let bob = text("bob");
        assert_eq!(submit(&queues_of(&text("a  b"), Some(&bob))), "bob");
        for running in [None, Some("nothing"), Some(&*text("c  d"))] {
            let why = queues_of(&text("a  b"), running).unwrap_err();
            assert!(why.contains("multiple spaces found"), "{why}");
        }
    }

    #[test]
    fn granted_aliases_are_those_in_the_acls() {
        let spark = alias(Kind::User, "system:serviceaccount:spark:driver");
        let text = text(&format!("sue devs,{spark}"));
        let running = SchedulerText { text: Ok(&text), proven: None };
        assert_eq!(view_of(&running).unwrap().granted_aliases, BTreeSet::from([spark]));
    }

    #[test]
    fn the_hash_tells_everything_apart_that_answers_depend_on() {
        let keys = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect::<BTreeMap<_, _>>()
        };
        let hash = |text: Result<&'static str, &'static str>,
                    keys: &BTreeMap<_, _>,
                    proven: Option<&'static str>| {
            hash(&SchedulerText { text, proven }, "here", &[], None, keys, Version::V1_8)
        };
        let of = |base: &str, until: Option<Timestamp>| {
            let acl = |text: &str| yunikorn::acl::parse(text).unwrap();
            let attribution = Attribution {
                partition: "default".into(),
                queue: QueuePath::root(),
                right: Right::Submit,
                objects: vec![Part { name: "a".into(), acl: acl("sue"), until }],
                base_stays: true,
            };
            let base = yunikorn::config::verdict(&text(base), &[], Version::V1_8).config;
            let running = SchedulerText { text: Ok("a"), proven: None };
            super::hash(&running, "here", &[attribution], base.as_ref(), &keys(&[]), Version::V1_8)
        };
        let hashes = [
            hash(Ok("a"), &keys(&[]), None),
            hash(Ok("b"), &keys(&[]), None),
            hash(Err("a"), &keys(&[]), None),
            hash(Ok("a"), &keys(&[]), Some("b")),
            hash(Ok("a"), &keys(&[("k", "v")]), None),
            hash(Ok("a"), &keys(&[("kv", "")]), None),
            of("bob", None),
            of("bob,sue", None),
            of("bob", Some(Timestamp::UNIX_EPOCH)),
        ];
        let different: std::collections::BTreeSet<_> = hashes.iter().collect();
        assert_eq!(different.len(), hashes.len());
        assert_eq!(hash(Ok("a"), &keys(&[]), None), hashes[0]);
    }
}
