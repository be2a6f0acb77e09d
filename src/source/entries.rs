//! Lists every entry that names a user or a group, whether it is in force or not.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::Failure;
use crate::output::format::{Table, UNTIL, visible};
use crate::output::manifest::DEFAULT_PARTITION;
use crate::source::configuration::Evidence;
use crate::source::session::{Session, SourceArgs};
use go_compat::diag::quoted;
use queuewarden_api::answer::{About, until};
use queuewarden_plan::entries::{Entry, Names, OPERATORS, OfQueue, Place, State, find};
use queuewarden_plan::text_in_force;
use yunikorn::config::{Config, verdict};
use yunikorn::identity::ResolverKind;
use yunikorn::right::Right;
use yunikorn_access::subject::Subject;
use yunikorn_access::{Origin, TextLocation};

/// The answer to `what-can --all`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EntriesAnswer {
    /// The header.
    #[serde(flatten)]
    pub about: About,
    /// The user.
    pub user: String,
    /// The groups that were looked for, too.
    pub groups: Vec<String>,
    /// The entries, of all partitions.
    pub entries: Vec<NamingEntry>,
}

/// An entry that names a user or a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EntryAnswer")]
pub struct NamingEntry {
    /// The user or the group that it names.
    pub named: Subject,
    /// The right that it gives; null for an entry of the admission controller's lists.
    pub verb: Option<Right>,
    /// The partition of the queue; null as `verb`.
    pub partition: Option<String>,
    /// The queue; null as `verb`.
    pub queue: Option<String>,
    /// The list of the admission controller that has it; null for an entry of an ACL.
    pub list: Option<String>,
    /// The element of that list.
    pub element: Option<String>,
    /// Whether it is in force.
    pub state: EntryState,
    /// The reason why it is not in force, if `state` is `NotInForce`.
    pub reason: Option<String>,
    /// The time at which it begins, if `state` is `Planned`.
    pub not_before: Option<Timestamp>,
    /// The location, with the end.
    pub written_in: Origin,
    /// True if `queuewarden revoke --everywhere` can take it out.
    pub editable: bool,
}

/// Whether an entry is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "StateAnswer")]
pub enum EntryState {
    /// It is.
    InForce,
    /// It begins later.
    Planned,
    /// Its object is suspended.
    Suspended,
    /// It has ended.
    Expired,
    /// It is not, because of its object.
    NotInForce,
}

/// The entries that name users and groups, and everything that they were found in.
#[derive(Debug)]
pub struct Found {
    /// The entries.
    pub entries: Vec<Entry>,
    /// The objects and the base.
    pub evidence: Evidence,
    /// The name of the text in force.
    live: String,
}

/// Finds the entries that name users and groups. In the default group of a user there is nobody else, so it
/// is looked for, too.
///
/// # Errors
/// When an object or the base cannot be read.
pub fn gather(session: &Session, args: &SourceArgs, names: &Names) -> Result<Found, Failure> {
    let evidence = session.source.evidence(args)?;
    let version = session.configuration.view.version;
    let read = |text: &str| verdict(text, &[], version).config;
    let base: Option<Config> = evidence.base.as_ref().and_then(|base| read(&base.text));
    if let (Some(text), None) = (&evidence.base, &base) {
        return Err(Failure::Undecided(format!("the base in {} cannot be read", text.name())));
    }
    let live = read(&text_in_force(&evidence.snapshot));
    let names = with_own_groups(session, names);
    let entries = find(&evidence.snapshot, base.as_ref(), live.as_ref(), &names);
    Ok(Found { entries, evidence, live: session.configuration.name().to_owned() })
}

/// Adds the groups of the users' own names, if the resolver in force gives each user that group.
fn with_own_groups(session: &Session, names: &Names) -> Names {
    let mut names = names.clone();
    if session.configuration.view.resolver == ResolverKind::None {
        names.groups.extend(names.users.iter().cloned());
    }
    names
}

impl Found {
    /// Returns the location of an entry.
    pub fn written_in(&self, Entry { place, until, .. }: &Entry) -> Origin {
        let object = |kind, name: &str| Origin::Object { kind, name: name.to_owned(), until: *until };
        match place {
            Place::QueueAcl { name, .. } => object("QueueAcl", name),
            Place::Policy { name, .. } => object("AdmissionPolicy", name),
            Place::ConfigMap { name, .. } => object("ConfigMap", name),
            Place::Base { span, .. } => {
                let base = self.evidence.base.as_ref();
                let unknown = || TextLocation { name: "the base".into(), ..TextLocation::default() };
                Origin::Text(base.map_or_else(unknown, |base| base.locate(*span)))
            }
            Place::Text(_) => {
                let name = self.live.as_str().into();
                Origin::Text(TextLocation { name, ..TextLocation::default() })
            }
        }
    }

    /// Returns the answer for programs.
    pub fn answers(&self) -> Vec<NamingEntry> {
        self.entries.iter().map(|entry| self.answer(entry)).collect()
    }

