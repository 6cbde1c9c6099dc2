//! Every kernel that the library can build, on very different inputs: no bank conflict, no race, no
//! access out of bounds, and no unnecessary sectors of global memory.

use bcfsort_testkit::recordings::{Corpus, CorpusReport, Inputs, audit_subject, unexpected};
use bcfsort_testkit::{LIMITS, all_cases};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::kernels;
use wgpu_bcfsort::internals::recording::{Buffer, Recording};
use wgpu_bcfsort::internals::samplesort::Shape;
use wgpu_bcfsort::internals::samplesort::Tuning;
use wgpu_bcfsort::internals::samplesort::{Records, WordSort, record};
use wgpu_bcfsort::internals::shader::Kernel;
use wgpu_bcfsort::{KeyType, Order};
use wgsl_lockstep::audit::Audit;
use wgsl_lockstep::{AccessKind, Config, Fault, Finding, Report, Shader, Site, Space};

/// Baseline kernels with bank conflicts, the largest degree measured, and the reason. All other
/// kernels are free of conflicts, except for [searches](SEARCHED).
const EXCEPTIONS: [(&str, u32, &str); 5] = [
    (
        "baseline.odd_even_transposition",
        2,
        "lane t loads and stores cells 2t + c and 2t + c + 1",
    ),
    (
        "baseline.warp_bitonic",
        4,
        "comparators of a network in linear memory",
    ),
    (
        "baseline.warp_merge",
        2,
        "comparators of a network in linear memory",
    ),
    (
        "prefix_sums.tile_sums.naive",
        16,
        "the scan's lanes, one a color, all stand in one bank",
    ),
    (
        "prefix_sums.prefix_sums.naive",
        16,
        "the scan's lanes, one a color, all stand in one bank",
    ),
];

/// Accesses with data-dependent bank conflicts in kernels that [search](Kernel::searches): the
/// variable, the function that accesses it, and the reason. Their other accesses, above all those
/// of sorting, are free of conflicts.
const SEARCHED: [(&str, &str, &str); 32] = [
    ("tile_words", "first_word", "the first splitter after a bin"),
    ("tile_pairs", "first_word", "the first splitter after a bin"),
    ("cells", "child_of", "the child of a record's bin"),
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
    ("cells", "main", "records, or heads of runs, get places"),
    ("cells", "merged", "keys of two inputs are merged"),
    ("cells", "split", "entries go to their places"),
    ("cells", "store_entries", "records are read by digit"),
    ("places", "main", "where a digit begins"),
    (
        "tile_atoms",
        "count_in",
        "records of one bucket are counted",
    ),
    (
        "tile_atoms",
        "places_of",
        "records of any buckets get their places",
    ),
    ("tile_words", "scatter", "records go to their places"),
    ("tile_atoms", "scatter", "records go to their places"),
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
    ("samples", "main", "needles are searched among samples"),
    ("kept_indices", "keep", "records that are kept get places"),
    ("kept_low", "keep", "records that are kept get places"),
    ("kept_low", "bound", "the bin of a key is searched"),
    ("kept_high", "bound", "the bin of a key is searched"),
    ("slots", "count_one", "keys of one bin are counted"),
    ("kept_high", "keep", "records that are kept get places"),
];

/// The function that contains a line of a text: the last one that begins before it.
fn function(text: &str, line: u32) -> &str {
    let begun = text.lines().take(line as usize);
    let name = begun.filter_map(|line| line.strip_prefix("fn ")?.split('(').next());
    name.last().unwrap_or_default()
}

/// The reports and results of all kernels. The corpus runs once for all tests.
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

/// One report per kernel for all runs, by label.
fn reports() -> &'static BTreeMap<Kernel, Report> {
    static REPORTS: OnceLock<BTreeMap<Kernel, Report>> = OnceLock::new();
    REPORTS.get_or_init(|| {
        let mut reports: BTreeMap<Kernel, Report> = BTreeMap::new();
        for (kernel, report) in corpus().kernels.iter().chain(&corpus().more) {
            reports.entry(kernel.clone()).or_default().merge(report);
        }
        reports
    })
}

#[test]
fn every_sort_and_every_prefix_sum_equals_the_cpu() {
    assert_eq!(corpus().wrong, [""; 0]);
}

