//! Random texts for the proofs: any tree, formatted as people format YAML.

use proptest::prelude::*;

/// A tree, and random numbers that select the formatting.
#[derive(Debug, Clone)]
enum Shape {
    Scalar,
    List(Vec<Shape>),
    Mapping(Vec<Shape>),
}

fn shapes() -> impl Strategy<Value = Shape> {
    Just(Shape::Scalar).prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Shape::List),
            3 => prop::collection::vec(inner, 0..5).prop_map(Shape::Mapping),
        ]
    })
}

/// Writes a tree as YAML in a random format.
struct Writer {
    dice: u64,
    text: String,
    newline: &'static str,
    /// True to allow anchors and aliases, with which an edit can be refused.
    shared: bool,
    anchors: usize,
}

const KEYS: [&str; 9] =
    ["name", "submitacl", "adminacl", "queues", "parent", "'it''s'", "\"d q\"", "limits", "properties"];
const SCALARS: [&str; 12] =
    ["x", "a b", "'s q'", "'it''s'", "\"d\\n\"", "1.50", "~", "5", "none*x", "a#b", "a:b", "''"];

impl Writer {
    fn roll(&mut self, sides: usize) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        usize::try_from(self.dice % sides as u64).unwrap()
    }

    fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        let index = self.roll(from.len());
        from.get(index).copied().unwrap()
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Ends a line, sometimes with a comment after it and comment lines below it.
    fn end_line(&mut self, indent: usize) {
        if self.one_in(6) {
            self.push("  # why: [x");
        }
        self.push(self.newline);
        while self.one_in(10) {
            let lines = [" ".repeat(indent) + "# above: 'y", String::new(), "# left".to_owned()];
            let line = self.roll(lines.len());
            self.push(lines.get(line).unwrap());
            self.push(self.newline);
        }
    }

    fn anchor(&mut self) {
        if self.shared && self.one_in(8) {
            self.anchors += 1;
            let anchor = format!("&a{} ", self.anchors);
            self.push(&anchor);
        }
    }

    fn keys(&mut self, count: usize) -> Vec<&'static str> {
        let first = self.roll(KEYS.len());
        KEYS.iter().copied().cycle().skip(first).take(count).collect()
    }

    /// Writes a value on one line, after `key:` or `-`.
    fn inline(&mut self, shape: &Shape) {
        if self.shared && self.anchors > 0 && self.one_in(8) {
            let alias = format!("*a{} ", self.roll(self.anchors) + 1);
            return self.push(&alias);
        }
        self.anchor();
        match shape {
            Shape::Scalar => {
                let scalar = self.pick(&SCALARS);
                self.push(if scalar.starts_with('*') { "z" } else { scalar });
            }
            Shape::List(items) => {
                self.push("[");
                for (index, item) in items.iter().enumerate() {
                    self.push(if index == 0 { "" } else { ", " });
                    self.inline(item);
                }
                self.push("]");
            }
            Shape::Mapping(items) => {
                let (open, close) = if self.one_in(2) { ("{", "}") } else { ("{ ", " }") };
                self.push(open);
                for (index, (key, item)) in self.keys(items.len()).into_iter().zip(items).enumerate() {
                    self.push(if index == 0 { "" } else { ", " });
                    self.push(key);
                    self.push(": ");
                    self.inline(item);
                }
                self.push(close);
            }
        }
    }

    /// Writes a value after `key:` or `-`, with its line end. `indent` is the column of the key or dash.
    fn value(&mut self, shape: &Shape, indent: usize, behind_dash: bool) {
        let step = 1 + self.roll(4);
        match shape {
            Shape::Scalar if self.one_in(5) => self.end_line(indent),
            Shape::Scalar if self.one_in(5) => {
                let header = self.pick(&[" |", " >-", " |+ # c", " >"]);
                self.push(header);
                for line in ["x y", "", "  z: 'w"] {
                    self.push(self.newline);
                    self.push(&if line.is_empty() {
                        String::new()
                    } else {
                        " ".repeat(indent + step) + line
                    });
                }
                self.push(self.newline);
            }
            Shape::Scalar if self.one_in(8) => {
                let scalar = self
                    .pick(&["p q", "'p q'", "\"p q\""])
                    .replace(' ', &format!("{}{}", self.newline, " ".repeat(indent + step)));
                self.push(" ");
                self.push(&scalar);
                self.end_line(indent);
            }
            Shape::List(items) if !items.is_empty() && !self.one_in(4) => {
                let indent = if behind_dash { indent + step } else { indent + self.roll(3) };
                self.push(" ");
                self.anchor();
                self.end_line(indent);
                self.block_list(items, indent);
            }
            Shape::Mapping(items) if !items.is_empty() && !self.one_in(4) => {
                if behind_dash && self.one_in(2) {
                    self.push(&" ".repeat(step));
                    return self.block_mapping(items, indent + 1 + step, true);
                }
                self.push(" ");
                self.anchor();
                self.end_line(indent + step);
                self.block_mapping(items, indent + step, false);
            }
            _ => {
                self.push(" ");
                self.inline(shape);
                self.end_line(indent);
            }
        }
    }

    fn block_list(&mut self, items: &[Shape], indent: usize) {
        for item in items {
            self.push(&(" ".repeat(indent) + "-"));
            self.value(item, indent, true);
        }
    }

    fn block_mapping(&mut self, items: &[Shape], indent: usize, mut in_line: bool) {
        for (key, item) in self.keys(items.len()).into_iter().zip(items) {
            if !std::mem::take(&mut in_line) {
                self.push(&" ".repeat(indent));
            }
            self.push(key);
            self.push(":");
            self.value(item, indent, false);
        }
    }

    fn document(mut self, items: &[Shape]) -> String {
        if self.one_in(8) {
            self.push("\u{feff}");
        }
        if self.one_in(4) {
            self.push("---");
            self.end_line(0);
        }
        match items {
            [] => self.push("{}"),
            items if self.one_in(6) => self.inline(&Shape::Mapping(items.to_vec())),
            items => self.block_mapping(items, 0, false),
        }
        if self.one_in(6) && self.text.ends_with(self.newline) {
            self.push("---");
            self.push(self.newline);
            self.push("submitacl: second");
        }
        if self.one_in(4) {
            self.text.truncate(self.text.trim_end().len());
        }
        self.text
    }
}

/// Generates texts of all shapes. With `shared`, some contain anchors, which can make an edit fail.
pub(super) fn texts(shared: bool) -> impl Strategy<Value = String> {
    (prop::collection::vec(shapes(), 0..5), 1_u64.., any::<bool>()).prop_map(move |(items, dice, crlf)| {
        let newline = if crlf { "\r\n" } else { "\n" };
        Writer { dice, text: String::new(), newline, shared, anchors: 0 }.document(&items)
    })
}
