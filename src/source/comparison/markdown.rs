//! Output of `diff` as Markdown, for comments on merge requests. Names are shown as code, so that none of
//! them is read as markup.

use super::answer::DiffAnswer;
use crate::output::format::{Table, code};
use go_compat::diag::plural;
use yunikorn_access::diff::{Change, Direction};

/// Maximum number of refused objects that are listed.
const MAX_REFUSED: usize = 20;

/// Returns a heading with counts, the table, and what is refused and noted as a list.
pub(super) fn text(answer: &DiffAnswer, table: &Table, notes: &[String]) -> String {
    let count = |direction, moved| {
        let of = |change: &&Change| change.direction == direction && change.periods.is_moved() == moved;
        answer.changes().filter(of).count()
    };
    let of = answer.user.as_ref().map(|user| format!(" of {}", code(user))).unwrap_or_default();
    let [gained, lost] =
        [Direction::Gains, Direction::Loses].map(|direction| plural(count(direction, false), "right"));
    let moved =
        [(Direction::Gains, "extended"), (Direction::Loses, "shortened")].map(
            |(direction, done)| match count(direction, true) {
                0 => String::new(),
                count => format!(", {count} {done}"),
            },
        );
    let moved = moved.concat();
    let refused = match answer.refused.len() {
        0 => String::new(),
        count => format!(", {} refused", plural(count, "object")),
    };
    let shown = answer.refused.iter().take(MAX_REFUSED);
    let shown = shown.map(|refused| format!("{} is refused: {}", refused.object, refused.message));
    let items: Vec<String> =
        shown.chain(notes.iter().cloned()).map(|note| format!("- {}\n", code(&note))).collect();
    let parts = [
        format!("### Access{of}: {gained} gained, {lost} lost{moved}{refused}\n"),
        table.markdown(),
        items.concat(),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}
