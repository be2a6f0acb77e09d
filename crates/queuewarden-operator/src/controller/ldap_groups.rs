//! Looks up groups in LDAP for `QueueAccessTest`s, in a task of its own: no run waits for a directory.
//!
//! The plan names the users, and the next snapshot has the answers so far. An answer is valid for as long as
//! in `YuniKorn`'s own cache (since 1.9). Until the next one is there, the old one stays.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until};

use crate::ldap;
use go_compat::diag::quoted;
use queuewarden_plan::access_tests::MAX_LOOKUPS;
use queuewarden_plan::snapshot::LookedUp;
use yunikorn::identity::Refusal;
use yunikorn::identity::cache::{NEGATIVE_LIFETIME, POSITIVE_LIFETIME};
use yunikorn::identity::ldap::{Finding, Settings};

/// The number of lookups at the same time.
const CONCURRENCY: usize = 4;
/// The longest time of a round of lookups.
const ROUND: Duration = Duration::from_secs(30);
/// The longest time until the settings are read again.
const REREAD: Duration = Duration::from_mins(1);
/// The most bytes of all groups.
const MAX_BYTES: usize = 8 << 20;

type Answer = Result<Vec<String>, Refusal>;
/// The settings, with what is odd in them, or why there are none.
type Read = Result<(Settings, String), String>;

/// The users to look up, and their groups. When this is dropped, the task ends.
#[derive(Debug)]
pub struct LdapGroups {
    needed: watch::Sender<BTreeSet<String>>,
    known: watch::Receiver<Arc<LookedUp>>,
}

impl LdapGroups {
    /// Starts the task, with `YuniKorn`'s settings in this directory. It notifies `changed` of answers.
    pub fn start(directory: PathBuf, changed: Arc<Notify>) -> Self {
        let (needed, needs) = watch::channel(BTreeSet::new());
        let (publisher, known) = watch::channel(Arc::default());
        let (cache, read, failure) = (Cache::default(), Err(String::new()), None);
        tokio::spawn(Task { directory, needs, publisher, changed, cache, read, failure }.run());
        Self { needed, known }
    }

    /// Returns the answers so far.
    pub fn known(&self) -> Arc<LookedUp> {
        Arc::clone(&self.known.borrow())
    }

    /// Sets the users to look up from now on.
    pub fn need(&self, users: &BTreeSet<String>) {
        self.needed.send_if_modified(|needed| {
            let differs = needed != users;
            if differs {
                needed.clone_from(users);
            }
            differs
        });
    }
}

/// The task that looks up.
struct Task {
    directory: PathBuf,
    needs: watch::Receiver<BTreeSet<String>>,
    publisher: watch::Sender<Arc<LookedUp>>,
    changed: Arc<Notify>,
    cache: Cache,
    read: Read,
    /// The failure that was logged last.
    failure: Option<String>,
}

impl Task {
    async fn run(mut self) {
        loop {
            let needed = self.needs.borrow_and_update().clone();
            if !needed.is_empty() {
                self.read_settings().await;
            }
            let due = self.cache.due(&needed, Instant::now());
            let answers = match &self.read {
                Ok((settings, _)) => round(settings, due).await,
                Err(why) => {
                    due.into_iter().map(|user| (user, Err(Refusal::Undecided(why.clone())))).collect()
                }
            };
            let now = Instant::now();
            for (user, answer) in answers {
                self.cache.insert(user, answer, now);
            }
            self.publish();
            let reread = now + REREAD;
            let next = self.cache.next().map_or(reread, |next| next.min(reread));
            tokio::select! {
                alive = self.needs.changed() => if alive.is_err() { return },
                () = sleep_until(next) => {}
            }
        }
    }

    /// Reads the settings; with others all answers are old.
    async fn read_settings(&mut self) {
        let directory = self.directory.clone();
        let read = tokio::task::spawn_blocking(move || read(&directory)).await;
        let read = read.unwrap_or_else(|error| Err(error.to_string()));
        if read == self.read {
            return;
        }
        match &read {
            Ok((settings, odd)) => tracing::info!(server = %settings.server, odd, "Read the LDAP settings"),
            Err(why) => tracing::warn!(why, "Groups cannot be looked up in LDAP"),
        }
        (self.read, self.failure) = (read, None);
        self.cache.expire();
    }

    /// Publishes the answers if there are others, and logs a failure once, not with each round.
    fn publish(&mut self) {
        let known = self.cache.known();
        let failure = known.values().find_map(|answer| answer.as_ref().err().map(ToString::to_string));
        if failure != self.failure && self.read.is_ok() {
            if let Some(why) = &failure {
                tracing::warn!(why, "Groups cannot be looked up in LDAP");
            } else {
                tracing::info!("Groups are looked up in LDAP again");
            }
            self.failure = failure;
        }
        let differs = **self.publisher.borrow() != known;
        if differs {
            self.publisher.send_replace(Arc::new(known));
            self.changed.notify_one();
        }
    }
}

