//! Requests and answers as values. Numbers of 64 bits are texts in etcd's JSON, keys and values
//! base64.

use super::StoreError;
use super::connect::{Caller, Etcd};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// One key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyValue {
    /// Bytes that are no text stand there as U+FFFD, which no name of the fleet has.
    pub key: String,
    pub value: Vec<u8>,
    /// The store's revision at which it was written last.
    pub revision: i64,
    /// It goes with that lease; 0: with none.
    pub lease: i64,
}

/// What has to be so for a transaction to be done.
#[derive(Clone, Debug)]
pub(crate) enum Compare {
    /// The key is not there.
    Absent(String),
    /// It was written last at that revision.
    At(String, i64),
}

/// A step of a transaction.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Put { key: String, value: Vec<u8>, lease: i64 },
    Delete(String),
    Get(String),
}

/// What came of one.
#[derive(Debug)]
pub(crate) struct Txn {
    /// The comparisons held.
    pub succeeded: bool,
    /// The store's revision after it.
    pub revision: i64,
    /// What the steps read that read anything, in their order.
    pub read: Vec<Option<KeyValue>>,
}

/// A page of a range.
#[derive(Debug)]
pub(crate) struct Page {
    pub keys: Vec<KeyValue>,
    /// The first key as it is, and the last; empty where there is none.
    pub first: Vec<u8>,
    pub last: Vec<u8>,
    /// How many keys the whole range has.
    pub count: usize,
    pub revision: i64,
    pub more: bool,
}

impl Op {
    pub(crate) fn put(key: String, value: impl Into<Vec<u8>>) -> Op {
        Op::Put { key, value: value.into(), lease: 0 }
    }

    fn to_json(&self) -> Value {
        match self {
            Op::Put { key, value, lease } => {
                json!({"request_put": {"key": text(key), "value": STANDARD.encode(value), "lease": lease.to_string()}})
            }
            Op::Delete(key) => json!({"request_delete_range": {"key": text(key)}}),
            Op::Get(key) => json!({"request_range": {"key": text(key)}}),
        }
    }
}

impl Compare {
    fn to_json(&self) -> Value {
        match self {
            Compare::Absent(key) => {
                json!({"key": text(key), "target": "CREATE", "result": "EQUAL", "create_revision": "0"})
            }
            Compare::At(key, revision) => {
                json!({"key": text(key), "target": "MOD", "result": "EQUAL", "mod_revision": revision.to_string()})
            }
        }
    }
}

/// The first key after all that begin with these bytes; none if that would be after all keys.
pub(crate) fn after_all(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while end.last() == Some(&u8::MAX) {
        end.pop();
    }
    *end.last_mut()? += 1;
    Some(end)
}

pub(super) fn text(key: &str) -> String {
    STANDARD.encode(key)
}

/// A number, which stands there as a text, or not at all if it is 0.
pub(super) fn number(value: &Value) -> Result<i64, StoreError> {
    match value {
        Value::Null => Ok(0),
        Value::String(text) => text.parse().map_err(|_| StoreError::Answer(format!("`{text}` for a number"))),
        Value::Number(n) => n.as_i64().ok_or_else(|| StoreError::Answer(format!("{n} for a number"))),
        other => Err(StoreError::Answer(format!("{other} for a number"))),
    }
}

/// The cluster that an answer is from. Its numbers have 64 bits without a sign.
pub(super) fn cluster(answer: &Value) -> Option<u64> {
    let header = answer.get("header").or_else(|| answer.get("result")?.get("header"))?;
    header["cluster_id"].as_str()?.parse().ok()
}

fn bytes(value: &Value, field: &str) -> Result<Vec<u8>, StoreError> {
    match &value[field] {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => STANDARD.decode(text).map_err(|e| StoreError::Answer(e.to_string())),
        other => Err(StoreError::Answer(format!("{other} for {field}"))),
    }
}

