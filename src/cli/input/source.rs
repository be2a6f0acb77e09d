//! Finds the input files, and reads their text.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::cli::query::output::visible;
use crate::cli::{Console, Failure};
use go_compat::diag::Span;
use go_compat::lines::Lines;
use go_compat::yaml;

/// Extensions of the files that are read from a folder, as in kubectl.
const EXTENSIONS: &[&str] = &["yaml", "yml", "json"];
/// Maximum number of files; more are a wrong path rather than a configuration.
const MAX_FILES: usize = 20_000;
/// Maximum depth of folders.
const MAX_DEPTH: usize = 32;

/// Name of standard input.
pub const STDIN: &str = "<stdin>";

/// One text that was read.
#[derive(Debug, Clone)]
pub struct Source {
    /// The name for people: the path as given, with invisible characters escaped, or `<stdin>`.
    pub name: String,
    /// The text.
    pub text: String,
    /// The file; without links in its path if it was found in a folder. `None` for standard input and texts
    /// that are no file.
    path: Option<PathBuf>,
    /// The parts that messages may quote; `None` for all.
    quotable: Option<Vec<Span>>,
    lines: OnceLock<Lines>,
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.path, &self.text) == (&other.name, &other.path, &other.text)
    }
}

impl Eq for Source {}

impl Source {
    /// Creates a text that messages may quote.
    pub fn new(name: impl AsRef<str>, text: impl Into<String>) -> Self {
        let (name, text) = (visible(name.as_ref()), text.into());
        Self { name, text, path: None, quotable: None, lines: OnceLock::new() }
    }

    /// Returns this source with another text.
    #[must_use]
    pub fn with_text(self, text: String) -> Self {
        Self { text, quotable: None, lines: OnceLock::new(), ..self }
    }

    /// Forbids messages to quote this source, except for the parts that [`Self::quote`] adds.
    #[must_use]
    pub fn unquoted(self) -> Self {
        Self { quotable: Some(Vec::new()), ..self }
    }

    /// Lets messages quote a part of the text. Parts are added in their order.
    pub fn quote(&mut self, part: Span) {
        if let Some(parts) = &mut self.quotable {
            parts.push(part);
        }
    }

    /// Returns the part around a byte that messages may quote.
    pub fn quotable(&self, offset: usize) -> Option<Span> {
        let Some(parts) = &self.quotable else { return Some(Span::new(0, self.text.len())) };
        // The end of a part is also the start of the next, which comes first.
        let before = parts.partition_point(|part| part.start <= offset);
        let part = parts.get(before.checked_sub(1)?)?;
        (offset <= part.end).then_some(*part)
    }

    /// Returns the file; without links in its path if it was found in a folder. `None` for standard input.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the index of the lines.
    pub fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| Lines::new(&self.text))
    }

    /// Returns the one-based line and column of a byte; columns count characters.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        self.lines().position(&self.text, offset)
    }

    /// Returns `name:line:column` of a byte, as editors and compilers write it.
    pub fn at(&self, offset: usize) -> String {
        let (line, column) = self.position(offset);
        format!("{}:{line}:{column}", self.name)
    }
}

/// Returns a path for people, with invisible characters escaped.
pub fn shown(path: &Path) -> String {
    visible(&path.display().to_string())
}

/// Creates the failure for a path that cannot be read.
pub fn unreadable(path: &Path, why: impl Display) -> Failure {
    Failure::Usage(format!("cannot read `{}`: {why}", shown(path)))
}

/// Maximum number of skipped entries that are named.
const MAX_NOTES: usize = 20;

/// Reads every file that the paths name, each once, folders in the order of their names: also from folders
/// below them if `recursive`, and without `except`, which receives the output. A symbolic link in a folder is
/// followed if its target is in that folder; notes name the entries that are skipped.
///
/// # Errors
/// When a path does not exist, cannot be read, is not UTF-8 or exceeds the size limit of YAML.
pub fn read(
    paths: &[PathBuf],
    recursive: bool,
    except: Option<&Path>,
    console: Console,
) -> Result<Vec<Source>, Failure> {
    let except = except.and_then(|path| fs::canonicalize(path).ok());
    let mut seen = BTreeSet::new();
    let mut sources = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            sources.push(read_one(path)?);
            continue;
        }
        let is_folder = path.is_dir();
        let walk = if is_folder {
            Walk::through(path, recursive)?
        } else {
            Walk { files: vec![path.clone()], ..Walk::default() }
        };
        for file in walk.files {
            let identity = fs::canonicalize(&file).map_err(|error| unreadable(&file, error))?;
            let is_output = is_folder && except.as_ref() == Some(&identity);
            if !is_output && !seen.contains(&identity) {
                let source = read_one(&file)?;
                let path = if is_folder { identity.clone() } else { file };
                sources.push(Source { path: Some(path), ..source });
                seen.insert(identity);
            }
        }
        console.notes(&skipped(path, &walk.skipped));
    }
    Ok(sources)
}

/// Returns notes about the entries of a folder that were not read.
fn skipped(folder: &Path, entries: &[(PathBuf, &str)]) -> Vec<String> {
    let note = |(entry, why): &(PathBuf, &str)| format!("`{}` is skipped: {why}", shown(entry));
    let mut notes: Vec<String> = entries.iter().take(MAX_NOTES).map(note).collect();
    let more = entries.len().saturating_sub(MAX_NOTES);
    if more > 0 {
        notes.push(format!("in `{}` {more} more are skipped for such reasons", shown(folder)));
    }
    notes
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
    let source = from_reader(&shown(path), file)?;
    Ok(Source { path: Some(path.to_path_buf()), ..source })
}

