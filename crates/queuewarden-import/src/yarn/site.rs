//! Reads the access settings of yarn-site.xml: the switch of ACLs, and the administrators of the cluster.

use super::{Files, Refused, Scheduler, Setting, load};
use crate::configuration::Configuration;
use crate::{FileDiagnostic, codes};
use go_compat::diag::Diagnostic;
use yunikorn::application::codes as application_codes;
use yunikorn::application::settings::{KEYS, YARN_ADMIN, YARN_ENABLE};
use yunikorn::application::{Reading, Rules};

/// Loads the file into the configuration, and returns the administrators of the cluster; `None` without the
/// file. When the file does not set them, everyone is one (`YarnConfiguration.DEFAULT_YARN_ADMIN_ACL`).
pub(super) fn read(
    files: Files<'_>,
    scheduler: Scheduler,
    configuration: &mut Configuration,
    findings: &mut Vec<FileDiagnostic>,
) -> Result<Option<Setting>, Refused> {
    let Some((file, text)) = files.site else {
        let message =
            "without yarn-site.xml it is taken that ACLs bind, and that nobody administers the cluster";
        let finding = Diagnostic::warning(codes::NO_YARN_SITE, message).help("give it: --yarn-site FILE");
        findings.push(FileDiagnostic { file: None, diagnostic: finding });
        return Ok(None);
    };
    load(configuration, (file, text), findings)?;
    report_settings(configuration, files.reading, (scheduler, file), findings);
    let Some(value) = configuration.get(YARN_ADMIN) else { return Ok(Some(Setting::everyone_in(file))) };
    Setting::property(value, files.reading, findings).map(Some)
}

/// Reports settings that do not do what they seem to.
fn report_settings(
    configuration: &Configuration,
    reading: Reading,
    (scheduler, file): (Scheduler, usize),
    findings: &mut Vec<FileDiagnostic>,
) {
    let dialect = reading.dialect();
    let values: Vec<_> = KEYS
        .iter()
        .filter(|(of, _)| *of == dialect)
        .flat_map(|(_, keys)| keys.iter().chain(&LEGACY))
        .filter_map(|key| Some((*key, configuration.get(key)?)))
        .collect();
    let others = values.iter().filter(|(key, _)| *key != YARN_ADMIN);
    findings.extend(others.filter_map(|(_, value)| value.refusal()));
    let (rules, reported) =
        Rules::read(dialect, values.iter().map(|(key, value)| (*key, value.text.as_str())));
    for diagnostic in reported {
        // The translation reports on `yarn.admin.acl`, and the code below on the switch.
        let elsewhere = [application_codes::SWITCHED_OFF, application_codes::EVERYONE_ADMINISTERS];
        if elsewhere.contains(&diagnostic.code) || diagnostic.message.contains(YARN_ADMIN) {
            continue;
        }
        let location = values.iter().find(|(key, _)| diagnostic.message.contains(key));
        let location = location.map(|(_, value)| value.location);
        findings.push(FileDiagnostic::at(location, Diagnostic { span: None, ..diagnostic }));
    }
    if let Rules::Yarn(_, rules) = rules
        && !rules.enabled
    {
        let switch = configuration.get(YARN_ENABLE);
        let off = if switch.is_some() { "off" } else { "not set, and off by default" };
        let except = match scheduler {
            Scheduler::Fair => ", except that the fair scheduler still checks who may submit",
            Scheduler::Capacity => "",
        };
        let message = format!("`{YARN_ENABLE}` is {off}: everyone may do everything{except}");
        let finding = Diagnostic::error(codes::SWITCHED_OFF, message)
            .help(format!("--accept {} imports the ACLs as if they were in force", codes::SWITCHED_OFF));
        findings.push(match switch {
            Some(value) => FileDiagnostic::at(value.location, finding),
            None => FileDiagnostic { file: Some(file), diagnostic: finding },
        });
    }
}

/// Settings of `MapReduce` itself, which decide nothing here.
const LEGACY: [&str; 2] = ["mapreduce.cluster.acls.enabled", "mapreduce.cluster.administrators"];
