//! Options of every import of names: maps of names, acknowledged codes, and files.

use crate::source::catalog;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::output::Failure;
use crate::output::text::Source;
use crate::source::input::source;
use crate::source::session::reads_standard_input_once;
use go_compat::diag::{Code, Severity};
use queuewarden_import::names::Names;
use queuewarden_import::{Difference, Direction, FileDiagnostic, NameMap};

/// Options for the names in Kubernetes.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct NameArgs {
    /// Map of user names to Kubernetes: a template such as oidc:{u}, or a file with FROM=TO lines; may be
    /// repeated
    #[arg(long, value_name = "TEMPLATE|FILE")]
    user_map: Vec<String>,
    /// Map of group names to Kubernetes: a template such as hadoop-{g}, or a file with FROM=TO lines; may be
    /// repeated
    #[arg(long, value_name = "TEMPLATE|FILE")]
    group_map: Vec<String>,
}

/// Option for acknowledged codes.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Accepted {
    /// Continue despite this code of an error or of wider access; may be repeated
    #[arg(long, value_name = "CODE", value_parser = catalog::code)]
    accept: Vec<Code>,
}

impl NameArgs {
    /// Reads the maps.
    pub(super) fn read(&self) -> Result<Names, Failure> {
        Ok(Names { users: map(&self.user_map, "{u}")?, groups: map(&self.group_map, "{g}")? })
    }
}

impl Accepted {
    /// Turns acknowledged findings into warnings.
    pub(super) fn acknowledge(&self, findings: &mut [FileDiagnostic]) {
        for finding in findings {
            if self.accept.contains(&finding.diagnostic.code) {
                finding.diagnostic.severity = Severity::Warning;
            }
        }
    }

    /// Returns the codes of wider access that are not acknowledged.
    pub(super) fn leaks<'a>(&self, differences: impl Iterator<Item = &'a Difference>) -> Vec<String> {
        let wider = differences.filter(|difference| difference.direction == Direction::Wider);
        let codes: BTreeSet<Code> = wider.map(|difference| difference.code).collect();
        codes.iter().filter(|code| !self.accept.contains(code)).map(ToString::to_string).collect()
    }
}

/// Reads the files to import from; `-` may be among them once.
pub(super) fn texts<'a>(paths: impl Iterator<Item = &'a PathBuf> + Clone) -> Result<Vec<Source>, Failure> {
    reads_standard_input_once(paths.clone())?;
    paths.map(|path| source::read_one(path)).collect()
}

/// Builds a map of names from templates and files.
fn map(given: &[String], placeholder: &str) -> Result<NameMap, Failure> {
    given.iter().try_fold(NameMap::default(), |map, given| {
        if given.contains(placeholder) {
            return map.with_template(given, placeholder).map_err(Failure::Usage);
        }
        let file = source::read_one(Path::new(given))?;
        map.with_pairs(&file.text).map_err(|error| Failure::Usage(format!("{given}: {error}")))
    })
}
