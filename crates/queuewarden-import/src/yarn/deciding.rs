//! Finds settings outside the ACLs that decide whether the ACLs in the scheduler's file take effect: the
//! authorizer, the scheduler and the store of its configuration, and lists that are checked before the ACLs.
//!
//! Sources, hadoop 3.4.1: `YarnAuthorizationProvider.getInstance`, `ResourceManager.createScheduler`,
//! `CapacityScheduler.initScheduler`, `AllocationFileLoaderService.getAllocationFile`,
//! `ServiceAuthorizationManager`, `LdapGroupsMapping`.

use super::{Files, Scheduler};
use crate::configuration::{Configuration, Value};
use crate::export::RANGER_SWITCH;
use crate::{FileDiagnostic, Location, codes};
use go_compat::diag::{Code, Diagnostic, quoted};
use yunikorn::application::yarn_acl::{YarnAcl, trim};
use yunikorn::application::{Reading, settings::YARN_ADMIN, settings::YARN_ENABLE};

const AUTHORIZER: &str = "yarn.authorization-provider";
const OWN_AUTHORIZER: &str = "org.apache.hadoop.yarn.security.ConfiguredYarnAuthorizer";
/// Prefixes of the settings of Ranger's plugin.
const RANGER: [&str; 2] = ["ranger.plugin.yarn.", "ranger.add-yarn-authorization"];
const SCHEDULER: &str = "yarn.resourcemanager.scheduler.class";
const STORE: &str = "yarn.scheduler.configuration.store.class";
const ALLOCATION_FILE: &str = "yarn.scheduler.fair.allocation.file";
const FEDERATION: &str = "yarn.federation.enabled";
/// The switch of the lists in hadoop-policy.xml.
const SERVICE_ACLS: &str = "hadoop.security.authorization";
/// The list of clients of the `ResourceManager`, and its default.
const CLIENTS: [&str; 2] =
    ["security.applicationclient.protocol.acl", "security.service.authorization.default.acl"];
const BLOCKED: &str = ".blocked";
/// Prefix of the settings for the source of groups.
const GROUPS: &str = "hadoop.security.group.mapping";
/// Parts of values that indicate Active Directory: attributes of its users, and the ports of its catalog.
const ACTIVE_DIRECTORY: [&str; 8] = [
    "samaccountname",
    "userprincipalname",
    "objectclass=user",
    "objectcategory=",
    "active directory",
    "activedirectory",
    ":3268",
    ":3269",
];
/// The rules that derive a user from a Kerberos principal.
const REALMS: &str = "hadoop.security.auth_to_local";

/// The settings that are in yarn-site.xml and not in the scheduler's own file.
const OF_SITE: [&str; 6] = [YARN_ENABLE, YARN_ADMIN, AUTHORIZER, SCHEDULER, STORE, RANGER_SWITCH];

/// Returns whether the configuration contains settings of yarn-site.xml.
pub(super) fn holds_site(configuration: &Configuration) -> bool {
    configuration.names().any(|name| OF_SITE.contains(&name) || is_ranger(name))
}

/// Reports settings that override or supplement the ACLs in the scheduler's file.
pub(super) fn report(
    configuration: &Configuration,
    scheduler: Scheduler,
    files: Files<'_>,
    findings: &mut Vec<FileDiagnostic>,
) {
    let mut deciding = Deciding { configuration, findings };
    deciding.authorizer();
    deciding.scheduler(scheduler, files);
    match scheduler {
        Scheduler::Capacity => deciding.store(),
        Scheduler::Fair => deciding.allocation_file(files.name),
    }
    deciding.federation();
    deciding.service_acls(files.reading);
}

struct Deciding<'a> {
    configuration: &'a Configuration,
    findings: &'a mut Vec<FileDiagnostic>,
}

