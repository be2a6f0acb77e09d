//! `queuewarden migrate-storage`: rewrites all objects of ours, so that none is stored in an older version:
//! `docs/api-versions.md`.
//!
//! The API server stores an object in the storage version that its definition had at the last write.
//! `status.storedVersions` of the definition lists every version that was ever a storage version; the API
//! server only adds to it, and others have to remove versions that no object uses any more.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::query::ServerArgs;
use super::query::cluster::{Cluster, chain, listed};
use super::{Console, Exit, Failure};
use queuewarden_api::GROUP;
use queuewarden_operator::controller::call::{self, call};
use queuewarden_operator::controller::world::api;
use queuewarden_plan::ResourceKind;

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 the API server refuses, 2 the command line is wrong, 3 the cluster does not answer.";
const RIGHTS: &str = "this takes `get` on customresourcedefinitions and `patch` on \
    customresourcedefinitions/status \
                      in apiextensions.k8s.io, and `list` and `patch` on all kinds of queuewarden.dev";

/// Rewrite all objects of queuewarden's kinds in the storage version, and remove older ones from
/// status.storedVersions of the definitions. Nothing else about the objects changes
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// Let the API server check each request, and store nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
///
/// # Errors
/// When the cluster cannot be reached, the API server rejects a request, or the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let cluster = Cluster::connect(&args.server)?;
    cluster.run(async |client| {
        for kind in ResourceKind::ALL {
            console.out(&migrate(client, kind, args.dry_run).await?)?;
        }
        Ok(Exit::Clean)
    })
}

/// Migrates one kind; returns the line about it.
async fn migrate(client: &Client, kind: ResourceKind, dry_run: bool) -> Result<String, Failure> {
    let name = format!("{}.{GROUP}", kind.plural());
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = call(definitions.get(&name)).await.map_err(|error| failed("read", &name, &error))?;
    let storage = definition.spec.versions.iter().find(|version| version.storage);
    let storage = storage.map(|version| version.name.as_str()).unwrap_or_default();
    let stored = definition.status.as_ref().and_then(|status| status.stored_versions.clone());
    let stored = stored.unwrap_or_default();
    if stored == [storage] {
        return Ok(format!("{name}: {storage} is the only stored version\n"));
    }
    let objects = api(kind, client.clone());
    let names = listed(&objects, ListParams::default(), |object| Some(object.name_any())).await;
    let names = names.map_err(|error| failed("list", &name, &error))?;
    let params = PatchParams { dry_run, ..PatchParams::default() };
    for object in &names {
        // The API server compares the new stored form with the old one, so this writes only where the version
        // differs.
        match call(objects.patch_metadata(object, &params, &Patch::Merge(json!({})))).await {
            Ok(_) => {}
            // It was deleted after the list was read, or somebody else has written it.
            Err(error) if error.is_not_found() || error.is_conflict() => {}
            Err(error) => return Err(failed("rewrite", &format!("{}/{object}", kind.name()), &error)),
        }
    }
    // Objects were rewritten in the storage version of this definition, not of a later one.
    let change = json!({
        "metadata": {"resourceVersion": definition.metadata.resource_version},
        "status": {"storedVersions": [storage]},
    });
    call(definitions.patch_status(&name, &params, &Patch::Merge(change)))
        .await
        .map_err(|error| failed("set status.storedVersions of", &name, &error))?;
    let (would, count, stored) = (if dry_run { "would be " } else { "" }, names.len(), stored.join(", "));
    Ok(format!("{name}: {count} objects {would}rewritten in {storage}; stored versions were {stored}\n"))
}

