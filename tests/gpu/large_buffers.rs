//! Slices and buffers that are larger than a binding of the device.

use crate::device::{check_sort, gpu, is_loss, own_device, random};
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;
use wgpu_bcfsort::{Detail, Error, KeyType, Keys, Options, Order, SortJob, Sorter};

#[test]
fn slices_larger_than_the_device_are_sorted_in_ranges() {
    let Some(gpu) = gpu() else { return };
    let (device, queue) = own_device(gpu, |limits| {
        limits.max_storage_buffer_binding_size = 16 << 20;
    });
    let sorter = Sorter::new(&device, &queue, Options::default()).unwrap();
    assert_eq!(sorter.max_len(KeyType::U32), 4 << 20);
    assert_eq!(sorter.max_len(KeyType::F64), 2 << 20);
    // One key more than fits; and keys of which most are equal.
    check_sort(
        &sorter,
        &random::<f64>((2 << 20) + 1, 8),
        Order::Descending,
        "one key too many",
    );
    if gpu.runs_all_cases() {
        let mut keys = random::<u32>((8 << 20) + 77, 7);
        check_sort(&sorter, &keys, Order::Ascending, "two times too many");
        keys[100..7 << 20].fill(1 << 31);
        check_sort(&sorter, &keys, Order::Ascending, "most of them equal");
    }

    // If its future is dropped, the slice is unchanged: also when a range has been written to it.
    let keys = random::<u32>((4 << 20) + 1, 9);
    let mut dropped = keys.clone();
    let mut polled = 0;
    loop {
        let mut sort = Box::pin(sorter.sort_async(&mut dropped, Order::Ascending));
        let is_done = poll_times(sort.as_mut(), polled);
        drop(sort);
        if is_done {
            break;
        }
        assert!(dropped == keys, "dropped when polled {polled} times");
        polled = (polled + 1) * 2;
    }
    assert!(dropped.is_sorted());

    // If the device is lost, too.
    let mut lost = keys.clone();
    device.destroy();
    assert!(is_loss(
        &sorter.sort(&mut lost, Order::Ascending).unwrap_err()
    ));
    assert!(lost == keys, "the slice was touched");
}

/// Whether a future is ready when it is polled so many times.
fn poll_times(mut future: Pin<&mut impl Future>, times: usize) -> bool {
    (0..times).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        let mut context = Context::from_waker(Waker::noop());
        future.as_mut().poll(&mut context).is_ready()
    })
}

#[test]
fn a_part_of_a_buffer_larger_than_a_binding_is_sorted() {
    use wgpu::BufferUsages as Usage;
    let Some(gpu) = gpu() else { return };
    let (device, queue) = own_device(gpu, |limits| {
        limits.max_storage_buffer_binding_size = 16 << 20;
    });
    let sorter = Sorter::new(&device, &queue, Options::default()).unwrap();
    let (all, first, len) = ((4 << 20) + 5000, (4 << 20) + 77, 900);
    let buffer = |usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4 * all,
            usage,
            mapped_at_creation: false,
        })
    };
    let [keys, indices] =
        [(); 2].map(|()| buffer(Usage::STORAGE | Usage::COPY_DST | Usage::COPY_SRC));
    let part = random::<u32>(len, 5);
    queue.write_buffer(&keys, 4 * first, bytemuck::cast_slice(&part));
    let at = 4 * first;
    let of_keys = Keys::new(keys.slice(at..), KeyType::U32);
    let job = SortJob::new(of_keys, len as u64).indices(indices.slice(at..));
    job.prepare(&sorter)
        .unwrap()
        .profile(Detail::Phases)
        .unwrap();

    let on_cpu = buffer(Usage::MAP_READ | Usage::COPY_DST);
    let read = |from: &wgpu::Buffer, record: u64, len: usize| -> Vec<u32> {
        let mut encoder = device.create_command_encoder(&<_>::default());
        encoder.copy_buffer_to_buffer(from, 4 * record, &on_cpu, 0, 4 * len as u64);
        queue.submit([encoder.finish()]);
        let slice = on_cpu.slice(..4 * len as u64);
        slice.map_async(wgpu::MapMode::Read, |mapped| mapped.unwrap());
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let words = bytemuck::pod_collect_to_vec(&slice.get_mapped_range().unwrap());
        on_cpu.unmap();
        words
    };
    let mut expected: Vec<u32> = (0..len as u32).collect();
    expected.sort_by_key(|&i| part[i as usize]);
    assert_eq!(read(&indices, first, len), expected);
    // Keys before and after the part stay.
    let in_order = expected.iter().map(|&i| part[i as usize]);
    let sorted: Vec<u32> = [0].into_iter().chain(in_order).chain([0]).collect();
    assert_eq!(read(&keys, first - 1, len + 2), sorted);

    // Ranges that are too short. `slice` would panic on some of them.
    let refused = |offset, size| {
        let range = wgpu::BufferBinding {
            buffer: &keys,
            offset,
            size: wgpu::BufferSize::new(size),
        };
        let job = SortJob::new(Keys::new(range, KeyType::U32), len as u64);
        job.prepare(&sorter).unwrap_err()
    };
    let bytes = 4 * len as u64;
    for (offset, size, actual) in [
        (at, bytes - 4, bytes - 4),
        (4 * all - bytes + 4, 0, bytes - 4),
        (4 * all, 0, 0),
        (u64::MAX - 3, 0, 0),
        (u64::MAX - 3, bytes, 0),
    ] {
        let error = refused(offset, size);
        let Error::BufferTooSmall {
            needed,
            actual: found,
            ..
        } = error
        else {
            panic!("{offset}: {error:?}");
        };
        assert_eq!((needed, found), (bytes, actual), "{offset}");
    }
    for offset in [at + 2, u64::MAX] {
        let error = refused(offset, 0);
        let Error::Offset {
            offset: found,
            multiple_of: 4,
            ..
        } = error
        else {
            panic!("{offset}: {error:?}");
        };
        assert_eq!(found, offset);
    }
}
