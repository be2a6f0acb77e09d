//! The five `admissionController.accessControl.*` keys.
