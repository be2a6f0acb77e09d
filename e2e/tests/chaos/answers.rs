//! Tests wrong responses from the API server, or from something in between: to every call of the operator at
//! least once, then to all of them for a while.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::faults::{Call, Fault};
use queuewarden_e2e::wait::LONG;

use super::{Chaos, end, last, length};

/// All wrong answers.
const FAULTS: [Fault; 9] = [
    Fault::Refuse(409),
    Fault::Refuse(403),
    Fault::Refuse(429),
    Fault::Refuse(500),
    Fault::Refuse(504),
    Fault::Cut,
    Fault::Garble,
    Fault::Mask(500),
    Fault::Mask(504),
];

/// Gives one of these responses, in turn, to the first occurrence of each call: at the start, and for a
/// change. Then to all calls for a while.
async fn wrong_answers(chaos: &mut Chaos<'_>, faults: &'static [Fault]) -> Result<()> {
    let (mut known, mut turns) = (BTreeSet::new(), faults.iter().cycle());
    chaos.proxy.forget();
    chaos.proxy.inject(move |call| known.insert(call.purpose()).then(|| turns.next().copied()).flatten());
    let operator = chaos.launch().await?;
    chaos.change().await?;
    chaos.recovers(&operator, LONG * 2).await?;
    let mut turns = faults.iter().cycle();
    chaos.proxy.inject(move |_| turns.next().copied());
    chaos.change().await?;
    last(length(3, 20)).await;
    chaos.proxy.heal();
    chaos.recovers(&operator, LONG * 2).await?;
    let purposes: BTreeSet<String> = chaos.proxy.calls().iter().map(Call::purpose).collect();
    for needed in ["WATCH", "GET", "PATCH", "POST", "PUT"] {
        ensure!(purposes.iter().any(|purpose| purpose.starts_with(needed)), "no {needed} among {purposes:?}");
    }
    end(operator).await
}

#[tokio::test]
async fn wrong_answers_to_every_call_are_survived() -> Result<()> {
    Chaos::with(async |mut chaos| wrong_answers(&mut chaos, &FAULTS).await).await
}

#[tokio::test]
#[ignore = "ten minutes: the same with one wrong answer after the other"]
async fn operator_survives_each_wrong_answer_to_every_call() -> Result<()> {
    Chaos::with(async |mut chaos| {
        for fault in FAULTS.chunks(1) {
            wrong_answers(&mut chaos, fault).await.with_context(|| format!("{fault:?}"))?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
#[ignore = "some minutes: every call has its time limit"]
async fn operator_survives_silence_to_every_call() -> Result<()> {
    Chaos::with(async |mut chaos| {
        for fault in [&[Fault::Hang], &[Fault::Withhold]] {
            wrong_answers(&mut chaos, fault).await.with_context(|| format!("{fault:?}"))?;
        }
        Ok(())
    })
    .await
}
