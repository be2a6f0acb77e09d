//! How the operator behaves with many objects: how much it writes, asks and holds, how long it takes, and
//! whether it stays that way.
//!
//! * [`counts`]: in the ordinary run: what is counted, with a few hundred objects.
//! * [`figures`]: `just scale`: ten thousand objects, a release build, times and memory.
//! * [`soak`]: `just soak`: changes without end.
//! * [`size`]: the queues and the grants; [`churn`]: their changes.
//! * [`followed`], [`versions`], [`calls`], [`samples`]: what a watch of them sees, every version of the
//!   output, what the operator asked of the API server, and what it took of the machine.

mod calls;
mod churn;
mod counts;
mod figures;
mod followed;
mod samples;
mod size;
mod soak;
mod versions;
