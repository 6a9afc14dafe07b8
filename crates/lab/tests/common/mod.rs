//! Scenarios of the live lab's tests.

use ropewalk_lab::LabError;
use ropewalk_scenario::{Document, Scenario};

pub(crate) fn scenario(text: &str) -> Scenario {
    Document::parse("test", text).unwrap().scenario().unwrap_or_else(|e| panic!("{e}"))
}

/// None, with the reason on standard error, where the lab cannot work.
pub(crate) fn possible<T>(made: ropewalk_lab::Result<T>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(error @ (LabError::NotRoot | LabError::NoTun | LabError::TunForbidden)) => {
            ropewalk_skip::skip(error);
            None
        }
        Err(other) => panic!("{other}"),
    }
}
