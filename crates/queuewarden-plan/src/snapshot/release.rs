//! The version of the scheduler, as named by the `YuniKornConfig` or reported by the scheduler.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use go_compat::diag::quoted;
use yunikorn::Version;

/// The version whose rules queuewarden applies, and its source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Release {
    /// The YuniKorn release line whose behavior applies. Unknown: the strictest behavior of all known lines.
    pub version: Version,
    /// The source of the line.
    pub source: ReleaseSource,
    /// The release that the scheduler reports. Absent if it reports none or was not queried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub reported: Option<String>,
}

/// The source of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum ReleaseSource {
    /// The spec.version of the YuniKornConfig.
    Spec,
    /// The scheduler's REST service.
    Scheduler,
    /// Neither is known, or they contradict each other.
    None,
}

/// Maximum length of a release that is accepted, in bytes.
pub const MAX_RELEASE: usize = 128;

const NO_RELEASE: &str = "the scheduler reports no release, so it is unknown what its checksum covers: set \
                          spec.version of YuniKornConfig `default` to the version that it runs";

impl Release {
    /// Chooses the version: the one in the spec, unless the scheduler reports a different line; if the spec
    /// names none, the line of the reported release.
    pub fn new(chosen: Option<Version>, reported: Option<&str>) -> Self {
        let (version, source) = match (chosen, reported) {
            (Some(chosen), Some(reported)) if chosen.contradicts(reported) => {
                (Version::Unknown, ReleaseSource::None)
            }
            (Some(chosen), _) => (chosen, ReleaseSource::Spec),
            (None, Some(reported)) => (Version::of_release(reported), ReleaseSource::Scheduler),
            (None, None) => (Version::Unknown, ReleaseSource::None),
        };
        Self { version, source, reported: reported.map(str::to_owned) }
    }

    /// Returns why a checksum reported by a scheduler of this release proves nothing, or `None` if it does.
    pub fn unproven(chosen: Option<Version>, reported: Option<&str>) -> Option<String> {
        if Self::new(chosen, reported).version.is_proven() {
            return None;
        }
        let Some(reported) = reported.map(quoted) else {
            return Some(NO_RELEASE.to_owned());
        };
        Some(match chosen {
            Some(chosen) => format!(
                "the scheduler reports release {reported}, but spec.version of YuniKornConfig `default` is \
                 {chosen}: correct spec.version, or remove it"
            ),
            None => format!(
                "the scheduler reports release {reported}, but queuewarden is proven only on {}: if it is a \
                 build of one of them, set spec.version of YuniKornConfig `default`",
                Version::PROVEN.map(Version::as_str).join(" and ")
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spec_counts_unless_the_scheduler_contradicts_it() {
        use ReleaseSource::{None as Nowhere, Scheduler, Spec};
        use Version::{Unknown, V1_8, V1_9, V1_10};
        for (chosen, reported, version, source, proven) in [
            (None, None, Unknown, Nowhere, false),
            (None, Some("1.9.0"), V1_9, Scheduler, true),
            (None, Some("1.10.0"), V1_10, Scheduler, false),
            (None, Some("1.8.0-vendor"), Unknown, Scheduler, false),
            (Some(V1_8), None, V1_8, Spec, true),
            (Some(V1_8), Some("1.8.3"), V1_8, Spec, true),
            (Some(V1_8), Some("1.8.0-vendor"), V1_8, Spec, true),
            (Some(V1_8), Some("latest"), V1_8, Spec, true),
            (Some(V1_8), Some("1.9.0"), Unknown, Nowhere, false),
            (Some(V1_9), Some("2.0"), Unknown, Nowhere, false),
            (Some(V1_9), Some("1.10.0-SNAPSHOT"), Unknown, Nowhere, false),
        ] {
            let release = Release::new(chosen, reported);
            assert_eq!((release.version, release.source), (version, source), "{chosen:?} {reported:?}");
            assert_eq!(Release::unproven(chosen, reported).is_none(), proven, "{chosen:?} {reported:?}");
        }
    }
}
