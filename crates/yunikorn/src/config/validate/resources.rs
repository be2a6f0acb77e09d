//! The resources that queues may use and are guaranteed, and the number of applications they may run, against
//! the queues above and below.

use super::super::codes::{MAX_APPLICATIONS, RESOURCES};
use super::super::quantity::Amounts;
use super::super::schema::QueueConfig;
use go_compat::diag::Diagnostic;

/// `checkQueueResource` (`configvalidator.go:125`): the guarantee this queue needs of its parent.
pub(super) fn check(queue: &QueueConfig, parent_max: Option<&Amounts>) -> Result<Amounts, Diagnostic> {
    let name = &queue.name.value;
    let refused = |message: String| Err(Diagnostic::error(RESOURCES, message).at(queue.head()));
    let (guaranteed, max) = read(queue)?;
    let max = match parent_max {
        Some(parent) if !parent.fits(&max) => {
            return refused(format!(
                "max resource of parent {parent} is smaller than maximum resource {max} for queue {name}"
            ));
        }
        Some(parent) => max.least(parent),
        None => max,
    };
    let mut sum = Amounts::default();
    for child in queue.children() {
        sum.add(&check(child, Some(&max))?);
    }
    if !guaranteed.fits(&sum) {
        return refused(format!(
            "guaranteed resource of parent {guaranteed} is smaller than sum of guaranteed resources {sum} of \
             the children for queue {name}"
        ));
    }
    if !max.fits(&sum) {
        return refused(format!(
            "max resource {max} is smaller than sum of guaranteed resources {sum} of the children for queue \
             {name}"
        ));
    }
    Ok(if guaranteed.is_zero() { sum } else { guaranteed })
}

/// `checkResourceConfig` (`configvalidator.go:297`): guarantee and maximum of one queue.
fn read(queue: &QueueConfig) -> Result<(Amounts, Amounts), Diagnostic> {
    let guaranteed = Amounts::read(&queue.resources.guaranteed)?;
    let max = Amounts::read(&queue.resources.max)?;
    if max.fits(&guaranteed) {
        return Ok((guaranteed, max));
    }
    let message = format!(
        "guaranteed resource {guaranteed} is larger than maximum resource {max} for queue {}",
        queue.name.value
    );
    Err(Diagnostic::error(RESOURCES, message).at(queue.head()))
}

/// `checkQueueMaxApplications` (`configvalidator.go:211`).
pub(super) fn check_max_applications(queue: &QueueConfig) -> Result<(), Diagnostic> {
    for child in queue.children() {
        let refused = |message: &str| Err(Diagnostic::error(MAX_APPLICATIONS, message).at(child.head()));
        if queue.max_applications != 0 && queue.max_applications < child.max_applications {
            return refused("parent maxApplications must be larger than child maxApplications");
        }
        if queue.max_applications != 0 && child.max_applications == 0 {
            return refused(
                "maxApplications is either undefined or zero, which is not allowed when parent queue's \
                 maxApplications is defined",
            );
        }
        check_max_applications(child)?;
    }
    Ok(())
}
