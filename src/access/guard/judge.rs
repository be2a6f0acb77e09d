//! Profile strict.
//!
//! A name is right if it is the requester's own, or if the lists of the `AdmissionPolicy` let the requester set others (k8shim
//! `metadata/usergroup.go`, `IsAnnotationAllowed`); and once it is written, only who is on the lists changes it. So nobody's pods run
//! in a name that is neither theirs nor theirs to give.

use std::collections::BTreeSet;

use super::answer::{Addition, Judgement, Rule, Verdict};
use super::asked::{Asked, Given, Moment, Site};
use super::json;
use crate::access::review::answer::visible;
use crate::model::admission::request::{USER_INFO, USERNAME};
use crate::model::admission::{AccessControl, Operation, UserInfo, Verdict as MaySet, remedies};
use crate::text::diag::quoted;

/// Judges a request by these keys.
pub fn judge(asked: &Asked<'_>, access: &AccessControl) -> Judgement {
    if asked.operation == Operation::Other || asked.sites.is_empty() {
        return Judgement { warnings: nowhere(asked), ..Judgement::new(Verdict::NotAsked, Rule::NoPods) };
    }
    let walk = Walk { asked, access, own: own(asked) };
    let mut judgement = Judgement::new(Verdict::NotAsked, Rule::NoPods);
    for (index, site) in asked.sites.iter().enumerate() {
        match walk.site(site) {
            Ok(End { verdict, rule, text }) => {
                judgement.note(verdict, rule);
                judgement.additions.extend(text.map(|text| Addition { site: index, text }));
            }
            Err(refusal) => return walk.refused(site, &refusal),
        }
    }
    judgement.warnings = walk.warnings();
    judgement.user = walk.named(&judgement);
    judgement
}

/// A path that leads nowhere guards nothing, which nobody should learn from an accident.
fn nowhere(asked: &Asked<'_>) -> Vec<String> {
    let is_new = asked.operation == Operation::Create && asked.has_templates;
    let warning = format!(
        "no path of spec.userInfo.templates in the AdmissionPolicy leads anywhere in this {}: nobody looks in whose name its pods run",
        asked.kind
    );
    if is_new { vec![visible(&warning)] } else { Vec::new() }
}

/// The requester, as the annotation has it.
fn own(asked: &Asked<'_>) -> UserInfo {
    UserInfo { user: asked.user.to_owned(), groups: asked.groups.to_vec() }
}

/// What becomes of one place.
struct End {
    verdict: Verdict,
    rule: Rule,
    /// What is written there.
    text: Option<String>,
}

impl End {
    fn of(verdict: Verdict, rule: Rule) -> Self {
        Self { verdict, rule, text: None }
    }

    fn added(rule: Rule, text: String) -> Self {
        Self { verdict: Verdict::Added, rule, text: Some(text) }
    }
}

/// Why one place is refused.
struct Refusal {
    rule: Rule,
    why: String,
    /// Whether somebody on a list could do it.
    is_about_lists: bool,
}

impl Refusal {
    fn new(rule: Rule, why: impl Into<String>) -> Self {
        Self { rule, why: why.into(), is_about_lists: false }
    }

    fn by_lists(rule: Rule, why: impl Into<String>) -> Self {
        Self { is_about_lists: true, ..Self::new(rule, why) }
    }
}

struct Walk<'a> {
    asked: &'a Asked<'a>,
    access: &'a AccessControl,
    own: UserInfo,
}

