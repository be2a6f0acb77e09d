//! Finds the input files, and reads their text.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::cli::Failure;
use go_compat::yaml;

/// Extensions of the files that are read from a folder, as in kubectl.
const EXTENSIONS: &[&str] = &["yaml", "yml", "json"];
/// Maximum number of files; more are a wrong path rather than a configuration.
const MAX_FILES: usize = 20_000;
/// Maximum depth of folders; also ends cycles of symbolic links.
const MAX_DEPTH: usize = 32;

/// Name of standard input.
pub const STDIN: &str = "<stdin>";

/// One text that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The name for people: the path as given, `<stdin>` for standard input.
    pub name: String,
    /// The text.
    pub text: String,
}

impl Source {
    /// Returns the one-based line and column of a byte; columns count characters.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset);
        let before = self.text.get(..offset).unwrap_or_default();
        let line = before.bytes().filter(|byte| *byte == b'\n').count().saturating_add(1);
        let start = before.rfind('\n').map_or(0, |newline| newline.saturating_add(1));
        let column = before.get(start..).unwrap_or_default().chars().count().saturating_add(1);
        (line, column)
    }

    /// Returns `name:line:column` of a byte, as editors and compilers write it.
    pub fn at(&self, offset: usize) -> String {
        let (line, column) = self.position(offset);
        format!("{}:{line}:{column}", self.name)
    }
}

/// Creates the failure for a path that cannot be read.
pub fn unreadable(path: &Path, why: impl Display) -> Failure {
    Failure::Usage(format!("cannot read `{}`: {why}", path.display()))
}

/// Reads every file that the paths name, each once, folders in the order of their names: also from folders
/// below them if `recursive`, and without `except`, which receives the output.
///
/// # Errors
/// When a path does not exist, cannot be read, is not UTF-8 or exceeds the size limit of YAML.
pub fn read(paths: &[PathBuf], recursive: bool, except: Option<&Path>) -> Result<Vec<Source>, Failure> {
    let except = except.and_then(|path| fs::canonicalize(path).ok());
    let mut seen = BTreeSet::new();
    let mut sources = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            sources.push(read_one(path)?);
            continue;
        }
        let is_folder = path.is_dir();
        let mut files = Vec::new();
        if is_folder {
            walk(path, recursive, 0, &mut files)?;
        } else {
            files.push(path.clone());
        }
        for file in files {
            let identity = fs::canonicalize(&file).map_err(|error| unreadable(&file, error))?;
            let is_output = is_folder && except.as_ref() == Some(&identity);
            if !is_output && seen.insert(identity) {
                sources.push(read_one(&file)?);
            }
        }
    }
    Ok(sources)
}

/// Reads one file, or standard input for `-`.
///
/// # Errors
/// As [`read`].
pub fn read_one(path: &Path) -> Result<Source, Failure> {
    if path.as_os_str() == "-" {
        return from_reader(STDIN, io::stdin().lock());
    }
    let file = fs::File::open(path).map_err(|error| unreadable(path, error))?;
    from_reader(&path.display().to_string(), file)
}

/// Reads the text from an open reader.
///
/// # Errors
/// As [`read`].
pub fn from_reader(name: &str, from: impl Read) -> Result<Source, Failure> {
    let text = text(from).map_err(|error| unreadable(Path::new(name), error))?;
    Ok(Source { name: name.to_owned(), text })
}

fn text(from: impl Read) -> io::Result<String> {
    let mut text = String::new();
    let limit = u64::try_from(yaml::MAX_TEXT).unwrap_or(u64::MAX);
    from.take(limit.saturating_add(1)).read_to_string(&mut text)?;
    if text.len() > yaml::MAX_TEXT {
        return Err(io::Error::other(format!("more than {} bytes", yaml::MAX_TEXT)));
    }
    Ok(text)
}

/// Adds the files in a folder, in the order of their names.
fn walk(folder: &Path, recursive: bool, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let list =
        || -> io::Result<Vec<PathBuf>> { fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect() };
    let mut entries = list().map_err(|error| unreadable(folder, error))?;
    entries.sort();
    for path in entries {
        // Hidden names are no manifests, and in a mounted ConfigMap they are the same files again.
        if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
            continue;
        }
        if path.is_dir() {
            if recursive && depth < MAX_DEPTH {
                walk(&path, recursive, depth + 1, files)?;
            }
        } else if path.extension().and_then(|ext| ext.to_str()).is_some_and(|ext| EXTENSIONS.contains(&ext)) {
            files.push(path);
        }
        if files.len() > MAX_FILES {
            return Err(unreadable(folder, format!("more than {MAX_FILES} files")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[PathBuf], recursive: bool, except: Option<&Path>) -> Vec<String> {
        let sources = read(paths, recursive, except).unwrap();
        let name =
            |source: &Source| Path::new(&source.name).file_name().unwrap().to_string_lossy().into_owned();
        sources.iter().map(name).collect()
    }

    #[test]
    fn folders_give_their_manifests_in_order_and_each_file_once() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("sub")).unwrap();
        for name in ["b.yaml", "a.yml", "c.json", "notes.txt", ".hidden.yaml", "out.yaml", "sub/d.yaml"] {
            fs::write(at(name), "x: 1\n").unwrap();
        }
        let (paths, out) = ([dir.path().to_path_buf(), at("b.yaml")], at("out.yaml"));
        assert_eq!(names(&paths, false, Some(&out)), ["a.yml", "b.yaml", "c.json"]);
        assert_eq!(names(&paths, true, Some(&out)), ["a.yml", "b.yaml", "c.json", "d.yaml"]);
        // A file that is named explicitly is read whatever its extension.
        assert_eq!(names(&[at("notes.txt")], true, Some(&out)), ["notes.txt"]);
    }

    #[test]
    fn unreadable_paths_say_which_and_why() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("none.yaml");
        let binary = dir.path().join("binary.yaml");
        fs::write(&binary, [0xff, 0xfe]).unwrap();
        for path in [missing, binary] {
            let error = read(std::slice::from_ref(&path), false, None).unwrap_err();
            assert!(error.to_string().starts_with(&format!("cannot read `{}`: ", path.display())), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_cycle_of_links_ends() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.yaml"), "").unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("again")).unwrap();
        assert_eq!(names(&[dir.path().to_path_buf()], true, None), ["a.yaml"]);
    }
}
