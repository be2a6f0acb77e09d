//! Tests laws of the plan, on random clusters.

use proptest::prelude::*;

use super::*;
use crate::effective::{ParseCache, acl_of};
use crate::plan::plan_again;
use yunikorn::acl::{self, Acl};
use yunikorn::right::Right;
use yunikorn::version::Version;

const QUEUES: [&str; 5] = ["root", "root.prod", "root.prod.etl", "root.test", "root.gone"];

fn grant() -> impl Strategy<Value = Grant> {
    let name =
        || prop::sample::select(vec!["ann", "bob", "sue", "dev", "1bad", "a:b"]).prop_map(String::from);
    prop_oneof![
        Just(Grant::Everyone),
        Just(Grant::Nobody),
        prop::sample::select(vec!["", " ", "*", "ann dev", "ann  dev", " ops", "sue,*", "ann, bob"])
            .prop_map(|acl| Grant::Raw(acl.into())),
        (prop::collection::vec(name(), 0..3), prop::collection::vec(name(), 0..3))
            .prop_map(|(users, groups)| Grant::Lists { users, groups }),
    ]
}

fn object() -> impl Strategy<Value = QueueAclSpec> {
    let moment = || {
        prop::option::weighted(
            0.2,
            (-2_i64..3).prop_map(|hours| now() + jiff::SignedDuration::from_hours(hours)),
        )
    };
    let parts = (
        prop::sample::select(QUEUES.to_vec()),
        prop::option::of(grant()),
        prop::option::of(grant()),
        any::<bool>(),
        prop::bool::weighted(0.2),
    );
    (parts, moment(), moment()).prop_map(
        |((queue, submit, admin, extend, suspend), not_before, expires_at)| QueueAclSpec {
            partition: "default".into(),
            queue: queue.into(),
            submit,
            admin,
            base_acl: if extend { BaseAcl::Extend } else { BaseAcl::Replace },
            not_before,
            expires_at,
            suspend,
            delegated_by: None,
        },
    )
}

pub(super) fn random_cluster() -> impl Strategy<Value = Snapshot> {
    prop::collection::vec(object(), 0..6).prop_map(|specs| {
        let mut snapshot = cluster(BASE);
        snapshot.queue_acls =
            specs.into_iter().enumerate().map(|(i, spec)| Arc::new(entry(&format!("o{i}"), spec))).collect();
        snapshot
    })
}

fn acl_at(tree: &Config, queue: &str, right: Right) -> Acl {
    let queue = tree.partition("default").unwrap().queue(&QueuePath::parse(queue).unwrap());
    queue.map(|queue| acl_of(queue, right)).unwrap_or_default()
}

