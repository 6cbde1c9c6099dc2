//! Workgroup memory as a matrix, with the cells that the lanes access in one step.

use crate::experiment::plot::card;
use std::fmt::Write;

/// Number of banks and of lanes, a quarter of the real one.
const BANKS: usize = 8;
/// The step shown.
const STEP: usize = 2;
/// The edge length of a cell.
const CELL: usize = 27;
/// The distance between the upper left corners of neighboring matrices.
const PITCH: [usize; 2] = [286, 324];
/// The upper left corner of the first matrix.
const FIRST: [usize; 2] = [98, 72];
const SIZE: [u32; 2] = [900, 654];

/// The lanes' colours, which people with any colour vision can distinguish, each with the colour of
/// the digit on it.
const LANES: [(&str, &str); BANKS] = [
    ("#0072B2", "#FFFFFF"),
    ("#E69F00", "#000000"),
    ("#009E73", "#000000"),
    ("#CC79A7", "#000000"),
    ("#56B4E9", "#000000"),
    ("#D55E00", "#000000"),
    ("#F0E442", "#000000"),
    ("#4D4D4D", "#FFFFFF"),
];

/// Maps lane t to a row and a column.
type Cell = fn(usize) -> (usize, usize);

/// An order of access: its name, the cell that lane t accesses, and the cell that it exchanges with
/// that one.
struct Order {
    name: &'static str,
    cells: &'static str,
    at: Cell,
    exchanged: Option<Cell>,
}

const ORDERS: [Order; 5] = [
    Order {
        name: "Obvious",
        cells: "(j, t)",
        at: |t| (STEP, t),
        exchanged: None,
    },
    Order {
        name: "Row pass",
        cells: "(t, j)",
        at: |t| (t, STEP),
        exchanged: None,
    },
    Order {
        name: "Transposition",
        cells: "(t, t+j) ↔ (t+j, t)",
        at: |t| (t, (t + STEP) % BANKS),
        exchanged: Some(|t| ((t + STEP) % BANKS, t)),
    },
    Order {
        name: "Diagonal",
        cells: "(t+j, j)",
        at: |t| ((t + STEP) % BANKS, STEP),
        exchanged: None,
    },
    Order {
        name: "Column",
        cells: "(t+j, t)",
        at: |t| ((t + STEP) % BANKS, t),
        exchanged: None,
    },
];

/// The conflict degree: the most lanes in one bank, which is the number of cycles of an access.
fn cycles(at: Cell) -> usize {
    let lanes = |bank| (0..BANKS).filter(|&t| at(t).0 == bank).count();
    (0..BANKS).map(lanes).max().unwrap_or(0)
}

pub(super) fn svg() -> String {
    let mut body =
        String::from("<g font-family=\"sans-serif\" font-size=\"20\" fill=\"#000000\">\n");
    let corner_of = |i: usize| [FIRST[0] + i % 3 * PITCH[0], FIRST[1] + i / 3 * PITCH[1]];
    let words = [
        "Words of the banks",
        "bank = word mod 8",
        "lane t, step j = 2",
    ];
    matrix(&mut body, corner_of(0), words, None);
    for row in 0..BANKS {
        for first in [corner_of(0), corner_of(3)] {
            let [x, y] = middle(first, (row, 0));
            let _ = writeln!(
                body,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">bank {row}</text>",
                x - CELL / 2 - 8,
                y + 7
            );
        }
        for column in 0..BANKS {
            let word = (row + BANKS * column).to_string();
            label(
                &mut body,
                middle(corner_of(0), (row, column)),
                &word,
                17,
                "#000000",
            );
        }
    }
    for (i, order) in ORDERS.iter().enumerate() {
        let (corner, cycles) = (corner_of(i + 1), cycles(order.at));
        let result = match (cycles, order.exchanged) {
            (1, None) => "no conflict: 1 cycle".to_owned(),
            (1, Some(_)) => "no conflict: 1 cycle each".to_owned(),
            _ => format!("conflict: {cycles} cycles"),
        };
        let meets = (cycles > 1).then(|| (order.at)(0).0);
        matrix(&mut body, corner, [order.name, order.cells, &result], meets);
        for t in 0..BANKS {
            lane(&mut body, middle(corner, (order.at)(t)), t, true);
            if let Some(exchanged) = order.exchanged {
                lane(&mut body, middle(corner, exchanged(t)), t, false);
            }
        }
    }
    body.push_str("</g>\n");
    let title = "Workgroup memory as a matrix of 8 banks, and the cells (row, column) that the \
                 lanes t = 0 to 7 touch in step j = 2, modulo 8. In the obvious order all lanes \
                 meet in bank 2, and wait for one another. In the others each bank serves one lane";
    card(SIZE, title, &body)
}

