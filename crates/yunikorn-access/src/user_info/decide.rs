//! Decides a request by profile strict.
//!
//! A name is right if it is the requester's own, or if the lists of the `AdmissionPolicy` let the requester
//! set others (k8shim `metadata/usergroup.go`, `IsAnnotationAllowed`); and once it is written, only users on
//! the lists may change it. So nobody's pods run in a name that is neither theirs nor theirs to give.

use std::collections::BTreeSet;

use super::answer::{Addition, Decision, Outcome};
use super::json;
use super::request::{Given, Moment, Request, Site};
use super::words::{self, APPLICATION, IMMUTABLE, NOT_ALLOWED, Refusal};
use crate::review::answer::visible;
use go_compat::diag::quoted;
use yunikorn::admission::{
    Access as MaySet, AccessControl, EXTERNAL_USERS, Operation, SYSTEM_USERS, UserInfo,
};

/// Decides a request by these keys.
pub fn decide(request: &Request<'_>, access: &AccessControl) -> Decision {
    let mut decision = Decision::new(Outcome::NotApplicable, "no_pods");
    if request.operation == Operation::Other || request.sites.is_empty() {
        return Decision { warnings: words::nowhere(request), ..decision };
    }
    let own = UserInfo { user: request.user.to_owned(), groups: request.groups.to_vec() };
    let profile = StrictProfile { request, access, own };
    for (index, site) in request.sites.iter().enumerate() {
        match profile.site(site).and_then(|end| profile.application(site, end)) {
            Ok(End { outcome, clause, text }) => {
                decision.note(outcome, clause);
                decision.additions.extend(text.map(|text| Addition { site: index, text }));
            }
            Err(refusal) => {
                let reason = words::reason(request, access, site, &refusal);
                return Decision::refused(refusal.clause, &reason, request.user);
            }
        }
    }
    decision.warnings = words::warnings(request, access);
    decision.user = profile.named(&decision);
    decision
}

/// The result of one site.
struct End {
    outcome: Outcome,
    clause: &'static str,
    /// The text that is written into the site.
    text: Option<String>,
}

impl End {
    fn new(outcome: Outcome, clause: &'static str) -> Self {
        Self { outcome, clause, text: None }
    }

    fn added(clause: &'static str, text: String) -> Self {
        Self { outcome: Outcome::Added, clause, text: Some(text) }
    }
}

/// The rules of profile strict, for one request.
struct StrictProfile<'a> {
    request: &'a Request<'a>,
    access: &'a AccessControl,
    /// The requester, in the form of the annotation.
    own: UserInfo,
}

