//! Reasons why a review cannot be answered.

use go_compat::diag::Code;

go_compat::codes! {
    /// A document in a review API group whose kind or version is not supported.
    ///
    /// Why: `SelfSubjectRulesReview` asks for a list, which no authorization webhook can give; other kinds
    /// and versions do not exist. Create a `SubjectAccessReview` instead, or list rights with `queuewarden
    /// what-can`.
    pub const UNKNOWN_REVIEW: Code = Code::new(7301, "unknown-review");
    /// A field of the review has the wrong type, or a required field is missing.
    ///
    /// Why: the API server refuses such a review before it queries any authorizer or webhook. The message
    /// names the field; write it as `kubectl create --raw` or the API server would send it.
    pub const MALFORMED_REVIEW: Code = Code::new(7302, "malformed-review");
    /// A `SelfSubjectAccessReview` without a caller.
    ///
    /// Why: the review is about its sender, and a review in a file has no sender. Name the sender with `--as`
    /// and `--as-group`, or write a `SubjectAccessReview` with `spec.user`.
    pub const REVIEW_BY_NOBODY: Code = Code::new(7303, "review-by-nobody");
    /// A review, or an object in one, that exceeds the size limit.
    ///
    /// Why: memory is bounded. In a file, write one review per line, as JSON: the limit applies to each line.
    /// A webhook refuses the request; make the object smaller.
    pub const TOO_LARGE: Code = Code::new(7304, "review-too-large");
    /// A line in a file of reviews that is not a JSON object.
    ///
    /// Why: if the first line of a file is a complete review, the file is read as one review per line. Write
    /// each review on one line, or write the whole file as YAML documents.
    pub const NOT_JSON_LINE: Code = Code::new(7305, "not-a-review-line");
    /// An `AdmissionReview` of an object that another endpoint decides.
    ///
    /// Why: for ConfigMaps, the admission controller asks the scheduler. `queuewarden validate` shows its
    /// answer.
    pub const DECIDED_ELSEWHERE: Code = Code::new(7306, "admission-decided-elsewhere");
    /// A review that a webhook could not finish reading.
    ///
    /// Why: many large requests arrived at once, its body or its answer took too long, or queuewarden has a
    /// bug. A request that was not read is refused, so that no one can bypass a check by sending many
    /// requests. Try again, or make the object smaller.
    pub const NOT_READ: Code = Code::new(7307, "review-not-read");
}
