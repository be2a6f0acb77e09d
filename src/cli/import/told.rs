//! Messages on standard error of every import of names: the findings, and the reason for a refusal.

use std::collections::BTreeSet;

use crate::cli::console::Console;
use crate::cli::findings::{self, Count, plural};
use crate::cli::input::source::Source as Text;
use crate::cli::input::{self, Inputs};
use go_compat::diag::Code;
use queuewarden_import::Finding;

/// Prints the findings, in the order of their locations.
pub(super) fn tell(texts: &[Text], findings: &[Finding], console: Console) -> Count {
    let mut shown: Vec<input::Finding> = findings
        .iter()
        .map(|finding| input::Finding {
            source: finding.file,
            object: None,
            diagnostic: finding.diagnostic.clone(),
        })
        .collect();
    shown.sort_by_key(|finding| (finding.source, finding.diagnostic.span.map(|span| span.start)));
    let inputs = Inputs { sources: texts.to_vec(), ..Inputs::default() };
    console.err(&findings::text(&inputs, &shown, console.color_err()));
    let count = Count::of(&shown);
    if count != Count::default() {
        console.err(&format!("{} in {}\n", count.text(), plural(texts.len(), "file")));
    }
    count
}

/// Prints the codes that would have to be acknowledged.
pub(super) fn refuse(leaks: &BTreeSet<Code>, console: Console) {
    if leaks.is_empty() {
        return;
    }
    let codes: Vec<String> = leaks.iter().map(ToString::to_string).collect();
    console.err(&format!(
        "error: refused, because access would be wider: change the map or the files, or --accept {}\n",
        codes.join(" --accept ")
    ));
}
