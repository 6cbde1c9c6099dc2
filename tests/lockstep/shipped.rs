//! Every kernel that the library can build, on kinds of input that differ as much as can be: no
//! bank conflict, no race, nothing out of bounds, and no more of global memory touched than needed.

use bcfsort_testkit::all_cases;
use bcfsort_testkit::recordings::{Corpus, CorpusReport, Inputs, audit_subject};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use wgpu_bcfsort::internals::kernel::{Kernel, Shape, SortKernel, Specialised, Stage};
use wgpu_bcfsort::internals::plan::{DeviceLimits, Tuning};
use wgpu_bcfsort::internals::recording::{Buffer, Recording};
use wgpu_bcfsort::internals::samplesort::{Records, WordSort, record};
use wgpu_bcfsort::paper::{BaseCase, PrefixSumsMethod};
use wgpu_bcfsort::{KeyType, Order};
use wgsl_lockstep::audit::Audit;
use wgsl_lockstep::{AccessKind, Config, Fault, Report, Shader, Site, Space};

/// Kernels that have bank conflicts, with the greatest degree measured and the reason: what is
/// there to be compared with. All others are free of conflicts, but for what [searches](SEARCHED).
const EXCEPTIONS: [(Kernel, u32, &str); 5] = [
    (
        base_case(BaseCase::OddEvenTransposition),
        2,
        "lane t loads and stores cells 2t + c and 2t + c + 1",
    ),
    (
        base_case(BaseCase::WarpBitonic),
        4,
        "comparators of a network in linear memory",
    ),
    (
        Kernel::WarpMerge,
        2,
        "comparators of a network in linear memory",
    ),
    (
        Kernel::TileSums {
            method: PrefixSumsMethod::Naive,
        },
        16,
        "the scan's lanes, one a color, all stand in one bank",
    ),
    (
        Kernel::PrefixSums {
            method: PrefixSumsMethod::Naive,
        },
        16,
        "the scan's lanes, one a color, all stand in one bank",
    ),
];

/// Where the lanes of kernels that [search](Kernel::searches) meet in banks, as many as the data
/// says: the variables, the functions that access them, and the reason. All other accesses of
/// theirs, those of their sorting above all, are free of conflicts.
const SEARCHED: [(&str, &str, &str); 14] = [
    (
        "cells",
        "cells_load",
        "a record's child is looked for, or splitters are taken from samples",
    ),
    (
        "tile_words",
        "tile_load",
        "splitters are taken from samples",
    ),
    (
        "tile_pairs",
        "tile_load",
        "splitters are taken from samples",
    ),
    ("cells", "main", "records go to their places"),
    ("histogram", "main", "records of one child are counted"),
    (
        "histogram",
        "search_and_count",
        "records of one child are counted",
    ),
    ("begins", "main", "where a record's child begins"),
    ("marks", "main", "the child of a place"),
    ("begins", "items_of_segment", "where an item ends"),
    ("items", "items_of_segment", "the child of an item"),
    ("jumps", "items_of_segment", "the next item's child"),
    ("is_cut", "items_of_segment", "the next item's child"),
    ("owners", "main", "keys are counted where they lead"),
    ("own_counts", "main", "keys are counted where they lead"),
];

/// The function that a place of a text stands in: the last that begins before it.
fn function(text: &str, line: u32) -> &str {
    let begun = text.lines().take(line as usize);
    let name = begun.filter_map(|line| line.strip_prefix("fn ")?.split('(').next());
    name.last().unwrap_or_default()
}

const fn base_case(form: BaseCase) -> Kernel {
    Kernel::BaseCase { form, warps: 1 }
}

/// What every kernel of the library did, and what came of it. The corpus is run once for all tests.
fn corpus() -> &'static CorpusReport {
    static REPORT: OnceLock<CorpusReport> = OnceLock::new();
    REPORT.get_or_init(|| {
        let corpus = Corpus::new(if all_cases() {
            Inputs::All
        } else {
            Inputs::Some
        });
        corpus.run(&Config::default(), 1, |_| ()).unwrap()
    })
}