/// The center of a cell.
fn middle([x, y]: [usize; 2], (row, column): (usize, usize)) -> [usize; 2] {
    [x + column * CELL + CELL / 2, y + row * CELL + CELL / 2]
}

/// Draws an empty matrix, with its name and cells above and the result below. A bank with conflicts
/// is framed.
fn matrix(body: &mut String, [x, y]: [usize; 2], texts: [&str; 3], meets: Option<usize>) {
    let [name, cells, result] = texts;
    let edge = BANKS * CELL;
    let mut put = |text: std::fmt::Arguments<'_>| {
        // Writes to a string cannot fail.
        let _ = body.write_fmt(text);
        body.push('\n');
    };
    put(format_args!(
        "<text x=\"{x}\" y=\"{}\" font-weight=\"bold\">{name}</text>",
        y - 34
    ));
    put(format_args!(
        "<text x=\"{x}\" y=\"{}\">{cells}</text>",
        y - 10
    ));
    put(format_args!(
        "<text x=\"{x}\" y=\"{}\">{result}</text>",
        y + edge + 26
    ));
    for i in 0..=BANKS {
        let (row, column) = (y + i * CELL, x + i * CELL);
        put(format_args!(
            "<path d=\"M{x} {row}h{edge}M{column} {y}v{edge}\" stroke=\"#AEB6BF\"/>"
        ));
    }
    if let Some(bank) = meets {
        put(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" \
             stroke=\"#B00020\" stroke-width=\"4\"/>",
            x - 4,
            y + bank * CELL - 4,
            edge + 8,
            CELL + 8
        ));
    }
}

/// Draws a lane in a cell: filled, or a ring in the cell that it exchanges.
fn lane(body: &mut String, [x, y]: [usize; 2], lane: usize, filled: bool) {
    let (colour, digit) = LANES[lane];
    let (edge, start) = (CELL - 3, [x - CELL / 2 + 2, y - CELL / 2 + 2]);
    let (fill, inset, digit) = if filled {
        (colour, 0, digit)
    } else {
        ("#FFFFFF", 2, "#000000")
    };
    let _ = writeln!(
        body,
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"{fill}\" \
         stroke=\"{colour}\" stroke-width=\"{}\"/>",
        start[0] + inset,
        start[1] + inset,
        edge - 2 * inset,
        edge - 2 * inset,
        2 * inset
    );
    label(body, [x, y], &lane.to_string(), 20, digit);
}

/// Draws text centered at a point.
fn label(body: &mut String, [x, y]: [usize; 2], text: &str, size: usize, colour: &str) {
    let _ = writeln!(
        body,
        "<text x=\"{x}\" y=\"{}\" font-size=\"{size}\" text-anchor=\"middle\" \
         fill=\"{colour}\">{text}</text>",
        y + size * 9 / 25
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_obvious_order_has_conflicts() {
        for order in &ORDERS {
            let expected = if order.name == "Obvious" { BANKS } else { 1 };
            assert_eq!(cycles(order.at), expected, "{}", order.name);
            let Some(exchanged) = order.exchanged else {
                continue;
            };
            assert_eq!(cycles(exchanged), 1);
            // The exchanged cell is the transposed cell.
            for t in 0..BANKS {
                let (row, column) = (order.at)(t);
                assert_eq!(exchanged(t), (column, row));
            }
        }
    }
}
