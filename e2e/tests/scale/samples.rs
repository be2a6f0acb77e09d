//! Samples the resources of a process over time, and finds growth.

#![expect(clippy::cast_precision_loss, reason = "a few MiB, and a few hundred samples")]

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::usage::Usage;

/// The time between two samples.
const INTERVAL: Duration = Duration::from_secs(1);
/// The fraction of the time that is the warm-up, when caches fill and the allocator finds its size.
const WARM_UP: f64 = 0.3;
/// Growth in MiB, from the warm-up to the end, that may be random.
const CHANCE: f64 = 12.0;
/// Number of open files that may be added after the warm-up, because connections come and go.
const FILES: usize = 8;

const MIB: f64 = 1024.0 * 1024.0;

/// Samples with their times.
#[derive(Debug)]
pub(super) struct Samples {
    begin: Instant,
    due: Instant,
    list: Vec<(f64, Usage)>,
}

impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let warm = self.warm();
        let mib = |usage: &Usage| usage.resident as f64 / MIB;
        let (Some((_, first)), Some((_, last))) = (warm.first(), warm.last()) else {
            return write!(f, "no samples");
        };
        let most = warm.iter().map(|(_, usage)| mib(usage)).fold(0.0, f64::max);
        write!(
            f,
            "resident {:.1} MiB after the warm-up, {:.1} MiB at most, {:.1} MiB at the end, growth {:.2} MiB by the line through all; \
             {} files open, then {}; {:.1} s of processor time",
            mib(first),
            most,
            mib(last),
            self.growth().unwrap_or(f64::NAN),
            first.files,
            last.files,
            last.cpu.as_secs_f64()
        )
    }
}

impl Samples {
    pub(super) fn new() -> Self {
        Self { begin: Instant::now(), due: Instant::now(), list: Vec::new() }
    }

    /// Takes a sample if it is due.
    pub(super) fn take(&mut self, usage: impl FnOnce() -> Result<Usage>) -> Result<()> {
        if Instant::now() >= self.due {
            self.due = Instant::now() + INTERVAL;
            self.list.push((self.begin.elapsed().as_secs_f64(), usage()?));
        }
        Ok(())
    }

    /// Fails when memory or open files grow.
    pub(super) fn are_flat(&self) -> Result<()> {
        let growth = self.growth().context("too few samples")?;
        ensure!(growth <= CHANCE, "memory grows: {self}");
        let files = |of: &[(f64, Usage)]| of.iter().map(|(_, usage)| usage.files).max().unwrap_or_default();
        let (before, after) = self.list.split_at(self.list.len() - self.warm().len());
        ensure!(files(after) <= files(before) + FILES, "files stay open: {self}");
        Ok(())
    }

    fn warm(&self) -> &[(f64, Usage)] {
        let end = self.list.last().map_or(0.0, |(at, _)| *at);
        let first = self.list.partition_point(|(at, _)| *at < end * WARM_UP);
        self.list.get(first..).unwrap_or_default()
    }

    /// Returns by how many MiB the least-squares line through the samples after the warm-up rises from
    /// beginning to end.
    fn growth(&self) -> Option<f64> {
        let warm = self.warm();
        let (first, last) = (warm.first()?.0, warm.last()?.0);
        let count = warm.len() as f64;
        let x = warm.iter().map(|(at, _)| at).sum::<f64>() / count;
        let y = warm.iter().map(|(_, usage)| usage.resident as f64 / MIB).sum::<f64>() / count;
        let over = warm.iter().map(|(at, usage)| (at - x) * (usage.resident as f64 / MIB - y)).sum::<f64>();
        let under = warm.iter().map(|(at, _)| (at - x).powi(2)).sum::<f64>();
        (under > 0.0).then(|| over / under * (last - first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(resident: impl Fn(u32) -> f64, files: impl Fn(u32) -> usize) -> Samples {
        let list = (0..100).map(|second| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few MiB")]
            let resident = (resident(second) * MIB) as u64;
            (f64::from(second), Usage { resident, peak: resident, cpu: Duration::ZERO, files: files(second) })
        });
        Samples { list: list.collect(), ..Samples::new() }
    }

    #[test]
    fn growth_after_the_warm_up_is_detected() {
        let saw = |second: u32| 50.0 + f64::from(second % 7);
        samples(saw, |_| 20).are_flat().unwrap();
        samples(|second| if second < 30 { f64::from(second) } else { 90.0 }, |_| 20).are_flat().unwrap();
        samples(|second| saw(second) + f64::from(second) / 4.0, |_| 20).are_flat().unwrap_err();
        samples(saw, |second| if second < 30 { 20 } else { second as usize }).are_flat().unwrap_err();
        Samples::new().are_flat().unwrap_err();
    }
}
