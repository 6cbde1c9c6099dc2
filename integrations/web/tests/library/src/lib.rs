//! The library itself in a browser, on wgpu's WebGPU backend: a test calls these functions.
#![cfg(target_arch = "wasm32")]

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use wasm_bindgen::prelude::wasm_bindgen;
use wgpu_bcfsort::paper::{PrefixSums, PrefixSumsOptions};
use wgpu_bcfsort::{
    Comparator, Detail, Error, KeyType, Keys, Options, Order, SortJob, SortKey, Sorter, wgpu,
};

/// Fails with a text where two values differ.
fn same<T: PartialEq + std::fmt::Debug>(a: &T, b: &T, what: &str) -> Result<(), String> {
    if a == b {
        return Ok(());
    }
    let mut text = format!("{what}: {a:?} and not {b:?}");
    text.truncate(500);
    Err(text)
}

fn text(error: Error) -> String {
    error.to_string()
}

async fn open() -> Result<Sorter, String> {
    Sorter::open_async(Options::default()).await.map_err(text)
}

async fn sorted<T: SortKey + PartialEq>(
    sorter: &Sorter,
    key: impl Fn(u32) -> T,
    compare: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> Result<(), String> {
    for len in [0_u32, 1, 2, 1000, 5000] {
        let keys: Vec<T> = (0..len)
            .map(|i| key(i.wrapping_mul(2_654_435_761)))
            .collect();
        let mut expected = keys.clone();
        expected.sort_by(&compare);
        let mut sorted = keys.clone();
        sorter
            .sort_async(&mut sorted, Order::Ascending)
            .await
            .map_err(text)?;
        same(&sorted, &expected, "sort_async")?;
        let indices = sorter
            .argsort_async(&keys, Order::Ascending)
            .await
            .map_err(text)?;
        let gathered: Vec<T> = indices.iter().map(|&i| keys[i as usize]).collect();
        same(&gathered, &expected, "argsort_async")?;
    }
    Ok(())
}

/// Every async function.
///
/// # Errors
///
/// What is wrong, as a text.
#[wasm_bindgen]
pub async fn every_call() -> Result<(), String> {
    let sorter = open().await?;
    sorted(&sorter, |i| i, u32::cmp).await?;
    sorted(&sorter, |i| i as i32, i32::cmp).await?;
    sorted(&sorter, |i| f64::from(i) - 2e9, f64::total_cmp).await?;
    sorted(&sorter, |i| u64::from(i) << 20, u64::cmp).await?;

    let order = Order::Descending;
    let mut keys = [1.5_f32, -2.0, 9.0];
    wgpu_bcfsort::sort_async(&mut keys).await.map_err(text)?;
    same(&keys, &[-2.0, 1.5, 9.0], "sort_async")?;
    let mut values = ["a", "b", "c"];
    let pairs = sorter.sort_pairs_async(&mut keys, &mut values, order);
    pairs.await.map_err(text)?;
    same(&values, &["c", "b", "a"], "sort_pairs_async")?;
    let by_key = sorter.sort_by_key_async(&mut values, Order::Ascending, |v| {
        u32::from(v.as_bytes()[0])
    });
    by_key.await.map_err(text)?;
    same(&values, &["a", "b", "c"], "sort_by_key_async")?;

    let nearest = "struct Point { at: vec2<f32> }
        fn precedes(a: Point, b: Point) -> bool { return dot(a.at, a.at) < dot(b.at, b.at); }";
    let nearest = Comparator::new(nearest).map_err(text)?;
    let mut points = [[3.0_f32, 4.0], [0.0, -1.0], [2.0, 2.0]];
    let by = sorter.sort_by_async(&mut points, &nearest, Order::Ascending);
    by.await.map_err(text)?;
    same(&points[0], &[0.0, -1.0], "sort_by_async")?;

    let buffer = sorter.upload_async(&[7_u32, 3, 5]).await.map_err(text)?;
    let keys = Keys::new(&buffer, KeyType::U32);
    let sort = SortJob::new(keys.clone(), 3).prepare_async(&sorter).await;
    let sort = sort.map_err(text)?;
    let profile = sort.profile_async(Detail::Whole).await.map_err(text)?;
    same(&profile.phases.len(), &0, "a profile of the whole")?;
    let profile = sort.profile_async(Detail::Phases).await.map_err(text)?;
    same(&profile.phases.is_empty(), &false, "a profile of phases")?;
    let downloaded = sorter.download_async::<u32>(&buffer).await.map_err(text)?;
    same(&downloaded, &vec![3, 5, 7], "download_async")?;
    let until = sorter.is_sorted_until_async(&keys, 3, order).await;
    same(&until.map_err(text)?, &1, "is_sorted_until_async")?;

    let mut words: Vec<u32> = (0..3000).rev().collect();
    let mut all = Vec::new();
    let taken = sorter.sort_to_async(&mut words, Order::Ascending, |block| {
        all.extend_from_slice(block);
        Ok::<_, Error>(())
    });
    taken.await.map_err(text)?;
    same(&all.is_sorted(), &true, "sort_to_async")?;

    let sums = PrefixSums::new(&sorter);
    let mut values = [1_u32, 10, 2, 20];
    let options = PrefixSumsOptions::default().colors(2);
    let run = sums.run_async(&mut values, &[0, 1, 0, 1], &options);
    run.await.map_err(text)?;
    same(&values, &[1, 10, 3, 30], "run_async")?;
    let run = sums.profile_async(&mut values, &[0, 1, 0, 1], &options);
    let profile = run.await.map_err(text)?;
    same(&profile.phases.len(), &3, "a profile of prefix sums")?;
    sorter.warm_up(3000, KeyType::I64, order).map_err(text)
}

/// Errors are returned to the caller, and not passed to the device's handler.
///
/// # Errors
///
/// What is wrong, as a text.
#[wasm_bindgen]
pub async fn errors() -> Result<(), String> {
    let (sorter, other) = (open().await?, open().await?);
    let uncaptured = Arc::new(AtomicU32::new(0));
    let count = uncaptured.clone();
    let handler = move |_: wgpu::Error| {
        count.fetch_add(1, Ordering::Relaxed);
    };
    sorter.device().on_uncaptured_error(Arc::new(handler));
    let foreign = other.upload(&[2_u32, 1]).map_err(text)?;
    let job = SortJob::new(Keys::new(&foreign, KeyType::U32), 2);
    let refused = job.prepare_async(&sorter).await;
    if !matches!(refused, Err(Error::Device(_))) {
        return Err(format!("{refused:?}"));
    }
    // This one cannot wait: the next one that does not returns its error.
    job.prepare(&sorter).map_err(text)?;
    let sorted = sorter.sort_async(&mut [2_u32, 1], Order::Ascending).await;
    sorted.map_err(text)?;
    let own = sorter.upload_async(&[2_u32, 1]).await.map_err(text)?;
    let job_of_own = SortJob::new(Keys::new(&own, KeyType::U32), 2);
    let refused = job_of_own.prepare(&sorter);
    if !matches!(refused, Err(Error::Device(_))) {
        return Err(format!("{refused:?}"));
    }
    // At the same time as a call that succeeds.
    let mut many: Vec<u32> = (0..2000).rev().collect();
    let refused = both(
        job.prepare_async(&sorter),
        sorter.sort_async(&mut many, Order::Ascending),
    );
    let (refused, sorted) = refused.await;
    if !matches!(refused, Err(Error::Device(_))) {
        return Err(format!("{refused:?}"));
    }
    sorted.map_err(text)?;
    same(&many.is_sorted(), &true, "the sort beside an error")?;
    let mut keys = [2_u32, 1];
    let again = sorter.sort_async(&mut keys, Order::Ascending).await;
    again.map_err(text)?;
    same(&keys, &[1, 2], "the sort after an error")?;
    let blocked = sorter.sort(&mut keys, Order::Descending);
    if !matches!(&blocked, Err(Error::Device(message)) if message.contains("async")) {
        return Err(format!("{blocked:?}"));
    }
    same(
        &uncaptured.load(Ordering::Relaxed),
        &0,
        "errors in the handler",
    )
}

/// Runs two futures at the same time.
async fn both<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut of_a, mut of_b) = (None, None);
    poll_fn(|context| {
        if of_a.is_none()
            && let Poll::Ready(output) = a.as_mut().poll(context)
        {
            of_a = Some(output);
        }
        if of_b.is_none()
            && let Poll::Ready(output) = b.as_mut().poll(context)
        {
            of_b = Some(output);
        }
        if of_a.is_none() || of_b.is_none() {
            return Poll::Pending;
        }
        Poll::Ready(of_a.take().zip(of_b.take()))
    })
    .await
    .expect("both are there")
}
