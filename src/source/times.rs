//! Parses the times that people type, and words the times that were understood.
//!
//! A time has a zone, because a clock time without one would be another time on another machine. A day is a
//! day in UTC: its beginning if something begins, and its end if something ends.

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan as _};

use crate::output::Failure;

/// The accepted forms, for error messages and help texts.
const FORMS: &str = "write a time such as 2026-12-01T18:00:00Z, a day such as 2026-12-01, friday or tomorrow, or a \
    duration such as 8h, 3d, 2w or 1mo";
/// The shortest part of the name of a weekday that is accepted.
const SHORT: usize = 3;
/// The days that have a name of their distance from today.
const DAYS: [(&str, i64); 3] = [("yesterday", -1), ("today", 0), ("tomorrow", 1)];

/// A time as it was typed. Names of days and durations are relative to a reference time.
#[derive(Debug, Clone, Copy)]
pub enum Typed {
    /// A time with its zone.
    At(Timestamp),
    /// A day.
    Day(Date),
    /// A day of the week.
    Weekday(Weekday),
    /// A number of days from today.
    DaysFromToday(i64),
    /// A duration.
    Span(Span),
}

impl Typed {
    /// Parses a time, for clap.
    ///
    /// # Errors
    /// When the text is not a time, or a clock time without a zone.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Ok(at) = text.parse::<Timestamp>() {
            return Ok(Self::At(at));
        }
        // A date also parses from a date with a clock time, which it would drop.
        let is_date = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if let Some(day) = text.parse::<Date>().ok().filter(|_| is_date) {
            return Ok(Self::Day(day));
        }
        if let Ok(local) = text.parse::<DateTime>() {
            return Err(format!("write the time zone, such as {local}Z"));
        }
        let word = text.to_ascii_lowercase();
        if let Some((_, days)) = DAYS.into_iter().find(|(name, _)| *name == word) {
            return Ok(Self::DaysFromToday(days));
        }
        let is_meant = |day: &Weekday| format!("{day:?}").to_ascii_lowercase().starts_with(&word);
        if word.len() >= SHORT
            && let Some(day) = Weekday::Monday.cycle_forward().take(7).find(is_meant)
        {
            return Ok(Self::Weekday(day));
        }
        let span = text.parse::<Span>().ok().filter(|span| !span.is_negative());
        span.map(Self::Span).ok_or_else(|| FORMS.to_owned())
    }

    /// Returns the time at which something begins.
    ///
    /// # Errors
    /// When it is out of range.
    pub fn begin(self, now: Timestamp) -> Result<Timestamp, String> {
        self.resolve(now, false).and_then(Resolved::first).ok_or_else(out_of_range)
    }

    /// Returns the time at which something ends.
    ///
    /// # Errors
    /// When it is out of range, or not later than `now`.
    pub fn end(self, now: Timestamp) -> Result<Timestamp, String> {
        let end = self.resolve(now, false).and_then(Resolved::last).ok_or_else(out_of_range)?;
        if end > now {
            return Ok(end);
        }
        Err(format!("{} is not later than now, {}", last_moment(end), moment(now)))
    }

    /// Returns a time in the past: a weekday is the last one, today included, and a duration goes back.
    ///
    /// # Errors
    /// When it is out of range.
    pub fn past(self, now: Timestamp) -> Result<Timestamp, String> {
        let past = match self.resolve(now, true) {
            Some(Resolved::At(at)) => Some(at),
            Some(Resolved::Day(day)) => midnight(day),
            None => None,
        };
        past.ok_or_else(out_of_range)
    }

    fn resolve(self, now: Timestamp, back: bool) -> Option<Resolved> {
        let utc = now.to_zoned(TimeZone::UTC);
        let today = utc.date();
        let day = match self {
            Self::At(at) => return Some(Resolved::At(at)),
            Self::Span(span) => {
                let at = if back { utc.checked_sub(span) } else { utc.checked_add(span) };
                return at.ok().map(|at| Resolved::At(at.timestamp()));
            }
            Self::Day(day) => day,
            Self::DaysFromToday(days) => today.checked_add(days.days()).ok()?,
            Self::Weekday(weekday) => {
                let step = if back { -1_i64 } else { 1 };
                let mut near = (0..7).filter_map(|days| today.checked_add((days * step).days()).ok());
                near.find(|day| day.weekday() == weekday)?
            }
        };
        Some(Resolved::Day(day))
    }
}

fn out_of_range() -> String {
    "this time is out of range".to_owned()
}

/// A time that depends on nothing else. Kubernetes keeps whole seconds.
enum Resolved {
    At(Timestamp),
    Day(Date),
}

impl Resolved {
    /// Returns the first whole second in it.
    fn first(self) -> Option<Timestamp> {
        match self {
            Self::At(at) if at == whole_seconds(at) => Some(at),
            Self::At(at) => whole_seconds(at).checked_add(1.second()).ok(),
            Self::Day(day) => midnight(day),
        }
    }

    /// Returns the end in whole seconds.
    fn last(self) -> Option<Timestamp> {
        match self {
            Self::At(at) => Some(whole_seconds(at)),
            Self::Day(day) => midnight(day.tomorrow().ok()?),
        }
    }
}

