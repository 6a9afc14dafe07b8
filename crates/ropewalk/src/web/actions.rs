//! What a page may ask of the daemon: what `ropewalk path`, `invite`, `revoke`, `quota`, `forward`,
//! `limit`, `group` and `exit` ask, judged by the same rules.

use super::feed::Shared;
use crate::commands::{self, PathOptions};
use crate::control::ask;
use crate::control::ask::Line;
use crate::control::protocol::{Request, Response};
use crate::exit::{Code, Failure, failure};
use crate::gateway::grants::{Change, Grants};
use crate::gateway::quotas::QuotaChange;
use crate::report::flows::Flows;
use crate::state::clients::KnownClient;
use qrcode::{Color, EcLevel, QrCode};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Connections that a page is told of.
const FLOWS: u16 = 100;
/// Clients that may come in, of which a page is told. A fleet may have a million, and each is a row.
const CLIENTS: u16 = 1024;

/// A change.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Action {
    /// `ropewalk path add`.
    PathAdd {
        /// `IFACE` or `IFACE@HOST:PORT`.
        name: String,
        /// What it may be used for.
        #[serde(default)]
        options: PathOptions,
    },
    /// `ropewalk path remove`.
    PathRemove {
        /// As above.
        name: String,
    },
    /// `ropewalk path set`.
    PathSet {
        /// As above.
        name: String,
        /// What it may be used for.
        options: PathOptions,
    },
    /// `ropewalk invite`.
    Invite {
        /// What to call the device.
        name: String,
        /// Where it reaches the gateway.
        #[serde(default)]
        endpoints: Vec<String>,
    },
    /// `ropewalk revoke`.
    Revoke {
        /// What the device is called.
        name: String,
    },
    /// `ropewalk quota set` and `remove`.
    Quota {
        /// Whose, and what.
        change: QuotaChange,
    },
    /// `ropewalk forward`, `limit` and their like.
    Grant {
        /// What.
        change: Change,
    },
}

/// What came of it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Outcome {
    /// What there is to say; may be empty.
    said: String,
    /// The token of an invite.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// The same for a camera.
    #[serde(skip_serializing_if = "Option::is_none")]
    qr: Option<Qr>,
}

/// A QR code: the dark modules as the `d` of an SVG path, in a square of so many modules.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Qr {
    size: usize,
    d: String,
}

/// Does it. Waits for the daemon.
pub(super) fn act(shared: &Shared, action: Action) -> anyhow::Result<Outcome> {
    // What is granted is noted as the gateway says it.
    let tells = matches!(action, Action::Quota { .. } | Action::Grant { .. });
    let (request, mut note) = match action {
        // What changes with paths is seen by the next look, whoever did it.
        Action::PathAdd { name, options } => (Request::PathAdd { name, options }, None),
        Action::PathRemove { name } => (Request::PathRemove { name }, None),
        Action::PathSet { name, options } => (Request::PathSet { name, options }, None),
        Action::Invite { name, endpoints } => {
            let note = format!("{name} was invited");
            (Request::Invite { name, endpoints }, Some(note))
        }
        Action::Revoke { name } => {
            let note = format!("{name} was revoked");
            (Request::Revoke { name }, Some(note))
        }
        Action::Quota { change } => (Request::Quota { change }, None),
        Action::Grant { change } => (Request::Grant { change }, None),
    };
    let outcome = match ask(&shared.dir, &request)? {
        Response::Done { said } => Outcome { said, ..Outcome::default() },
        Response::Token { token } => {
            let qr = qr(&token);
            Outcome { token: Some(token), qr, ..Outcome::default() }
        }
        other => anyhow::bail!("the daemon gave an answer to another question: {other:?}"),
    };
    if tells {
        note = Some(outcome.said.clone());
    }
    if let Some(note) = note {
        shared.note(note);
    }
    Ok(outcome)
}

/// Which connections there are, those with the highest rates.
pub(super) fn flows(shared: &Shared) -> anyhow::Result<Flows> {
    commands::flows(&mut Line::open(&shared.dir)?, FLOWS)
}

