//! Compares the files of YARN's schedulers: the importer with the schedulers' own parsers, and the access by
//! its output in `YuniKorn` with the access in Hadoop.

use anyhow::{Result, ensure};
use go_compat::diag::Code;
use proptest::collection::vec;
use proptest::prelude::*;
use queuewarden_e2e::Hadoop;
use queuewarden_e2e::hadoop::{DeclaredQueue, QueuesAnswer, QueuesQuestion};
use queuewarden_e2e::oracle::Subject;
use queuewarden_import::translate::{Imported, Options, translate};
use queuewarden_import::yarn::Holders;
use queuewarden_import::{Direction, FileDiagnostic, Files, Source, codes, prove};
use yunikorn::application::Reading;
use yunikorn::config::verdict;
use yunikorn::identity::Identity;
use yunikorn::right::Right;
use yunikorn::version::Version;
use yunikorn_access::Tree;
use yunikorn_access::decide::decide;
use yunikorn_access::subject::Subject as Who;

use super::agree;

const USERS: [&str; 4] = ["alice", "bob", "DOM\\u", "eve"];
const GROUPS: [&str; 3] = ["devs", "ops", "data eng"];

/// Codes of texts that the importer refuses, but Hadoop accepts.
const UNREADABLE: [Code; 3] = [codes::ROOT_MISSPELT, codes::UNBOUND, codes::QUEUE_NAME];

/// Returns users without groups, and members of one group who are not named themselves.
fn subjects() -> Vec<Subject> {
    let users = USERS.iter().map(|user| Subject { user: (*user).to_owned(), groups: Vec::new() });
    let members = GROUPS
        .iter()
        .map(|group| Subject { user: "nobody-else".to_owned(), groups: vec![(*group).to_owned()] });
    users.chain(members).collect()
}

fn who(subject: &Subject) -> Who {
    match subject.groups.first() {
        Some(group) => Who::Group(group.clone()),
        None => Who::User(subject.user.clone()),
    }
}

/// Pieces of an ACL, in XML.
const PIECES: [&str; 22] = [
    "alice",
    "bob",
    "devs",
    "eve",
    " ",
    " ",
    ",",
    "*",
    "\n",
    "\t",
    "\r\n",
    "&amp;",
    "&#x20;",
    "&#42;",
    "&#10;",
    "<!-- x -->",
    "<![CDATA[alice]]>",
    "<![CDATA[ devs]]>",
    "<![CDATA[]]>",
    "<?x y?>",
    "<b/>",
    "é",
];

/// Generates the content of an ACL, as XML writes it.
fn acl_text() -> impl Strategy<Value = String> {
    let plain = prop_oneof![
        3 => Just(" ".to_owned()),
        4 => "(alice|bob|DOM.u|eve)(,(alice|bob))?( (devs|ops|data eng)(,ops)?)?",
        2 => " (devs|ops)",
        1 => Just("*".to_owned()),
    ];
    let odd = vec(prop::sample::select(&PIECES[..]), 0..6).prop_map(|pieces| pieces.concat());
    prop_oneof![6 => plain, 2 => odd]
}

fn fair_field() -> impl Strategy<Value = String> {
    const TAGS: [&str; 9] = [
        "aclSubmitApps",
        "aclSubmitApps",
        "aclSubmitApps",
        "aclAdministerApps",
        "aclAdministerApps",
        "aclListReservations",
        "aclsubmitapps",
        "AclSubmitApps",
        "description",
    ];
    let acl = (prop::sample::select(&TAGS[..]), acl_text());
    prop_oneof![
        12 => acl.prop_map(|(tag, text)| format!("<{tag}>{text}</{tag}>")),
        1 => Just("<!-- <aclSubmitApps>*</aclSubmitApps> -->".to_owned()),
        1 => Just("<weight>1</weight>\n".to_owned()),
    ]
}

fn fair_queue() -> impl Strategy<Value = String> {
    const NAMES: [&str; 14] =
        ["a", "a", "a", "b", "b", "c", "A", " b ", "a b", "root", "é", "@recovery@", "x\u{a0}", "&#97;"];
    let name = prop_oneof![40 => prop::sample::select(&NAMES[..]), 1 => prop::sample::select(&["", "a.b", "ROOT", " "][..])];
    let tag = prop::sample::select(&["queue", "queue", "queue", "pool", "ue", "e"][..]);
    let leaf = vec(fair_field(), 0..3).prop_map(|fields| fields.concat());
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let below = (tag.clone(), name.clone(), inner)
            .prop_map(|(tag, name, inner)| format!("<{tag} name=\"{name}\">{inner}</{tag}>"));
        let acls = vec(fair_field(), 0..2).prop_map(|fields| fields.concat());
        (acls, vec(below, 0..4)).prop_map(|(acls, below)| acls + &below.concat())
    })
}

