//! Checks the `YuniKornConfig` and its conditions, the ConfigMaps as `YuniKorn` reads them, their other
//! writers, and whether the scheduler runs them.

use std::collections::BTreeMap;

use crate::output::Failure;
use crate::source::checks::{Level, Line, NAMED, admission, fail_open, list, page};
use crate::source::installed::{InstalledState, ObservedObject, SchedulerState};
use queuewarden_api::log_level::{self as level, ANNOTATION};
use queuewarden_client::call::CallError;
use queuewarden_plan::conditions::{Condition, Reason, Status, Type};
use queuewarden_plan::snapshot::{
    ConfigSpec, FIELD_MANAGER, Mode, QUEUE_OPERATOR, Snapshot, YUNIKORN_CONFIGS,
};
use queuewarden_plan::{
    MAX_BYTES, ResourceKind, WARN_BYTES, config_map_of, merged, size_after, text_in_force,
};
use yunikorn::config::flatten::Flattened;
use yunikorn::config::verdict;
use yunikorn::version::Version;

const CONFIG: &str = "yunikornconfig";
const MAPS: &str = "configmaps";
const SHADOWS: &str = "shadowing";
const OWNERS: &str = "ownership";
const STARTS: &str = "starts";
const SIZE: &str = "size";
const RELOAD: &str = "hot-refresh";
const SCHEDULER: &str = "scheduler";
const OBJECTS: &str = "objects";
const LOG_LEVEL: &str = "log-level";

pub(super) fn check(spec: &ConfigSpec, state: InstalledState) -> Vec<Line> {
    let mut lines = Vec::new();
    let (configs, others): (Vec<_>, Vec<_>) =
        state.objects.into_iter().partition(|(kind, _)| *kind == ResourceKind::YuniKornConfig);
    for (_, configs) in configs {
        match configs {
            Ok(configs) => lines.extend(config(configs.first(), spec)),
            Err(error) => lines.push(Line::unknown(CONFIG, "the YuniKornConfig", &error)),
        }
    }
    match &state.snapshot {
        Ok(snapshot) => {
            lines.extend(maps(spec, snapshot));
            lines.push(admission(snapshot));
        }
        Err(failure) => lines.push(unread(failure)),
    }
    lines.push(runs(&state.scheduler));
    lines.push(attention(others));
    lines
}

/// Creates the line for ConfigMaps that could not be read. Only missing ConfigMaps are a failure of the
/// installation; otherwise a right or a response may be missing.
fn unread(failure: &Failure) -> Line {
    if let Failure::NoConfigMaps(found) = failure {
        return Line::fail(MAPS, found, "spec.namespace of the YuniKornConfig must be YuniKorn's namespace");
    }
    Line::unknown(MAPS, "the content of YuniKorn's ConfigMaps", failure)
}

/// Returns whether the output ConfigMap exists; `None` if it was not read.
pub(super) fn output(spec: &ConfigSpec, snapshot: &Snapshot) -> Option<bool> {
    (spec.output_config_map == YUNIKORN_CONFIGS).then_some(snapshot.output.is_some())
}

/// Checks the conditions of the `YuniKornConfig`.
fn config(found: Option<&ObservedObject>, spec: &ConfigSpec) -> Vec<Line> {
    let Some(config) = found else {
        let what = "apply manifests/config with kubectl apply --server-side -k, or your own";
        return vec![Line::fail(CONFIG, "no YuniKornConfig exists, so nothing is written", what)];
    };
    let mut lines = vec![ready(config, spec)];
    let anew = "queuewarden writes them again when it runs; check for other writers of the status";
    lines.extend(config.unreadable.as_deref().map(|why| Line::fail(CONFIG, why, anew)));
    lines.extend(fail_open(config));
    lines.extend(config.annotation(ANNOTATION).map(log_level));
    lines
}

fn ready(config: &ObservedObject, spec: &ConfigSpec) -> Line {
    let Some(ready @ Condition { status, reason, message, .. }) = config.condition(Type::Ready) else {
        return Line::fail(
            CONFIG,
            "the operator has not processed its last change",
            "check that it is running and has permission to watch yunikornconfigs",
        );
    };
    let what = format!("`queuewarden codes {reason}` explains it");
    match status {
        Status::True => Line::ok(CONFIG, format!("Ready, {:?}: {message}", spec.mode)),
        _ if ready.has(Reason::ObserveMode) => {
            Line::warn(CONFIG, message.as_str(), "spec.mode: Enforce lets queuewarden write")
        }
        Status::Unknown => Line::warn(CONFIG, format!("{reason}: {message}"), what),
        Status::False => Line::fail(CONFIG, format!("{reason}: {message}"), what),
    }
}

