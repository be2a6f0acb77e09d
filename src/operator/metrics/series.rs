//! Gauges with labels of which all are known at one moment.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;

use super::Labels;

/// Gauges by their labels; clones are the same ones.
///
/// All are replaced in one step. A family of the client would have to be cleared and filled again, and a scrape in between would see a part of
/// it: wrong counts, and gaps that set the `for:` of alerts back.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series(Arc<Mutex<BTreeMap<Labels, i64>>>);

impl Series {
    /// From now on there are these, and no others.
    pub(crate) fn show(&self, all: BTreeMap<Labels, i64>) {
        *self.lock() = all;
    }

    /// What is in there is replaced as a whole, so that it is good even where a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Labels, i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EncodeMetric for Series {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        for (labels, value) in self.lock().iter() {
            encoder.encode_family(labels)?.encode_gauge(value)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }

    fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }
}
