//! The findings of an import of access rules. Each has a code with its meaning, reason and remedy.
//!
//! The codes of [`yunikorn::application::codes`] cover the text of a single ACL. An error stops the import.
//! Some errors can be acknowledged (`--accept CODE`) and become warnings; their text says so.

use go_compat::diag::Code;

go_compat::codes! {
    /// A text that is not XML, is too large, or is nested too deeply. **Error.**
    pub const XML: Code = Code::new(7501, "import-xml");
    /// A document type, entities or an inclusion. **Error.**
    ///
    /// They refer to text outside the file, or expand to much more text. Write the expanded text into the
    /// file.
    pub const EXTERNAL: Code = Code::new(7502, "import-external");
    /// An XML file of a different kind than expected, recognized by its outermost element. **Error.**
    pub const NOT_THIS_FILE: Code = Code::new(7503, "import-not-this-file");
    /// Content that Hadoop refuses: it keeps its previous configuration, or does not start. **Error.**
    ///
    /// For example, an empty `<aclSubmitApps/>` stops the whole reload. The configuration in force is then
    /// not the one in the file. Repair the file first.
    pub const HADOOP_REFUSES: Code = Code::new(7504, "import-hadoop-refuses");
    /// A root queue with a name other than `root`, such as `ROOT`. **Error.**
    ///
    /// Hadoop treats it as the root but stores its ACLs under the name as written, where it never reads them.
    /// The real root keeps its default, which is everyone. Write `root`.
    pub const ROOT_MISSPELT: Code = Code::new(7505, "import-root-misspelt");
    /// A queue whose name is not valid in `YuniKorn`. **Error**; acknowledged, the queue and all queues below
    /// it are skipped.
    ///
    /// Queue names match [`yunikorn::queue::QUEUE_NAME`]. Rename the queue before importing it. A dot in the
    /// name of a queue of the capacity scheduler cannot be acknowledged, because Hadoop takes its path for
    /// another queue's.
    pub const QUEUE_NAME: Code = Code::new(7506, "import-queue-name");
    /// Queues whose names differ only in case. **Error**; acknowledged, the first is imported, and the others
    /// and all queues below them are skipped.
    ///
    /// They are two queues in Hadoop, but one in `YuniKorn`. Rename one of them.
    pub const QUEUE_CASE: Code = Code::new(7507, "import-queue-case");
    /// `yarn.acl.enable` or `spark.acls.enable` is off. **Error**; acknowledged, the ACLs are imported as if
    /// it were on.
    ///
    /// When it is off, everyone may do everything, except that the fair scheduler still checks who may
    /// submit. `YuniKorn` has no such switch, so the ACLs would take effect.
    pub const SWITCHED_OFF: Code = Code::new(7508, "import-acls-switched-off");
    /// Without yarn-site.xml, it is unknown whether ACLs are enabled and who administers the cluster.
    ///
    /// The import assumes that they are enabled and that the cluster has no administrators. Pass the file
    /// with `--yarn-site`.
    pub const NO_YARN_SITE: Code = Code::new(7509, "import-no-yarn-site");
    /// The administrators of the cluster (`yarn.admin.acl`) do not become administrators of queues in
    /// `YuniKorn`, which has no such list.
    ///
    /// They lose their access. If yarn-site.xml does not name them, everyone is an administrator, as by
    /// Hadoop's default. With `--cluster-admins root` they become administrators of the root queue, who may
    /// also submit everywhere. In Hadoop they may not, although Cloudera's handbook says they can.
    pub const CLUSTER_ADMINS: Code = Code::new(7510, "import-cluster-admins");
    /// Administrators of the cluster gain the right to submit everywhere, which they do not have in Hadoop.
    /// Access is wider.
    pub const CLUSTER_ADMINS_SUBMIT: Code = Code::new(7511, "import-cluster-admins-submit");
    /// Two names of the source become the same name in `YuniKorn` because of the name maps. Access is wider
    /// for each of them.
    pub const NAME_CLASH: Code = Code::new(7512, "import-name-clash");
    /// A name that the name map omits, or maps to a name that no ACL of `YuniKorn` can hold. It is not
    /// imported.
    pub const UNMAPPED: Code = Code::new(7513, "import-unmapped");
    /// An access setting without a counterpart in `YuniKorn`: reservations, priorities, the lists of Spark's
    /// history server.
    pub const UNSUPPORTED: Code = Code::new(7514, "import-unsupported");
    /// ACLs for queues that are created on demand. `YuniKorn`'s templates cannot contain ACLs, so these are
    /// not imported.
    ///
    /// Such a queue has the access of its parent. Grant access there, or declare the queue.
    pub const TEMPLATE: Code = Code::new(7515, "import-template");
    /// Placement rules are not imported.
    ///
    /// YARN rejects an application that may not run where it is placed; `YuniKorn` tries the next rule. Write
    /// the rules again for `YuniKorn`.
    pub const PLACEMENT: Code = Code::new(7516, "import-placement");
    /// A setting or an element that Hadoop ignores, although it resembles a known one: it is misspelled, or
    /// belongs to a queue that does not exist.
    pub const IGNORED: Code = Code::new(7517, "import-ignored");
    /// The root queue gives the right to everyone by default, because the source does not set it.
    ///
    /// Everyone then has this right on every queue. The import makes this explicit for `YuniKorn`, whose
    /// default is nobody. An empty value also leaves the default in place. Write a space to give the right to
    /// no one.
    pub const ROOT_OPEN: Code = Code::new(7518, "import-root-open");
    /// A variable that is not defined in the files or with `-D`. **Error** in a list of queues.
    ///
    /// Hadoop reads the Java system properties and the environment of its own process, which are not known
    /// here. An undefined variable stays as written, or gets the default in `${env.NAME:-default}`. Define it
    /// with `-D NAME=VALUE`.
    pub const UNBOUND: Code = Code::new(7519, "import-unbound-variable");
    /// A property that is set again although an earlier one is final: the later value is ignored.
    pub const FINAL: Code = Code::new(7520, "import-final");
    /// A difference without an explanation. **Error.** This is never expected; please report it.
    pub const UNEXPLAINED: Code = Code::new(7521, "import-unexplained");
    /// More queues or names than the comparison can handle. **Error.**
    pub const TOO_MANY: Code = Code::new(7522, "import-too-many");
    /// The same element or setting twice: the last one applies.
    pub const TWICE: Code = Code::new(7523, "import-twice");
    /// Fair scheduler: the ACL is cut at a `<![CDATA[…]]>`. Hadoop reads only the first part.
    pub const CUT: Code = Code::new(7524, "import-cut");

    /// A name is mapped to the name of another user or group that may exist in the source without being in an
    /// ACL. If it exists, its access is wider.
    ///
    /// If it does not exist, declare this in the name map with `NAME=`, which omits the name, or acknowledge
    /// the finding.
    pub const NAME_TAKEN: Code = Code::new(7525, "import-name-taken");
    /// An ACL of applications, which belongs to no queue: `mapreduce.job.acl-view-job`,
    /// `mapreduce.job.acl-modify-job`.
    ///
    /// It belongs to each application: put the text from the finding on its pods, or in its Spark
    /// configuration.
    pub const APPLICATION_ACL: Code = Code::new(7526, "import-application-acl");
    /// Administrators of Spark who become administrators of a queue (`--queue`), and may therefore submit to
    /// it. Access is wider.
    pub const SPARK_ADMINS_SUBMIT: Code = Code::new(7527, "import-spark-admins-submit");
    /// A subject that Spark lets modify an application but not view it. Access is wider.
    ///
    /// Spark has no page where they could end it. By queuewarden's rules, everyone who may modify an
    /// application may also end it. Name them in `spark.ui.view.acls` as well, or remove them from
    /// `spark.modify.acls`.
    pub const SPARK_MODIFY_ALONE: Code = Code::new(7528, "import-spark-modify-alone");
    /// Spark's pages have no login, because `spark.ui.filters` is not set.
    ///
    /// Spark admits every user who has not logged in, regardless of its ACLs. In queuewarden's answers the
    /// ACLs take effect.
    pub const SPARK_PAGES_OPEN: Code = Code::new(7529, "import-spark-pages-open");
    /// A name that contains a space in one of Spark's lists, which are only split at commas.
    ///
    /// `alice dev` is one name in Spark, but a user and a group in YARN. Write users and groups in separate
    /// settings, separated by commas.
    pub const SPARK_SPACE: Code = Code::new(7530, "import-spark-space");
    /// An authorizer other than YARN's own (`yarn.authorization-provider`), such as Ranger's plugin.
    /// **Error**; acknowledged, the ACLs are imported as if YARN used its own authorizer.
    ///
    /// It decides in place of the ACLs in the file, or together with them, so the import would ignore its
    /// denials and lose its grants. Add both to the file first.
    pub const OTHER_AUTHORIZER: Code = Code::new(7531, "import-other-authorizer");
    /// A scheduler that does not read this file (`yarn.resourcemanager.scheduler.class`). **Error**;
    /// acknowledged, the file is imported. For the fair scheduler it is a warning if the setting is absent.
    ///
    /// The ACLs in force are in the other scheduler's file. Import that one. Hadoop's default is the capacity
    /// scheduler; Cloudera's was the fair scheduler.
    pub const OTHER_SCHEDULER: Code = Code::new(7532, "import-other-scheduler");
    /// A store that holds the queues of the capacity scheduler (`yarn.scheduler.configuration.store.class`).
    /// **Error**; acknowledged, the file is imported.
    ///
    /// The file is only the first version of the queues; later changes are in the store. Import the
    /// `ResourceManager`'s version.
    pub const OTHER_STORE: Code = Code::new(7533, "import-other-store");
    /// A file that the fair scheduler does not read: `yarn.scheduler.fair.allocation.file` names a different
    /// one.
    ///
    /// A copy may have another name. Make sure that it is a copy of the named file.
    pub const OTHER_FILE: Code = Code::new(7534, "import-other-file");
    /// A federation of clusters (`yarn.federation.enabled`). Each cluster has its own queues and ACLs.
    ///
    /// The import covers only one of them. Import the files of each cluster.
    pub const FEDERATION: Code = Code::new(7535, "import-federation");
    /// Lists in hadoop-policy.xml that are checked before the ACLs of queues. **Error** if they exclude
    /// anyone; acknowledged, the ACLs are imported as if they let everyone in. A warning if they are unknown
    /// and `hadoop.security.authorization` is on.
    ///
    /// Users excluded by these lists cannot submit in YARN, regardless of the ACLs, but could submit in
    /// `YuniKorn`. Remove them from the ACLs.
    pub const SERVICE_ACL: Code = Code::new(7536, "import-service-acl");
    /// A queue of the capacity scheduler that is stopped. **Error**; acknowledged, its ACLs are imported.
    ///
    /// No one may submit to it or to a queue below it. `YuniKorn` has no such setting, so the ACLs would let
    /// people in.
    pub const STOPPED: Code = Code::new(7537, "import-queue-stopped");
    /// A `*` for the root queue, or for a queue with ACLs below it.
    ///
    /// Rights are inherited, so the ACLs of the queues below limit no one, in YARN as in `YuniKorn`. Write
    /// names, or a space for nobody.
    pub const OPEN: Code = Code::new(7538, "import-open-queue");
    /// An export in JSON or in lines of `key=value` that cannot be read as one configuration. **Error.**
    ///
    /// For example, it contains several versions of a setting, or a space before the `=` (a space after it
    /// may be part of an ACL). Export one version, or use Hadoop's XML file. The fair scheduler only has XML.
    pub const EXPORT: Code = Code::new(7539, "import-export");
    /// A group in capital letters, although groups come from Active Directory.
    ///
    /// Hadoop compares group names exactly, and Active Directory sends them in lower case, so the group has
    /// no members. Write the name in lower case, or map it.
    pub const GROUP_CASE: Code = Code::new(7540, "import-group-case");
}
