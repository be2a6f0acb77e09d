//! The next change that is due: a pure function of the validities, the wall clock and whether callers know
//! all authorities.
//!
//! An authority is followed by the next one when a third of its lifetime is left. The next one is published
//! at once, but signs only after a sixth of its lifetime. Until then all callers, even with a manual copy,
//! have time to receive it, and the old one is still valid for another sixth when it stops signing. The
//! certificate is renewed when a third of its lifetime is left.

use jiff::{SignedDuration, Timestamp};

/// Maximum number of authorities in one Secret; more than a jumping clock would create.
pub const MOST: usize = 4;

/// A validity: from `from` until before `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// The first second.
    pub from: Timestamp,
    /// The second after the last.
    pub until: Timestamp,
}

impl Validity {
    /// Returns whether it is valid at this time.
    pub fn holds(self, now: Timestamp) -> bool {
        self.from <= now && now < self.until
    }

    /// Returns whether at most one part of `parts` of its lifetime is left.
    fn is_late(self, now: Timestamp, parts: i32) -> bool {
        self.until.duration_since(now) <= self.length() / parts.max(1)
    }

    /// Returns whether at least one part of `parts` of its lifetime has passed.
    fn is_ripe(self, now: Timestamp, parts: i32) -> bool {
        now.duration_since(self.from) >= self.length() / parts.max(1)
    }

    pub(super) fn length(self) -> SignedDuration {
        self.until.duration_since(self.from)
    }
}

/// The properties of the server certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// Its validity.
    pub validity: Validity,
    /// The index of the authority that signed it; `None` if another one did.
    pub signer: Option<usize>,
    /// True if it has exactly the desired names.
    pub names_fit: bool,
}

/// The next change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// No change.
    Nothing,
    /// Remove this authority: it has expired, or there are too many.
    Forget(usize),
    /// Create a new authority, and publish it to callers.
    Authority,
    /// Sign a new certificate with this authority.
    Certificate(usize),
}

