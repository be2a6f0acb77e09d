//! The bed: a real cluster out of local processes.
