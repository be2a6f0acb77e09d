//! Replaces files as a whole: a reader sees the old content or the new, never a part.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use super::Failure;
use crate::output::text::shown;

/// Writes `content` to `path` unless the file already holds it. An existing file keeps its permissions; a
/// symbolic link stays one, and its target is replaced or created. Pipes and devices are written to directly.
///
/// # Errors
/// When the folder cannot be written to, or the path is a folder or cannot be read.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = match fs::metadata(path) {
        Ok(meta) if meta.is_file() || meta.is_dir() => fs::canonicalize(path)?,
        Ok(_) => return File::options().write(true).open(path)?.write_all(content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
            // The link is relative to its own folder; a cycle of links is another error.
            Ok(link) => return write(&path.parent().unwrap_or(Path::new("")).join(link), content),
            Err(_) => path.to_path_buf(),
        },
        Err(error) => return Err(error),
    };
    if fs::read(&target).is_ok_and(|old| old == content) {
        return Ok(());
    }
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut file = new_file(folder, &target)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|error| error.error)?;
    // The rename is on disk only after the folder is. Windows opens no folders.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Writes files into a folder, which is created if it does not exist.
///
/// # Errors
/// When the folder cannot be created or written to.
pub(crate) fn write_all<N: AsRef<Path>, C: AsRef<[u8]>>(
    folder: &Path,
    files: impl IntoIterator<Item = (N, C)>,
) -> Result<(), Failure> {
    let written = fs::create_dir_all(folder).and_then(|()| {
        files.into_iter().try_for_each(|(name, content)| write(&folder.join(name), content.as_ref()))
    });
    written.map_err(|error| Failure::Output(format!("cannot write to `{}`: {error}", shown(folder))))
}

/// Creates a temporary file next to `target` with its permissions, or with default permissions.
fn new_file(folder: &Path, target: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".queuewarden-");
    if let Ok(meta) = fs::metadata(target) {
        let file = builder.tempfile_in(folder)?;
        file.as_file().set_permissions(meta.permissions())?;
        return Ok(file);
    }
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_whole_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.yaml");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(write(dir.path(), b"x").is_err());
        assert!(write(&dir.path().join("none/out.yaml"), b"x").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn keeps_permissions_and_links() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("out.yaml"), dir.path().join("link"));
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        write(&link, b"two").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"two");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_nothing_makes_it() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("below")).unwrap();
        symlink("below/second", at("first")).unwrap();
        symlink("out.yaml", at("below/second")).unwrap();
        write(&at("first"), b"one").unwrap();
        assert_eq!(fs::read(at("below/out.yaml")).unwrap(), b"one");
        assert!(fs::symlink_metadata(at("first")).unwrap().is_symlink());
        assert!(fs::symlink_metadata(at("below/second")).unwrap().is_symlink());
        symlink("circle", at("circle")).unwrap();
        assert!(write(&at("circle"), b"one").is_err());
        assert!(fs::symlink_metadata(at("circle")).unwrap().is_symlink());
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_written_to() {
        use std::io::Read;
        use std::os::fd::AsRawFd;
        let (mut reader, writer) = io::pipe().unwrap();
        let path = format!("/dev/fd/{}", writer.as_raw_fd());
        write(Path::new(&path), b"one").unwrap();
        write(Path::new(&path), b"one").unwrap();
        drop(writer);
        let mut got = Vec::new();
        reader.read_to_end(&mut got).unwrap();
        assert_eq!(got, b"oneone");
    }

    #[cfg(unix)]
    #[test]
    fn an_unchanged_file_is_not_touched() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.yaml");
        write(&path, b"one").unwrap();
        let before = fs::metadata(&path).unwrap().ino();
        write(&path, b"one").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().ino(), before);
    }
}
