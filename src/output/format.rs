//! Output formats of answers: tables as kubectl prints them, CSV, JSON and YAML.

use std::iter;

use serde::Serialize;

use crate::output::console::{Emphasis, Look, wrapped};
use crate::output::{Console, Failure};
pub use go_compat::diag::visible;
use go_compat::diag::{cut, is_obeyed, plural, show};
use go_compat::go_json;
use yunikorn::queue::nearest;

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
    /// A table for comments on merge requests, which is cut if it is long.
    Markdown,
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
    /// Prints a list, as [`Self::show`] formats it for the terminal.
    ///
    /// # Errors
    /// As [`json`], and when it cannot be written.
    pub fn print(
        self,
        console: Console,
        answer: &impl Serialize,
        table: impl FnOnce(bool) -> Table,
        names: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        Ok(console.out(&self.show(console.look_out(), answer, table, names)?)?)
    }

    /// Formats a list: as a table, which may be wide, with this look, as names, or for programs.
    ///
    /// # Errors
    /// As [`json`].
    pub fn show(
        self,
        look: Look,
        answer: &impl Serialize,
        table: impl FnOnce(bool) -> Table,
        names: impl FnOnce() -> String,
    ) -> Result<String, Failure> {
        match self.format {
            Format::Table | Format::Wide => {
                let table = table(self.format == Format::Wide);
                Ok(table.with_look(!self.no_headers && !table.is_empty(), look))
            }
            Format::Csv => Ok(table(true).csv(!self.no_headers)),
            Format::Markdown => Ok(table(false).markdown()),
            Format::Name => Ok(names()),
            Format::Json => json(answer),
            Format::Yaml => yaml(answer),
        }
    }
}

/// The space between two columns.
const GAP: &str = "   ";
/// The header of a last column that a table has only if something in it ends.
pub const UNTIL: &str = "UNTIL";

/// Columns and rows.
#[derive(Debug, Clone, Default)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Row>,
    /// The column with the names that are emphasized.
    names: Option<usize>,
}

/// The cells of a row, and the texts below it.
#[derive(Debug, Clone, Default)]
struct Row {
    cells: Vec<String>,
    below: Vec<String>,
}

impl Table {
    /// Creates a table with these columns.
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Emphasizes the names in a column.
    #[must_use]
    pub fn with_names(self, column: usize) -> Self {
        Self { names: Some(column), ..self }
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(Row { cells: cells.into_iter().map(Into::into).collect(), below: Vec::new() });
    }

    /// Adds a text below the last row.
    pub fn below(&mut self, text: impl Into<String>) {
        if let Some(row) = self.rows.last_mut() {
            row.below.push(text.into());
        }
    }

