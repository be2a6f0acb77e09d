//! Checks the monitoring of queuewarden: the metrics, the table that describes them, the alerts with their
//! pages, and the dashboard. All of them name metrics and labels; here they are compared with those that
//! exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use queuewarden_operator::controller::metrics::Metrics;
use queuewarden_operator::controller::published::Published;
use queuewarden_operator::controller::watch::Progress;
use queuewarden_plan::snapshot::{ConfigMapState, ConfigSpec, Entry, Meta, Snapshot, YUNIKORN_DEFAULTS};
use queuewarden_plan::{ParseCache, ResourceKind, plan};
use regex::Regex;
use serde_json::Value;
use yunikorn::version::Version;

/// The address of the runbooks that alerts name.
const RUNBOOKS: &str = "https://github.com/queuewarden/queuewarden/blob/main/docs/runbooks/";
/// Labels that Prometheus or a scrape adds.
const OF_SCRAPES: [&str; 6] = ["job", "instance", "pod", "node", "endpoint", "container"];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns a cluster with something to count.
fn snapshot() -> Snapshot {
    let tree = "partitions:\n  - name: default\n    queues:\n      - name: root\n";
    let base = ConfigMapState {
        name: YUNIKORN_DEFAULTS.into(),
        data: [("queues.yaml".to_owned(), tree.to_owned())].into(),
        ..ConfigMapState::default()
    };
    let meta = Meta { name: "default".into(), ..Meta::default() };
    Snapshot {
        config: Some(Entry { meta, spec: Ok(ConfigSpec::default()), in_force: None }),
        defaults: Some(Arc::new(base.clone())),
        base: Some(Arc::new(base)),
        ..Snapshot::empty(Timestamp::UNIX_EPOCH)
    }
}

/// Returns `/metrics` after everything that is counted has happened once: empty series are not printed.
fn exposed() -> String {
    let metrics = Metrics::default();
    let snapshot = snapshot();
    let plan = plan(&snapshot);
    metrics.planned(&snapshot, &plan);
    metrics.reconciled(Duration::ZERO, false);
    metrics.applied("applied");
    metrics.mirrored("written");
    metrics.recorded("recorded");
    metrics.drifted("deleted");
    metrics.patched(ResourceKind::QueueAcl, "patched");
    metrics.requested("config", "200", Duration::ZERO);
    metrics.published(&Published::new(Arc::new(snapshot), &plan, &mut ParseCache::new(Version::V1_8), None));
    metrics.counted_wrong_aliases(0);
    metrics.ended("closed");
    metrics.answered("/validate", 200, Duration::ZERO);
    metrics.decided("submit", "allow", "acl");
    metrics.text(&[Progress::new("queueacls")])
}

/// Returns type, help and labels of each metric, by its name without the suffix that the type adds.
fn metrics() -> BTreeMap<String, (String, String, BTreeSet<String>)> {
    let text = exposed();
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match *words {
            ["#", "HELP", name, help] => {
                // The client ends each help with a full stop.
                let help = help.strip_suffix('.').unwrap_or(help).to_owned();
                found.insert(name.to_owned(), (String::new(), help, BTreeSet::new()));
            }
            ["#", "TYPE", name, kind] => found.get_mut(name).unwrap().0 = kind.to_owned(),
            ["#", ..] => {}
            _ => {
                let (series, _) = line.rsplit_once(' ').unwrap();
                let (name, labels) = series.split_once('{').unwrap_or((series, ""));
                let name = base(name, &found).unwrap_or_else(|| panic!("{line}"));
                let names = labels.split(',').filter_map(|pair| Some(pair.split_once('=')?.0.to_owned()));
                found.get_mut(&name).unwrap().2.extend(names.filter(|name| name != "le"));
            }
        }
    }
    found
}

/// Returns the metric of a series.
fn base<T>(series: &str, metrics: &BTreeMap<String, T>) -> Option<String> {
    let names = ["", "_total", "_bucket", "_count", "_sum"].map(|end| series.strip_suffix(end));
    names.into_iter().flatten().find(|name| metrics.contains_key(*name)).map(str::to_owned)
}

#[test]
fn every_metric_is_described() {
    let head = "# Metrics\n\n\
        This page lists all metrics and alerts. Every replica serves its metrics at `/metrics` on port 8080\n\
        (`run --listen`).\n\n\
        * Label values come from a fixed list and never contain names of objects, so their number is limited. The\n  \
        only exception is `hash`, which has one value at a time for each replica.\n\
        * To count the conditions of individual objects, use kube-state-metrics.\n\
        * For the alerts, use `manifests/monitoring/rules.yaml` with Prometheus.\n  \
        `manifests/monitoring/dashboard.json` is a Grafana dashboard.\n\
        * `/metrics` is plain HTTP, and the NetworkPolicy blocks access by default. To let Prometheus in, set\n  \
        `networkPolicy.metricsFrom` in the chart, or use `examples/monitoring/networkpolicy.yaml`.\n\n\
        Generated from the sources by `UPDATE=1 cargo test --test all monitoring`.\n\n\
        | metric | type | labels | meaning |\n|---|---|---|---|\n";
    let mut text = head.to_owned();
    for (name, (kind, help, labels)) in metrics() {
        let name = if kind == "counter" { format!("{name}_total") } else { name };
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        text.extend(["| ", &name, " | ", &kind, " | ", &labels.join(", "), " | ", &help, " |\n"]);
    }
    text.push_str("\n## Alerts\n\n| alert | severity | says |\n|---|---|---|\n");
    for alert in alerts() {
        let word = |at: &str| alert.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (name, severity, says) = (word("/alert"), word("/labels/severity"), word("/annotations/summary"));
        text.extend([format!("| [{name}](runbooks/{name}.md) | {severity} | {says} |\n")]);
    }
    let page = path("docs/metrics.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&page, &text).unwrap();
    }
    assert!(
        read("docs/metrics.md") == text,
        "docs/metrics.md is out of date: UPDATE=1 cargo test --test all monitoring"
    );
}

