//! Gauges with labels whose values are all known at one moment.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;

use super::Labels;
use crate::controller::lock;

/// Gauges by their labels; clones share the same gauges.
///
/// All are replaced in one step. A family of the metrics library would have to be cleared and filled again. A
/// scrape in between would see a part of it: wrong counts, and gaps that restart the `for:` of alerts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series(Arc<Mutex<BTreeMap<Labels, i64>>>);

impl Series {
    /// Replaces all gauges by these.
    pub(crate) fn show(&self, all: BTreeMap<Labels, i64>) {
        *lock(&self.0) = all;
    }
}

impl EncodeMetric for Series {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        for (labels, value) in lock(&self.0).iter() {
            encoder.encode_family(labels)?.encode_gauge(value)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }

    fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }
}
