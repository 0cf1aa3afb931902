//! The server's bytes, divided among its clients.

/// How often what capped clients leave over is offered to the others. A few rounds give nearly all of it away; more would make the cost
/// grow with the square of the clients in bad cases.
const ROUNDS: usize = 6;

/// What one client asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Demand {
    /// Its part of the total is in proportion to this.
    pub(super) weight: f64,
    /// More than this it cannot take.
    pub(super) cap: f64,
}

/// Divides `total` in proportion to the weights, nobody getting more than its cap. O(clients).
pub(super) fn shares(total: f64, demands: &[Demand]) -> Vec<f64> {
    let mut shares = vec![0.0; demands.len()];
    let mut left = total;
    for _ in 0..ROUNDS {
        let open = |index: usize, shares: &[f64]| demands[index].cap > shares[index];
        let weight: f64 = (0..demands.len())
            .filter(|&index| open(index, &shares))
            .map(|index| demands[index].weight)
            .sum();
        if weight <= 0.0 || left <= total * 1e-9 {
            break;
        }
        let per_weight = left / weight;
        for index in 0..demands.len() {
            if open(index, &shares) {
                let demand = demands[index];
                let more = (demand.weight * per_weight).min(demand.cap - shares[index]);
                shares[index] += more;
                left -= more;
            }
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divide(total: f64, demands: &[(f64, f64)]) -> Vec<f64> {
        let demands: Vec<_> = demands
            .iter()
            .map(|&(weight, cap)| Demand { weight, cap })
            .collect();
        shares(total, &demands)
    }

    #[test]
    fn in_proportion_up_to_the_cap_and_the_rest_to_the_others() {
        assert_eq!(divide(100.0, &[(3.0, 1e9), (1.0, 1e9)]), [75.0, 25.0]);
        assert_eq!(divide(100.0, &[(3.0, 40.0), (1.0, 1e9)]), [40.0, 60.0]);
        assert_eq!(divide(100.0, &[(3.0, 40.0), (1.0, 20.0)]), [40.0, 20.0]);
        assert_eq!(divide(100.0, &[(0.0, 40.0), (0.0, 20.0)]), [0.0, 0.0]);
        assert!(divide(100.0, &[]).is_empty());
    }
}
