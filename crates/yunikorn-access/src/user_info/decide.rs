//! Decides a request by profile strict.
//!
//! A name is allowed if it is the requester's own, or if the lists of the `AdmissionPolicy` let the requester
//! set names (k8shim `metadata/usergroup.go`, `IsAnnotationAllowed`). Once it is written, only users on the
//! lists may change it. Therefore nobody can run pods as another user without permission. An operator's
//! account may only set the name in the resource that owns its object.
//!
//! Aliases are not part of a name. While texts can still be changed, each allowed text gets the aliases of
//! its names instead of its current ones. At the end, a text with an alias that does not follow from its
//! names is refused.

use super::names::{FORM, Names, Written};
use super::request::{Given, Moment, Request, Site};
use super::words::{self, APPLICATION, IMMUTABLE, KEPT, NOT_ALLOWED, OWNER, PLACEHOLDER, Refusal};
use super::{Addition, Decision, Outcome};
use crate::decide::visible;
use go_compat::diag::quoted;
use yunikorn::admission::request::{USER_INFO, USERNAME};
use yunikorn::admission::{Access as MaySet, AccessControl, EXTERNAL_USERS, Operation, SYSTEM_USERS};

/// Decides a request with these keys.
pub fn decide(request: &Request<'_>, access: &AccessControl) -> Decision {
    let mut decision = Decision::new(Outcome::NotApplicable, "no_pods");
    if request.operation == Operation::Other || request.sites.is_empty() {
        return Decision { warnings: words::nowhere(request), ..decision };
    }
    let profile = StrictProfile { request, access, own: Names::authenticated(request.user, request.groups) };
    let mut cut = None;
    for (index, site) in request.sites.iter().enumerate() {
        match profile.site(site).and_then(|end| profile.application(site, end)) {
            Ok(End { outcome, clause, written }) => {
                decision.note(outcome, clause);
                if let Some(Written { text, is_cut }) = written {
                    cut = cut.or_else(|| is_cut.then_some(site));
                    decision.additions.push(Addition { site: index, text });
                }
            }
            Err(refusal) => {
                let reason = words::reason(request, access, site, &refusal);
                return Decision::refused(refusal.clause, &reason, request.user);
            }
        }
    }
    decision.warnings = words::warnings(request, access, profile.own.aliases(), cut);
    decision.user = profile.named(&decision);
    decision
}

/// The result for one site.
struct End {
    outcome: Outcome,
    clause: &'static str,
    /// The text to write at the site.
    written: Option<Written>,
}

impl End {
    fn new(outcome: Outcome, clause: &'static str) -> Self {
        Self { outcome, clause, written: None }
    }

    fn added(clause: &'static str, written: Written) -> Self {
        Self { outcome: Outcome::Added, clause, written: Some(written) }
    }
}

/// The rules of profile strict, applied to one request.
struct StrictProfile<'a> {
    request: &'a Request<'a>,
    access: &'a AccessControl,
    /// The requester.
    own: Names,
}

