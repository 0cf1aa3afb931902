//! The embedded store's state, without I/O.

use super::{Change, Entry, LeaseId, Listing, Revision, StoreError, Transaction, Write};
use domain::SimTime;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The longest key.
pub const MAX_KEY_BYTES: usize = 512;
/// The longest value (that of etcd).
pub const MAX_VALUE_BYTES: usize = 1 << 20;
const MAX_KEYS: usize = 10_000;
const MAX_LEASES: usize = 10_000;
/// Changes that are remembered for those who watch from an earlier revision.
const REMEMBERED: usize = 1000;
/// Leases are neither shorter nor longer.
const TTL: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(3600);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Value {
    bytes: Vec<u8>,
    revision: Revision,
    lease: Option<LeaseId>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Lease {
    ttl: Duration,
    /// Not kept: after a restart every lease begins anew, for nobody could keep it alive meanwhile.
    #[serde(skip)]
    ends: SimTime,
}

/// Keys, leases and the latest changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StoreCore {
    revision: Revision,
    last_lease: u64,
    keys: BTreeMap<String, Value>,
    leases: BTreeMap<LeaseId, Lease>,
    #[serde(skip)]
    changes: Vec<Change>,
}

impl StoreCore {
    /// From what [`Self::to_bytes`] gave, some time later.
    pub fn from_bytes(now: SimTime, bytes: &[u8]) -> Result<Self, String> {
        let mut core: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        for lease in core.leases.values_mut() {
            lease.ends = now + duration(lease.ttl);
        }
        Ok(core)
    }

    /// Everything that must outlive the process.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("maps with strings and numbers as keys")
    }

    /// The latest change.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Grants a lease.
    pub fn grant(&mut self, now: SimTime, ttl: Duration) -> Result<LeaseId, StoreError> {
        self.expire(now);
        if !TTL.contains(&ttl) {
            return Err(StoreError::Bad(format!("a lease of {ttl:?}")));
        }
        if self.leases.len() >= MAX_LEASES {
            return Err(StoreError::Bad("too many leases".to_owned()));
        }
        self.last_lease += 1;
        let ends = now + duration(ttl);
        let lease = LeaseId(self.last_lease);
        self.leases.insert(lease, Lease { ttl, ends });
        Ok(lease)
    }

    /// Starts the lease's time anew.
    pub fn keep_alive(&mut self, now: SimTime, lease: LeaseId) -> Result<(), StoreError> {
        self.expire(now);
        let lease = self.leases.get_mut(&lease).ok_or(StoreError::NoLease)?;
        lease.ends = now + duration(lease.ttl);
        Ok(())
    }

    /// Ends a lease.
    pub fn revoke(&mut self, lease: LeaseId) {
        if self.leases.remove(&lease).is_some() {
            self.drop_keys_of(lease);
        }
    }

    /// Ends the leases whose time is over.
    pub fn expire(&mut self, now: SimTime) {
        let over: Vec<LeaseId> = self
            .leases
            .iter()
            .filter(|(_, lease)| lease.ends <= now)
            .map(|(id, _)| *id)
            .collect();
        for lease in over {
            self.revoke(lease);
        }
    }

    /// When the next lease ends.
    pub fn next_expiry(&self) -> Option<SimTime> {
        self.leases.values().map(|lease| lease.ends).min()
    }

    fn drop_keys_of(&mut self, lease: LeaseId) {
        let bound: Vec<String> = self
            .keys
            .iter()
            .filter(|(_, value)| value.lease == Some(lease))
            .map(|(key, _)| key.clone())
            .collect();
        if bound.is_empty() {
            return;
        }
        self.revision.0 += 1;
        for key in bound {
            self.delete(key);
        }
    }

    fn delete(&mut self, key: String) {
        if self.keys.remove(&key).is_some() {
            self.remember(key, None);
        }
    }

    fn remember(&mut self, key: String, value: Option<Vec<u8>>) {
        let revision = self.revision;
        self.changes.push(Change {
            revision,
            key,
            value,
        });
        if self.changes.len() > 2 * REMEMBERED {
            self.changes.drain(..REMEMBERED);
        }
    }

    /// All keys that begin with the prefix.
    pub fn list(&self, prefix: &str) -> Listing {
        let under = self
            .keys
            .range(prefix.to_owned()..)
            .take_while(|(key, _)| key.starts_with(prefix));
        let entries = under.map(|(key, value)| Entry {
            key: key.clone(),
            value: value.bytes.clone(),
            revision: value.revision,
        });
        Listing {
            revision: self.revision,
            entries: entries.collect(),
        }
    }

    /// Writes, if all conditions hold.
    pub fn commit(
        &mut self,
        now: SimTime,
        transaction: Transaction,
    ) -> Result<Revision, StoreError> {
        self.expire(now);
        self.check(&transaction)?;
        let holds = transaction.conditions.iter().all(|condition| {
            let revision = self.keys.get(&condition.key).map(|value| value.revision);
            revision.unwrap_or_default() == condition.since
        });
        if !holds {
            return Err(StoreError::Conflict);
        }
        self.revision.0 += 1;
        let revision = self.revision;
        for write in transaction.writes {
            match write {
                Write::Put { key, value, lease } => {
                    let bytes = value.clone();
                    let entry = Value {
                        bytes,
                        revision,
                        lease,
                    };
                    self.keys.insert(key.clone(), entry);
                    self.remember(key, Some(value));
                }
                Write::Delete { key } => self.delete(key),
            }
        }
        Ok(revision)
    }

    fn check(&self, transaction: &Transaction) -> Result<(), StoreError> {
        let mut new = 0;
        for write in &transaction.writes {
            let (Write::Put { key, .. } | Write::Delete { key }) = write;
            if key.is_empty() || key.len() > MAX_KEY_BYTES {
                return Err(StoreError::Bad(format!("a key of {} bytes", key.len())));
            }
            let Write::Put { value, lease, .. } = write else {
                continue;
            };
            if value.len() > MAX_VALUE_BYTES {
                return Err(StoreError::Bad(format!("a value of {} bytes", value.len())));
            }
            if lease.is_some_and(|lease| !self.leases.contains_key(&lease)) {
                return Err(StoreError::NoLease);
            }
            new += usize::from(!self.keys.contains_key(key));
        }
        if self.keys.len() + new > MAX_KEYS {
            return Err(StoreError::Bad("too many keys".to_owned()));
        }
        Ok(())
    }

    /// The changes under a prefix after a revision; `None` if they are no longer remembered.
    pub fn changes(&self, prefix: &str, after: Revision) -> Option<Vec<Change>> {
        let oldest = self
            .changes
            .first()
            .map_or(self.revision.0 + 1, |change| change.revision.0);
        if after.0 + 1 < oldest {
            return None;
        }
        let from = self
            .changes
            .partition_point(|change| change.revision <= after);
        let under = self.changes[from..]
            .iter()
            .filter(|change| change.key.starts_with(prefix));
        Some(under.cloned().collect())
    }
}

