//! Caches the parsed texts of one plan for the next one.
//!
//! Parsing ten thousand queues is most of the cost of a plan, and the base and the live text rarely change
//! between plans. The cache does not affect the result: parsing a text always gives the same result, and a
//! test compares the two.

use std::sync::Arc;

use crate::effective::{AclDecisions, header};
use go_compat::diag::Diagnostic;
use go_compat::yaml::NodeIn;
use go_compat::yaml::edit::{self, Edit};
use yunikorn::config::{Assessment, verdict, verdict_of};
use yunikorn::{Config, Version};

/// The result of parsing one text as `YuniKorn` does.
#[derive(Debug)]
pub struct ParsedConfig {
    /// The text.
    pub text: String,
    /// Its queues, if it can be parsed.
    pub tree: Option<Arc<Config>>,
    /// Why a scheduler would not load it.
    pub refusal: Option<String>,
    /// True if a scheduler would start with it.
    pub starts: bool,
    /// All diagnostics about it.
    pub diagnostics: Vec<Diagnostic>,
}

/// The base with the decided ACLs in it.
#[derive(Debug, Clone)]
struct Rendering {
    base: Arc<ParsedConfig>,
    grants: Arc<AclDecisions>,
    /// The rendered text.
    body: Arc<ParsedConfig>,
}

/// A cache of the texts of the last plan, parsed by the rules of one `YuniKorn` version.
#[derive(Debug, Clone)]
pub struct ParseCache {
    version: Version,
    /// Each text, and whether the current plan has used it.
    texts: Vec<(Arc<ParsedConfig>, bool)>,
    rendering: Option<Rendering>,
}

impl Default for ParseCache {
    /// Creates an empty cache; [`plan_again`](crate::plan_again) sets the version.
    fn default() -> Self {
        Self::new(Version::Unknown)
    }
}

impl ParseCache {
    /// Makes an empty cache.
    pub fn new(version: Version) -> Self {
        Self { version, texts: Vec::new(), rendering: None }
    }

    /// Returns the version of `YuniKorn` whose rules apply.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Sets the version, and clears the cache if the version changes.
    pub(crate) fn set_version(&mut self, version: Version) {
        if self.version != version {
            *self = Self::new(version);
        }
    }

    /// Parses a text, or returns the cached result.
    pub fn read(&mut self, text: &str) -> Arc<ParsedConfig> {
        self.cached_or(text, |version| verdict(text, &[], version))
    }

    /// Parses a text that may be ours, without our header: the rest is the rendered text.
    pub(crate) fn parse_live(&mut self, text: &str) -> Arc<ParsedConfig> {
        self.read(Some(header::strip(text)).filter(|body| !body.is_empty()).unwrap_or(text))
    }

    /// Returns the queues of a text that may be one of ours.
    ///
    /// # Errors
    /// Fails when a running scheduler would not load the text.
    pub fn parse_accepted(&mut self, text: &str) -> Result<Arc<Config>, String> {
        let reading = self.parse_live(text);
        match reading.refusal {
            None => Ok(reading.tree.clone().unwrap_or_default()),
            // YuniKorn's messages refer to line numbers that include the lines of our header.
            Some(_) => Err(verdict(text, &[], self.version).refusal().unwrap_or_default()),
        }
    }

    /// Edits a text, and parses the result.
    ///
    /// # Errors
    /// Fails when the text cannot be edited only in those places.
    pub(crate) fn edited(&mut self, text: &str, edits: &[Edit]) -> Result<Arc<ParsedConfig>, Diagnostic> {
        let (text, proof) = edit::draft(text, edits)?;
        let document = proof.read(&text)?;
        Ok(self.of_document(&text, document))
    }

    /// Parses a text whose document was already parsed.
    fn of_document(&mut self, text: &str, document: NodeIn<'_>) -> Arc<ParsedConfig> {
        self.cached_or(text, |version| verdict_of(text, document, &[], version))
    }

