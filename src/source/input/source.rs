//! Finds the input files, and reads their text.
//!
//! A folder may hold files of any kind. Those that its caller does not look for are skipped and counted, also
//! if they cannot be read.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::output::text::{Encoding, Reached, STDIN, Source, shown};
use crate::output::{Console, Failure};
use go_compat::yaml;

/// Extensions of the files that are read from a folder, as in kubectl.
const EXTENSIONS: &[&str] = &["yaml", "yml", "json"];
/// Maximum number of files; more are a wrong path rather than a repository.
const MAX_FILES: usize = 200_000;
/// Maximum depth of folders.
const MAX_DEPTH: usize = 32;
/// Folder with packages of others, which may hold tens of thousands of files.
const PACKAGES: &str = "node_modules";

/// Creates the failure for a path that cannot be read.
pub fn unreadable(path: &Path, why: impl Display) -> Failure {
    Failure::Usage(format!("cannot read `{}`: {why}", shown(path)))
}

/// Maximum number of skipped entries that are named.
const MAX_NOTES: usize = 20;

/// Texts that were read.
#[derive(Debug, Default)]
pub struct Texts {
    /// The texts, in the order they were read.
    pub sources: Vec<Source>,
    /// Number of files in folders that are not looked for.
    pub skipped: usize,
}

/// Reads every file that the paths name, each once, folders in the order of their names: also from folders
/// below them if `recursive`, and without `except`, which receives the output. From folders only the texts
/// are taken that `is_wanted`. A symbolic link in a folder is followed if its target is in that folder; notes
/// name the entries that are skipped.
///
/// # Errors
/// When a path does not exist, cannot be read, is not text or exceeds the size limit of YAML.
pub fn read(
    paths: &[PathBuf],
    recursive: bool,
    except: Option<&Path>,
    is_wanted: impl Fn(&str) -> bool,
    console: Console,
) -> Result<Texts, Failure> {
    let except = except.and_then(|path| fs::canonicalize(path).ok());
    let mut seen = BTreeSet::new();
    let mut texts = Texts::default();
    for path in paths {
        if path.as_os_str() == "-" {
            texts.sources.push(read_one(path)?);
            continue;
        }
        if !path.is_dir() {
            let identity = fs::canonicalize(path).map_err(|error| unreadable(path, error))?;
            if !seen.contains(&identity) {
                texts.sources.push(read_one(path)?);
                seen.insert(identity);
            }
            continue;
        }
        let Walk { files, mut skipped, .. } = Walk::through(path, recursive)?;
        for (file, reached) in files {
            let identity = fs::canonicalize(&file).map_err(|error| unreadable(&file, error))?;
            if except.as_ref() == Some(&identity) || !seen.insert(identity.clone()) {
                continue;
            }
            let bytes = fs::File::open(&file).and_then(bytes).map_err(|error| unreadable(&file, error))?;
            match decoded(&bytes) {
                Ok((text, encoding)) if is_wanted(&text) => {
                    let source = Source::new(shown(&file), text);
                    texts.sources.push(Source { path: Some(identity), encoding, reached, ..source });
                }
                Err(why) if is_wanted(&String::from_utf8_lossy(&bytes)) => {
                    return Err(unreadable(&file, why));
                }
                // Its end was not looked at.
                Err(_) if bytes.len() > yaml::MAX_TEXT => skipped.push((file, "it has more than 8 MiB")),
                _ => texts.skipped = texts.skipped.saturating_add(1),
            }
        }
        console.notes(&notes(path, &skipped));
    }
    Ok(texts)
}

/// Returns notes about the entries of a folder that were not read.
fn notes(folder: &Path, entries: &[(PathBuf, &str)]) -> Vec<String> {
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
    let bytes = bytes(from).map_err(|error| unreadable(Path::new(name), error))?;
    let (text, encoding) = decoded(&bytes).map_err(|why| unreadable(Path::new(name), why))?;
    Ok(Source { encoding, ..Source::new(name, text) })
}

