//! The properties to check, with a record that is invisible to the cluster.

use std::cell::RefCell;
use std::collections::HashMap;

use super::world::{Object, Spec, TEAM_NAME};
use crate::conditions::{Condition, Status};
use crate::effective::acl_of;
use crate::snapshot::{BaseAcl, QueueAclInForce};
use yunikorn::acl;
use yunikorn::config::verdict;
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;
use yunikorn::version::Version;
use yunikorn_access::alias::{self, Kind};

/// Users and a group, one bit each, and how they are granted.
pub(super) type Names = u16;
const SUE: Names = 1;
pub(super) const BOB: Names = 2;
const EVE: Names = 4;
/// Never granted anything.
const MALLORY: Names = 8;
/// Granted by the base, unless an object takes its place.
const DEV: Names = 16;
/// Administers the queue, and so may submit.
const ANN: Names = 32;
/// No name: the base does not count.
const REPLACES: Names = 64;
/// No name: eve, as long as ann administers the queue.
const BY_ANN: Names = 128;
/// The group that only an alias can name.
const TEAM: Names = 256;
/// No name: the base does not count once the object replaced it.
const STAYS: Names = 512;

/// The states that were declared, and the texts made of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Ghost {
    /// The names that may submit in each state of the objects, in order, and the names that may stay because
    /// an object that granted it is invalid now: the operator may have missed the versions in between.
    states: Vec<(Names, Names)>,
    /// The names in the text that the operator wrote last.
    text: Names,
    /// Which objects those were, what their last valid versions grant, and what all of their versions did.
    valid: [Option<(u8, Names, Names)>; 2],
    /// The names that each object ever granted.
    granted: [Names; 2],
    /// The names granted by deleted objects, which no status mentions.
    gone: Names,
    /// True if the first object replaced the base, and was not recorded as anything else since.
    replaces: bool,
    /// The oldest state that explains all texts that were written so far.
    explained: usize,
    /// The first thing that does not hold.
    pub(super) wrong: Option<&'static str>,
}

impl Ghost {
    /// The objects, or the time, have changed; the number of the state that they are in now.
    pub(super) fn declare(&mut self, objects: &[Option<Object>; 2], ticked: bool, aliases: bool) -> usize {
        self.begin();
        let [before, _] = &self.valid;
        self.replaces &= before.map(|(uid, ..)| uid) == objects[0].as_ref().map(|object| object.uid);
        let (mut state, mut frozen) = (0, 0);
        for ((valid, granted), object) in self.valid.iter_mut().zip(&mut self.granted).zip(objects) {
            let before = valid.take();
            let deleted = before.filter(|(uid, ..)| object.as_ref().is_none_or(|object| object.uid != *uid));
            self.gone |= deleted.map_or(0, |(.., ever)| ever);
            *valid = object.as_ref().map(|object| {
                let before = before.filter(|(uid, ..)| *uid == object.uid);
                let (kept, ever) = before.map_or((0, 0), |(_, kept, ever)| (kept, ever));
                // A version that never came into force takes nothing of the base's place.
                let replaced = object.in_force.as_ref().is_some_and(|kept| kept.base_acl == BaseAcl::Replace);
                let kept = if replaced { kept } else { kept & !REPLACES };
                let now = granted_by(object.spec, ticked, aliases).unwrap_or(kept);
                (object.uid, now, ever | now | granted_by(object.spec, false, true).unwrap_or(0))
            });
            state |= valid.map_or(0, |(_, names, _)| names);
            *granted |= valid.map_or(0, |(.., ever)| ever);
            let typo = object.as_ref().is_some_and(|object| object.spec == Spec::Typo);
            frozen |= valid.filter(|_| typo).map_or(0, |(.., ever)| ever | DEV);
        }
        self.states.push((state, frozen));
        self.states.len() - 1
    }

    /// The leader has nothing to write by this state of the objects: texts of older ones must not come any
    /// more.
    pub(super) fn at_rest(&mut self, state: usize) {
        self.explained = self.explained.max(state);
    }

    fn begin(&mut self) {
        if self.states.is_empty() {
            self.states.push((0, 0));
        }
    }

    /// Returns the names that may submit by now.
    pub(super) fn declared(&self) -> Names {
        self.states.last().map_or(DEV, |(state, frozen)| self.together(state | (frozen & self.text)))
    }

    /// The operator wrote a text.
    pub(super) fn written(&mut self, text: &str) {
        self.begin();
        let names = names(text);
        let explains =
            |(state, frozen): &(Names, Names)| names & !self.together(state | (frozen & self.text)) == 0;
        match self.states.iter().skip(self.explained).position(explains) {
            Some(later) => self.explained += later,
            None => self.fails("a text grants what no state of the objects granted, in their order"),
        }
        self.text = names;
    }

