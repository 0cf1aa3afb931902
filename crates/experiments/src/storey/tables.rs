//! Tables in the thesis's form: a row per number of objects, a column per number of members, ours with the thesis's in brackets.

use super::measure::Loop;
use crate::table::Table;

/// Three digits that matter.
pub(super) fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// One cell per loop; `ours` and `theirs` give the two numbers.
pub(super) fn grid(
    caption: impl Into<String>,
    loops: &[Loop],
    ours: impl Fn(&Loop) -> f64,
    theirs: impl Fn(&Loop) -> Option<f64>,
) -> Table {
    let mut members: Vec<u32> = loops.iter().map(|cell| cell.members).collect();
    members.sort_unstable();
    members.dedup();
    let mut objects: Vec<u64> = loops.iter().map(|cell| cell.objects).collect();
    objects.sort_unstable();
    objects.dedup();
    let names: Vec<String> = members.iter().map(u32::to_string).collect();
    let mut header = vec!["Objects"];
    header.extend(names.iter().map(String::as_str));
    let mut table = Table::new(caption, &header);
    for count in objects {
        let mut row = vec![count.to_string()];
        for member in &members {
            let found = loops
                .iter()
                .find(|cell| cell.objects == count && cell.members == *member);
            row.push(found.map_or("-".into(), |cell| match theirs(cell) {
                Some(published) => format!("{} ({})", short(ours(cell)), short(published)),
                None => short(ours(cell)),
            }));
        }
        table.push(row);
    }
    table
}

/// The loop of this size.
pub(super) fn find(loops: &[Loop], objects: u64, members: u32) -> Option<&Loop> {
    loops
        .iter()
        .find(|cell| cell.objects == objects && cell.members == members)
}

/// All loops as CSV.
pub(super) fn csv(parts: &[(&str, &[Loop])]) -> String {
    let mut text = String::from(
        "variant,objects,members,mean_ms,leader_ms,slowest_ms,slowest_of_tick_ms,p99_ms,collisions,pairs,copies_per_body,bytes_per_tick\n",
    );
    for (variant, loops) in parts {
        for cell in *loops {
            text += &format!(
                "{variant},{},{},{:.6},{:.6},{:.6},{:.6},{:.6},{:.3},{:.3},{:.4},{:.1}\n",
                cell.objects,
                cell.members,
                cell.mean_ms,
                cell.leader_ms,
                cell.slowest_ms,
                cell.slowest_of_tick_ms,
                cell.p99_ms,
                cell.collisions,
                cell.pairs,
                cell.copies,
                cell.bytes
            );
        }
    }
    text
}