/// Returns the change that is due now. The oldest authority is first; `reported` is true if the API server
/// has the bundle with all of them.
pub fn due(authorities: &[Validity], shown: Option<Shown>, reported: bool, now: Timestamp) -> Due {
    let is_valid = |authority: &Validity| authority.holds(now);
    if let Some(expired) = authorities.iter().position(|authority| authority.until <= now) {
        return Due::Forget(expired);
    }
    if authorities.len() > MOST {
        return Due::Forget(0);
    }
    // The newest authority, as long as it is valid and not near its end.
    if !authorities.iter().any(|authority| is_valid(authority) && !authority.is_late(now, 3)) {
        return if authorities.len() == MOST { Due::Forget(0) } else { Due::Authority };
    }
    // The newest authority that all callers had time to receive; otherwise the one known for longest.
    let known = authorities.iter().rposition(|authority| is_valid(authority) && authority.is_ripe(now, 6));
    let signer = known.or_else(|| authorities.iter().position(is_valid));
    let Some(signer) = signer else { return Due::Authority };
    let shown = shown.filter(|shown| shown.validity.holds(now));
    let Some(shown) = shown else { return Due::Certificate(signer) };
    let by = shown.signer.filter(|at| authorities.get(*at).is_some_and(is_valid));
    let Some(by) = by else { return Due::Certificate(signer) };
    // Another one signs only after callers know it. Until then the old one continues.
    if by != signer && reported {
        return Due::Certificate(signer);
    }
    let late = shown.validity.is_late(now, 3) || !shown.names_fit;
    if late { Due::Certificate(by) } else { Due::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DAY: i64 = 24 * 60 * 60;

    fn at(day: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + day * DAY).unwrap()
    }

    fn days(from: i64, until: i64) -> Validity {
        Validity { from: at(from), until: at(until) }
    }

    type SignedBy = (Validity, Option<usize>);

    fn due(authorities: &[Validity], shown: Option<SignedBy>, reported: bool, now: Timestamp) -> Due {
        let shown = shown.map(|(validity, signer)| Shown { validity, signer, names_fit: true });
        super::due(authorities, shown, reported, now)
    }

    #[test]
    fn begins_with_an_authority_then_a_certificate() {
        assert_eq!(due(&[], None, false, at(0)), Due::Authority);
        assert_eq!(due(&[days(0, 600)], None, false, at(0)), Due::Certificate(0));
    }

    #[test]
    fn a_certificate_is_renewed_when_a_third_is_left() {
        let authorities = [days(0, 600)];
        let shown = Some((days(100, 106), Some(0)));
        assert_eq!(due(&authorities, shown, true, at(103)), Due::Nothing);
        assert_eq!(due(&authorities, shown, false, at(104)), Due::Certificate(0));
        assert_eq!(due(&authorities, shown, false, at(200)), Due::Certificate(0));
    }

    #[test]
    fn an_authority_is_followed_in_time_and_the_next_signs_when_it_is_known() {
        let old = days(0, 600);
        assert_eq!(due(&[old], Some((days(399, 405), Some(0))), true, at(399)), Due::Nothing);
        assert_eq!(due(&[old], Some((days(399, 405), Some(0))), true, at(400)), Due::Authority);
        let both = [old, days(400, 1000)];
        let by_old = |day: i64| Some((days(day - 1, day + 5), Some(0)));
        // The old one continues until the new one has been known for a sixth of its lifetime ...
        assert_eq!(due(&both, by_old(499), true, at(499)), Due::Nothing);
        assert_eq!(due(&both, by_old(497), true, at(501)), Due::Certificate(1));
        // ... and until callers know it, for as long as possible.
        assert_eq!(due(&both, by_old(501), false, at(501)), Due::Nothing);
        assert_eq!(due(&both, by_old(501), false, at(505)), Due::Certificate(0));
        assert_eq!(due(&both, by_old(600), false, at(600)), Due::Forget(0));
        assert_eq!(due(&both[1..], Some((days(599, 605), None)), false, at(600)), Due::Certificate(0));
    }

    #[test]
    fn clocks_that_jump_are_noticed() {
        let authorities = [days(0, 600)];
        let shown = Some((days(100, 106), Some(0)));
        assert_eq!(due(&authorities, shown, true, at(99)), Due::Certificate(0));
        assert_eq!(due(&authorities, shown, true, at(-1)), Due::Authority);
        assert_eq!(due(&authorities, shown, true, at(601)), Due::Forget(0));
    }

    #[test]
    fn another_name_needs_another_certificate() {
        for (names_fit, expected) in [(true, Due::Nothing), (false, Due::Certificate(0))] {
            let shown = Shown { validity: days(0, 6), signer: Some(0), names_fit };
            assert_eq!(super::due(&[days(0, 600)], Some(shown), true, at(1)), expected);
        }
    }

    proptest! {
        /// From any state and with any jumps of the clock, carrying out due changes terminates. The
        /// certificate is then valid and signed by a valid authority, which callers know if there was a
        /// choice.
        #[test]
        fn comes_to_rest_with_something_valid(
            mut authorities in proptest::collection::vec((-900_i64..900, 1_i64..900), 0..7),
            shown in proptest::option::of((-900_i64..900, 1_i64..30, proptest::option::of(0_usize..7))),
            reported in any::<bool>(),
            day in -900_i64..900,
        ) {
            authorities.sort_unstable();
            let mut authorities: Vec<_> = authorities.iter().map(|&(from, length)| days(from, from + length)).collect();
            let mut shown = shown.map(|(from, length, signer)| Shown {
                validity: days(from, from + length),
                signer: signer.filter(|&at| at < authorities.len()),
                names_fit: true,
            });
            let now = at(day);
            let mut steps = 0;
            loop {
                let before = shown;
                match super::due(&authorities, shown, reported, now) {
                    Due::Nothing => break,
                    Due::Forget(gone) => {
                        authorities.remove(gone);
                        shown = shown.map(|shown| Shown {
                            signer: shown.signer.and_then(|by| match by.cmp(&gone) {
                                std::cmp::Ordering::Less => Some(by),
                                std::cmp::Ordering::Equal => None,
                                std::cmp::Ordering::Greater => Some(by - 1),
                            }),
                            ..shown
                        });
                    }
                    Due::Authority => authorities.push(Validity { from: now, until: at(day + 600) }),
                    Due::Certificate(by) => {
                        let usable = before.is_some_and(|shown| {
                            shown.validity.holds(now)
                                && shown.signer.is_some_and(|by| authorities[by].holds(now))
                        });
                        prop_assert!(!usable || reported || before.unwrap().signer == Some(by));
                        let until = authorities[by].until.min(at(day + 6));
                        shown = Some(Shown { validity: Validity { from: now, until }, signer: Some(by), names_fit: true });
                    }
                }
                steps += 1;
                prop_assert!(steps < 20);
            }
            let shown = shown.unwrap();
            prop_assert!(shown.validity.holds(now));
            prop_assert!(authorities[shown.signer.unwrap()].holds(now));
            prop_assert!(authorities.len() <= MOST);
        }
    }
}
