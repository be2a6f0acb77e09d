//! Benchmarks loading the text of ten thousand queues into the evaluator, as a whole and step by step.

use std::hint::black_box;

use criterion::{BatchSize, Criterion};
use go_compat::yaml::parse_in;
use yunikorn::config::{self, Config, verdict};
use yunikorn::version::Version;
use yunikorn_access::Tree;

use crate::inputs;

pub(crate) fn load(criterion: &mut Criterion) {
    let text = inputs::queues();
    let config = verdict(&text, &[], Version::V1_8).config.expect("a valid configuration");
    let mut group = criterion.benchmark_group("load");
    group.sample_size(20);
    group.bench_function("yaml", |bencher| bencher.iter(|| parse_in(black_box(&text))));
    group.bench_function("read", |bencher| bencher.iter(|| config::read(black_box(&text))));
    group.bench_function("verdict", |bencher| bencher.iter(|| verdict(black_box(&text), &[], Version::V1_8)));
    group.bench_function("tree", |bencher| bencher.iter(|| self::tree(black_box(&config))));
    group.bench_function("ready", |bencher| {
        bencher.iter_batched_ref(|| self::tree(&config), |tree| tree.make_ready(), BatchSize::PerIteration);
    });
    group.bench_function("all", |bencher| {
        bencher.iter(|| {
            let verdict = verdict(black_box(&text), &[], Version::V1_8);
            let tree = self::tree(verdict.config.as_ref().expect("a valid configuration"));
            tree.make_ready();
            tree
        });
    });
    group.finish();
}

fn tree(config: &Config) -> Tree {
    Tree::new(config.partition("default").expect("the partition")).expect("ACLs that activate")
}