impl StrictProfile<'_> {
    fn site(&self, site: &Site) -> Result<End, Refusal> {
        if site.changed && !site.odd_key.is_empty() {
            return Err(Refusal::new(
                "form",
                format!(
                    "the key {} next to it is not a valid annotation key, so it may become another key in the pods; \
                     write keys of letters, digits, `-`, `_`, `.` and `/`",
                    quoted(&site.odd_key)
                ),
            ));
        }
        if let Some(key) = site.moved_by.filter(|_| self.is_kept(site)) {
            return Err(kept(key));
        }
        if let Some(originator) = self.originator(site) {
            return self.placeholder(site, &originator);
        }
        self.label(site)?;
        match (&site.given, &site.old) {
            (Given::Absent, Given::Absent) => self.missing(site),
            (given, old) if given == old => Ok(End::new(Outcome::Unchanged, "unchanged")),
            (Given::Odd(what), _) => {
                Err(Refusal::new("form", format!("it is not a string but {what}; write {FORM}")))
            }
            (Given::Text(_), Given::Absent) if self.is_kept(site) => Err(kept(USER_INFO)),
            (Given::Text(text), Given::Absent) => self.given(site, text),
            (Given::Text(text), old) => self.changed(site, text, old),
            (Given::Absent, old) => self.removed(site, old),
        }
    }

    /// Checks a changed label that determines the user because the annotation is missing or empty.
    fn label(&self, site: &Site) -> Result<(), Refusal> {
        let is_source = match &site.given {
            Given::Absent => true,
            Given::Text(text) => text.is_empty(),
            Given::Odd(_) => false,
        };
        let is_changed = self.request.moment == Moment::Final && site.moved_by == Some(USERNAME);
        if !is_source || !is_changed || site.username.is_empty() {
            return Ok(());
        }
        let what = || format!("its label {USERNAME} names user {} without groups", quoted(&site.username));
        self.may_set(NOT_ALLOWED, None, what).map(drop)
    }

    /// Returns whether the site must keep its user, application and queue, because `YuniKorn` applies each
    /// change of a pod without checking ACLs again.
    fn is_kept(&self, site: &Site) -> bool {
        self.request.operation == Operation::Update && site.is_scheduled && !self.access.bypass_auth
    }

    /// Checks the application that a new pod names. An existing pod keeps its application.
    fn application(&self, site: &Site, end: End) -> Result<End, Refusal> {
        let request = self.request;
        let is_new = request.operation == Operation::Create || site.changed && !site.location.is_empty();
        if site.application.is_empty() || !is_new {
            return Ok(end);
        }
        let user = match (&end.written, &site.given) {
            (Some(Written { text, .. }), _) | (None, Given::Text(text)) => user(text),
            // Without the annotation, the label names the user.
            _ => site.username.clone(),
        };
        match request.running.objection(&site.application, request.namespace, &user) {
            None => Ok(end),
            Some(objection) => Err(Refusal::new(APPLICATION, format!("it names {}", objection.application))),
        }
    }

    /// Returns the names of the pod that owns this placeholder, or `None` if it is not a placeholder.
    /// `YuniKorn` creates placeholders with an account that may set names, and a pod of the application owns
    /// them.
    fn originator(&self, site: &Site) -> Option<Names> {
        site.placeholder.as_ref().filter(|_| self.request.operation == Operation::Create)?;
        let text = self.request.running.originators_user_info(&site.application, self.request.namespace)?;
        self.may_set(NOT_ALLOWED, None, String::new).ok()?;
        Names::read(text).ok()
    }

    /// Checks a placeholder. `YuniKorn` omits its name, and its admission controller writes the scheduler's.
    /// However, a recovered application may be created from the placeholder, so it gets the name of the pod
    /// for which it reserves space. Any other name comes from the task groups, which a user writes.
    fn placeholder(&self, site: &Site, originator: &Names) -> Result<End, Refusal> {
        let given = match &site.given {
            Given::Text(text) => Names::read(text).ok(),
            Given::Absent | Given::Odd(_) => None,
        };
        match given {
            Some(names) if names.are_the_same_as(originator) => self.allowed(PLACEHOLDER, &names),
            Some(names) if !names.are_the_same_as(&self.own) => {
                let user = quoted(names.user());
                Err(Refusal::new(PLACEHOLDER, format!("it names user {user}, but its owner does not")))
            }
            _ if self.request.moment == Moment::Mutating => {
                Ok(End::added(PLACEHOLDER, originator.write(self.request.granted)))
            }
            _ => Err(Refusal::new(PLACEHOLDER, "it does not name the user of its owner at the end")),
        }
    }

    /// Decides about a site that has no annotation and had none before.
    fn missing(&self, site: &Site) -> Result<End, Refusal> {
        if self.request.operation == Operation::Update
            && (!site.changed || self.is_kept(site) || self.request.is_of_controller(self.access))
        {
            return Ok(End::new(Outcome::Unchanged, "unchanged"));
        }
        if self.request.is_replica_set && self.request.is_of_controller(self.access) {
            return Ok(End::new(Outcome::Unchanged, "replica_set"));
        }
        if self.access.bypass_auth && !site.username.is_empty() {
            return Ok(End::new(Outcome::Kept, "bypass_auth"));
        }
        if self.request.user.is_empty() {
            return Err(Refusal::new(
                "nobody",
                "it is missing, and the requester has no name that could be added",
            ));
        }
        match self.request.moment {
            Moment::Mutating => Ok(End::added("missing", self.own.write(self.request.granted))),
            Moment::Final if self.request.operation == Operation::Update => {
                Ok(End::new(Outcome::Unchanged, "unchanged"))
            }
            Moment::Final => Err(Refusal::new(
                "missing",
                "it is still missing: the webhook that adds it was not called, or another one has removed \
                 it; try again",
            )),
        }
    }

    /// Decides about an annotation that is new.
    fn given(&self, site: &Site, text: &str) -> Result<End, Refusal> {
        let names = Names::read(text);
        if let Ok(names) = &names {
            if names.are_the_same_as(&self.own) {
                return self.allowed("own", names);
            }
            // A Spark driver creates its executors with the account of its pod and on behalf of its
            // submitter.
            let creators = self.request.running.creators_user_info(self.request.namespace);
            let creators = creators.and_then(|text| Names::read(text).ok());
            // The name of the operator's own pod must not be used for the pods of its users.
            let is_own_pod = site.location.is_empty() && !self.request.is_of_operator();
            if is_own_pod && creators.is_some_and(|creators| creators.are_the_same_as(names)) {
                return self.allowed("own_pod", names);
            }
        }
        let what = || match &names {
            Ok(names) => format!("it names user {}", quoted(names.user())),
            Err(_) => "it names another user".to_owned(),
        };
        if site.placeholder.is_some() && !self.access.bypass_auth {
            return Err(Refusal::new(PLACEHOLDER, format!("{}, and no pod owns this placeholder", what())));
        }
        let clause = self.may_set(NOT_ALLOWED, names.as_ref().ok(), what)?;
        self.allowed(clause, &names.map_err(|why| not_well_formed(&why))?)
    }

    /// Decides about a changed annotation. A change of only aliases is not a change of names.
    fn changed(&self, site: &Site, text: &str, old: &Given) -> Result<End, Refusal> {
        let names = Names::read(text);
        if let (Ok(names), Given::Text(old)) = (&names, old)
            && Names::read(old).is_ok_and(|old| old.are_the_same_as(names))
        {
            return self.allowed("aliases", names);
        }
        let what = "it was set before and would be changed";
        let clause = self.may_change(site, names.as_ref().ok(), what)?;
        self.allowed(clause, &names.map_err(|why| not_well_formed(&why))?)
    }

    /// Decides about a removed annotation. Users who remove their own name lose nothing.
    fn removed(&self, site: &Site, old: &Given) -> Result<End, Refusal> {
        if let (Given::Text(old), Moment::Mutating) = (old, self.request.moment)
            && let Ok(names) = Names::read(old)
            && names.are_the_same_as(&self.own)
        {
            let same = || Written { text: old.clone(), is_cut: false };
            let written = names.foreign().map_or_else(same, |_| names.write(self.request.granted));
            return Ok(End::added("own", written));
        }
        let clause = self.may_change(site, None, "it was set before and would be removed")?;
        Ok(End::new(Outcome::Kept, clause))
    }

    /// Checks that the requester may change the name at a site, and returns the clause that allows it.
    fn may_change(&self, site: &Site, names: Option<&Names>, what: &str) -> Result<&'static str, Refusal> {
        if self.is_kept(site) {
            return Err(kept(USER_INFO));
        }
        self.may_set(IMMUTABLE, names, || what.to_owned())
    }

    /// Handles the aliases of a text whose names this clause allows.
    fn allowed(&self, clause: &'static str, names: &Names) -> Result<End, Refusal> {
        let request = self.request;
        // If the ReplicaSet of a Deployment's controller were changed, the Deployment would create another
        // one. Its pods get their aliases when they are created.
        let is_fixed = request.is_replica_set && request.is_of_controller(self.access);
        if request.moment == Moment::Mutating && !is_fixed {
            return Ok(match names.rewritten(request.granted) {
                Some(written) => End::added(clause, written),
                None => End::new(Outcome::Kept, clause),
            });
        }
        match names.foreign() {
            None => Ok(End::new(Outcome::Kept, clause)),
            Some(alias) => {
                let why = format!(
                    "its group {} is an alias of none of its names, and only queuewarden writes aliases; leave \
                     the group out",
                    quoted(alias)
                );
                Err(Refusal::new("alias", why))
            }
        }
    }

    /// Returns the clause that lets the requester set these names, or the refusal. An operator's account may
    /// set the names in the owner, and users on a list may set any.
    fn may_set(
        &self,
        clause: &'static str,
        names: Option<&Names>,
        what: impl Fn() -> String,
    ) -> Result<&'static str, Refusal> {
        if self.access.bypass_auth {
            return Ok("bypass_auth");
        }
        if self.request.is_of_operator() {
            let objection = self.request.owners.objection(names);
            let refusal = |why| Refusal::new(OWNER, format!("{}, and {why}", what()));
            return objection.map_or(Ok(OWNER), |why| Err(refusal(why)));
        }
        match self.access.is_annotation_allowed(self.request.user, self.request.groups) {
            MaySet::Allowed(allowed) => Ok(match allowed.list {
                SYSTEM_USERS => "system_users",
                EXTERNAL_USERS => "external_users",
                _ => "external_groups",
            }),
            MaySet::Denied => Err(Refusal::new(clause, what())),
            MaySet::Unknown(list) => {
                let why = format!("{}, and {list} decides, but its content is unknown", what());
                Err(Refusal::new("configuration", why))
            }
        }
    }

    /// Returns the user of the first pods, if a site names one.
    fn named(&self, decision: &Decision) -> String {
        let text = decision.additions.first().map(|addition| addition.text.as_str()).or_else(|| {
            self.request.sites.iter().find_map(|site| match &site.given {
                Given::Text(text) => Some(text.as_str()),
                _ => None,
            })
        });
        visible(&text.map(user).unwrap_or_default())
    }
}

/// Returns the user that a text names, or an empty text.
fn user(text: &str) -> String {
    Names::read(text).map(|names| names.user().to_owned()).unwrap_or_default()
}

/// Refuses a change of this label or annotation of a pod.
fn kept(key: &str) -> Refusal {
    let why = format!(
        "{} would change, and a pod that YuniKorn schedules keeps its user, application and queue; create \
         another pod",
        quoted(key)
    );
    Refusal::new(KEPT, why)
}

fn not_well_formed(why: &str) -> Refusal {
    Refusal::new("form", format!("{why}; write {FORM}"))
}