fn duration(duration: Duration) -> SimTime {
    SimTime(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &str, value: &str, lease: Option<LeaseId>) -> Transaction {
        Transaction {
            conditions: Vec::new(),
            writes: vec![Write::Put {
                key: key.to_owned(),
                value: value.into(),
                lease,
            }],
        }
    }

    #[test]
    fn a_restart_keeps_keys_and_gives_every_lease_its_whole_time_again() {
        let mut core = StoreCore::default();
        let at = SimTime::from_secs;
        let lease = core
            .grant(at(0.0), Duration::from_secs(2))
            .expect("granted");
        core.commit(at(0.0), put("a", "1", Some(lease)))
            .expect("committed");
        core.commit(at(0.0), put("b", "2", None))
            .expect("committed");
        let mut again = StoreCore::from_bytes(at(100.0), &core.to_bytes()).expect("ours");
        assert_eq!(again.list(""), core.list(""));
        again.expire(at(101.9));
        assert_eq!(again.list("").entries.len(), 2);
        again.expire(at(102.0));
        let left = again.list("");
        assert_eq!(left.entries.len(), 1);
        assert_eq!(left.revision, Revision(3), "revisions never start again");
        let fresh = again
            .grant(at(103.0), Duration::from_secs(1))
            .expect("granted");
        assert_ne!(fresh, lease, "nor do leases");
    }

    #[test]
    fn what_is_no_longer_remembered_cannot_be_watched_from() {
        let mut core = StoreCore::default();
        for n in 0..5000 {
            core.commit(SimTime::ZERO, put("k", &n.to_string(), None))
                .expect("committed");
        }
        assert_eq!(core.changes("", Revision(10)), None);
        let latest = core.changes("", Revision(4990)).expect("remembered");
        assert_eq!(latest.len(), 10);
        assert_eq!(core.changes("", core.revision()), Some(Vec::new()));
        assert_eq!(core.changes("other", Revision(4990)), Some(Vec::new()));
    }
}
