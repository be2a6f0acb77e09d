//! Runs the programs that measure `YuniKorn` and Hadoop, which are also the oracles.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::Figures;

/// A program that measures another system.
pub(super) struct Other {
    program: Command,
}

impl Other {
    /// `compare_test.go`.
    pub(super) fn yunikorn(inputs: &Path) -> Self {
        let mut program = Command::new("go");
        program
            .current_dir(oracle())
            .args(["test", "-run", "^$", "-bench", ".", "-benchtime", "0.5s", "."])
            .env("QUEUEWARDEN_COMPARE_INPUTS", inputs);
        Self { program }
    }

    /// `Compare.java`, compiled in the same directory as this program.
    pub(super) fn hadoop(inputs: &Path) -> Result<Self> {
        let out = std::env::current_exe()?.with_file_name("hadoop");
        let mut maven = Command::new("mvn");
        maven
            .current_dir(oracle().join("hadoop"))
            .args(["--batch-mode", "--quiet", "compiler:compile", "dependency:copy-dependencies"])
            .arg(format!("-Dout={}", out.display()))
            // This program prints the table alone.
            .stdout(std::io::stderr());
        ensure!(maven.status().context("cannot run mvn")?.success(), "mvn could not build the oracle");
        let mut program = Command::new("java");
        program
            .args(["-cp", &format!("{0}/classes:{0}/lib/*", out.display())])
            .arg("dev.queuewarden.oracle.Compare")
            .arg(inputs);
        Ok(Self { program })
    }

    /// Runs one round and returns its figures.
    pub(super) fn figures(&mut self) -> Result<Figures> {
        let output = self.program.output().with_context(|| format!("cannot run {:?}", self.program))?;
        // The oracle needs its standard output for its protocol, so it logs the figures.
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        ensure!(output.status.success(), "{:?} failed ({}):\n{said}", self.program, output.status);
        let figures: Figures = said.lines().filter_map(figure).collect();
        ensure!(!figures.is_empty(), "{:?} measured nothing:\n{said}", self.program);
        Ok(figures)
    }
}

/// Returns the folder of the Go module.
fn oracle() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../oracle")
}

/// Parses a line such as `BenchmarkDecision/miss/5-2   147537   4060 ns/op`; the number of processors after
/// the name may be missing.
fn figure(line: &str) -> Option<(String, f64)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [name, _, figure, "ns/op", ..] = fields.as_slice() else { return None };
    let name = name.strip_prefix("Benchmark")?;
    let name = match name.rsplit_once('-') {
        Some((name, processors)) if processors.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    };
    Some((name.to_owned(), figure.parse().ok()?))
}
