//! What clients may do to a demonstration besides what they may do to any world.

use client_protocol::EmulatedNetwork;

/// The hands of a demonstration: whoever started the servers can also kill them.
#[async_trait::async_trait]
pub trait DemoControls: Send + Sync {
    /// Kills a region server; another one is started after a while.
    async fn kill_server(&self, name: &str) -> Result<(), String>;

    /// Makes the network between the servers worse or better.
    async fn set_network(&self, network: EmulatedNetwork) -> Result<(), String>;

    /// The network that is emulated now.
    fn network(&self) -> EmulatedNetwork;
}

/// The longest delay, milliseconds, and the largest share of lost datagrams.
const MOST_LATENCY_MS: f32 = 1000.0;
const MOST_LOSS: f32 = 0.5;

/// Does this make sense?
pub fn check_network(network: &EmulatedNetwork) -> Result<(), String> {
    let EmulatedNetwork {
        latency_ms,
        jitter_ms,
        loss,
    } = *network;
    if !(0.0..=MOST_LATENCY_MS).contains(&latency_ms) {
        return Err(format!(
            "latency must be from 0 to {MOST_LATENCY_MS} ms, not {latency_ms}"
        ));
    }
    if !(0.0..=latency_ms).contains(&jitter_ms) {
        return Err(format!(
            "jitter must be from 0 to the latency, {latency_ms} ms, not {jitter_ms}"
        ));
    }
    if !(0.0..=MOST_LOSS).contains(&loss) {
        return Err(format!("loss must be from 0 to {MOST_LOSS}, not {loss}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_networks_that_make_sense_are_emulated() {
        let network = |latency_ms, jitter_ms, loss| EmulatedNetwork {
            latency_ms,
            jitter_ms,
            loss,
        };
        for good in [network(0.0, 0.0, 0.0), network(20.0, 20.0, 0.5)] {
            assert_eq!(check_network(&good), Ok(()));
        }
        for bad in [
            network(-1.0, 0.0, 0.0),
            network(1001.0, 0.0, 0.0),
            network(5.0, 6.0, 0.0),
            network(5.0, 1.0, 0.6),
            network(f32::NAN, 0.0, 0.0),
        ] {
            assert!(check_network(&bad).is_err(), "{bad:?}");
        }
    }
}
