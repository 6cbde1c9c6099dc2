//! Pipeline caches, if this machine's adapter has them.

use crate::device::{check_sort, gpu};
use bcfsort_testkit::PaperOptions;
use wgpu_bcfsort::paper::{PrefixSums, PrefixSumsOptions};
use wgpu_bcfsort::{Error, Options, Order, Sorter};

/// The adapter; `None`, with a message, if it has no caches.
fn adapter() -> Option<&'static wgpu::Adapter> {
    let adapter = &gpu()?.adapter;
    if adapter.features().contains(wgpu::Features::PIPELINE_CACHE) {
        return Some(adapter);
    }
    println!("SKIPPED: no pipeline caches on this adapter");
    None
}

/// A sorter on its own device, which supports caches.
fn open(adapter: &wgpu::Adapter) -> Sorter {
    Sorter::open(Options::default().adapter(adapter)).unwrap()
}

/// A cache that starts with the data of another one.
fn make_cache(device: &wgpu::Device, from: Option<&wgpu::PipelineCache>) -> wgpu::PipelineCache {
    let data = from.and_then(wgpu::PipelineCache::get_data);
    // SAFETY: `get_data` has just returned the data, if there is any.
    unsafe {
        device.create_pipeline_cache(&wgpu::PipelineCacheDescriptor {
            label: Some("tests"),
            data: data.as_deref(),
            fallback: true,
        })
    }
}

#[test]
fn a_second_device_uses_the_cache_of_the_first() {
    let Some(adapter) = adapter() else { return };
    let keys: Vec<u32> = (0..5000_u32)
        .map(|i| i.wrapping_mul(2_654_435_761))
        .collect();
    let mut left = None;
    for what in ["the first device", "the second device"] {
        let sorter = open(adapter);
        let cache = make_cache(sorter.device(), left.as_ref());
        let sorter = sorter.with_pipeline_cache(&cache);
        check_sort(&sorter, &keys, Order::Ascending, what);
        let data = cache.get_data().expect(what);
        assert!(!data.is_empty(), "{what}");
        left = Some(cache);
    }
}

/// wgpu refuses a cache of another device. The error shows that the sorter passes its cache on.
#[test]
fn every_kernel_is_compiled_through_the_cache() {
    let Some(adapter) = adapter() else { return };
    let (sorter, other) = (open(adapter), open(adapter));
    let cache = make_cache(other.device(), None);
    // Kernels that were compiled without the cache are not reused.
    sorter.sort(&mut [2_u32, 1], Order::Ascending).unwrap();
    let sorter = sorter.with_pipeline_cache(&cache);
    let sibling = sorter.with_options(Options::default().seed(1)).unwrap();
    for sorter in [&sorter, &sibling] {
        let refused = sorter.sort(&mut [2_u32, 1], Order::Ascending);
        assert!(matches!(refused, Err(Error::Device(_))), "{refused:?}");
    }
    let refused =
        PrefixSums::new(&sorter).run(&mut [1_u32, 2], &[0, 0], &PrefixSumsOptions::default());
    assert!(matches!(refused, Err(Error::Device(_))), "{refused:?}");
}
