//! Texts with locations for messages, and the findings in them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::format::visible;
use go_compat::diag::{Diagnostic, Span};
use go_compat::lines::Lines;
use yunikorn::right::AclKey;

/// Name of standard input.
pub const STDIN: &str = "<stdin>";

/// One text that was read.
#[derive(Debug, Clone)]
pub struct Source {
    /// The name for people: the path as given, with invisible characters escaped, or `<stdin>`.
    pub name: String,
    /// The text.
    pub text: String,
    /// The file; without links in its path if it was found in a folder. `None` for standard input and texts
    /// that are no file.
    pub(crate) path: Option<PathBuf>,
    pub(crate) encoding: Encoding,
    pub(crate) reached: Reached,
    /// The parts that messages may quote, in their order; `None` for all.
    pub(crate) quotable: Option<Vec<Span>>,
    pub(crate) lines: OnceLock<Lines>,
}

/// Encoding of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Encoding {
    #[default]
    Utf8,
    /// UTF-16 with the low byte first, as PowerShell writes it.
    Utf16Le,
    /// UTF-16 with the high byte first.
    Utf16Be,
}

/// Place of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Reached {
    /// The command line names it.
    #[default]
    ByName,
    /// It was found in a folder.
    InFolder,
    /// It was found among the templates of a Helm chart.
    InTemplates,
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.path, &self.text) == (&other.name, &other.path, &other.text)
    }
}

impl Eq for Source {}

impl Source {
    /// Creates a text that messages may quote.
    pub fn new(name: impl AsRef<str>, text: impl Into<String>) -> Self {
        let (name, text) = (visible(name.as_ref()), text.into());
        let (encoding, reached) = (Encoding::default(), Reached::default());
        Self { name, text, path: None, encoding, reached, quotable: None, lines: OnceLock::new() }
    }

    /// Returns whether it was found in a folder: it may be a file of any kind.
    pub fn is_found(&self) -> bool {
        self.reached != Reached::ByName
    }

    /// Returns whether it is a template of a Helm chart, which only Helm can complete.
    pub fn is_template(&self) -> bool {
        self.reached == Reached::InTemplates && self.text.contains(TEMPLATE)
    }

    /// Returns a text as it is written into the file.
    pub fn encoded(&self, text: &str) -> Vec<u8> {
        match self.encoding {
            Encoding::Utf8 => text.as_bytes().to_vec(),
            Encoding::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Encoding::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        }
    }

    /// Returns the same as if it were found in a folder.
    #[cfg(test)]
    #[must_use]
    pub fn found(self) -> Self {
        Self { reached: Reached::InFolder, ..self }
    }

    /// Returns this source with another text.
    #[must_use]
    pub fn with_text(self, text: String) -> Self {
        Self { text, quotable: None, lines: OnceLock::new(), ..self }
    }

    /// Forbids messages to quote this source, except for the parts that [`Self::quote`] adds.
    #[must_use]
    pub fn unquoted(self) -> Self {
        Self { quotable: Some(Vec::new()), ..self }
    }

    /// Lets messages quote a part of the text.
    pub fn quote(&mut self, part: Span) {
        if let Some(parts) = &mut self.quotable {
            let before = parts.partition_point(|other| other.start <= part.start);
            parts.insert(before, part);
        }
    }

    /// Returns the part around a byte that messages may quote.
    pub fn quotable(&self, offset: usize) -> Option<Span> {
        let Some(parts) = &self.quotable else { return Some(Span::new(0, self.text.len())) };
        // The end of a part is also the start of the next, which comes first.
        let before = parts.partition_point(|part| part.start <= offset);
        let part = parts.get(before.checked_sub(1)?)?;
        (offset <= part.end).then_some(*part)
    }

    /// Returns the file; without links in its path if it was found in a folder. `None` for standard input.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the index of the lines.
    pub fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| Lines::new(&self.text))
    }

    /// Returns the one-based line and column of a byte; columns count characters.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        self.lines().position(&self.text, offset)
    }

    /// Returns `name:line:column` of a byte, as editors and compilers write it.
    pub fn at(&self, offset: usize) -> String {
        let (line, column) = self.position(offset);
        format!("{}:{line}:{column}", self.name)
    }
}

/// Returns a path for people, with invisible characters escaped.
pub fn shown(path: &Path) -> String {
    visible(&path.display().to_string())
}

/// Begins a placeholder of Helm's and Argo CD's templates, and of many other tools.
pub const TEMPLATE: &str = "{{";

/// A diagnostic with its text, to which its span refers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceDiagnostic {
    /// Index into the texts; `None` without a particular text.
    pub source: Option<usize>,
    /// `Kind/name` of the affected object, if any.
    pub object: Option<String>,
    /// The path of the affected queue, if any.
    pub queue: Option<String>,
    /// The affected ACL, if any.
    pub acl: Option<AclKey>,
    /// The diagnostic.
    pub diagnostic: Diagnostic,
}

impl SourceDiagnostic {
    /// Wraps a diagnostic without an object.
    pub fn new(source: impl Into<Option<usize>>, diagnostic: Diagnostic) -> Self {
        Self { source: source.into(), object: None, queue: None, acl: None, diagnostic }
    }
}
