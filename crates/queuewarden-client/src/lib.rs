//! Requests to the API server and to `YuniKorn`'s scheduler, with limits on time and size.
//!
//! * [`call`] sends one request to the API server, with a time limit.
//! * [`objects`] reads the objects of queuewarden's kinds.
//! * [`scheduler`] communicates with the scheduler's REST service.

pub mod call;
pub mod objects;
pub mod scheduler;
