//! The scenario file: what a user writes, what a run needs, and what it leaves behind.
//!
//! The life of a file:
//!
//! 1. [`tree`]: TOML becomes values that know their lines. Options of the command line and the axes of a sweep change this tree, so
//!    that they are checked like anything else.
//! 2. [`mod@file`]: the tables, each declared once with its documentation ([`field`]), are read from the tree.
//! 3. [`check`]: what types cannot say: names that nothing has, rates that a standard lacks.
//!    Copies are made, addresses given out and places drawn before that ([`document`]).
//! 4. A driver (the simulator, later the live lab) builds the [`Scenario`], runs it, and fills a [`report::Report`].
//! 5. [`verdict`] judges the report, [`over_seeds`] those of a point of a sweep together.
//!
//! [`paper`] puts several files under the claims of a paper, and judges those.
//!
//! Every problem is found before anything runs, all of them together, each with file, line, key and remedy ([`problem`]). The
//! crate knows nothing of the crates that do the work; they translate.
#![forbid(unsafe_code)]

mod address;
pub mod check;
pub mod compare;
pub mod document;
mod expand;
pub mod field;
pub mod file;
pub mod over_seeds;
pub mod paper;
mod place;
pub mod problem;
pub mod reference;
pub mod report;
pub mod sweep;
mod transport;
pub mod tree;
pub mod units;
pub mod verdict;
pub mod wifi;

pub use document::Document;
pub use file::Scenario;
pub use problem::{Problem, Problems};
pub use report::Report;
pub use transport::Transport;
