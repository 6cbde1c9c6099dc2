//! A picture of the degree of each access in each bank.

use super::outcome::Audit;
use super::subject::Subject;
use crate::report::{Site, Space};
use svg::Document;
use svg::node::element::{Group, Rectangle, Text, Title};

/// Sizes in pixels.
const CELL: usize = 16;
const LABEL: usize = 330;
const MARGIN: usize = 16;
/// Height above the cells of a panel, for its title and the banks' numbers.
const HEAD: usize = 48;
const LEGEND: usize = 76;

/// Colours by the logarithm of the degree: unused, 1, 2, 3 to 4, 5 to 8, and so on.
const COLOURS: [&str; 8] = [
    "#e4e4e4", "#9bd3ae", "#f7e28b", "#f9bd59", "#f3923c", "#e0602c", "#bd2c26", "#7a0f1d",
];

const NAMES: [&str; 8] = [
    "untouched",
    "1: no conflict",
    "2",
    "3 - 4",
    "5 - 8",
    "9 - 16",
    "17 - 32",
    "33 - 64",
];

fn class(degree: u32) -> usize {
    match degree {
        0 => 0,
        degree => (degree.next_power_of_two().ilog2() as usize + 1).min(COLOURS.len() - 1),
    }
}

impl Audit {
    /// Draws the degree of each access in each bank as SVG, with a panel for each kernel.
    #[must_use]
    pub fn heatmap(&self) -> String {
        draw(&self.subjects, self.config.banks as usize)
    }
}

fn draw(subjects: &[Subject], banks: usize) -> String {
    let panels: Vec<(&Subject, Vec<&Site>)> = subjects
        .iter()
        .map(|subject| (subject, subject.report.in_space(Space::Workgroup).collect()))
        .filter(|(_, sites): &(_, Vec<_>)| !sites.is_empty())
        .collect();
    let width = (2 * MARGIN + LABEL + banks * CELL).max(2 * MARGIN + COLOURS.len() * 104);
    let rows: usize = panels.iter().map(|(_, sites)| sites.len()).sum();
    let height = MARGIN + LEGEND + panels.len().max(1) * (HEAD + MARGIN) + rows * CELL;
    let mut document = Document::new()
        .set("viewBox", (0, 0, width, height))
        .set("width", width)
        .set("height", height)
        .set("font-family", "sans-serif")
        .set("font-size", 11)
        .add(Title::new("Bank conflicts"))
        .add(
            Rectangle::new()
                .set("width", width)
                .set("height", height)
                .set("fill", "#ffffff"),
        )
        .add(legend());
    let mut top = MARGIN + LEGEND;
    if panels.is_empty() {
        document = document.add(label(
            "nothing accesses workgroup memory",
            MARGIN,
            top + HEAD / 2,
        ));
    }
    for (subject, sites) in panels {
        document = document.add(panel(subject, &sites, banks, top));
        top += HEAD + sites.len() * CELL + MARGIN;
    }
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{document}\n")
}

fn label(text: &str, x: usize, y: usize) -> Text {
    // XML cannot represent control characters.
    let text = text.replace(char::is_control, "\u{fffd}");
    Text::new(text).set("x", x).set("y", y)
}

fn legend() -> Group {
    let mut group = Group::new()
        .add(
            label("Bank conflicts", MARGIN, MARGIN + 14)
                .set("font-size", 16)
                .set("font-weight", "bold"),
        )
        .add(label(
            "the most words of a bank that a warp's lanes touch in one 4-byte access (the degree):",
            MARGIN,
            MARGIN + 34,
        ));
    for (i, (colour, name)) in COLOURS.iter().zip(NAMES).enumerate() {
        let x = MARGIN + i * 104;
        group = group
            .add(
                Rectangle::new()
                    .set("x", x)
                    .set("y", MARGIN + 44)
                    .set("width", CELL)
                    .set("height", CELL)
                    .set("fill", *colour),
            )
            .add(label(name, x + CELL + 5, MARGIN + 56));
    }
    group
}

fn panel(subject: &Subject, sites: &[&Site], banks: usize, top: usize) -> Group {
    let left = MARGIN + LABEL;
    let phase = subject.phase.as_ref().map(|phase| format!("{phase}: "));
    let title = format!("{}{}", phase.unwrap_or_default(), subject.file);
    let mut group = Group::new()
        .add(
            label(&title, MARGIN, top + 14)
                .set("font-size", 13)
                .set("font-weight", "bold"),
        )
        .add(
            label("line:column, variable, kind", left - 8, top + HEAD - 6)
                .set("fill", "#555555")
                .set("text-anchor", "end"),
        )
        .add(label("bank", left, top + HEAD - 20).set("fill", "#555555"));
    for bank in (0..banks).step_by(4) {
        group = group.add(
            label(
                &bank.to_string(),
                left + bank * CELL + CELL / 2,
                top + HEAD - 6,
            )
            .set("fill", "#555555")
            .set("text-anchor", "middle"),
        );
    }
    for (row, site) in sites.iter().enumerate() {
        let y = top + HEAD + row * CELL;
        let name = format!(
            "{}:{} {} {}",
            site.location.line, site.location.column, site.variable, site.kind
        );
        group = group.add(
            label(&name, left - 8, y + CELL - 4)
                .set("text-anchor", "end")
                .set("font-family", "monospace"),
        );
        // Equal neighbors are one rectangle: the picture of many kernels would be huge otherwise.
        let mut bank = 0;
        for run in site.bank_degrees.chunk_by(|a, b| a == b) {
            let x = left + bank * CELL;
            let degree = run[0];
            group = group.add(
                Rectangle::new()
                    .set("x", x)
                    .set("y", y)
                    .set("width", run.len() * CELL - 1)
                    .set("height", CELL - 1)
                    .set("fill", COLOURS[class(degree)])
                    .add(Title::new(format!("{name}: degree {degree}"))),
            );
            if degree > 1 {
                let dark = class(degree) >= 5;
                group = group.add(
                    label(&degree.to_string(), x + run.len() * CELL / 2, y + CELL - 5)
                        .set("font-size", 9)
                        .set("fill", if dark { "#ffffff" } else { "#333333" })
                        .set("text-anchor", "middle"),
                );
            }
            bank += run.len();
        }
    }
    group
}

#[cfg(test)]
mod tests {
    use super::class;

    #[test]
    fn colours_are_by_powers_of_two() {
        let degrees = [0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64];
        let classes = [0, 1, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7];
        assert_eq!(degrees.map(class), classes);
    }
}