    /// Returns the number of columns to show.
    fn columns(&self) -> usize {
        let last = self.header.len().saturating_sub(1);
        let ends = |row: &Row| row.cells.get(last).is_some_and(|cell| !cell.is_empty());
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

    /// Aligns the columns, three spaces apart, as kubectl does. Columns that do not fit into the width are
    /// printed below each row with their names. Control characters are escaped.
    pub fn text(&self, headers: bool, width: Option<usize>) -> String {
        self.with_look(headers, Look { color: false, width })
    }

    /// As [`Self::text`], with emphasized names.
    fn with_look(&self, headers: bool, look: Look) -> String {
        let width = look.width;
        let shown = |cells: &[String]| cells.iter().map(|cell| visible(cell)).collect::<Vec<_>>();
        let header = shown(&self.header);
        let rows: Vec<_> = self.rows.iter().map(|row| shown(&row.cells)).collect();
        let lines = || headers.then_some(&header).into_iter().chain(&rows);
        let longest =
            |column: usize| lines().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> =
            (0..self.columns()).map(|column| longest(column).unwrap_or_default()).collect();
        let ends = widths.iter().scan(0_usize, |next, width| {
            let end = next.saturating_add(*width);
            *next = end.saturating_add(GAP.len());
            Some(end)
        });
        let fitting = ends.take_while(|end| width.is_none_or(|width| *end <= width)).count().max(1);
        let aligned = |cells: &Vec<String>, names: Option<usize>| {
            let cells = cells.iter().zip(&widths).take(fitting).enumerate().map(|(column, (cell, width))| {
                let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
                let is_name = names == Some(column);
                let cell = if is_name { look.emphasize(Emphasis::Name, cell) } else { cell.clone() };
                cell + &padding
            });
            format!("{}\n", cells.collect::<Vec<_>>().join(GAP).trim_end())
        };
        let row = |(cells, row): (&Vec<String>, &Row)| {
            let others = header.iter().zip(cells).take(widths.len()).skip(fitting);
            let named = others.filter(|(_, cell)| !cell.is_empty()).map(|(name, cell)| match name.as_str() {
                "" => cell.clone(),
                name => format!("{name}: {cell}"),
            });
            let others = Some(named.collect::<Vec<_>>().join("; ")).filter(|others| !others.is_empty());
            let below = others.into_iter().chain(row.below.iter().map(|text| visible(text)));
            let below = below.map(|text| format!("  {}\n", wrapped(&text, 2, width)));
            iter::once(aligned(cells, self.names)).chain(below).collect::<String>()
        };
        headers
            .then(|| aligned(&header, None))
            .into_iter()
            .chain(rows.iter().zip(&self.rows).map(row))
            .collect()
    }

    /// Formats the first rows as Markdown, each cell as [`code`].
    pub fn markdown(&self) -> String {
        let columns = self.columns();
        if self.is_empty() {
            return String::new();
        }
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let cells = |row: &Row| line(row.cells.iter().take(columns).map(|cell| code(cell)).collect());
        let header = line(self.header.iter().take(columns).cloned().collect());
        let more = match self.rows.len().saturating_sub(MAX_ROWS) {
            0 => String::new(),
            more => format!("\nand {}\n", plural(more, "more row")),
        };
        let rows: String = self.rows.iter().take(MAX_ROWS).map(cells).collect();
        format!("{header}{}{rows}{more}", line(vec!["---".to_owned(); columns]))
    }

    /// Formats the table as comma-separated values by RFC 4180, but with plain newlines. Invisible characters
    /// are escaped.
    pub fn csv(&self, headers: bool) -> String {
        let (header, columns) = (headers.then_some(&self.header), self.columns());
        let line = |row: &Vec<String>| {
            row.iter().take(columns).map(|cell| csv_cell(cell)).collect::<Vec<_>>().join(",") + "\n"
        };
        header.into_iter().chain(self.rows.iter().map(|row| &row.cells)).map(line).collect()
    }
}

/// Formats a text as Markdown code, so that it cannot contain links, mentions or tags. Characters that would
/// end the code or a table cell are replaced, and long texts are truncated.
pub fn code(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '`' => shown.push('\''),
            '|' => shown.push_str("\\u{7c}"),
            _ => show(&mut shown, c),
        }
    }
    if shown.is_empty() { shown } else { format!("`{}`", cut(&shown, MAX_CODE)) }
}

/// Maximum number of rows in Markdown. With cells of [`MAX_CODE`] a comment of GitHub, which has at most
/// 65,536 characters, has room for them.
const MAX_ROWS: usize = 40;

/// Maximum number of characters of a code in Markdown.
const MAX_CODE: usize = 300;

/// The first characters of formulas in spreadsheets. The last four are the full-width forms of the others.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

