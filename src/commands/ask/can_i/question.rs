//! The arguments of a question about one queue or one application.

use std::path::PathBuf;

use crate::output::console::{Emphasis, Look};
use crate::output::format::{self, AnswerFormat};
use crate::output::text::shown;
use crate::output::{Console, Failure, diagnostic};
use crate::source::identity::IdentityArgs;
use crate::source::input::source;
use crate::source::request::{self, AnyVerb, key_value};
use crate::source::session::{PastArgs, SourceArgs};
use go_compat::diag::Diagnostic;
use yunikorn::application::settings::KEYS;
use yunikorn::application::{ApplicationAcl, Dialect, Rules, properties};

/// A question about one queue or one application.
#[derive(Debug, Clone, clap::Args)]
pub struct RequestArgs {
    /// submit or administer, for a queue; view, modify, kill, logs or move, for an application
    #[arg(value_parser = request::any_verb)]
    pub(crate) verb: AnyVerb,
    /// The queue's full path, such as root.prod; or an application's name, together with --queue
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
    #[command(flatten)]
    pub(crate) application: ApplicationArgs,
    #[command(flatten)]
    pub(crate) past: PastArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Output format
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    pub(crate) format: AnswerFormat,
}

/// Extent of an answer for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// Nothing: the exit code is the answer.
    Nothing,
    /// One line.
    Line,
    /// Every step of the decision.
    Everything,
}

/// Options that describe an application.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Questions about an application")]
pub struct ApplicationArgs {
    /// The user the application runs as
    #[arg(long, value_name = "USER")]
    pub owner: Option<String>,
    /// The queue the application is in, if TARGET is the application's name
    #[arg(long, value_name = "PATH", value_parser = request::queue)]
    pub queue: Option<String>,
    /// The queue to move it to
    #[arg(long, value_name = "PATH", value_parser = request::queue)]
    pub to: Option<String>,
    /// Dialect of the rules: yunikorn, yarn-hadoop, yarn-cloudera or spark [default: yunikorn]
    #[arg(long, value_name = "DIALECT")]
    pub dialect: Option<Dialect>,
    /// A setting of the cluster or of the application, such as yarn.admin.acl="bob ops"; may be repeated
    #[arg(short = 'D', long = "setting", value_name = "KEY=VALUE", value_parser = key_value)]
    pub settings: Vec<(String, String)>,
    /// A file of settings in the format of Java properties, such as spark-defaults.conf; -D overrides it
    #[arg(long = "settings", value_name = "FILE")]
    pub file: Option<PathBuf>,
}

impl ApplicationArgs {
    /// Returns whether an option about an application is given.
    pub fn is_given(&self) -> bool {
        *self != Self::default()
    }

    pub(crate) fn acl(&self, console: Console) -> Result<ApplicationAcl, Failure> {
        let owner = self.owner.clone().filter(|owner| !owner.is_empty()).ok_or_else(|| {
            Failure::Usage("whose application is it? Name the user it runs as: --owner USER".to_owned())
        })?;
        let mut settings = self.file_settings()?;
        settings.extend(self.settings.iter().cloned());
        let settings = settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let dialect = self.dialect.unwrap_or_default();
        let (rules, findings) = Rules::read(dialect, settings);
        for finding in &findings {
            console.err(&diagnostic::draw(finding, None, None, console.look_err()));
        }
        if findings.iter().any(Diagnostic::is_error) {
            return Err(Failure::Undecided(format!("the settings are none that {dialect} reads")));
        }
        Ok(ApplicationAcl { owner, rules })
    }

    /// Returns the file's settings that concern access; it may have settings of all kinds.
    fn file_settings(&self) -> Result<Vec<(String, String)>, Failure> {
        let Some(path) = &self.file else { return Ok(Vec::new()) };
        let text = source::read_one(path)?.text;
        if text.trim_start().starts_with('<') {
            let words = "is XML, and settings are read as Java's properties: write each as `KEY=VALUE` on a \
                line of its own";
            return Err(Failure::Usage(format!("{} {words}", shown(path))));
        }
        let concerns_access = |key: &str| {
            let known = KEYS.iter().any(|(_, keys)| keys.contains(&key));
            known || key.split(['.', '-']).any(|part| part == "acl" || part == "acls")
        };
        let mut settings = properties::parse(&text);
        settings.retain(|(key, _)| concerns_access(key));
        Ok(settings)
    }
}

/// Returns `yes`, or `no` and the reason.
pub(crate) fn line(allowed: bool, reason: &str, look: Look) -> String {
    if allowed {
        return look.emphasize(Emphasis::Yes, "yes") + "\n";
    }
    format!("{} - {}\n", look.emphasize(Emphasis::No, "no"), format::visible(reason))
}
