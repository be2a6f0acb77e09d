//! Checks that all parts of each feature that is switched on are installed: without some of them it promises
//! more than it does.

use std::collections::BTreeMap;

use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::Value;

use crate::source::checks::{Line, list};
use crate::source::installed::InstalledState;
use queuewarden_client::call::{CallError, call};
use queuewarden_plan::snapshot::ConfigSpec;
use queuewarden_plan::{ResourceKind, submission, user_info};
use yunikorn_access::{submission::Mode as Submission, user_info::Mode, user_info::Profile};

const FEATURES: &str = "features";
/// Maximum number of missing parts that are named.
const NAMED: usize = 6;

/// A part of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// A webhook configuration, as `kind name`.
    Webhook(&'static str),
    /// The same, which must refuse requests while it does not answer.
    StrictWebhook(&'static str),
    /// A policy of the API server, and the binding of the same name.
    Policy(&'static str),
}

/// A feature.
struct Feature {
    /// The setting that switches it on.
    setting: &'static str,
    /// The parts that it needs.
    needs: &'static [Part],
    /// What happens without them.
    without: &'static str,
    /// The folder of the manifests that has them.
    folder: &'static str,
    /// The chart's value that installs them.
    value: &'static str,
}

const OF_OWN_KINDS: &str = "ValidatingWebhookConfiguration queuewarden";
const MUTATES: &str = "MutatingWebhookConfiguration zz-queuewarden-user-info";

const DELEGATION: Feature = Feature {
    setting: "spec.delegation is Enabled",
    needs: &[Part::StrictWebhook(OF_OWN_KINDS), Part::Policy("queuewarden-delegation")],
    without: "a delegate can use other names, and change grants of other administrators",
    folder: "delegation",
    value: "webhooks.delegation=true",
};
const STRICT: Feature = Feature {
    setting: "spec.userInfo of the AdmissionPolicy is Enforce and strict",
    needs: &[
        Part::Webhook(MUTATES),
        Part::StrictWebhook("ValidatingWebhookConfiguration queuewarden-user-info"),
        Part::Policy("queuewarden-own-names"),
        Part::Policy("queuewarden-operator-settings"),
    ],
    without: "users can run pods with other names",
    folder: "user-info",
    value: "webhooks.userInfo=true",
};
const USER_INFO: Feature = Feature {
    setting: "spec.userInfo.mode of the AdmissionPolicy is not Off",
    needs: &[Part::Webhook(MUTATES)],
    without: "nothing is checked",
    ..STRICT
};
const SUBMISSION: Feature = Feature {
    setting: "spec.submission of the AdmissionPolicy is not Off",
    needs: &[Part::Webhook("ValidatingWebhookConfiguration queuewarden-submission")],
    without: "nobody is warned",
    folder: "submission",
    value: "webhooks.submission=true",
};
const BLOCKING: Feature = Feature {
    setting: "a QueueAccessTest has enforcement: Block",
    needs: &[Part::StrictWebhook(OF_OWN_KINDS)],
    without: "a change that breaks it is not refused",
    folder: "validating",
    value: "webhooks.validating=true",
};
const MIRROR: Feature = Feature {
    setting: "spec.rbacMirror is Enabled",
    needs: &[Part::Policy("queuewarden-rbac-mirror-policy")],
    without: "the operator's permission to write roles is not restricted",
    folder: "rbac-mirror",
    value: "rbacMirror=true",
};
const APPLICATIONS: Feature = Feature {
    setting: "the operator runs with --applications",
    needs: &[Part::Policy("queuewarden-application-acls")],
    without: "users who can patch a pod can decide who may view and modify its application",
    folder: "applications",
    value: "webhooks.applications=true",
};

/// An installed webhook configuration: its kind and name, and whether requests are refused while it does not
/// answer.
pub(super) type Webhook = (String, bool);

/// Checks the features that are on. `webhooks` are the installed ones; `None` if unknown.
pub(super) async fn check(
    client: &Client,
    spec: &ConfigSpec,
    state: &InstalledState,
    webhooks: Option<&[Webhook]>,
) -> Vec<Line> {
    let features = switched_on(spec, state);
    let named = features.iter().flat_map(|feature| feature.needs).filter_map(|part| match part {
        Part::Policy(name) => Some(*name),
        Part::Webhook(_) | Part::StrictWebhook(_) => None,
    });
    let mut policies = BTreeMap::new();
    for name in named {
        match policy(client, name).await {
            Ok(installed) => drop(policies.insert(name, installed)),
            Err(error) => return vec![Line::unknown(FEATURES, &format!("policy {name}"), &error)],
        }
    }
    // The line about webhooks reports that these are unknown.
    let Some(webhooks) = webhooks else { return Vec::new() };
    let lacks = |part: &Part| match part {
        Part::Webhook(name) => !webhooks.iter().any(|(installed, _)| installed == name),
        Part::StrictWebhook(name) => !webhooks.iter().any(|(installed, strict)| *strict && installed == name),
        Part::Policy(name) => policies.get(name) != Some(&true),
    };
    lines(&features, lacks)
}

/// Returns whether the API server has a policy and its binding.
async fn policy(client: &Client, name: &str) -> Result<bool, CallError> {
    for kind in ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"] {
        let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
        if call(api.get_opt(name)).await?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the features that the readable settings switch on.
fn switched_on(spec: &ConfigSpec, state: &InstalledState) -> Vec<&'static Feature> {
    let mut on = Vec::new();
    if spec.delegation {
        on.push(&DELEGATION);
    }
    if spec.rbac_mirror {
        on.push(&MIRROR);
    }
    if state.operator.applications == Some(true) {
        on.push(&APPLICATIONS);
    }
    if let Ok(snapshot) = &state.snapshot {
        let settings = user_info(snapshot);
        match (settings.mode, settings.profile) {
            (Mode::Off, _) => {}
            (Mode::Enforce, Profile::Strict) => on.push(&STRICT),
            (Mode::Audit | Mode::Enforce, _) => on.push(&USER_INFO),
        }
        if submission(snapshot) != Submission::Off {
            on.push(&SUBMISSION);
        }
    }
    let tests = state.objects.iter().filter(|(kind, _)| *kind == ResourceKind::QueueAccessTest);
    let blocks = tests
        .filter_map(|(_, tests)| tests.as_ref().ok())
        .flatten()
        .any(|test| test.field("/spec/enforcement").and_then(Value::as_str) == Some("Block"));
    if blocks {
        on.push(&BLOCKING);
    }
    on
}

/// Creates a line for each feature that lacks a part, or one if none does.
fn lines(features: &[&'static Feature], lacks: impl Fn(&Part) -> bool) -> Vec<Line> {
    let broken = features.iter().filter_map(|feature| {
        let missing = feature.needs.iter().filter(|part| lacks(part)).map(Part::named);
        let missing: Vec<String> = missing.collect();
        let Feature { setting, without, folder, value, .. } = feature;
        (!missing.is_empty()).then(|| {
            let found = format!("{setting}, without {}: {without}", list(&missing, ", ", NAMED));
            let remedy =
                format!("kubectl apply --server-side -k manifests/{folder} (with the chart: --set {value})");
            Line::fail(FEATURES, found, remedy)
        })
    });
    let broken: Vec<Line> = broken.collect();
    match (broken.is_empty(), features.is_empty()) {
        (false, _) => broken,
        (true, true) => Vec::new(),
        (true, false) => vec![Line::ok(FEATURES, "every part of each feature in use is installed")],
    }
}

impl Part {
    fn named(&self) -> String {
        match self {
            Self::Webhook(name) => (*name).to_owned(),
            Self::StrictWebhook(name) => format!("{name} with failurePolicy Fail"),
            Self::Policy(name) => format!("ValidatingAdmissionPolicy {name} and its binding"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::operate::check::Level;
    use crate::source::installed::{OperatorState, SchedulerState};
    use queuewarden_plan::snapshot::{AdmissionPolicySpec, Entry, Meta, Snapshot};
    use yunikorn_access::user_info::Settings;

    const ALL: [&Feature; 7] =
        [&DELEGATION, &STRICT, &USER_INFO, &SUBMISSION, &BLOCKING, &MIRROR, &APPLICATIONS];

    fn state(policy: AdmissionPolicySpec) -> InstalledState {
        let meta = Meta { name: "p".into(), ..Meta::default() };
        let policies = vec![Entry { meta, spec: Ok(policy), in_force: None }];
        InstalledState {
            snapshot: Ok(Snapshot { policies, ..Snapshot::empty(jiff::Timestamp::UNIX_EPOCH) }),
            scheduler: SchedulerState::default(),
            operator: OperatorState::default(),
            objects: Vec::new(),
        }
    }

    fn on(spec: &ConfigSpec, state: &InstalledState) -> Vec<&'static str> {
        switched_on(spec, state).into_iter().map(|feature| feature.setting).collect()
    }

    #[test]
    fn settings_switch_features_on() {
        let off = state(AdmissionPolicySpec::default());
        assert_eq!(on(&ConfigSpec::default(), &off), [""; 0]);
        let spec = ConfigSpec { delegation: true, rbac_mirror: true, ..ConfigSpec::default() };
        assert_eq!(on(&spec, &off), [DELEGATION.setting, MIRROR.setting]);
        for (mode, profile, setting) in [
            (Mode::Enforce, Profile::Strict, STRICT.setting),
            (Mode::Enforce, Profile::YuniKorn, USER_INFO.setting),
            (Mode::Audit, Profile::Strict, USER_INFO.setting),
        ] {
            let user_info = Some(Settings { mode, profile, ..Settings::default() });
            let of = state(AdmissionPolicySpec { user_info, ..AdmissionPolicySpec::default() });
            assert_eq!(on(&ConfigSpec::default(), &of), [setting]);
        }
        let submission = Some(Submission::Audit);
        let mut of = state(AdmissionPolicySpec { submission, ..AdmissionPolicySpec::default() });
        of.operator.applications = Some(true);
        assert_eq!(on(&ConfigSpec::default(), &of), [APPLICATIONS.setting, SUBMISSION.setting]);
    }

    #[test]
    fn each_missing_part_is_a_failure_with_its_command() {
        for feature in ALL {
            for part in feature.needs {
                let found = lines(&[feature], |other| other == part);
                let [line] = found.as_slice() else { panic!("{found:?}") };
                let command = format!("kubectl apply --server-side -k manifests/{}", feature.folder);
                assert_eq!(line.level, Level::Fail);
                assert!(line.remedy.as_ref().unwrap().starts_with(&command), "{line:?}");
                assert!(line.found.contains(&part.named()), "{line:?}");
            }
            assert_eq!(lines(&[feature], |_| false)[0].level, Level::Ok);
        }
        assert_eq!(lines(&[], |_| true), []);
        assert_eq!(lines(&ALL, |_| true).len(), ALL.len());
    }

    /// The parts have these names in the manifests that the remedy applies.
    #[test]
    fn the_command_installs_the_parts() {
        let manifests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests");
        let text = |folder: &str| -> String {
            let files = std::fs::read_dir(manifests.join(folder)).unwrap();
            files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect()
        };
        for feature in ALL {
            let mut all = text(feature.folder);
            if all.contains("../validating") {
                all += &text("validating");
            }
            for part in feature.needs {
                let (kind, name) = match part {
                    Part::Webhook(named) | Part::StrictWebhook(named) => named.split_once(' ').unwrap(),
                    Part::Policy(name) => ("ValidatingAdmissionPolicyBinding", *name),
                };
                let object = format!("kind: {kind}\nmetadata:\n  name: {name}\n");
                assert!(all.contains(&object), "{}: {object}", feature.folder);
            }
        }
    }
}
