//! The programs that measure `YuniKorn` and Hadoop.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::assets;

use super::Figures;

/// One of them.
pub(super) struct Other {
    program: Command,
}

impl Other {
    /// `go test -bench` of the oracle.
    pub(super) fn yunikorn(inputs: &Path) -> Result<Self> {
        let mut program = Command::new(assets::benchmarks()?);
        program
            .args(["-test.run", "^$", "-test.bench", ".", "-test.benchtime", "0.5s"])
            .env("QUEUEWARDEN_COMPARE_INPUTS", inputs);
        Ok(Self { program })
    }

    /// `Compare.java`.
    pub(super) fn hadoop(inputs: &Path) -> Result<Self> {
        let directory = assets::hadoop()?;
        let classes = format!("{0}/classes:{0}/lib/*", directory.display());
        let mut program = Command::new("java");
        program.args(["-cp", &classes, "dev.queuewarden.oracle.Compare"]).arg(inputs);
        Ok(Self { program })
    }

    /// One round.
    pub(super) fn figures(&self) -> Result<Figures> {
        let mut program = Command::new(self.program.get_program());
        program.args(self.program.get_args());
        program.envs(self.program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = program.output().with_context(|| format!("cannot run {:?}", self.program))?;
        // The oracle keeps its standard output for its protocol: there the figures are among what it logs.
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        ensure!(output.status.success(), "{:?} failed ({}):\n{said}", self.program, output.status);
        let figures: Figures = said.lines().filter_map(figure).collect();
        ensure!(!figures.is_empty(), "{:?} measured nothing:\n{said}", self.program);
        Ok(figures)
    }
}

/// `BenchmarkDecision/miss/5-2   147537   4060 ns/op`, where the number of processors behind the name may be missing.
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
