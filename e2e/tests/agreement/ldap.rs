//! Compares groups from a directory service: the model's with those that `YuniKorn`'s own resolver gets from
//! the same `OpenLDAP` server, with the same settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Error, Result, bail, ensure};
use proptest::prelude::*;
use proptest::sample::select;
use queuewarden_e2e::front_proxy::Authority;
use queuewarden_e2e::oracle::{LdapAnswer, LdapAnswers, LdapQuestion};
use queuewarden_e2e::slapd::{BASE, MemberOf, Slapd, settings};
use queuewarden_e2e::{Oracle, assets};
use queuewarden_operator::ldap;
use tokio::runtime::Runtime;
use yunikorn::identity::Refusal;
use yunikorn::identity::ldap::Settings;
use yunikorn::version::Version;

use super::{Draw, oracles};
use crate::cli::Ended;

/// People and the values of their `memberOf`, as an Active Directory has them where not said otherwise.
const PEOPLE: [(&str, &str, &[&str]); 22] = [
    ("sue", "people", &["CN=devs,OU=Groups,DC=example,DC=org", "CN=ops,OU=Groups,DC=example,DC=org"]),
    ("bob", "people", &[]),
    ("eve", "people", &["CN=eve,OU=Groups", "CN=Eve,OU=Groups", "CN=devs,OU=Groups"]),
    // Another entry of the same name, which counts as well.
    ("twin", "people", &["CN=left,OU=Groups", "CN=both,OU=Groups"]),
    ("twin", "guests", &["CN=right,OU=Groups", "CN=both,OU=Groups"]),
    ("sue smith", "people", &["CN=data science,OU=Groups"]),
    ("o'brien", "people", &["CN=qa"]),
    ("été", "people", &["CN=équipe,OU=Groups"]),
    ("a*b", "people", &["CN=starred"]),
    ("a(b)", "people", &["CN=bracketed"]),
    ("back\\slash", "people", &["CN=escaped"]),
    ("comma", "people", &["CN=ops\\, day,OU=Groups"]),
    ("plus", "people", &["OU=1+CN=multi,DC=x", "CN=first+OU=1,DC=x"]),
    ("double", "people", &["CN=aCN=b,DC=x", "CN=CN=c,DC=x"]),
    ("nameless", "people", &["CN=,DC=x"]),
    ("spaced", "people", &["CN= padded ,DC=x"]),
    ("percent", "people", &["CN=100%s,DC=x"]),
    // A scheduler that reads these crashes.
    ("lower", "people", &["CN=devs,DC=x", "cn=devs,ou=groups,dc=example,dc=org"]),
    ("folder", "people", &["OU=devs,CN=Groups"]),
    ("plain", "people", &["devs"]),
    ("100%", "people", &["CN=odd"]),
    ("guest", "guests", &["CN=guests,OU=Groups"]),
];

/// Names that are looked up besides those of people.
const OTHERS: [&str; 16] = [
    "nobody",
    "SUE",
    "Sue",
    " sue",
    "sue ",
    "*",
    "s*",
    "sue)(uid=*",
    "sue)(|(uid=*))",
    "a\\2ab",
    "sue\0",
    "sue%s",
    "=",
    "&|!",
    "\u{fffd}",
    "system:serviceaccount:ns:sa",
];

/// Returns the entries of the people, and more groups in one of them than fit into a packet.
fn entries() -> String {
    let mut entries = String::new();
    for folder in ["people", "guests"] {
        let _ = write!(entries, "dn: ou={folder},{BASE}\nobjectClass: organizationalUnit\nou: {folder}\n\n");
    }
    let many: Vec<String> = (0..900).map(|number| format!("CN=group-{number},OU=Groups,{BASE}")).collect();
    let people = PEOPLE.iter().map(|(name, folder, values)| {
        (*name, *folder, values.iter().map(ToString::to_string).collect::<Vec<_>>())
    });
    for (number, (name, folder, values)) in people.chain([("many", "people", many)]).enumerate() {
        let _ = write!(
            entries,
            "dn: cn={number},ou={folder},{BASE}\nobjectClass: inetOrgPerson\nobjectClass: member\ncn: {number}\n\
             sn: x\nuid: {name}\nmail: {}@example.org\n",
            name.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
        );
        for value in values {
            let _ = writeln!(entries, "memberOf: {value}");
        }
        entries.push('\n');
    }
    entries
}