/// `audit --all --markdown` prints the same, and the documentation of the recordings shows it.
#[test]
fn the_documented_table_of_kernels_is_current() {
    let subjects = corpus().kernels.iter();
    let subjects = subjects.map(|(kernel, report)| audit_subject(kernel, None, report.clone()));
    let table = Audit::new(subjects.collect(), Config::default()).markdown();
    let rows: Vec<Vec<&str>> = (table.lines().skip(2))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let mut listed = kernels();
    listed.sort_unstable_by(|a, b| a.name().cmp(b.name()));
    listed.dedup_by(|a, b| a.name() == b.name());
    let names: Vec<String> = rows.iter().map(|row| row[1].replace('`', "")).collect();
    assert_eq!(names, listed.iter().map(Kernel::name).collect::<Vec<_>>());
    for (row, kernel) in rows.iter().zip(listed) {
        // Only baselines and searches have conflicts. Pairs of words of a tile are read whole, not
        // word by word.
        let free = ["1", "-", "1 (by word 2)"].contains(&row[4]);
        // A search of these few keys may have no conflict.
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
    for kernel in kernels() {
        let Some(report) = reports.get(&kernel) else {
            // The library leaves out kernels that need too much workgroup memory.
            assert_eq!(kernel.key().words(), 2, "{kernel:?}");
            assert!(kernel.workgroup_bytes() > 32 << 10, "{kernel:?}");
            continue;
        };
        assert!(report.workgroups >= 2, "{kernel:?}");
        assert!(report.lane_instructions > 0, "{kernel:?}");
    }
}

/// The default sample sorts dispatch only texts that run here, with other sizes: for records of
/// every shape, and on devices with little and with much workgroup memory.
#[test]
fn every_text_of_the_sample_sort_is_run() {
    let text = |label: &str| -> String {
        let parts = label.split('.');
        let is_size = |part: &str| part.split('x').all(|size| size.parse::<u32>().is_ok());
        let names = parts.filter(|part| !is_size(part));
        names.collect::<Vec<_>>().join(".")
    };
    let run: BTreeSet<String> = reports()
        .keys()
        .map(|kernel| text(kernel.label()))
        .collect();
    for shape in Shape::ALL {
        for tuning in [Tuning::default(), Tuning::cpu()] {
            for len in [2, 3000, 100_000, 1 << 20, 1 << 26] {
                for workgroup_bytes in [16 << 10, 32 << 10, 48 << 10] {
                    let limits = DeviceLimits {
                        keys_per_dispatch: 1 << 25,
                        workgroup_bytes,
                        ..LIMITS
                    };
                    let recording = default_sort(len, shape, &tuning, &limits);
                    assert!(!recording.steps.is_empty());
                    for step in &recording.steps {
                        let label = step.kernel.label();
                        assert!(run.contains(&text(label)), "{label}");
                        let bytes = step.kernel.workgroup_bytes();
                        assert!(bytes <= workgroup_bytes, "{label}: {bytes} bytes");
                        // Most devices have this much workgroup memory.
                        if workgroup_bytes == 32 << 10 {
                            let is_known = kernels().contains(&step.kernel);
                            assert!(is_known, "{label} is none of all kernels");
                        }
                    }
                }
            }
        }
    }
}

/// A sort of words as in the default sorts.
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
        ranks: None,
    };
    let mut recording = Recording::new(len, key, Order::Ascending);
    record(&mut recording, &sort, tuning, limits);
    recording
}

#[test]
fn only_baselines_and_searches_have_bank_conflicts() {
    let mut conflicts = BTreeMap::new();
    for (kernel, report) in reports() {
        let (label, text) = (kernel.label(), kernel.wgsl());
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
                .find(|exception| exception.0 == kernel.name())
                .map_or(1, |exception| exception.1);
            // Pairs of words in a tile, and 64-bit values of a scan, are read and written whole, by
            // half a warp at a time.
            let is_wide_scan = kernel.name().starts_with("scan.") && kernel.key().words() == 2;
            let by_word = if site.variable == "tile_pairs" || is_wide_scan {
                0
            } else {
                site.banks_by_word.max_degree
            };
            let degree = site.banks.max_degree.max(by_word);
            if degree > allowed {
                let access = format!("{function}: {}", site.variable);
                let known = conflicts.entry(access).or_insert((degree, label));
                *known = (degree, label).max(*known);
                continue;
            }
            if allowed == 1 {
                // Obliviousness extends the result to all other keys. The color decides which of
                // its sums a lane accesses, but all of them are in one bank.
                let by_color = kernel.is("prefix_sums") && site.variable == "lane_sums";
                // In searching kernels, data-dependent sizes decide which warps sort.
                assert!(
                    site.oblivious || by_color || kernel.searches() || kernel.compares_rows(),
                    "{label}: {site:?}"
                );
                assert_eq!(site.banks.conflict_free, site.accesses, "{label}: {site:?}");
            }
        }
    }
    assert!(conflicts.is_empty(), "{conflicts:#?}");
}

