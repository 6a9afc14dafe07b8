//! `ropewalk path`.

use crate::cli::{PathArgs, PathCommand};
use crate::control::ask;
use crate::control::protocol::{Request, Response};
use crate::state::StateDir;

/// Changes the paths of a running client.
pub(super) fn run(args: PathArgs) -> anyhow::Result<()> {
    let (state, request) = match args.command {
        PathCommand::Add { name, state, options } => {
            (state, Request::PathAdd { name: name.to_string(), options })
        }
        PathCommand::Remove { name, state } => (state, Request::PathRemove { name: name.to_string() }),
        PathCommand::Set { name, state, options } => {
            (state, Request::PathSet { name: name.to_string(), options })
        }
    };
    if let Response::Done { said } = ask(&StateDir::existing(&state.dir)?, &request)?
        && !said.is_empty()
    {
        eprintln!("{said}");
    }
    Ok(())
}
