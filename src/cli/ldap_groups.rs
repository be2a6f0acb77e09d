//! Groups from a directory service, for a scheduler whose `usergroupresolver` is `ldap`.
//!
//! The settings are YuniKorn's own: a copy of the directory that the scheduler's container has them in, which
//! a Secret fills. The server must be reachable from here.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use queuewarden_operator::ldap;
use tokio::runtime::Builder;

use super::input::source::Source;
use super::{Console, Failure, report};
use yunikorn::identity::ldap::{Finding, Settings};
use yunikorn::identity::{GroupResolver, Refusal};

/// The most users in the cache.
const MAX_USERS: usize = 10_000;
/// The time of lookups without an answer after which there are no more.
const PATIENCE: Duration = Duration::from_secs(30);

/// Looks up each user once.
#[derive(Debug)]
pub struct LdapGroups {
    settings: Settings,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    users: HashMap<String, Result<Vec<String>, Refusal>>,
    /// The time of all lookups without an answer.
    waited: Duration,
}

impl GroupResolver for LdapGroups {
    fn resolve(&self, user: &str) -> Result<Vec<String>, Refusal> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = known.users.get(user) {
            return answer.clone();
        }
        if known.waited > PATIENCE {
            let server = &self.settings.server;
            return Err(Refusal::Undecided(format!(
                "{server} could not be reached before, and gets no further request"
            )));
        }
        let begun = Instant::now();
        let answer = self.look_up(user);
        if matches!(answer, Err(Refusal::Undecided(_))) {
            known.waited = known.waited.saturating_add(begun.elapsed());
        }
        if known.users.len() < MAX_USERS {
            known.users.insert(user.to_owned(), answer.clone());
        }
        answer
    }
}

impl LdapGroups {
    /// Looks up the groups on a thread of its own: the caller may have a runtime already.
    fn look_up(&self, user: &str) -> Result<Vec<String>, Refusal> {
        let failed = |why: &dyn Display| Refusal::Undecided(format!("cannot start an LDAP lookup: {why}"));
        let run = || {
            let runtime =
                Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
            let answer = runtime.block_on(ldap::groups(&self.settings, user));
            // The lookup of the host's name may still run, and has no end of its own.
            runtime.shutdown_background();
            answer
        };
        thread::scope(|scope| {
            let thread = thread::Builder::new().spawn_scoped(scope, run).map_err(|error| failed(&error))?;
            thread.join().unwrap_or_else(|_| Err(failed(&"it has panicked")))
        })
    }
}

/// Returns the resolver with the settings in this directory. Findings on them are printed.
///
/// # Errors
/// When a setting cannot be read, is missing or is invalid.
pub fn resolver(directory: &Path, console: Console) -> Result<LdapGroups, Failure> {
    let files = ldap::read(directory).map_err(|why| {
        let help = "name a copy of the scheduler's directory: --groups-from ldap:DIRECTORY";
        Failure::Usage(format!("--groups-from: {why}; {help}"))
    })?;
    let print = |found: &Finding| {
        let name = directory.join(&found.setting).display().to_string();
        // A file of another name may hold the password.
        let text = found.diagnostic.span.and_then(|_| files.get(&found.setting));
        let source = text.map(|text| Source { name, text: text.clone() });
        console.err(&report::draw(&found.diagnostic, source.as_ref(), None, console.look_err()));
    };
    let read = Settings::read(&files);
    let (Ok((_, found)) | Err(found)) = &read;
    found.iter().for_each(print);
    let (settings, _) = read.map_err(|_| {
        let directory = directory.display();
        Failure::Usage(format!("--groups-from: the settings in {directory} cannot be used"))
    })?;
    Ok(LdapGroups { settings, known: Mutex::default() })
}
