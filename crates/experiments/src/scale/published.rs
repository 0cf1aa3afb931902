//! What the aura thesis says of scaling in its text (5.1.4). Its figures are lost to us; no number is read from one.

/// `(servers, performance factor)`.
pub(crate) const FACTORS: [(usize, f64); 3] = [(2, 1.74), (4, 3.40), (8, 4.22)];
/// Where the thesis's curve through its factors ends.
pub(crate) const ASYMPTOTE: f64 = 4.26;
/// Where the thesis finds the least cost per object: about so many on a server.
pub(crate) const CHEAPEST_OBJECTS: f64 = 4000.0;

/// The published factor, if there is one.
pub(crate) fn factor(servers: usize) -> Option<f64> {
    let found = FACTORS.iter().find(|(published, _)| *published == servers);
    found.map(|(_, factor)| *factor)
}
