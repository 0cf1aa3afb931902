//! Motion-lock's rounds of one against seven, partly in real time over sockets: a program of its own, so that nothing runs beside it.

mod claims_common;

use claims_common::{assert_holds, quick};

/// ML-51 to ML-53, and ML-42, ML-43 over real sockets.
#[test]
fn ml_51_53_rounds_of_one_against_seven() {
    let result = quick("ml-online", 1, 7);
    assert_holds(&result, "ML-52", &["same hits"]);
    assert_holds(&result, "ML-53", &["Ours (+ gate)"]);
    assert_holds(&result, "ML-42", &["counters are equal"]);
    assert_holds(&result, "ML-43", &["clocks"]);
    let table = result
        .tables
        .iter()
        .find(|one| one.caption.contains("Table 5.4"));
    let table = table.expect("as in the thesis").markdown();
    assert!(
        table.contains("[16148]") && table.contains("[30740]"),
        "{table}"
    );
}
