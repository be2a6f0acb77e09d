//! Compares configurations: validity, start, reload, and content.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use proptest::array::uniform5;
use proptest::collection::vec;
use proptest::prelude::*;
use queuewarden_e2e::Oracle;
use queuewarden_e2e::oracle::{ConfigAnswer, ConfigQuestion, DEADLOCK};
use yunikorn::config::{ReloadError, checksum, verdict};
use yunikorn::version::Version;

use super::samples::texts;
use super::{agree_in_each, fixture, oracles};

/// The partitions of the oracle's configuration before the reload, which is `YuniKorn`'s built-in one.
const ACTIVE: &[&str] = &["default"];
/// How many times to ask again if the first answer is not the model's; one of the answers has to match.
/// `YuniKorn` reads maps in Go's random order, and stops at the first invalid quantity.
const AGAIN: usize = 200;

#[test]
fn generated_configurations_match_yunikorn() -> Result<()> {
    agree_in_each(2_000, &configuration(), decide)
}

#[test]
fn mutated_samples_match_yunikorn() -> Result<()> {
    agree_in_each(2_000, &damaged(), decide)
}

/// Limits of queues around others that are named `root`, which 1.8 and 1.9 pass on in different ways.
#[test]
fn limits_are_inherited_as_in_each_version() -> Result<()> {
    agree_in_each(1_000, &limits_below_root(), decide)?;
    let texts = fixture::draw(1_000, &limits_below_root())?;
    let [old, new] = Version::PROVEN.map(|version| ask(Oracle::of(version)?, &texts));
    let apart = old?.iter().zip(new?).filter(|(old, new)| old.validate_error != new.validate_error).count();
    ensure!(apart > 50, "the versions differ on {apart} texts only");
    Ok(())
}

fn limits_below_root() -> BoxedStrategy<String> {
    let who = prop_oneof![Just("users: [sue]"), Just("groups: [dev]")];
    let bound = prop_oneof![
        (1..6_u32).prop_map(|amount| format!("maxresources: {{memory: {amount}M}}")),
        (1..6_u32).prop_map(|amount| format!("maxapplications: {amount}")),
    ];
    let limit = (who, bound).prop_map(|(who, bound)| format!("limits: [{{limit: x, {who}, {bound}}}]"));
    (prop_oneof![Just("a"), Just("root")], uniform5(limit))
        .prop_map(|(name, [outer, root, deeper, deepest, beside])| {
            let deeper = format!("{{name: root, {deeper}, queues: [{{name: d, {deepest}}}]}}");
            let below = format!("{{name: root, {root}}}, {{name: c, queues: [{deeper}]}}");
            let queues = format!("{{name: {name}, {outer}, queues: [{below}]}}, {{name: b, {beside}}}");
            format!("partitions: [{{name: default, queues: [{{name: root, queues: [{queues}]}}]}}]\n")
        })
        .boxed()
}

/// Agreement on texts that are all invalid would prove little.
#[test]
fn generated_configurations_cover_every_kind() -> Result<()> {
    let [mut syntax, mut invalid, mut hangs, mut refused, mut accepted] = [0_usize; 5];
    for answer in ask(Oracle::get()?, &fixture::draw(1_000, &configuration())?)? {
        match (answer.validate_error.as_str(), answer.reload_error.as_str()) {
            ("", "") => accepted += 1,
            ("", DEADLOCK) => hangs += 1,
            ("", _) => refused += 1,
            (error, _) if error.starts_with("yaml:") => syntax += 1,
            _ => invalid += 1,
        }
    }
    let kinds = [syntax, invalid, hangs, refused, accepted];
    ensure!(kinds.iter().all(|count| *count > 10), "{kinds:?}");
    Ok(())
}

pub(super) fn ask(oracle: &Oracle, texts: &[String]) -> Result<Vec<ConfigAnswer>> {
    let questions: Vec<ConfigQuestion> =
        texts.iter().map(|text| ConfigQuestion { text: text.clone(), from: String::new() }).collect();
    oracle.config(&questions)
}

fn decide(oracle: &Oracle, version: Version, texts: &[String]) -> Result<Vec<Option<String>>> {
    let answers = ask(oracle, texts)?;
    let found = texts.iter().zip(&answers).map(|(text, answer)| match difference(text, answer, version) {
        Some(found) => {
            let answers = ask(oracle, &vec![text.clone(); AGAIN])?;
            let mut differ = answers.iter().map(|answer| difference(text, answer, version).is_some());
            Ok(differ.all(|differs| differs).then_some(found))
        }
        None => Ok(None),
    });
    found.collect()
}