/// Reads the settings. Messages leave out what the files have: one of them may be the password by mistake.
fn read(directory: &Path) -> Read {
    let files = ldap::read(directory).map_err(|why| format!("the LDAP settings cannot be read: {why}"))?;
    let hint = |found: &Finding| {
        format!("{}: {}", found.setting, found.diagnostic.help.as_deref().unwrap_or_default())
    };
    let hints = |found: Vec<Finding>| found.iter().map(hint).collect::<Vec<_>>().join("; ");
    match Settings::read(&files) {
        Ok((settings, odd)) => Ok((settings, hints(odd))),
        Err(mut found) => {
            found.retain(|found| found.diagnostic.is_error());
            Err(format!("the LDAP settings in {} cannot be used: {}", directory.display(), hints(found)))
        }
    }
}

/// Looks up these users; who has no answer in time is undecided.
async fn round(settings: &Settings, users: Vec<String>) -> LookedUp {
    let server = &settings.server;
    let undecided = |user: &str, why: String| {
        Err(Refusal::Undecided(format!("the groups of {} come from {server}, which {why}", quoted(user))))
    };
    let late = |user: &String| {
        let why = format!("did not answer for all users within {} s", ROUND.as_secs());
        (user.clone(), undecided(user, why))
    };
    let mut answers: LookedUp = users.iter().map(late).collect();
    let lookups = stream::iter(users).map(|user| async {
        let answer = match ldap::groups(settings, &user).await {
            // YuniKorn may have other credentials by now, and have asked at another time.
            Err(Refusal::Unresolved(why)) => undecided(&user, format!("refuses the lookup: {why}")),
            answer => answer,
        };
        (user, answer)
    });
    let in_time = lookups.buffer_unordered(CONCURRENCY).take_until(sleep(ROUND));
    answers.extend(in_time.collect::<Vec<_>>().await);
    answers
}

/// Answers, each with the end of its lifetime.
#[derive(Debug, Default)]
struct Cache {
    entries: BTreeMap<String, (Answer, Instant)>,
    /// The size of all groups.
    bytes: usize,
}

impl Cache {
    /// Returns the users to look up now. Forgets old answers about others; they may be needed again soon
    /// while it is not known what the scheduler runs.
    fn due(&mut self, needed: &BTreeSet<String>, now: Instant) -> Vec<String> {
        let full = self.entries.len() > MAX_LOOKUPS;
        self.entries.retain(|user, (_, until)| needed.contains(user) || (*until > now && !full));
        self.bytes = self.entries.values().map(|(answer, _)| size(answer)).sum();
        let is_valid = |user: &&String| self.entries.get(*user).is_some_and(|(_, until)| *until > now);
        needed.iter().filter(|user| !is_valid(user)).cloned().collect()
    }

    fn insert(&mut self, user: String, answer: Answer, now: Instant) {
        let before = self.entries.get(&user).map_or(0, |(answer, _)| size(answer));
        let rest = self.bytes.saturating_sub(before);
        let answer = answer.and_then(|groups| {
            let groups = Ok(groups);
            if rest.saturating_add(size(&groups)) <= MAX_BYTES {
                return groups;
            }
            let why = format!("the groups of all users in LDAP have more than {MAX_BYTES} bytes");
            Err(Refusal::Undecided(why))
        });
        let seconds = if answer.is_ok() { POSITIVE_LIFETIME } else { NEGATIVE_LIFETIME };
        self.bytes = rest.saturating_add(size(&answer));
        self.entries.insert(user, (answer, now + Duration::from_secs(seconds.unsigned_abs())));
    }

    /// Ends the lifetime of all answers.
    fn expire(&mut self) {
        let now = Instant::now();
        self.entries.values_mut().for_each(|(_, until)| *until = now);
    }

    /// Returns the next end of a lifetime.
    fn next(&self) -> Option<Instant> {
        self.entries.values().map(|(_, until)| *until).min()
    }

    fn known(&self) -> LookedUp {
        self.entries.iter().map(|(user, (answer, _))| (user.clone(), answer.clone())).collect()
    }
}