/// Returns the most that an object can grant.
fn most(grant: Option<&Grant>) -> Acl {
    match grant {
        None | Some(Grant::Nobody) => Acl::nobody(),
        Some(Grant::Everyone) => Acl::everyone(),
        Some(Grant::Raw(text)) => acl::parse(text).unwrap_or_default(),
        Some(Grant::Lists { users, groups }) => {
            let fine = |names: &[String], ok: fn(&str) -> bool| {
                names.iter().filter(|n| ok(n)).cloned().collect::<Vec<_>>()
            };
            Acl::named(&fine(users, acl::user_name_ok), &fine(groups, acl::group_name_ok)).unwrap()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_plan_that_was_applied_writes_nothing(snapshot in random_cluster()) {
        assert_at_rest(&settled(&snapshot));
    }

    #[test]
    fn the_order_of_the_objects_never_matters(snapshot in random_cluster()) {
        let mut turned = snapshot.clone();
        turned.queue_acls.reverse();
        prop_assert_eq!(plan(&snapshot), plan(&turned));
    }

    #[test]
    fn what_was_read_for_other_plans_changes_none(snapshots in prop::collection::vec((random_cluster(), any::<bool>()), 1..6)) {
        let mut known = ParseCache::new(Version::V1_8);
        for (mut snapshot, open) in snapshots {
            if open {
                let open = BASE.replace("'sue dev'", "'*'");
                snapshot.base = Some(map(YUNIKORN_DEFAULTS, &[(KEY, &open)]));
                snapshot.defaults.clone_from(&snapshot.base);
            }
            let done = settled(&snapshot).snapshot;
            for snapshot in [&snapshot, &done, &snapshot, &done, &done] {
                prop_assert_eq!(plan_again(snapshot, &mut known), plan(snapshot));
            }
        }
    }

    #[test]
    fn a_right_that_nobody_gets_takes_access_from_nobody(snapshot in random_cluster()) {
        let fits = |grant: &Grant| match grant {
            Grant::Lists { users, groups } => {
                let plain = users.iter().any(|name| acl::user_name_ok(name))
                    || groups.iter().any(|name| acl::group_name_ok(name));
                plain || users.is_empty() && groups.is_empty()
            }
            _ => true,
        };
        let mut without = snapshot.clone();
        without.queue_acls.retain_mut(|object| {
            let spec = spec_of(object);
            let had = spec.submit.is_some() || spec.admin.is_some();
            spec.submit.take_if(|grant| !fits(grant));
            spec.admin.take_if(|grant| !fits(grant));
            !had || spec.submit.is_some() || spec.admin.is_some()
        });
        let [one, other] = [&snapshot, &without].map(|snapshot| tree(&settled(snapshot).snapshot));
        for queue in QUEUES {
            for right in Right::ALL {
                prop_assert_eq!(acl_at(&one, queue, right), acl_at(&other, queue, right), "{} {:?}", queue, right);
            }
        }
    }

    #[test]
    fn no_queue_gets_more_than_the_base_and_the_objects_grant(snapshot in random_cluster()) {
        let base = config::verdict(BASE, &[], Version::V1_8).config.unwrap();
        let after = tree(&settled(&snapshot).snapshot);
        for queue in QUEUES {
            for right in Right::ALL {
                let granted = snapshot.queue_acls.iter().filter_map(|entry| entry.spec.as_ref().ok()).filter(|spec| spec.queue == queue);
                let limit = granted.fold(acl_at(&base, queue, right), |limit, spec| limit.union(&most(match right {
                    Right::Submit => spec.submit.as_ref(),
                    Right::Admin => spec.admin.as_ref(),
                })));
                let got = acl_at(&after, queue, right);
                prop_assert!(limit.contains(&got), "{queue} {right:?}: {got:?} exceeds {limit:?}");
            }
        }
    }

    #[test]
    fn who_suspends_an_object_lets_nobody_in(snapshot in random_cluster(), which in 0_usize..6, broken in any::<bool>()) {
        let before = settled(&snapshot).snapshot;
        let mut later = before.clone();
        if let Some(object) = later.queue_acls.get_mut(which) {
            let spec = spec_of(object);
            spec.suspend = true;
            if broken {
                spec.submit = Some(Grant::Raw("ann  dev".into()));
            }
        }
        let settled = settled(&later);
        assert_at_rest(&settled);
        prop_assert!(!crate::write::hold::widens(&tree(&before), &tree(&settled.snapshot)));
    }

    #[test]
    fn one_more_object_with_extend_takes_nothing_from_anyone(snapshot in random_cluster(), spec in object()) {
        let before = tree(&settled(&snapshot).snapshot);
        let mut more = snapshot;
        let extra = QueueAclSpec { base_acl: BaseAcl::Extend, ..spec };
        more.queue_acls.push(Arc::new(entry("extra", extra)));
        let after = tree(&settled(&more).snapshot);
        for queue in QUEUES {
            for right in Right::ALL {
                prop_assert!(acl_at(&after, queue, right).contains(&acl_at(&before, queue, right)), "{queue} {right:?}");
            }
        }
    }

    /// Checks statuses before the next write, while the text still grants all that the objects gave up.
    #[test]
    fn no_object_is_ready_while_the_text_grants_what_it_gave_up(
        snapshot in random_cluster(),
        specs in prop::collection::vec(object(), 6),
        forgotten in any::<bool>(),
    ) {
        let mut later = settled(&snapshot).snapshot;
        let written = tree(&later);
        for (entry, new) in later.queue_acls.iter_mut().zip(specs) {
            let entry = Arc::make_mut(entry);
            let old = entry.spec.as_ref().unwrap();
            // Another spec, or the same one outside its time.
            entry.spec = Ok(if forgotten { QueueAclSpec { not_before: None, expires_at: Some(now()), ..old.clone() } } else { new });
        }
        let desired = settled(&later).snapshot;
        let desired = tree(&desired);
        let granted = |at: &str, right: Right| {
            let path = QueuePath::parse(at).unwrap();
            path.lineage().fold(Acl::nobody(), |all, path| all.union(&acl_at(&desired, path.as_str(), right)))
        };
        spec(&mut later).mode = Mode::Observe;
        let before = later.clone();
        if forgotten {
            later.queue_acls.iter_mut().for_each(|entry| Arc::make_mut(entry).in_force = None);
        }
        let plan = plan(&later);
        for entry in &before.queue_acls {
            let Some(memory) = &entry.in_force else { continue };
            if !acl_condition(&plan, &entry.meta.name, "Ready").starts_with("True") {
                continue;
            }
            for (right, text) in [(Right::Submit, &memory.submit), (Right::Admin, &memory.admin)] {
                let once = text.as_deref().map_or_else(Acl::nobody, |text| acl::parse(text).unwrap());
                let left = acl_at(&written, &memory.queue, right).intersection(&once);
                let granted = granted(&memory.queue, right);
                prop_assert!(granted.contains(&left), "{} {right:?}: {left:?} beyond {granted:?}", entry.meta.name);
            }
        }
    }

    #[test]
    fn what_is_accepted_is_in_the_text(snapshot in random_cluster()) {
        let settled = settled(&snapshot);
        let after = tree(&settled.snapshot);
        for entry in &snapshot.queue_acls {
            let spec = entry.spec.as_ref().unwrap();
            if acl_condition(&settled.plan, &entry.meta.name, "Accepted") == "True/Accepted" {
                prop_assert!(acl_at(&after, &spec.queue, Right::Submit).contains(&most(spec.submit.as_ref())));
                prop_assert!(acl_at(&after, &spec.queue, Right::Admin).contains(&most(spec.admin.as_ref())));
            }
        }
    }
}
