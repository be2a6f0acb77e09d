//! Tests the parts of a release apart from the image: reproducible builds, and a plugin that krew installs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::assets::{self, Servers};
use queuewarden_e2e::helm::{CHART, Helm, Version, kustomized, objects};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// A stand-in for queuewarden, which would take minutes to pack.
const PROGRAM: &str = "#!/bin/sh\necho plugin \"$@\"\n";

/// What a release has a program for.
const PLATFORMS: [&str; 5] = ["darwin-amd64", "darwin-arm64", "linux-amd64", "linux-arm64", "windows-amd64"];

/// Runs `release/assets.sh` for all platforms.
fn make(folder: &Path, out: &str, digest: &str) -> Result<BTreeMap<String, Vec<u8>>> {
    let program = folder.join("program");
    fs::write(&program, PROGRAM)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700))?;
    let out = folder.join(out);
    let kubectl = Servers::get()?.kubectl();
    let output = Command::new(Path::new(REPOSITORY).join("release/assets.sh"))
        .arg(&out)
        .args(PLATFORMS.map(|platform| format!("{platform}={}", program.display())))
        .env("PATH", path_with(kubectl.parent().context("kubectl is nowhere")?)?)
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .env("WITHOUT_SBOM", "1")
        .env("IMAGE_DIGEST", digest)
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read_dir(&out)?
        .map(|entry| {
            let entry = entry?;
            Ok((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?))
        })
        .collect()
}

fn archive(platform: &str) -> String {
    format!("queuewarden-{platform}.tar.gz")
}

/// Returns `PATH` with this folder before all others.
fn path_with(folder: &Path) -> Result<std::ffi::OsString> {
    let old = std::env::var_os("PATH").unwrap_or_default();
    Ok(std::env::join_paths(std::iter::once(folder.to_path_buf()).chain(std::env::split_paths(&old)))?)
}

fn text(files: &BTreeMap<String, Vec<u8>>, name: &str) -> Result<String> {
    Ok(String::from_utf8(files.get(name).with_context(|| format!("no {name}"))?.clone())?)
}

#[tokio::test]
async fn release_is_reproducible() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let files = make(folder.path(), "one", "")?;
    ensure!(files == make(folder.path(), "two", "")?, "two runs have made different files");
    let version = env!("CARGO_PKG_VERSION");
    let chart = format!("queuewarden-{version}.tgz");
    let names = ["SHA256SUMS", "crds.yaml", "install.yaml", "krew.yaml", &chart];
    let names: BTreeSet<String> =
        names.into_iter().map(str::to_owned).chain(PLATFORMS.map(archive)).collect();
    ensure!(files.keys().eq(&names), "{:?}", files.keys());

    ensure!(objects(&text(&files, "install.yaml")?)? == kustomized("manifests").await?);
    let sums = Command::new("sha256sum")
        .args(["--check", "SHA256SUMS"])
        .current_dir(folder.path().join("one"))
        .output()?;
    ensure!(sums.status.success(), "{}", String::from_utf8_lossy(&sums.stdout));

    // The packed chart is the chart.
    let helm = Helm::get(Version::Three).await?;
    let packed = folder.path().join("one").join(&chart);
    let args = [
        "template",
        "q",
        "--kube-version",
        "1.35.0",
        "--set",
        "webhooks.enabled=true,webhooks.configMaps=true",
    ];
    let unpinned = packed.to_string_lossy().into_owned();
    let [packed, unpacked] = [packed.to_string_lossy().into_owned(), CHART.to_owned()];
    let nobody = Path::new("/dev/null");
    let packed = helm.run(&[&args[..], &[&packed]].concat(), nobody).await?;
    ensure!(packed == helm.run(&[&args[..], &[&unpacked]].concat(), nobody).await?);

    // A known digest is used for every image.
    let digest = format!("sha256:{}", "0".repeat(64));
    let pinned = text(&make(folder.path(), "pinned", &digest)?, "install.yaml")?;
    let image = format!("image: ghcr.io/queuewarden/queuewarden:{version}@{digest}\n");
    ensure!(pinned.matches("image: ").count() == pinned.matches(&image).count(), "{pinned}");
    let chart = unpinned.replace("/one/", "/pinned/");
    let printed = helm.run(&[&args[..], &[&chart]].concat(), nobody).await?;
    ensure!(printed.matches(&format!("queuewarden@{digest}")).count() == 2, "{printed}");
    Ok(())
}

#[test]
fn krew_installs_the_plugin() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let files = make(folder.path(), "dist", "")?;
    let manifest = folder.path().join("dist/krew.yaml");
    let text = text(&files, "krew.yaml")?;
    ensure!(!text.contains("{{") && text.matches("sha256: ").count() == PLATFORMS.len(), "{text}");

    let krew = assets::krew()?;
    let root = folder.path().join("root");
    fs::create_dir(&root)?;
    let archive = folder.path().join("dist/queuewarden-linux-amd64.tar.gz");
    let run = |program: &Path, args: &[&str]| -> Result<String> {
        let output = Command::new(program)
            .args(args)
            .env("KREW_ROOT", &root)
            .env("KREW_OS", "linux")
            .env("KREW_ARCH", "amd64")
            .env("KREW_NO_UPGRADE_CHECK", "1")
            .env("PATH", path_with(&root.join("bin"))?)
            .output()
            .with_context(|| format!("cannot run {}", program.display()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{} {}: {said}", program.display(), args.join(" "));
        Ok(String::from_utf8(output.stdout)?)
    };
    let [manifest, archive] = [manifest, archive].map(|path| path.to_string_lossy().into_owned());
    run(&krew, &["install", "--manifest", &manifest, "--archive", &archive])?;
    let said = run(&Servers::get()?.kubectl(), &["queuewarden", "who-can", "submit"])?;
    ensure!(said == "plugin who-can submit\n", "{said}");
    Ok(())
}

/// The wrapper of the GitHub action and of the pre-commit hook.
#[test]
fn released_program_is_downloaded_once_and_verified() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let release = format!("releases/v{}", env!("CARGO_PKG_VERSION"));
    fs::create_dir_all(folder.path().join("releases"))?;
    make(folder.path(), &release, "")?;
    let run = |cache: &str| -> Result<(Option<i32>, String)> {
        let output = Command::new(Path::new(REPOSITORY).join("release/queuewarden.sh"))
            .args(["validate", "a b"])
            .env("PATH", "/usr/bin:/bin")
            .env("QUEUEWARDEN_RELEASES", format!("file://{}/releases", folder.path().display()))
            .env("XDG_CACHE_HOME", folder.path().join(cache))
            .output()?;
        let text = if output.status.success() { output.stdout } else { output.stderr };
        Ok((output.status.code(), String::from_utf8_lossy(&text).into_owned()))
    };
    let answer = (Some(0), "plugin validate a b\n".to_owned());
    ensure!(run("cache")? == answer);

    for name in PLATFORMS.map(archive) {
        fs::write(folder.path().join(&release).join(name), "another program")?;
    }
    let (code, text) = run("other")?;
    ensure!(
        code == Some(2) && text.contains("does not have the sum that SHA256SUMS names"),
        "{code:?} {text}"
    );
    ensure!(run("cache")? == answer, "the cached program is not used");

    fs::remove_dir_all(folder.path().join("releases"))?;
    let (code, text) = run("other")?;
    ensure!(code == Some(2) && text.contains("cannot download file://"), "{code:?} {text}");
    Ok(())
}
