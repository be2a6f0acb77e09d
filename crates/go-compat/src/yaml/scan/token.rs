//! What the scanner finds in the text (`yamlh.go`, `yaml_token_t`).

use std::borrow::Cow;

use super::cursor::Mark;
use crate::yaml::Style;

/// A token with its place.
#[derive(Debug)]
pub(in crate::yaml) struct Token<'t> {
    pub(in crate::yaml) kind: TokenKind<'t>,
    pub(in crate::yaml) start: Mark,
    pub(in crate::yaml) end: Mark,
}

/// What a token is, by libyaml's names.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::yaml) enum TokenKind<'t> {
    StreamStart,
    StreamEnd,
    VersionDirective { major: u8, minor: u8 },
    TagDirective { handle: String, prefix: String },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    Tag { handle: String, suffix: String },
    Scalar { value: Cow<'t, str>, style: Style },
}