/// Reads up to the limit, and one byte more if there is more.
fn bytes(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(yaml::MAX_TEXT).unwrap_or(u64::MAX);
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Decodes a file as kubectl does, by its byte order mark, or returns the reason for the failure. The
/// mark stays in the text.
fn decoded(bytes: &[u8]) -> Result<(String, Encoding), String> {
    if bytes.len() > yaml::MAX_TEXT {
        return Err(
            "it has more than 8 MiB; pass only the relevant objects, such as the output of `kubectl get \
            configmaps,queueacls -n yunikorn -o yaml`"
                .to_owned(),
        );
    }
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.as_chunks().0.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16(&units).ok().filter(|_| bytes.len().is_multiple_of(2))
    };
    let broken = || "it starts like UTF-16, but is not valid UTF-16: save it as UTF-8".to_owned();
    match bytes {
        [0xff, 0xfe, ..] => Ok((wide(u16::from_le_bytes).ok_or_else(broken)?, Encoding::Utf16Le)),
        [0xfe, 0xff, ..] => Ok((wide(u16::from_be_bytes).ok_or_else(broken)?, Encoding::Utf16Be)),
        _ => {
            let text = str::from_utf8(bytes).map_err(|error| {
                let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
                let line = String::from_utf8_lossy(before).matches('\n').count().saturating_add(1);
                format!(
                    "line {line} is not UTF-8: save the file as UTF-8, or as UTF-16 with a byte order mark"
                )
            })?;
            Ok((text.to_owned(), Encoding::Utf8))
        }
    }
}

/// The search for files in a folder that the command line names.
#[derive(Default)]
struct Walk {
    /// The folder, without links in its path.
    root: PathBuf,
    recursive: bool,
    /// The folders that were read, without links in their paths: each is read once.
    folders: BTreeSet<PathBuf>,
    files: Vec<(PathBuf, Reached)>,
    /// The entries that are not read, each with the reason.
    skipped: Vec<(PathBuf, &'static str)>,
}

impl Walk {
    fn through(folder: &Path, recursive: bool) -> Result<Self, Failure> {
        let root = fs::canonicalize(folder).map_err(|error| unreadable(folder, error))?;
        let mut walk = Self { root, recursive, ..Self::default() };
        walk.folder(folder, 0, Reached::InFolder)?;
        Ok(walk)
    }