/// Checks the names in an expression: the metrics with the labels in their braces, and the labels it groups
/// by.
fn check(expression: &str, metrics: &BTreeMap<String, (String, String, BTreeSet<String>)>) {
    let series = Regex::new(r"(queuewarden_[a-z_]+)(?:\{([^}]*)\})?").unwrap();
    let label = Regex::new(r#"([a-z_]+)\s*(?:=~|!~|!=|=)\s*""#).unwrap();
    let grouped = Regex::new(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)").unwrap();
    let mut known: BTreeSet<&str> = OF_SCRAPES.into_iter().chain(["le"]).collect();
    let mut names = 0;
    for found in series.captures_iter(expression) {
        let name = &found[1];
        let base = base(name, metrics).unwrap_or_else(|| panic!("there is no metric {name}: {expression}"));
        let (kind, _, labels) = &metrics[&base];
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name}: {expression}");
        assert_eq!(
            kind == "histogram",
            name.ends_with("_bucket") || name.ends_with("_count"),
            "{name}: {expression}"
        );
        for label in label.captures_iter(found.get(2).map_or("", |braces| braces.as_str())) {
            let label = &label[1];
            assert!(labels.contains(label) || label == "job", "{name} has no label {label}: {expression}");
        }
        known.extend(labels.iter().map(String::as_str));
        names += 1;
    }
    assert!(names > 0, "no metric of ours in {expression}");
    for group in grouped.captures_iter(expression) {
        for label in group[1].split(',').map(str::trim) {
            assert!(known.contains(label), "nothing has a label {label}: {expression}");
        }
    }
}

fn alerts() -> Vec<Value> {
    let rules: Value = serde_saphyr::from_str(&read("manifests/monitoring/rules.yaml")).unwrap();
    let groups = rules["groups"].as_array().unwrap();
    groups.iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

#[test]
fn alerts_ask_for_what_there_is() {
    let metrics = metrics();
    for alert in alerts() {
        check(alert["expr"].as_str().unwrap(), &metrics);
    }
}

/// Each alert states its severity and its remedy, and each page describes an alert.
#[test]
fn every_alert_has_a_page() {
    let mut named = BTreeSet::new();
    for alert in alerts() {
        let name = alert["alert"].as_str().unwrap().to_owned();
        let word = |at: &str| alert.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
        assert!(["critical", "warning", "info"].contains(&&*word("/labels/severity")), "{name}");
        assert!(
            !word("/annotations/summary").is_empty() && !word("/annotations/description").is_empty(),
            "{name}"
        );
        assert!(!word("/for").is_empty(), "{name} fires at the first sample");
        assert_eq!(word("/annotations/runbook_url"), format!("{RUNBOOKS}{name}.md"));
        let page = read(&format!("docs/runbooks/{name}.md"));
        assert!(page.starts_with(&format!("# {name}\n\n{}\n", word("/annotations/summary"))), "{name}");
        for part in ["Meaning", "Diagnosis", "Mitigation"] {
            assert!(page.contains(&format!("\n## {part}\n\n")), "{name}: {part}");
        }
        assert!(named.insert(format!("{name}.md")), "{name} stands there twice");
    }
    let pages = std::fs::read_dir(path("docs/runbooks")).unwrap();
    let pages: BTreeSet<String> =
        pages.map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(named, pages);
}

/// An increase is only seen from a series that was there before.
#[test]
fn counters_of_alerts_about_the_history_begin_at_zero() {
    let text = Metrics::default().text(&[]);
    for result in ["error", "lost"] {
        let series = format!("queuewarden_history_record_total{{result=\"{result}\"}} 0\n");
        assert!(text.contains(&series), "{text}");
    }
}

/// promtool's tests cover all alerts.
#[test]
fn every_alert_fires_in_a_test() {
    let tests = read("tests/monitoring/rules.test.yaml");
    for alert in alerts() {
        let name = alert["alert"].as_str().unwrap();
        let fires =
            tests.contains(&format!("alertname=\"{name}\"")) || tests.contains(&format!("alertname: {name}"));
        assert!(fires, "{name}");
    }
}

/// Returns the queries of all panels.
fn queries(panels: &Value) -> Vec<String> {
    let panels = panels.as_array().into_iter().flatten();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().cloned().unwrap_or_default());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_dashboard_shows_what_there_is() {
    let metrics = metrics();
    let dashboard: Value = serde_json::from_str(&read("manifests/monitoring/dashboard.json")).unwrap();
    let queries = queries(&dashboard["panels"]);
    assert!(queries.len() > 20, "{queries:?}");
    for query in &queries {
        check(query, &metrics);
        assert!(query.contains("{job=~\"$job\""), "it looks at all jobs: {query}");
    }
    let ids: BTreeSet<u64> =
        dashboard["panels"].as_array().unwrap().iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), dashboard["panels"].as_array().unwrap().len());
}
