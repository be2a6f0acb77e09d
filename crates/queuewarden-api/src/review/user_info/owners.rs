//! Finds the resources that own an object, and the names in such a resource.

use serde_json::value::RawValue;

use super::super::envelope::AdmissionRequest;
use super::super::malformed;
use super::super::part::{at, some_entries, text_at};
use super::locations::locations;
use super::paths_of;
use go_compat::diag::Diagnostic;
use yunikorn_access::user_info::{Given, MAX_SITES, Template};

/// Maximum number of owners of one object. Operators set one; users may add more in their pod templates.
const MAX_OWNERS: usize = 8;

/// An owner of an object: a resource of a group in `templates`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerReference {
    /// The API group.
    pub group: String,
    /// Its version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The name, in the namespace of the object.
    pub name: String,
    /// The UID.
    pub uid: String,
}

/// Returns the owners of a request's object whose groups are in `templates`.
///
/// # Errors
/// [`super::super::codes::MALFORMED_REVIEW`], also when there are more than [`MAX_OWNERS`].
pub fn owner_references(
    request: &AdmissionRequest,
    templates: &[Template],
) -> Result<Vec<OwnerReference>, Diagnostic> {
    let object = request.object.as_deref();
    let references = object.map_or(Ok(None), |object| at(object, &["metadata", "ownerReferences"]))?;
    let references = references.map_or(Ok(Vec::new()), |part| some_entries(part, MAX_OWNERS))?;
    if references.len() > MAX_OWNERS {
        let message = format!("the {} has more than {MAX_OWNERS} owners", request.kind);
        return Err(malformed(message));
    }
    let mut owners = Vec::new();
    for (_, reference) in references {
        let version = text_at(reference, &["apiVersion"])?;
        let Some((group, version)) = version.split_once('/') else { continue };
        if templates.iter().any(|template| template.group == group) {
            owners.push(OwnerReference {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: text_at(reference, &["kind"])?,
                name: text_at(reference, &["name"])?,
                uid: text_at(reference, &["uid"])?,
            });
        }
    }
    Ok(owners)
}

impl OwnerReference {
    /// Returns the resources in `templates` that the owner may belong to, starting with the usual plural of
    /// its kind.
    pub fn resources<'t>(&self, templates: &'t [Template]) -> Vec<&'t str> {
        let of_group = templates.iter().filter(|template| template.group == self.group);
        let mut resources: Vec<_> = of_group.map(|template| template.resource.as_str()).collect();
        let usual = format!("{}s", self.kind.to_lowercase());
        resources.sort_unstable_by_key(|resource| (*resource != usual, *resource));
        resources.dedup();
        resources
    }

    /// Returns the path of this resource in the API server, or `None` if part of it is not a valid object
    /// name and could lead elsewhere.
    pub fn path(&self, namespace: &str, resource: &str) -> Option<String> {
        let Self { group, version, name, .. } = self;
        let parts = [group, version, namespace, resource, name.as_str()];
        let is_name = |part: &str| {
            let of_names = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
            part.chars().all(of_names) && part.starts_with(|c: char| c.is_ascii_alphanumeric())
        };
        parts
            .iter()
            .all(|part| is_name(part))
            .then(|| format!("/apis/{group}/{version}/namespaces/{namespace}/{resource}/{name}"))
    }

    /// Returns the annotation's values at this resource's paths in an object, or `None` if the object is a
    /// different one with the same name.
    ///
    /// # Errors
    /// [`super::super::codes::MALFORMED_REVIEW`], also when no path of its version is known.
    pub fn names_in(
        &self,
        object: &RawValue,
        resource: &str,
        templates: &[Template],
    ) -> Result<Option<Vec<String>>, Diagnostic> {
        if text_at(object, &["metadata", "uid"])? != self.uid {
            return Ok(None);
        }
        let paths = paths_of(&self.group, &self.version, resource, templates)?;
        let found = locations("", object, &paths)?.ok_or_else(|| {
            let message = format!("the {} has more than {MAX_SITES} pod templates", self.kind);
            malformed(message)
        })?;
        let text = |given: &Given| match given {
            Given::Text(text) => Some(text.clone()),
            Given::Absent | Given::Odd(_) => None,
        };
        let mut names: Vec<_> = found.iter().filter_map(|found| text(found.given())).collect();
        names.sort_unstable();
        names.dedup();
        Ok(Some(names))
    }
}
