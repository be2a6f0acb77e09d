//! May this user submit to this queue? At each depth, a no and two kinds of yes.

use std::hint::black_box;

use criterion::Criterion;
use queuewarden::access::check::decide;
use queuewarden::access::{Index, Tree};
use queuewarden::model::config::verdict;
use queuewarden::model::identity::Identity;
use queuewarden::model::right::Right;

use crate::inputs;

pub(crate) fn decisions(criterion: &mut Criterion) {
    for inputs::Decision { name, config, lists, user, groups, allowed } in inputs::decisions() {
        let config = verdict(&config, &[]).config.expect("a valid configuration");
        let tree = Tree::of(config.partition("default").expect("the partition")).expect("ACLs that activate");
        let index = Index::of(&tree);
        let path = &lists.first().expect("a queue").path;
        let queue = index.locate(path).decides().expect("a queue");
        let holder = index.holder(&user, &groups);
        let identity = Identity { user: user.clone(), groups: groups.clone() };
        assert_eq!(index.allows(Right::Submit, path, &user, &groups), allowed, "{name}");

        let mut group = criterion.benchmark_group(format!("decision/{name}"));
        group.bench_function("from strings", |bencher| {
            bencher
                .iter(|| index.allows(Right::Submit, black_box(path), black_box(&user), black_box(&groups)));
        });
        group.bench_function("of a queue", |bencher| {
            bencher.iter(|| {
                index.allows_on(Right::Submit, black_box(queue), black_box(&user), black_box(&groups))
            });
        });
        group.bench_function("of a prepared subject", |bencher| {
            bencher.iter(|| black_box(&holder).holds(Right::Submit, black_box(queue)));
        });
        group.bench_function("with every step", |bencher| {
            bencher.iter(|| decide(&tree, Right::Submit, black_box(path), black_box(&identity)));
        });
        group.finish();
    }
}
