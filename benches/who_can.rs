//! Benchmarks the question who may submit, for each of ten thousand queues. A figure is for one result.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use yunikorn::config::verdict;
use yunikorn::right::Right;
use yunikorn::version::Version;
use yunikorn_access::{Tree, who_can};

use crate::inputs;

pub(crate) fn everywhere(criterion: &mut Criterion) {
    let config = verdict(&inputs::queues(), &[], Version::V1_8).config.expect("a valid configuration");
    let tree = Tree::new(config.partition("default").expect("the partition")).expect("ACLs that activate");
    let ask = |tree: &Tree| -> usize {
        tree.queues().map(|(_, node)| who_can(tree, Right::Submit, node.path.as_str()).grantees.len()).sum()
    };
    let mut group = criterion.benchmark_group("who-can");
    group.sample_size(20).throughput(Throughput::Elements(u64::try_from(ask(&tree)).expect("a number")));
    group.bench_function("of every queue", |bencher| bencher.iter(|| ask(black_box(&tree))));
    group.finish();
}
