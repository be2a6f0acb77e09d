//! The objects of queuewarden's own kinds.

use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};

use queuewarden_api::{GROUP, VERSION};
use queuewarden_plan::ResourceKind;

/// Returns the API of all objects of a kind.
pub fn api(kind: ResourceKind, client: Client) -> Api<DynamicObject> {
    let names = GroupVersionKind::gvk(GROUP, VERSION, kind.name());
    Api::all_with(client, &ApiResource::from_gvk_with_plural(&names, kind.plural()))
}