/// Otherwise they would not serve as baselines.
#[test]
fn baselines_and_searches_do_have_bank_conflicts() {
    for (kernel, report) in reports() {
        let label = kernel.label();
        let exception = EXCEPTIONS.iter().find(|e| e.0 == kernel.name());
        assert_eq!(
            exception.is_some() || kernel.searches(),
            kernel.has_bank_conflicts(),
            "{label}"
        );
        if let Some((_, degree, why)) = exception {
            assert_eq!(report.banks().max_degree, *degree, "{label}: {why}");
            // The comparators of a sort are fixed. In prefix sums, colors select the sums.
            let sorts = !kernel.is("prefix_sums");
            assert_eq!(report.is_oblivious(Space::Workgroup), sorts, "{label}");
        }
    }
    // The number of lanes that meet in a search depends on the data: in some run, some do. With few
    // children, or few records for an estimate, hardly any do, and a merge searches no workgroup
    // memory.
    for kernel in kernels().into_iter().filter(Kernel::searches) {
        let degree = reports().get(&kernel).map(|run| run.banks().max_degree);
        let few = ["samplesort.table", "samplesort.merge"].map(|name| kernel.is(name));
        let is_sampled = kernel.name().contains(".sampled");
        let least = if few.contains(&true) || is_sampled {
            0
        } else {
            2
        };
        assert!(
            degree.is_some_and(|d| (least..=32).contains(&d)),
            "{kernel:?}: {degree:?}"
        );
    }
}

/// True if an access is unreachable in this kernel of the sample sort, and only reached in other
/// kernels with the same text.
fn is_unreachable(kernel: &Kernel, site: &Site) -> bool {
    let text = kernel.wgsl();
    let function = function(&text, site.location.line);
    // Rows have one word here, and no item is larger than a tile.
    let missed = ["cells_load", "cells_store", "main", "store_source"];
    let is_missed = missed.contains(&function) || site.variable == "compared_rows";
    if kernel.is("samplesort.partition") && function == "main" {
        // Only with rooms, the children's table is read.
        let mut label = kernel.label().replace("partition", "count");
        label.insert_str(label.rfind('.').unwrap_or_default(), ".sampled");
        let has_rooms = kernels().iter().any(|other| other.label() == label);
        if !has_rooms && ["segments", "params"].contains(&site.variable.as_str()) {
            return true;
        }
    }
    // Sorts of one level of 1024 children have no rooms, and only the first level counts a part.
    let rooms = ["children_with_rooms", "rooms_of_children", "room_of"];
    let levels = ["segment_at", "tile_at", "tiles", "cells_load"];
    (kernel.is("samplesort.table.1024") && rooms.contains(&function))
        || (kernel.name().contains(".sampled") && levels.contains(&function))
        || (kernel.compares_rows() && site.variable != "splitters" && is_missed)
}

/// An access that is not reached is not counted.
#[test]
fn every_access_of_every_kernel_is_reached() {
    let mut missed = Vec::new();
    for (kernel, report) in reports() {
        let label = kernel.label();
        for site in &report.sites {
            if site.accesses == 0 && !is_unreachable(kernel, site) {
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
fn no_kernel_has_a_race_or_an_invalid_access() {
    for (kernel, report) in reports() {
        let label = kernel.label();
        assert_eq!(unexpected(report), Vec::<&Finding>::new(), "{label}");
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
    for (kernel, report) in reports() {
        let label = kernel.label();
        // Samples, splitters, segments of a gathered tile, gathered rows, and the records that are
        // counted for an estimate are read from scattered addresses, and the records of a digit are
        // written there. The segments of a top k begin anywhere. Keys of a histogram may be of any
        // width, and are read word by word.
        let sorts = kernel.is("samplesort.sort");
        let picks = [
            "buckets.sample_runs",
            "baseline.random_samples",
            "buckets.rank_splitters",
            "layout",
            "samplesort",
            "radixsort.move_records",
            "top_k",
            "histogram",
        ];
        if !sorts && picks.iter().any(|name| kernel.is(name)) {
            continue;
        }
        let pages = report.in_space(Space::Storage).filter(|s| holds_keys(s));
        // Values of no color are not written, which leaves gaps.
        for site in pages.filter(|s| (s.kind, &*s.variable) != (AccessKind::Store, "values")) {
            seen.insert((kernel.name(), site.kind));
            // Ragged ends: a part of few keys may cross the border of two sectors. Unaligned pages
            // would touch five sectors instead of four.
            let more = site.sectors - site.min_sectors;
            // Each item of the sample sort has ragged ends, and the items here are very short; so
            // have the parts of those that are left unsorted.
            let ragged = if kernel.is("samplesort.sort") {
                6
            } else {
                1000
            };
            assert!(more * ragged <= site.min_sectors, "{label}: {site:?}");
        }
    }
    for kernel in [
        "merge.page_merge",
        "baseline.warp_merge",
        "buckets.distribute",
    ] {
        assert!(seen.contains(&(kernel, AccessKind::Load)), "{kernel:?}");
        assert!(seen.contains(&(kernel, AccessKind::Store)), "{kernel:?}");
    }
}
