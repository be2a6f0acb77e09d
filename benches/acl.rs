//! Benchmarks reading one ACL of forty names.

use std::hint::black_box;

use criterion::Criterion;
use yunikorn::acl;

use crate::inputs;

pub(crate) fn read(criterion: &mut Criterion) {
    let text = inputs::acl();
    let mut group = criterion.benchmark_group("acl");
    group.bench_function("parse", |bencher| bencher.iter(|| acl::parse(black_box(&text))));
    group.bench_function("lint", |bencher| bencher.iter(|| acl::lint(black_box(&text))));
    group.finish();
}
