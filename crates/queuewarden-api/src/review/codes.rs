//! The reasons why a review cannot be answered.

use go_compat::diag::Code;

go_compat::codes! {
    /// A document of the API groups of reviews, but of a kind or version that is not answered.
    ///
    /// Why: `SelfSubjectRulesReview` asks for a list, which no authorization webhook can give; other kinds
    /// and versions do not exist. Ask with a `SubjectAccessReview`, or list with `queuewarden what-can`.
    pub const UNKNOWN_REVIEW: Code = Code::new(7301, "unknown-review");
    /// A field of the review has another type than it must have, or one that must be there is missing.
    ///
    /// Why: the API server refuses such a review before it queries anyone. The message names the field;
    /// write it as `kubectl create --raw` or the API server would send it.
    pub const MALFORMED_REVIEW: Code = Code::new(7302, "malformed-review");
    /// A `SelfSubjectAccessReview` without a caller.
    ///
    /// Why: it is about its sender, and a review in a file has none. Name the sender with `--as` and
    /// `--as-group`, or write a `SubjectAccessReview` with `spec.user`.
    pub const REVIEW_BY_NOBODY: Code = Code::new(7303, "review-by-nobody");
    /// A review, or an object in one, that exceeds the size limit.
    ///
    /// Why: memory is bounded. In a file, write one review in each line of JSON: a line is the unit that is
    /// bounded. A webhook refuses the request: make the object smaller.
    pub const TOO_LARGE: Code = Code::new(7304, "review-too-large");
    /// A line among reviews that is no JSON object.
    ///
    /// Why: a file that begins with a review on one line is read as one review a line. Write each on one
    /// line, or write the whole file as YAML documents.
    pub const NOT_JSON_LINE: Code = Code::new(7305, "not-a-review-line");
    /// An `AdmissionReview` of an object that another endpoint decides.
    ///
    /// Why: about ConfigMaps the admission controller queries the scheduler. `queuewarden validate` shows
    /// its answer.
    pub const DECIDED_ELSEWHERE: Code = Code::new(7306, "admission-decided-elsewhere");
    /// A review that a webhook did not read to its end.
    ///
    /// Why: many large requests came at once, its body or its answer took too long, or queuewarden has a
    /// fault. A request that is not read is refused, so that nobody gets past a check by sending many. Try
    /// again, or make the object smaller.
    pub const NOT_READ: Code = Code::new(7307, "review-not-read");
}