pub(super) fn key_value(value: &Value) -> Result<KeyValue, StoreError> {
    let key = String::from_utf8_lossy(&bytes(value, "key")?).into_owned();
    let (revision, lease) = (number(&value["mod_revision"])?, number(&value["lease"])?);
    Ok(KeyValue { key, value: bytes(value, "value")?, revision, lease })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

impl Caller {
    /// All of `then` if all of `when` holds, else all of `otherwise`; nothing comes between.
    pub(crate) async fn txn(
        &mut self,
        when: &[Compare],
        then: &[Op],
        otherwise: &[Op],
    ) -> Result<Txn, StoreError> {
        let ops = |ops: &[Op]| ops.iter().map(Op::to_json).collect::<Vec<_>>();
        let compare: Vec<Value> = when.iter().map(Compare::to_json).collect();
        let body = json!({"compare": compare, "success": ops(then), "failure": ops(otherwise)});
        let answer = self.call("/v3/kv/txn", &body).await?;
        let mut read = Vec::new();
        for response in list(&answer["responses"]) {
            if let Some(range) = response.get("response_range") {
                read.push(list(&range["kvs"]).first().map(key_value).transpose()?);
            }
        }
        let succeeded = answer["succeeded"].as_bool().unwrap_or(false);
        Ok(Txn { succeeded, revision: number(&answer["header"]["revision"])?, read })
    }

    /// Keys from one up to another, at most so many; at the revision `at`, or now if that is 0.
    pub(crate) async fn page(
        &mut self,
        (from, end): (&[u8], &[u8]),
        most: u32,
        at: i64,
    ) -> Result<Page, StoreError> {
        let (from, end) = (STANDARD.encode(from), STANDARD.encode(end));
        let body =
            json!({"key": from, "range_end": end, "limit": most.to_string(), "revision": at.to_string()});
        let answer = self.call("/v3/kv/range", &body).await?;
        let all = list(&answer["kvs"]);
        let key = |kv: Option<&Value>| kv.map_or_else(|| Ok(Vec::new()), |kv| bytes(kv, "key"));
        let (first, last) = (key(all.first())?, key(all.last())?);
        let keys = all.iter().map(key_value).collect::<Result<_, _>>()?;
        let more = answer["more"].as_bool().unwrap_or(false);
        let count = usize::try_from(number(&answer["count"])?).unwrap_or(0);
        Ok(Page { keys, first, last, count, revision: number(&answer["header"]["revision"])?, more })
    }

    /// Forgets what keys were before `revision`; what they are stays.
    pub(crate) async fn compact(&mut self, revision: i64) -> Result<(), StoreError> {
        self.call("/v3/kv/compaction", &json!({"revision": revision.to_string()})).await.map(drop)
    }

    /// Whether a member has no room left, so that nothing can be written.
    pub(crate) async fn is_full(&mut self) -> Result<bool, StoreError> {
        let answer = self.call("/v3/maintenance/alarm", &json!({"action": "GET"})).await?;
        Ok(list(&answer["alarms"]).iter().any(|alarm| alarm["alarm"] == "NOSPACE"))
    }

    /// A lease for so many seconds: keys under it go when it is not renewed.
    pub(crate) async fn grant(&mut self, seconds: u64) -> Result<i64, StoreError> {
        let answer = self.call("/v3/lease/grant", &json!({"TTL": seconds.to_string()})).await?;
        number(&answer["ID"])
    }

    /// Renews a lease: the store's revision now, or `None` if the lease has run out.
    pub(crate) async fn renew(&mut self, lease: i64) -> Result<Option<i64>, StoreError> {
        let answer = self.call("/v3/lease/keepalive", &json!({"ID": lease.to_string()})).await?;
        let answer = &answer["result"];
        let revision = number(&answer["header"]["revision"])?;
        Ok((number(&answer["TTL"])? > 0).then_some(revision))
    }

    /// How long a lease lasts if nobody renews it, seconds.
    pub(crate) async fn remaining(&mut self, lease: i64) -> Result<i64, StoreError> {
        let answer = self.call("/v3/lease/timetolive", &json!({"ID": lease.to_string()})).await?;
        number(&answer["TTL"])
    }

    /// Ends a lease, and the keys under it.
    pub(crate) async fn end(&mut self, lease: i64) -> Result<(), StoreError> {
        self.call("/v3/lease/revoke", &json!({"ID": lease.to_string()})).await.map(drop)
    }
}

impl Etcd {
    /// A line to it.
    pub(crate) fn caller(&self) -> Caller {
        Caller::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_as_texts_or_not_at_all() {
        assert_eq!(number(&json!("7587848390295789316")).unwrap(), 7_587_848_390_295_789_316);
        assert_eq!(number(&Value::Null).unwrap(), 0);
        assert!(number(&json!("x")).is_err() && number(&json!([])).is_err());
    }

    #[test]
    fn an_answer_says_which_cluster_it_is_from() {
        let header = json!({"cluster_id": "14841639068965178418", "revision": "3"});
        let id = Some(14_841_639_068_965_178_418);
        assert_eq!(cluster(&json!({"header": header})), id);
        assert_eq!(cluster(&json!({"result": {"header": header, "TTL": "5"}})), id, "of a lease");
        assert_eq!((cluster(&json!({})), cluster(&json!({"header": {}}))), (None, None));
    }

    #[test]
    fn a_prefix_ends_before_its_next_letter() {
        assert_eq!(after_all(b"/ropewalk/").as_deref(), Some(b"/ropewalk0".as_slice()));
        assert_eq!(after_all(b"a\xff\xff").as_deref(), Some(b"b".as_slice()));
        assert_eq!(after_all(b"\xff"), None);
    }

    #[test]
    fn what_is_no_key_is_an_error() {
        for bad in [json!({"key": "!"}), json!({"key": 3})] {
            assert!(key_value(&bad).is_err(), "{bad}");
        }
        let good = json!({"key": "YQ==", "mod_revision": "5", "lease": "7"});
        let kv = KeyValue { key: "a".into(), value: Vec::new(), revision: 5, lease: 7 };
        assert_eq!(key_value(&good).unwrap(), kv);
        let odd = key_value(&json!({"key": "/w==", "mod_revision": "6"})).unwrap();
        assert_eq!((odd.key.as_str(), odd.revision), ("\u{fffd}", 6), "an odd key stops nothing");
    }
}