fn log_level(level: &str) -> Line {
    let level: String = level.chars().take(64).collect();
    match level::parse(&level) {
        Some(_) => Line::ok(LOG_LEVEL, format!("the annotation {ANNOTATION} is {level}")),
        None => Line::warn(
            LOG_LEVEL,
            format!("the annotation {ANNOTATION} is `{level}`, which is not a log level"),
            "write error, warn, info, debug or trace",
        ),
    }
}

/// Checks the ConfigMaps as `YuniKorn` merges them.
fn maps(spec: &ConfigSpec, snapshot: &Snapshot) -> Vec<Line> {
    let flat = merged(snapshot);
    let key = flat.queues_key();
    let text = text_in_force(snapshot);
    let mut lines = vec![
        shadows(&flat, &key),
        owners(spec, snapshot, &key),
        starts(&text, snapshot.version()),
        size(snapshot, &text),
    ];
    if !flat.hot_refresh() {
        let what = "set it to \"true\" and restart the scheduler";
        lines.push(Line::fail(
            RELOAD,
            "service.enableConfigHotRefresh is off, so the scheduler does not load new configurations",
            what,
        ));
    }
    lines
}

fn shadows(flat: &Flattened, key: &str) -> Line {
    if let Some(origin) = flat.get(key).map(|value| &value.origin).filter(|origin| origin.binary) {
        let map = config_map_of(origin.source);
        let found = format!("binaryData key {} of {map} hides {key}, or empties it", origin.key);
        return Line::fail(SHADOWS, found, format!("delete {} from binaryData of {map}", origin.key));
    }
    if flat.is_ambiguous(key) {
        let found = format!(
            "several keys of one binaryData give {key} different values, and YuniKorn chooses one at random"
        );
        return Line::fail(SHADOWS, found, "leave one of them");
    }
    Line::ok(SHADOWS, format!("nothing hides {key}"))
}

fn owners(spec: &ConfigSpec, snapshot: &Snapshot, key: &str) -> Line {
    let place = format!("{key} in {}/{}", spec.namespace, spec.output_config_map);
    let owners = snapshot.output.iter().filter_map(|output| output.owners.get(key)).flatten();
    let names: Vec<&str> = owners.map(|owner| owner.manager.as_str()).collect();
    let others: Vec<&str> = names.iter().copied().filter(|name| *name != FIELD_MANAGER).collect();
    let owns = names.contains(&FIELD_MANAGER);
    if !others.is_empty() {
        let found = format!("{place} is {}owned by {}", if owns { "also " } else { "" }, others.join(", "));
        let what = if others.contains(&QUEUE_OPERATOR) {
            format!("one of the two owns this ConfigMap; how both run: {}", page("install.md"))
        } else {
            let tools = page("gitops.md");
            format!(
                "remove the key from their manifests, or set spec.adoption; for GitOps tools, see {tools}"
            )
        };
        return if owns { Line::warn(OWNERS, found, what) } else { Line::fail(OWNERS, found, what) };
    }
    if owns {
        return Line::ok(OWNERS, format!("{place} is queuewarden's alone"));
    }
    let text = snapshot.output.as_deref().is_some_and(|output| output.data.contains_key(key));
    match (text, spec.mode) {
        (true, _) => {
            Line::warn(OWNERS, format!("no manager owns {place}"), "kubectl get --show-managed-fields")
        }
        (false, Mode::Observe) => Line::ok(OWNERS, format!("{place} does not exist, and is not written")),
        (false, Mode::Enforce) => Line::fail(
            OWNERS,
            format!("{place} does not exist: YuniKorn falls back to yunikorn-defaults, or lets everyone in"),
            "the operator writes it when the YuniKornConfig is valid and it is the leader",
        ),
    }
}

fn starts(text: &str, version: Version) -> Line {
    let verdict = verdict(text, &[], version);
    let repair = "repair the base; queuewarden validate -f shows the location";
    match (&verdict.starts, verdict.refusal()) {
        (Err(_), Some(refusal)) if verdict.unsure => Line::fail(STARTS, refusal, repair),
        (Err(_), refusal) => {
            let why = refusal.unwrap_or_else(|| "it cannot be read".to_owned());
            Line::fail(
                STARTS,
                format!("YuniKorn would not start with the configuration in force: {why}"),
                repair,
            )
        }
        (Ok(()), Some(refusal)) => Line::fail(
            STARTS,
            format!(
                "YuniKorn would start with the configuration in force, but would not reload it: {refusal}"
            ),
            repair,
        ),
        (Ok(()), None) => {
            Line::ok(STARTS, "YuniKorn accepts the configuration in force, and would start with it")
        }
    }
}