/// What every kernel did, in all runs together, by its name.
fn reports() -> &'static BTreeMap<String, (Specialised, Report)> {
    static REPORTS: OnceLock<BTreeMap<String, (Specialised, Report)>> = OnceLock::new();
    REPORTS.get_or_init(|| {
        let mut reports: BTreeMap<_, (Specialised, Report)> = BTreeMap::new();
        for (kernel, report) in corpus().kernels.iter().chain(&corpus().more) {
            let known = reports.entry(kernel.label());
            let known = known.or_insert_with(|| (*kernel, Report::default()));
            known.1.merge(report);
        }
        reports
    })
}

#[test]
fn every_sort_and_every_prefix_sum_is_that_of_the_cpu() {
    assert_eq!(corpus().wrong, [""; 0]);
}

/// `audit --all --markdown` prints the same, and the documentation of the recordings shows it.
#[test]
fn the_table_of_kernels_in_the_documentation_is_that_of_the_corpus() {
    let kernels = corpus().kernels.iter();
    let subjects = kernels.map(|(kernel, report)| audit_subject(*kernel, None, report.clone()));
    let table = Audit::new(subjects.collect(), Config::default()).markdown();
    let rows: Vec<Vec<&str>> = (table.lines().skip(2))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let names: Vec<String> = rows.iter().map(|row| row[1].replace('`', "")).collect();
    assert_eq!(names, Kernel::all().map(Kernel::name).collect::<Vec<_>>());
    for (row, kernel) in rows.iter().zip(Kernel::all()) {
        // What is there to be compared with has conflicts, and what searches; nothing else.
        // (Pairs of words of a tile are read whole, not word by word.)
        let free = ["1", "-", "1 (by word 2)"].contains(&row[4]);
        // (No search of these few keys has to meet any.)
        let may = free && kernel.searches();
        assert!(free != kernel.has_bank_conflicts() || may, "{row:?}");
        assert_eq!(row[6..8], ["0", "0"], "{row:?}");
    }
    let shown = include_str!("../../crates/bcfsort-testkit/src/recordings/kernels.md");
    assert!(shown == table, "kernels.md is to be:\n{table}");
}

#[test]
fn every_kernel_is_run_over_two_tiles_for_both_widths_of_keys() {
    let reports = reports();
    for kernel in Kernel::all() {
        for key in KeyType::WHOLE_WORDS
            .into_iter()
            .filter(|&key| kernel.takes(key))
        {
            let specialised = kernel.specialise(key);
            let label = specialised.label();
            let Some((_, report)) = reports.get(&label) else {
                // The library leaves out what takes too much memory.
                assert!(key.words() == 2, "{label}");
                assert!(specialised.workgroup_bytes() > 32 << 10, "{label}");
                continue;
            };
            assert!(report.workgroups >= 2, "{label}");
            assert!(report.lane_instructions > 0, "{label}");
        }
    }
}

/// What the sample sort dispatches by default, for records of every shape and on devices with
/// little and with much workgroup memory, is the text of a kernel that is run here, but for its
/// sizes.
#[test]
fn every_text_of_the_sample_sort_is_run() {
    let text = |label: &str| -> String {
        let parts = label.split('.');
        let names = parts.filter(|part| part.parse::<u32>().is_err());
        names.collect::<Vec<_>>().join(".")
    };
    let run: BTreeSet<String> = reports().keys().map(|label| text(label)).collect();
    for shape in Shape::ALL {
        for tuning in [Tuning::default(), Tuning::cpu()] {
            for len in [2, 3000, 100_000, 1 << 20, 1 << 26] {
                for workgroup_bytes in [16 << 10, 32 << 10, 48 << 10] {
                    let limits = DeviceLimits {
                        buffer_bytes: u64::MAX,
                        workgroups: 65_535,
                        keys_per_dispatch: 1 << 25,
                        workgroup_bytes,
                        workgroup_lanes: 1024,
                        sampling_seed: 0x5eed,
                    };
                    let recording = default_sort(len, shape, &tuning, &limits);
                    assert!(!recording.steps.is_empty());
                    for step in &recording.steps {
                        let specialised = recording.specialised(step);
                        let label = specialised.label();
                        assert!(run.contains(&text(&label)), "{label}");
                        let bytes = specialised.workgroup_bytes();
                        assert!(bytes <= workgroup_bytes, "{label}: {bytes} bytes");
                        // Where most devices have as much as this.
                        if workgroup_bytes == 32 << 10 {
                            let is_known = Kernel::all().any(|kernel| kernel == step.kernel);
                            assert!(is_known, "{label} is none of all kernels");
                        }
                    }
                }
            }
        }
    }
}

