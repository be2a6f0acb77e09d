//! Prints reviews as they were given, or all in one format.

use serde_json::Value;

use super::judge::Answered;
use super::sorted::Form;
use crate::cli::Failure;
use crate::cli::ask::output::{self, Table};
use crate::cli::console::Console;

/// Maximum number of rows that are buffered for the widths of columns; a longer stream makes several tables.
const ROWS: usize = 1000;

/// Output format of reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One JSON object after another.
    Json,
    /// YAML documents.
    Yaml,
    /// A row for each review.
    Table,
}

/// Prints reviews as they are answered.
#[derive(Debug)]
pub struct Printer {
    format: Option<Format>,
    console: Console,
    table: Table,
    rows: usize,
    /// True if the next YAML document needs a marker.
    printed: bool,
}

impl Printer {
    /// Creates a printer that has printed nothing yet.
    pub fn new(format: Option<Format>, console: Console) -> Self {
        Self { format, console, table: heading(), rows: 0, printed: false }
    }

    /// Prints a review in its own form, or in the requested format.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn print(&mut self, answered: Answered, form: Form) -> Result<(), Failure> {
        let Answered { review, row, .. } = answered;
        match (self.format, form) {
            (Some(Format::Table), _) => self.row(row),
            (Some(Format::Yaml), _) | (None, Form::Yaml) => self.yaml(&review),
            (Some(Format::Json), _) | (None, Form::Json) => self.put(&output::json(&review)?),
            (None, Form::Line) => self.put(&format!("{review}\n")),
        }
    }

    /// Prints the buffered rows.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn finish(&mut self) -> Result<(), Failure> {
        if self.rows > 0 {
            self.rows = 0;
            let table = std::mem::replace(&mut self.table, heading());
            self.console.out(&table.text(true))?;
        }
        Ok(())
    }

    fn row(&mut self, row: [String; 4]) -> Result<(), Failure> {
        self.table.row(row);
        self.rows = self.rows.saturating_add(1);
        if self.rows == ROWS { self.finish() } else { Ok(()) }
    }

    fn yaml(&mut self, review: &Value) -> Result<(), Failure> {
        let text = output::yaml(review)?;
        let marker = if self.printed { "---\n" } else { "" };
        self.put(&format!("{marker}{text}"))
    }

    fn put(&mut self, text: &str) -> Result<(), Failure> {
        self.printed = true;
        Ok(self.console.out(text)?)
    }
}

fn heading() -> Table {
    Table::new(["USER", "ASKS TO", "ANSWER", "REASON"])
}