    fn answer(&self, entry: &Entry) -> NamingEntry {
        let of = of_queue(&entry.place);
        let (list, element) = list(&entry.place).unzip();
        let (state, reason, not_before) = match &entry.state {
            State::InForce => (EntryState::InForce, None, None),
            State::Planned(begin) => (EntryState::Planned, None, Some(*begin)),
            State::Suspended => (EntryState::Suspended, None, None),
            State::Expired => (EntryState::Expired, None, None),
            State::NotInForce(why) => (EntryState::NotInForce, Some(why.clone()), None),
        };
        NamingEntry {
            named: entry.subject.clone(),
            verb: of.map(|of| of.right),
            partition: of.map(|of| of.partition.clone()),
            queue: of.map(|of| of.queue.clone()),
            list: list.map(str::to_owned),
            element: element.map(str::to_owned),
            state,
            reason,
            not_before,
            written_in: self.written_in(entry),
            editable: entry.place.is_editable(),
        }
    }

    /// Builds a row for each entry; `edits` adds a column.
    pub fn table(&self, edits: Option<&dyn Fn(&Entry) -> String>) -> Table {
        let header = ["NAMES", "TO", "ON", "STATE", "WRITTEN IN"];
        let mut table = Table::new(header.into_iter().chain(edits.map(|_| "EDIT")).chain([UNTIL]));
        for entry in &self.entries {
            let cells = [
                name(entry),
                may(&entry.place).to_owned(),
                on(&entry.place),
                state(&entry.state),
                self.written_in(entry).words(),
            ];
            table.row(cells.into_iter().chain(edits.map(|edit| edit(entry))).chain([until(entry.until)]));
        }
        table
    }

    /// Returns each place once.
    pub fn names(&self) -> String {
        let mut names: Vec<String> =
            self.entries.iter().map(|entry| self.written_in(entry).words()).collect();
        names.dedup();
        names.into_iter().map(|name| name + "\n").collect()
    }
}

fn of_queue(place: &Place) -> Option<&OfQueue> {
    match place {
        Place::QueueAcl { of, .. } | Place::Base { of, .. } | Place::Text(of) => Some(of),
        Place::Policy { .. } | Place::ConfigMap { .. } => None,
    }
}

/// Returns the list of the admission controller with the entry, and its element.
fn list(place: &Place) -> Option<(&str, &str)> {
    match place {
        Place::Policy { field, element, .. } => Some((field, element)),
        Place::ConfigMap { key, element, .. } => Some((key, element)),
        _ => None,
    }
}

/// Returns the name as it is written.
fn name(entry: &Entry) -> String {
    let words = entry.subject.to_string();
    match list(&entry.place) {
        Some((_, element)) => format!("{words}, by {}", quoted(element)),
        None => words,
    }
}

fn may(place: &Place) -> &'static str {
    match place {
        Place::Policy { field: OPERATORS, .. } => "pass on the user of its workloads",
        Place::Policy { .. } | Place::ConfigMap { .. } => "submit as anyone",
        _ => of_queue(place).map_or("", |of| of.right.verb()),
    }
}

fn on(place: &Place) -> String {
    match (of_queue(place), list(place)) {
        (Some(of), _) if of.partition.eq_ignore_ascii_case(DEFAULT_PARTITION) => of.queue.clone(),
        (Some(of), _) => format!("{} of partition {}", of.queue, of.partition),
        (None, Some((list, _))) => list.to_owned(),
        (None, None) => String::new(),
    }
}

fn state(state: &State) -> String {
    match state {
        State::InForce => "in force".to_owned(),
        State::Planned(begin) => format!("from {begin}"),
        State::Suspended => "suspended".to_owned(),
        State::Expired => "expired".to_owned(),
        State::NotInForce(why) => format!("not in force: {}", visible(why)),
    }
}

/// Names an entry that stays, and what to do.
pub fn left(found: &Found, entry: &Entry) -> String {
    let written = found.written_in(entry).words();
    let subject = entry.subject.to_string();
    let named = match list(&entry.place) {
        Some((list, element)) => format!("{} in {list} of {written} matches {subject}", quoted(element)),
        None => format!(
            "{written} names {subject}, to {} {} ({})",
            may(&entry.place),
            on(&entry.place),
            state(&entry.state)
        ),
    };
    let help = match &entry.place {
        Place::QueueAcl { locked: Some(why), .. } | Place::Policy { locked: Some(why), .. } => why.clone(),
        Place::Base { .. } => "change the base".to_owned(),
        Place::Text(_) => "it is in no object, and not in the base: see `queuewarden status`".to_owned(),
        Place::ConfigMap { .. } => "change the ConfigMap".to_owned(),
        Place::QueueAcl { .. } | Place::Policy { .. } => format!("revoke {subject}, too"),
    };
    format!("{named}; {help}")
}