/// A sort of words as the default sorts have it.
fn default_sort(len: u32, shape: Shape, tuning: &Tuning, limits: &DeviceLimits) -> Recording {
    let key = match shape.key_words() {
        1 => KeyType::U32,
        _ => KeyType::U64,
    };
    let records = |keys, values| Records {
        keys,
        values: shape.has_value().then_some(values),
    };
    let sort = WordSort {
        len,
        shape,
        source: records(Buffer::Keys, Buffer::Values),
        target: records(Buffer::Keys, Buffer::Values),
        scratch: records(Buffer::Scratch, Buffer::ScratchValues),
        map: key.map(Order::Ascending),
        ranks: 0..len,
    };
    let mut recording = Recording::new(len, key, Order::Ascending);
    record(&mut recording, &sort, tuning, limits);
    recording
}

#[test]
fn no_kernel_has_a_bank_conflict_but_those_that_are_to_have_them() {
    let mut conflicts = BTreeMap::new();
    for (label, (kernel, report)) in reports() {
        let (kernel, text) = (kernel.kernel(), kernel.wgsl());
        for site in report.in_space(Space::Workgroup) {
            let function = function(&text, site.location.line);
            let searched = |exception: &(&str, &str, &str)| {
                (exception.0, exception.1) == (&*site.variable, function)
            };
            if kernel.searches() && SEARCHED.iter().any(searched) {
                continue;
            }
            let allowed = EXCEPTIONS
                .iter()
                .find(|exception| exception.0 == kernel)
                .map_or(1, |exception| exception.1);
            // (A tile's pairs of words are read and written whole, by half a warp at a time.)
            let by_word = if site.variable == "tile_pairs" {
                0
            } else {
                site.banks_by_word.max_degree
            };
            let degree = site.banks.max_degree.max(by_word);
            if degree > allowed {
                let place = format!("{function}: {}", site.variable);
                let known = conflicts.entry(place).or_insert((degree, label));
                *known = (degree, label).max(*known);
                continue;
            }
            if allowed == 1 {
                // So it is the same for all other keys. Which of its own sums a lane reaches for,
                // the color decides; not which bank they are all in.
                let by_color = !kernel.takes(KeyType::U64) && site.variable == "lane_sums";
                // (Of searching kernels, sizes that the data decides say which warps sort.)
                assert!(
                    site.oblivious || by_color || kernel.searches() || compares_rows(kernel),
                    "{label}: {site:?}"
                );
                assert_eq!(site.banks.conflict_free, site.accesses, "{label}: {site:?}");
            }
        }
    }
    assert!(conflicts.is_empty(), "{conflicts:#?}");
}

/// Else they would compare with nothing.
#[test]
fn kernels_that_are_to_have_conflicts_have_them() {
    for (label, (kernel, report)) in reports() {
        let kernel = kernel.kernel();
        let exception = EXCEPTIONS.iter().find(|e| e.0 == kernel);
        assert_eq!(
            exception.is_some() || kernel.searches(),
            kernel.has_bank_conflicts(),
            "{label}"
        );
        if let Some((_, degree, why)) = exception {
            assert_eq!(report.banks().max_degree, *degree, "{label}: {why}");
            // Comparators are where they are, whatever the keys; colors lead to sums.
            let sorts = kernel.takes(KeyType::U64);
            assert_eq!(report.is_oblivious(Space::Workgroup), sorts, "{label}");
        }
    }
    // The data says how many lanes meet where they search: in one run or another, some do. (Of
    // few children hardly any, and a merge searches no workgroup memory.)
    for kernel in Kernel::all().filter(|kernel| kernel.searches()) {
        let of = reports().values().filter(|run| run.0.kernel() == kernel);
        let degree = of.map(|run| run.1.banks().max_degree).max();
        let may = matches!(
            kernel,
            Kernel::Sort(SortKernel {
                stage: Stage::Table { .. } | Stage::Merge,
                ..
            })
        );
        let least = if may { 0 } else { 2 };
        assert!(
            degree.is_some_and(|d| (least..=32).contains(&d)),
            "{kernel:?}: {degree:?}"
        );
    }
}

