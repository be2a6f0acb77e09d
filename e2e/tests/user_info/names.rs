//! Generates identities in all forms that Kubernetes authenticates, and grants for about half of them.

use std::collections::BTreeSet;

use fastrand::Rng;
use serde_json::{Value, json};

/// The prefixes of the user name of a service account, and of the group of all accounts in its namespace.
const OF_ACCOUNT: &str = "system:serviceaccount:";
const OF_NAMESPACE: &str = "system:serviceaccounts:";
/// The longest name of a namespace, and of a service account.
const NAMESPACE: usize = 63;
const ACCOUNT: usize = 253;
/// The longest name in the lists of a `QueueAcl`. Names of service accounts may be longer.
const LISTED: usize = 256;
/// Namespaces with several generated accounts.
const SHARED: [&str; 3] = ["spark", "flink", "0-jobs"];
/// Names that `YuniKorn`'s expressions just accept, or just refuse, and some that look like parts of an ACL
/// or an annotation.
const EDGES: [&str; 32] = [
    "1st",
    "_1",
    "_",
    "a",
    "a.b",
    ".a",
    "a.",
    "a@b",
    "@a",
    "a@",
    "a@b@c",
    "a-",
    "-a",
    "a_b",
    "a$",
    "$a",
    "a$$",
    "a$b",
    "A",
    "a b",
    "a,b",
    "a:b",
    "a/b",
    "a#b",
    "a+b",
    "\"a\"",
    "a\\u0062",
    "[\"a\"]",
    "qw-user:a",
    "qw-user:a#2eb",
    "Zoë",
    "Zoe\u{308}",
];
/// Letters of several scripts, and pictures.
const SCRIPTS: [(char, char); 10] = [
    ('à', 'ö'),
    ('α', 'ω'),
    ('а', 'я'),
    ('א', 'ת'),
    ('ف', 'ي'),
    ('अ', 'ह'),
    ('ア', 'ン'),
    ('一', '龥'),
    ('가', '힣'),
    ('😀', '🙏'),
];

/// Somebody who submits to one queue.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub(super) user: String,
    pub(super) groups: Vec<String>,
    /// The number of the queue.
    pub(super) queue: usize,
}

/// A name in one of the lists of a grant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    User(String),
    Group(String),
}

/// The names that are granted on the queues. The expected decision follows from these without any code of the
/// program.
#[derive(Debug, Default)]
pub(super) struct Grants(BTreeSet<(usize, Name)>);

/// Identities, and the grants.
#[derive(Debug)]
pub(super) struct Draw {
    pub(super) identities: Vec<Identity>,
    pub(super) grants: Grants,
}

impl Draw {
    /// Returns what this seed draws.
    pub(super) fn of(seed: u64, count: usize, queues: usize) -> Self {
        let mut dice = Rng::with_seed(seed);
        let identities: Vec<_> = (0..count).map(|_| Identity::drawn(&mut dice, queues)).collect();
        let mut grants = BTreeSet::new();
        for who in &identities {
            let own = who.one_of_its_names(&mut dice);
            grants.insert(if dice.bool() {
                (who.queue, own)
            } else {
                beside(&mut dice, who.queue, own, queues)
            });
        }
        Self { identities, grants: Grants(grants) }
    }
}

/// Returns a grant that differs from this one: on another queue, of the other kind, or of a similar name.
fn beside(dice: &mut Rng, queue: usize, name: Name, queues: usize) -> (usize, Name) {
    let similar = |name: String, how: usize| match how {
        0 => format!("{name}a"),
        1 => format!("a{name}"),
        2 => name.to_uppercase(),
        _ => name.replace(['.', '-', ':', ' '], "_"),
    };
    let (Name::User(text) | Name::Group(text)) = &name;
    let how = if text.chars().count() < LISTED { dice.usize(..6) } else { 4 };
    match (how, name) {
        (4, name) => ((queue + 1) % queues, name),
        (5, Name::User(name)) => (queue, Name::Group(name)),
        (5, Name::Group(name)) => (queue, Name::User(name)),
        (_, Name::User(name)) => (queue, Name::User(similar(name, how))),
        (_, Name::Group(name)) => (queue, Name::Group(similar(name, how))),
    }
}

impl Grants {
    /// Returns whether one of a user's names is granted on their queue.
    pub(super) fn has(&self, who: &Identity) -> bool {
        let has = |name: Name| self.0.contains(&(who.queue, name));
        has(Name::User(who.user.clone())) || who.groups.iter().any(|group| has(Name::Group(group.clone())))
    }

