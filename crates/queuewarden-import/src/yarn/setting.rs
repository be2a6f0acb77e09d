//! One ACL of the source: its text, its meaning to Hadoop, and its location.

use super::Refused;
use crate::configuration::Value;
use crate::xml::Text;
use crate::{FileDiagnostic, Location, codes};
use go_compat::diag::{Diagnostic, Span, quoted};
use yunikorn::application::{Reading, YarnAcl};

/// An ACL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The text, with variables replaced.
    pub text: String,
    /// The ACL as Hadoop reads it.
    pub acl: YarnAcl,
    /// True when it is written; otherwise it is the default.
    pub set: bool,
    /// The location of the text.
    pub location: Option<Location>,
    /// The file that it is written in, or could be.
    pub file: Option<usize>,
    verbatim: bool,
}

impl Setting {
    /// Returns the ACL of a queue that has none: everyone for the root, else nobody.
    pub(super) fn default_of(is_root: bool) -> Self {
        let (text, acl) = if is_root { ("*", YarnAcl::everyone()) } else { (" ", YarnAcl::nobody()) };
        Self { text: text.to_owned(), acl, set: false, location: None, file: None, verbatim: false }
    }

    /// Returns the default, everyone, for a file that does not set the ACL.
    pub(super) fn everyone_in(file: usize) -> Self {
        Self { file: Some(file), ..Self::default_of(true) }
    }

    /// Reads an ACL from an element of an XML file.
    pub(super) fn element(file: usize, text: Text, reading: Reading) -> Self {
        let acl = YarnAcl::parse(&text.text, reading);
        Self {
            acl,
            set: true,
            location: Some(Location { file, span: text.span }),
            file: Some(file),
            verbatim: text.verbatim,
            text: text.text,
        }
    }

    /// Reads an ACL from a property.
    ///
    /// # Errors
    /// Fails when Hadoop refuses it.
    pub(super) fn property(
        value: Value,
        reading: Reading,
        findings: &mut Vec<FileDiagnostic>,
    ) -> Result<Self, Refused> {
        if let Some(refusal) = value.refusal() {
            return Err(Box::new(refusal));
        }
        if let Some(variable) = &value.unbound {
            let message = format!(
                "the variable {} is not known here, so that this is read as {}",
                quoted(variable),
                quoted(&value.text)
            );
            let finding =
                Diagnostic::warning(codes::UNBOUND, message).help(format!("define it: -D {variable}=VALUE"));
            findings.push(FileDiagnostic::at(value.location, finding));
        }
        let acl = YarnAcl::parse(&value.text, reading);
        let (location, file) = (Some(value.location), Some(value.location.file));
        Ok(Self { acl, set: true, location, file, verbatim: value.verbatim, text: value.text })
    }

    /// Returns the location of a part of the text; the location of the whole text when that is not known.
    pub fn part(&self, part: Option<Span>) -> Option<Location> {
        let location = self.location?;
        let span = match part {
            Some(part) if self.verbatim => part.shifted(location.span.start),
            _ => location.span,
        };
        Some(Location { span, ..location })
    }
}
