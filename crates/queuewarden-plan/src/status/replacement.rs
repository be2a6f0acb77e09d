//! Describes the changes that a write of the output makes, for the log, for events and for the history.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::effective::ParseCache;
use crate::grants::{Attribution, attribution, trees};
use crate::snapshot::{ConfigMapState, FIELD_MANAGER, ResourceKind};
use crate::status::{Event, OUTPUT_EDITED, event};
use crate::write::Write;
use go_compat::diag::quoted;
use yunikorn::Config;
use yunikorn_access::Tree;
use yunikorn_access::alias::Aliased;
use yunikorn_access::diff::{Direction, between, impact};

/// A write and the ConfigMap that it replaced.
#[derive(Debug, Clone)]
pub struct OutputReplacement {
    write: Write,
    replaced: Option<Arc<ConfigMapState>>,
    /// The queues before and after, if it wrote any.
    queues: Option<(Option<Arc<Config>>, Arc<Config>)>,
    /// The contributions to the text before.
    contributions: Arc<[Attribution]>,
    /// The names in the objects by their aliases.
    aliased: Arc<Aliased>,
}

impl OutputReplacement {
    /// Reads the queues of both. Objects made these `contributions` to the text that was replaced.
    pub fn new(
        write: &Write,
        replaced: Option<Arc<ConfigMapState>>,
        contributions: Arc<[Attribution]>,
        aliased: Aliased,
        cache: &mut ParseCache,
    ) -> Self {
        let queues = write.queue_tree().and_then(|(key, text)| {
            let after = cache.parse_accepted(text).ok()?;
            let before = replaced.as_ref().and_then(|map| cache.parse_accepted(map.data.get(key)?).ok());
            Some((before, after))
        });
        Self { write: write.clone(), replaced, queues, contributions, aliased: Arc::new(aliased) }
    }

    /// Describes in one line who gains and who loses access by the write at `now`, losses first, and the
    /// access keys of the admission controller that it changes; `None` if it changed no queues and no keys.
    /// If it puts back a change that someone else made, the line ends with how long that was in the output.
    pub fn access(&self, now: Timestamp) -> Option<String> {
        let queues = self.queues.as_ref();
        let queues = queues.map(|(before, after)| {
            let after = self.trees(Some(after), &self.write.contributions);
            impact(&between(&self.before(before.as_deref()), &after), Direction::Loses)
        });
        let keys = self.write.admission().map(|(key, value)| match value {
            Some(value) => format!("sets {key} to {}", quoted(value)),
            None => format!("removes {key}"),
        });
        let mut parts: Vec<String> = queues.into_iter().chain(keys).collect();
        if parts.is_empty() {
            return None;
        }
        parts.extend(self.foreign(now));
        Some(parts.join("; "))
    }

    /// Describes how long a change that someone else made, and that is put back, was in the output.
    fn foreign(&self, now: Timestamp) -> Option<String> {
        let since = self.edited_at()?;
        // The API server's clock may be ahead.
        let span = now.duration_since(since).max(SignedDuration::ZERO);
        let since = yunikorn_access::decide::in_words(since);
        Some(format!(
            "the change that is put back had been there for {:#}, since {since}",
            SignedDuration::from_secs(span.as_secs())
        ))
    }

    /// Returns when someone else changed the keys that are put back, if that is known.
    fn edited_at(&self) -> Option<Timestamp> {
        let touches = self.replaced.iter().filter(|_| self.write.repair).flat_map(|map| &map.touches);
        let others = touches.filter(|touch| touch.manager != FIELD_MANAGER);
        let owns =
            |field: &String| field.strip_prefix("data.").is_some_and(|key| self.write.data.contains_key(key));
        others.filter(|touch| touch.fields.iter().any(owns)).filter_map(|touch| touch.time).max()
    }

    fn before(&self, queues: Option<&Config>) -> Vec<Tree> {
        self.trees(queues, &self.contributions)
    }

    /// Returns the partitions, with the ends of the objects' grants.
    fn trees(&self, queues: Option<&Config>, contributions: &[Attribution]) -> Vec<Tree> {
        let mut trees = trees(queues, &self.aliased);
        // Other ACLs have no entry that ends, and there may be many of them.
        let ending = contributions.iter().filter(|acl| acl.objects.iter().any(|part| part.until.is_some()));
        let ending: Vec<Attribution> = ending.cloned().collect();
        for tree in &mut trees {
            attribution::mark(tree, &ending);
        }
        trees
    }

