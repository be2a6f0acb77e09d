//! Resource quantities: yunikorn-core `pkg/common/resources/quantity.go`, the comparisons of `resources.go`
//! that validation needs, and Go's formatting.

use std::collections::BTreeMap;
use std::fmt;

use super::codes::QUANTITY;
use super::schema::Quantities;
use go_compat::diag::Diagnostic;

/// The resource measured in thousandths (scheduler interface `constants.go:66`).
const CPU: &str = "vcore";

/// Amounts by resource name. A missing resource is not zero; in a maximum it is unlimited.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Amounts(BTreeMap<String, i64>);

impl Amounts {
    /// Parses quantities (`resources.go:85`). Go reads them in random order; this function reports the first
    /// error by name.
    pub(super) fn read(quantities: &Quantities) -> Result<Self, Diagnostic> {
        let mut amounts = BTreeMap::new();
        for (name, quantity) in quantities.iter().flatten() {
            let amount = parse(quantity.as_str(), name == CPU).map_err(|text| {
                let milli = if name == CPU { "; m is a thousandth" } else { "" };
                Diagnostic::error(QUANTITY, text).at(quantity.span).help(format!(
                    "write `{name}` as a whole number with one of k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei \
                     behind it or nothing{milli}"
                ))
            })?;
            amounts.insert(name.clone(), amount);
        }
        Ok(Self(amounts))
    }

    /// Returns whether `smaller` fits. Resources that are missing here are unlimited (`resources.go:455`).
    pub(super) fn fits(&self, smaller: &Self) -> bool {
        smaller.0.iter().all(|(name, amount)| self.0.get(name).is_none_or(|most| *amount <= (*most).max(0)))
    }

    /// Returns the smaller amount of each resource, including resources that only one of them has
    /// (`resources.go:999`).
    pub(super) fn least(&self, other: &Self) -> Self {
        let mut least = self.clone();
        for (name, amount) in &other.0 {
            least.0.entry(name.clone()).and_modify(|own| *own = (*own).min(*amount)).or_insert(*amount);
        }
        least
    }

    /// Adds amounts, saturating at the largest number (`resources.go:165`, `addVal`).
    pub(super) fn add(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            self.0
                .entry(name.clone())
                .and_modify(|own| *own = own.saturating_add(*amount))
                .or_insert(*amount);
        }
    }

    /// Returns whether all amounts are zero (`resources.go:1107`).
    pub(super) fn is_zero(&self) -> bool {
        self.0.values().all(|amount| *amount == 0)
    }

    /// Returns whether at least one amount is positive and none is negative (`resources.go:980`).
    pub(super) fn is_positive(&self) -> bool {
        self.0.values().all(|amount| *amount >= 0) && !self.is_zero()
    }
}

impl fmt::Display for Amounts {
    /// Formats like Go's `%v` of a map: `map[memory:10 vcore:1000]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_map(f, self.0.iter())
    }
}

/// Formats like Go's `%v` of a map, with the keys in order.
pub(super) fn write_map<K: fmt::Display, V: fmt::Display>(
    f: &mut impl fmt::Write,
    entries: impl Iterator<Item = (K, V)>,
) -> fmt::Result {
    f.write_str("map[")?;
    for (index, (name, value)) in entries.enumerate() {
        let space = if index == 0 { "" } else { " " };
        write!(f, "{space}{name}:{value}")?;
    }
    f.write_str("]")
}

/// Parses one quantity (`quantity.go:78`). `milli` is for [`CPU`], which is stored in thousandths and allows
/// the suffix `m`.
fn parse(text: &str, milli: bool) -> Result<i64, &'static str> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = text.split_at_checked(digits).unwrap_or((text, ""));
    let suffix = suffix.trim_start_matches(['\t', '\n', '\u{c}', '\r', ' ']);
    if number.is_empty() || !is_suffix(suffix) {
        return Err("invalid quantity");
    }
    let number: i64 = number.parse().map_err(|_| "invalid quantity: overflow")?;
    let scale: i128 = match suffix {
        "" => 1,
        "m" if milli => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "P" => 1_000_000_000_000_000,
        "E" => 1_000_000_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        "Ei" => 1 << 60,
        _ => return Err("invalid suffix"),
    };
    let thousandths = if milli && suffix != "m" { 1000 } else { 1 };
    i128::from(number)
        .checked_mul(scale)
        .and_then(|amount| amount.checked_mul(thousandths))
        .and_then(|amount| i64::try_from(amount).ok())
        .ok_or("invalid quantity: overflow")
}

