//! Benchmarks a decision about a submission, at each depth: a no and two kinds of yes.

use std::hint::black_box;

use criterion::Criterion;
use yunikorn::config::verdict;
use yunikorn::identity::Identity;
use yunikorn::right::Right;
use yunikorn::version::Version;
use yunikorn_access::decide::{decide, explain};
use yunikorn_access::{GrantingEntry, Tree};

use crate::inputs;

pub(crate) fn decisions(criterion: &mut Criterion) {
    for inputs::Decision { name, config, lists, user, groups, allowed } in inputs::decisions() {
        let config = verdict(&config, &[], Version::V1_8).config.expect("a valid configuration");
        let tree =
            Tree::new(config.partition("default").expect("the partition")).expect("ACLs that activate");
        let path = &lists.first().expect("a queue").path;
        let queue = tree.locate(path).decides().expect("a queue");
        let identity = Identity { user, groups };
        assert_eq!(decide(&tree, Right::Submit, path, &identity).allowed(), allowed, "{name}");

        let mut group = criterion.benchmark_group(format!("decision/{name}"));
        group.bench_function("decide", |bencher| {
            bencher.iter(|| decide(&tree, Right::Submit, black_box(path), black_box(&identity)));
        });
        group.bench_function("of a queue", |bencher| {
            bencher
                .iter(|| GrantingEntry::find(&tree, Right::Submit, black_box(queue), black_box(&identity)));
        });
        group.bench_function("explain", |bencher| {
            bencher.iter(|| explain(&tree, Right::Submit, black_box(path), black_box(&identity)));
        });
        group.finish();
    }
}
