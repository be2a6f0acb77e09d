//! Files of a bundle with their size limits, and the archive of them.

use std::collections::BTreeMap;
use std::io;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::redact;

/// Maximum size of a file, in bytes.
pub const FILE: usize = 4 << 20;
/// Maximum size of all files together, in bytes.
pub const TOTAL: usize = 64 << 20;
/// Maximum number of problems that are listed.
const PROBLEMS: usize = 200;

/// Collected files and problems.
#[derive(Debug, Clone)]
pub struct Bundle {
    files: BTreeMap<String, File>,
    /// Maximum size of one more file, and of all further files together, in bytes.
    file: usize,
    left: usize,
    problems: Vec<Problem>,
}

impl Default for Bundle {
    fn default() -> Self {
        Self::within(FILE, TOTAL)
    }
}

#[derive(Debug, Clone)]
struct File {
    content: String,
    /// True if something did not fit.
    cut: bool,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The thing that could not be read.
    pub what: String,
    /// The reason.
    pub why: String,
}

impl Bundle {
    /// Creates a bundle whose files have at most `file` bytes each, and `total` together.
    fn within(file: usize, total: usize) -> Self {
        Self { files: BTreeMap::new(), file, left: total, problems: Vec::new() }
    }

    /// Returns the paths of all files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns the problems.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Adds a problem.
    pub fn problem(&mut self, what: impl Into<String>, why: impl std::fmt::Display) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(Problem { what: what.into(), why: redact::text(&why.to_string()) });
        }
    }

    /// Adds an object.
    pub fn object(&mut self, path: impl Into<String>, object: &impl Serialize) {
        self.objects(path, std::slice::from_ref(object), 1);
    }

    /// Adds objects as one JSON document after another, as many as fit. `total` is the number of objects that
    /// exist.
    pub fn objects(&mut self, path: impl Into<String>, objects: &[impl Serialize], total: usize) {
        let room = self.room();
        let (mut content, mut kept) = (String::new(), 0_usize);
        for object in objects {
            let value = redact::object(serde_json::to_value(object).unwrap_or_default());
            let text = format!("{value:#}\n");
            if content.len().saturating_add(text.len()) > room {
                break;
            }
            content.push_str(&text);
            kept = kept.saturating_add(1);
        }
        self.put(path.into(), content, kept < total);
    }

    /// Adds lines; if they do not fit, the last ones are kept.
    pub fn lines(&mut self, path: impl Into<String>, text: &str) {
        self.tail(path, text, false);
    }

    /// Adds lines; `cut` is true if some are missing already.
    pub fn tail(&mut self, path: impl Into<String>, text: &str, cut: bool) {
        let text = redact::text(text);
        let room = self.room();
        let mut begin = text.len().saturating_sub(room);
        while !text.is_char_boundary(begin) {
            begin = begin.saturating_add(1);
        }
        let kept = text.get(begin..).unwrap_or_default();
        self.put(path.into(), kept.to_owned(), cut || begin > 0);
    }

    /// Returns the maximum size of the next file.
    fn room(&self) -> usize {
        self.file.min(self.left)
    }

    fn put(&mut self, path: String, content: String, cut: bool) {
        self.left = self.left.saturating_sub(content.len());
        self.files.insert(path, File { content, cut });
    }

    /// Returns the list of files and problems.
    fn index(&self, now: Timestamp) -> Value {
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|(path, file)| json!({"path": path, "bytes": file.content.len(), "cut": file.cut}))
            .collect();
        json!({"queuewarden": env!("CARGO_PKG_VERSION"), "collected": now.to_string(), "files": files, "problems": self.problems})
    }

    /// Builds a .tar.gz with all files in a folder.
    ///
    /// # Errors
    /// When a path is too long for an archive, which does not happen.
    pub fn archive(&self, folder: &str, now: Timestamp) -> io::Result<Vec<u8>> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
        let index = format!("{:#}\n", self.index(now));
        let files = self.files.iter().map(|(path, file)| (path.as_str(), file.content.as_str()));
        for (path, content) in files.chain([("index.json", index.as_str())]) {
            let mut header = tar::Header::new_gnu();
            header.set_size(u64::try_from(content.len()).unwrap_or(u64::MAX));
            header.set_mode(0o600);
            header.set_mtime(u64::try_from(now.as_second()).unwrap_or_default());
            archive.append_data(&mut header, format!("{folder}/{path}"), content.as_bytes())?;
        }
        archive.into_inner()?.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// Returns the files of an archive.
    fn unpacked(archive: &[u8]) -> BTreeMap<String, String> {
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(archive));
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            assert_eq!(entry.header().mode().unwrap(), 0o600);
            let path = entry.path().unwrap().display().to_string();
            let mut content = String::new();
            entry.read_to_string(&mut content).unwrap();
            (path, content)
        });
        entries.collect()
    }

    #[test]
    fn what_is_in_the_archive_stands_in_its_index() {
        let mut bundle = Bundle::default();
        bundle.object("a/b.json", &json!({"kind": "X"}));
        bundle.lines("log.txt", "one\ntwo\n");
        bundle.problem("pods", "no Bearer abcdef");
        let files = unpacked(&bundle.archive("q", Timestamp::UNIX_EPOCH).unwrap());
        assert_eq!(files["q/a/b.json"], "{\n  \"kind\": \"X\"\n}\n");
        assert_eq!(files["q/log.txt"], "one\ntwo\n");
        let index: Value = serde_json::from_str(&files["q/index.json"]).unwrap();
        assert_eq!(index["files"][0], json!({"path": "a/b.json", "bytes": 18, "cut": false}));
        assert_eq!(index["problems"][0]["what"], "pods");
        assert!(!index.to_string().contains("abcdef"), "{index}");
    }

    #[test]
    fn no_file_and_no_bundle_is_larger_than_its_bound() {
        const FILE: usize = 1000;
        let mut bundle = Bundle::within(FILE, 10 * FILE);
        let long = "é".repeat(FILE);
        let objects = [json!({"a": "b".repeat(FILE / 2)}), json!({"a": "b".repeat(FILE)})];
        for number in 0..20 {
            bundle.lines(format!("{number}.txt"), &long);
            bundle.objects(format!("{number}.json"), &objects, 2);
        }
        assert!(bundle.files.values().all(|file| file.content.len() <= FILE && file.cut));
        let total: usize = bundle.files.values().map(|file| file.content.len()).sum();
        assert!(total <= 10 * FILE && total > 9 * FILE, "{total}");
        assert!(bundle.files["0.json"].content.len() > FILE / 2, "the first object had room");
        for _ in 0..1000 {
            bundle.problem("x", "y");
        }
        assert_eq!(bundle.problems().len(), PROBLEMS);
    }

    #[test]
    fn of_a_long_log_the_end_is_kept() {
        let mut bundle = Bundle::within(100, 1000);
        bundle.lines("log.txt", &format!("begin{}end", "-".repeat(100)));
        let file = &bundle.files["log.txt"];
        assert!(file.content.ends_with("end") && !file.content.contains("begin") && file.cut);
        bundle.tail("some.txt", "end", true);
        bundle.tail("all.txt", "end", false);
        assert!(bundle.files["some.txt"].cut && !bundle.files["all.txt"].cut);
    }
}
