//! One ACL of the source: its text, what Hadoop reads of it, and where it is written.

use crate::configuration::Value;
use crate::xml::Text;
use crate::{Finding, Place, codes};
use go_compat::diag::{Diagnostic, Span, quoted};
use yunikorn::application::{Reading, YarnAcl};

/// An ACL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its text, variables replaced.
    pub text: String,
    /// What Hadoop reads of it.
    pub acl: YarnAcl,
    /// Whether it is written; else it is the default.
    pub set: bool,
    /// Where.
    pub place: Option<Place>,
    /// The file that it is written in, or could be.
    pub file: Option<usize>,
    verbatim: bool,
}

impl Setting {
    /// The ACL of a queue that has none: everyone for the root, else nobody.
    pub(super) fn default_of(is_root: bool) -> Self {
        let (text, acl) = if is_root { ("*", YarnAcl::everyone()) } else { (" ", YarnAcl::nobody()) };
        Self { text: text.to_owned(), acl, set: false, place: None, file: None, verbatim: false }
    }

    /// A file does not say it, and the default is everyone.
    pub(super) fn everyone_in(file: usize) -> Self {
        Self { file: Some(file), ..Self::default_of(true) }
    }

    /// As an element of an XML file has it.
    pub(super) fn element(file: usize, text: Text, reading: Reading) -> Self {
        let acl = YarnAcl::parse(&text.text, reading);
        Self {
            acl,
            set: true,
            place: Some(Place { file, span: text.span }),
            file: Some(file),
            verbatim: text.verbatim,
            text: text.text,
        }
    }

    /// As a property has it.
    ///
    /// # Errors
    /// When Hadoop refuses it.
    pub(super) fn property(
        value: Value,
        reading: Reading,
        findings: &mut Vec<Finding>,
    ) -> Result<Self, Box<Finding>> {
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
            findings.push(Finding::at(value.place, finding));
        }
        let acl = YarnAcl::parse(&value.text, reading);
        let (place, file) = (Some(value.place), Some(value.place.file));
        Ok(Self { acl, set: true, place, file, verbatim: value.verbatim, text: value.text })
    }

    /// Where a part of the text is written; all of it where that cannot be told.
    pub fn part(&self, part: Option<Span>) -> Option<Place> {
        let place = self.place?;
        let span = match part {
            Some(part) if self.verbatim => part.shifted(place.span.start),
            _ => place.span,
        };
        Some(Place { span, ..place })
    }
}