    /// Adds the files in a folder, in the order of their names.
    fn folder(&mut self, folder: &Path, depth: usize, reached: Reached) -> Result<(), Failure> {
        let identity = fs::canonicalize(folder).map_err(|error| unreadable(folder, error))?;
        if !self.folders.insert(identity) {
            return Ok(());
        }
        let list =
            || -> io::Result<Vec<PathBuf>> { fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect() };
        let mut entries = list().map_err(|error| unreadable(folder, error))?;
        entries.sort();
        let is_chart = entries.iter().any(|path| path.ends_with("Chart.yaml"));
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
                self.files.push((path, reached));
            } else if path.ends_with(PACKAGES) {
                self.skipped.push((path, "it contains packages of other programs"));
            } else if depth < MAX_DEPTH {
                let is_templates = is_chart && path.ends_with("templates");
                let below = if is_templates { Reached::InTemplates } else { reached };
                self.folder(&path, depth.saturating_add(1), below)?;
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
    /// folder must not choose other files of this machine. Keeps the reasons for skipped files.
    fn is_inside(&mut self, path: &Path) -> bool {
        let why = match fs::canonicalize(path) {
            // A pipe would be read until someone writes to it.
            Ok(target) if !target.is_file() && !target.is_dir() => "it is not a regular file",
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
    use go_compat::diag::Span;

    fn names(paths: &[PathBuf], recursive: bool, except: Option<&Path>) -> Vec<String> {
        let texts = read(paths, recursive, except, |_| true, Console::silent()).unwrap();
        let name =
            |source: &Source| Path::new(&source.name).file_name().unwrap().to_string_lossy().into_owned();
        texts.sources.iter().map(name).collect()
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
        // An explicitly named file is read independent of its extension.
        assert_eq!(names(&[at("notes.txt")], true, Some(&out)), ["notes.txt"]);
    }

    #[test]
    fn unreadable_paths_say_which_and_why() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("none.yaml");
        let binary = dir.path().join("binary.yaml");
        fs::write(&binary, b"a: 1\nb: \xe4\n").unwrap();
        for (path, why) in
            [(missing, "No such file"), (binary, "line 2 is not UTF-8: save the file as UTF-8")]
        {
            let paths = std::slice::from_ref(&path);
            let error = read(paths, false, None, |_| true, Console::silent()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot read `{}`: {why}", shown(&path))), "{error}");
        }
    }

    #[test]
    fn texts_are_decoded_by_their_byte_order_mark() {
        let text = "\u{feff}a: \u{fc}\u{1f600}\n";
        for encoding in [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be] {
            let written = Source { encoding, ..Source::new("a", text) }.encoded(text);
            assert_eq!(decoded(&written), Ok((text.to_owned(), encoding)));
            let cut = written.split_last_chunk::<2>().unwrap().0;
            assert!(encoding != Encoding::Utf8 || decoded(cut).is_err());
        }
        for odd in [&b"\xff\xfea"[..], b"\xff\xfe\x00\xd8", b"a\x00\xff"] {
            assert!(decoded(odd).unwrap_err().contains("save"), "{odd:?}");
        }
        assert!(decoded(&vec![b'a'; yaml::MAX_TEXT + 1]).unwrap_err().contains("kubectl get"));
    }

    #[test]
    fn files_of_a_folder_that_nobody_looks_for_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for folder in ["chart/templates/sub", "templates", "node_modules/x"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        let large = vec![b' '; yaml::MAX_TEXT + 1];
        for (name, text) in [
            ("a.yaml", &b"wanted: {{ x }}"[..]),
            ("b.yaml", b"other"),
            ("c.json", b"\xe4"),
            ("large.json", &large),
            ("chart/Chart.yaml", b"other"),
            ("chart/templates/sub/d.yaml", b"wanted: {{ x }}"),
            ("chart/templates/e.yaml", b"wanted: x"),
            ("templates/f.yaml", b"wanted: {{ x }}"),
            ("node_modules/x/package.json", b"wanted"),
        ] {
            fs::write(at(name), text).unwrap();
        }
        let paths = [dir.path().to_path_buf()];
        let wanted = |text: &str| text.contains("wanted");
        let texts = read(&paths, true, None, wanted, Console::silent()).unwrap();
        let found = |source: &Source| {
            let name = Path::new(&source.name).file_name().unwrap().to_str().unwrap().to_owned();
            (name, source.is_found(), source.is_template())
        };
        let found: Vec<_> = texts.sources.iter().map(found).collect();
        let found: Vec<_> =
            found.iter().map(|(name, found, template)| (name.as_str(), *found, *template)).collect();
        assert_eq!(
            (found, texts.skipped),
            (
                vec![
                    ("a.yaml", true, false),
                    ("e.yaml", true, false),
                    ("d.yaml", true, true),
                    ("f.yaml", true, false)
                ],
                3
            )
        );
        fs::write(at("c.json"), b"wanted \xe4").unwrap();
        assert!(read(&paths, true, None, wanted, Console::silent()).is_err());
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
        let notes = notes(&given[0], &Walk::through(&given[0], true).unwrap().skipped);
        for (note, (name, why)) in notes.iter().zip([
            ("e.json", "out of the folder"),
            ("f", "out of the folder"),
            ("g.yaml", "cannot be found"),
            ("i.yaml", "not a regular file"),
        ]) {
            assert!(note.contains(&format!("/given/{name}` is skipped: ")) && note.contains(why), "{note}");
        }
        assert_eq!(notes.len(), 4, "{notes:?}");
        // An explicitly named link is intended, even to a folder.
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
