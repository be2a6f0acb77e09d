//! Parses `--field-selector` for queues (`k8s.io/apimachinery/pkg/fields/selector.go`): comma-separated
//! terms, each a field, `=`, `==` or `!=`, and a value in which `\`, `,` and `=` are escaped with a `\`.

use super::queue::Queue;
use go_compat::diag::quoted;
use yunikorn::queue::nearest;

/// Fields that a selector may use.
const FIELDS: [&str; 5] =
    ["metadata.name", "status.partition", "status.parent", "status.leaf", "status.dynamic"];
/// Maximum number of terms in a selector.
const MAX_TERMS: usize = 16;

/// The conditions a queue must meet. By default there are no conditions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector(Vec<Term>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    field: &'static str,
    equal: bool,
    value: String,
}

impl Selector {
    /// Parses a selector.
    ///
    /// # Errors
    /// Returns a description of the syntax error.
    pub fn parse(text: &str) -> Result<Self, String> {
        let terms: Vec<String> = split(text).into_iter().filter(|term| !term.is_empty()).collect();
        if terms.len() > MAX_TERMS {
            return Err(format!("the field selector has {} terms, more than {MAX_TERMS}", terms.len()));
        }
        terms.iter().map(|term| Term::parse(term)).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the selected partition, or `None` for the default one.
    pub fn partition(&self) -> Option<&str> {
        self.only("status.partition")
    }

    /// Returns the name of the selected queue, if the selector allows only one.
    pub fn name(&self) -> Option<&str> {
        self.only("metadata.name")
    }

    fn only(&self, field: &str) -> Option<&str> {
        let found = self.0.iter().find(|term| term.field == field && term.equal);
        found.map(|term| term.value.as_str())
    }

    /// Returns whether a queue is selected.
    pub fn selects(&self, queue: &Queue) -> bool {
        self.0.iter().all(|term| (term.value_in(queue) == term.value) == term.equal)
    }
}

impl Term {
    fn parse(text: &str) -> Result<Self, String> {
        let operators = [("!=", false), ("==", true), ("=", true)];
        let at = text.find(['=', '!']).and_then(|at| text.split_at_checked(at));
        let found = at.and_then(|(field, rest)| {
            let operator =
                operators.iter().find_map(|(sign, equal)| Some((rest.strip_prefix(sign)?, *equal)));
            operator.map(|(value, equal)| (field, equal, value))
        });
        let Some((field, equal, value)) = found else {
            return Err(format!("{} is not a valid field selector term: write field=value", quoted(text)));
        };
        let known = FIELDS.iter().find(|known| **known == field.trim());
        let Some(field) = known else {
            let near = nearest(FIELDS, field.trim());
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(format!(
                "queues cannot be selected by {}, only by {}{hint}",
                quoted(field),
                FIELDS.join(", ")
            ));
        };
        Ok(Self { field, equal, value: unescaped(value) })
    }

    fn value_in(&self, queue: &Queue) -> String {
        let status = &queue.status;
        match self.field {
            "status.partition" => status.partition.clone(),
            "status.parent" => status.parent.clone().unwrap_or_default(),
            "status.leaf" => status.leaf.to_string(),
            "status.dynamic" => status.dynamic.to_string(),
            _ => queue.metadata.name.clone(),
        }
    }
}

/// Splits a text at every comma that is not escaped.
fn split(text: &str) -> Vec<String> {
    let (mut terms, mut escaped) = (vec![String::new()], false);
    for c in text.chars() {
        match (c, terms.last_mut()) {
            (',', _) if !escaped => terms.push(String::new()),
            (c, Some(term)) => term.push(c),
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    terms
}

fn unescaped(value: &str) -> String {
    let mut shown = String::with_capacity(value.len());
    let mut rest = value.chars();
    while let Some(c) = rest.next() {
        shown.push(if c == '\\' { rest.next().unwrap_or('\\') } else { c });
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::aggregated_api::queue::{self, live_queues};
    use yunikorn_access::placement::Live;
    use yunikorn_access::testing::tree;

    fn selected(text: &str) -> Vec<String> {
        let tree = tree(&[("root", "", ""), ("root.a", "", ""), ("root.a.b", "", ""), ("root.c", "", "")]);
        let selector = Selector::parse(text).unwrap();
        let live = Live::default();
        let queues = queue::queues(&tree, &live_queues(&tree, &live)).into_iter();
        queues.filter(|queue| selector.selects(queue)).map(|queue| queue.metadata.name).collect()
    }

    #[test]
    fn queues_are_selected_by_what_they_are() {
        assert_eq!(selected("").len(), 4);
        assert_eq!(selected("status.leaf=true"), ["root.a.b", "root.c"]);
        assert_eq!(selected("status.leaf==true,status.parent!=root"), ["root.a.b"]);
        assert_eq!(selected("status.parent="), ["root"]);
        assert_eq!(selected("metadata.name=root.c,status.partition=default,"), ["root.c"]);
        assert!(selected("status.dynamic=true").is_empty());
        let selector = Selector::parse("status.partition=gpu,metadata.name=a\\,b\\=c").unwrap();
        assert_eq!((selector.partition(), selector.name()), (Some("gpu"), Some("a,b=c")));
        assert_eq!(Selector::parse("status.partition!=gpu").unwrap().partition(), None);
    }

    #[test]
    fn what_cannot_be_selected_by_is_reported() {
        for (text, part) in [
            ("status.lef=true", "did you mean `status.leaf`?"),
            ("spec.nodeName=a", "queues cannot be selected by `spec.nodeName`"),
            ("status.leaf", "write field=value"),
            ("status.leaf!true", "write field=value"),
        ] {
            let reported = Selector::parse(text).unwrap_err();
            assert!(reported.contains(part), "{reported}");
        }
        assert!(Selector::parse(&"status.leaf=true,".repeat(20)).unwrap_err().contains("more than 16"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_much(text in ".{0,40}", terms in "(status[.](leaf|x)(=|!=|==)[a\\\\,=]{0,3},){0,3}") {
            let _ = Selector::parse(&text);
            let _ = Selector::parse(&terms);
        }
    }
}
