//! `experiment pictures`: draws the documentation's pictures from stored tables. It needs no
//! device, and the pictures are the same on every machine.

mod banks;
pub(super) mod tables;

use super::plot::{Axis, Chart, Line, Point, Scale};
use super::{plural, write};
use bcfsort_auto::model::{Call, Gpu, Work};
use bcfsort_term::fault::Fault;
use bcfsort_term::output::print;
use serde::Deserialize;
use std::fs;
use std::path::Path;
use wgpu_bcfsort::KeyType;

/// Its name on the command line, where it is listed with the figures.
pub(super) const NAME: &str = "pictures";

/// Sorters of GPU buffers: the names in `fast.csv` and in the pictures. The index is the style.
const SORTERS: [(&str, &str); 5] = [
    ("sample-sort", "wgpu-bcfsort"),
    ("cub-merge", "CUB merge sort"),
    ("lampshade", "lampshade"),
    ("wgpu_sort-pairs (pairs of 8 bytes)", "wgpu_sort (pairs)"),
    ("cub-radix", "CUB radix sort"),
];

/// Sorters of files: the names in `end-to-end.csv` and in the picture.
const COMMANDS: [(&str, &str); 5] = [
    ("wgpu-bcfsort", "wgpu-bcfsort"),
    ("gnu-sort", "GNU sort (text)"),
    ("numpy", "numpy"),
    ("torch", "torch (CUDA)"),
    ("cat", "cat (copies)"),
];

/// The columns of `fast.csv` that are drawn.
#[derive(Deserialize)]
struct Fast {
    keys: u64,
    r#type: String,
    moves: String,
    pattern: String,
    contender: String,
    device: String,
    median_s: f64,
}

/// The columns of `end-to-end.csv`, which `benches/end_to_end` writes.
#[derive(Deserialize)]
struct EndToEnd {
    contender: String,
    n: u64,
    seconds: f64,
}

/// The columns of `file-sorts.csv`, which `benches/file_sorts` writes.
#[derive(Deserialize)]
struct FileSort {
    work: String,
    contender: String,
    seconds: f64,
}

/// The columns of `auto.csv`, which `bench --auto` prints, that are drawn: in milliseconds.
#[derive(Deserialize)]
struct Auto {
    work: String,
    r#type: String,
    keys: u64,
    threads: usize,
    cpu: f64,
    gpu: f64,
}

/// Draws the pictures from the tables in `from`.
pub(super) fn run(from: &Path, out: &Path, quiet: bool) -> Result<(), Fault> {
    let pictures = draw(from)?;
    fs::create_dir_all(out)
        .map_err(|error| Fault::io(&out.display().to_string(), "cannot make it", &error))?;
    for (name, svg) in &pictures {
        write(out, name, svg)?;
    }
    if quiet {
        return Ok(());
    }
    let count = plural(pictures.len(), "picture");
    print(&format!("{}: {count}\n", out.display()))
}

