//! Messages on standard error of every import of names: the findings, and the reason for a refusal.

use super::answer::ImportAnswer;
use super::arguments::Accepted;
use super::compared;
use crate::cli::console::Console;
use crate::cli::findings::{self, Count, plural};
use crate::cli::input::source::Source as Text;
use crate::cli::input::{self, Inputs};
use go_compat::diag::Code;
use queuewarden_import::Finding;

/// Prints the findings, in the order of their locations, and returns the answer with them. Acknowledged
/// errors are warnings.
pub(super) fn findings(
    texts: &[Text],
    mut findings: Vec<Finding>,
    accepted: &Accepted,
    console: Console,
) -> ImportAnswer {
    accepted.acknowledge(&mut findings);
    let answer = ImportAnswer::of(texts, &findings);
    findings.sort_by_key(|finding| (finding.file, finding.diagnostic.span.map(|span| span.start)));
    let shown: Vec<input::Finding> = findings
        .into_iter()
        .map(|Finding { file, diagnostic }| input::Finding { source: file, object: None, diagnostic })
        .collect();
    let inputs = Inputs { sources: texts.to_vec(), ..Inputs::default() };
    console.err(&findings::text(&inputs, &shown, console.color_err()));
    let count = Count::of(&shown);
    if count != Count::default() {
        console.err(&format!("{} in {}\n", count.text(), plural(texts.len(), "file")));
    }
    answer
}

/// Prints the comparison, and the codes of wider access that would have to be acknowledged. Returns the
/// answer with them.
pub(super) fn compared(
    answer: ImportAnswer,
    wider: impl Iterator<Item = Code>,
    accepted: &Accepted,
    console: Console,
) -> ImportAnswer {
    console.err(&compared::text(&answer));
    let leaks = accepted.leaks(wider);
    if !leaks.is_empty() {
        let codes: Vec<String> = leaks.iter().map(ToString::to_string).collect();
        console.err(&format!(
            "error: refused, because access would be wider: change the map or the files, or --accept {}\n",
            codes.join(" --accept ")
        ));
    }
    answer.refused_for(&leaks)
}

/// Returns whether the import is refused.
pub(super) fn refuses(answer: &ImportAnswer) -> bool {
    !answer.unacknowledged.is_empty() || answer.findings.iter().any(|finding| finding.is_error)
}
