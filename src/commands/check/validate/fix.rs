//! `validate --fix`: applies exact fixes of findings to the files.

use std::fmt::Write as _;
use std::fs;

use crate::output::diagnostic::edit;
use crate::output::text::{Source, SourceDiagnostic};
use crate::output::{Failure, file};
use crate::source::input::Inputs;
use go_compat::diag::{Code, Diagnostic, Span, quoted};
use go_compat::yaml;

/// The changes of one file.
#[derive(Debug)]
pub struct FileFix<'a> {
    source: &'a Source,
    /// The replaced spans with their replacements, in order.
    edits: Vec<(&'a Diagnostic, Span, &'a str)>,
    text: String,
}

/// Returns the changes by the findings, and a note for each file that is left as it is because it cannot be
/// read as YAML or JSON, before or after its change.
pub fn changes<'a>(sources: &'a [Source], found: &'a [SourceDiagnostic]) -> (Vec<FileFix<'a>>, Vec<String>) {
    let of = |index| found.iter().filter(move |finding| finding.source == Some(index));
    let (mut changes, mut left) = (Vec::new(), Vec::new());
    for (index, source) in sources.iter().enumerate() {
        let elsewise = of(index).filter(|finding| {
            finding.diagnostic.replacement.is_some() && edit(source, &finding.diagnostic).is_none()
        });
        left.extend(elsewise.filter_map(|finding| {
            let at = source.at(finding.diagnostic.span?.start);
            Some(format!("{at} is not fixed: the text has a different form there"))
        }));
        if of(index).any(|finding| is_unreadable(finding.diagnostic.code)) {
            left.push(format!("{} is not fixed: it cannot be read; correct that first", source.name));
        } else if let Some(change) = change(source, of(index)) {
            if change.is_readable() {
                changes.push(change);
            } else {
                let help = "apply the fixes of the findings manually";
                left.push(format!("{} is not fixed: it would no longer be readable; {help}", source.name));
            }
        }
    }
    (changes, left)
}

fn is_unreadable(code: Code) -> bool {
    yaml::CODES.contains(&code)
}

fn change<'a>(source: &'a Source, found: impl Iterator<Item = &'a SourceDiagnostic>) -> Option<FileFix<'a>> {
    let mut edits: Vec<(&Diagnostic, Span, &str)> = found
        .filter_map(|SourceDiagnostic { diagnostic, .. }| {
            let (span, instead) = edit(source, diagnostic)?;
            Some((diagnostic, span, instead))
        })
        .collect();
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|(_, span, _)| *span);
    // Of two that replace the same text the first is made; the other is found again if it is still needed.
    edits.dedup_by(|(_, next, _), (_, before, _)| next.start < before.end);
    let mut text = source.text.clone();
    for (_, span, instead) in edits.iter().rev() {
        text.replace_range(span.start..span.end, instead);
    }
    Some(FileFix { source, edits, text })
}

impl FileFix<'_> {
    /// Returns whether the changed text can be read.
    fn is_readable(&self) -> bool {
        let again = Inputs::new(vec![self.source.clone().with_text(self.text.clone())]);
        !again.findings.iter().any(|finding| is_unreadable(finding.diagnostic.code))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// When that fails, or the file has changed since it was read.
    pub fn write(&self) -> Result<(), Failure> {
        let Some(path) = self.source.path() else { return Ok(()) };
        // In a folder links are followed only inside it, but a named one may lead anywhere.
        if path.is_symlink() {
            let why = "it is a symbolic link; pass its target instead";
            return Err(Failure::Output(format!("cannot write `{}`: {why}", self.source.name)));
        }
        let cannot = |why: String| Failure::Output(format!("cannot write `{}`: {why}", self.source.name));
        let read = fs::read(path).map_err(|error| cannot(error.to_string()))?;
        if read != self.source.encoded(&self.source.text) {
            return Err(cannot("it has changed since it was read; run the command again".to_owned()));
        }
        file::write(path, &self.source.encoded(&self.text)).map_err(|error| cannot(error.to_string()))
    }

    /// Lists the changes, one line for each finding.
    pub fn list(&self) -> String {
        let line = |(diagnostic, span, instead): &(&Diagnostic, Span, &str)| {
            let written = self.source.text.get(span.start..span.end).unwrap_or_default();
            let (at, written, instead) = (self.source.at(span.start), quoted(written), quoted(instead));
            format!("fixed[{}]: {at}: {instead} instead of {written}\n", diagnostic.code)
        };
        self.edits.iter().map(line).collect()
    }

    /// Returns the changed lines as a unified diff without context. No replacement has a line break, so the
    /// lines stay as many.
    pub fn diff(&self) -> String {
        let name = &self.source.name;
        let mut diff = format!("--- {name}\n+++ {name}\n");
        let lines = self.source.text.split_inclusive('\n').zip(self.text.split_inclusive('\n'));
        for (number, (before, behind)) in (1..).zip(lines).filter(|(_, (before, behind))| before != behind) {
            // Writing to a String does not fail.
            _ = writeln!(diff, "@@ -{number} +{number} @@");
            for (sign, line) in [('-', before), ('+', behind)] {
                let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
                _ = write!(diff, "{sign}{line}{end}");
            }
        }
        diff
    }
}
