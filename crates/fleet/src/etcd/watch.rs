//! A watch: one long answer, a line of JSON for each batch of changes.

use super::StoreError;
use super::api::{KeyValue, after_all, key_value, number, text};
use super::connect::{Etcd, PATIENCE, understood};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

/// Bytes of one line: a batch of thousands of changes.
const LINE_MAX: usize = 64 << 20;
/// How often a silent watch looks whether the others have left this member.
const LOOK: Duration = Duration::from_millis(250);

/// Changes that belong together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The last of their revisions: the store may be further, with changes that come in the next
    /// line.
    pub revision: i64,
    /// What was written, and what was deleted (`true`).
    pub changes: Vec<(KeyValue, bool)>,
}

/// What a watch cannot go on after.
#[derive(Debug)]
pub(crate) enum Ended {
    /// What is asked for is no longer kept, or is too long: everything has to be read again.
    Compacted,
    /// Anything else; another member may be asked for the rest.
    Broken(StoreError),
}

impl From<StoreError> for Ended {
    fn from(error: StoreError) -> Ended {
        Ended::Broken(error)
    }
}

/// A running watch.
#[derive(Debug)]
pub(crate) struct Watch {
    etcd: Etcd,
    at: usize,
    body: Incoming,
    /// The connection ends with it.
    _sender: SendRequest<Full<Bytes>>,
    buffer: Vec<u8>,
    /// So much of it has no end of a line.
    seen: usize,
}

impl Watch {
    /// Watches all keys that begin with `prefix`, changes of the revision `since` and later.
    pub(crate) async fn start(etcd: &Etcd, prefix: &str, since: i64) -> Result<Watch, Ended> {
        let at = etcd.current();
        let started = Watch::at(etcd, at, prefix, since).await;
        if matches!(started, Err(Ended::Broken(StoreError::Gone(_)))) {
            etcd.leave(at);
        }
        started
    }

    async fn at(etcd: &Etcd, at: usize, prefix: &str, since: i64) -> Result<Watch, Ended> {
        let mut sender = etcd.connect(at).await?;
        let end = after_all(prefix.as_bytes()).unwrap_or_default();
        let ask = json!({
            "create_request": {"key": text(prefix), "range_end": STANDARD.encode(end), "start_revision": since.to_string()},
        });
        let answer = etcd.send(&mut sender, at, PATIENCE, "/v3/watch", &ask).await?;
        if answer.status() != StatusCode::OK {
            understood(answer.status(), b"{}")?;
        }
        Ok(Watch {
            etcd: etcd.clone(),
            at,
            body: answer.into_body(),
            _sender: sender,
            buffer: Vec::new(),
            seen: 0,
        })
    }

    /// The next changes, whenever they come.
    pub(crate) async fn next(&mut self) -> Result<Batch, Ended> {
        loop {
            while let Some(end) = self.buffer[self.seen..].iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=self.seen + end).collect();
                self.seen = 0;
                if let Some(batch) = read(&line)? {
                    return Ok(batch);
                }
            }
            self.seen = self.buffer.len();
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<(), Ended> {
        let gone = |why: String| Ended::Broken(StoreError::Gone(why));
        let frame = loop {
            match timeout(LOOK, self.body.frame()).await {
                Ok(frame) => break frame,
                Err(_) if self.etcd.current() != self.at => {
                    return Err(gone("another member is asked".into()));
                }
                Err(_) => {}
            }
        };
        match frame {
            Some(Ok(frame)) => self.buffer.extend_from_slice(frame.data_ref().map_or(&[][..], |b| b)),
            Some(Err(error)) => return self.broken(error.to_string()),
            None => return self.broken("the watch ended".into()),
        }
        if self.buffer.len() > LINE_MAX {
            // Asked again it would be as long.
            return Err(Ended::Compacted);
        }
        Ok(())
    }

    /// It says nothing where it should: the next member is spoken to from now on.
    pub(crate) fn leave(&self) {
        self.etcd.leave(self.at);
    }

    fn broken(&self, why: String) -> Result<(), Ended> {
        self.etcd.leave(self.at);
        Err(Ended::Broken(StoreError::Gone(why)))
    }
}

/// A line's changes; `None` where it only says that the watch has begun.
fn read(line: &[u8]) -> Result<Option<Batch>, Ended> {
    let value: Value = serde_json::from_slice(line).map_err(|e| StoreError::Answer(e.to_string()))?;
    let Some(result) = value.get("result") else {
        return Err(
            StoreError::Gone(value["error"]["message"].as_str().unwrap_or("a watch failed").into()).into()
        );
    };
    if result["canceled"].as_bool() == Some(true) {
        if number(&result["compact_revision"])? > 0 {
            return Err(Ended::Compacted);
        }
        return Err(
            StoreError::Gone(result["cancel_reason"].as_str().unwrap_or("a watch was ended").into()).into()
        );
    }
    let mut batch = Batch::default();
    for event in result["events"].as_array().map_or(&[][..], Vec::as_slice) {
        let kv = key_value(&event["kv"])?;
        batch.revision = batch.revision.max(kv.revision);
        batch.changes.push((kv, event["type"] == "DELETE"));
    }
    Ok(if batch.changes.is_empty() { None } else { Some(batch) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        let of = |line: &str| read(line.as_bytes());
        assert!(of(r#"{"result":{"header":{"revision":"2"},"created":true}}"#).unwrap().is_none());
        let batch = of(
            r#"{"result":{"header":{"revision":"7"},"events":[{"kv":{"key":"YQ==","value":"Yg==","mod_revision":"6"}},{"type":"DELETE","kv":{"key":"YQ==","mod_revision":"7"}}]}}"#,
        );
        let batch = batch.unwrap().unwrap();
        assert_eq!((batch.revision, batch.changes.len()), (7, 2));
        assert!(!batch.changes[0].1 && batch.changes[1].1);
        assert!(matches!(
            of(r#"{"result":{"canceled":true,"compact_revision":"5"}}"#),
            Err(Ended::Compacted)
        ));
        for bad in ["", "{}", r#"{"error":{"message":"no leader"}}"#, r#"{"result":{"canceled":true}}"#] {
            assert!(matches!(of(bad), Err(Ended::Broken(_))), "{bad}");
        }
    }
}
