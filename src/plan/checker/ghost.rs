//! The laws, checked by a record beside the cluster that nothing in it can see.

use std::cell::RefCell;
use std::collections::HashMap;

use super::world::{Object, Spec};
use crate::model::acl;
use crate::model::config::verdict;
use crate::model::queue::QueuePath;
use crate::model::right::Right;
use crate::plan::conditions::Status;
use crate::plan::grants::acl_of;

/// Users and a group, one bit each.
pub(super) type Names = u8;
const SUE: Names = 1;
const BOB: Names = 2;
const EVE: Names = 4;
/// Granted nothing by anybody.
const MALLORY: Names = 8;
/// Granted by the base.
pub(super) const DEV: Names = 16;

/// The states that were declared, and the texts made of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Ghost {
    /// The names that may submit by each state of the objects, in order; and those that may stay because an object that granted it is invalid now: the operator
    /// need not have seen the versions in between.
    states: Vec<(Names, Names)>,
    /// The names in the text that the operator wrote last.
    text: Names,
    /// Which objects those were, what their last valid versions grant, and what all of their versions did.
    valid: [Option<(u8, Names, Names)>; 2],
    /// The names that each object ever granted.
    granted: [Names; 2],
    /// The oldest state that explains all texts that were written so far.
    explained: usize,
    /// The first thing that does not hold.
    pub(super) wrong: Option<&'static str>,
}

impl Ghost {
    /// The objects, or the time, have changed; the number of the state that they are in now.
    pub(super) fn declare(&mut self, objects: &[Option<Object>; 2], ticked: bool) -> usize {
        self.begin();
        let (mut state, mut frozen) = (DEV, 0);
        for ((valid, granted), object) in self.valid.iter_mut().zip(&mut self.granted).zip(objects) {
            let before = valid.take();
            *valid = object.as_ref().map(|object| {
                let before = before.filter(|(uid, ..)| *uid == object.uid);
                let (kept, ever) = before.map_or((0, 0), |(_, kept, ever)| (kept, ever));
                let now = granted_by(object.spec, ticked).unwrap_or(kept);
                (object.uid, now, ever | now | granted_by(object.spec, false).unwrap_or(0))
            });
            state |= valid.map_or(0, |(_, names, _)| names);
            *granted |= valid.map_or(0, |(.., ever)| ever);
            let typo = object.as_ref().is_some_and(|object| object.spec == Spec::Typo);
            frozen |= valid.filter(|_| typo).map_or(0, |(.., ever)| ever);
        }
        self.states.push((state, frozen));
        self.states.len() - 1
    }

    /// The leader has nothing to write by this state of the objects: texts of older ones must not come any more.
    pub(super) fn at_rest(&mut self, state: usize) {
        self.explained = self.explained.max(state);
    }

    fn begin(&mut self) {
        if self.states.is_empty() {
            self.states.push((DEV, 0));
        }
    }

    /// Returns the names that may submit by now.
    pub(super) fn declared(&self) -> Names {
        self.states.last().map_or(DEV, |(state, frozen)| state | (frozen & self.text))
    }

    /// The operator wrote a text.
    pub(super) fn written(&mut self, text: &str) {
        self.begin();
        let names = names(text);
        let explains = |(state, frozen): &(Names, Names)| names & !(state | (frozen & self.text)) == 0;
        match self.states.iter().skip(self.explained).position(explains) {
            Some(later) => self.explained += later,
            None => self.fails("a text grants what no state of the objects granted, in their order"),
        }
        self.text = names;
    }

    /// The operator wrote a status; `answered` is what the scheduler ran when it was asked last.
    pub(super) fn reported(
        &mut self,
        slot: usize,
        object: &Object,
        seen: &[Option<Object>; 2],
        answered: Option<&str>,
        ticked: bool,
    ) {
        let current = |type_: &str| {
            object.conditions.iter().find(|condition| {
                condition.type_ == type_ && condition.observed_generation == i64::from(object.generation)
            })
        };
        let Some(ready) = current("Ready").filter(|ready| ready.status == Status::True) else { return };
        let runs = answered.map_or(DEV | MALLORY, names);
        let own = granted_by(object.spec, ticked).unwrap_or(0);
        let others = seen.iter().enumerate().filter(|(index, _)| *index != slot);
        let others = others.filter_map(|(_, other)| other.as_ref()).fold(DEV, |all, other| {
            let kept = other
                .in_force
                .as_ref()
                .map_or(0, |kept| names_of(kept.submit.as_deref().unwrap_or_default()));
            all | granted_by(other.spec, ticked).unwrap_or(kept) | kept
        });
        let ever = self.valid[slot].filter(|(uid, ..)| *uid == object.uid).map_or(0, |(.., ever)| ever);
        // What another object granted once is that one's to tell.
        let of_others = self.granted.iter().enumerate().filter(|(index, _)| *index != slot);
        let of_others = of_others.fold(others, |all, (_, ever)| all | ever);
        let left = runs & ever & !(own | of_others);
        // Where somebody else lets everyone in, nothing of that is the object's end.
        let open = runs & MALLORY != 0;
        if own & !runs != 0 {
            self.fails("an object is Ready, and the scheduler does not grant what it grants");
        } else if ready.reason == "Expired" && left != 0 && !open {
            self.fails("an object's end is told, and the scheduler still grants it");
        } else if ready.reason != "Expired" && (left != 0 || open) {
            self.fails("an object is Ready, and the scheduler grants more than it does");
        }
    }

    pub(super) fn fails(&mut self, wrong: &'static str) {
        self.wrong.get_or_insert(wrong);
    }
}

/// Returns the names that a spec grants access; `None` where it is invalid.
fn granted_by(spec: Spec, ticked: bool) -> Option<Names> {
    match spec {
        Spec::Users(users) => Some(names_of(users)),
        Spec::Temporary(users) => Some(if ticked { 0 } else { names_of(users) }),
        Spec::Typo => None,
    }
}

fn names_of(acl: &str) -> Names {
    let acl = acl::parse(acl).unwrap_or_default();
    let bit = |user: &str, bit| if acl.allows(user, &[] as &[&str]) { bit } else { 0 };
    let dev = if acl.allows("", &["dev"]) { DEV } else { 0 };
    bit("sue", SUE) | bit("bob", BOB) | bit("eve", EVE) | bit("mallory", MALLORY) | dev
}

/// Returns the names that may submit to the queue by a text.
pub(super) fn names(text: &str) -> Names {
    thread_local! {
        static KNOWN: RefCell<HashMap<String, Names>> = RefCell::default();
    }
    if let Some(known) = KNOWN.with(|known| known.borrow().get(text).copied()) {
        return known;
    }
    let tree = verdict(text, &[]).config.unwrap_or_default();
    let path = QueuePath::parse("root.q").unwrap();
    let queues = tree
        .partition("default")
        .into_iter()
        .flat_map(|partition| path.lineage().filter_map(|path| partition.queue(&path)).collect::<Vec<_>>());
    let names = queues.fold(0, |all, queue| all | names_of(&acl_of(queue, Right::Submit).canonical()));
    KNOWN.with(|known| known.borrow_mut().insert(text.to_owned(), names));
    names
}
