//! A parallel for-each on scoped threads.

/// Calls `act` for each item in parallel, on all threads of the machine including the calling one.
/// Items start in order, and none starts after the first failure.
///
/// Returns when all calls have returned. The error is that of the failed item with the smallest
/// index. A panic in `act` is passed on. In browsers, where wgpu's handles belong to one thread,
/// the calls run one after another.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn for_each_at_once<T: Sync, E: Send>(
    items: &[T],
    act: impl Fn(&T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Mutex, PoisonError};

    // `available_parallelism` takes 30 us: as much as the rest of a call whose kernels are
    // compiled already.
    if items.len() < 2 {
        return items.iter().try_for_each(act);
    }
    let parallelism = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = parallelism.min(items.len());
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let failure: Mutex<Option<(usize, E)>> = Mutex::new(None);
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(i) else { break };
            if let Err(error) = act(item) {
                failed.store(true, Ordering::Relaxed);
                let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                if failure.as_ref().is_none_or(|&(first, _)| i < first) {
                    *failure = Some((i, error));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            // If a thread cannot be started, the others do its work.
            .map_while(|_| {
                let builder = std::thread::Builder::new().name("bcfsort.worker".into());
                builder.spawn_scoped(scope, work).ok()
            })
            .collect();
        work();
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(target_arch = "wasm32")]
pub(crate) fn for_each_at_once<T, E>(
    items: &[T],
    act: impl Fn(&T) -> Result<(), E>,
) -> Result<(), E> {
    items.iter().try_for_each(act)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_item_is_visited_once() {
        for count in [0, 1, 2, 3, 100] {
            let items: Vec<usize> = (0..count).collect();
            let visited = Mutex::new(Vec::new());
            for_each_at_once(&items, |&item| {
                visited.lock().unwrap().push(item);
                Ok::<_, ()>(())
            })
            .unwrap();
            let mut visited = visited.into_inner().unwrap();
            visited.sort_unstable();
            assert_eq!(visited, items);
        }
    }

    #[test]
    fn the_first_failure_in_order_is_returned_and_ends_the_work() {
        let items: Vec<usize> = (0..10_000).collect();
        let visited = Mutex::new(Vec::new());
        let failure = for_each_at_once(&items, |&item| {
            visited.lock().unwrap().push(item);
            if item >= 5 { Err(item) } else { Ok(()) }
        });
        assert_eq!(failure, Err(5));
        // Each thread may have started one more item.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        assert!(visited.into_inner().unwrap().len() <= 5 + threads);
    }

    #[test]
    fn a_panic_is_passed_on() {
        let panic = std::panic::catch_unwind(|| {
            for_each_at_once(&[0, 1, 2], |&item| {
                assert!(item != 1, "item {item}");
                Ok::<_, ()>(())
            })
        })
        .unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.contains("item 1"), "{message}");
    }
}