fn difference(text: &str, answer: &ConfigAnswer, version: Version) -> Option<String> {
    let verdict = verdict(text, ACTIVE, version);
    if verdict.unsure {
        return None;
    }
    let model = [
        verdict.validates.err().unwrap_or_default(),
        verdict.starts.err().unwrap_or_default(),
        match verdict.reloads {
            Ok(()) => String::new(),
            Err(ReloadError::Refused(reason)) => reason,
            Err(ReloadError::Hangs { .. }) => DEADLOCK.to_owned(),
        },
    ];
    let model = model.map(|error| worded(&error));
    let yunikorn =
        [&answer.validate_error, &answer.start_error, &answer.reload_error].map(|error| worded(error));
    if model != yunikorn || !answer.panic.is_empty() {
        return Some(format!(
            "{text}\n    the model says {model:?}\n    YuniKorn says  {yunikorn:?} {}",
            answer.panic
        ));
    }
    // An invalid text has no checksum, and an empty one is replaced before it is hashed.
    let hashed = answer.validate_error.is_empty() && !text.is_empty();
    (hashed && checksum(text) != answer.checksum).then(|| format!("{text}\n    the checksums differ"))
}

/// Returns a refusal without the wording of the YAML reader, which may differ.
pub(super) fn worded(refusal: &str) -> String {
    if refusal.starts_with("yaml: ") { "yaml".to_owned() } else { refusal.to_owned() }
}

/// Of two invalid quantities, `YuniKorn` reports either, and the model the first by name.
#[test]
fn either_of_two_invalid_quantities_is_reported() -> Result<()> {
    let queue = "{name: a, resources: {max: {memory: x, vcore: 1K}}}";
    let text = format!("partitions: [{{name: default, queues: [{{name: root, queues: [{queue}]}}]}}]\n");
    let answers = ask(Oracle::get()?, &vec![text.clone(); AGAIN])?;
    let named: BTreeSet<_> = answers.iter().map(|answer| &*answer.validate_error).collect();
    ensure!(named.len() == 2, "{named:?}");
    for (version, oracle) in oracles()? {
        ensure!(decide(oracle, version, &vec![text.clone(); 20])?.iter().all(Option::is_none));
    }
    Ok(())
}

/// Mostly one of the first, sometimes one of the second, because a text of many parts has to be valid as a
/// whole often enough. It is boxed, like all that follow, because their total size exceeds a test's stack.
fn mostly(right: &[&'static str], wrong: &[&'static str]) -> BoxedStrategy<String> {
    prop_oneof![
        40 => prop::sample::select(right.to_vec()),
        1 => prop::sample::select(wrong.to_vec()),
    ]
    .prop_map(str::to_owned)
    .boxed()
}

/// Generates nothing, or once in `odds` a text of `inner`.
fn once_in(odds: u32, inner: impl Strategy<Value = String> + 'static) -> BoxedStrategy<String> {
    prop_oneof![odds - 1 => Just(String::new()), 1 => inner].boxed()
}

/// Generates texts in the shape of a configuration.
pub(super) fn configuration() -> BoxedStrategy<String> {
    let head = mostly(&["", "---\n", "# c\n", "\u{feff}"], &["other: 1\n", "- "]);
    (head, partition("default"), once_in(6, partition("gpu")), once_in(20, partition("default")))
        .prop_map(|(head, one, two, three)| format!("{head}partitions:\n{one}{two}{three}"))
        .boxed()
}

fn partition(usual: &'static str) -> BoxedStrategy<String> {
    let name = prop_oneof![12 => Just(usual), 1 => Just("gpu"), 1 => Just("Default"), 1 => Just("''"), 1 => Just("[x]y")];
    (name, once_in(2, rules()), once_in(4, extras()), queues())
        .prop_map(|(name, rules, extras, queues)| {
            format!("  - name: {name}\n{rules}{extras}    queues:\n{queues}")
        })
        .boxed()
}

fn extras() -> BoxedStrategy<String> {
    mostly(
        &[
            "    nodesortpolicy: {type: fair}\n",
            "    nodesortpolicy: {type: binpacking, resourceweights: {vcore: 2.5}}\n",
            "    preemption: {enabled: yes}\n",
            "    usergroupresolver: {type: os}\n",
            "    limits: [{limit: all, users: ['*'], maxapplications: 3}]\n",
        ],
        &[
            "    nodesortpolicy: {type: nope}\n",
            "    nodesortpolicy: {type: fair, resourceweights: {vcore: -1}}\n",
            "    preemption: {enabled: 'yes'}\n",
            "    statedumpfilepath: /tmp\n",
        ],
    )
    .boxed()
}

