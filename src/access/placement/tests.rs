//! What each rule does, and how the chain of them ends.
