//! Comments that ignore warnings: `# queuewarden:ignore QW1014 the user is called none`, at the end of the
//! line of the warning, or on lines of their own above it.

use std::collections::BTreeMap;

use super::catalog::{BAD_SUPPRESSION, UNUSED_SUPPRESSION, code as known};
use crate::output::findings::MAX_FINDINGS;
use crate::output::text::{Source, SourceDiagnostic};
use go_compat::diag::{Code, Diagnostic, Severity, Span};

/// The word after `#` that begins such a comment.
const MARK: &str = "queuewarden:ignore";

/// The comments of all texts.
#[derive(Debug, Default)]
pub struct Suppressions {
    /// The comments by the text, the line and the code that they ignore.
    comments: BTreeMap<(usize, usize, Code), Suppression>,
    /// The number of findings that were ignored.
    ignored: usize,
}

#[derive(Debug)]
struct Suppression {
    /// The comment.
    span: Span,
    /// The worst that was found there.
    found: Option<Severity>,
}

impl Suppressions {
    /// Reads the comments in the texts. Returns a warning for each that is not written as it should be. A
    /// text with more of them than are listed is not read further.
    pub fn read(sources: &[Source]) -> (Self, Vec<SourceDiagnostic>) {
        let (mut all, mut wrong) = (Self::default(), Vec::new());
        for (index, source) in sources.iter().enumerate() {
            let mut offset = 0_usize;
            let mut waiting = Vec::new();
            let before = wrong.len();
            for (number, line) in (1..).zip(source.text.split_inclusive('\n')) {
                if wrong.len().saturating_sub(before) > MAX_FINDINGS {
                    break;
                }
                if let Some((at, words)) = comment(line) {
                    let span = Span::new(at, line.trim_end().len()).shifted(offset);
                    match parsed(words) {
                        Ok(code) => waiting.push((code, Suppression { span, found: None })),
                        Err(diagnostic) => wrong.push(SourceDiagnostic::new(index, diagnostic.at(span))),
                    }
                }
                if !line.trim_start().starts_with('#') {
                    let of_line = waiting.drain(..).map(|(code, comment)| ((index, number, code), comment));
                    all.comments.extend(of_line);
                }
                offset = offset.saturating_add(line.len());
            }
            all.comments.extend(waiting.into_iter().map(|(code, comment)| ((index, 0, code), comment)));
        }
        (all, wrong)
    }

    /// Removes the findings that a comment ignores, and counts them.
    pub fn remove(&mut self, sources: &[Source], found: &mut Vec<SourceDiagnostic>) {
        let all = found.len();
        found.retain(|finding| !self.covers(sources, finding));
        self.ignored = self.ignored.saturating_add(all.saturating_sub(found.len()));
    }

    /// Returns whether a comment ignores the finding.
    fn covers(&mut self, sources: &[Source], finding: &SourceDiagnostic) -> bool {
        let Diagnostic { code, severity, span, .. } = finding.diagnostic;
        let key = || {
            let index = finding.source.filter(|_| !self.comments.is_empty())?;
            Some((index, sources.get(index)?.lines().number(span?.start), code))
        };
        let Some(comment) = key().and_then(|key| self.comments.get_mut(&key)) else { return false };
        comment.found = comment.found.max(Some(severity));
        severity == Severity::Warning
    }

    /// Returns a warning for each comment that ignores nothing, of the codes that were looked for.
    pub fn unused(&self, looked_for: impl Fn(Code) -> bool) -> Vec<SourceDiagnostic> {
        let unused = self.comments.iter().filter_map(|(&(source, _, code), comment)| {
            let (message, help) = match comment.found {
                None if looked_for(code) => (
                    format!("this comment ignores nothing: there is no {code} on its line"),
                    "remove the comment",
                ),
                Some(Severity::Error) => {
                    (format!("{code} is an error here and cannot be ignored"), "fix the error")
                }
                _ => return None,
            };
            let diagnostic = Diagnostic::warning(UNUSED_SUPPRESSION, message).help(help);
            Some(SourceDiagnostic::new(source, diagnostic.at(comment.span)))
        });
        unused.collect()
    }

    /// Returns the part of a summary with the number of ignored warnings: `, 2 ignored by comments`.
    pub fn summary(&self) -> String {
        if self.ignored == 0 { String::new() } else { format!(", {} ignored by comments", self.ignored) }
    }
}

/// Finds the comment in a line: the offset of its `#`, and the words after the mark.
fn comment(line: &str) -> Option<(usize, &str)> {
    let (before, words) = line.split_once(MARK)?;
    let before = before.trim_end().strip_suffix('#')?;
    (before.is_empty() || before.ends_with([' ', '\t'])).then_some((before.len(), words))
}