fn fair_files() -> impl Strategy<Value = QueuesQuestion> {
    let root = fair_queue().prop_map(|inner| format!("<queue name=\"root\">{inner}</queue>"));
    let several = vec(fair_queue().prop_map(|inner| format!("<queue name=\"q\">{inner}</queue>")), 0..3)
        .prop_map(|queues| queues.concat());
    prop_oneof![4 => root, 2 => several, 1 => fair_queue()].prop_map(|inner| QueuesQuestion {
        file: format!("<?xml version=\"1.0\"?>\n<allocations>{inner}</allocations>"),
        site: None,
        subjects: subjects(),
    })
}

/// Generates properties in all their forms; variables refer to later ones, or to themselves.
fn property(keys: &'static [&'static str]) -> impl Strategy<Value = String> {
    const VALUES: [&str; 8] = [
        "${x}",
        "alice ${y}",
        "${env.QW_NONE:-bob}",
        "${z}",
        "${none}",
        "${x}${y} devs",
        "$x {y} ${}",
        "${env.QW_NONE-}",
    ];
    let value = prop_oneof![6 => acl_text(), 2 => prop::sample::select(&VALUES[..]).prop_map(str::to_owned)];
    (prop::sample::select(keys), value, 0..8_u8).prop_map(|(key, value, form)| match form {
        0 => format!("<property name=\"{key}\" value=\"{}\"/>", value.replace(['<', '>', '"'], "")),
        1 => format!("<property><value>{value}</value><name> {key}\n</name></property>"),
        2 => format!("<property><name>{key}</name><value>{value}</value><final>true</final></property>"),
        3 => format!("<property><name>{key}</name><value></value></property>"),
        _ => format!("<property><name>{key}</name><value>{value}</value></property>"),
    })
}

const ACL_KEYS: [&str; 12] = [
    "yarn.scheduler.capacity.root.acl_submit_applications",
    "yarn.scheduler.capacity.root.acl_administer_queue",
    "yarn.scheduler.capacity.root.a.acl_submit_applications",
    "yarn.scheduler.capacity.root.a.acl_submit_applications",
    "yarn.scheduler.capacity.root.a.acl_administer_queue",
    "yarn.scheduler.capacity.root.a.b.acl_submit_applications",
    "yarn.scheduler.capacity.root.a.b.acl_administer_queue",
    "yarn.scheduler.capacity.root.A.acl_submit_applications",
    "yarn.scheduler.capacity.root.a.acl_administer_jobs",
    "yarn.scheduler.capacity.root.c.acl_administer_queue",
    "x",
    "y",
];

fn capacity_files() -> impl Strategy<Value = QueuesQuestion> {
    let lists = prop::sample::select(&["a,b", " a , A,,c\n", "c,a", "a,a", "a b,c"][..]);
    let below = prop::sample::select(&["", "b", "b, d", "b,b.c"][..]);
    // The Hadoop class in use only knows queues; everyone administers the cluster unless the file names an
    // administrator.
    let nobody = "<property><name>yarn.admin.acl</name><value> </value></property>";
    let definitions = "<property><name>z</name><value>ops${z}</value></property>";
    (lists, below, vec(property(&ACL_KEYS), 0..8), vec(property(&ACL_KEYS), 0..3)).prop_map(move |(list, below, properties, site)| {
        let queues = |path: &str, names: &str| format!("<property><name>yarn.scheduler.capacity.{path}.queues</name><value>{names}</value></property>");
        let file = [queues("root", list), queues("root.a", below), properties.concat(), definitions.to_owned()].concat();
        QueuesQuestion {
            file: format!("<configuration>{file}</configuration>"),
            site: Some(format!("<configuration>{nobody}{}</configuration>", site.concat())),
            subjects: subjects(),
        }
    })
}

