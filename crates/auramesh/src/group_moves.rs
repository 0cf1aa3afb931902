//! `--group-move`: a machine of a demonstration goes to another place.

use std::str::FromStr;

/// A machine goes to another place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupMove {
    /// When, seconds after the start.
    pub secs: f64,
    /// Which machine.
    pub machine: usize,
    /// Where to.
    pub place: usize,
}

impl FromStr for GroupMove {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "SECONDS:MACHINE:PLACE is expected, for example 10:2:1".to_owned();
        let parts: Vec<&str> = text.split(':').collect();
        let [secs, machine, place] = parts[..] else {
            return Err(expected());
        };
        let secs: f64 = secs.parse().map_err(|_| expected())?;
        if !(0.0..=1.0e6).contains(&secs) {
            return Err("the seconds must be 0 to 1000000".to_owned());
        }
        Ok(Self {
            secs,
            machine: machine.parse().map_err(|_| expected())?,
            place: place.parse().map_err(|_| expected())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_is_three_numbers() {
        let moved = GroupMove {
            secs: 7.5,
            machine: 2,
            place: 1,
        };
        assert_eq!("7.5:2:1".parse(), Ok(moved));
        for wrong in [
            "", "7:2", "7:2:1:0", "x:2:1", "-1:2:1", "nan:2:1", "7:-2:1", "7:2:b",
        ] {
            assert!(wrong.parse::<GroupMove>().is_err(), "{wrong}");
        }
    }
}