/// Checks the size of all values of the output, which the limit applies to; or of the new text, if there is
/// no output yet.
fn size(snapshot: &Snapshot, text: &str) -> Line {
    let bytes = size_after(snapshot.output.as_deref(), &BTreeMap::new()).max(text.len());
    let found = format!("{bytes} of {MAX_BYTES} bytes");
    let runbook = page("runbooks/QueuewardenOutputNearLimit.md");
    let what = format!("shorten the base, or grant access to groups instead of users; {runbook}");
    if bytes > WARN_BYTES { Line::warn(SIZE, found, what) } else { Line::ok(SIZE, found) }
}

fn runs(state: &SchedulerState) -> Line {
    match state.agrees() {
        Some(true) => Line::ok(SCHEDULER, state.line()),
        Some(false) => Line::fail(
            SCHEDULER,
            state.line(),
            "wait some seconds after a change, then search for \"reload configuration failed\" in the \
            scheduler's log",
        ),
        None if state.problem.is_none() && state.checksum.is_some() => {
            Line { level: Level::Unknown, ..Line::warn(SCHEDULER, state.line(), format!("see check {MAPS}")) }
        }
        None if state.checksum.is_some() => {
            Line::warn(SCHEDULER, state.line(), format!("supported versions: {}", page("install.md")))
        }
        None => Line {
            level: Level::Unknown,
            ..Line::warn(
                SCHEDULER,
                state.line(),
                "check that the scheduler is running, or use another address with --scheduler-url",
            )
        },
    }
}