/// Returns every name that is looked up.
fn names() -> Vec<String> {
    let people = PEOPLE.iter().map(|(name, ..)| *name).chain(["many"]);
    // Each once: the second answer about somebody would come from YuniKorn's cache.
    people.chain(OTHERS).map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
}

type Files = BTreeMap<String, String>;

fn with(files: &Files, changes: &[(&str, &str)]) -> Files {
    let mut files = files.clone();
    files.extend(changes.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
    files
}

/// Writes settings into a directory, beside what a mounted Secret has there.
fn write(directory: &Path, files: &Files) -> Result<()> {
    for (name, text) in files {
        std::fs::write(directory.join(name), text)?;
    }
    std::fs::create_dir(directory.join("..2026_01_01"))?;
    std::fs::create_dir(directory.join("folder"))?;
    Ok(std::fs::write(directory.join("..data"), "Host")?)
}

async fn start(authority: &Authority) -> Result<Slapd> {
    Slapd::start(MemberOf::Text, &entries(), &authority.server(2096)?).await
}

type Resolved = Result<Vec<String>, Refusal>;

/// Returns the model's answers, or its reasons against the settings.
fn ours(directory: &Path, users: &[String], runtime: &Runtime) -> Result<Result<Vec<Resolved>, String>> {
    let files = ldap::read(directory).map_err(Error::msg)?;
    let settings = match Settings::read(&files) {
        Ok((settings, _)) => settings,
        Err(found) => return Ok(Err(found.iter().map(|found| found.diagnostic.to_string()).collect())),
    };
    let lookups = users.iter().map(|user| ldap::groups(&settings, user));
    Ok(Ok(lookups.map(|lookup| runtime.block_on(lookup)).collect()))
}

/// Counts how answers agree.
#[derive(Debug, Default)]
struct Tally {
    resolved: usize,
    refused: usize,
    undecided: usize,
    settings: usize,
}

/// Compares one answer. Where the model does not decide, it says why, and `YuniKorn` does what it says.
fn agrees(ours: &Resolved, theirs: &LdapAnswer, tally: &mut Tally) -> bool {
    match ours {
        Ok(groups) => {
            tally.resolved += 1;
            theirs.error.is_empty() && theirs.panic.is_empty() && theirs.groups == *groups
        }
        Err(Refusal::Unresolved(why)) => {
            tally.refused += 1;
            theirs.error == *why
        }
        Err(Refusal::Undecided(why)) => {
            tally.undecided += 1;
            (why.contains("crashes YuniKorn's scheduler") && theirs.panic.contains("index out of range"))
                || (why.contains("cannot be reached") && theirs.error.contains("\"Network Error\""))
                // Such a search finds others, nobody, or is none.
                || why.contains("into its LDAP filter as it is")
        }
        Err(_) => false,
    }
}

/// Returns the difference for one set of settings.
fn difference(oracle: &Oracle, files: &Files, users: &[String], tally: &mut Tally) -> Result<Option<String>> {
    let directory = tempfile::tempdir()?;
    write(directory.path(), files)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ours = ours(directory.path(), users, &runtime)?;
    let question = LdapQuestion { settings: directory.path().to_owned(), users: users.to_vec() };
    let theirs = oracle.ldap(&[question])?.pop().context("no answer")?;
    Ok(match (ours, theirs) {
        (Err(_), LdapAnswers::Ended(_)) => {
            tally.settings += 1;
            None
        }
        // The scheduler starts, and resolves nobody but names that make a filter of it.
        (Err(why), LdapAnswers::Users(theirs)) => {
            tally.settings += 1;
            let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let mut resolved = users.iter().zip(&theirs).filter(|(user, theirs)| {
                plain(user) && theirs.error.is_empty() && !why.contains("which Go formats as another text")
            });
            let first = resolved.next();
            first.map(|(user, theirs)| format!("{user:?}: the model says {why}, YuniKorn {theirs:?}"))
        }
        (Ok(_), LdapAnswers::Ended(theirs)) => {
            Some(format!("the model takes the settings, and YuniKorn ends: {}", theirs.panic))
        }
        (Ok(ours), LdapAnswers::Users(theirs)) => {
            let mut pairs = users.iter().zip(ours.iter().zip(&theirs));
            let differing = pairs.find(|(_, (ours, theirs))| !agrees(ours, theirs, tally));
            differing.map(|(user, (ours, theirs))| {
                format!("{user:?}: the model says {ours:?}, YuniKorn {theirs:?}")
            })
        }
    })
}

/// Returns changes of the usual settings, each with what it shows.
fn variants(slapd: &Slapd) -> Vec<Vec<(&'static str, String)>> {
    let one = |setting: &'static str, text: &str| vec![(setting, text.to_owned())];
    let mut variants = vec![vec![]];
    for filter in [
        "(&(objectClass=inetOrgPerson)(uid=%s))",
        "(|(uid=%s)(mail=%[1]s@example.org))",
        "(uid=*%s*)",
        "(uid=%s*)",
        "(&(uid=%s)(!(mail=*)))",
        "(&(objectClass=*)(!(uid=%s))(ou=*))",
        "(uid:caseExactMatch:=%s)",
        "(uid:dn:=%s)",
        "(:caseIgnoreMatch:=%s)",
        "(uid>=%s)",
        "(&(uid<=%s)(uid>=%[1]s))",
        "(uid~=%s)",
        "(uid=\\73\\75e%%%s)",
        "(&(uid=\\73ue)(!(sn=%s)))",
        "((uid=%s))",
        "(|(uid=%s)(objectClass=*))",
        "(|(uid=%s)(uid=))",
        "(|(uid=%s)(&))",
        // With these it starts, and resolves nobody.
        "(|(uid=%s)(mail=%s))",
        "(uid=%v%s)",
        "(uid=%s%)",
        "(&(uid=%s) (sn=x))",
        "(uid=%s\\zz)",
        "(uid%s)",
        "x(uid=%s)",
        "(uid=%s)x",
        // With these it does not.
        "(uid=sue)",
        "((uid=%s)",
        "uid=%s)",
        " ",
    ] {
        variants.push(one("Filter", filter));
    }
    for attributes in
        ["cn", "cn,memberOf", "cn, memberOf", "memberOf ,cn", "*", "+", "memberof", "", ",", "a b"]
    {
        variants.push(one("ReturnAttr", attributes));
    }
    for (setting, text) in [
        ("BaseDN", "ou=guests,dc=example,dc=org"),
        ("BaseDN", "ou=none,dc=example,dc=org"),
        ("BaseDN", "dc=elsewhere"),
        ("BaseDN", "no name"),
        ("GroupAttr", "groups"),
        ("GroupAttr", "\n"),
        ("BindUser", "cn=nobody,dc=example,dc=org"),
        ("BindUser", "no name"),
        ("BindPassword", "wrong"),
        ("BindPassword", "\tsecret \n"),
        ("Port", " 0"),
        ("Port", "65536"),
        ("Port", "ldap"),
        ("Port", "1"),
        ("Host", "no-such-host.invalid"),
        ("Host", " 127.0.0.1\n"),
        ("Host", "ldap://127.0.0.1"),
        ("Host", "::1"),
        ("Host", "[::1]"),
        ("Host", "a b"),
        ("SSL", "yes"),
        ("SSL", "FALSE"),
        ("SSL", "true"),
        ("Insecure", "1"),
        ("CACert", "x"),
        ("host", "elsewhere"),
    ] {
        variants.push(one(setting, text));
    }
    let tls_port = slapd.tls_port.to_string();
    for insecure in ["true", "false", "no"] {
        let ssl = [("SSL", "t".to_owned()), ("Insecure", insecure.to_owned()), ("Port", tls_port.clone())];
        variants.push(ssl.into());
    }
    variants.push(one("Port", &format!("+{}", slapd.port)));
    variants
}

#[test]
fn groups_are_those_that_yunikorn_finds_in_a_real_directory() -> Result<()> {
    let runtime = Runtime::new()?;
    let slapd = runtime.block_on(start(&Authority::new()?))?;
    let usual = settings(slapd.port);
    let mut sets: Vec<(Files, Vec<String>)> = Vec::new();
    for changes in variants(&slapd) {
        let changes: Vec<_> = changes.iter().map(|(name, text)| (*name, text.as_str())).collect();
        // A host without an address takes its time for each name.
        let elsewhere = changes.iter().any(|(name, _)| *name == "Host");
        let names = if elsewhere { vec!["sue".to_owned()] } else { names() };
        sets.push((with(&usual, &changes), names));
    }
    for missing in usual.keys() {
        let mut files = usual.clone();
        files.remove(missing);
        sets.push((files, names()));
    }
    sets.push((Files::new(), names()));
    for (version, oracle) in oracles()? {
        let mut tally = Tally::default();
        for (files, names) in &sets {
            if let Some(difference) = difference(oracle, files, names, &mut tally)? {
                bail!("{version}, with {files:?}:\n{difference}");
            }
        }
        println!("{version}: {tally:?}");
        ensure!(tally.resolved > 500 && tally.refused > 100 && tally.undecided > 100, "{tally:?}");
        ensure!(tally.settings > 20, "{tally:?}");
    }
    Ok(())
}

/// Draws names and filters.
fn drawn() -> impl Strategy<Value = (Vec<String>, String)> {
    let known = select(names());
    let name = prop_oneof![2 => known, 1 => r"\PC{1,8}", 1 => r"[a-z*()\\ =,%]{1,6}"];
    let item = select(vec![
        "(uid=%[1]s)",
        "(uid=s*%[1]s)",
        "(objectClass=*)",
        "(mail=%[1]s@*)",
        "(sn:=x)",
        "(cn>=%[1]s)",
    ]);
    let item = item.prop_map(str::to_owned);
    let filter = item.prop_recursive(3, 8, 3, |inner| {
        (select(vec!["&", "|", "!"]), prop::collection::vec(inner, 1..3)).prop_map(|(word, inner)| {
            let most = if word == "!" { 1 } else { inner.len() };
            format!("({word}{})", inner.into_iter().take(most).collect::<String>())
        })
    });
    let noise = prop::option::weighted(0.1, r"[()&|!=*\\:%s ]{1,2}");
    let filter = (filter, noise).prop_map(|(filter, noise)| {
        let filter = format!("(&(uid=%s){filter})");
        noise.map_or(filter.clone(), |noise| filter.replacen('=', &format!("={noise}"), 2))
    });
    let names = prop::collection::btree_set(name, 1..4).prop_map(|names| names.into_iter().collect());
    (names, filter)
}

#[test]
fn drawn_names_and_filters_find_what_yunikorn_finds() -> Result<()> {
    let runtime = Runtime::new()?;
    let slapd = runtime.block_on(start(&Authority::new()?))?;
    let Draw { cases, seed, mut runner } = Draw::of(300)?;
    let mut tally = Tally::default();
    for _ in 0..cases {
        let tree = drawn().new_tree(&mut runner).map_err(|reason| anyhow::anyhow!("no input: {reason}"))?;
        let (users, filter) = proptest::strategy::ValueTree::current(&tree);
        let files = with(&settings(slapd.port), &[("Filter", &filter)]);
        for (version, oracle) in oracles()? {
            if let Some(difference) = difference(oracle, &files, &users, &mut tally)? {
                bail!("{version}, seed {seed}, filter {filter}:\n{difference}");
            }
        }
    }
    println!("{cases} inputs, seed {seed}: {tally:?}");
    Ok(())
}

/// Returns `YuniKorn`'s answers.
fn theirs(oracle: &Oracle, files: &Files, users: &[&str]) -> Result<Vec<LdapAnswer>> {
    let directory = tempfile::tempdir()?;
    write(directory.path(), files)?;
    let users = users.iter().map(ToString::to_string).collect();
    match oracle.ldap(&[LdapQuestion { settings: directory.path().to_owned(), users }])?.pop() {
        Some(LdapAnswers::Users(answers)) => Ok(answers),
        other => bail!("{other:?}"),
    }
}

/// The reason why the model does not search for such names.
#[test]
fn asterisk_as_a_name_has_the_groups_of_all_in_yunikorn() -> Result<()> {
    let runtime = Runtime::new()?;
    let people = "dn: cn=1,dc=example,dc=org\nobjectClass: inetOrgPerson\nobjectClass: member\ncn: 1\nsn: x\n\
                  uid: sue\nmemberOf: CN=devs\n\n\
                  dn: cn=2,dc=example,dc=org\nobjectClass: inetOrgPerson\nobjectClass: member\ncn: 2\nsn: x\n\
                  uid: bob\nmemberOf: CN=ops\n\n";
    let identity = Authority::new()?.server(2096)?;
    let slapd = runtime.block_on(Slapd::start(MemberOf::Text, people, &identity))?;
    for (version, oracle) in oracles()? {
        let answers = theirs(oracle, &settings(slapd.port), &["*", "sue)(|(uid=bob)", "x)(uid=*"])?;
        ensure!(answers[0].groups == ["*", "devs", "ops"], "{version}: {answers:?}");
        // The filter must end where the name does: a second one is refused.
        ensure!(
            answers[1..].iter().all(|answer| answer.error.contains("Filter Compile Error")),
            "{answers:?}"
        );
        let nested = with(&settings(slapd.port), &[("Filter", "(&(uid=%s))")]);
        let answers = theirs(oracle, &nested, &["*)(memberOf=CN=devs"])?;
        ensure!(answers[0].groups == ["*)(memberOf=CN=devs", "devs"], "{version}: {answers:?}");
    }
    Ok(())
}

#[test]
fn groups_that_openldap_spells_in_small_letters_crash_yunikorn_and_are_not_decided() -> Result<()> {
    let runtime = Runtime::new()?;
    let person = |name: &str, group: &str| {
        format!(
            "dn: uid={name},{BASE}\nobjectClass: inetOrgPerson\nuid: {name}\ncn: {name}\nsn: x\n\
             memberOf: {group},{BASE}\n\n"
        )
    };
    let entries = person("sue", "CN=devs") + &person("bob", "cn=ops");
    let identity = Authority::new()?.server(2096)?;
    let slapd = runtime.block_on(Slapd::start(MemberOf::Overlay, &entries, &identity))?;
    for (version, oracle) in oracles()? {
        let mut tally = Tally::default();
        let users = ["sue".to_owned(), "bob".to_owned()];
        let difference = difference(oracle, &settings(slapd.port), &users, &mut tally)?;
        ensure!(difference.is_none(), "{version}: {difference:?}");
        ensure!((tally.undecided, tally.resolved) == (1, 1), "{version}: {tally:?}");
    }
    Ok(())
}

#[test]
fn server_that_has_ended_refuses_users_in_yunikorn_and_is_not_decided() -> Result<()> {
    let runtime = Runtime::new()?;
    let slapd = runtime.block_on(start(&Authority::new()?))?;
    slapd.kill()?;
    for (version, oracle) in oracles()? {
        let mut tally = Tally::default();
        let users = ["sue".to_owned(), "nobody".to_owned()];
        let difference = difference(oracle, &settings(slapd.port), &users, &mut tally)?;
        ensure!(difference.is_none() && tally.undecided == 2, "{version}: {difference:?} {tally:?}");
    }
    Ok(())
}

const QUEUES: &str = "partitions:\n- name: default\n  usergroupresolver: {type: ldap}\n  placementrules:\n  \
                      - {name: provided}\n  queues:\n  - name: root\n    queues:\n    \
                      - {name: prod, submitacl: \" devs\"}\n";
const EXPECTED: &str = "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAccessTest\nmetadata: {name: prod}\nspec:\n  \
                        cases:\n  - subjects: [{user: sue}]\n    allow: {submit: [root.prod]}\n";

/// Asks the program, with these authorities instead of the machine's.
fn asked(directory: &Path, command: &str) -> Result<Ended> {
    let mut program = std::process::Command::new(assets::operator()?);
    program.current_dir(directory).args(command.split_whitespace()).env("NO_COLOR", "1");
    Ended::of(program.env("SSL_CERT_FILE", directory.join("ca.crt")).output()?)
}

/// With TLS and an authority that the machine trusts, as the program's users have it.
#[test]
fn commands_decide_with_the_directorys_groups() -> Result<()> {
    let runtime = Runtime::new()?;
    let authority = Authority::new()?;
    let slapd = runtime.block_on(start(&authority))?;
    let directory = tempfile::tempdir()?;
    let path = directory.path();
    std::fs::write(path.join("ca.crt"), authority.pem())?;
    std::fs::write(path.join("queues.yaml"), QUEUES)?;
    std::fs::write(path.join("expected.yaml"), EXPECTED)?;
    let secure = with(&settings(slapd.tls_port), &[("SSL", "true")]);
    std::fs::create_dir(path.join("settings"))?;
    write(&path.join("settings"), &secure)?;

    for version in Version::PROVEN {
        let trusting = Oracle::trusting(version, &path.join("ca.crt"))?;
        ensure!(theirs(&trusting, &secure, &["sue"])?[0].groups == ["sue", "devs", "ops"]);
        let other = theirs(Oracle::of(version)?, &secure, &["sue"])?;
        ensure!(other[0].error.contains("certificate signed by unknown authority"), "{other:?}");
    }

    let from = "-f queues.yaml --groups-from ldap:settings";
    asked(path, &format!("can-i submit root.prod --as sue {from}"))?.expect(0, "yes\n")?;
    let no = asked(path, &format!("can-i submit root.prod --as guest {from}"))?;
    ensure!(no.code == Some(1) && no.out.ends_with("names user guest or any of 2 groups\n"), "{no}");
    let lower = asked(path, &format!("can-i submit root.prod --as lower {from}"))?;
    ensure!(lower.code == Some(3) && lower.err.contains("crashes YuniKorn's scheduler"), "{lower}");
    let placed = asked(path, &format!("place --queue root.prod --as sue {from}"))?;
    ensure!(placed.code == Some(0) && placed.out.contains("groups      sue, devs, ops"), "{placed}");
    let tested = asked(path, &format!("test -f expected.yaml {from}"))?;
    ensure!(tested.code == Some(0) && tested.out.contains("1 passed, 0 failed"), "{tested}");

    std::fs::write(path.join("ca.crt"), Authority::new()?.pem())?;
    let untrusted = asked(path, &format!("can-i submit root.prod --as sue {from}"))?;
    ensure!(untrusted.code == Some(3) && untrusted.err.contains("invalid peer certificate"), "{untrusted}");
    slapd.kill()?;
    let down = asked(path, &format!("test -f expected.yaml {from}"))?;
    ensure!(down.code == Some(3) && down.out.contains("Connection refused"), "{down}");
    Ok(())
}
