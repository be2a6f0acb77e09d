//! Checks of objects and ConfigMaps in files.
//!
//! * [`schema`]: queuewarden's objects against their schema.
//! * [`objects`]: queuewarden's objects by what they mean.
//! * [`config_maps`]: queues.yaml, and the keys of `YuniKorn`'s ConfigMaps.
//! * [`cross`]: findings that need all objects together.
//! * [`trees`]: findings that need the whole tree of queues.

pub mod config_maps;
pub mod cross;
pub mod objects;
pub mod trees;
