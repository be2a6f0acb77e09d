//! Spells the evaluator's terms, for answers and for people.

use jiff::Timestamp;

use super::WrittenIn;
use yunikorn_access::decide::in_words;
use yunikorn_access::latest;
use yunikorn_access::tree::{Origin, TextLocation};

/// Returns an end as a cell of a table; empty where there is none.
pub fn until(end: Option<Timestamp>) -> String {
    end.map(in_words).unwrap_or_default()
}

impl From<&TextLocation> for WrittenIn {
    fn from(TextLocation { name, line, column, .. }: &TextLocation) -> Self {
        let name = name.to_string();
        Self { kind: "Text".to_owned(), name, line: *line, column: *column, until: None }
    }
}

impl From<&Origin> for WrittenIn {
    fn from(origin: &Origin) -> Self {
        match origin {
            Origin::Object { kind, name, until } => {
                let (kind, name) = ((*kind).to_owned(), name.clone());
                Self { kind, name, line: None, column: None, until: *until }
            }
            Origin::Text(location) => Self::from(location),
        }
    }
}

impl WrittenIn {
    /// `QueueAcl/prod`, `queues.yaml:9:20`
    pub fn words(&self) -> String {
        match (self.kind.as_str(), self.line, self.column) {
            ("Text", Some(line), Some(column)) => format!("{}:{line}:{column}", self.name),
            ("Text", ..) => self.name.clone(),
            (kind, ..) => format!("{kind}/{}", self.name),
        }
    }

    /// Returns the end of an entry that is written in these locations, as [`until`].
    pub fn until(origins: &[Self]) -> String {
        until(latest(origins.iter().map(|origin| origin.until)))
    }

    /// Joins several of them into one text.
    pub fn list(origins: &[Self]) -> String {
        origins.iter().map(Self::words).collect::<Vec<_>>().join(", ")
    }
}
