//! Requests to the API server and to `YuniKorn`'s scheduler, with limits on time and size.
//!
//! * [`call`]: one request to the API server, with a time limit.
//! * [`objects`]: the objects of queuewarden's own kinds.
//! * [`scheduler`]: the scheduler's REST service.

pub mod call;
pub mod objects;
pub mod scheduler;
