//! The thesis's cost model (3.11): is another server worth it?

/// Bodies of one server: those that project and those that do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLoad {
    /// Bodies that project an aura.
    pub boundary: u64,
    /// All others.
    pub interior: u64,
}

/// Equation 3.5: a boundary body costs `boundary_ratio` (B:N, above 1) times an interior one.
pub fn cost(load: ServerLoad, boundary_ratio: f64) -> f64 {
    load.boundary as f64 * boundary_ratio + load.interior as f64
}

/// Equation 3.6: the slowest server decides.
pub fn highest_cost(loads: &[ServerLoad], boundary_ratio: f64) -> f64 {
    loads
        .iter()
        .map(|load| cost(*load, boundary_ratio))
        .fold(0.0, f64::max)
}

/// Equation 3.7: is the new configuration better than the old one?
pub fn is_better(new: &[ServerLoad], old: &[ServerLoad], boundary_ratio: f64) -> bool {
    highest_cost(new, boundary_ratio) < highest_cost(old, boundary_ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(boundary: u64, interior: u64) -> ServerLoad {
        ServerLoad { boundary, interior }
    }

    /// AP-36, example 1 (B:N = 2): one server with 1000 bodies, or two with 500.
    #[test]
    fn two_servers_with_half_the_bodies_are_better() {
        let two = [load(0, 500), load(0, 500)];
        assert_eq!(highest_cost(&two, 2.0), 500.0);
        assert!(is_better(&two, &[load(0, 1000)], 2.0));
    }

    /// AP-36, example 2: a third server whose worst has 250 interior and 400 boundary bodies is no gain.
    #[test]
    fn too_many_boundary_bodies_end_the_gain() {
        let two = [load(0, 1000), load(0, 1000)];
        let three = [load(0, 675), load(400, 250), load(0, 675)];
        assert_eq!(highest_cost(&three, 2.0), 1050.0);
        assert!(!is_better(&three, &two, 2.0));
    }
}