fn midnight(day: Date) -> Option<Timestamp> {
    Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// Parses the time to evaluate at, for clap: a day is its beginning.
///
/// # Errors
/// When it is not a time, or out of range.
pub fn now(text: &str) -> Result<Timestamp, String> {
    Typed::parse(text)?.begin(clock())
}

/// Rejects a past time for a cluster, whose objects are the present ones.
///
/// # Errors
/// When the time is in the past.
pub fn not_past(at: Option<Timestamp>) -> Result<(), Failure> {
    let Some(at) = at.filter(|at| *at < clock()) else { return Ok(()) };
    Err(Failure::Usage(format!(
        "--now {at} is in the past, but the cluster only has the current objects: for who-can, what-can, can-i, explain and matrix, use `--at {at}` to answer from the history"
    )))
}

/// Returns the time without its fraction of a second.
pub fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// Words the beginning of something: `begins Tuesday 2026-12-01 at 00:00 UTC, in 3 d`.
pub fn begins(at: Timestamp, now: Timestamp) -> String {
    format!("begins {}, {}", moment(at), distance(at, now))
}

/// Words the end of something: `ends Friday 2026-11-27 at 24:00 UTC, in 6 h`.
pub fn ends(at: Timestamp, now: Timestamp) -> String {
    format!("ends {}, {}", last_moment(at), distance(at, now))
}

fn moment(at: Timestamp) -> String {
    let utc = at.to_zoned(TimeZone::UTC);
    let form = if utc.second() == 0 { "%A %Y-%m-%d at %H:%M UTC" } else { "%A %Y-%m-%d at %H:%M:%S UTC" };
    utc.strftime(form).to_string()
}

/// Words a time as an end: midnight is the end of the day before.
fn last_moment(at: Timestamp) -> String {
    let utc = at.to_zoned(TimeZone::UTC);
    match utc.date().yesterday() {
        Ok(day) if utc.time() == jiff::civil::Time::midnight() => {
            format!("{} at 24:00 UTC", day.strftime("%A %Y-%m-%d"))
        }
        _ => moment(at),
    }
}

/// Words the distance of a time from now in its largest unit, rounded down.
fn distance(at: Timestamp, now: Timestamp) -> String {
    let seconds = at.as_second().abs_diff(now.as_second());
    let units = [(24 * 3600, 2, "d"), (3600, 1, "h"), (60, 1, "min")];
    let unit = units.into_iter().find(|(size, least, _)| seconds / size >= *least);
    let (size, _, unit) = unit.unwrap_or((1, 0, "s"));
    let count = seconds / size;
    if at < now { format!("{count} {unit} ago") } else { format!("in {count} {unit}") }
}

/// Returns the current time in whole seconds, for commands without `--now`.
#[expect(clippy::disallowed_methods, reason = "the one place where the command line reads the clock")]
pub(crate) fn clock() -> Timestamp {
    whole_seconds(Timestamp::now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A Thursday.
    const NOW: &str = "2026-11-26T10:30:00Z";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    /// Returns the beginning, the end and the past time of a text.
    fn all(text: &str) -> [Result<String, String>; 3] {
        let typed = Typed::parse(text);
        let show = |read: fn(Typed, Timestamp) -> Result<Timestamp, String>| {
            typed.clone().and_then(|typed| read(typed, now())).map(|at| at.to_string())
        };
        [show(Typed::begin), show(Typed::end), show(Typed::past)]
    }

    #[test]
    fn a_time_begins_ends_and_is_past() {
        for (text, begin, end, past) in [
            (
                "2026-11-27T18:00:00+01:00",
                "2026-11-27T17:00:00Z",
                "2026-11-27T17:00:00Z",
                "2026-11-27T17:00:00Z",
            ),
            ("2026-11-27 18:00Z", "2026-11-27T18:00:00Z", "2026-11-27T18:00:00Z", "2026-11-27T18:00:00Z"),
            (
                "2026-11-27T18:00:00.5z",
                "2026-11-27T18:00:01Z",
                "2026-11-27T18:00:00Z",
                "2026-11-27T18:00:00.5Z",
            ),
            ("2026-11-27", "2026-11-27T00:00:00Z", "2026-11-28T00:00:00Z", "2026-11-27T00:00:00Z"),
            ("today", "2026-11-26T00:00:00Z", "2026-11-27T00:00:00Z", "2026-11-26T00:00:00Z"),
            ("Tomorrow", "2026-11-27T00:00:00Z", "2026-11-28T00:00:00Z", "2026-11-27T00:00:00Z"),
            ("friday", "2026-11-27T00:00:00Z", "2026-11-28T00:00:00Z", "2026-11-20T00:00:00Z"),
            ("Thu", "2026-11-26T00:00:00Z", "2026-11-27T00:00:00Z", "2026-11-26T00:00:00Z"),
            ("wednesday", "2026-12-02T00:00:00Z", "2026-12-03T00:00:00Z", "2026-11-25T00:00:00Z"),
            ("8h", "2026-11-26T18:30:00Z", "2026-11-26T18:30:00Z", "2026-11-26T02:30:00Z"),
            ("3d", "2026-11-29T10:30:00Z", "2026-11-29T10:30:00Z", "2026-11-23T10:30:00Z"),
            ("2w", "2026-12-10T10:30:00Z", "2026-12-10T10:30:00Z", "2026-11-12T10:30:00Z"),
            ("1mo", "2026-12-26T10:30:00Z", "2026-12-26T10:30:00Z", "2026-10-26T10:30:00Z"),
        ] {
            assert_eq!(all(text), [begin, end, past].map(|it| Ok(it.to_owned())), "{text}");
        }
    }

    #[test]
    fn a_clock_time_without_a_zone_is_refused() {
        for (text, meant) in [
            ("2026-12-04T18:00:00", "2026-12-04T18:00:00Z"),
            ("2026-12-04 18:00", "2026-12-04T18:00:00Z"),
            ("2026-12-04T18:00:00.25", "2026-12-04T18:00:00.25Z"),
            ("2026-12-04T18:00:00[Europe/Berlin]", "2026-12-04T18:00:00Z"),
        ] {
            let refused = Typed::parse(text).unwrap_err();
            assert_eq!(refused, format!("write the time zone, such as {meant}"), "{text}");
        }
    }

    #[test]
    fn other_texts_and_times_out_of_range_are_refused() {
        for text in ["soon", "", "-3d", "3d ago", "fr", "fridays", "18:00", "friday 18:00", "8", "2026-13-01"]
        {
            assert_eq!(Typed::parse(text).unwrap_err(), FORMS, "{text}");
        }
        for text in ["9999-12-31", "9000y"] {
            let refused = Typed::parse(text).unwrap().end(now());
            assert_eq!(refused, Err(out_of_range()), "{text}");
        }
        for (text, end) in [
            ("2026-11-25", "Wednesday 2026-11-25 at 24:00 UTC"),
            ("yesterday", "Wednesday 2026-11-25 at 24:00 UTC"),
            (NOW, "Thursday 2026-11-26 at 10:30 UTC"),
            ("0s", "Thursday 2026-11-26 at 10:30 UTC"),
        ] {
            let refused = Typed::parse(text).unwrap().end(now()).unwrap_err();
            assert_eq!(
                refused,
                format!("{end} is not later than now, Thursday 2026-11-26 at 10:30 UTC"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_was_understood_is_worded_in_utc() {
        let shown = |text: &str| {
            let typed = Typed::parse(text).unwrap();
            (begins(typed.begin(now()).unwrap(), now()), ends(typed.end(now()).unwrap(), now()))
        };
        let expected = |begin: &str, end: &str| (format!("begins {begin}"), format!("ends {end}"));
        assert_eq!(
            shown("friday"),
            expected("Friday 2026-11-27 at 00:00 UTC, in 13 h", "Friday 2026-11-27 at 24:00 UTC, in 37 h")
        );
        assert_eq!(
            shown("90s"),
            expected(
                "Thursday 2026-11-26 at 10:31:30 UTC, in 1 min",
                "Thursday 2026-11-26 at 10:31:30 UTC, in 1 min"
            )
        );
        assert_eq!(
            shown("2w"),
            expected(
                "Thursday 2026-12-10 at 10:30 UTC, in 14 d",
                "Thursday 2026-12-10 at 10:30 UTC, in 14 d"
            )
        );
        let ago = begins(now().checked_sub(59.seconds()).unwrap(), now());
        assert!(ago.ends_with("10:29:01 UTC, 59 s ago"), "{ago}");
    }

    proptest! {
        /// Every text is a time or is refused with a message. What is understood has whole seconds, and what
        /// ends does so after it has begun, except for a fraction of a second.
        #[test]
        fn every_text_is_answered(
            text in prop_oneof![any::<String>(), "[0-9TZthdwmo:. +-]{0,24}", "20[0-9]{2}-[01][0-9]-[0-3][0-9]([T ][0-2][0-9]:[0-5][0-9])?"],
            second in 0_i64..4_102_444_800,
        ) {
            let now = Timestamp::from_second(second).unwrap();
            match Typed::parse(&text) {
                Err(why) => prop_assert!(!why.is_empty()),
                Ok(typed) => {
                    if let (Ok(begin), Ok(end)) = (typed.begin(now), typed.end(now)) {
                        prop_assert_eq!((begin, end), (whole_seconds(begin), whole_seconds(end)));
                        prop_assert!(end > now && begin <= end.checked_add(1.second()).unwrap());
                        prop_assert!(ends(end, now).starts_with("ends ") && begins(begin, now).starts_with("begins "));
                    }
                }
            }
        }

        /// A time without a zone is never understood.
        #[test]
        fn no_clock_time_without_a_zone_is_understood(
            day in "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])",
            between in "[Tt ]",
            time in "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\\.[0-9]{1,9})?)?",
        ) {
            let refused = Typed::parse(&format!("{day}{between}{time}"));
            prop_assert!(refused.is_err_and(|why| why.starts_with("write the time zone, such as ")));
        }
    }
}
