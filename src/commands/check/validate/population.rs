//! Reads files with the names that exist, for `--users` and `--groups`.

use std::path::Path;

use crate::output::Failure;
use crate::source::input::source;
use go_compat::go_regex::GoRegex;
use yunikorn_access::lint::Population;

/// Maximum number of expressions in a file of names: each is tried on each name that is not listed.
const MAX_EXPRESSIONS: usize = 1000;

/// Reads the names in a file.
///
/// # Errors
/// When it cannot be read, or has an expression that Go does not compile.
pub fn read(path: Option<&Path>) -> Result<Option<Population>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let source = source::read_one(path)?;
    let mut population = Population::default();
    for (number, line) in source.text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        match line.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some(pattern) => {
                let expression = GoRegex::new(pattern).map_err(|error| {
                    Failure::Usage(format!("{}:{}: {}", source.name, number + 1, error.message))
                })?;
                population.patterns.push(expression);
                if population.patterns.len() > MAX_EXPRESSIONS {
                    let name = &source.name;
                    return Err(Failure::Usage(format!(
                        "{name}: more than {MAX_EXPRESSIONS} expressions; join some with `|`"
                    )));
                }
            }
            None if line.is_empty() => {}
            None => {
                population.names.insert(line.to_owned());
            }
        }
    }
    Ok(Some(population))
}