    /// Returns the `QueueAcl` of a queue with grants.
    pub(super) fn acl(&self, queue: usize) -> Option<Value> {
        let (mut users, mut groups, mut accounts) = (Vec::new(), Vec::new(), Vec::new());
        for (number, (_, name)) in self.0.iter().filter(|(on, _)| *on == queue).enumerate() {
            // Every other account is named by its full name, as a user or as a group.
            let short = |name: &str| number % 2 == 0 || name.chars().count() > LISTED;
            match name {
                Name::User(name) => match name
                    .strip_prefix(OF_ACCOUNT)
                    .filter(|_| short(name))
                    .and_then(|rest| rest.split_once(':'))
                {
                    Some((namespace, name)) => accounts.push(json!({"namespace": namespace, "name": name})),
                    None => users.push(name),
                },
                Name::Group(name) => match name
                    .strip_prefix(OF_NAMESPACE)
                    .filter(|space| short(name) && space.len() <= NAMESPACE)
                {
                    Some(namespace) => accounts.push(json!({"namespace": namespace})),
                    None => groups.push(name),
                },
            }
        }
        (!users.is_empty() || !groups.is_empty() || !accounts.is_empty()).then(|| {
            json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": format!("q{queue}")},
                "spec": {"queue": format!("root.q{queue}"),
                    "submit": {"users": users, "groups": groups, "serviceAccounts": accounts}}})
        })
    }
}

impl Identity {
    fn drawn(dice: &mut Rng, queues: usize) -> Self {
        let queue = dice.usize(..queues);
        if dice.usize(..4) == 0 {
            let namespace = namespace(dice);
            let user = format!("{OF_ACCOUNT}{namespace}:{}", subdomain(dice));
            let groups = vec!["system:serviceaccounts".to_owned(), format!("{OF_NAMESPACE}{namespace}")];
            return Self { user, groups, queue };
        }
        let user = user(dice);
        let groups: BTreeSet<_> = (0..dice.usize(1..=6)).map(|_| group(dice)).collect();
        Self { user, groups: groups.into_iter().collect(), queue }
    }

    fn one_of_its_names(&self, dice: &mut Rng) -> Name {
        match dice.choice(&self.groups).filter(|_| dice.bool()) {
            Some(group) => Name::Group(group.clone()),
            None => Name::User(self.user.clone()),
        }
    }
}

fn user(dice: &mut Rng) -> String {
    let word = word(dice);
    match dice.usize(..8) {
        0 => format!("https://{word}.example.com/realms/{}#{}", dice.u16(..), dice.u64(..)),
        1 => format!("oidc:{word}"),
        2 => format!("CN={} {word},OU={},O=Example", unicode(dice), dice.u16(..)),
        3 => format!("{word}.{}@corp.example", dice.u16(..)),
        4 => unicode(dice),
        5 => edge(dice),
        6 => word.repeat(LISTED / word.len()),
        _ => word,
    }
}

fn group(dice: &mut Rng) -> String {
    let word = word(dice);
    match dice.usize(..8) {
        0 => format!("https://{word}.example.com#{}", dice.u16(..)),
        1 => format!("oidc:{word} {}", dice.u16(..)),
        2 => format!("cn={word},ou={},dc=example", unicode(dice)),
        3 => format!("{word}.{}@corp.example", dice.u16(..)),
        4 => unicode(dice),
        5 => edge(dice),
        6 => word.repeat(LISTED / word.len()),
        _ => word,
    }
}

/// Returns a name at a boundary, often with a number, so that not all have the same few.
fn edge(dice: &mut Rng) -> String {
    let edge = EDGES.get(dice.usize(..EDGES.len())).copied().unwrap_or_default();
    match dice.usize(..3) {
        0 => edge.to_owned(),
        1 => format!("{edge}{}", dice.u8(..)),
        _ => format!("{}{edge}", dice.u8(..)),
    }
}

/// Returns a name of letters of one script.
fn unicode(dice: &mut Rng) -> String {
    let (first, last) = SCRIPTS.get(dice.usize(..SCRIPTS.len())).copied().unwrap_or_default();
    (0..dice.usize(1..=24)).map(|_| dice.char(first..=last)).collect()
}

/// Returns a plain name for users and groups.
fn word(dice: &mut Rng) -> String {
    let first = dice.alphabetic();
    std::iter::once(first).chain((0..dice.usize(..12)).map(|_| dice.alphanumeric())).collect()
}

fn namespace(dice: &mut Rng) -> String {
    if let Some(shared) = SHARED.get(dice.usize(..2 * SHARED.len())) {
        return (*shared).to_owned();
    }
    let length = if dice.bool() { NAMESPACE } else { dice.usize(1..=12) };
    label(dice, length)
}

/// Returns a name of a service account: labels with dots.
fn subdomain(dice: &mut Rng) -> String {
    let length = if dice.usize(..8) == 0 { ACCOUNT } else { dice.usize(1..=24) };
    let mut name = label(dice, length.min(NAMESPACE));
    while name.len() + 2 <= length {
        let length = (length - name.len() - 1).min(NAMESPACE);
        name = format!("{name}.{}", label(dice, length));
    }
    name
}

/// Returns lower-case letters, digits and dashes, with no dash at either end.
fn label(dice: &mut Rng, length: usize) -> String {
    let mut letter = |end: bool| match dice.usize(..12) {
        0 if !end => '-',
        1 => dice.digit(10),
        _ => dice.lowercase(),
    };
    (0..length).map(|place| letter(place == 0 || place + 1 == length)).collect()
}