fn failed(doing: &str, what: &str, error: &call::Error) -> Failure {
    let message = format!("cannot {doing} {what}: {}", chain(error));
    match error {
        call::Error::Refused { code: 403, .. } => Failure::Output(format!("{message}; {RIGHTS}")),
        call::Error::Refused { code: 409, .. } => {
            Failure::Output(format!("{message}; run this command again"))
        }
        call::Error::Refused { .. } => Failure::Output(message),
        call::Error::Timeout(_) | call::Error::Unreachable(_) => Failure::Undecided(message),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use http::{Request, Response};
    use http_body_util::BodyExt as _;
    use kube::client::Body;
    use serde_json::Value;

    use super::*;

    /// Migrates `QueueAcl`s against these responses; returns the outcome, and the requests.
    async fn migrated(answers: Vec<(u16, Value)>) -> (Result<String, Failure>, Vec<String>) {
        let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
        let calls = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&calls);
        let service = tower::service_fn(move |request: Request<Body>| {
            let (answers, seen) = (Arc::clone(&answers), Arc::clone(&seen));
            async move {
                let (head, body) = request.into_parts();
                let body = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
                seen.lock().unwrap().push(format!("{} {} {body}", head.method, head.uri).trim().to_owned());
                let (status, answer) = answers.lock().unwrap().pop_front().unwrap();
                let answer = Body::from(answer.to_string().into_bytes());
                Ok::<_, Infallible>(Response::builder().status(status).body(answer).unwrap())
            }
        });
        let outcome = migrate(&Client::new(service, "default"), ResourceKind::QueueAcl, false).await;
        let calls = calls.lock().unwrap().clone();
        (outcome, calls)
    }

    fn definition(stored: &[&str]) -> Value {
        let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage});
        json!({
            "metadata": {"name": "queueacls.queuewarden.dev", "resourceVersion": "7"},
            "spec": {
                "group": GROUP, "scope": "Cluster", "names": {"kind": "QueueAcl", "plural": "queueacls"},
                "versions": [version("v1alpha1", false), version("v1beta1", true)],
            },
            "status": {"storedVersions": stored},
        })
    }

    fn page(names: &[&str], next: &str) -> Value {
        let items: Vec<Value> = names.iter().map(|name| object(name)).collect();
        json!({"metadata": {"continue": next}, "items": items})
    }

    fn object(name: &str) -> Value {
        json!({"metadata": {"name": name}})
    }

    fn refused(code: u16) -> (u16, Value) {
        let reason = if code == 404 { "NotFound" } else { "Other" };
        (code, json!({"status": "Failure", "message": "no", "reason": reason, "code": code}))
    }

    #[tokio::test]
    async fn what_was_deleted_or_written_meanwhile_is_left_alone() {
        let (outcome, calls) = migrated(vec![
            (200, definition(&["v1alpha1", "v1beta1"])),
            (200, page(&["a", "b"], "more")),
            (200, page(&["c"], "")),
            (200, object("a")),
            refused(404),
            refused(409),
            (200, definition(&["v1beta1"])),
        ])
        .await;
        let line = outcome.unwrap();
        assert!(
            line.contains("3 objects rewritten in v1beta1; stored versions were v1alpha1, v1beta1"),
            "{line}"
        );
        assert!(calls[2].contains("continue=more"), "{calls:?}");
        assert!(calls[5].contains("/queueacls/c?") && calls[5].ends_with(" {}"), "{calls:?}");
        let change = r#"{"metadata":{"resourceVersion":"7"},"status":{"storedVersions":["v1beta1"]}}"#;
        assert!(
            calls[6].contains("queueacls.queuewarden.dev/status?") && calls[6].ends_with(change),
            "{calls:?}"
        );
    }

    #[tokio::test]
    async fn older_versions_stay_listed_where_an_object_was_not_rewritten() {
        for (code, hint) in [(403, RIGHTS), (422, "cannot rewrite QueueAcl/a: no")] {
            let (outcome, calls) = migrated(vec![
                (200, definition(&["v1alpha1", "v1beta1"])),
                (200, page(&["a"], "")),
                refused(code),
            ])
            .await;
            let failure = outcome.unwrap_err().to_string();
            assert!(failure.contains(hint) && calls.len() == 3, "{failure} {calls:?}");
        }
    }

    #[tokio::test]
    async fn a_definition_that_changed_meanwhile_is_one_to_begin_again_with() {
        let (outcome, _) =
            migrated(vec![(200, definition(&["v1alpha1", "v1beta1"])), (200, page(&[], "")), refused(409)])
                .await;
        let failure = outcome.unwrap_err().to_string();
        assert!(failure.ends_with("run this command again"), "{failure}");
    }
}
