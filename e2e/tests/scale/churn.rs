//! Creates, changes and deletes grants, in the same order each time.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::{Context as _, Result};
use kube::api::{Api, DeleteParams, DynamicObject};
use queuewarden_e2e::{Kind, TestCluster};
use serde_json::{Value, json};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::size::Size;

/// The user that all grants name after the last change.
pub(super) const LAST: &str = "last";
/// The time between two changes.
const PACE: Duration = Duration::from_millis(100);

/// The changes so far, and the grants that exist.
#[derive(Debug)]
pub(super) struct Churn {
    objects: Api<DynamicObject>,
    size: Size,
    dice: fastrand::Rng,
    pace: Interval,
    /// The user of each existing grant; `None` for an invalid one.
    grants: BTreeMap<usize, Option<&'static str>>,
    /// The number of changes so far.
    pub(super) changes: usize,
    /// The number of changes that may affect the access in force.
    pub(super) effective: usize,
    /// The number of invalid changes.
    invalid: usize,
}

impl fmt::Display for Churn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} changes, of which {} are invalid and {} may change what is in force",
            self.changes, self.invalid, self.effective
        )
    }
}

impl Churn {
    pub(super) fn new(cluster: &TestCluster, size: Size) -> Result<Self> {
        let mut pace = interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            objects: cluster.objects(Kind::QueueAcl)?,
            size,
            dice: fastrand::Rng::with_seed(8),
            pace,
            grants: BTreeMap::new(),
            changes: 0,
            effective: 0,
            invalid: 0,
        })
    }

    /// Makes one change if it is due.
    pub(super) async fn step(&mut self) -> Result<()> {
        self.pace.tick().await;
        let number = self.dice.usize(..self.size.grants());
        let dice = self.dice.u8(..100);
        self.changes += 1;
        match dice {
            0..30 if self.grants.contains_key(&number) => {
                self.effective += 1;
                self.delete(number).await
            }
            0..45 => {
                self.invalid += 1;
                self.grants.insert(number, None);
                let wrong = self.wrong(number);
                Size::write(&self.objects, number, wrong).await
            }
            _ => {
                self.effective += 1;
                let user = ["sue", "bob", "eve"].get(self.dice.usize(..3)).context("a user")?;
                self.grants.insert(number, Some(user));
                Size::write(&self.objects, number, self.size.grant(number, user)).await
            }
        }
    }

    /// Returns an object that the API server accepts, but that grants nothing, because the colons are not
    /// valid in a `YuniKorn` user name.
    fn wrong(&self, number: usize) -> Value {
        let mut object = self.size.grant(number, "nobody");
        if let Some(submit) = object.pointer_mut("/spec/submit") {
            *submit = json!({"acl": format!("system:serviceaccount:spark:driver{}", self.invalid)});
        }
        object
    }

    async fn delete(&mut self, number: usize) -> Result<()> {
        self.grants.remove(&number);
        self.objects.delete(&Size::name(number), &DeleteParams::default()).await?;
        Ok(())
    }

    /// Makes all existing objects valid.
    pub(super) async fn settle(&mut self, cluster: &TestCluster) -> Result<()> {
        let numbers: Vec<usize> = self.grants.keys().copied().collect();
        self.changes += numbers.len();
        self.effective += numbers.len();
        self.size.apply(cluster, numbers.into_iter(), LAST).await?;
        self.grants.values_mut().for_each(|user| *user = Some(LAST));
        Ok(())
    }

    /// Returns the number of objects.
    pub(super) fn count(&self) -> usize {
        self.grants.len()
    }

    /// Returns the numbers of the objects.
    pub(super) fn granted(&self) -> impl Iterator<Item = usize> {
        self.grants.keys().copied()
    }

    /// Returns whether there is an object with this number.
    pub(super) fn has(&self, number: usize) -> bool {
        self.grants.contains_key(&number)
    }

    /// Returns whether the last version of the object of this name is valid.
    pub(super) fn is_valid(&self, name: &str) -> bool {
        let number = Size::number(name);
        number.and_then(|number| self.grants.get(&number)).is_some_and(Option::is_some)
    }
}