/// Returns whether the expression in `quantity.go:41` allows the suffix. It also allows some without a
/// meaning.
fn is_suffix(suffix: &str) -> bool {
    let letter = suffix.strip_suffix('i').unwrap_or(suffix);
    suffix.is_empty() || matches!(letter, "m" | "k" | "K" | "M" | "G" | "T" | "P" | "E")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_parse_like_yunikorns() {
        const INVALID: Result<i64, &str> = Err("invalid quantity");
        const SUFFIX: Result<i64, &str> = Err("invalid suffix");
        const OVERFLOW: Result<i64, &str> = Err("invalid quantity: overflow");
        for (text, plain, milli) in [
            ("10", Ok(10), Ok(10_000)),
            ("500m", SUFFIX, Ok(500)),
            ("007k", Ok(7_000), Ok(7_000_000)),
            ("2M", Ok(2_000_000), Ok(2_000_000_000)),
            ("2G", Ok(2_000_000_000), Ok(2_000_000_000_000)),
            ("2T", Ok(2_000_000_000_000), Ok(2_000_000_000_000_000)),
            ("2P", Ok(2_000_000_000_000_000), Ok(2_000_000_000_000_000_000)),
            ("2E", Ok(2_000_000_000_000_000_000), OVERFLOW),
            ("3Ki", Ok(3 << 10), Ok(3000 << 10)),
            ("3Mi", Ok(3 << 20), Ok(3000 << 20)),
            ("3Ti", Ok(3 << 40), Ok(3000 << 40)),
            ("3Pi", Ok(3 << 50), Ok(3000 << 50)),
            (" 1 \tGi\n", Ok(1 << 30), Ok(1000 << 30)),
            ("\u{a0}1", Ok(1), Ok(1000)),
            ("1\u{a0}k", INVALID, INVALID),
            ("1K", SUFFIX, SUFFIX),
            ("1mi", SUFFIX, SUFFIX),
            ("1ki", SUFFIX, SUFFIX),
            ("1.5", INVALID, INVALID),
            ("-1", INVALID, INVALID),
            ("+1", INVALID, INVALID),
            ("", INVALID, INVALID),
            ("k", INVALID, INVALID),
            ("1 G B", INVALID, INVALID),
            ("9223372036854775807", Ok(i64::MAX), OVERFLOW),
            ("9223372036854775808", OVERFLOW, OVERFLOW),
            ("9223372036854775808x", INVALID, INVALID),
            ("9223372036854775808K", OVERFLOW, OVERFLOW),
            ("7Ei", Ok(7 << 60), OVERFLOW),
            ("8Ei", OVERFLOW, OVERFLOW),
            ("9223372036854775807Ei", OVERFLOW, OVERFLOW),
        ] {
            assert_eq!((parse(text, false), parse(text, true)), (plain, milli), "{text:?}");
        }
    }

    fn amounts(pairs: &[(&str, i64)]) -> Amounts {
        Amounts(pairs.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect())
    }

    #[test]
    fn resource_missing_in_a_maximum_is_unlimited() {
        let max = amounts(&[("memory", 10), ("gpu", 0)]);
        for (wanted, fits) in [
            (amounts(&[]), true),
            (amounts(&[("memory", 10)]), true),
            (amounts(&[("memory", 11)]), false),
            (amounts(&[("vcore", 1000)]), true),
            (amounts(&[("gpu", 1)]), false),
        ] {
            assert_eq!(max.fits(&wanted), fits, "{wanted}");
        }
        assert_eq!(
            max.least(&amounts(&[("memory", 5), ("vcore", 7)])),
            amounts(&[("memory", 5), ("gpu", 0), ("vcore", 7)])
        );
    }

    #[test]
    fn sums_saturate() {
        let mut sum = amounts(&[("memory", i64::MAX)]);
        sum.add(&amounts(&[("memory", 1), ("vcore", 2)]));
        assert_eq!(sum.to_string(), "map[memory:9223372036854775807 vcore:2]");
        assert_eq!(Amounts::default().to_string(), "map[]");
    }
}
