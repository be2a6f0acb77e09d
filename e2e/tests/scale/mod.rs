//! Tests the operator with many objects: its writes, requests, memory and latency, and whether they stay
//! stable.
//!
//! * [`counts`]: numbers of requests in the ordinary run, with a few hundred objects.
//! * [`figures`]: `just scale`: ten thousand objects, a release build, times and memory.
//! * [`soak`]: `just soak`: endless changes.
//! * [`size`]: the queues and the grants; [`churn`]: their changes.
//! * [`followed`], [`versions`], [`calls`], [`samples`]: a watch of the objects, every version of the output,
//!   the operator's requests to the API server, and its use of the machine.

mod calls;
mod churn;
mod counts;
mod figures;
mod followed;
mod samples;
mod size;
mod soak;
mod versions;