impl Deciding<'_> {
    fn refuse(&mut self, at: Location, code: Code, message: String, help: &str, otherwise: &str) {
        let help = format!("{help}; --accept {code} imports the ACLs as if {otherwise}");
        self.findings.push(FileDiagnostic::at(at, Diagnostic::error(code, message).help(help)));
    }

    fn warn(&mut self, at: Location, code: Code, message: String, help: &str) {
        self.findings.push(FileDiagnostic::at(at, Diagnostic::warning(code, message).help(help)));
    }

    fn is_on(&self, key: &str) -> Option<Value> {
        self.configuration.get(key).filter(|value| trim(&value.text).eq_ignore_ascii_case("true"))
    }

    fn authorizer(&mut self) {
        let (at, what) = match self.configuration.get(AUTHORIZER) {
            Some(value) if trim(&value.text) == OWN_AUTHORIZER => return,
            Some(value) => (value.location, format!("`{AUTHORIZER}` is {}", quoted(trim(&value.text)))),
            None => match self.ranger() {
                Some((name, at)) => {
                    (at, format!("{} is set, so Ranger may be the authorizer", quoted(&name)))
                }
                None => return,
            },
        };
        self.refuse(
            at,
            codes::OTHER_AUTHORIZER,
            format!("{what}: the ACLs in these files alone do not decide who may use the queues"),
            "add its denials and grants to the file first",
            "YARN's own authorizer decided",
        );
    }

    /// Returns a setting that shows that Ranger's plugin is in use, although no authorizer is set. If
    /// Ambari's switch is present, it decides, because Ambari keeps the plugin's other settings when the
    /// switch is off.
    fn ranger(&self) -> Option<(String, Location)> {
        if let Some(switch) = self.configuration.get(RANGER_SWITCH) {
            let is_on = ["yes", "true"].iter().any(|on| trim(&switch.text).eq_ignore_ascii_case(on));
            return is_on.then(|| (RANGER_SWITCH.to_owned(), switch.location));
        }
        let name = self.configuration.names().find(|name| is_ranger(name))?;
        Some((name.to_owned(), self.configuration.get(name)?.location))
    }

    fn scheduler(&mut self, scheduler: Scheduler, files: Files<'_>) {
        let (own, file) = (scheduler.class(), scheduler.file());
        match self.configuration.get(SCHEDULER) {
            Some(value) if trim(&value.text) == own => {}
            Some(value) => {
                let class = trim(&value.text);
                let other =
                    [Scheduler::Fair, Scheduler::Capacity].into_iter().find(|other| other.class() == class);
                let file_of_other =
                    other.map_or_else(|| "the file of that scheduler".to_owned(), Scheduler::file);
                let help = format!("import {file_of_other}");
                let message = format!("`{SCHEDULER}` is {}, which does not read {file}", quoted(class));
                let otherwise = format!("the {scheduler} scheduler were in use");
                self.refuse(value.location, codes::OTHER_SCHEDULER, message, &help, &otherwise);
            }
            // Cloudera's default is the fair scheduler.
            None => {
                let site =
                    files.site.filter(|_| scheduler == Scheduler::Fair && files.reading == Reading::Hadoop);
                let Some((site, _)) = site else { return };
                let message = format!(
                    "`{SCHEDULER}` is not set, and Hadoop's default, the capacity scheduler, does not read {file}"
                );
                let finding = Diagnostic::warning(codes::OTHER_SCHEDULER, message)
                    .help("make sure that the fair scheduler is in use");
                self.findings.push(FileDiagnostic { file: Some(site), diagnostic: finding });
            }
        }
    }

    fn store(&mut self) {
        let Some(value) = self.configuration.get(STORE).filter(|value| trim(&value.text) != "file") else {
            return;
        };
        self.refuse(
            value.location,
            codes::OTHER_STORE,
            format!(
                "`{STORE}` is {}: capacity-scheduler.xml is only the first version of the queues",
                quoted(trim(&value.text))
            ),
            "import the current version, which the ResourceManager serves at /ws/v1/cluster/scheduler-conf",
            "the file were current",
        );
    }

    fn allocation_file(&mut self, given: &str) {
        let base = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        let Some(value) = self.configuration.get(ALLOCATION_FILE) else { return };
        let (named, given) = (base(trim(&value.text)), base(given));
        // Standard input has no name.
        if named.is_empty() || named == given || !given.to_ascii_lowercase().ends_with(".xml") {
            return;
        }
        let message =
            format!("`{ALLOCATION_FILE}` names {}, but {} is imported", quoted(&named), quoted(&given));
        self.warn(value.location, codes::OTHER_FILE, message, "make sure that both are the same file");
    }

    fn federation(&mut self) {
        let Some(value) = self.is_on(FEDERATION) else { return };
        let message =
            format!("`{FEDERATION}` is on: each cluster of the federation has its own queues and ACLs");
        self.warn(value.location, codes::FEDERATION, message, "import the files of each cluster");
    }

    fn service_acls(&mut self, reading: Reading) {
        let Some(switch) = self.is_on(SERVICE_ACLS) else { return };
        let list = |key: String| self.configuration.get(&key).map(|value| (key, value));
        let clients = CLIENTS.iter().find_map(|key| list((*key).to_owned()));
        let blocked = CLIENTS.iter().find_map(|key| list(format!("{key}{BLOCKED}")));
        let acl = |value: &Value| YarnAcl::parse(&value.text, reading);
        let narrow = clients.as_ref().filter(|(_, value)| !acl(value).is_everyone());
        let narrow = narrow.cloned().or(blocked.filter(|(_, value)| !acl(value).is_nobody()));
        if let Some((key, value)) = narrow {
            self.refuse(
                value.location,
                codes::SERVICE_ACL,
                format!("`{key}` is {} and is checked before the ACLs of queues", quoted(&value.text)),
                "remove the users that it excludes from the ACLs",
                "it let everyone in",
            );
        } else if clients.is_none() {
            let message = format!(
                "`{SERVICE_ACLS}` is on, so hadoop-policy.xml may exclude users whom the ACLs let in"
            );
            self.warn(
                switch.location,
                codes::SERVICE_ACL,
                message,
                "pass it as well: --core-site hadoop-policy.xml",
            );
        }
    }
}

