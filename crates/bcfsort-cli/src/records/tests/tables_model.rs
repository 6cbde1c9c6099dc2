//! Random tables, against a model that knows their cells because it wrote them.

use super::*;
use std::cmp::Ordering;

/// A row as it is written, and the contents of its cells.
#[derive(Clone)]
struct Row {
    text: String,
    cells: Vec<String>,
}

/// How a table is written.
struct Style {
    separator: char,
    quote: Option<char>,
    line_ends: &'static [&'static str],
}

impl Style {
    fn random(random: &mut Random) -> Self {
        const LINE_ENDS: [&[&str]; 4] = [&["\n"], &["\r\n"], &["\n", "\r\n"], &["\r"]];
        Self {
            separator: [',', '\t', ';'][random.below(3) as usize],
            quote: [Some('"'), Some('"'), Some('\''), None][random.below(4) as usize],
            line_ends: LINE_ENDS[random.below(4) as usize],
        }
    }

    /// A cell of text, as it is written, and its content.
    fn text(&self, random: &mut Random) -> (String, String) {
        let pieces = ["a", "b", "\"", "'", "é", " ", "0", "\u{0}"];
        let special = [",", ";", "\t", "\n", "\r", "\r\n", "\"\"", "x"];
        let mut content = random.text(3, &pieces);
        match self.quote {
            Some(quote) if content.starts_with(quote) || random.below(3) == 0 => {
                content += &random.text(3, &special);
                let doubled = content.replace(quote, &format!("{quote}{quote}"));
                (format!("{quote}{doubled}{quote}"), content)
            }
            _ => (content.clone(), content),
        }
    }

    /// A cell of a number column.
    fn number(&self, random: &mut Random, numbers: &[&str]) -> (String, String) {
        let content = random.pick(numbers).to_owned();
        match self.quote {
            Some(quote) if random.below(4) == 0 => (format!("{quote}{content}{quote}"), content),
            _ => (content.clone(), content),
        }
    }

    /// Two cells of text, a decimal number and an integer, or fewer.
    fn row(&self, random: &mut Random, is_whole: bool) -> Row {
        let decimals = [
            "", "NA", " ", "5", "-3", "1.5", "10", "1e1", " 7 ", "+0.50e1", "-0", "0",
        ];
        let integers = [
            "",
            "null",
            "5",
            "-3",
            "10",
            "007",
            "9223372036854775807",
            "-10",
        ];
        let cells = [
            self.text(random),
            self.text(random),
            self.number(random, &decimals),
            self.number(random, &integers),
        ];
        let count = match random.below(6) {
            0 if !is_whole => random.below(4) as usize,
            _ => 4,
        };
        let (texts, mut cells): (Vec<String>, Vec<String>) = cells.into_iter().take(count).unzip();
        let text = texts.join(&self.separator.to_string());
        if text.is_empty() {
            cells.clear();
        }
        Row { text, cells }
    }
}

/// A column to sort by.
struct Key {
    column: usize,
    descending: bool,
    missing_first: bool,
}

impl Key {
    /// The value of a cell, as text or as a number.
    fn value<'a>(&self, row: &'a Row) -> Option<(&'a str, f64)> {
        let cell = row.cells.get(self.column)?;
        if self.column < 2 {
            return Some((cell, 0.0));
        }
        let number = cell.trim().parse::<f64>().ok()?;
        Some(("", number))
    }

    fn compare(&self, a: &Row, b: &Row) -> Ordering {
        let present = |is_present: bool| is_present == self.missing_first;
        match (self.value(a), self.value(b)) {
            (Some(a), Some(b)) => {
                let order = a.partial_cmp(&b).expect("numbers");
                if self.descending {
                    order.reverse()
                } else {
                    order
                }
            }
            (a, b) => present(a.is_some()).cmp(&present(b.is_some())),
        }
    }

    fn option(&self) -> String {
        let kind = ["", ":str", ":num", ":i64"][self.column];
        let desc = if self.descending { ":desc" } else { "" };
        let missing = if self.missing_first {
            ":missing=first"
        } else {
            ""
        };
        format!("{}{kind}{desc}{missing}", self.column + 1)
    }
}

