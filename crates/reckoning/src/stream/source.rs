//! Where the streams to clients take their curves from, wherever the region server runs.
//!
//! ```text
//!   one process      Exporter ─────────────────────────────────────────► StreamEncoder ═► client
//!   two processes    Exporter ─► StreamEncoder ═► Feed (in the gateway) ─► StreamEncoder ═► client
//! ```
//!
//! A [`Feed`] is the far end of the very same stream: a region tells its gateways what it tells any client, and a gateway passes on
//! the curves of all its regions to each of its clients, in each client's own scope.

use super::curves::{Flight, Turn};
use super::decoder::{News, StreamDecoder};
use super::exporter::Exporter;
use super::packets::{ACK_BYTES, StreamError};
use super::settings::StreamSettings;
use domain::BodyId;

/// The exported paths of one region server.
pub trait Source {
    /// The curves that clients are meant to follow now; `None` if the body is not here.
    fn curves(&self, id: BodyId) -> Option<(&Flight, &Turn)>;

    /// The bodies whose curves are news at this update.
    fn changed(&self) -> &[BodyId];

    /// The bodies that came since the update before.
    fn arrived(&self) -> &[BodyId];

    /// The bodies that went since the update before.
    fn gone(&self) -> &[BodyId];
}

impl Source for Exporter {
    fn curves(&self, id: BodyId) -> Option<(&Flight, &Turn)> {
        self.body(id)?.curves()
    }

    fn changed(&self) -> &[BodyId] {
        self.changed()
    }

    fn arrived(&self) -> &[BodyId] {
        self.arrived()
    }

    fn gone(&self) -> &[BodyId] {
        self.gone()
    }
}

/// A region's exported paths as another process has them.
#[derive(Clone, Debug)]
pub struct Feed {
    decoder: StreamDecoder,
    changed: Vec<BodyId>,
    arrived: Vec<BodyId>,
    gone: Vec<BodyId>,
}

impl Feed {
    /// With the region's settings, before its first packet.
    pub fn new(settings: StreamSettings) -> Self {
        Self {
            decoder: StreamDecoder::new(settings),
            changed: Vec::new(),
            arrived: Vec::new(),
            gone: Vec::new(),
        }
    }

    /// Takes a packet of the region. On an error nothing has changed.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        let (changed, arrived, gone) = (&mut self.changed, &mut self.arrived, &mut self.gone);
        self.decoder
            .receive_and_tell(bytes, &mut |news| match news {
                News::Changed(id) => changed.push(id),
                News::Arrived(id) => arrived.push(id),
                News::Gone(id) => gone.push(id),
            })
    }

    /// An acknowledgement for the region, as a client would send it.
    pub fn acknowledge(&mut self) -> [u8; ACK_BYTES] {
        self.decoder.acknowledge()
    }

    /// The tick of the region's newest update that has arrived.
    pub fn tick(&self) -> u64 {
        self.decoder.tick()
    }

    /// Every client's stream was updated: what was news no longer is.
    pub fn passed_on(&mut self) {
        self.changed.clear();
        self.arrived.clear();
        self.gone.clear();
    }
}

impl Source for Feed {
    fn curves(&self, id: BodyId) -> Option<(&Flight, &Turn)> {
        self.decoder.curves(id)
    }

    fn changed(&self) -> &[BodyId] {
        &self.changed
    }

    fn arrived(&self) -> &[BodyId] {
        &self.arrived
    }

    fn gone(&self) -> &[BodyId] {
        &self.gone
    }
}
