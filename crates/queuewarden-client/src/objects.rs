//! The objects of queuewarden's own kinds.

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PatchParams, PostParams};
use kube::{Api, Client};

use queuewarden_api::{GROUP, VERSION};
use queuewarden_plan::ResourceKind;
use queuewarden_plan::snapshot::FIELD_MANAGER;

/// Returns the API of all objects of a kind.
pub fn api(kind: ResourceKind, client: Client) -> Api<DynamicObject> {
    let names = GroupVersionKind::gvk(GROUP, VERSION, kind.name());
    Api::all_with(client, &ApiResource::from_gvk_with_plural(&names, kind.plural()))
}

/// Returns the parameters of the operator's requests that create or replace an object.
pub fn post_params() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

/// Returns the parameters of the operator's patches.
pub fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}