/// Reports how many of the other objects are not Ready.
fn attention(kinds: Vec<(ResourceKind, Result<Vec<ObservedObject>, CallError>)>) -> Line {
    let mut waiting = Vec::new();
    let mut total = 0_usize;
    for (kind, objects) in kinds {
        match objects {
            Ok(objects) => {
                total = total.saturating_add(objects.len());
                waiting.extend(objects.iter().filter_map(ObservedObject::attention));
            }
            Err(error) => {
                return Line::unknown(OBJECTS, &format!("the objects of kind {}", kind.name()), &error);
            }
        }
    }
    if waiting.is_empty() {
        return Line::ok(OBJECTS, format!("all {total} are Ready"));
    }
    let named: Vec<String> =
        waiting.iter().map(|object| format!("{}/{} {}", object.kind, object.name, object.reason)).collect();
    let found = format!("{} of {total} are not Ready: {}", waiting.len(), list(&named, ", ", NAMED));
    Line::warn(OBJECTS, found, "see queuewarden status --all for the causes")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use queuewarden_plan::snapshot::{BinaryValue, ConfigMapState, KeyOwner, YUNIKORN_DEFAULTS};
    use yunikorn::admission::{BYPASS_AUTH, EXTERNAL_USERS};

    const TREE: &str = "partitions: [{name: default, queues: [{name: root}]}]";

    fn snapshot(owners: &[&str], binary: &[&str]) -> Snapshot {
        let owner = |manager: &&str| KeyOwner { manager: (*manager).into(), operation: "Update".into() };
        let value = BinaryValue { len: 1, gunzipped: Some(TREE.into()) };
        let output = ConfigMapState {
            name: YUNIKORN_CONFIGS.into(),
            data: [("queues.yaml".to_owned(), TREE.to_owned())].into(),
            binary: binary.iter().map(|key| ((*key).to_owned(), value.clone())).collect(),
            owners: [("queues.yaml".to_owned(), owners.iter().map(owner).collect())].into(),
            ..ConfigMapState::default()
        };
        Snapshot { output: Some(Arc::new(output)), ..Snapshot::empty(jiff::Timestamp::UNIX_EPOCH) }
    }

    fn level(check: &str, snapshot: &Snapshot) -> Level {
        let lines = maps(&ConfigSpec::default(), snapshot);
        lines.iter().find(|line| line.check == check).unwrap().level
    }

    #[test]
    fn maps_that_may_not_be_read_are_not_known() {
        assert_eq!(unread(&Failure::NoConfigMaps("there is none".into())).level, Level::Fail);
        let forbidden = unread(&Failure::Forbidden("cannot read ConfigMap yunikorn/yunikorn-configs".into()));
        assert_eq!(forbidden.level, Level::Unknown);
        assert!(forbidden.remedy.unwrap().contains("queuewarden-checker"));
        let silent = unread(&Failure::Undecided("no answer from the API server https://x".into()));
        assert_eq!(silent.level, Level::Unknown);
    }

    #[test]
    fn a_scheduler_that_cannot_be_compared_is_not_known() {
        let state = SchedulerState { checksum: Some("AB".to_owned()), ..SchedulerState::default() };
        let level = |state: &SchedulerState| runs(state).level;
        assert_eq!(level(&state), Level::Unknown);
        assert!(runs(&state).found.contains("the ConfigMaps are not known"));
        assert_eq!(level(&SchedulerState::default()), Level::Unknown);
        let expected = |text: &str| SchedulerState { expected: Some(text.to_owned()), ..state.clone() };
        assert_eq!([level(&expected("AB")), level(&expected("CD"))], [Level::Ok, Level::Fail]);
        let unproven = SchedulerState { problem: Some("no release".to_owned()), ..state.clone() };
        assert_eq!(level(&unproven), Level::Warn);
    }

    #[test]
    fn who_else_owns_the_key_is_reported() {
        assert_eq!(level(OWNERS, &snapshot(&["queuewarden"], &[])), Level::Ok);
        assert_eq!(level(OWNERS, &snapshot(&["helm", "queuewarden"], &[])), Level::Warn);
        assert_eq!(level(OWNERS, &snapshot(&["helm"], &[])), Level::Fail);
        assert_eq!(level(OWNERS, &snapshot(&[], &[])), Level::Warn);
        for (owner, page) in
            [("helm", "blob/main/docs/gitops.md"), (QUEUE_OPERATOR, "blob/main/docs/install.md")]
        {
            let line = owners(&ConfigSpec::default(), &snapshot(&[owner], &[]), "queues.yaml");
            assert!(line.found.contains(owner) && line.remedy.unwrap().contains(page), "{owner}");
        }
        let mut gone = snapshot(&[], &[]);
        gone.output = None;
        assert_eq!(level(OWNERS, &gone), Level::Fail);
    }

    #[test]
    fn a_binary_key_that_hides_the_tree_is_reported() {
        assert_eq!(level(SHADOWS, &snapshot(&["queuewarden"], &[])), Level::Ok);
        assert_eq!(level(SHADOWS, &snapshot(&["queuewarden"], &["other.gz"])), Level::Ok);
        assert_eq!(level(SHADOWS, &snapshot(&["queuewarden"], &["queues.yaml.gz"])), Level::Fail);
        let mut both = snapshot(&["queuewarden"], &[]);
        both.defaults = both.output.clone();
        Arc::make_mut(both.defaults.as_mut().unwrap()).name = YUNIKORN_DEFAULTS.into();
        assert_eq!(level(SHADOWS, &both), Level::Ok, "the output is meant to win over the defaults");
    }

    #[test]
    fn all_that_the_output_holds_is_measured() {
        assert_eq!(level(SIZE, &snapshot(&["queuewarden"], &[])), Level::Ok);
        let mut full = snapshot(&["queuewarden"], &["archive.gz"]);
        let output = Arc::make_mut(full.output.as_mut().unwrap());
        output.binary.get_mut("archive.gz").unwrap().len = WARN_BYTES;
        assert_eq!(level(SIZE, &full), Level::Warn, "what others put there takes its room");
    }

    #[test]
    fn whether_the_output_is_there_is_known_of_the_one_that_was_looked_at() {
        let (there, elsewhere) =
            (ConfigSpec::default(), ConfigSpec { output_config_map: "mine".into(), ..ConfigSpec::default() });
        let mut snapshot = snapshot(&[], &[]);
        assert_eq!(output(&there, &snapshot), Some(true));
        assert_eq!(output(&elsewhere, &snapshot), None);
        snapshot.output = None;
        assert_eq!(output(&there, &snapshot), Some(false));
    }

    #[test]
    fn a_text_that_stops_yunikorn_is_reported() {
        assert_eq!(starts(TREE, Version::V1_8).level, Level::Ok);
        for text in
            ["partitions: [", "partitions: [{name: default, queues: [{name: root, submitacl: 'a  b'}]}]"]
        {
            assert_eq!(starts(text, Version::V1_8).level, Level::Fail, "{text}");
        }
    }

    #[test]
    fn admission_settings_that_let_many_be_anyone_are_a_warning_with_remedies() {
        let with = |keys: &[(&str, &str)]| {
            let mut snapshot = snapshot(&["queuewarden"], &[]);
            let output = Arc::make_mut(snapshot.output.as_mut().unwrap());
            output.data.extend(keys.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())));
            admission(&snapshot)
        };
        assert_eq!(with(&[(BYPASS_AUTH, "false")]).level, Level::Ok);
        let open = with(&[(BYPASS_AUTH, "true"), (EXTERNAL_USERS, ".*,^.+$")]);
        assert_eq!(open.level, Level::Warn);
        let all = "ConfigMap/yunikorn-configs: externalUsers: the expression `.*` matches every name; ";
        assert!(open.found.starts_with(all), "{}", open.found);
        let remedy = "list the intended names, anchored with `^` and `$`; set it to false";
        assert!(open.remedy.as_ref().unwrap().starts_with(remedy), "{open:?}");
    }

    #[test]
    fn words_that_are_no_level_are_reported() {
        assert_eq!(log_level("Debug").level, Level::Ok);
        assert_eq!(log_level("everything").level, Level::Warn);
    }
}