/// Reads the code after the mark, which must be followed by a reason.
fn parsed(words: &str) -> Result<Code, Diagnostic> {
    let wrong = |message: String| {
        Diagnostic::warning(BAD_SUPPRESSION, message).help(format!("write `# {MARK} CODE REASON`"))
    };
    let (code, reason) = words.trim().split_once(char::is_whitespace).unwrap_or((words.trim(), ""));
    let code = known(code).map_err(|why| wrong(format!("nothing is ignored: {why}")))?;
    if reason.trim().is_empty() {
        return Err(wrong(format!("nothing is ignored: there is no reason after {code}")));
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use yunikorn::acl::codes::{CASE, KEYWORD, MULTIPLE_SPACES};

    fn sources(text: &str) -> Vec<Source> {
        vec![Source::new("a.yaml", text)]
    }

    /// Returns for each `^` in a text whether a finding there is ignored.
    fn ignored(text: &str, code: Code) -> Vec<bool> {
        let sources = sources(text);
        let (mut comments, wrong) = Suppressions::read(&sources);
        assert_eq!(wrong, []);
        let found = text.match_indices('^').map(|(at, _)| {
            let diagnostic = Diagnostic::warning(code, "odd").at(Span::new(at, at + 1));
            comments.covers(&sources, &SourceDiagnostic::new(0, diagnostic))
        });
        found.collect()
    }

    #[test]
    fn a_comment_ignores_its_line_or_the_one_below() {
        for (text, expected) in [
            ("a: ^ # queuewarden:ignore QW1014 why\nb: ^\n", [true, false]),
            ("# queuewarden:ignore QW1014 why\na: ^\nb: ^\n", [true, false]),
            ("a: ^\r\n  #queuewarden:ignore keyword why\r\n  b: ^\r\n", [false, true]),
            (
                "a: ^\n# queuewarden:ignore QW1014 why\n# queuewarden:ignore QW1008 why\n\nb: ^\n",
                [false, false],
            ),
            ("a: ^\n# queuewarden:ignore QW1014 why\n# more about it\nb: ^\n", [false, true]),
            ("a: ^#queuewarden:ignore QW1014 why\nb: ^\n", [false, false]),
        ] {
            assert_eq!(ignored(text, KEYWORD), expected, "{text:?}");
        }
        assert_eq!(ignored("a: ^ # queuewarden:ignore QW1014 why\n", CASE), [false]);
    }

    #[test]
    fn a_comment_needs_a_code_and_a_reason() {
        for (words, expected) in [
            ("", "nothing is ignored: there is no code ``"),
            ("QW9999 why", "nothing is ignored: there is no code `QW9999`"),
            ("QW1014", "nothing is ignored: there is no reason after QW1014"),
            ("QW1014  ", "nothing is ignored: there is no reason after QW1014"),
        ] {
            let text = format!("a: 1 # queuewarden:ignore {words}\n");
            let (comments, wrong) = Suppressions::read(&sources(&text));
            assert!(comments.comments.is_empty());
            assert_eq!(
                wrong.iter().map(|wrong| wrong.diagnostic.message.as_str()).collect::<Vec<_>>(),
                [expected]
            );
            let at = wrong.iter().find_map(|wrong| wrong.diagnostic.span).unwrap();
            assert_eq!(text.get(at.start..at.end), Some(text.trim_start_matches("a: 1 ").trim_end()));
        }
    }

    #[test]
    fn what_ignores_nothing_is_reported() {
        let sources = sources(
            "# queuewarden:ignore QW1001 why\na: ^ # queuewarden:ignore QW1014 why\n# queuewarden:ignore QW1008 why\n",
        );
        let (mut comments, _) = Suppressions::read(&sources);
        let reported = |comments: &Suppressions, looked_for: fn(Code) -> bool| {
            let reported = comments.unused(looked_for).into_iter().map(|unused| unused.diagnostic.message);
            reported.collect::<Vec<_>>()
        };
        assert_eq!(
            reported(&comments, |code| code == CASE),
            ["this comment ignores nothing: there is no QW1008 on its line"]
        );
        let error = Diagnostic::error(MULTIPLE_SPACES, "wrong").at(Span::new(35, 36));
        assert!(!comments.covers(&sources, &SourceDiagnostic::new(0, error)));
        assert_eq!(reported(&comments, |_| false), ["QW1001 is an error here and cannot be ignored"]);
        assert_eq!(reported(&comments, |_| true).len(), 3);
    }
}