fn rules() -> BoxedStrategy<String> {
    let rule = mostly(
        &[
            "{name: provided, create: true}",
            "{name: provided, create: false}",
            "{name: user, create: true}",
            "{name: tag, value: namespace, create: true}",
            "{name: fixed, value: q, create: true}",
            "{name: user, create: true, parent: {name: tag, value: namespace, create: true}}",
            "{name: provided, filter: {type: allow, users: [alice, bob], groups: [devs]}}",
            "{name: provided, filter: {type: deny, users: ['b.*']}}",
            "{name: provided, filter: {type: Deny, groups: [devs]}}",
            // Valid, and refused or fatal afterwards.
            "{name: nope}",
            "{name: tag}",
            "{name: recovery}",
        ],
        &[
            "{name: fixed, value: root.q}",
            "{name: fixed, value: root.Q}",
            "{name: fixed}",
            "{name: fixed, value: 'root..x', create: true}",
            "{name: 'b ad'}",
            "{name: ''}",
            "{name: test}",
            "{name: user, create: true, parent: {name: fixed, value: q}}",
            "{name: user, create: false, parent: {name: fixed, value: q, create: true}}",
            "{name: provided, filter: {type: nope}}",
            "{name: provided, filter: {users: ['al[']}}",
            "{name: provided, filter: {users: ['1x']}}",
        ],
    );
    vec(rule, 1..3)
        .prop_map(|rules| {
            let head = "    placementrules:\n".to_owned();
            rules.iter().fold(head, |text, rule| format!("{text}      - {rule}\n"))
        })
        .boxed()
}

fn queues() -> BoxedStrategy<String> {
    let root = mostly(&["root"], &["Root", "q"]);
    let below =
        vec((queue_name(), properties(12, true), once_in(3, grandchildren())), 0..4).prop_map(|children| {
            let head = if children.is_empty() { "" } else { "        queues:\n" };
            let children = children
                .iter()
                .map(|(name, lines, below)| format!("          - name: {name}\n{lines}{below}"));
            format!("{head}{}", children.collect::<String>())
        });
    // With a second top-level queue, `YuniKorn` inserts a root and makes both its children.
    let beside = (queue_name(), properties(8, true))
        .prop_map(|(name, lines)| format!("      - name: {name}\n{lines}"));
    (root, properties(8, false), below, once_in(12, beside))
        .prop_map(|(root, lines, below, beside)| format!("      - name: {root}\n{lines}{below}{beside}"))
        .boxed()
}

fn grandchildren() -> BoxedStrategy<String> {
    vec((queue_name(), properties(16, true)), 1..3)
        .prop_map(|queues| {
            let head = "            queues:\n".to_owned();
            queues
                .iter()
                .fold(head, |text, (name, lines)| format!("{text}              - name: {name}\n{lines}"))
        })
        .boxed()
}

fn queue_name() -> BoxedStrategy<String> {
    let named = mostly(
        &["q", "r", "root", "@recovery@", "a:b", "a/b#c@d", "A-1_"],
        &[
            "''",
            "'a.b'",
            "'a b'",
            "é",
            "~",
            "12",
            "0x1F",
            "yes",
            "default",
            "'$x'",
            "[a]",
            "{a: b}",
            "\"\\u0041\"",
            "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff1234",
            "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff12345",
        ],
    );
    // Mostly different from their siblings; in any case a `q` and a `Q` are one queue.
    prop_oneof![1 => named, 2 => "[qrQ][a-z]{2}"].boxed()
}

