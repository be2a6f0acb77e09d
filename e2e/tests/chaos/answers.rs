//! The API server, or whatever is in between, answers wrongly: every call of the operator at least once, then all of them for a while.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use queuewarden_e2e::faults::Fault;
use queuewarden_e2e::wait::LONG;

use super::{Chaos, end, full, last, length};

/// An answer that is not the one, to each call when it is made first: at the start, and for a change.
async fn each_call_once(chaos: &mut Chaos<'_>, fault: Fault) -> Result<()> {
    let mut known = BTreeSet::new();
    chaos.proxy.forget();
    chaos.proxy.judge(move |call| known.insert(call.purpose()).then_some(fault));
    let operator = chaos.launch().await?;
    chaos.change().await?;
    chaos.recovers(&operator, LONG * 2).await?;
    let purposes: BTreeSet<String> =
        chaos.proxy.calls().iter().map(queuewarden_e2e::faults::Call::purpose).collect();
    for needed in ["WATCH", "GET", "PATCH", "POST", "PUT"] {
        ensure!(purposes.iter().any(|purpose| purpose.starts_with(needed)), "no {needed} among {purposes:?}");
    }
    // All of them, until it is over.
    chaos.proxy.judge(move |_| Some(fault));
    chaos.change().await?;
    last(length(3, 20)).await;
    chaos.proxy.heal();
    chaos.recovers(&operator, LONG * 2).await?;
    end(operator).await
}

async fn wrong_answers(faults: &[Fault]) -> Result<()> {
    Chaos::with(async |mut chaos| {
        for &fault in faults {
            each_call_once(&mut chaos, fault).await.map_err(|error| error.context(format!("{fault:?}")))?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn refusals_of_every_call_are_survived() -> Result<()> {
    let all = [409, 403, 429, 500, 504].map(Fault::Refuse);
    wrong_answers(if full() { &all } else { &all[..3] }).await
}

#[tokio::test]
async fn answers_that_get_lost_are_survived() -> Result<()> {
    let all = [Fault::Cut, Fault::Mask(500), Fault::Mask(504)];
    wrong_answers(if full() { &all } else { &all[..2] }).await
}

#[tokio::test]
#[ignore = "some minutes: every call has its time limit"]
async fn silence_to_every_call_is_survived() -> Result<()> {
    wrong_answers(&[Fault::Hang, Fault::Withhold]).await
}
