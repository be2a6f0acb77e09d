//! Describes what a write of the output changes, for the log and for events.

use std::sync::Arc;

use super::admit::access_changed;
use super::parse_cache::ParseCache;
use super::report::events;
use super::snapshot::ConfigMapState;
use super::{Event, ResourceKind, Write};
use go_compat::diag::quoted;
use yunikorn::config::Config;
use yunikorn_access::alias::Aliased;

/// A write and the ConfigMap that it replaced.
#[derive(Debug, Clone)]
pub struct Replacement {
    write: Write,
    replaced: Option<Arc<ConfigMapState>>,
    /// The queues before and after, if it wrote any.
    queues: Option<(Option<Arc<Config>>, Arc<Config>)>,
    /// The names in the objects by their aliases.
    aliased: Arc<Aliased>,
}

impl Replacement {
    /// Reads the queues of both.
    pub fn new(
        write: &Write,
        replaced: Option<Arc<ConfigMapState>>,
        aliased: Aliased,
        known: &mut ParseCache,
    ) -> Self {
        let queues = write.queue_tree().and_then(|(key, text)| {
            let after = known.taken(text).ok()?;
            let before = replaced.as_ref().and_then(|map| known.taken(map.data.get(key)?).ok());
            Some((before, after))
        });
        Self { write: write.clone(), replaced, queues, aliased: Arc::new(aliased) }
    }

    /// Describes in one line who gains and who loses access by it, and the access keys of the admission
    /// controller that it changes; `None` if it wrote neither.
    pub fn access(&self) -> Option<String> {
        let queues = self.queues.as_ref();
        let queues = queues.map(|(before, after)| self.changed(before.as_deref(), after));
        let keys = self.write.admission().map(|(key, value)| match value {
            Some(value) => format!("sets {key} to {}", quoted(value)),
            None => format!("removes {key}"),
        });
        let parts: Vec<String> = queues.into_iter().chain(keys).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn changed(&self, was: Option<&Config>, is: &Config) -> String {
        access_changed((was, &self.aliased), (Some(is), &self.aliased))
    }

    /// Makes the event for a write that put back what somebody else changed: who it was by the owners of the
    /// keys, and the access that the change would have given.
    pub fn put_back(&self, config: Arc<str>) -> Event {
        let keys: Vec<String> = self.write.data.keys().map(|key| quoted(key)).collect();
        let others = self.write.other_writers(self.replaced.as_deref());
        let others: Vec<String> = others.iter().map(|other| quoted(other)).collect();
        let who = if others.is_empty() { "somebody".to_owned() } else { others.join(", ") };
        let access = match &self.queues {
            Some((Some(before), after)) => format!(", which {}", self.changed(Some(after), before)),
            Some((None, _)) => ", which left no queues that YuniKorn can read".to_owned(),
            None => String::new(),
        };
        let note =
            format!("{who} changed {} in {}{access}; it is put back", keys.join(", "), self.write.name);
        events::event(&ResourceKind::YuniKornConfig.object(config), true, events::OUTPUT_EDITED, &note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{FIELD_MANAGER, Owner};
    use yunikorn::admission::{BYPASS_AUTH, EXTERNAL_USERS};
    use yunikorn::version::Version;

    const KEY: &str = "queues.yaml";

    fn text(submit: &str) -> String {
        format!("partitions: [{{name: default, queues: [{{name: root, submitacl: '{submit}'}}]}}]")
    }

    fn replacement(replaced: Option<&str>, now: &str) -> Replacement {
        let owners = [FIELD_MANAGER, "kubectl-edit"]
            .map(|manager| Owner { manager: manager.to_owned(), operation: "Update".to_owned() });
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
        Replacement::new(
            &write,
            replaced.map(map).map(Arc::new),
            Aliased::default(),
            &mut ParseCache::new(Version::V1_8),
        )
    }

    #[test]
    fn a_write_is_reported_with_the_access_that_it_changes() {
        let access = |before, after| replacement(before, after).access();
        let (ann, bob) = (text("ann"), text("bob"));
        assert_eq!(
            access(Some(&ann), &bob).as_deref(),
            Some("grants submit on root to user bob; takes submit on root from user ann")
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
        let said =
            Replacement::new(&write, None, Aliased::default(), &mut ParseCache::new(Version::V1_8)).access();
        assert_eq!(
            said.as_deref(),
            Some(
                "removes admissionController.accessControl.bypassAuth; sets \
                 admissionController.accessControl.externalUsers to `^a$`"
            )
        );
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
