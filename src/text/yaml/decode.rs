//! Nodes to Go values by yaml.v3's rules.
