//! How much memory this process has needed.

use serde::Serialize;

/// The most memory that was in use at once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Memory {
    /// Of the whole process: every simulated server, the network, checkers, the scene.
    pub peak_bytes: u64,
    /// The same for each body of the end; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_bytes_per_body: Option<f64>,
}

impl Memory {
    /// So far, with so many bodies; `None` where the system does not tell (it has no `/proc`).
    pub fn so_far(bodies: u64) -> Option<Self> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let peak_bytes = peak_of(&status)?;
        Some(Self {
            peak_bytes,
            peak_bytes_per_body: (bodies > 0).then(|| peak_bytes as f64 / bodies as f64),
        })
    }
}

/// The peak of the resident memory ("high water mark") in Linux's description of a process.
fn peak_of(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_found_among_other_lines() {
        let status = "Name:\tauramesh\nVmPeak:\t  999 kB\nVmHWM:\t   20484 kB\nVmRSS:\t  100 kB\n";
        assert_eq!(peak_of(status), Some(20_484 * 1024));
        assert_eq!(peak_of("VmRSS:\t  100 kB\n"), None);
        assert_eq!(peak_of("VmHWM:\t many kB\n"), None);
    }

    #[test]
    fn nobody_has_no_share() {
        if let Some(memory) = Memory::so_far(0) {
            assert_eq!(memory.peak_bytes_per_body, None);
            assert!(memory.peak_bytes > 100_000, "a process needs some");
        }
    }
}
