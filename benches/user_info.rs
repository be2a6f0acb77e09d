//! Benchmarks a decision of the user-info webhook about a new pod: for names that need no alias, for a
//! service account, and for as many aliases as one user has.

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;

use criterion::Criterion;
use yunikorn::admission::{AccessControl, Operation};
use yunikorn_access::alias::{MAX_ALIASES, SERVICE_ACCOUNT, groups_of_account};
use yunikorn_access::running::joins::Running;
use yunikorn_access::user_info::{Moment, Outcome, Owners, Request, Site, decide};

pub(crate) fn decisions(criterion: &mut Criterion) {
    let access = AccessControl::from_keys(&BTreeMap::new()).0;
    let (running, granted) = (Running::default(), BTreeSet::new());
    let sites = [Site { changed: true, ..Site::default() }];
    let mut group = criterion.benchmark_group("user-info");
    for (name, user, groups) in [
        ("plain names", "ann".to_owned(), ["devs", "system:authenticated"].map(str::to_owned).to_vec()),
        ("an account", format!("{SERVICE_ACCOUNT}spark:driver"), groups_of_account("spark")),
        ("all aliases", "ann".to_owned(), (0..MAX_ALIASES).map(|number| format!("team.{number}")).collect()),
    ] {
        let request = Request {
            operation: Operation::Create,
            kind: "Pod",
            is_replica_set: false,
            user: &user,
            groups: &groups,
            has_templates: true,
            sites: &sites,
            namespace: "spark",
            running: &running,
            owners: &Owners::Irrelevant,
            granted: &granted,
            moment: Moment::Mutating,
        };
        assert_eq!(decide(&request, &access).outcome, Outcome::Added, "{name}");
        group.bench_function(name, |bencher| bencher.iter(|| decide(black_box(&request), &access)));
    }
    group.finish();
}
