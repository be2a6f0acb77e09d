//! Measures the resource usage of a process, from `/proc` (`proc(5)`).

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// The resources that one process uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Current memory, in bytes: `VmRSS`.
    pub resident: u64,
    /// Peak memory in bytes: `VmHWM`.
    pub peak: u64,
    /// Processor time since it started, in user mode and in the kernel.
    pub cpu: Duration,
    /// Open file descriptors.
    pub files: usize,
}

impl Usage {
    /// Returns the usage of the process with this ID.
    ///
    /// # Errors
    /// When it does not run.
    pub fn of(pid: u32) -> Result<Self> {
        let read = |file: &str| {
            fs::read_to_string(format!("/proc/{pid}/{file}")).with_context(|| format!("no process {pid}"))
        };
        let status = read("status")?;
        Ok(Self {
            resident: kibibytes(&status, "VmRSS:")?,
            peak: kibibytes(&status, "VmHWM:")?,
            cpu: cpu(&read("stat")?)?,
            files: fs::read_dir(format!("/proc/{pid}/fd"))?.count(),
        })
    }
}

fn kibibytes(status: &str, field: &str) -> Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let number =
        line.and_then(|line| line.split_whitespace().next()).with_context(|| format!("no {field}"))?;
    Ok(number.parse::<u64>()? * 1024)
}

/// Returns the sum of fields 14 and 15 of `stat`; the second field is a name in parentheses that may contain
/// anything.
fn cpu(stat: &str) -> Result<Duration> {
    let (_, fields) = stat.rsplit_once(')').context("no name in stat")?;
    let mut times = fields.split_whitespace().skip(11);
    let mut ticks = || -> Result<u64> { Ok(times.next().context("no times in stat")?.parse()?) };
    let ticks = ticks()? + ticks()?;
    let second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_millis(ticks * 1000 / second.max(1)))
}

/// Describes the machine in a few words: processors, memory, kernel.
///
/// # Errors
/// When `/proc` does not contain the information.
pub fn machine() -> Result<String> {
    let processors = std::thread::available_parallelism()?;
    let info = fs::read_to_string("/proc/cpuinfo")?;
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("processor of unknown make", |(_, name)| name.trim());
    let memory = kibibytes(&fs::read_to_string("/proc/meminfo")?, "MemTotal:")?.div_ceil(1 << 30);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(format!("{processors} × {model}, {memory} GiB, Linux {}", kernel.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_of_this_process_is_positive() -> Result<()> {
        let block = vec![1_u8; 32 << 20];
        let usage = Usage::of(std::process::id())?;
        assert!(usage.resident >= block.len() as u64 && usage.resident <= usage.peak, "{usage:?}");
        assert!(usage.files >= 3, "{usage:?}");
        let before = usage.files;
        let _open = fs::File::open("/proc/self/status")?;
        assert!(Usage::of(std::process::id())?.files > before);
        Ok(())
    }

    #[test]
    fn cpu_times_are_parsed_after_any_process_name() -> Result<()> {
        let second = rustix::param::clock_ticks_per_second();
        let stat = format!("7 (a) b) S 1 7 7 0 -1 4194560 9 0 0 0 {} {} 0 0 20", second, 2 * second);
        assert_eq!(cpu(&stat)?, Duration::from_secs(3));
        assert!(cpu("7 (a) S 1").is_err());
        Ok(())
    }
}
