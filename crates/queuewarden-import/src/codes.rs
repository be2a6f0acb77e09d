//! The findings of an import of access rules, one code each: meaning, reason, and remedy.
//!
//! The codes of [`yunikorn::application::codes`] cover the text of a single ACL. An error stops the import.
//! Some errors can be acknowledged (`--accept CODE`) and are then warnings; their text says so.

use go_compat::diag::Code;

go_compat::codes! {
    /// A text that is no XML, or is too large or too deep to be read. **Error.**
    pub const XML: Code = Code::new(7501, "import-xml");
    /// A document type, entities or an inclusion. **Error.**
    ///
    /// They load what is not in the file, or expand to much more text. Write the expanded text into the
    /// file.
    pub const EXTERNAL: Code = Code::new(7502, "import-external");
    /// XML of another kind of file than expected: its outermost element is another. **Error.**
    pub const NOT_THIS_FILE: Code = Code::new(7503, "import-not-this-file");
    /// Content that Hadoop refuses: it keeps the configuration it had read before, or does not start.
    /// **Error.**
    ///
    /// One example is an empty `<aclSubmitApps/>`: it stops the whole reload. The configuration in force is
    /// then not the one in the file. Repair the file first.
    pub const HADOOP_REFUSES: Code = Code::new(7504, "import-hadoop-refuses");
    /// The root queue by a name other than `root`, such as `ROOT`. **Error.**
    ///
    /// Hadoop takes it for the root and stores its ACLs under the name as written, which it never reads:
    /// the real root keeps its default, which is everyone. Write `root`.
    pub const ROOT_MISSPELT: Code = Code::new(7505, "import-root-misspelt");
    /// A queue whose name no queue of `YuniKorn` can have. **Error**; acknowledged, the queue and all below
    /// it are left out.
    ///
    /// Names of queues match [`yunikorn::queue::QUEUE_NAME`]. Rename the queue before it is imported. A dot
    /// in the name of a queue of the capacity scheduler cannot be acknowledged: by its path Hadoop takes it
    /// for another queue.
    pub const QUEUE_NAME: Code = Code::new(7506, "import-queue-name");
    /// Queues whose names differ in case only. **Error**; acknowledged, the first is imported, and the
    /// others with all below them are left out.
    ///
    /// They are two queues to Hadoop, and one to `YuniKorn`. Rename one of them.
    pub const QUEUE_CASE: Code = Code::new(7507, "import-queue-case");
    /// `yarn.acl.enable` or `spark.acls.enable` is off. **Error**; acknowledged, the ACLs are imported as
    /// if it were on.
    ///
    /// Then everyone may do everything, except that the fair scheduler still checks who may submit.
    /// `YuniKorn` has no such switch: the ACLs would take effect.
    pub const SWITCHED_OFF: Code = Code::new(7508, "import-acls-switched-off");
    /// Without yarn-site.xml it is not known whether ACLs are on and who administers the cluster.
    ///
    /// The import assumes that they are on, and that nobody administers it. Give the file with
    /// `--yarn-site`.
    pub const NO_YARN_SITE: Code = Code::new(7509, "import-no-yarn-site");
    /// The administrators of the cluster (`yarn.admin.acl`) do not become administrators of queues in
    /// `YuniKorn`, which has no such list.
    ///
    /// They lose their access. When yarn-site.xml does not name them, they are everyone, as by Hadoop's
    /// default. With `--cluster-admins root` they become administrators of the root queue, who may also
    /// submit everywhere; in Hadoop they may not, although Cloudera's handbook says so.
    pub const CLUSTER_ADMINS: Code = Code::new(7510, "import-cluster-admins");
    /// Administrators of the cluster may submit everywhere, which Hadoop does not allow them. Access is
    /// wider.
    pub const CLUSTER_ADMINS_SUBMIT: Code = Code::new(7511, "import-cluster-admins-submit");
    /// Two names of the source become one in `YuniKorn`, by the maps of names. Access is wider for each of
    /// them.
    pub const NAME_CLASH: Code = Code::new(7512, "import-name-clash");
    /// A name that the map of names leaves out, or maps to a name that no ACL of `YuniKorn` can hold. It is
    /// not imported.
    pub const UNMAPPED: Code = Code::new(7513, "import-unmapped");
    /// An access setting without a counterpart in `YuniKorn`: reservations, priorities, the lists of
    /// Spark's history server.
    pub const UNSUPPORTED: Code = Code::new(7514, "import-unsupported");
    /// ACLs of queues that are created when they are first needed. `YuniKorn`'s templates hold no ACLs, so
    /// these are not imported.
    ///
    /// Such a queue has the access of the queue above it. Grant there, or declare the queue.
    pub const TEMPLATE: Code = Code::new(7515, "import-template");
    /// Rules that place applications into queues are not imported.
    ///
    /// YARN rejects an application that may not run where it is placed; `YuniKorn` goes on to the next
    /// rule. Write the rules anew.
    pub const PLACEMENT: Code = Code::new(7516, "import-placement");
    /// A setting or an element that Hadoop ignores, although it resembles a known one: it is misspelt, or
    /// belongs to a queue that does not exist.
    pub const IGNORED: Code = Code::new(7517, "import-ignored");
    /// The root queue gives the right to everyone because the source sets nothing else, which is Hadoop's
    /// default.
    ///
    /// Everyone then has this right on every queue. The import writes it down for `YuniKorn`, whose default
    /// is nobody. An empty value is no value, and means the same. Write a space to give the right to
    /// nobody.
    pub const ROOT_OPEN: Code = Code::new(7518, "import-root-open");
    /// A variable that neither the files nor `-D` define. **Error** in a list of queues.
    ///
    /// Hadoop reads the Java system properties and the environment of its own process, which are not known
    /// here. An undefined variable stays as written, or is the default that is written with it:
    /// `${env.NAME:-default}`. Define it: `-D NAME=VALUE`.
    pub const UNBOUND: Code = Code::new(7519, "import-unbound-variable");
    /// A property that is written again, where an earlier one is final: the later one does not count.
    pub const FINAL: Code = Code::new(7520, "import-final");
    /// A difference without an explanation. **Error.** It is never expected: please report it.
    pub const UNEXPLAINED: Code = Code::new(7521, "import-unexplained");
    /// More queues or names than the comparison can handle. **Error.**
    pub const TOO_MANY: Code = Code::new(7522, "import-too-many");
    /// The same element twice: the last one counts.
    pub const TWICE: Code = Code::new(7523, "import-twice");
    /// Fair scheduler: the ACL is cut at a `<![CDATA[…]]>`; Hadoop reads only its first piece.
    pub const CUT: Code = Code::new(7524, "import-cut");

    /// A name is mapped to one that another user or group of the source may have, which no ACL names.
    /// Access is wider for that one, if it exists.
    ///
    /// If there is none, declare it in the map of names: leave the name out, with `NAME=`, or acknowledge
    /// it.
    pub const NAME_TAKEN: Code = Code::new(7525, "import-name-taken");
    /// An ACL of applications, which belongs to no queue: `mapreduce.job.acl-view-job`,
    /// `mapreduce.job.acl-modify-job`.
    ///
    /// It belongs to each application: put the text from the finding on its pods, or into its Spark
    /// configuration.
    pub const APPLICATION_ACL: Code = Code::new(7526, "import-application-acl");
    /// Administrators of Spark who become administrators of a queue (`--queue`), and so may submit to it.
    /// Access is wider.
    pub const SPARK_ADMINS_SUBMIT: Code = Code::new(7527, "import-spark-admins-submit");
    /// A subject that Spark lets modify an application but not view it. Access is wider.
    ///
    /// Spark has no page on which they could end it; by queuewarden's rules everyone who may modify may
    /// also end. Name them in `spark.ui.view.acls` as well, or remove them from `spark.modify.acls`.
    pub const SPARK_MODIFY_ALONE: Code = Code::new(7528, "import-spark-modify-alone");
    /// Spark's pages have no logged-in users: no `spark.ui.filters` is set.
    ///
    /// Spark admits every user who has not logged in, whatever its ACLs say. They take effect in
    /// queuewarden's answers.
    pub const SPARK_PAGES_OPEN: Code = Code::new(7529, "import-spark-pages-open");
    /// A name with a space in it in one of Spark's lists, which are cut at commas only.
    ///
    /// `alice dev` is one name to Spark, while YARN reads a user and a group. Write users and groups into
    /// their own settings, with commas.
    pub const SPARK_SPACE: Code = Code::new(7530, "import-spark-space");
    /// An authorizer other than YARN's own (`yarn.authorization-provider`), such as Ranger's plugin.
    /// **Error**; acknowledged, the ACLs are imported as if YARN's own authorizer decided.
    ///
    /// It decides instead of the ACLs in the file, or together with them: the import would allow its denials
    /// and lose its grants. Add both to the file first.
    pub const OTHER_AUTHORIZER: Code = Code::new(7531, "import-other-authorizer");
    /// A scheduler that does not read this file (`yarn.resourcemanager.scheduler.class`). **Error**;
    /// acknowledged, the file is imported. A warning for the fair scheduler if nothing is set.
    ///
    /// The ACLs in force are in the other scheduler's file. Import that one. Hadoop's default is the capacity
    /// scheduler; Cloudera's was the fair scheduler.
    pub const OTHER_SCHEDULER: Code = Code::new(7532, "import-other-scheduler");
    /// A store that holds the queues of the capacity scheduler (`yarn.scheduler.configuration.store.class`).
    /// **Error**; acknowledged, the file is imported.
    ///
    /// The file is only the first version of the queues, and later changes are in the store. Import the
    /// version that the `ResourceManager` has.
    pub const OTHER_STORE: Code = Code::new(7533, "import-other-store");
    /// A file that the fair scheduler does not read: `yarn.scheduler.fair.allocation.file` names another.
    ///
    /// A copy may have another name. Make sure that it is a copy of the file that is named.
    pub const OTHER_FILE: Code = Code::new(7534, "import-other-file");
    /// A federation of clusters (`yarn.federation.enabled`). Each has its own queues and ACLs.
    ///
    /// Only one of them is imported. Import the files of each cluster.
    pub const FEDERATION: Code = Code::new(7535, "import-federation");
    /// Lists in hadoop-policy.xml that are checked before the ACLs of queues. **Error** if they exclude
    /// anyone; acknowledged, the ACLs are imported as if they let everyone in. A warning if they are not
    /// known and `hadoop.security.authorization` is on.
    ///
    /// Users whom these lists exclude submit nothing in YARN, despite the ACLs, and would submit in
    /// `YuniKorn`. Leave them out of the ACLs.
    pub const SERVICE_ACL: Code = Code::new(7536, "import-service-acl");
    /// A queue of the capacity scheduler that is stopped. **Error**; acknowledged, its ACLs are imported.
    ///
    /// Nobody may submit to it or to a queue below it. `YuniKorn` has no such setting, so the ACLs would let
    /// people in.
    pub const STOPPED: Code = Code::new(7537, "import-queue-stopped");
    /// A `*` that is written for the root queue, or for a queue with ACLs below it.
    ///
    /// Rights are inherited, so the ACLs of the queues below limit nobody: in YARN and in `YuniKorn`. Write a
    /// space for nobody, or names.
    pub const OPEN: Code = Code::new(7538, "import-open-queue");
    /// An export in JSON or in lines of `key=value` that cannot be read as one configuration. **Error.**
    ///
    /// Examples are several versions of a setting, and a space before the `=`: a space after it may be a part
    /// of an ACL. Export one version, or give Hadoop's XML file. The fair scheduler has XML only.
    pub const EXPORT: Code = Code::new(7539, "import-export");
    /// A group in capitals, although groups come from Active Directory.
    ///
    /// Hadoop compares the names of groups exactly, and Active Directory sends them in lower case: nobody is
    /// in this group. Write the name in lower case, or map it.
    pub const GROUP_CASE: Code = Code::new(7540, "import-group-case");
}