/// Returns the importer's answer; `None` if it refuses, with a report, a text that Hadoop would accept.
fn imported(
    question: &QueuesQuestion,
    read: fn(Files<'_>, &mut Vec<FileDiagnostic>) -> Option<Source>,
) -> (Option<Source>, Vec<FileDiagnostic>) {
    let mut findings = Vec::new();
    let site = question.site.as_deref().map(|site| (1, site));
    let wanted = Files {
        reading: Reading::Hadoop,
        scheduler: (0, &question.file),
        site,
        defined: &[],
        mapred: None,
        core: &[],
        name: "",
    };
    (read(wanted, &mut findings), findings)
}

fn declared(source: &Source, subjects: &[Subject]) -> Vec<DeclaredQueue> {
    let holders = Holders::new(source);
    let [submits, administers] = Right::ALL
        .map(|right| subjects.iter().map(|subject| holders.reach(right, &who(subject))).collect::<Vec<_>>());
    let at = |reached: &[Vec<_>], at: usize| {
        reached.iter().map(|queues| queues.get(at).is_some_and(Option::is_some)).collect()
    };
    let mut queues: Vec<DeclaredQueue> = source
        .queues
        .iter()
        .enumerate()
        .map(|(number, queue)| DeclaredQueue {
            path: queue.path.clone(),
            submit: queue.acls.submit.acl.canonical(),
            admin: queue.acls.admin.acl.canonical(),
            submits: at(&submits, number),
            administers: at(&administers, number),
        })
        .collect();
    // Sorted as in Java, by UTF-16; no character in these names makes a difference.
    queues.sort_by(|left, right| left.path.cmp(&right.path));
    queues
}

fn compared(
    question: &QueuesQuestion,
    (source, findings): &(Option<Source>, Vec<FileDiagnostic>),
    hadoop: &QueuesAnswer,
) -> Result<Option<String>> {
    let refusals: Vec<_> = findings
        .iter()
        .filter(|finding| finding.diagnostic.is_error())
        .map(|finding| finding.diagnostic.code)
        .collect();
    match (source, hadoop) {
        // Texts that Hadoop interprets in a way that no one can intend.
        (None, _) if refusals.iter().any(|code| UNREADABLE.contains(code)) => Ok(None),
        (None, QueuesAnswer::Refused { .. }) => Ok(None),
        (Some(source), QueuesAnswer::Queues(queues)) => {
            let model = declared(source, &question.subjects);
            if model != *queues {
                return Ok(Some(format!("the importer reads {model:?}, Hadoop {queues:?}")));
            }
            widened(source, queues, &question.subjects)
        }
        _ => Ok(Some(format!("the importer says {refusals:?}, Hadoop {hadoop:?}"))),
    }
}

/// Returns whether the output for `YuniKorn` grants access that Hadoop does not, or removes access without a
/// finding.
fn widened(source: &Source, hadoop: &[DeclaredQueue], subjects: &[Subject]) -> Result<Option<String>> {
    let options = Options::default();
    let imported = translate(source, &options, &mut Vec::new());
    let proof =
        prove(source, &imported, &options.names, |_, _| {}).map_err(|error| anyhow::anyhow!("{error}"))?;
    ensure!(proof.differences.iter().all(|difference| difference.code != codes::UNEXPLAINED), "{proof:?}");
    if proof.differences.iter().any(|difference| difference.direction == Direction::Wider) {
        return Ok(Some(format!("wider: {:?}", proof.differences)));
    }
    let tree = tree_of(&imported)?;
    for (number, queue) in source.queues.iter().enumerate() {
        let target = imported.of_source.get(number).and_then(|target| imported.queues.get((*target).ok()?));
        let Some(path) = target.map(|target| target.path.as_str()) else { continue };
        let Some(answer) = hadoop.iter().find(|answer| answer.path == queue.path) else { continue };
        for ((subject, submits), administers) in subjects.iter().zip(&answer.submits).zip(&answer.administers)
        {
            for (right, before) in [(Right::Submit, *submits), (Right::Admin, *administers)] {
                let Subject { user, groups } = subject.clone();
                let after = decide(&tree, right, path, &Identity { user, groups }).allowed();
                let reported = proof.differences.iter().any(|difference| {
                    difference.verb == right.verb()
                        && (difference.subject == who(subject) || difference.subject == Who::Everyone)
                });
                if after != before && (after || !reported) {
                    return Ok(Some(format!(
                        "{subject:?} {right:?} {path}: Hadoop {before}, YuniKorn {after}, reported {reported}"
                    )));
                }
            }
        }
    }
    Ok(None)
}

fn tree_of(imported: &Imported) -> Result<Tree> {
    let text = imported.queues_yaml();
    let config =
        verdict(&text, &[], Version::V1_8).config.ok_or_else(|| anyhow::anyhow!("refused: {text}"))?;
    let partition = config.partition("default").ok_or_else(|| anyhow::anyhow!("no partition"))?;
    Ok(Tree::new(partition)?)
}

#[test]
fn allocation_files_are_imported_as_in_hadoop() -> Result<()> {
    agree(20_000, &fair_files(), |questions| {
        let answers = Hadoop::get()?.fair(questions)?;
        questions
            .iter()
            .zip(&answers)
            .map(|(question, answer)| compared(question, &imported(question, Source::fair), answer))
            .collect()
    })
}

#[test]
fn capacity_files_are_imported_as_in_hadoop() -> Result<()> {
    agree(20_000, &capacity_files(), |questions| {
        let answers = Hadoop::get()?.capacity(questions)?;
        questions
            .iter()
            .zip(&answers)
            .map(|(question, answer)| compared(question, &imported(question, Source::capacity), answer))
            .collect()
    })
}