/// Reads the text from an open reader.
///
/// # Errors
/// As [`read`].
pub fn from_reader(name: &str, from: impl Read) -> Result<Source, Failure> {
    let text = text(from).map_err(|error| unreadable(Path::new(name), error))?;
    Ok(Source::new(name, text))
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

/// The search for files in a folder that the command line names.
#[derive(Default)]
struct Walk {
    /// The folder, without links in its path.
    root: PathBuf,
    recursive: bool,
    /// The folders that were read, without links in their paths: each is read once.
    folders: BTreeSet<PathBuf>,
    files: Vec<PathBuf>,
    /// The entries that are not read, each with the reason.
    skipped: Vec<(PathBuf, &'static str)>,
}

impl Walk {
    fn through(folder: &Path, recursive: bool) -> Result<Self, Failure> {
        let root = fs::canonicalize(folder).map_err(|error| unreadable(folder, error))?;
        let mut walk = Self { root, recursive, ..Self::default() };
        walk.folder(folder, 0)?;
        Ok(walk)
    }

    /// Adds the files in a folder, in the order of their names.
    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), Failure> {
        let identity = fs::canonicalize(folder).map_err(|error| unreadable(folder, error))?;
        if !self.folders.insert(identity) {
            return Ok(());
        }
        let list =
            || -> io::Result<Vec<PathBuf>> { fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect() };
        let mut entries = list().map_err(|error| unreadable(folder, error))?;
        entries.sort();
        for path in entries {
            // Hidden names are no manifests, and in a mounted ConfigMap they are the same files again.
            if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
                continue;
            }
            let has_extension =
                path.extension().and_then(|ext| ext.to_str()).is_some_and(|ext| EXTENSIONS.contains(&ext));
            let is_folder = path.is_dir();
            if !(is_folder && self.recursive || !is_folder && has_extension) || !self.is_inside(&path) {
                continue;
            }
            if !is_folder {
                self.files.push(path);
            } else if depth < MAX_DEPTH {
                self.folder(&path, depth.saturating_add(1))?;
            } else {
                return Err(unreadable(&path, format!("more than {MAX_DEPTH} folders deep")));
            }
            if self.files.len() > MAX_FILES {
                return Err(unreadable(folder, format!("more than {MAX_FILES} files")));
            }
        }
        Ok(())
    }

    /// Returns whether an entry is in the folder that the command line names: the author of a link in that
    /// folder must not choose other files of this machine. Keeps the reason for what is skipped.
    fn is_inside(&mut self, path: &Path) -> bool {
        let why = match fs::canonicalize(path) {
            // A pipe would be read until someone writes to it.
            Ok(target) if !target.is_file() && !target.is_dir() => "it is no regular file",
            Ok(target) if !path.is_symlink() || target.starts_with(&self.root) => return true,
            Ok(_) => "it is a symbolic link out of the folder; name the target with another -f to read it",
            Err(_) if !path.is_symlink() => return true,
            Err(_) => "it is a symbolic link whose target cannot be found",
        };
        self.skipped.push((path.to_path_buf(), why));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[PathBuf], recursive: bool, except: Option<&Path>) -> Vec<String> {
        let sources = read(paths, recursive, except, Console::silent()).unwrap();
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
            let error = read(std::slice::from_ref(&path), false, None, Console::silent()).unwrap_err();
            assert!(error.to_string().starts_with(&format!("cannot read `{}`: ", shown(&path))), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_inside_the_folder_only() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("given/sub")).unwrap();
        fs::create_dir_all(at("given-too")).unwrap();
        for name in ["given/a.yaml", "given/sub/b.yaml", "given-too/c.yaml", "outside.txt"] {
            fs::write(at(name), "").unwrap();
        }
        symlink(at("given"), at("given/again")).unwrap();
        symlink("../sub", at("given/sub/loop")).unwrap();
        symlink("sub/b.yaml", at("given/d.yaml")).unwrap();
        symlink(at("outside.txt"), at("given/e.json")).unwrap();
        symlink("../given-too", at("given/f")).unwrap();
        symlink("nowhere", at("given/g.yaml")).unwrap();
        symlink("../outside.txt", at("given/h")).unwrap();
        symlink("/dev/null", at("given/i.yaml")).unwrap();
        let given = [at("given")];
        assert_eq!(names(&given, true, None), ["a.yaml", "d.yaml"]);
        let notes = skipped(&given[0], &Walk::through(&given[0], true).unwrap().skipped);
        for (note, (name, why)) in notes.iter().zip([
            ("e.json", "out of the folder"),
            ("f", "out of the folder"),
            ("g.yaml", "cannot be found"),
            ("i.yaml", "no regular file"),
        ]) {
            assert!(note.contains(&format!("/given/{name}` is skipped: ")) && note.contains(why), "{note}");
        }
        assert_eq!(notes.len(), 4, "{notes:?}");
        // A link that is named is what the user means, and so is a folder behind one.
        assert_eq!(names(&[at("given/e.json"), at("given/f")], true, None), ["e.json", "c.yaml"]);
    }

    #[test]
    fn only_ours_is_quoted() {
        let mut source = Source::new("a", "0123456789").unquoted();
        assert_eq!(source.quotable(0), None);
        source.quote(Span::new(2, 4));
        source.quote(Span::new(4, 6));
        let parts = [1, 2, 4, 6, 7].map(|offset| source.quotable(offset).map(|part| part.start));
        assert_eq!(parts, [None, Some(2), Some(4), Some(4), None]);
        assert!(Source::new("a", "0").quotable(1).is_some());
    }
}