    /// Creates the event for a write that reverted another client's change: who made the change, according to
    /// the owners of the keys, and which access it would have given.
    pub fn put_back(&self, config: Arc<str>) -> Event {
        let keys: Vec<String> = self.write.data.keys().map(|key| quoted(key)).collect();
        let others = self.write.other_writers(self.replaced.as_deref());
        let others: Vec<String> = others.iter().map(|other| quoted(other)).collect();
        let who = if others.is_empty() { "somebody".to_owned() } else { others.join(", ") };
        let access = match &self.queues {
            Some((Some(before), after)) => {
                let after = self.trees(Some(after), &self.write.contributions);
                let changed = between(&after, &self.before(Some(before)));
                format!(", which {}", impact(&changed, Direction::Gains))
            }
            Some((None, _)) => ", which left no queues that YuniKorn can read".to_owned(),
            None => String::new(),
        };
        let note =
            format!("{who} changed {} in {}{access}; it is put back", keys.join(", "), self.write.name);
        event(&ResourceKind::YuniKornConfig.object(config), true, OUTPUT_EDITED, &note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::attribution::Part;
    use crate::snapshot::{KeyOwner, Touch};
    use yunikorn::acl;
    use yunikorn::admission::{BYPASS_AUTH, EXTERNAL_USERS};
    use yunikorn::queue::QueuePath;
    use yunikorn::right::Right;
    use yunikorn::version::Version;

    const KEY: &str = "queues.yaml";

    fn text(submit: &str) -> String {
        format!("partitions: [{{name: default, queues: [{{name: root, submitacl: '{submit}'}}]}}]")
    }

    fn replacement(replaced: Option<&str>, now: &str) -> OutputReplacement {
        let owners = [FIELD_MANAGER, "kubectl-edit"]
            .map(|manager| KeyOwner { manager: manager.to_owned(), operation: "Update".to_owned() });
        let map = |text: &str| ConfigMapState {
            data: [(KEY.to_owned(), text.to_owned())].into(),
            owners: [(KEY.to_owned(), owners.to_vec())].into(),
            ..ConfigMapState::default()
        };
        let write = Write {
            name: "yunikorn-configs".to_owned(),
            data: [(KEY.to_owned(), Some(now.to_owned()))].into(),
            ..Write::default()
        };
        made(&write, replaced.map(map))
    }

    /// A write, with the ConfigMap that it replaced and without contributions.
    fn made(write: &Write, replaced: Option<ConfigMapState>) -> OutputReplacement {
        let cache = &mut ParseCache::new(Version::V1_8);
        OutputReplacement::new(write, replaced.map(Arc::new), [].into(), Aliased::default(), cache)
    }

    fn at(time: &str) -> Timestamp {
        time.parse().unwrap()
    }

    #[test]
    fn a_write_is_reported_with_the_access_that_it_changes() {
        let access = |before, after| replacement(before, after).access(at("2026-11-27T12:00:00Z"));
        let (ann, bob) = (text("ann"), text("bob"));
        assert_eq!(
            access(Some(&ann), &bob).as_deref(),
            Some("takes submit on root from user ann; grants submit on root to user bob")
        );
        assert_eq!(access(Some(&ann), &ann).as_deref(), Some("nobody gains or loses access"));
        assert_eq!(
            access(None, &bob).as_deref(),
            Some("grants submit on root to user bob; nobody loses access; 1 queue new")
        );
        assert_eq!(access(Some(&ann), "no: queues"), None);
        let keys = [(EXTERNAL_USERS, Some("^a$")), (BYPASS_AUTH, None), ("log.level", Some("DEBUG"))];
        let data = keys.map(|(key, value)| (key.to_owned(), value.map(str::to_owned))).into();
        let write = Write { data, ..Write::default() };
        let said = made(&write, None).access(at("2026-11-27T12:00:00Z"));
        assert_eq!(
            said.as_deref(),
            Some(
                "removes admissionController.accessControl.bypassAuth; sets \
                 admissionController.accessControl.externalUsers to `^a$`"
            )
        );
    }

    #[test]
    fn a_grant_is_reported_with_its_end() {
        let contributions = |until: &str| -> Arc<[Attribution]> {
            let part = Part { name: "zoe".into(), acl: acl::parse("zoe").unwrap(), until: Some(at(until)) };
            let acl = Attribution {
                partition: "default".into(),
                queue: QueuePath::root(),
                right: Right::Submit,
                objects: vec![part],
                base_stays: true,
            };
            [acl].into()
        };
        let end = contributions("2026-11-28T00:00:00Z");
        let of_ann = replacement(Some(&text("ann")), &text("ann,zoe"));
        let grants =
            OutputReplacement { write: Write { contributions: end, ..of_ann.write.clone() }, ..of_ann };
        assert_eq!(
            grants.access(at("2026-11-27T12:00:00Z")).as_deref(),
            Some("grants submit on root to user zoe until 2026-11-28T00:00:00Z; nobody loses access")
        );
    }

    #[test]
    fn what_was_open_before_a_repair_comes_first_with_the_time_for_which_it_was() {
        let repair = |manager: &str, field: &str| {
            let edited = replacement(Some(&text("*")), &text("a,b,c,d,e,f,g,h"));
            let touch = |manager: &str, field: &str, time| Touch {
                time: Some(at(time)),
                manager: manager.to_owned(),
                operation: "Update".to_owned(),
                fields: vec![field.to_owned()],
            };
            let map = ConfigMapState {
                touches: vec![
                    touch(FIELD_MANAGER, "data.queues.yaml", "2026-11-27T11:59:59Z"),
                    touch(manager, field, "2026-11-27T11:02:03Z"),
                ],
                ..ConfigMapState::clone(edited.replaced.as_deref().unwrap())
            };
            let write = Write { repair: true, ..edited.write.clone() };
            made(&write, Some(map)).access(at("2026-11-27T12:00:00.5Z")).unwrap()
        };
        let line = repair("kubectl-edit", "data.queues.yaml");
        assert_eq!(
            line,
            "takes submit on root from everyone; nobody gains access; the change that is put back had been there for 57m 57s, since \
             2026-11-27T11:02:03Z"
        );
        for (manager, field) in [("kubectl-edit", "data.log.level"), (FIELD_MANAGER, "data.queues.yaml")] {
            assert!(!repair(manager, field).contains("put back"), "{manager} {field}");
        }
    }

    #[test]
    fn an_edit_is_reported_with_its_writer_and_what_it_would_have_done() {
        let note = |edited: Option<&str>| replacement(edited, &text("ann")).put_back("default".into()).note;
        assert_eq!(
            note(Some(&text("*"))),
            "`kubectl-edit` changed `queues.yaml` in yunikorn-configs, which grants submit on root to \
             everyone; nobody loses access; it is put back"
        );
        assert_eq!(
            note(Some("{")),
            "`kubectl-edit` changed `queues.yaml` in yunikorn-configs, which left no queues that YuniKorn \
             can read; it is put back"
        );
        assert!(note(None).starts_with("somebody changed `queues.yaml`"));
    }
}
