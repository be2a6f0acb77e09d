//! Custom resources.
