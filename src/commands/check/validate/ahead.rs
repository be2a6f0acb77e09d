//! The option `--until`, and the output of what it finds.

use jiff::Timestamp;

use crate::output::Failure;
use crate::output::format::visible;
use crate::source::times::Typed;
use go_compat::diag::{listed, plural};
use queuewarden_plan::ResourceKind;
use queuewarden_plan::time::{Ahead, Moment};
use yunikorn_access::decide::in_words;

/// Maximum number of objects that are listed at one moment; more are counted.
const MAX_LISTED: usize = 6;

/// Option to look ahead.
#[derive(Debug, Clone, clap::Args)]
pub struct AheadArgs {
    /// Look ahead to this time, too, such as 2026-12-01T18:00:00Z, 2026-12-01, friday or 7d: show what is
    /// found when a QueueAcl begins or ends
    #[arg(long, value_name = "TIME", value_parser = Typed::parse)]
    until: Option<Typed>,
}

impl AheadArgs {
    /// Looks ahead from a time, if that is wanted.
    ///
    /// # Errors
    /// When the end is no time after it, or `look` fails.
    pub fn look<T>(
        &self,
        now: Timestamp,
        look: impl FnOnce(Timestamp) -> Result<Ahead<T>, Failure>,
    ) -> Result<Ahead<T>, Failure> {
        let Some(until) = self.until else { return Ok(Ahead::default()) };
        look(until.end(now).map_err(|why| Failure::Usage(format!("--until: {why}")))?)
    }
}

/// Returns the number of later findings, behind that of the present ones; empty if there are none.
pub fn later<T>(ahead: &Ahead<T>) -> String {
    match ahead.findings().count() {
        0 => String::new(),
        count => format!(", {count} later"),
    }
}

/// Formats each moment with the objects that begin or end and what is found from then on.
pub fn text<T>(ahead: &Ahead<T>, draw: impl Fn(&[T]) -> String) -> String {
    let moment = |Moment { at, begin, end, findings }: &Moment<T>| {
        let reported = |names: &[String], what: &str| -> Vec<String> {
            names
                .iter()
                .map(|name| {
                    format!("{} {what}", visible(&ResourceKind::QueueAcl.object(&**name).to_string()))
                })
                .collect()
        };
        let reported = [reported(begin, "begins"), reported(end, "ends")].concat();
        format!(
            "from {}: {}\n\n{}",
            in_words(*at),
            listed(&reported, MAX_LISTED, reported.len()),
            draw(findings)
        )
    };
    let more = match ahead.more {
        0 => String::new(),
        more => format!("and {}, at which nothing is looked at\n", plural(more, "more moment")),
    };
    ahead.moments.iter().map(moment).collect::<String>() + &more
}
