//! Output streams: results on standard output, messages on standard error.

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;

use super::query::output::wrapped;

/// Fewest columns at which lines are wrapped.
const NARROWEST: usize = 40;

/// Use of colours in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Color {
    /// On terminals, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The form of a text for one stream.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look {
    /// True if it takes colours.
    pub color: bool,
    /// The columns of the terminal; `None` if it is none, and lines stay whole for programs.
    pub width: Option<usize>,
}

/// The look of a word.
#[derive(Debug, Clone, Copy)]
pub enum Emphasis {
    /// A yes.
    Yes,
    /// A no, like the label of an error.
    No,
    /// A name.
    Name,
}

impl Look {
    /// Emphasizes a word, if the stream takes colours.
    pub fn emphasize(self, emphasis: Emphasis, word: &str) -> String {
        if !self.color {
            return word.to_owned();
        }
        let style = match emphasis {
            Emphasis::Yes => "1;92",
            Emphasis::No => "1;91",
            Emphasis::Name => "1",
        };
        format!("\u{1b}[{style}m{word}\u{1b}[0m")
    }
}

/// The two output streams of the process.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    color: Color,
    silent: bool,
    endless: bool,
}

impl Console {
    /// Uses the streams of this process.
    pub fn new(color: Color) -> Self {
        Self { color, silent: false, endless: false }
    }

    /// Creates a console without messages, for work that the user did not start.
    pub fn silent() -> Self {
        Self { color: Color::Never, silent: true, endless: false }
    }

    /// Returns a console for output that goes on until nobody reads it any more.
    #[must_use]
    pub fn endless(self) -> Self {
        Self { endless: true, ..self }
    }

    /// Returns the look of standard output.
    pub fn look_out(self) -> Look {
        self.look(io::stdout().is_terminal())
    }

    /// Returns the look of standard error.
    pub fn look_err(self) -> Look {
        self.look(io::stderr().is_terminal())
    }

    /// `COLUMNS` goes before the terminal's own width.
    fn look(self, terminal: bool) -> Look {
        let set = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let own = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = terminal.then(|| set().or_else(own)).flatten().map(|width: usize| width.max(NARROWEST));
        Look { color: self.colored(terminal), width }
    }

    fn colored(self, terminal: bool) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            // See https://no-color.org: set and not empty.
            Color::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        }
    }

    /// Writes to standard output. A closed pipe is no error, because the exit code is still an answer.
    ///
    /// # Errors
    /// When that fails; for a closed pipe only if output is [endless](Self::endless), as an error of kind
    /// `BrokenPipe`, which `main` does not print.
    pub fn out(self, text: &str) -> io::Result<()> {
        let mut stream = io::stdout().lock();
        match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe && !self.endless => Ok(()),
            written => written,
        }
    }

    /// Writes to standard error and ignores failures: a lost message must not stop the command.
    pub fn err(self, text: &str) {
        if self.silent {
            return;
        }
        let mut stream = io::stderr().lock();
        drop(stream.write_all(text.as_bytes()).and_then(|()| stream.flush()));
    }

    /// Writes a note, which is neither error nor warning, to standard error.
    pub fn note(self, text: &str) {
        self.err(&format!("note: {}\n", wrapped(text, 6, self.look_err().width)));
    }

    /// Writes several notes.
    pub fn notes(self, notes: &[String]) {
        for note in notes {
            self.note(note);
        }
    }
}
