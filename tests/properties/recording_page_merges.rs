//! Recordings have as many page merges as the longest pair of runs needs, and no more.

use crate::recording::{options, parameter, passes};
use bcfsort_testkit::LIMITS;
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::mergesort::{self, PAGE, WARP_PAGE};
use wgpu_bcfsort::internals::planner::record_sort;
use wgpu_bcfsort::{Engine, KeyType, Order};

/// A pair takes n0/h + n1/h - 1 page merges of h keys, in sequence.
#[test]
fn a_pair_takes_one_page_merge_less_than_it_has_pages() {
    for engine in Engine::MERGESORTS {
        let page = engine.page();
        let of = |a, b| mergesort::page_merges(a, b, page);
        for (a, b) in [(1, 1), (2, 2), (8, 1), (7, 9)] {
            assert_eq!(of(a * page, b * page), a + b - 1);
        }
        assert_eq!(of(1, 1), 1);
        assert_eq!(of(page + 1, 1), 2);
        assert_eq!(of(0, 700), 0);
        check_two_page_merges_per_dispatch(engine);
    }
}

/// With two page merges per dispatch, each dispatch begins where the last one ended.
fn check_two_page_merges_per_dispatch(engine: Engine) {
    let page = engine.page();
    let tile = engine.default_base_case().keys();
    let limits = DeviceLimits {
        keys_per_dispatch: 2 * page,
        ..LIMITS
    };
    let options = options(engine, 1, 1);
    for runs in [2u32, 4, 8, 64] {
        let recording = record_sort(
            runs * tile,
            KeyType::U32,
            Order::Ascending,
            &options,
            &limits,
        );
        let passes = passes(&recording);
        let last = passes.last().unwrap();
        let run = parameter(last[0], "run");
        assert_eq!(run, runs * tile / 2);
        let merges = run / page + run / page - 1;
        assert_eq!(last.len() as u32, merges.div_ceil(2));
        let mut done = 0;
        for step in last {
            assert!(parameter(step, "steps") <= 2);
            assert_eq!(parameter(step, "done"), done);
            done += parameter(step, "steps");
        }
        assert_eq!(done, merges);
    }
}

/// In the final phase runs are unaligned. Pages are aligned to 32 keys, so the ends need more
/// steps.
#[test]
fn no_pair_takes_more_steps_than_are_recorded() {
    for page in [PAGE, WARP_PAGE] {
        check_steps_of_pairs(page);
    }
}

fn check_steps_of_pairs(page: u32) {
    let pages = |start: u32, end: u32| {
        if start < end {
            (end - start / 32 * 32).div_ceil(page)
        } else {
            0
        }
    };
    for len in (1..40)
        .chain(500..560)
        .chain(1020..1070)
        .chain([2047, 2048, 2049, 5000])
    {
        let most = mergesort::most_page_merges(len.into(), page);
        let mut worst = 0;
        for start in 0..32 {
            for middle in start..=start + len {
                let (a, b) = (pages(start, middle), pages(middle, start + len));
                let steps = if a == 0 || b == 0 {
                    // Copied, one page per step.
                    a + b
                } else {
                    a + b - 1
                };
                worst = worst.max(steps);
            }
        }
        assert!(worst <= most, "{len} keys: {worst} steps, {most} recorded");
        assert!(
            most <= worst + 1,
            "{len} keys: {worst} steps, {most} recorded"
        );
    }
}