/// Who may come in, as far as a page shows it.
#[derive(Debug, Serialize)]
pub(super) struct Known {
    clients: Vec<KnownClient>,
    /// How many there are in all.
    total: u64,
}

/// Who may come in, the first by name.
pub(super) fn clients(shared: &Shared) -> anyhow::Result<Known> {
    let (clients, total) = commands::clients_page(&mut Line::open(&shared.dir)?, None, CLIENTS)?;
    Ok(Known { clients, total })
}

/// What clients are granted.
pub(super) fn grants(shared: &Shared) -> anyhow::Result<Grants> {
    match ask(&shared.dir, &Request::Grants {})? {
        // What was granted once is the gateway's own matter.
        Response::Grants { grants } => Ok(Grants { ended: Vec::new(), ..*grants }),
        _ => Err(failure(Code::Failure, "the daemon gave an answer to another question")),
    }
}

/// Whether the daemon refused, rather than something broke.
pub(super) fn is_refusal(error: &anyhow::Error) -> bool {
    error.chain().any(|e| e.is::<Failure>())
}

/// `None` where the token is too long for one: many endpoints.
fn qr(token: &str) -> Option<Qr> {
    let code = QrCode::with_error_correction_level(token, EcLevel::L).ok()?;
    let (size, modules) = (code.width(), code.to_colors());
    let mut d = String::new();
    for (y, row) in modules.chunks(size).enumerate() {
        let mut x = 0;
        for run in row.chunk_by(|a, b| a == b) {
            if run[0] == Color::Dark {
                let _ = write!(d, "M{x} {y}h{n}v1h-{n}z", n = run.len());
            }
            x += run.len();
        }
    }
    Some(Qr { size, d })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_its_finder_patterns() {
        let code = qr(&"rw1_".repeat(40)).unwrap();
        assert!(code.size > 21 && code.d.starts_with("M0 0h7v1h-7z"), "{code:?}");
        assert!(qr(&"x".repeat(10_000)).is_none());
    }

    #[test]
    fn only_known_actions_are_read() {
        let read = |text: &str| serde_json::from_str::<Action>(text);
        assert!(
            read(
                r#"{"do":"path-set","name":"wan1","options":{"class":"metered","cap":"10GB","reset_day":3}}"#
            )
            .is_ok()
        );
        for fair in [
            r#"{"do":"quota","change":{"client":"alice","to":{"amount":"10GB","per":"month","then":"1Mbit"}}}"#,
            r#"{"do":"quota","change":{"client":"alice","to":null}}"#,
            r#"{"do":"grant","change":{"forward-add":{"client":"alice","protocol":"tcp","port":8080,"to":80}}}"#,
            r#"{"do":"grant","change":{"limit-set":{"client":"alice","limit":{"down":"20Mbit"}}}}"#,
            r#"{"do":"grant","change":{"group-add":{"group":"home","clients":["alice","bob"]}}}"#,
            r#"{"do":"grant","change":{"group-remove":{"group":"home","clients":[]}}}"#,
            r#"{"do":"grant","change":{"exit-set":{"whose":{"group":"home"},"exit":{"interface":"wan2","global6":false}}}}"#,
            r#"{"do":"grant","change":{"exit-remove":{"whose":{"client":"alice"}}}}"#,
        ] {
            assert!(read(fair).is_ok(), "{fair}");
        }
        for wrong in [
            r#"{"do":"expel","name":"x"}"#,
            r#"{"do":"revoke","name":"x","more":1}"#,
            r#"{"do":"path-set","name":"wan1","options":{"class":"best"}}"#,
            r#"{"do":"path-set","name":"wan1","options":{"cap":"lots"}}"#,
            r#"{"do":"path-set","name":"wan1","options":{"reset_day":32}}"#,
            r#"{"do":"quota","change":{"client":"alice","to":{"amount":"much","per":"month"}}}"#,
            r#"{"do":"grant","change":{"forward-add":{"client":"alice","protocol":"tcp","port":0,"to":80}}}"#,
            r#"{"do":"grant","change":{"forget":{"client":"alice"}}}"#,
            "[]",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