fn size(answer: &Answer) -> usize {
    answer.iter().flatten().map(String::len).sum()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tokio::net::TcpListener;

    use super::*;

    fn write(directory: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            fs::write(directory.join(name), text).unwrap();
        }
    }

    /// Writes settings for a server on this port.
    fn settings(directory: &Path, port: u16) {
        let port = port.to_string();
        let files = [
            ("Host", "127.0.0.1"),
            ("Port", &port),
            ("BaseDN", "dc=x"),
            ("Filter", "(uid=%s)"),
            ("GroupAttr", "memberOf"),
            ("ReturnAttr", "memberOf"),
            ("BindUser", "cn=r"),
            ("BindPassword", "hunter2"),
        ];
        write(directory, &files);
    }

    fn users(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn reason(answer: &Answer) -> &str {
        let Err(Refusal::Undecided(why)) = answer else { panic!("{answer:?}") };
        why
    }

    #[test]
    fn answers_are_valid_for_300_seconds_and_failures_for_30() {
        let (begin, needed) = (Instant::now(), users(&["bob", "eve", "sue"]));
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let mut cache = Cache::default();
        assert_eq!(cache.due(&needed, begin), ["bob", "eve", "sue"]);
        cache.insert("bob".into(), Err(Refusal::Undecided("no answer".into())), begin);
        for user in ["eve", "sue"] {
            cache.insert(user.into(), Ok(vec!["devs".into()]), begin);
        }
        assert_eq!(cache.next(), Some(at(30)));
        for (seconds, due) in [(29, &[][..]), (30, &["bob"]), (299, &["bob"]), (300, &["bob", "eve", "sue"])]
        {
            assert_eq!(cache.due(&needed, at(seconds)), due, "{seconds}");
        }
        // An old answer stays until the next one, if somebody needs it.
        assert_eq!(cache.known().len(), 3);
        cache.insert("eve".into(), Ok(vec!["ops".into()]), at(300));
        assert_eq!(cache.due(&users(&["sue"]), at(301)), ["sue"]);
        assert_eq!(cache.known().into_keys().collect::<Vec<_>>(), ["eve", "sue"]);
    }

    #[test]
    fn answers_have_a_bound() {
        let (now, mut cache) = (Instant::now(), Cache::default());
        let large = || Ok(vec!["x".repeat(MAX_BYTES / 2)]);
        for (user, fits) in [("bob", true), ("eve", true), ("sue", false), ("eve", true)] {
            cache.insert(user.into(), large(), now);
            assert_eq!(cache.known()[user].is_ok(), fits, "{user}");
        }
        cache.due(&users(&["bob", "eve", "sue"]), now);
        assert_eq!(cache.bytes, MAX_BYTES);
        for number in 0..=MAX_LOOKUPS {
            cache.insert(number.to_string(), Ok(Vec::new()), now);
        }
        cache.due(&users(&["sue"]), now);
        assert_eq!(cache.known().into_keys().collect::<Vec<_>>(), ["sue"]);
    }

    #[test]
    fn messages_about_settings_have_no_text_of_theirs() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        settings(path, 389);
        write(path, &[("SSL", "hunter2"), ("CaCert", "hunter2")]);
        let (_, odd) = read(path).unwrap();
        assert!(
            odd.starts_with("CaCert: remove it") && odd.contains("SSL: write `true` or `false`"),
            "{odd}"
        );
        write(path, &[("Host", "hunter 2"), ("Port", "hunter2"), ("Filter", "(hunter2)")]);
        let wrong = read(path).unwrap_err();
        assert!(
            wrong.contains(&*path.to_string_lossy()) && wrong.contains("Port: write a number"),
            "{wrong}"
        );
        assert!(!wrong.contains("hunter") && !odd.contains("hunter"), "{wrong} {odd}");
        assert!(read(&path.join("none")).unwrap_err().contains("No such file"));
    }

    #[tokio::test(start_paused = true)]
    async fn round_with_a_silent_server_ends() {
        let (directory, listener) =
            (tempfile::tempdir().unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap());
        settings(directory.path(), listener.local_addr().unwrap().port());
        let (settings, _) = read(directory.path()).unwrap();
        let names: Vec<_> = (10..30).map(|number| number.to_string()).collect();
        let begin = Instant::now();
        let answers = round(&settings, names.clone()).await;
        assert!(begin.elapsed() <= ROUND + Duration::from_secs(1), "{:?}", begin.elapsed());
        assert!(answers.keys().eq(&names));
        assert!(reason(&answers["10"]).ends_with("there is no answer within 10 s"), "{answers:?}");
        assert!(reason(&answers["29"]).ends_with("did not answer for all users within 30 s"), "{answers:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn other_settings_are_read_within_a_minute() {
        let directory = tempfile::tempdir().unwrap();
        let changed = Arc::new(Notify::new());
        let groups = LdapGroups::start(directory.path().to_owned(), Arc::clone(&changed));
        let sue = users(&["sue"]);
        groups.need(&sue);
        changed.notified().await;
        assert!(reason(&groups.known()["sue"]).contains("Host: add a file"), "{:?}", groups.known());
        // A port that nobody has any more.
        let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        settings(directory.path(), port);
        let begin = Instant::now();
        changed.notified().await;
        assert!(begin.elapsed() <= REREAD);
        let known = groups.known();
        assert!(reason(&known["sue"]).contains("cannot be reached from here"), "{known:?}");
        // Nobody is looked up any more.
        groups.need(&BTreeSet::new());
        changed.notified().await;
        assert!(groups.known().is_empty());
    }
}
