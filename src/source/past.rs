//! The source of a configuration to ask about, with the option `--at`: a time in the past, from the history.

use super::times::Typed;
use crate::output::{Console, Failure};
use crate::source::cluster::Cluster;
use crate::source::history;
use crate::source::session::{Session, Source, SourceArgs};
use crate::source::times::clock;
use queuewarden_plan::history::is_put_back;
use queuewarden_plan::history::{Recorded, Unknown, in_force};
use queuewarden_plan::release::Release;

/// Options for the source of a configuration, which may be that of a time in the past.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PastArgs {
    /// Answer for this time in the past, from the history of the texts that the operator wrote; a day is its
    /// beginning, a weekday the last one, and a duration such as 8h goes back
    #[arg(
        long, value_name = "TIME", value_parser = Typed::parse,
        conflicts_with_all = ["filename", "base", "live", "now"]
    )]
    at: Option<Typed>,
    /// The source of the present.
    #[command(flatten)]
    pub source: SourceArgs,
}

impl PastArgs {
    /// Returns whether it is about a time in the past.
    pub fn is_past(&self) -> bool {
        self.at.is_some()
    }

    /// Reads the configuration: with the option from the history, and names the revision; otherwise as
    /// [`SourceArgs::open`].
    ///
    /// # Errors
    /// When there is no configuration to answer questions about, or it is not known what was in force then.
    pub fn open(&self, console: Console) -> Result<Session, Failure> {
        let source = &self.source;
        let Some(typed) = self.at else { return source.open(console) };
        let wrong = |why: String| Failure::Usage(format!("--at: {why}"));
        let now = clock();
        let at = typed.past(now).map_err(wrong)?;
        if at >= now {
            return Err(wrong(format!(
                "{at} is not in the past: leave it out to ask about the present, or write `--now {at}` to ask about \
                 later"
            )));
        }
        let cluster = Cluster::connect(&source.cluster.server)?;
        let mut notes = Vec::new();
        let namespace = source.cluster.cluster_namespace.as_deref();
        let spec = cluster.run(async |_| cluster.spec(namespace, &mut notes).await)?;
        console.notes(&notes);
        let stored = cluster.run(async |client| history::stored(client, &spec.namespace, |_| true).await);
        let stored = stored.map_err(|error| history::refused(&cluster, &spec.namespace, &error))?;
        let recorded: Vec<Recorded> = stored
            .iter()
            .map(|(created, revision)| Recorded { created: *created, at: revision.at })
            .collect();
        let name = |index: usize| stored.get(index).map_or(0, |(_, revision)| revision.revision);
        let found = in_force(&recorded, at).map_err(|unknown| {
            Failure::Undecided(match unknown {
                Unknown::Empty => format!("namespace {} has no history", spec.namespace),
                Unknown::Before(first, begin) => format!(
                    "the history begins with revision {}, at {begin}: what was in force at {at} is not known",
                    name(first)
                ),
                Unknown::Unreadable(index) => {
                    format!("revision {}, which was in force at {at}, is unreadable", name(index))
                }
            })
        })?;
        let nothing = || Failure::Undecided("the revision is gone".to_owned());
        let (_, revision) = stored.get(found.index).ok_or_else(nothing)?;
        let until = found.next.map_or_else(|| " on".to_owned(), |(_, until)| format!(" to {until}"));
        console.note(&format!("revision {}, in force from {}{until}", revision.revision, found.from));
        let next = found.next.and_then(|(next, _)| stored.get(next));
        if let Some((_, next)) = next.filter(|(_, next)| is_put_back(&next.causes)) {
            console.note(&format!(
                "revision {} put back what another program had changed: from that change on, other access may have \
                 been in force, which is not recorded",
                next.revision
            ));
        }
        let version = Release::new(spec.version, None).version;
        let configuration = history::configuration(revision, version, console)?;
        let partition = source.partition.clone();
        Ok(Session { configuration, source: Source::Cluster(Box::new(cluster)), partition })
    }
}
