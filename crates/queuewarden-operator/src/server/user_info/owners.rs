//! Reads the resources that own the objects of an operator's account, for the names in them.

use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::server::ServerState;
use crate::server::lookups::PATIENCE;
use go_compat::diag::quoted;
use queuewarden_api::review::envelope::AdmissionRequest;
use queuewarden_api::review::user_info::{OwnerReference, UserInfoContent, owner_references};
use yunikorn_access::user_info::{Owner, Owners, Settings};

/// Returns the owners of a request's object, read if they decide.
pub(super) async fn owners(
    state: &ServerState,
    settings: &Settings,
    request: &AdmissionRequest,
    content: &UserInfoContent,
) -> Owners {
    if !settings.is_operator(&request.by.user) {
        return Owners::Irrelevant;
    }
    if !content.is_named_anew() {
        return Owners::Read(Vec::new());
    }
    let references = match owner_references(request, &settings.templates) {
        Ok(references) => references,
        Err(why) => return Owners::Unread(why.message),
    };
    let read = async {
        let mut owners = Vec::new();
        for reference in &references {
            owners.push(owner(state, settings, &request.namespace, reference).await?);
        }
        Ok(owners)
    };
    match timeout(PATIENCE, Box::pin(read)).await {
        Ok(owners) => owners.map_or_else(Owners::Unread, Owners::Read),
        Err(_) => Owners::Unread("its owner was not received in time; try again".to_owned()),
    }
}

/// Returns one owner.
///
/// # Errors
/// The reason why it is unknown, as the end of a sentence.
async fn owner(
    state: &ServerState,
    settings: &Settings,
    namespace: &str,
    reference: &OwnerReference,
) -> Result<Owner, String> {
    let OwnerReference { group, kind, name, uid, .. } = reference;
    let object = format!("{kind} {}", quoted(name));
    for resource in reference.resources(&settings.templates) {
        let Some(path) = reference.path(namespace, resource) else { break };
        let read = |object: &RawValue| {
            reference.names_in(object, resource, &settings.templates).map_err(|why| why.message)
        };
        let texts = state.lookups.owner(path, uid, read).await;
        let texts = texts.map_err(|why| format!("{object}, which owns it, {why} ({resource}.{group})"))?;
        if let Some(texts) = texts {
            return Ok(Owner { object, texts: texts.to_vec() });
        }
    }
    Err(format!("its namespace has no {object} with the UID of its owner"))
}
