//! Benchmarks of the pure core: `just bench`, with a part of a name after it to select some of them.
//!
//! `e2e/compare` compares the figures with other implementations, on the same inputs.

#![expect(clippy::expect_used, reason = "an input that is refused ends the run")]

mod acl;
mod decision;
mod inputs;
mod load;
mod plan;
mod user_info;
mod who_can;

use criterion::Criterion;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    acl::read(&mut criterion);
    load::load(&mut criterion);
    plan::plans(&mut criterion);
    decision::decisions(&mut criterion);
    who_can::everywhere(&mut criterion);
    user_info::decisions(&mut criterion);
    criterion.final_summary();
}
