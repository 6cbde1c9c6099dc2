//! Children that get room by an estimate, in the lock-step executor: where it suffices, where the
//! records have to be moved again, and where other work changes what is estimated.

use super::samplesort::{Input, check, overwrite_keys, sizes, sort};
use bcfsort_data::{Pattern, Spec};
use bcfsort_testkit::LIMITS;
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::recording::{Buffer, Recording};
use wgpu_bcfsort::internals::samplesort::{Rooms, Shape, Sizes, SortPlan, Tuning};
use wgpu_bcfsort::{KeyType, Order};

/// Sorts of two levels get rooms, with this number of standard deviations to spare.
fn sizes_with_rooms(shape: Shape, deviations: u32) -> Sizes {
    let sizes = sizes(shape);
    Sizes {
        rooms: Rooms {
            from: 0,
            deviations,
            ..sizes.rooms
        },
        ..sizes
    }
}

/// True if the records were moved again, as the table of their only segment tells. Checks that the
/// room by the estimate was not more than scratch memory has.
fn moved_again(input: &Input, recording: &Recording) -> bool {
    let mut execution = input.execution(recording);
    let mut end_of_rooms = 0;
    for step in &recording.steps {
        execution.step(step).unwrap();
        let stage = step.parameter("stage").unwrap_or(0);
        if step.kernel.is("samplesort.table") && stage == 1 {
            let last = 4 * step.parameter("slots").unwrap() as usize - 3;
            let segments = execution.buffer(Buffer::Segments(1));
            end_of_rooms = segments[last] + segments[last + 1];
        }
        if step.kernel.is("samplesort.table") && stage == 2 {
            let words = input.words() * end_of_rooms as usize;
            assert!(words > 0 && words <= execution.buffer(Buffer::Scratch).len());
            return execution.buffer(Buffer::Segments(0))[0] > 0;
        }
    }
    panic!("no room by an estimate");
}

/// Six standard deviations suffice; none do not, unless a child has all records.
#[test]
fn records_without_room_are_moved_again() {
    for shape in Shape::ALL {
        let len = 64 * u64::from(sizes(shape).sort_tile) + 5;
        for (pattern, order, out_of_place) in [
            (Pattern::Full, Order::Ascending, false),
            (Pattern::Ascending, Order::Descending, true),
            (Pattern::FewDistinct, Order::Ascending, true),
            (Pattern::Zipf, Order::Descending, false),
            (Pattern::Maximal, Order::Ascending, false),
        ] {
            let input = Input::new(shape, &Spec::new(pattern, len));
            for deviations in [6, 0] {
                let sizes = sizes_with_rooms(shape, deviations);
                let (recording, reports) = sort(&input, order, out_of_place, &sizes, &LIMITS);
                check(&reports);
                let moves = moved_again(&input, &recording);
                let what = format!("{} {pattern} {deviations}", shape.name());
                assert!(deviations == 0 || !moves, "{what}");
                assert!(
                    deviations > 0 || moves || pattern == Pattern::Maximal,
                    "{what}"
                );
            }
        }
    }
}

/// Three levels, of which the first gets room; and dispatches that are cut.
#[test]
fn the_levels_below_rooms_are_exact() {
    let limits = DeviceLimits {
        workgroups: 2,
        keys_per_dispatch: 4096,
        ..LIMITS
    };
    for deviations in [6, 0] {
        let sizes = sizes_with_rooms(Shape::TwoWords, deviations);
        let levels = match SortPlan::new(99_000, &sizes) {
            SortPlan::Levels(levels) => levels,
            plan => panic!("{plan:?}"),
        };
        let has_room: Vec<bool> = levels
            .iter()
            .map(|level| level.estimate.is_some())
            .collect();
        assert_eq!(has_room, [true, false, false]);
        let input = Input::new(Shape::TwoWords, &Spec::new(Pattern::Full, 99_000));
        let (_, reports) = sort(&input, Order::Ascending, false, &sizes, &limits);
        check(&reports);
    }
}

#[test]
fn keys_that_change_meanwhile_are_within_bounds() {
    for shape in [Shape::Word, Shape::WidePair] {
        let sizes = sizes_with_rooms(shape, 6);
        let len = 40 * u64::from(sizes.sort_tile) + 3;
        overwrite_keys(
            &Input::new(shape, &Spec::new(Pattern::Full, len)),
            &sizes,
            7,
        );
    }
}

/// The default sizes: scratch memory stays below its bound, and no room is beyond a buffer.
#[test]
fn rooms_are_within_the_bounds_of_memory() {
    let limits = DeviceLimits {
        workgroup_bytes: 48 << 10,
        workgroup_lanes: 1024,
        keys_per_dispatch: 1 << 28,
        buffer_bytes: 1 << 32,
        ..LIMITS
    };
    for shape in [Shape::Word, Shape::TwoWords, Shape::Pair, Shape::WidePair] {
        let sizes = Sizes::new(shape, &Tuning::default(), &limits);
        let key = match shape.key_words() {
            1 => KeyType::U32,
            _ => KeyType::U64,
        };
        let most = limits.max_len(key);
        let estimate = |len: u32| match SortPlan::new(len, &sizes) {
            SortPlan::Levels(levels) => levels[0].estimate,
            plan => panic!("{plan:?}"),
        };
        assert_eq!(estimate((1 << 25) - 1), None);
        for len in [
            1 << 25,
            (1 << 25) + 1,
            50_000_000,
            1 << 26,
            99_999_999,
            1 << 27,
            1 << 28,
        ] {
            let room = estimate(len).unwrap().room;
            let spare = f64::from(room) / f64::from(len);
            assert!((1.05..1.12).contains(&spare), "{len} {shape:?}: {spare}");
            assert!(u64::from(room) <= most);
        }
        // A buffer that holds the records, but no room beside them.
        assert_eq!(estimate(most as u32), None);
        assert_eq!(
            Sizes::new(shape, &Tuning::cpu(), &limits).rooms.from,
            u32::MAX
        );
    }
}
