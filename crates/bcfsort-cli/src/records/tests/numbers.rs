//! Numbers in the cells of a table.

use super::*;
use RecordKind::Csv;

#[test]
fn decimal_numbers_are_compared_exactly() {
    sorts(
        Csv,
        "--by id:num",
        "id\n9007199254740993\n9007199254740992\n",
        "id\n9007199254740992\n9007199254740993\n",
    );
    sorts(
        Csv,
        "--by 1:num:desc",
        "n,\n1e400,\n+10,\n1e-400,\n-1e99999999999,\n0.1e2,\n1e401,\n",
        "n,\n1e401,\n1e400,\n+10,\n0.1e2,\n1e-400,\n-1e99999999999,\n",
    );
    // The exponent costs no memory, and one that 64 bits cannot count is an error.
    let told = "file: line 2, byte 2: '1e1000000000000000000' in column 'n' is no num";
    fails(Csv, "--by n:num", "n\n1e1000000000000000000\n", told);
}
