//! The state that all endpoints answer from: the cluster as the reconciler observed it in its last round.
//! Each replica has its own, leader or not; two that were made from the same input have the same hash.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use queuewarden_plan::attribution::{self, Attribution, Part};
use queuewarden_plan::snapshot::Snapshot;
use queuewarden_plan::{ParseCache, Plan, Running, base_tree, merged, user_info};
use yunikorn::admission::Conf;
use yunikorn::config::Config;
use yunikorn::identity::ResolverKind;
use yunikorn::version::Version;
use yunikorn_access::alias::{self, Aliased};
use yunikorn_access::{Tree, user_info};

/// The state at one moment.
#[derive(Debug)]
pub struct Published {
    /// The time at which it was made.
    pub made: Timestamp,
    /// SHA-256 of everything that access answers depend on, in hexadecimal digits.
    pub hash: String,
    /// The objects that were observed.
    pub snapshot: Arc<Snapshot>,
    /// The queues that the scheduler runs, or the reason why they are unknown.
    pub queues: Result<Arc<Queues>, String>,
    /// The configuration of `YuniKorn`'s admission controller.
    pub conf: Conf,
    /// The settings for `user.info`.
    pub user_info: user_info::Settings,
    /// The namespace that queuewarden itself runs in, if it runs in one.
    pub own_namespace: Option<String>,
}

/// The namespace that is always left alone, whatever the selectors of webhooks let through: a cluster
/// repairs itself there, and by default `YuniKorn` leaves it alone, too.
pub const LEFT_ALONE: &str = "kube-system";

/// The queues that the scheduler runs.
#[derive(Debug)]
pub struct Queues {
    /// The configuration.
    pub config: Arc<Config>,
    /// The queues of each partition, with the objects that grant.
    pub trees: Vec<Tree>,
    /// The aliases that their ACLs name.
    granted_aliases: BTreeSet<String>,
}

/// No alias.
static NO_ALIASES: BTreeSet<String> = BTreeSet::new();

impl Queues {
    /// Returns the queues of a configuration, and the objects that wrote the ACLs in it.
    ///
    /// # Errors
    /// When an ACL does not activate.
    fn new(
        config: Arc<Config>,
        attributions: &[Attribution],
        base: Option<&Config>,
        aliased: &Arc<Aliased>,
    ) -> Result<Self, String> {
        let trees = config.partitions.iter().map(Tree::new).collect::<Result<Vec<_>, _>>();
        let mut trees = trees.map_err(|error| error.to_string())?;
        for tree in &mut trees {
            attribution::mark(tree, attributions, base);
            tree.name_aliases(Arc::clone(aliased));
            tree.make_ready();
        }
        let granted_aliases = alias::granted(&config);
        Ok(Self { config, trees, granted_aliases })
    }

    /// Returns the queues of one partition; its name is matched without case.
    pub fn tree(&self, partition: &str) -> Option<&Tree> {
        self.trees.iter().find(|tree| tree.partition().eq_ignore_ascii_case(partition))
    }

    /// Returns the resolver in which the scheduler looks up groups.
    pub fn resolver(&self) -> ResolverKind {
        ResolverKind::in_force(&self.config)
    }
}

impl Published {
    /// Returns the state that follows from a round. Unchanged parts are taken from `before`, and what the
    /// plan has parsed is not parsed again.
    pub fn new(snapshot: Arc<Snapshot>, plan: &Plan, known: &mut ParseCache, before: Option<&Self>) -> Self {
        let flat = merged(&snapshot);
        let running = Running::new(&flat, &snapshot);
        let attributions = attributions(&running, &snapshot, plan);
        let base = base_tree(&snapshot, &flat, known);
        let base = base.as_deref();
        let keys = flat.values().map(|(key, value)| (key.to_owned(), value.text.clone())).collect();
        let version = snapshot.version();
        let hash = hash(&running, &attributions, base, &keys, version);
        let same = before.filter(|before| before.hash == hash);
        let queues = same.map(|before| before.queues.clone());
        let queues = queues.unwrap_or_else(|| {
            queues_of(&running, &attributions, base, &snapshot.aliased(), known).map(Arc::new)
        });
        let conf = same.map_or_else(|| Conf::from_keys(&keys, version).0, |before| before.conf.clone());
        let user_info = user_info(&snapshot);
        Self { made: snapshot.now, hash, snapshot, queues, conf, user_info, own_namespace: None }
    }

    /// Returns the aliases that the ACLs name which the scheduler runs; none while these are unknown.
    pub fn granted_aliases(&self) -> &BTreeSet<String> {
        self.queues.as_ref().map_or(&NO_ALIASES, |queues| &queues.granted_aliases)
    }

    /// Returns whether requests in this namespace are left alone: `YuniKorn`'s own namespace,
    /// queuewarden's, and those of the cluster.
    pub fn leaves_alone(&self, namespace: &str) -> bool {
        let config = self.snapshot.config.as_ref().and_then(|config| config.spec.as_ref().ok());
        config.is_some_and(|config| config.namespace == namespace)
            || self.own_namespace.as_deref() == Some(namespace)
            || LEFT_ALONE == namespace
    }
}

/// Returns the objects that wrote each ACL of the text: for the plan's own text the plan knows them, for
/// any other the statuses name them.
fn attributions(running: &Running<'_>, snapshot: &Snapshot, plan: &Plan) -> Arc<[Attribution]> {
    match &plan.rendered {
        Some(rendered) if running.text == Ok(&*rendered.text) => Arc::clone(&plan.contributions),
        _ => attribution::in_force(&snapshot.queue_acls),
    }
}

fn queues_of(
    running: &Running<'_>,
    attributions: &[Attribution],
    base: Option<&Config>,
    aliased: &Aliased,
    known: &mut ParseCache,
) -> Result<Queues, String> {
    let aliased = Arc::new(aliased.clone());
    running.read(|text| Queues::new(known.taken(text)?, attributions, base, &aliased))
}

fn hash(
    running: &Running<'_>,
    attributions: &[Attribution],
    base: Option<&Config>,
    keys: &BTreeMap<String, String>,
    version: Version,
) -> String {
    let mut hasher = Sha256::new();
    // The length in front keeps two lists of parts from being the same bytes.
    let mut add = |part: &str| {
        hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(part.as_bytes());
    };
    add(version.as_str());
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

/// Returns bytes as hexadecimal digits, in lower case.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing into a String does not fail.
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

    fn submit(queues: &Result<Queues, String>) -> String {
        let tree = queues.as_ref().unwrap().tree("DEFAULT").unwrap();
        let (_, root) = tree.queues().next().unwrap();
        root.grants(Right::Submit).acl.canonical()
    }

    #[test]
    fn what_was_seen_to_run_counts_where_the_text_is_refused() {
        let queues_of = |text: &str, proven: Option<&str>| {
            let running = Running { text: Ok(text), proven };
            super::queues_of(&running, &[], None, &Aliased::default(), &mut ParseCache::new(Version::V1_8))
        };
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
        let running = Running { text: Ok(&text), proven: None };
        let queues =
            super::queues_of(&running, &[], None, &Aliased::default(), &mut ParseCache::new(Version::V1_8))
                .unwrap();
        assert_eq!(queues.granted_aliases, BTreeSet::from([spark]));
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
            hash(&Running { text, proven }, &[], None, keys, Version::V1_8)
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
            let running = Running { text: Ok("a"), proven: None };
            super::hash(&running, &[attribution], base.as_ref(), &keys(&[]), Version::V1_8)
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
