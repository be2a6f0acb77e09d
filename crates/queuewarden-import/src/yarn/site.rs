//! Parses the access settings of yarn-site.xml, which are the switch for ACLs and the cluster administrators,
//! and of mapred-site.xml.

use super::{Files, Refused, Scheduler, Setting, load};
use crate::configuration::Configuration;
use crate::{FileDiagnostic, codes};
use go_compat::diag::Diagnostic;
use yunikorn::application::settings::{
    KEYS, LEGACY, MODIFY_ACL, VIEW_ACL, YARN_ADMIN, YARN_ENABLE, YARN_MODIFY, YARN_VIEW,
};
use yunikorn::application::yarn_acl::trim;
use yunikorn::application::{Reading, Rules, codes as application_codes};

/// Loads the file into the configuration, and returns the cluster administrators, or `None` without the file.
/// If the file does not set them, everyone is an administrator (`YarnConfiguration.DEFAULT_YARN_ADMIN_ACL`).
pub(super) fn read(
    files: Files<'_>,
    scheduler: Scheduler,
    configuration: &mut Configuration,
    findings: &mut Vec<FileDiagnostic>,
) -> Result<Option<Setting>, Refused> {
    let Some((file, text)) = files.site else {
        let message = "without yarn-site.xml, ACLs are assumed to be enabled, and the cluster to have no administrators";
        let finding = Diagnostic::warning(codes::NO_YARN_SITE, message).help("pass it with --yarn-site FILE");
        findings.push(FileDiagnostic { file: None, diagnostic: finding });
        return Ok(None);
    };
    load(configuration, (file, text), findings)?;
    report_settings(configuration, files.reading, (scheduler, file), findings);
    let Some(value) = configuration.get(YARN_ADMIN) else { return Ok(Some(Setting::everyone_in(file))) };
    Setting::property(value, files.reading, findings).map(Some)
}

/// Reports settings that have an unexpected effect.
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
    findings.extend(others.filter_map(|(_, value)| value.check().err().map(|refused| *refused)));
    let (rules, reported) =
        Rules::read(dialect, values.iter().map(|(key, value)| (*key, value.text.as_str())));
    for diagnostic in reported {
        // The translation reports on `yarn.admin.acl`; the code below reports on the switch.
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

// Parses the access settings of mapred-site.xml as a job does (`ConfigUtil.loadResources` of
// hadoop-mapreduce-client-core 3.4.1: before yarn-site.xml, whose settings override them).
//
// A job sends `mapreduce.job.acl-view-job` and `-modify-job` to YARN, as ACLs of the application. The
// cluster's switch and administrators concern `MapReduce`'s own servers, and nothing reads the queue ACLs of
// `MapReduce` 1 any more.

/// An ACL that applies to each job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfJobs {
    /// The setting.
    pub key: &'static str,
    /// The annotation with the same meaning for an application in `YuniKorn`.
    pub annotation: &'static str,
    /// The value of the setting.
    pub setting: Setting,
}

/// The switch and the administrators of the application master and the history server, the last with its name
/// from `MapReduce` 1.
const SERVERS: [&str; 3] =
    ["mapreduce.cluster.acls.enabled", "mapreduce.cluster.administrators", "mapred.acls.enabled"];
/// The queue that jobs are submitted to.
const QUEUE: [&str; 2] = ["mapreduce.job.queuename", "mapred.job.queue.name"];
/// The prefix and the possible suffixes of the queue ACLs of `MapReduce` 1.
const OLD: (&str, [&str; 2]) = ("mapred.queue.", [".acl-submit-job", ".acl-administer-jobs"]);

/// Reads the ACLs that apply to each job; empty without mapred-site.xml.
pub(super) fn of_jobs(files: Files<'_>, findings: &mut Vec<FileDiagnostic>) -> Result<Vec<OfJobs>, Refused> {
    let Some(mapred) = files.mapred else { return Ok(Vec::new()) };
    let mut configuration = Configuration::defining(files.defined.iter().cloned());
    load(&mut configuration, mapred, findings)?;
    for name in configuration.names() {
        let Some(value) = configuration.get(name) else { continue };
        // An empty queue setting does not name a queue.
        if QUEUE.contains(&name) && trim(&value.text).is_empty() {
            continue;
        }
        if let Some(diagnostic) = beside(name) {
            findings.push(FileDiagnostic::at(value.location, diagnostic));
        }
    }
    if let Some(site) = files.site {
        // Errors in yarn-site.xml were reported when it was read for the scheduler.
        load(&mut configuration, site, &mut Vec::new())?;
    }
    let settings = [(YARN_VIEW, VIEW_ACL), (YARN_MODIFY, MODIFY_ACL)].into_iter();
    let read = |(key, annotation)| {
        let setting = Setting::property(configuration.get(key)?, files.reading, findings);
        Some(setting.map(|setting| OfJobs { key, annotation, setting }))
    };
    settings.filter_map(read).collect()
}

