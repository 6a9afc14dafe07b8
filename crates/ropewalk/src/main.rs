//! `ropewalk`: one link out of every link in reach. The program is the crate's library.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    ropewalk::main()
}
