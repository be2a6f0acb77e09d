//! Compares the speed of queuewarden with the systems whose answers it gives, in one run: `YuniKorn`'s Go and
//! Hadoop's Java.
//!
//! Rounds of all three alternate, so that other load on the machine affects each of them equally, and only
//! the fastest round of each figure is used. Prints a table in Markdown. The inputs are the same as in the
//! criterion benchmarks (`benches/inputs/mod.rs`).

#[path = "../../../benches/inputs/mod.rs"]
mod inputs;
mod others;
mod ours;
mod table;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde_json::json;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Nanoseconds by name of the measurement.
type Figures = BTreeMap<String, f64>;

/// Number of rounds per program. More rounds do not change the result, and each takes about a minute.
const ROUNDS: usize = 3;

fn main() -> Result<()> {
    let rounds = match std::env::args().nth(1) {
        Some(rounds) => rounds.parse().context("the argument is the number of rounds")?,
        None => ROUNDS,
    };
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("inputs.json");
    std::fs::write(&file, inputs_as_json().to_string())?;
    let [mut yunikorn, mut hadoop] = [others::Other::yunikorn(&file), others::Other::hadoop(&file)?];
    let mut fastest: [Figures; 3] = Default::default();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        let [mine, go, java] = &mut fastest;
        keep_fastest(mine, ours::figures()?);
        keep_fastest(go, yunikorn.figures()?);
        keep_fastest(java, hadoop.figures()?);
    }
    print!("{}", table::table(&fastest[0], &fastest[1], &fastest[2]));
    Ok(())
}

fn keep_fastest(fastest: &mut Figures, round: Figures) {
    for (name, figure) in round {
        fastest.entry(name).and_modify(|known| *known = known.min(figure)).or_insert(figure);
    }
}

fn inputs_as_json() -> serde_json::Value {
    let decisions = inputs::decisions().into_iter().map(|decision| {
        let lists = decision
            .lists
            .iter()
            .map(|lists| json!({"path": lists.path, "submit": lists.submit, "admin": lists.admin}));
        json!({
            "name": decision.name,
            "config": decision.config,
            "lists": lists.collect::<Vec<_>>(),
            "user": decision.user,
            "groups": decision.groups,
            "allowed": decision.allowed,
        })
    });
    json!({
        "acl": inputs::acl(),
        "queues": inputs::queues(),
        "decisions": decisions.collect::<Vec<_>>(),
    })
}