/// Returns the finding for a setting that is not an ACL of jobs.
fn beside(name: &str) -> Option<Diagnostic> {
    let (begin, ends) = OLD;
    let (code, message, help) = if SERVERS.contains(&name) {
        (
            application_codes::LEGACY,
            format!("`{name}` configures MapReduce's own servers and is not imported"),
            format!("YARN uses `{YARN_ENABLE}` and `{YARN_ADMIN}` in yarn-site.xml"),
        )
    } else if QUEUE.contains(&name) {
        (
            codes::PLACEMENT,
            format!("`{name}` is not imported: YuniKorn takes the queue from a label of the pods"),
            "write the label `queue` on the pods".to_owned(),
        )
    } else if name.starts_with(begin) && ends.iter().any(|end| name.ends_with(end)) {
        (
            codes::IGNORED,
            format!("`{name}` is an ACL of MapReduce 1, which YARN ignores"),
            "set the ACL of the scheduler's queue instead".to_owned(),
        )
    } else {
        return None;
    };
    Some(Diagnostic::warning(code, message).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translate::{Options, translate};
    use crate::{NameMap, Source};
    use go_compat::diag::Code;
    use yunikorn::application::Reading;

    const SCHEDULER: &str = "<allocations><queue name=\"root\"><aclSubmitApps> </aclSubmitApps><aclAdministerApps> </aclAdministerApps></queue></allocations>";

    fn configuration(settings: &[(&str, &str)]) -> String {
        let properties: String = settings
            .iter()
            .flat_map(|(name, value)| {
                ["<property><name>", name, "</name><value>", value, "</value></property>"]
            })
            .collect();
        ["<configuration>", &properties, "</configuration>"].concat()
    }

    /// Returns the findings about mapred-site.xml; its file is the third.
    fn reported(
        mapred: &[(&str, &str)],
        site: &[(&str, &str)],
        users: &str,
    ) -> Vec<(Code, Option<usize>, String)> {
        let scheduler = (
            "yarn.resourcemanager.scheduler.class",
            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler",
        );
        let site = [&[("yarn.acl.enable", "true"), ("yarn.admin.acl", " "), scheduler], site].concat();
        let (site, mapred) = (configuration(&site), configuration(mapred));
        let mut findings = Vec::new();
        let wanted = Files {
            reading: Reading::Hadoop,
            scheduler: (0, SCHEDULER),
            name: "",
            site: Some((1, &site)),
            mapred: Some((2, &mapred)),
            core: &[],
            defined: &[],
        };
        if let Some(source) = Source::fair(wanted, &mut findings) {
            let mut options = Options::default();
            options.names.users = NameMap::default().with_pairs(users).expect("pairs");
            translate(&source, &options, &mut findings);
        }
        let reported = findings.into_iter().map(|finding| {
            let help = finding.diagnostic.help.unwrap_or_default();
            (finding.diagnostic.code, finding.file, help)
        });
        reported.collect()
    }

    #[test]
    fn acls_of_jobs_are_reported_as_annotations() {
        let mapred =
            [("mapreduce.job.acl-view-job", "jane,CORP\\bob qa"), ("mapreduce.job.acl-modify-job", "*")];
        let expected = [
            (
                Some(2),
                "write the annotation `queuewarden.dev/view-acl: \"bob,jane qa\"` on the pods of each \
                 application",
            ),
            (
                Some(2),
                "write the annotation `queuewarden.dev/modify-acl: \"*\"` on the pods of each application",
            ),
        ];
        let expected = expected.map(|(file, help)| (codes::APPLICATION_ACL, file, help.to_owned()));
        assert_eq!(reported(&mapred, &[], "CORP\\bob=bob"), expected);
        // yarn-site.xml is read later, so its settings take precedence.
        let found = reported(&mapred[..1], &[("mapreduce.job.acl-view-job", "eve")], "");
        let [(code, file, help)] = found.as_slice() else { panic!("{found:?}") };
        assert!(*code == codes::APPLICATION_ACL && *file == Some(1) && help.contains("\"eve\""), "{found:?}");
    }

    #[test]
    fn what_yarn_does_not_read_is_reported() {
        let cases = [
            ("mapreduce.cluster.acls.enabled", "true", application_codes::LEGACY),
            ("mapreduce.cluster.administrators", "hist ops", application_codes::LEGACY),
            ("mapred.acls.enabled", "true", application_codes::LEGACY),
            ("mapred.queue.prod.acl-submit-job", "ann", codes::IGNORED),
            ("mapred.queue.prod.acl-administer-jobs", "ann", codes::IGNORED),
            ("mapreduce.job.queuename", "prod", codes::PLACEMENT),
        ];
        for (name, value, code) in cases {
            let found = reported(&[(name, value), ("mapreduce.map.memory.mb", "1")], &[], "");
            assert!(matches!(found.as_slice(), [(found, Some(2), _)] if *found == code), "{name}: {found:?}");
        }
        assert_eq!(
            reported(&[("mapreduce.job.acl-view-job", " ")], &[], ""),
            [],
            "nobody, as without the setting"
        );
        assert_eq!(reported(&[("mapreduce.job.queuename", "\n ")], &[], ""), [], "no queue");
    }

    #[test]
    fn traps_of_the_text_are_reported_and_nothing_is_widened() {
        let found = reported(&[("mapreduce.job.acl-view-job", "jane, bob x")], &[], "");
        let codes: Vec<Code> = found.iter().map(|(code, _, _)| *code).collect();
        let expected =
            [application_codes::COMMA_SPACE, application_codes::GROUP_SPACE, codes::APPLICATION_ACL];
        assert_eq!(codes, expected);
        assert!(found.iter().any(|(_, _, help)| help.contains("view-acl: \"jane\"`")), "{found:?}");
    }
}
