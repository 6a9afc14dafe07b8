//! The bodies of the fuzz targets `bunch`, `control`, `config` and `state` (`tests/fuzz/`). Each
//! takes any bytes and panics only where the program breaks a promise.

use crate::config::File;
use crate::control::protocol::{Request, Response};
use crate::gateway::endpoints::Listening;
use crate::state::clients::Clients;
use crate::state::pool::Pool;
use crate::state::usage;
use crate::{client, report};
use ropewalk_session::{
    CipherSet, ClientHello, Extensions, InviteId, InviteSecret, PublicKey, StaticKey, Token,
};
use std::path::Path;

/// Lines of the control socket, from either end: what is understood means the same once it is written again.
pub fn control(data: &[u8]) {
    let Ok(line) = std::str::from_utf8(data) else { return };
    if let Ok(request) = serde_json::from_str::<Request>(line) {
        assert!(
            !matches!(
                request,
                Request::Expel { .. }
                    | Request::Resolved { .. }
                    | Request::Translated { .. }
                    | Request::Air { .. }
                    | Request::JoinClients { .. }
            ),
            "only the daemon itself says so"
        );
        let again = serde_json::to_string(&request).expect("a request can be written");
        assert_eq!(serde_json::from_str::<Request>(&again).expect("and read"), request);
    }
    if let Ok(response) = serde_json::from_str::<Response>(line) {
        if let Response::Status { status } = &response {
            let _ = report::table::render(Some(status), status);
        }
        let again = serde_json::to_string(&response).expect("an answer can be written");
        let back: Response = serde_json::from_str(&again).expect("and read");
        assert_eq!(serde_json::to_string(&back).expect("and written again"), again);
    }
}

/// What comes by the TCP connection of a bunch's tunnel before it is known whose it is, and what
/// the daemons tell each other.
pub fn bunch(data: &[u8]) {
    crate::bunch::fuzz(data);
}

/// A configuration file: what is taken makes an engine's configuration that is within bounds.
pub fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match File::parse(Path::new("file.toml"), text) {
        Ok(file) => {
            let config = file.engine.to_config();
            assert!(
                (1280..=9000).contains(&config.tun_mtu) && config.memory_bytes > 0 && config.max_peers > 0
            );
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Files of the state directory, the first byte says which: what is taken can be worked with, written and read again.
pub fn state(data: &[u8]) {
    let Some((which, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    match which % 6 {
        0 => clients(text),
        1 => usage::fuzz(text),
        2 => again::<Listening>(text),
        3 => client::fuzz(text),
        4 => drop(StaticKey::from_base64(text)),
        _ => {
            if let Ok(token) = text.parse::<Token>() {
                assert_eq!(token.to_text().parse::<Token>().expect("a token's own text"), token);
            }
        }
    }
}

fn again<T: serde::Serialize + serde::de::DeserializeOwned>(text: &str) {
    let Ok(value) = serde_json::from_str::<T>(text) else { return };
    let written = serde_json::to_string(&value).expect("it can be written");
    let back: T = serde_json::from_str(&written).expect("and read");
    assert_eq!(serde_json::to_string(&back).expect("and written again"), written);
}

/// The client registry: nobody shares an address with another, whatever stood in the file.
fn clients(text: &str) {
    again::<Clients>(text);
    let Ok(mut registry) = serde_json::from_str::<Clients>(text) else { return };
    let pool = Pool::new(&["10.77.0.1/28".parse().expect("a network")]).expect("a pool");
    let invite = |registry: &mut Clients, n: u8| {
        registry.invite(&format!("new-{n}"), InviteId([n; 16]), &InviteSecret([n; 16]))
    };
    let mut given = Vec::new();
    for n in 0..3 {
        if invite(&mut registry, n).is_err() {
            continue;
        }
        let hello = ClientHello {
            ciphers: CipherSet::CHACHA,
            tun_mtu: 1420,
            resume: None,
            invite: InviteId([n; 16]),
            secret: InviteSecret([n; 16]),
            extensions: Extensions::default(),
        };
        if let Ok((admission, _)) = registry.admit(&pool, &PublicKey([n; 32]), &hello) {
            given.push(admission.ipv4.client);
        }
        let _ = registry.revoke(&format!("new-{}", n + 10));
    }
    let count = given.len();
    given.sort_unstable();
    given.dedup();
    assert_eq!(given.len(), count, "two clients have one address");
}
