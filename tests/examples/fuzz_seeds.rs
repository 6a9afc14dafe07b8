//! Writes the seed corpora of the fuzz targets: `cargo run -p ropewalk-tests --example fuzz_seeds` from the root.

use ropewalk_tests::fuzzing::seeds;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (target, name, bytes) in seeds::all() {
        std::fs::create_dir_all(root.join(target))?;
        std::fs::write(root.join(target).join(name), bytes)?;
    }
    Ok(())
}
