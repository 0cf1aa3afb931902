//! The thesis's numbers: tables 5.1, 5.2, 5.4 and 5.7, milliseconds. (5.3, 5.5 and 5.6 follow from them.)

/// Table 5.1, from 500 objects in steps of 500: time, collisions. (Its column of objects is lost; table 5.2 repeats the times.)
pub(super) const ONE_NODE: [(f64, u32); 10] = [
    (180.0, 9),
    (360.0, 16),
    (447.0, 23),
    (604.0, 30),
    (659.0, 45),
    (825.0, 56),
    (984.0, 62),
    (1128.0, 72),
    (1187.0, 78),
    (1228.0, 86),
];

/// Table 5.2: mean over members; rows from 500 objects in steps of 500, columns 1 to 8 members.
pub(super) const MEAN: [[f64; 8]; 8] = [
    [180.0, 78.0, 50.0, 36.0, 37.0, 32.0, 26.0, 18.0],
    [360.0, 123.0, 98.0, 83.0, 71.0, 67.0, 50.0, 49.0],
    [447.0, 170.0, 124.0, 79.0, 67.0, 65.0, 60.0, 62.0],
    [604.0, 264.0, 152.0, 149.0, 133.0, 112.0, 81.0, 77.0],
    [659.0, 385.0, 189.0, 140.0, 132.0, 104.0, 83.0, 84.0],
    [825.0, 520.0, 230.0, 185.0, 155.0, 137.0, 104.0, 92.0],
    [984.0, 468.0, 238.0, 223.0, 197.0, 193.0, 175.0, 105.0],
    [1128.0, 582.0, 392.0, 335.0, 301.0, 264.0, 157.0, 135.0],
];

/// Table 5.4: the leader.
pub(super) const LEADER: [[f64; 8]; 8] = [
    [180.0, 82.0, 92.0, 91.0, 82.0, 83.0, 86.0, 53.0],
    [360.0, 169.0, 170.0, 98.0, 79.0, 82.0, 75.0, 61.0],
    [447.0, 208.0, 188.0, 87.0, 84.0, 97.0, 100.0, 68.0],
    [604.0, 313.0, 247.0, 164.0, 168.0, 165.0, 175.0, 81.0],
    [659.0, 410.0, 385.0, 187.0, 189.0, 168.0, 163.0, 87.0],
    [825.0, 539.0, 366.0, 202.0, 181.0, 155.0, 162.0, 101.0],
    [984.0, 471.0, 475.0, 257.0, 264.0, 258.0, 262.0, 143.0],
    [1128.0, 620.0, 627.0, 374.0, 372.0, 380.0, 364.0, 178.0],
];

/// Table 5.7: 1000, 2000, 3000 objects on 1, 2, 4, 8, 16, 32 members.
pub(super) const GROUP_SIZE: [[f64; 6]; 3] = [
    [360.0, 123.0, 83.0, 49.0, 21.0, 27.0],
    [604.0, 264.0, 149.0, 77.0, 38.0, 26.0],
    [825.0, 520.0, 185.0, 92.0, 65.0, 38.0],
];

/// The cell of a table whose rows begin at 500 objects.
pub(super) fn at(table: &[[f64; 8]; 8], objects: u64, members: u32) -> Option<f64> {
    let row = (objects / 500).checked_sub(1)? as usize;
    table.get(row)?.get(members as usize - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ST-58: the thesis's own averages of scale-up (table 5.3) follow from its table 5.2.
    #[test]
    fn st_58_the_published_scale_up_follows_from_the_times() {
        let average = |members: usize| {
            let ratios = MEAN.iter().map(|row| row[0] / row[members - 1]);
            ratios.sum::<f64>() / 8.0
        };
        assert!((average(2) - 2.18634).abs() < 1e-4);
        assert!((average(8) - 8.36755).abs() < 1e-4);
        assert_eq!(at(&LEADER, 4000, 8), Some(178.0));
        let by_leader: f64 = (0..8).map(|row| MEAN[row][0] / LEADER[row][7]).sum::<f64>() / 8.0;
        assert!((by_leader - 6.54).abs() < 0.01);
    }
}
