//! This end's static key.

use super::StateDir;
use crate::daemon::entropy;
use anyhow::Context;
use ropewalk_session::StaticKey;

const FILE: &str = "key";

/// The key in `dir`, made at the first call.
pub(crate) fn load_or_make(dir: &StateDir) -> anyhow::Result<StaticKey> {
    if let Some(text) = dir.read(FILE)? {
        let damaged = || format!("{} does not hold a key", dir.path().join(FILE).display());
        return StaticKey::from_base64(&text).with_context(damaged);
    }
    let key = StaticKey::generate(&mut entropy())?;
    dir.write(FILE, key.to_base64().as_bytes())?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::Scratch;

    #[test]
    fn a_key_is_made_once_and_a_damaged_one_is_not_replaced() {
        let scratch = Scratch::new();
        let key = load_or_make(&scratch.0).unwrap().public();
        assert_eq!(load_or_make(&scratch.0).unwrap().public(), key);
        scratch.0.write(FILE, b"nonsense").unwrap();
        let error = format!("{:#}", load_or_make(&scratch.0).unwrap_err());
        assert!(error.contains("does not hold a key: this is not a key"), "{error}");
    }
}