fn is_ranger(name: &str) -> bool {
    RANGER.iter().any(|start| name.starts_with(start))
}

/// Returns the setting that shows that groups come from Active Directory, whose names arrive in lower case.
/// Returns `None` also if they are converted to upper case.
pub(super) fn active_directory(configuration: &Configuration) -> Option<String> {
    let lower =
        |name: &str| configuration.get(name).map(|value| value.text.to_ascii_lowercase()).unwrap_or_default();
    let of_groups = || configuration.names().filter(|name| name.starts_with(GROUPS));
    if of_groups().any(|name| name.ends_with(".conversion.rule") && trim(&lower(name)) == "to_upper") {
        return None;
    }
    // The default filter of LdapGroupsMapping is the one for Active Directory.
    let has_filter = of_groups().any(|name| name.ends_with(".search.filter.user"));
    let shows = |name: &&str| {
        let text = lower(name);
        ACTIVE_DIRECTORY.iter().any(|mark| text.contains(mark))
            || (text.contains("ldapgroupsmapping") && !has_filter)
    };
    // A rule that ends in /L converts a name to lower case, as for an Active Directory realm.
    let lowers = lower(REALMS).split_ascii_whitespace().any(|rule| rule.ends_with("/l"));
    of_groups().find(shows).or(lowers.then_some(REALMS)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    const FAIR: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler";
    const CAPACITY: &str =
        "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler";
    const FIFO: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler";

    /// Settings, and the codes that they cause.
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [(Code, bool)]);

    fn configuration(settings: &[(&str, &str)]) -> String {
        let properties = settings
            .iter()
            .map(|(name, value)| format!("<property><name>{name}</name><value>{value}</value></property>"));
        format!("<configuration>{}</configuration>", properties.collect::<String>())
    }

    /// Returns the codes of the findings, with `true` for errors, for an import whose ACLs have no problems.
    fn found(scheduler: Scheduler, site: &[(&str, &str)], core: &[(&str, &str)]) -> Vec<(Code, bool)> {
        let closed = "<queue name=\"root\"><aclSubmitApps> </aclSubmitApps><aclAdministerApps> </aclAdministerApps></queue>";
        let file = match scheduler {
            Scheduler::Fair => format!("<allocations>{closed}</allocations>"),
            Scheduler::Capacity => configuration(&[
                ("yarn.scheduler.capacity.root.queues", "a"),
                ("yarn.scheduler.capacity.root.acl_submit_applications", " "),
                ("yarn.scheduler.capacity.root.acl_administer_queue", " "),
            ]),
        };
        let site = configuration(&[&[("yarn.acl.enable", "true"), ("yarn.admin.acl", " ")], site].concat());
        let core = configuration(core);
        let files = Files {
            reading: Reading::Hadoop,
            scheduler: (0, &file),
            name: "conf/fair-scheduler.xml",
            site: Some((1, &site)),
            mapred: None,
            core: &[(2, &core)],
            defined: &[],
        };
        let mut findings = Vec::new();
        let read = if scheduler == Scheduler::Fair { Source::fair } else { Source::capacity };
        assert!(read(files, &mut findings).is_some(), "{findings:?}");
        findings.iter().map(|found| (found.diagnostic.code, found.diagnostic.is_error())).collect()
    }

    #[test]
    fn what_decides_instead_of_the_acls_is_refused() {
        const RANGER_YARN: &str = "org.apache.ranger.authorization.yarn.authorizer.RangerYarnAuthorizer";
        let authorizer = &[(codes::OTHER_AUTHORIZER, true)][..];
        let cases: [Case<'_>; 19] = [
            (&[(AUTHORIZER, RANGER_YARN)], authorizer),
            (&[(AUTHORIZER, "org.example.Authorizer")], authorizer),
            (&[(AUTHORIZER, "${authorizer}")], authorizer),
            (&[(AUTHORIZER, "\n org.apache.hadoop.yarn.security.ConfiguredYarnAuthorizer ")], &[]),
            (&[(AUTHORIZER, OWN_AUTHORIZER), ("ranger.plugin.yarn.policy.rest.url", "http://r:6080")], &[]),
            (&[("ranger.plugin.yarn.policy.rest.url", "http://r:6080")], authorizer),
            (&[("ranger.plugin.yarn.policy.rest.url", "x"), (RANGER_SWITCH, "No")], &[]),
            (&[(RANGER_SWITCH, "Yes")], authorizer),
            (&[(SCHEDULER, FAIR)], &[(codes::OTHER_SCHEDULER, true)]),
            (&[(SCHEDULER, FIFO)], &[(codes::OTHER_SCHEDULER, true)]),
            (
                &[(
                    SCHEDULER,
                    " org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler",
                )],
                &[],
            ),
            (&[(STORE, "zk")], &[(codes::OTHER_STORE, true)]),
            (&[(STORE, "leveldb")], &[(codes::OTHER_STORE, true)]),
            (&[(STORE, "file")], &[]),
            (&[(FEDERATION, "true")], &[(codes::FEDERATION, false)]),
            (&[(SERVICE_ACLS, "true")], &[(codes::SERVICE_ACL, false)]),
            (&[(SERVICE_ACLS, "true"), (CLIENTS[0], "*")], &[]),
            (&[(SERVICE_ACLS, "true"), (CLIENTS[1], " staff")], &[(codes::SERVICE_ACL, true)]),
            (&[(CLIENTS[0], " staff"), (ALLOCATION_FILE, "other.xml")], &[]),
        ];
        for (site, expected) in cases {
            assert_eq!(found(Scheduler::Capacity, site, &[]), expected, "{site:?}");
            assert_eq!(found(Scheduler::Capacity, &[], site), expected, "in core-site.xml: {site:?}");
        }
    }

    #[test]
    fn the_fair_scheduler_is_not_the_default() {
        let fair = (SCHEDULER, FAIR);
        let cases: [Case<'_>; 6] = [
            (&[fair], &[]),
            (&[], &[(codes::OTHER_SCHEDULER, false)]),
            (&[(SCHEDULER, CAPACITY)], &[(codes::OTHER_SCHEDULER, true)]),
            (&[fair, (STORE, "zk")], &[]),
            (&[fair, (ALLOCATION_FILE, "/etc/hadoop/conf/fair-scheduler.xml")], &[]),
            (&[fair, (ALLOCATION_FILE, "/etc/hadoop/conf/pools.xml")], &[(codes::OTHER_FILE, false)]),
        ];
        for (site, expected) in cases {
            assert_eq!(found(Scheduler::Fair, site, &[]), expected, "{site:?}");
        }
    }

    #[test]
    fn active_directory_is_recognised_by_its_settings() {
        const LDAP: &str = "org.apache.hadoop.security.LdapGroupsMapping";
        const FILTER: &str = "hadoop.security.group.mapping.ldap.search.filter.user";
        let cases: [(&[(&str, &str)], bool); 10] = [
            (&[(GROUPS, LDAP)], true),
            (&[(GROUPS, LDAP), (FILTER, "(&amp;(objectClass=posixAccount)(uid={0}))")], false),
            (&[(GROUPS, LDAP), (FILTER, "(&amp;(objectClass=user)(SAMAccountName={0}))")], true),
            (&[("hadoop.security.group.mapping.provider.corp", LDAP)], true),
            (&[("hadoop.security.group.mapping.ldap.url", "ldaps://dc.example.org:3269")], true),
            (&[("hadoop.security.group.mapping.ldap.url", "ldap://ldap.example.org:389")], false),
            (&[(GROUPS, LDAP), ("hadoop.security.group.mapping.ldap.conversion.rule", "to_upper")], false),
            (&[(GROUPS, "org.apache.hadoop.security.ShellBasedUnixGroupsMapping")], false),
            (&[(REALMS, "RULE:[1:$1@$0](.*@CORP.EXAMPLE.ORG)s/@.*///L\nDEFAULT")], true),
            (&[(REALMS, "RULE:[1:$1@$0](.*@EXAMPLE.ORG)s/@.*//\nDEFAULT")], false),
        ];
        for (settings, expected) in cases {
            let mut read = Configuration::default();
            read.load(0, &configuration(settings), &mut Vec::new()).expect("a configuration");
            assert_eq!(active_directory(&read).is_some(), expected, "{settings:?}");
        }
    }
}
