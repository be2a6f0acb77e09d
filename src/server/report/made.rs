//! The report and its page as they go out: made once for each state of the cluster, when somebody looks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::body::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use crate::access::Tree;
use crate::access::lint::Known;
use crate::api::answer::Answers;
use crate::api::answer::report::LiveAnswer;
use crate::model::config::verdict;
use crate::plan::text_in_force;
use crate::report::{Beside, Report, changes, page};
use crate::server::knowledge::Knowledge;
use crate::server::refusal::Refusal;
use crate::server::source::InForce;

/// How long a page waits before it asks again, in seconds.
const PAUSE: u32 = 5;

/// What goes out.
#[derive(Debug)]
pub(super) struct Made {
    /// The data as JSON.
    pub(super) data: Bytes,
    /// The page with them.
    pub(super) page: Bytes,
    /// What tells these data from others: quoted, for `ETag`.
    pub(super) tag: String,
}

/// What a report was made of, which is not held on to when nobody looks, and the report.
type Kept = (Weak<Knowledge>, Arc<Made>);

/// Those that were made of what is known now, by the name of the partition; clones are the same.
#[derive(Debug, Clone)]
pub(super) struct Reports {
    kept: Arc<Mutex<BTreeMap<String, Kept>>>,
    /// One is made at a time: the next one waits, and then finds it.
    making: Arc<Semaphore>,
}

impl Default for Reports {
    fn default() -> Self {
        Self { kept: Arc::default(), making: Arc::new(Semaphore::new(1)) }
    }
}

impl Reports {
    /// The report about a partition.
    ///
    /// # Errors
    /// When nobody knows which queues there are, or there is no such partition.
    pub(super) async fn of(&self, knowledge: Arc<Knowledge>, partition: &str) -> Result<Arc<Made>, Refusal> {
        let partition = partition_of(&knowledge, partition)?;
        // Never closed; were it, the report would be made all the same.
        let place = Arc::clone(&self.making).acquire_owned().await;
        let before = self.kept(&partition);
        if let Some((_, made)) = before.as_ref().filter(|(of, _)| is(of, &knowledge)) {
            return Ok(Arc::clone(made));
        }
        let reports = self.clone();
        let made = tokio::task::spawn_blocking(move || {
            // Who asked may have gone: the report is kept all the same, and until then no other is made.
            let _place = place;
            let made = make(&knowledge, &partition, before.map(|(_, made)| made))?;
            reports.keep(partition, &knowledge, Arc::clone(&made));
            Ok(made)
        });
        made.await.map_err(|_| Refusal::unavailable("the report could not be made: the log says why"))?
    }

    fn kept(&self, partition: &str) -> Option<Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(partition).cloned()
    }

    /// Those of partitions that are no more go.
    fn keep(&self, partition: String, knowledge: &Arc<Knowledge>, made: Arc<Made>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|name, _| partition_of(knowledge, name).is_ok());
        kept.insert(partition, (Arc::downgrade(knowledge), made));
    }
}

fn is(of: &Weak<Knowledge>, knowledge: &Arc<Knowledge>) -> bool {
    of.upgrade().is_some_and(|of| Arc::ptr_eq(&of, knowledge))
}

/// The name of a partition as it is written.
fn partition_of(knowledge: &Knowledge, asked: &str) -> Result<String, Refusal> {
    let queues = knowledge
        .queues
        .as_ref()
        .map_err(|why| Refusal::unavailable(format!("nobody knows which queues YuniKorn runs: {why}")))?;
    let found = queues.tree(asked).map(|tree| tree.partition().to_owned());
    found.ok_or_else(|| {
        let names: Vec<&str> = queues.trees.iter().map(Tree::partition).collect();
        Refusal::not_found(format!("there is no such partition, only `{}`", names.join("`, `")))
    })
}

/// The one before, if nothing in it has changed but the time.
fn make(knowledge: &Knowledge, partition: &str, before: Option<Arc<Made>>) -> Result<Arc<Made>, Refusal> {
    let fault =
        |error: serde_json::Error| Refusal::unavailable(format!("the report could not be written: {error}"));
    let queues = knowledge.queues.as_ref().map_err(|why| Refusal::unavailable(why.clone()))?;
    let tree = queues.tree(partition).ok_or_else(|| Refusal::not_found("the partition has just gone"))?;
    let text = verdict(&text_in_force(&knowledge.snapshot), &[]);
    let beside = Beside {
        partition: queues.config.partition(partition),
        diagnostics: text.diagnostics.clone(),
        changes: changes(&knowledge.snapshot),
    };
    let report = Report::of(tree, &Known::default(), beside);
    let named = InForce::of(&knowledge.snapshot);
    let answers = Answers { configuration: &named, tree };
    let live = LiveAnswer { url: url(partition), seconds: PAUSE };
    let mut answer = answers.report(&report, None, Some(live));
    let tag = tag(&serde_json::to_vec(&answer).map_err(fault)?);
    if let Some(same) = before.filter(|before| before.tag == tag) {
        return Ok(same);
    }
    answer.made = Some(knowledge.made.to_string());
    let data = serde_json::to_string(&answer).map_err(fault)?;
    let page = page::page(&data);
    Ok(Arc::new(Made { data: data.into(), page: page.into(), tag }))
}

fn tag(data: &[u8]) -> String {
    let mut tag = String::from("\"");
    for byte in Sha256::digest(data) {
        // Writing into a text does not fail.
        _ = write!(tag, "{byte:02x}");
    }
    tag + "\""
}

/// Where the page finds its data, relative to itself.
fn url(partition: &str) -> String {
    let mut url = String::from("report.json?partition=");
    for byte in partition.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::snapshot::Snapshot;
    use crate::server::testing::{self, Door, client, defaults};

    const QUEUES: &str = "partitions: [{name: default, queues: [{name: root, queues: [{name: prod}]}]}]\n";

    #[tokio::test]
    async fn a_report_that_nobody_waits_for_is_kept() {
        let defaults = Some(defaults("queues.yaml", QUEUES));
        let door = Door::closed(super::super::router(), client(async |_| testing::not_found()))
            .knowing(Snapshot { defaults, ..testing::snapshot() });
        let knowledge = door.publisher.last().unwrap();
        let reports = Reports::default();
        let mut left = Box::pin(reports.of(Arc::clone(&knowledge), "default"));
        let _ = futures::poll!(&mut left);
        drop(left);
        // The place is free once it is made.
        let _place = reports.making.acquire().await;
        assert!(reports.kept("default").is_some_and(|(of, _)| is(&of, &knowledge)));
    }
}