#[test]
fn random_tables_are_sorted_as_the_model_says() {
    let mut random = Random(7);
    for case in 0..1500 {
        let style = Style::random(&mut random);
        let has_header = random.below(2) == 0;
        let count = random.below(12) as usize;
        let mut rows: Vec<Row> = (0..count)
            .map(|index| style.row(&mut random, index == 0))
            .collect();
        let ends_with_line =
            random.below(3) > 0 || rows.last().is_some_and(|row| row.text.is_empty());
        let mut front = String::new();
        if random.below(4) == 0 {
            front.push('\u{feff}');
        }
        let mut last_end = "\n";
        if has_header {
            let names = style.row(&mut random, true);
            front += &names.text;
            last_end = random.pick(style.line_ends);
            front += last_end;
        }
        let mut input = front.clone();
        for (index, row) in rows.iter_mut().enumerate() {
            input += &row.text;
            if index + 1 < count || ends_with_line {
                last_end = random.pick(style.line_ends);
                input += last_end;
            }
            row.text += last_end;
        }
        let keys: Vec<Key> = (0..=random.below(3))
            .map(|_| Key {
                column: random.below(4) as usize,
                descending: random.below(2) == 0,
                missing_first: random.below(3) == 0,
            })
            .collect();
        rows.sort_by(|a, b| {
            let mut orders = keys.iter().map(|key| key.compare(a, b));
            orders
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        });
        let texts: Vec<String> = rows.into_iter().map(|row| row.text).collect();
        let expected = front + &texts.concat();

        let by: Vec<String> = keys.iter().map(Key::option).collect();
        let header = if has_header { "" } else { "--no-header " };
        let quote = style.quote.map_or("none".to_owned(), String::from);
        let separator = style.separator.escape_default();
        let by = by.join(",");
        let line = format!("{header}--quote {quote} --by {by} -t{separator}");
        let result = sorted(RecordKind::Csv, &line, false, input.as_bytes());
        let result = result.map(|result| String::from_utf8_lossy(&result).into_owned());
        assert_eq!(result, Ok(expected), "case {case}: {line} of {input:?}");
    }
}

#[test]
fn garbage_is_an_error_or_keeps_its_bytes() {
    let mut random = Random(8);
    let pieces = [
        "\"",
        "\"\"",
        ",",
        "\n",
        "\r",
        "\r\n",
        "a",
        "1",
        "-",
        ".",
        "e9",
        "\u{feff}",
        "\t",
        "2024-02-29",
        "T12",
        ":30",
        "\0",
        "é",
    ];
    let bytes_of = |text: &[u8]| {
        let mut bytes = text.to_vec();
        bytes.sort_unstable();
        bytes
    };
    let mut sorted_inputs = 0;
    for case in 0..3000 {
        let input = random.text(30, &pieces);
        let kind = random.pick(&["str", "num", "date", "f32", "i64", "num:missing=error"]);
        let header = random.pick(&["", "--no-header "]);
        let quote = random.pick(&["", "--quote none ", "--quote \" "]);
        let decimal = random.pick(&["", "--decimal-comma "]);
        let column = 1 + random.below(3);
        let line = format!("{header}{quote}{decimal}--by {column}:{kind}:desc,1");
        let of = [RecordKind::Csv, RecordKind::Tsv][random.below(2) as usize];
        match sorted(of, &line, false, input.as_bytes()) {
            Err(told) => assert!(!told.contains(char::is_control), "case {case}: {told:?}"),
            Ok(result) => {
                sorted_inputs += 1;
                let ends =
                    ["", "\n", "\r", "\r\n"].map(|end| bytes_of((input.clone() + end).as_bytes()));
                assert!(
                    ends.contains(&bytes_of(&result)),
                    "case {case}: {line} of {input:?}"
                );
                // (Without a header, another row may be the first one now.)
                if header.is_empty() {
                    let again = sorted(of, &line, false, &result);
                    assert_eq!(again, Ok(result), "case {case}: {line} of {input:?}");
                }
            }
        }
    }
    assert!(sorted_inputs > 500, "{sorted_inputs}");
}
