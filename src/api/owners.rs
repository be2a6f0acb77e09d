//! Owners of `ConfigMap` keys.