    /// The operator wrote a status; `answered` is the scheduler's text when it was last queried.
    pub(super) fn reported(
        &mut self,
        slot: usize,
        object: &Object,
        seen: &[Option<Object>; 2],
        answered: Option<&str>,
        (ticked, aliases): (bool, bool),
    ) {
        let Some(ready) = ready(&object.conditions, object.generation) else { return };
        let runs = answered.map_or(DEV | MALLORY, names);
        let own = granted_by(object.spec, ticked, aliases).unwrap_or(0);
        let others = seen.iter().enumerate().filter(|(index, _)| *index != slot);
        let others = others.filter_map(|(_, other)| other.as_ref()).fold(0, |all, other| {
            let acls = other.in_force.iter().flat_map(|kept| [&kept.submit, &kept.admin]).flatten();
            let kept = acls.fold(0, |all, acl| all | names_of(acl));
            all | granted_by(other.spec, ticked, aliases).unwrap_or(0) | kept
        });
        // The reason that ann is an administrator may be recorded only in a note on the text, or may have
        // ended after the plan was made.
        let lost = own & BY_ANN != 0 && (others | runs) & ANN == 0;
        let all = self.together(own | others);
        let replaced = if own & REPLACES == 0 { 0 } else { DEV };
        let own = if lost { 0 } else { each(own) };
        let all = all | own;
        let ever = self.valid[slot].filter(|(uid, ..)| *uid == object.uid).map_or(0, |(.., ever)| ever);
        // Former grants of another object are reported by that one.
        let of_others = self.granted.iter().enumerate().filter(|(index, _)| *index != slot);
        let of_others = of_others.fold(each(self.gone), |all, (_, ever)| all | each(*ever));
        let left = runs & (each(ever) | replaced) & !(all | of_others);
        // If another writer lets everyone in, that is not part of the object's end.
        let open = runs & MALLORY != 0;
        if own == 0 && ready.reason != "Expired" {
            self.fails("an object is Ready, and does not count");
        } else if own & !runs != 0 {
            self.fails("an object is Ready, and the scheduler does not grant what it grants");
        } else if ready.reason == "Expired" && left != 0 && !open {
            self.fails("an object's end is reported, and the scheduler still grants it");
        } else if ready.reason != "Expired" && (left != 0 || open) {
            self.fails("an object is Ready, and the scheduler grants more than it does");
        }
    }

    /// The operator wrote the status of the `YuniKornConfig`.
    pub(super) fn configured(&mut self, conditions: &[Condition], answered: Option<&str>) {
        if ready(conditions, 1).is_some() && answered.map_or(MALLORY, names) & MALLORY != 0 {
            self.fails("the configuration is Ready, and the scheduler lets everyone in");
        }
    }

    /// The operator has recorded which grants of the first object are in force, or the record was `lost`.
    /// Without a name it replaces the base only if it did before.
    pub(super) fn recorded(&mut self, record: Option<&QueueAclInForce>, lost: bool) {
        match record {
            Some(record) if record.base_acl == BaseAcl::Extend => self.replaces = false,
            Some(record) => self.replaces |= record.submit.as_ref().is_some_and(|acl| names_of(acl) != 0),
            None => self.replaces &= !lost,
        }
    }

    /// Returns who may submit where the objects grant this together.
    fn together(&self, granted: Names) -> Names {
        let replaced = granted & REPLACES != 0 || granted & STAYS != 0 && self.replaces;
        let base = if replaced { 0 } else { DEV };
        let by_ann = if granted & ANN == 0 { 0 } else { granted & BY_ANN };
        base | each(granted & !BY_ANN | by_ann)
    }

    pub(super) fn fails(&mut self, wrong: &'static str) {
        self.wrong.get_or_insert(wrong);
    }
}

/// Returns condition `Ready`, if that is so of this generation.
fn ready(conditions: &[Condition], generation: u8) -> Option<&Condition> {
    let is = |condition: &&Condition| {
        let of_this = condition.observed_generation == i64::from(generation);
        condition.type_ == "Ready" && condition.status == Status::True && of_this
    };
    conditions.iter().find(is)
}

/// Returns the names.
fn each(granted: Names) -> Names {
    let eve = if granted & BY_ANN == 0 { 0 } else { EVE };
    (granted | eve) & !(REPLACES | BY_ANN | STAYS)
}

/// Returns the names that a spec grants access; `None` where it is invalid.
fn granted_by(spec: Spec, ticked: bool, aliases: bool) -> Option<Names> {
    match spec {
        Spec::Users(users) => Some(names_of(users)),
        Spec::Temporary(users) => Some(if ticked { 0 } else { names_of(users) }),
        Spec::Typo => None,
        Spec::Replace => Some(SUE | REPLACES),
        Spec::Admin => Some(SUE | ANN),
        Spec::ByAnn => Some(BY_ANN),
        Spec::Team if aliases => Some(TEAM | REPLACES),
        Spec::Team => Some(STAYS),
    }
}

fn names_of(acl: &str) -> Names {
    let acl = acl::parse(acl).unwrap_or_default();
    let bit = |user: &str, bit| if acl.allows(user, &[] as &[&str]) { bit } else { 0 };
    let group = |group: &str, bit| if acl.allows("", &[group]) { bit } else { 0 };
    let groups = group("dev", DEV) | group(&alias::alias(Kind::Group, TEAM_NAME), TEAM);
    let users = [("sue", SUE), ("bob", BOB), ("eve", EVE), ("mallory", MALLORY), ("ann", ANN)];
    users.into_iter().fold(groups, |all, (user, name)| all | bit(user, name))
}

/// Returns the names that may submit to the queue by a text.
pub(super) fn names(text: &str) -> Names {
    thread_local! {
        static KNOWN: RefCell<HashMap<String, Names>> = RefCell::default();
    }
    if let Some(known) = KNOWN.with(|known| known.borrow().get(text).copied()) {
        return known;
    }
    let tree = verdict(text, &[], Version::V1_8).config.unwrap_or_default();
    let path = QueuePath::parse("root.q").unwrap();
    let queues = tree
        .partition("default")
        .into_iter()
        .flat_map(|partition| path.lineage().filter_map(|path| partition.queue(&path)).collect::<Vec<_>>());
    let acls = queues.flat_map(|queue| Right::ALL.map(|right| acl_of(queue, right)));
    let names = acls.fold(0, |all, acl| all | names_of(&acl.canonical()));
    KNOWN.with(|known| known.borrow_mut().insert(text.to_owned(), names));
    names
}