/// Whether it exchanges rows, or does not, as a caller's function says.
fn compares_rows(kernel: Kernel) -> bool {
    matches!(kernel, Kernel::Sort(sort) if sort.compares_rows())
}

/// Whether an access is never made in this kernel of the sample sort, but in those that share its
/// text.
fn is_of_others(specialised: Specialised, site: &Site) -> bool {
    let Kernel::Sort(kernel) = specialised.kernel() else {
        return false;
    };
    let text = specialised.wgsl();
    let function = function(&text, site.location.line);
    // Rows are of one word here; and no item is larger than a tile.
    let others = ["cells_load", "cells_store", "main", "store_source"];
    let is_missed = others.contains(&function) || site.variable == "compared_rows";
    kernel.compares_rows() && site.variable != "splitters" && is_missed
}

/// What is not reached cannot be counted.
#[test]
fn every_access_of_every_kernel_is_reached() {
    let mut missed = Vec::new();
    for (label, (kernel, report)) in reports() {
        for site in &report.sites {
            if site.accesses == 0 && !is_of_others(*kernel, site) {
                let line = site.location.line;
                missed.push(format!(
                    "{label}: {:?} of {} in line {line}, in {}",
                    site.kind,
                    site.variable,
                    function(&kernel.wgsl(), line)
                ));
            }
        }
        let shader = Shader::new(&kernel.wgsl(), None, &[]).unwrap();
        let banked = report.in_space(Space::Workgroup).count();
        assert_eq!(banked > 0, shader.workgroup_bytes() > 0, "{label}");
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn no_kernel_has_a_race_or_goes_out_of_bounds_or_reads_what_was_not_written() {
    for (label, (_, report)) in reports() {
        assert_eq!(report.findings, [], "{label}");
        for fault in [
            Fault::Race,
            Fault::OutOfBounds,
            Fault::DivergentBarrier,
            Fault::Uninitialised,
            Fault::Runaway,
        ] {
            assert_eq!(report.count(fault), 0, "{label}");
        }
    }
}

/// A variable that holds keys, in pages or tiles.
fn holds_keys(site: &Site) -> bool {
    [
        "keys",
        "source",
        "destination",
        "values",
        "colors",
        "source_keys",
        "source_values",
        "target_keys",
        "target_values",
    ]
    .contains(&site.variable.as_str())
}

#[test]
fn pages_are_loaded_and_stored_with_the_fewest_sectors() {
    let mut seen = BTreeSet::new();
    for (label, (kernel, report)) in reports() {
        let kernel = kernel.kernel();
        // Samples and splitters are picked from everywhere, and so are the segments of a tile that
        // is gathered, and rows that are put in order.
        let picks = match kernel {
            Kernel::SampleRuns
            | Kernel::RandomSamples
            | Kernel::RankSplitters
            | Kernel::Layout(_) => true,
            Kernel::Sort(sort) => !matches!(sort.stage, Stage::Sort { .. } | Stage::Count(_)),
            _ => false,
        };
        if picks {
            continue;
        }
        let pages = report.in_space(Space::Storage).filter(|s| holds_keys(s));
        // Values of no color are not written, wherever they stand.
        for site in pages.filter(|s| (s.kind, &*s.variable) != (AccessKind::Store, "values")) {
            seen.insert((kernel, site.kind));
            // Ragged ends: where a part is of few keys, they may lie across the border of two
            // sectors. Pages that began anywhere would touch five sectors for four.
            let more = site.sectors - site.min_sectors;
            // Items of the sample sort have ragged ends each; here they are as short as can be.
            let ragged = match kernel {
                Kernel::Sort(SortKernel {
                    stage: Stage::Sort { .. },
                    ..
                }) => 10,
                _ => 1000,
            };
            assert!(more * ragged <= site.min_sectors, "{label}: {site:?}");
        }
    }
    for kernel in [Kernel::PageMerge, Kernel::WarpMerge, Kernel::Distribute] {
        assert!(seen.contains(&(kernel, AccessKind::Load)), "{kernel:?}");
        assert!(seen.contains(&(kernel, AccessKind::Store)), "{kernel:?}");
    }
}
