//! Output streams: results on standard output, messages on standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;

use go_compat::diag::{is_obeyed, show};

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
    /// The columns of the terminal. `None` for other streams, whose lines are not wrapped.
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

    /// `COLUMNS` takes precedence over the terminal's width.
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

    /// Writes a text for people to standard output. A closed pipe is no error, because the exit code
    /// is still an answer.
    ///
    /// # Errors
    /// When that fails; for a closed pipe only if output is [endless](Self::endless), as an error of kind
    /// `BrokenPipe`, which `main` does not print.
    pub fn out(self, text: &str) -> io::Result<()> {
        self.exact(&printable(text, self.look_out().color))
    }

    /// Writes a text that is a file to programs to standard output: byte for byte, unless that is a terminal.
    ///
    /// # Errors
    /// As [`Self::out`].
    pub fn file(self, text: &str) -> io::Result<()> {
        if io::stdout().is_terminal() { self.out(text) } else { self.exact(text) }
    }

    fn exact(self, text: &str) -> io::Result<()> {
        let mut stream = io::stdout().lock();
        match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe && !self.endless => Ok(()),
            written => written,
        }
    }

    /// Writes a message to standard error, and ignores failures: a lost message must not stop the command.
    pub fn err(self, text: &str) {
        self.control(&printable(text, self.look_err().color));
    }

    /// Writes to standard error a text that moves the cursor. It holds nothing from the input.
    pub fn control(self, text: &str) {
        if self.silent {
            return;
        }
        let mut stream = io::stderr().lock();
        drop(stream.write_all(text.as_bytes()).and_then(|()| stream.flush()));
    }

    /// Writes a note to standard error.
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

/// Escapes the characters that a terminal would obey, but line breaks, tabs, and the colours of [`Look`] and
/// of drawn diagnostics, if the stream takes any.
fn printable(text: &str, color: bool) -> Cow<'_, str> {
    let harmless = |c: char| !is_obeyed(c) || matches!(c, '\n' | '\t');
    if text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let plain = rest.find(|c| !harmless(c)).unwrap_or(rest.len());
        let kept = match plain {
            0 if rest.starts_with("\r\n") => 2,
            0 if color => color_code(rest),
            plain => plain,
        };
        let (kept, behind) = rest.split_at_checked(kept).unwrap_or((rest, ""));
        shown.push_str(kept);
        rest = behind;
        if kept.is_empty() {
            show(&mut shown, c);
            rest = rest.strip_prefix(c).unwrap_or_default();
        }
    }
    Cow::Owned(shown)
}

/// Returns the length of the escape sequence at the start of a text that makes it bold, gives it a colour, or
/// ends that; 0 if the text begins with another.
fn color_code(text: &str) -> usize {
    let code = || {
        let (codes, _) = text.strip_prefix("\u{1b}[")?.split_once('m')?;
        let is_color = |code: &str| matches!(code.as_bytes(), [b'0' | b'1'] | [b'3' | b'9', b'1'..=b'7']);
        codes.split(';').all(is_color).then_some(codes.len())
    };
    code().map_or(0, |length| length.saturating_add("\u{1b}[m".len()))
}

/// Wraps a text at this width. The first line follows a label that is `indent` columns wide, and the other
/// lines are indented by the same number of columns. Overlong words are not broken.
pub fn wrapped(text: &str, indent: usize, width: Option<usize>) -> String {
    let Some(room) = width.map(|width| width.saturating_sub(indent)) else { return text.to_owned() };
    let (mut shown, mut line) = (String::with_capacity(text.len()), 0_usize);
    for (number, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        let end = line.saturating_add(length).saturating_add(1);
        if number > 0 && end > room {
            shown.extend(["\n", &" ".repeat(indent)]);
            line = length;
        } else {
            shown.push_str(if number > 0 { " " } else { "" });
            line = if number > 0 { end } else { length };
        }
        shown.push_str(word);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_but_colours() {
        let cases = [
            ("a\tü 𝄞\n", "a\tü 𝄞\n", "a\tü 𝄞\n"),
            ("a\r\nb\rc", "a\r\nb\\rc", "a\r\nb\\rc"),
            (
                "\u{1b}[1;92myes\u{1b}[0m\u{9b}2J",
                "\u{1b}[1;92myes\u{1b}[0m\\u{9b}2J",
                "\\u{1b}[1;92myes\\u{1b}[0m\\u{9b}2J",
            ),
            ("\u{1b}[8mhidden", "\\u{1b}[8mhidden", "\\u{1b}[8mhidden"),
            ("\u{1b}[30;40mblack", "\\u{1b}[30;40mblack", "\\u{1b}[30;40mblack"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}", "\\u{1b}]0;title\\u{7}"),
            (
                "\u{202e}\u{2028}\u{7f}\u{1b}",
                "\\u{202e}\\u{2028}\\u{7f}\\u{1b}",
                "\\u{202e}\\u{2028}\\u{7f}\\u{1b}",
            ),
        ];
        for (text, coloured, plain) in cases {
            assert_eq!((printable(text, true).as_ref(), printable(text, false).as_ref()), (coloured, plain));
        }
    }
}
