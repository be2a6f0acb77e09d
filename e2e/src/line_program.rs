//! Runs a program that answers requests, with one line per request and per answer, as both oracles do.

use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, anyhow, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Number of inputs per request, which bounds the memory of both sides.
const BATCH: usize = 10_000;

/// A running program. It ends when this process does, because its input then ends.
#[derive(Debug)]
pub(crate) struct LineProgram {
    pipes: Mutex<Pipes>,
    child: Child,
}

#[derive(Debug)]
struct Pipes {
    questions: BufWriter<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl LineProgram {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let questions = BufWriter::new(child.stdin.take().context("the oracle has no input")?);
        let answers = BufReader::new(child.stdout.take().context("the oracle has no output")?);
        Ok(Self { pipes: Mutex::new(Pipes { questions, answers }), child })
    }

    pub(crate) fn ask<Question: Serialize, Answer: DeserializeOwned>(
        &self,
        operation: &str,
        questions: &[Question],
    ) -> Result<Vec<Answer>> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answers = Vec::with_capacity(questions.len());
        for batch in questions.chunks(BATCH) {
            answers.extend(pipes.exchange(operation, batch)?);
        }
        Ok(answers)
    }
}

impl Pipes {
    /// Sends a request and reads the answer. The oracle reads a whole line before it writes one, so writing
    /// first and then reading cannot block forever.
    fn exchange<Question: Serialize, Answer: DeserializeOwned>(
        &mut self,
        operation: &str,
        questions: &[Question],
    ) -> Result<Vec<Answer>> {
        #[derive(Serialize)]
        struct Request<'a, T> {
            op: &'a str,
            r#in: &'a [T],
        }
        #[derive(Deserialize)]
        #[serde(bound = "T: DeserializeOwned")]
        struct Reply<T> {
            out: Option<Vec<T>>,
            error: Option<String>,
        }
        serde_json::to_writer(&mut self.questions, &Request { op: operation, r#in: questions })?;
        self.questions.write_all(b"\n")?;
        self.questions.flush().context("the oracle has ended")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the oracle has ended");
        let reply: Reply<Answer> =
            serde_json::from_str(&line).context("the oracle's answer is not understood")?;
        let answers = reply.out.ok_or_else(|| anyhow!("the oracle: {}", reply.error.unwrap_or_default()))?;
        ensure!(answers.len() == questions.len(), "{} questions, {} answers", questions.len(), answers.len());
        Ok(answers)
    }
}

impl Drop for LineProgram {
    fn drop(&mut self) {
        // The program may have exited already, and its exit status adds no information.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