impl Walk<'_> {
    fn site(&self, site: &Site) -> Result<End, Refusal> {
        match (&site.given, &site.old) {
            (Given::Absent, Given::Absent) => self.missing(site),
            (given, old) if given == old => Ok(End::of(Verdict::Unchanged, Rule::Unchanged)),
            (Given::Odd(what), _) => {
                Err(Refusal::new(Rule::Form, format!("it is no text but {what}; write {}", json::FORM)))
            }
            (Given::Text(text), Given::Absent) => self.given(text),
            (Given::Text(text), _) => self.changed(text),
            (Given::Absent, old) => self.removed(old),
        }
    }

    /// Nothing is said, and nothing was.
    fn missing(&self, site: &Site) -> Result<End, Refusal> {
        if self.asked.operation == Operation::Update && (!site.changed || self.is_controller()) {
            return Ok(End::of(Verdict::Unchanged, Rule::Unchanged));
        }
        if self.asked.is_replica_set && self.is_controller() {
            return Ok(End::of(Verdict::Unchanged, Rule::ReplicaSet));
        }
        if self.access.bypass_auth && !site.username.is_empty() {
            return Ok(End::of(Verdict::Kept, Rule::BypassAuth));
        }
        if self.asked.user.is_empty() {
            return Err(Refusal::new(Rule::Nobody, "it is missing, and who asks has no name to add"));
        }
        match self.asked.moment {
            Moment::Mutating => Ok(End::added(Rule::Missing, self.own.write())),
            Moment::Final if self.asked.operation == Operation::Update => {
                Ok(End::of(Verdict::Unchanged, Rule::Unchanged))
            }
            Moment::Final => Err(Refusal::new(
                Rule::Missing,
                "it is missing at the end: the webhook that adds it was not asked, or another one has taken it away; try again",
            )),
        }
    }

    /// Something is said where nothing was.
    fn given(&self, text: &str) -> Result<End, Refusal> {
        if self.is_own(text) {
            return Ok(End::of(Verdict::Kept, Rule::Own));
        }
        let rule = self.may_set(Rule::NotAllowed, || match json::read(text) {
            Ok(info) => format!("it names user {}", quoted(&info.user)),
            Err(_) => "it names somebody else".to_owned(),
        })?;
        well_formed(text)?;
        Ok(End::of(Verdict::Kept, rule))
    }

    /// Something else is said than before.
    fn changed(&self, text: &str) -> Result<End, Refusal> {
        let rule = self.may_set(Rule::Immutable, || "it was set before and would be changed".to_owned())?;
        well_formed(text)?;
        Ok(End::of(Verdict::Kept, rule))
    }

    /// Nothing is said any more. Who leaves their own name out loses nothing.
    fn removed(&self, old: &Given) -> Result<End, Refusal> {
        if let (Given::Text(old), Moment::Mutating) = (old, self.asked.moment)
            && self.is_own(old)
        {
            return Ok(End::added(Rule::Own, old.clone()));
        }
        let rule =
            self.may_set(Rule::Immutable, || "it was set before and would be taken away".to_owned())?;
        Ok(End::of(Verdict::Kept, rule))
    }

    /// Whether the lists let the requester say anything.
    fn may_set(&self, rule: Rule, what: impl Fn() -> String) -> Result<Rule, Refusal> {
        if self.access.bypass_auth {
            return Ok(Rule::BypassAuth);
        }
        match self.access.is_annotation_allowed(self.asked.user, self.asked.groups) {
            MaySet::Allowed(allowed) => Ok(Rule::Allowed(allowed.list)),
            MaySet::Denied => Err(Refusal::by_lists(rule, what())),
            MaySet::Unknown(list) => {
                let why = format!("{}, and what {} holds, which decides, is not known", what(), list.key());
                Err(Refusal::new(Rule::Configuration, why))
            }
        }
    }

    /// Whether a text names the requester, with all of their groups and no others.
    fn is_own(&self, text: &str) -> bool {
        let groups = |info: &UserInfo| info.groups.iter().cloned().collect::<BTreeSet<_>>();
        json::read(text).is_ok_and(|info| info.user == self.own.user && groups(&info) == groups(&self.own))
    }

    /// Whether the requester is one of the users that controllers run as. Whether these are trusted is not asked.
    fn is_controller(&self) -> bool {
        self.access.system_users.matching(self.asked.user).is_some()
    }

    fn refused(&self, site: &Site, refusal: &Refusal) -> Judgement {
        let Asked { kind, user, groups, .. } = self.asked;
        let place = if site.place.is_empty() { String::new() } else { format!(" ({})", site.place) };
        let groups = groups.join(", ");
        let mut why = refusal.why.clone();
        if refusal.is_about_lists {
            why.push_str(
                ", and none of trustControllers with systemUsers, externalUsers and externalGroups lets them",
            );
        }
        let helps = if refusal.is_about_lists { self.helps(refusal.rule) } else { Vec::new() };
        let helps = if helps.is_empty() {
            String::new()
        } else {
            format!(" (what would help: {})", helps.join("; or "))
        };
        let user_name = quoted(user);
        let reason = format!(
            "user {user_name} in groups [{groups}] may not create or change this {kind}{place} with this {USER_INFO}: {why}{helps}"
        );
        Judgement::refused(refusal.rule, &reason, user)
    }

    /// What would let them; what concerns the policy names its field.
    fn helps(&self, rule: Rule) -> Vec<String> {
        let told = remedies(self.asked.user, self.asked.groups, self.access);
        let policy = told.iter().skip(1).map(|remedy| format!("{remedy} of the AdmissionPolicy"));
        let first = match rule {
            Rule::Immutable => "leave it as it was".to_owned(),
            _ => told.first().map(ToString::to_string).unwrap_or_default(),
        };
        std::iter::once(first).chain(policy).take(MAX_HELPS).collect()
    }

    /// What is let pass, and had better not be.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for site in self.asked.sites {
            let place = if site.place.is_empty() { "this pod" } else { site.place.as_str() };
            if !site.username.is_empty() && (site.changed || self.asked.operation == Operation::Create) {
                let counts = if self.access.bypass_auth && site.given == Given::Absent {
                    "says in whose name it runs only until YuniKorn 1.9"
                } else {
                    "does not count beside the annotation"
                };
                let username = quoted(&site.username);
                warnings
                    .push(format!("{place}: the label {USERNAME} ({username}) {counts}; use {USER_INFO}"));
            }
            if !site.node_name.is_empty()
                && self.asked.operation == Operation::Create
                && !self.is_controller()
            {
                let node = quoted(&site.node_name);
                warnings.push(format!(
                    "{place}: spec.nodeName ({node}) puts it past the scheduler and the ACLs of its queues"
                ));
            }
        }
        warnings.dedup();
        warnings.truncate(MAX_WARNINGS);
        warnings.iter().map(|warning| visible(warning)).collect()
    }

    /// In whose name the first pods run, as far as the places say.
    fn named(&self, judgement: &Judgement) -> String {
        let text = judgement.additions.first().map(|addition| addition.text.as_str()).or_else(|| {
            self.asked.sites.iter().find_map(|site| match &site.given {
                Given::Text(text) => Some(text.as_str()),
                _ => None,
            })
        });
        let user = text.and_then(|text| json::read(text).ok()).map(|info| info.user);
        visible(&user.unwrap_or_default())
    }
}

/// As many as people read.
const MAX_HELPS: usize = 4;
/// As many as kubectl should print.
const MAX_WARNINGS: usize = 4;

fn well_formed(text: &str) -> Result<UserInfo, Refusal> {
    json::read(text).map_err(|why| Refusal::new(Rule::Form, format!("{why}; write {}", json::FORM)))
}