/// The pictures, each with its file name.
fn draw(from: &Path) -> Result<Vec<(&'static str, String)>, Fault> {
    let path = from.join("fast.csv");
    let mut fast: Vec<Fast> = rows(&path)?;
    fast.retain(|row| row.r#type == "u32" && row.moves == "keys");
    let lacks = |what| Fault::Usage(format!("{}: {what} are not in it", path.display()));
    let first = fast.first().ok_or_else(|| lacks("sorts of u32 keys"))?;
    // The part in brackets names the driver.
    let device = first.device.split(" (").next().unwrap_or_default();
    let throughput = throughput(&fast, device).ok_or_else(|| lacks("random keys"))?;
    let adversary = adversary(&fast, device).ok_or_else(|| lacks("adversarial keys"))?;
    let mut pictures = vec![
        ("throughput.svg", throughput.picture()?),
        ("adversary.svg", adversary.picture()?),
        ("bank-matrix.svg", banks::svg()),
    ];
    if let Some(rows) = rows_if_any(&from.join("end-to-end.csv"))? {
        let chart = end_to_end(&rows, device);
        pictures.push(("end-to-end.svg", chart.picture()?));
    }
    if let Some(rows) = rows_if_any(&from.join("file-sorts.csv"))? {
        let chart = file_sorts(&rows, device);
        pictures.push(("file-sorts.svg", chart.picture()?));
    }
    if let Some(rows) = rows_if_any(&from.join("auto.csv"))? {
        let chart = auto(&rows, device);
        pictures.push(("auto.svg", chart.picture()?));
    }
    Ok(pictures)
}

/// Reads the rows of a table. `None` if there is no such file.
fn rows_if_any<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Option<Vec<T>>, Fault> {
    path.exists().then(|| rows(path)).transpose()
}

/// Reads the rows of a table.
fn rows<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Vec<T>, Fault> {
    let failed = |error| {
        Fault::Usage(format!(
            "{}: cannot read the table: {error}",
            path.display()
        ))
    };
    let mut reader = csv::Reader::from_path(path).map_err(failed)?;
    reader
        .deserialize()
        .collect::<Result<_, _>>()
        .map_err(failed)
}

/// One line for each name with points.
fn lines(
    names: &[(&str, &str)],
    points: impl Fn(&str) -> Vec<Point>,
) -> impl DoubleEndedIterator<Item = Line> {
    let line = move |(style, &(id, name)): (usize, &(&str, &str))| {
        Some(Line::new(name, style, points(id))).filter(|line| !line.points.is_empty())
    };
    let lines: Vec<Line> = names.iter().enumerate().filter_map(line).collect();
    lines.into_iter()
}

/// The pattern of random keys: all bits are random.
const RANDOM: &str = "full";

fn throughput(rows: &[Fast], device: &str) -> Option<Chart> {
    // Only sizes that others sorted as well. The rest belong to a comparison of orders.
    let swept = |row: &&Fast| {
        let same = |other: &Fast| other.pattern == RANDOM && other.keys == row.keys;
        let mut others = rows.iter().filter(|other| other.contender != row.contender);
        row.pattern == RANDOM && others.any(same)
    };
    let point = |row: &Fast| {
        let n = row.keys as f64;
        Point::exact(n, n / row.median_s / 1e9)
    };
    let points = |id: &str| {
        let rows = rows.iter().filter(|row| row.contender == id);
        rows.filter(swept).map(point).collect()
    };
    // The first line, the subject of the picture, is drawn last, over the others.
    let lines: Vec<Line> = lines(&SORTERS, points).rev().collect();
    (!lines.is_empty()).then(|| Chart::Lines {
        title: format!(
            "Billions of keys sorted per second (higher is better)\n\
             {device}, random u32 keys, GPU time"
        ),
        x: Axis::new("number of keys", Scale::Log2),
        y: Axis::new("Gkeys/s", Scale::Linear),
        lines,
    })
}

fn adversary(rows: &[Fast], device: &str) -> Option<Chart> {
    let keys = rows.iter().find(|row| row.pattern == "adversary")?.keys;
    let time = |id: &str, pattern: &str| {
        let mut rows = rows
            .iter()
            .filter(|row| row.keys == keys && row.contender == id);
        rows.find(|row| row.pattern == pattern)
            .map(|row| row.median_s * 1e3)
    };
    let pair = |&(id, name): &(&str, &str)| {
        let (random, adverse) = (time(id, "distinct")?, time(id, "adversary")?);
        // Adding zero turns -0 into 0.
        let more = ((adverse / random - 1.0) * 100.0).round() + 0.0;
        let bars = [
            (random, format!("{random:.2} ms random")),
            (
                adverse,
                format!("{adverse:.2} ms adversarial ({more:+.0} %)"),
            ),
        ];
        Some((name.to_owned(), bars))
    };
    let pairs: Vec<_> = SORTERS.iter().filter_map(pair).collect();
    let millions = keys as f64 / 1e6;
    (!pairs.is_empty()).then(|| Chart::Pairs {
        title: format!(
            "Random order and an order made against CUB's merge sort\n\
             {device}, {millions:.1} million different u32 keys, GPU time (lower is better)"
        ),
        x: Axis::new("milliseconds", Scale::Linear),
        pairs,
    })
}

fn end_to_end(rows: &[EndToEnd], device: &str) -> Chart {
    let points = |id: &str| {
        let rows = rows.iter().filter(|row| row.contender == id);
        rows.map(|row| Point::exact(row.n as f64, row.seconds))
            .collect()
    };
    let mut lines: Vec<Line> = lines(&COMMANDS, points).rev().collect();
    // `cat` does not sort: it is a bound, not a contender.
    for line in lines.iter_mut().filter(|line| line.name.starts_with("cat")) {
        line.dashed = true;
    }
    Chart::Lines {
        title: format!(
            "Seconds to sort a file of u32 keys (lower is better)\n\
             {device}, process start to output written, files in memory"
        ),
        x: Axis::new("number of keys", Scale::Log2),
        y: Axis::new("seconds", Scale::Log10),
        lines,
    }
}

/// The clock beside the model of `auto`, for the most threads that were measured.
fn auto(rows: &[Auto], device: &str) -> Chart {
    let threads = rows.iter().map(|row| row.threads).max().unwrap_or(1);
    let drawn = |row: &&Auto| row.work == "sort" && row.r#type == "u32" && row.threads == threads;
    let estimate = |row: &Auto| {
        let call = Call::new(row.keys, KeyType::U32, Work::Sort);
        Call { threads, ..call }.estimate(Gpu::Open)
    };
    let points = |y: &dyn Fn(&Auto) -> f64| {
        let point = |row: &Auto| Point::exact(row.keys as f64, y(row));
        rows.iter().filter(drawn).map(point).collect()
    };
    let lines = vec![
        Line::new("GPU", 0, points(&|row| row.gpu)),
        Line::new("GPU, the model", 0, points(&|row| estimate(row).gpu * 1e3)).model(),
        Line::new("CPU", 1, points(&|row| row.cpu)),
        Line::new("CPU, the model", 1, points(&|row| estimate(row).cpu * 1e3)).model(),
    ];
    Chart::Lines {
        title: format!(
            "Milliseconds to sort a slice of u32 keys (lower is better)\n\
             {device}, open, and {threads} threads"
        ),
        x: Axis::new("number of keys", Scale::Log2),
        y: Axis::new("milliseconds", Scale::Log10),
        lines,
    }
}

fn file_sorts(rows: &[FileSort], device: &str) -> Chart {
    /// Bars of shorter times beside those of several seconds would be invisible.
    const SHOWN_SECONDS: f64 = 0.2;

    let pair = |row: &FileSort| {
        // One copy is compared with the sorts of the same file in different memory.
        let mut copies = rows.iter().filter(|copy| copy.contender == "cat");
        let copy = copies.find(|copy| row.work.starts_with(&copy.work))?;
        let (copied, sorted) = (copy.seconds, row.seconds);
        let (times, memory) = (sorted / copied, &row.work[copy.work.len()..]);
        // Names and texts have to fit beside the bars.
        let memory = memory.replace(" within ", " in ");
        let bars = [
            (copied, format!("{copied:.2} s cat (copies)")),
            (
                sorted,
                format!("{sorted:.2} s sorted{memory} ({times:.2}x)"),
            ),
        ];
        let name = copy.work.trim_end_matches(" records").to_owned();
        (copied > SHOWN_SECONDS).then_some((name, bars))
    };
    let sorts = rows.iter().filter(|row| row.contender == "wgpu-bcfsort");
    Chart::Pairs {
        title: format!(
            "Seconds to sort a file of 1 to 10 GB (lower is better)\n\
             {device}, process start to output written, files in memory"
        ),
        x: Axis::new("seconds", Scale::Linear),
        pairs: sorts.filter_map(pair).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../benches/results/nvidia-h200"
    );
    const PICTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pictures");

    fn texts(svg: &str) -> Vec<String> {
        let parsed = roxmltree::Document::parse(svg).unwrap();
        let texts = parsed.descendants().filter_map(|node| node.text());
        texts.map(|text| text.trim().to_owned()).collect()
    }

    #[test]
    fn the_pictures_of_the_documentation_are_those_of_the_committed_tables() -> Result<(), Fault> {
        for (name, svg) in draw(Path::new(RESULTS))? {
            let committed = fs::read_to_string(Path::new(PICTURES).join(name)).unwrap();
            // Not `assert_eq!`, which would print both pictures.
            let differs = committed.lines().ne(svg.lines());
            assert!(!differs, "{name}: 'experiment pictures' draws it anew");
        }
        Ok(())
    }

    #[test]
    fn small_tables_are_drawn() -> Result<(), Fault> {
        let folder = tempfile::tempdir().unwrap();
        let fast = "keys,type,moves,pattern,contender,device,median_s\n\
                    2048,u32,keys,full,sample-sort,A GPU (vulkan),1e-6\n\
                    2048,u32,keys,full,cub-merge,A GPU (vulkan),1e-6\n\
                    544,u32,keys,distinct,cub-merge,A GPU (vulkan),1e-3\n\
                    544,u32,keys,adversary,cub-merge,A GPU (vulkan),1.5e-3\n";
        fs::write(folder.path().join("fast.csv"), fast).unwrap();
        let times = "contender,n,seconds\nwgpu-bcfsort,1024,0.1\ncat,1024,0.002\n";
        fs::write(folder.path().join("end-to-end.csv"), times).unwrap();
        let times = "work,contender,seconds\n\
                     2 KB,cat,0.001\n2 KB,wgpu-bcfsort,0.1\n\
                     2 GB,cat,0.5\n2 GB within 1G,wgpu-bcfsort,1\n";
        fs::write(folder.path().join("file-sorts.csv"), times).unwrap();
        let times = "work,type,keys,threads,cpu,gpu\nsort,u32,1024,2,0.01,0.1\n";
        fs::write(folder.path().join("auto.csv"), times).unwrap();
        let out = folder.path().join("out");
        run(folder.path(), &out, true)?;
        let shown = |name: &str| texts(&fs::read_to_string(out.join(name)).unwrap());
        let expected: [(&str, &[&str]); 6] = [
            ("auto.svg", &["GPU", "CPU, the model"]),
            ("throughput.svg", &["wgpu-bcfsort", "CUB merge sort"]),
            (
                "adversary.svg",
                &["1.00 ms random", "1.50 ms adversarial (+50 %)"],
            ),
            ("end-to-end.svg", &["wgpu-bcfsort", "cat (copies)"]),
            (
                "file-sorts.svg",
                &["2 GB", "0.50 s cat (copies)", "1.00 s sorted in 1G (2.00x)"],
            ),
            ("bank-matrix.svg", &["bank 0", "63"]),
        ];
        for (name, words) in expected {
            let shown = shown(name);
            let shows = |word: &&&str| shown.iter().any(|text| text == **word);
            assert_eq!(
                words.iter().find(|word| !shows(word)),
                None,
                "{name}: {shown:?}"
            );
        }
        Ok(())
    }

    #[test]
    fn a_table_that_lacks_rows_or_columns_is_told() {
        let folder = tempfile::tempdir().unwrap();
        for table in ["", "keys,type\n1,u32\n", "not a table"] {
            fs::write(folder.path().join("fast.csv"), table).unwrap();
            let fault = draw(folder.path()).err().unwrap();
            assert!(fault.message().unwrap().contains("fast.csv"), "{table}");
        }
    }
}