/// Generates lines of a queue, with no key twice except by chance.
fn properties(indent: usize, resources: bool) -> BoxedStrategy<String> {
    let acl = || {
        mostly(
            &[
                "'*'",
                "' '",
                "alice",
                "'alice devs'",
                "' devs'",
                "'alice,bob devs,ops'",
                "\"alice\\tdevs\"",
                "~",
                "123",
                "yes",
                "''",
                "!!str x",
                "&a alice",
                "|\n                    alice devs",
                ">-\n                    alice\n                    devs",
                // Valid, and refused or fatal afterwards.
                "'alice  devs'",
                "' * '",
            ],
            &["'a b c'", "[a]", "{a: b}", "*", "*a"],
        )
    };
    let other = mostly(
        &[
            "parent: true",
            "parent: yes",
            "maxapplications: 3",
            "maxapplications: 010",
            "maxapplications: 1e2",
            "properties: {application.sort.policy: fifo}",
            "properties: {a: 1}",
            "childtemplate: {maxapplications: 2}",
            "limits: []",
            "limits: [{limit: a, users: [alice], maxapplications: 1}]",
            "limits: [{limit: a, users: [alice], maxapplications: 2}]",
            "limits: [{limit: a, users: [alice], maxapplications: 3}]",
        ],
        &[
            "parent: false",
            "parent: 'true'",
            "maxapplications: -1",
            "properties: [a]",
            "childtemplate: {submitacl: x}",
            "limits: [{limit: a, groups: ['*'], maxapplications: 1}]",
            "limits: [{limit: a, users: ['*'], groups: [g], maxapplications: 1}]",
            "limits: [{users: [a b]}]",
            "limits: [{limit: x}]",
            "unknown: 1",
            "submitacl: again",
            "name: again",
        ],
    );
    let resource = mostly(
        &[
            "resources: {max: {vcore: 10, memory: 10G}}",
            "resources: {max: {vcore: 500m}}",
            "resources: {}",
            "resources: {guaranteed: {vcore: 1}, max: {vcore: 3}}",
        ],
        &[
            "resources: {guaranteed: {vcore: 5}, max: {vcore: 3}}",
            "resources: {max: {memory: 1.5G}}",
            "resources: {max: {vcore: -1}}",
            "resources: {guaranteed: {memory: 1Gi}}",
            "resources: {max: {pods: x}}",
        ],
    );
    let resource = once_in(if resources { 5 } else { 60 }, resource);
    let key = mostly(&["submitacl"], &["submitACL", "\"submitacl\""]);
    let submit = (key, acl()).prop_map(|(key, acl)| format!("{key}: {acl}"));
    let admin = acl().prop_map(|acl| format!("adminacl: {acl}"));
    (once_in(2, submit), once_in(4, admin), once_in(4, other), resource)
        .prop_map(move |(submit, admin, other, resource)| {
            let lines = [submit, admin, other, resource];
            let lines = lines.iter().filter(|line| !line.is_empty());
            lines.fold(String::new(), |text, line| format!("{text}{:indent$}{line}\n", ""))
        })
        .boxed()
}

/// Generates a sample with a few lines, words or characters changed.
pub(super) fn damaged() -> impl Strategy<Value = String> {
    let samples: Vec<String> = texts().into_values().collect();
    (prop::sample::select(samples), vec(damage(), 1..4))
        .prop_map(|(text, damages)| damages.iter().fold(text, |text, damage| damage.apply(&text)))
}

#[derive(Debug, Clone)]
enum Damage {
    Remove(prop::sample::Index),
    Repeat(prop::sample::Index),
    Swap(prop::sample::Index),
    Indent(prop::sample::Index, usize),
    Replace(prop::sample::Index, &'static str),
    Insert(prop::sample::Index, &'static str),
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    let value = prop::sample::select(vec![
        "~",
        "''",
        "\"*\"",
        "*",
        "[a, b]",
        "{a: b}",
        "12",
        "1.5",
        "yes",
        "'x  y'",
        "\"a\\nb\"",
        "|",
        ">-",
        "&a x",
        "*a",
        "!!int 1",
        "!x y",
    ]);
    let piece = prop::sample::select(vec![
        ":", " ", "-", "#", "'", "\"", "\t", "{", "]", ",", "é", "\r", "%", "@", "---\n", "\u{85}",
    ]);
    prop_oneof![
        index().prop_map(Damage::Remove),
        index().prop_map(Damage::Repeat),
        index().prop_map(Damage::Swap),
        (index(), 0..4_usize).prop_map(|(line, spaces)| Damage::Indent(line, spaces)),
        (index(), value).prop_map(|(line, value)| Damage::Replace(line, value)),
        (index(), piece).prop_map(|(place, piece)| Damage::Insert(place, piece)),
    ]
}

impl Damage {
    #[expect(clippy::indexing_slicing, reason = "`Index::index` is below the length it is given")]
    fn apply(&self, text: &str) -> String {
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        if lines.is_empty() {
            return text.to_owned();
        }
        match self {
            Self::Remove(at) => {
                lines.remove(at.index(lines.len()));
            }
            Self::Repeat(at) => {
                let at = at.index(lines.len());
                lines.insert(at, lines[at].clone());
            }
            Self::Swap(at) => {
                let at = at.index(lines.len());
                let next = (at + 1) % lines.len();
                lines.swap(at, next);
            }
            Self::Indent(at, spaces) => {
                let at = at.index(lines.len());
                lines[at] = format!("{:spaces$}{}", "", lines[at]);
            }
            Self::Replace(at, value) => {
                let at = at.index(lines.len());
                if let Some((key, _)) = lines[at].split_once(": ") {
                    lines[at] = format!("{key}: {value}\n");
                }
            }
            Self::Insert(at, piece) => {
                let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
                let mut changed = text.to_owned();
                changed.insert_str(places[at.index(places.len())], piece);
                return changed;
            }
        }
        lines.concat()
    }
}