fn csv_cell(cell: &str) -> String {
    // In front of an apostrophe spreadsheets read a text.
    let text = if cell.trim_start().starts_with(FORMULA) { "'" } else { "" };
    let cell = format!("{text}{}", visible(cell));
    if cell.contains([',', '"']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

/// Formats an answer as JSON, with a newline at its end.
///
/// # Errors
/// None for the types in this program.
pub fn json(answer: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(answer).map_err(|error| Failure::Output(error.to_string()))?;
    Ok(escaped_json(&(text + "\n")))
}

/// Escapes the characters in a JSON text that a terminal would obey and JSON allows in strings.
pub fn escaped_json(json: &str) -> String {
    go_json::escaped_json(json, |c| is_obeyed(c) && !matches!(c, '\n' | '\t'))
}

/// Formats an answer as YAML.
///
/// # Errors
/// None for the types in this program.
pub fn yaml(answer: &impl Serialize) -> Result<String, Failure> {
    let text = serde_saphyr::to_string(answer).map_err(|error| Failure::Output(error.to_string()))?;
    if text.contains(|c| is_obeyed(c) && !matches!(c, '\n' | '\t')) {
        // JSON is YAML that has an escape for each of them.
        return json(answer);
    }
    Ok(text)
}

/// Returns a suggestion for a similar name, or an empty text.
pub fn suggestion<'a>(names: impl IntoIterator<Item = &'a str>, text: &str) -> String {
    nearest(names, text).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        let text = "name `root.production.etl`, or add it";
        assert_eq!(wrapped(text, 2, Some(20)), "name\n  `root.production.etl`,\n  or add it");
        assert_eq!(wrapped("a b", 2, Some(5)), "a b");
        assert_eq!(wrapped("a b", 2, Some(4)), "a\n  b");
        assert_eq!(wrapped(text, 2, None), text);
        assert_eq!(wrapped("", 2, Some(40)), "");
    }

    #[test]
    fn columns_that_do_not_fit_stand_below_the_row() {
        let mut table = Table::new(["KIND", "NAME", "WRITTEN IN", UNTIL]);
        table.row(["User", "sue", "deploy/base.yaml:7:28 and QueueAcl/prod", "2026-11-27T18:00:00Z"]);
        table.row(["Group", "devs", "QueueAcl/prod", ""]);
        table.below("granted twice, by both");
        let expected = "\
KIND    NAME
User    sue
  WRITTEN IN: deploy/base.yaml:7:28 and
  QueueAcl/prod; UNTIL:
  2026-11-27T18:00:00Z
Group   devs
  WRITTEN IN: QueueAcl/prod
  granted twice, by both
";
        assert_eq!(table.text(true, Some(40)), expected);
        let whole = table.text(true, None);
        assert_eq!(table.text(true, Some(78)), whole, "the longest line has 78 columns");
        assert!(whole.starts_with("KIND    NAME   WRITTEN IN    ") && whole.contains("\n  granted twice"));
        let csv = "KIND,NAME,WRITTEN IN,UNTIL\nUser,sue,deploy/base.yaml:7:28 and QueueAcl/prod,";
        assert!(table.csv(true).starts_with(csv));
    }

    #[test]
    fn names_are_emphasized_only_with_colours_and_columns_stay_aligned() {
        let mut table = Table::new(["KIND", "NAME", "QUEUE"]).with_names(1);
        table.row(["User", "sue", "root"]);
        table.row(["Group", "d\u{1b}[31mevs", "root"]);
        let coloured = table.with_look(true, Look { color: true, width: None });
        let plain = table.text(true, None);
        assert!(coloured.contains("User    \u{1b}[1msue\u{1b}[0m "), "{coloured:?}");
        assert!(coloured.starts_with("KIND    NAME "), "{coloured:?}");
        assert_eq!(coloured.replace("\u{1b}[1m", "").replace("\u{1b}[0m", ""), plain);
        assert!(!plain.contains('\u{1b}') && !coloured.contains("[31m\u{1b}"), "{plain:?}");
    }

    /// A long name is whole, on a line that nothing shares with it.
    #[test]
    fn a_name_of_200_characters_stays_whole() {
        let mut table = Table::new(["KIND", "NAME", "QUEUE"]);
        let name = "a".repeat(200);
        table.row(["User", &name, "root.prod"]);
        table.below(format!("grants submit to user {name} on queue `root.prod`"));
        let expected = format!(
            "KIND\nUser\n  NAME:\n  {name};\n  QUEUE: root.prod\n  grants submit to user\n  {name}\n  on queue `root.prod`\n"
        );
        assert_eq!(table.text(true, Some(80)), expected);
    }

    fn table() -> Table {
        let mut table = Table::new(["QUEUE", "BY"]);
        table.row(["root.prod", "user sue"]);
        table.row(["root", "a\u{1b}[2J, \"b\""]);
        table
    }

    #[test]
    fn columns_stand_below_each_other() {
        let expected = "QUEUE       BY\nroot.prod   user sue\nroot        a\\u{1b}[2J, \"b\"\n";
        assert_eq!(table().text(true, None), expected);
        assert!(table().text(false, None).starts_with("root.prod   user sue\n"));
        assert_eq!(Table::new(["A"]).text(false, None), "");
    }

    #[test]
    fn an_end_has_a_column_where_there_is_one() {
        let table = |ends: [&str; 2]| {
            let mut table = Table::new(["WHO", UNTIL]);
            for end in ends {
                table.row(["sue", end]);
            }
            (table.text(true, None), table.csv(true))
        };
        assert_eq!(table(["", ""]), ("WHO\nsue\nsue\n".to_owned(), "WHO\nsue\nsue\n".to_owned()));
        let (text, csv) = table(["2026-11-27T18:00:00Z", ""]);
        assert_eq!(text, "WHO   UNTIL\nsue   2026-11-27T18:00:00Z\nsue\n");
        assert_eq!(csv, "WHO,UNTIL\nsue,2026-11-27T18:00:00Z\nsue,\n");
    }

    #[test]
    fn csv_quotes_what_would_be_read_otherwise() {
        let expected = "QUEUE,BY\nroot.prod,user sue\nroot,\"a\\u{1b}[2J, \"\"b\"\"\"\n";
        assert_eq!(table().csv(true), expected);
    }

    #[test]
    fn no_cell_of_csv_is_a_formula() {
        for (cell, expected) in [
            ("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
            ("@SUM(1)", "'@SUM(1)"),
            ("-2+3", "'-2+3"),
            ("+1", "'+1"),
            ("\t=1", "'\\t=1"),
            ("\r=1", "'\\r=1"),
            (" =1", "' =1"),
            ("＝1", "'＝1"),
            ("a=1", "a=1"),
            ("'=1", "'=1"),
            ("", ""),
        ] {
            assert_eq!(csv_cell(cell), expected);
        }
    }

    #[test]
    fn what_programs_read_has_no_raw_control_characters() {
        let name = "a\u{1b}\u{7f}\u{9b}\u{202e}\u{2028}\u{85}\r\n\t";
        let json = json(&[name]).unwrap();
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [name]);
        let yaml = yaml(&[name]).unwrap();
        assert_eq!(serde_saphyr::from_str::<Vec<String>>(&yaml).unwrap(), [name]);
        for text in [json, yaml] {
            assert!(!text.contains(|c| is_obeyed(c) && c != '\n'), "{text:?}");
        }
        assert_eq!(super::yaml(&["plain"]).unwrap(), "- plain\n");
    }

    #[test]
    fn no_cell_of_markdown_is_markup() {
        let mut table = Table::new(["WHO", "IN"]);
        for cell in ["a|b", "`x`", "<img src=x>", "a\nb\r\n| c", "@team", "\\", "\u{202e}x", ""] {
            table.row(["sue", cell]);
        }
        let expected = "| WHO | IN |\n| --- | --- |\n\
            | `sue` | `a\\u{7c}b` |\n\
            | `sue` | `'x'` |\n\
            | `sue` | `<img src=x>` |\n\
            | `sue` | `a\\nb\\r\\n\\u{7c} c` |\n\
            | `sue` | `@team` |\n\
            | `sue` | `\\` |\n\
            | `sue` | `\\u{202e}x` |\n\
            | `sue` |  |\n";
        assert_eq!(table.markdown(), expected);
        assert_eq!(Table::new(["A"]).markdown(), "");
    }

    #[test]
    fn markdown_has_room_in_a_comment() {
        // Names are in the subject, the queues, the objects and the partition.
        let mut table = Table::new([""; 4]);
        for _ in 0..MAX_ROWS + 3 {
            table.row(vec!["|".repeat(5000); 4]);
        }
        let text = table.markdown();
        assert!(text.ends_with("|\n\nand 3 more rows\n") && text.chars().count() < 60_000, "{}", text.len());
    }
}