    /// Returns the text from rendering these ACLs into this base, if that was the last rendering.
    pub(crate) fn rendered(
        &mut self,
        base: &Arc<ParsedConfig>,
        grants: &AclDecisions,
    ) -> Option<Arc<ParsedConfig>> {
        let last = self.rendering.as_ref().filter(|last| Arc::ptr_eq(&last.base, base))?;
        if *last.grants != *grants {
            return None;
        }
        // It may be the live text of the next plan.
        let same = self.texts.iter_mut().filter(|(parsed, _)| Arc::ptr_eq(parsed, &last.body));
        same.for_each(|(_, used)| *used = true);
        Some(Arc::clone(&last.body))
    }

    /// Caches the text from rendering these ACLs into this base.
    pub(crate) fn remember(
        &mut self,
        base: &Arc<ParsedConfig>,
        grants: &Arc<AclDecisions>,
        body: &Arc<ParsedConfig>,
    ) {
        let (base, grants, body) = (Arc::clone(base), Arc::clone(grants), Arc::clone(body));
        self.rendering = Some(Rendering { base, grants, body });
    }

    /// Removes texts that the most recent plan did not use.
    pub(crate) fn forget_unused(&mut self) {
        self.texts.retain(|(_, used)| *used);
        self.texts.iter_mut().for_each(|(_, used)| *used = false);
    }

    fn cached_or(&mut self, text: &str, read: impl FnOnce(Version) -> Assessment) -> Arc<ParsedConfig> {
        if let Some((parsed, used)) = self.texts.iter_mut().find(|(parsed, _)| parsed.text == text) {
            *used = true;
            return Arc::clone(parsed);
        }
        let verdict = read(self.version);
        let reading = Arc::new(ParsedConfig {
            text: text.to_owned(),
            refusal: verdict.refusal(),
            starts: verdict.starts.is_ok(),
            tree: verdict.config.map(Arc::new),
            diagnostics: verdict.diagnostics,
        });
        self.texts.push((Arc::clone(&reading), true));
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use go_compat::yaml::parse_in;

    const TEXT: &str = "partitions: [{name: default, queues: [{name: root}]}]";

    #[test]
    fn a_text_is_read_once_and_kept_while_plans_ask_for_it() {
        let mut cache = ParseCache::new(Version::V1_8);
        let first = cache.read(TEXT);
        cache.forget_unused();
        assert!(Arc::ptr_eq(&first, &cache.read(TEXT)));
        cache.forget_unused();
        assert!(Arc::ptr_eq(&first, &cache.read(TEXT)));
        cache.forget_unused();
        cache.forget_unused();
        assert!(!Arc::ptr_eq(&first, &cache.read(TEXT)), "nobody had asked for it");
    }

    #[test]
    fn what_is_not_taken_is_reported_in_yunikorns_words() {
        let live = |body: &str| header::join(&header::origin("x"), 7, body);
        let mut cache = ParseCache::new(Version::V1_8);
        assert!(Arc::ptr_eq(
            &cache.parse_accepted(&live(TEXT)).unwrap(),
            &cache.parse_accepted(TEXT).unwrap()
        ));
        let why = cache
            .parse_accepted(&live("partitions: [{name: default, queues: [{name: root, max: 1}]}]"))
            .unwrap_err();
        assert!(why.contains("line 3"), "{why}");
    }

    #[test]
    fn a_rendered_text_that_is_live_already_is_held_once() {
        let mut cache = ParseCache::new(Version::V1_8);
        let live = cache.parse_live(&header::join(&header::origin("x"), 7, TEXT));
        let document = parse_in(TEXT).unwrap().unwrap();
        assert!(Arc::ptr_eq(&live, &cache.of_document(TEXT, document)));
    }

    #[test]
    fn what_was_rendered_is_kept_with_its_base_and_is_known_when_it_is_live() {
        let mut cache = ParseCache::new(Version::V1_8);
        let (base, body) = (cache.read(TEXT), cache.read(&format!("{TEXT}\n")));
        let grants = Arc::new(AclDecisions::default());
        assert!(cache.rendered(&base, &grants).is_none());
        cache.remember(&base, &grants, &body);
        cache.forget_unused();
        assert!(cache.rendered(&base, &grants).is_some_and(|found| Arc::ptr_eq(&found, &body)));
        cache.forget_unused();
        assert!(Arc::ptr_eq(&cache.read(&body.text), &body));
        let again = cache.read(TEXT);
        assert!(
            cache.rendered(&again, &grants).is_none(),
            "the base was parsed, because it was not in the cache"
        );
    }
}