impl StrictProfile<'_> {
    fn site(&self, site: &Site) -> Result<End, Refusal> {
        match (&site.given, &site.old) {
            (Given::Absent, Given::Absent) => self.missing(site),
            (given, old) if given == old => Ok(End::new(Outcome::Unchanged, "unchanged")),
            (Given::Odd(what), _) => {
                Err(Refusal::new("form", format!("it is no text but {what}; write {}", json::FORM)))
            }
            (Given::Text(text), Given::Absent) => self.given(site, text),
            (Given::Text(text), _) => self.changed(text),
            (Given::Absent, old) => self.removed(old),
        }
    }

    /// Decides about the application that a new pod names. An existing pod keeps the one that it is in.
    fn application(&self, site: &Site, end: End) -> Result<End, Refusal> {
        let request = self.request;
        let is_new = request.operation == Operation::Create || site.changed && !site.location.is_empty();
        if site.application.is_empty() || !is_new {
            return Ok(end);
        }
        let user = match (&end.text, &site.given) {
            (Some(text), _) | (None, Given::Text(text)) => json::read(text).map(|info| info.user).ok(),
            // Without the annotation the label names the user.
            _ => Some(site.username.clone()),
        };
        match request.running.objection(&site.application, request.namespace, &user.unwrap_or_default()) {
            None => Ok(end),
            Some(of_others) => Err(Refusal::new(APPLICATION, format!("it names {of_others}"))),
        }
    }

    /// Decides about a site without the annotation, now and before.
    fn missing(&self, site: &Site) -> Result<End, Refusal> {
        if self.request.operation == Operation::Update
            && (!site.changed || self.request.is_of_controller(self.access))
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
            return Err(Refusal::new("nobody", "it is missing, and who asks has no name to add"));
        }
        match self.request.moment {
            Moment::Mutating => Ok(End::added("missing", self.own.write())),
            Moment::Final if self.request.operation == Operation::Update => {
                Ok(End::new(Outcome::Unchanged, "unchanged"))
            }
            Moment::Final => Err(Refusal::new(
                "missing",
                "it is missing at the end: the webhook that adds it was not asked, or another one has taken \
                 it away; try again",
            )),
        }
    }

    /// Decides about a new annotation where there was none.
    fn given(&self, site: &Site, text: &str) -> Result<End, Refusal> {
        if self.is_own(text) {
            return Ok(End::new(Outcome::Kept, "own"));
        }
        // A Spark driver makes its executors by the account of its pod and in the name of its submitter.
        let creators = self.request.running.creators_user_info();
        if site.location.is_empty() && creators.is_some_and(|creators| is_same(creators, text)) {
            return Ok(End::new(Outcome::Kept, "own_pod"));
        }
        let clause = self.may_set(NOT_ALLOWED, || match json::read(text) {
            Ok(info) => format!("it names user {}", quoted(&info.user)),
            Err(_) => "it names somebody else".to_owned(),
        })?;
        well_formed(text)?;
        Ok(End::new(Outcome::Kept, clause))
    }

    /// Decides about a changed annotation.
    fn changed(&self, text: &str) -> Result<End, Refusal> {
        let clause = self.may_set(IMMUTABLE, || "it was set before and would be changed".to_owned())?;
        well_formed(text)?;
        Ok(End::new(Outcome::Kept, clause))
    }

    /// Decides about a removed annotation. Users who leave their own name out lose nothing.
    fn removed(&self, old: &Given) -> Result<End, Refusal> {
        if let (Given::Text(old), Moment::Mutating) = (old, self.request.moment)
            && self.is_own(old)
        {
            return Ok(End::added("own", old.clone()));
        }
        let clause = self.may_set(IMMUTABLE, || "it was set before and would be taken away".to_owned())?;
        Ok(End::new(Outcome::Kept, clause))
    }

    /// Returns the clause by which the lists let the requester set any name, or the refusal.
    fn may_set(&self, clause: &'static str, what: impl Fn() -> String) -> Result<&'static str, Refusal> {
        if self.access.bypass_auth {
            return Ok("bypass_auth");
        }
        match self.access.is_annotation_allowed(self.request.user, self.request.groups) {
            MaySet::Allowed(allowed) => Ok(match allowed.list {
                SYSTEM_USERS => "system_users",
                EXTERNAL_USERS => "external_users",
                _ => "external_groups",
            }),
            MaySet::Denied => Err(Refusal::new(clause, what())),
            MaySet::Unknown(list) => {
                let why = format!("{}, and what {list} holds, which decides, is not known", what());
                Err(Refusal::new("configuration", why))
            }
        }
    }

    /// Returns whether a text names the requester, with all of their groups and no others.
    fn is_own(&self, text: &str) -> bool {
        json::read(text).is_ok_and(|info| names_the_same(&info, &self.own))
    }

    /// The user of the first pods, as far as the sites name one.
    fn named(&self, decision: &Decision) -> String {
        let text = decision.additions.first().map(|addition| addition.text.as_str()).or_else(|| {
            self.request.sites.iter().find_map(|site| match &site.given {
                Given::Text(text) => Some(text.as_str()),
                _ => None,
            })
        });
        let user = text.and_then(|text| json::read(text).ok()).map(|info| info.user);
        visible(&user.unwrap_or_default())
    }
}

/// Returns whether two texts name the same user with the same groups.
fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (json::read(one), json::read(other));
    one.is_ok_and(|one| other.is_ok_and(|other| names_the_same(&one, &other)))
}

fn names_the_same(one: &UserInfo, other: &UserInfo) -> bool {
    let groups = |info: &UserInfo| info.groups.iter().cloned().collect::<BTreeSet<_>>();
    one.user == other.user && groups(one) == groups(other)
}

fn well_formed(text: &str) -> Result<UserInfo, Refusal> {
    json::read(text).map_err(|why| Refusal::new("form", format!("{why}; write {}", json::FORM)))
}
