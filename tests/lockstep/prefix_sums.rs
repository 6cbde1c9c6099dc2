//! Bank conflicts of prefix sums by the number of colors: counts for the paper's introduction.

use bcfsort_testkit::recordings::{Coloring, Execution, prefix_sums_of};
use wgpu_bcfsort::KeyType;
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::prefix_sums::MOST_COLORS;
use wgpu_bcfsort::internals::prefix_sums::record_prefix_sums;
use wgpu_bcfsort::internals::recording::{Buffer, Phase};
use wgpu_bcfsort::internals::shader::MATRIX;
use wgpu_bcfsort::paper::{PrefixSumsMethod, PrefixSumsOptions};
use wgsl_lockstep::{Config, Report};

const LIMITS: DeviceLimits = DeviceLimits {
    buffer_bytes: 1 << 27,
    ..bcfsort_testkit::LIMITS
};

/// The report of a phase for one tile of one page.
fn report(method: PrefixSumsMethod, colors: u32, coloring: Coloring, phase: Phase) -> Report {
    let options = PrefixSumsOptions::default().colors(colors).method(method);
    let recording = record_prefix_sums(MATRIX, KeyType::U32, &options, &LIMITS);
    let values: Vec<u32> = (0..MATRIX).map(|i| i * i).collect();
    let of = coloring.make(MATRIX, colors);
    let mut execution = Execution::new(&recording, &values, Config::default());
    execution.set_buffer(Buffer::Colors, of.clone());
    let reports = execution.run().unwrap();
    assert!(execution.buffer(Buffer::Keys) == prefix_sums_of(&recording, &values, &of));
    let found = reports.into_iter().find(|report| report.phase == phase);
    found.unwrap().report
}

/// Extra cycles of a page in the third phase because of conflicts.
fn conflicts(method: PrefixSumsMethod, colors: u32, coloring: Coloring) -> u64 {
    let banks = report(method, colors, coloring, Phase::PrefixSums).banks();
    banks.cycles - banks.min_cycles
}

#[test]
fn the_conflict_free_method_has_no_conflict_for_any_colors() {
    for colors in 1..=MOST_COLORS {
        for coloring in Coloring::ALL {
            for phase in [Phase::TileSums, Phase::TileOffsets, Phase::PrefixSums] {
                let banks = report(PrefixSumsMethod::ConflictFree, colors, coloring, phase).banks();
                assert_eq!(banks.max_degree, 1, "{colors} {coloring:?} {phase}");
                assert_eq!(banks.cycles, banks.min_cycles);
            }
        }
    }
}

/// The scan goes through the sums of 32 lanes, with a load and a store each, and its d lanes access
/// one bank.
#[test]
fn the_naive_method_has_64_conflict_cycles_per_additional_color() {
    for colors in 1..=MOST_COLORS {
        for coloring in Coloring::ALL {
            let method = PrefixSumsMethod::Naive;
            assert_eq!(
                conflicts(method, colors, coloring),
                u64::from(64 * (colors - 1)),
                "{colors} {coloring:?}"
            );
            let degree = |phase| report(method, colors, coloring, phase).banks().max_degree;
            assert_eq!(degree(Phase::TileSums), colors);
            assert_eq!(degree(Phase::TileOffsets), 1);
            assert_eq!(degree(Phase::PrefixSums), colors);
        }
    }
}

/// The paper expects a run time independent of the number of colors. The number of accesses is
/// independent, too, except for transposing the sums and back.
#[test]
fn colors_add_only_the_transposition_of_their_sums() {
    let accesses = |d| {
        let report = report(
            PrefixSumsMethod::ConflictFree,
            d,
            Coloring::Random,
            Phase::PrefixSums,
        );
        report.banks().min_cycles
    };
    for d in 2..=MOST_COLORS {
        // A sum is set to zero, transposed and transposed back: five accesses by all lanes at once.
        assert_eq!(accesses(d) - accesses(1), u64::from(5 * (d - 1)));
    }
}
