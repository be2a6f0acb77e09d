//! Output formats of answers: tables as kubectl prints them, CSV, JSON and YAML.

use serde::Serialize;

use crate::cli::Failure;
use go_compat::diag::show;

/// Output format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// A table.
    #[default]
    Table,
    /// A table with all columns.
    Wide,
    /// Only the names.
    Name,
    /// For programs; docs/schema describes the fields.
    Json,
    /// The same as YAML.
    Yaml,
    /// The wide table with commas, for spreadsheets.
    Csv,
}

/// Output format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum AnswerFormat {
    /// For people.
    #[default]
    Text,
    /// For programs; docs/schema describes the fields.
    Json,
    /// The same as YAML.
    Yaml,
}

impl AnswerFormat {
    /// Formats the answer for people or for programs.
    ///
    /// # Errors
    /// As [`json`].
    pub fn show<A: Serialize>(
        self,
        text: impl FnOnce() -> String,
        answer: impl FnOnce() -> A,
    ) -> Result<String, Failure> {
        match self {
            Self::Text => Ok(text()),
            Self::Json => json(&answer()),
            Self::Yaml => yaml(&answer()),
        }
    }
}

/// Options for the output of a list.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct FormatArgs {
    /// Output format
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    pub format: Format,
    /// Omit the line of column headers
    #[arg(long)]
    pub no_headers: bool,
}

impl FormatArgs {
    /// Formats a list: as a table, which may be wide, as names, or for programs.
    ///
    /// # Errors
    /// As [`json`].
    pub fn show(
        self,
        answer: &impl Serialize,
        table: impl FnOnce(bool) -> Table,
        names: impl FnOnce() -> String,
    ) -> Result<String, Failure> {
        match self.format {
            Format::Table | Format::Wide => {
                let table = table(self.format == Format::Wide);
                Ok(table.text(!self.no_headers && !table.is_empty()))
            }
            Format::Csv => Ok(table(true).csv(!self.no_headers)),
            Format::Name => Ok(names()),
            Format::Json => json(answer),
            Format::Yaml => yaml(answer),
        }
    }
}

/// The header of a last column that a table has only if something in it ends.
pub const UNTIL: &str = "UNTIL";

/// Columns and rows.
#[derive(Debug, Clone, Default)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with these columns.
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Returns the number of columns to show.
    fn columns(&self) -> usize {
        let last = self.header.len().saturating_sub(1);
        let ends = |row: &Vec<String>| row.get(last).is_some_and(|cell| !cell.is_empty());
        let nothing_ends =
            self.header.last().is_some_and(|name| name == UNTIL) && !self.rows.iter().any(ends);
        if nothing_ends { last } else { self.header.len() }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.rows.clear();
    }

    /// Returns whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Aligns the columns, three spaces apart, as kubectl does. Control characters are escaped.
    pub fn text(&self, headers: bool) -> String {
        let header = headers.then_some(&self.header);
        let lines: Vec<Vec<String>> = header
            .into_iter()
            .chain(&self.rows)
            .map(|row| row.iter().map(|cell| visible(cell)).collect())
            .collect();
        let width = |column: usize| {
            lines.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> =
            (0..self.columns()).map(|column| width(column).unwrap_or_default()).collect();
        let mut text = String::new();
        for row in &lines {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            text.push_str(cells.collect::<Vec<_>>().join("   ").trim_end());
            text.push('\n');
        }
        text
    }

    /// Formats the table as comma-separated values by RFC 4180, but with plain newlines.
    pub fn csv(&self, headers: bool) -> String {
        let (header, columns) = (headers.then_some(&self.header), self.columns());
        let line = |row: &Vec<String>| {
            row.iter().take(columns).map(|cell| csv_cell(cell)).collect::<Vec<_>>().join(",") + "\n"
        };
        header.into_iter().chain(&self.rows).map(line).collect()
    }
}

/// Escapes all invisible characters of a text.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| show(&mut shown, c));
    shown
}

fn csv_cell(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// Formats an answer as JSON, with a newline at its end.
///
/// # Errors
/// None for the types in this program.
pub fn json(answer: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(answer).map_err(|error| Failure::Output(error.to_string()))?;
    Ok(text + "\n")
}

/// Formats an answer as YAML.
///
/// # Errors
/// None for the types in this program.
pub fn yaml(answer: &impl Serialize) -> Result<String, Failure> {
    serde_saphyr::to_string(answer).map_err(|error| Failure::Output(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["QUEUE", "BY"]);
        table.row(["root.prod", "user sue"]);
        table.row(["root", "a\u{1b}[2J, \"b\""]);
        table
    }

    #[test]
    fn columns_stand_below_each_other() {
        let expected = "QUEUE       BY\nroot.prod   user sue\nroot        a\\u{1b}[2J, \"b\"\n";
        assert_eq!(table().text(true), expected);
        assert!(table().text(false).starts_with("root.prod   user sue\n"));
        assert_eq!(Table::new(["A"]).text(false), "");
    }

    #[test]
    fn an_end_has_a_column_where_there_is_one() {
        let table = |ends: [&str; 2]| {
            let mut table = Table::new(["WHO", UNTIL]);
            for end in ends {
                table.row(["sue", end]);
            }
            (table.text(true), table.csv(true))
        };
        assert_eq!(table(["", ""]), ("WHO\nsue\nsue\n".to_owned(), "WHO\nsue\nsue\n".to_owned()));
        let (text, csv) = table(["2026-11-27T18:00:00Z", ""]);
        assert_eq!(text, "WHO   UNTIL\nsue   2026-11-27T18:00:00Z\nsue\n");
        assert_eq!(csv, "WHO,UNTIL\nsue,2026-11-27T18:00:00Z\nsue,\n");
    }

    #[test]
    fn csv_quotes_what_would_be_read_otherwise() {
        let expected = "QUEUE,BY\nroot.prod,user sue\nroot,\"a\u{1b}[2J, \"\"b\"\"\"\n";
        assert_eq!(table().csv(true), expected);
    }
}
