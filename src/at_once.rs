//! Parallel work: short items on threads that are there, long ones on threads of their own.

use std::sync::LazyLock;

/// Calls `act` for each item in parallel, on the threads of the calling thread's pool of rayon,
/// which are started already. Items start in about their order, and none starts after the first failure.
///
/// Returns when all calls have returned. The error is that of the failed item with the smallest
/// index. A panic in `act` is passed on. In browsers, where wgpu's handles belong to one thread,
/// the calls run one after another.
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
pub(crate) fn for_each_at_once<T: Sync, E: Send>(
    items: &[T],
    act: impl Fn(&T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Mutex, PoisonError};

    let threads = pool().min(items.len());
    if threads < 2 {
        return items.iter().try_for_each(act);
    }
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
    // The calling thread works, too: it need not wait until another one has woken up.
    rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| work());
        }
        work();
    });
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(all(feature = "gpu", target_arch = "wasm32"))]
pub(crate) fn for_each_at_once<T, E>(
    items: &[T],
    act: impl Fn(&T) -> Result<(), E>,
) -> Result<(), E> {
    items.iter().try_for_each(act)
}

/// Calls `produce` for 0, 1, ..., `count - 1` on all threads of the machine, and passes the results
/// to `take` on the calling thread, in this order. An error of `take` ends the work.
///
/// Results are produced while others are taken, one in advance on each thread. `produce` gets a
/// result that was taken, to use its memory again. A panic in `produce` is passed on. In browsers,
/// all runs on the calling thread.
pub(crate) fn produce_in_order<T: Default + Send, E>(
    count: usize,
    produce: impl Fn(usize, &mut T) + Sync,
    mut take: impl FnMut(&T) -> Result<(), E>,
) -> Result<(), E> {
    use std::sync::mpsc::{channel, sync_channel};

    let threads = if cfg!(target_arch = "wasm32") {
        0
    } else {
        parallelism()
    };
    std::thread::scope(|scope| {
        // Each thread has every `threads`th number, so its own results are in order.
        let workers: Vec<_> = (0..threads.min(count))
            .map(|thread| {
                let (results, ready) = sync_channel(0);
                let (used, free) = channel();
                let produce = &produce;
                let work = move || {
                    for i in (thread..count).step_by(threads) {
                        let mut result: T = free.try_recv().unwrap_or_default();
                        produce(i, &mut result);
                        // Nobody receives after an error.
                        if results.send(result).is_err() {
                            break;
                        }
                    }
                };
                let builder = std::thread::Builder::new().name("bcfsort.worker".into());
                let worker = builder.spawn_scoped(scope, work).ok()?;
                Some((worker, ready, used))
            })
            .collect();
        let mut own = T::default();
        for i in 0..count {
            // If a thread cannot be started, this one does its work.
            let Some((_, ready, used)) = workers.get(i % threads.max(1)).and_then(Option::as_ref)
            else {
                produce(i, &mut own);
                take(&own)?;
                continue;
            };
            let Ok(result) = ready.recv() else {
                break;
            };
            take(&result)?;
            // The thread may have ended.
            let _ = used.send(result);
        }
        // Without receivers the threads end.
        let workers: Vec<_> = (workers.into_iter().flatten())
            .map(|(worker, _, _)| worker)
            .collect();
        for worker in workers {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
        Ok(())
    })
}

/// The threads of the calling thread's pool of rayon: the only one, if there are no more to be had.
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
fn pool() -> usize {
    // (Without this question rayon panics if the system refuses it a thread.)
    static STARTED: LazyLock<bool> = LazyLock::new(|| {
        let started = rayon::ThreadPoolBuilder::new().build_global();
        // An error of the system has a source; that the pool was started before has none.
        started.map_or_else(
            |error| std::error::Error::source(&error).is_none(),
            |()| true,
        )
    });
    if *STARTED {
        rayon::current_num_threads()
    } else {
        1
    }
}

/// The threads of the machine. Asked once: on Linux, the answer takes 30 us and more, as long as a
/// short sort whose kernels are compiled.
fn parallelism() -> usize {
    static THREADS: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    *THREADS
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
        assert!(visited.into_inner().unwrap().len() <= 5 + pool());
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

    #[test]
    fn results_are_taken_in_order_until_an_error() {
        for (count, end) in [(0, 0), (1, 1), (2, 2), (1000, 1000), (1000, 7)] {
            let mut taken = Vec::new();
            let outcome = produce_in_order(
                count,
                |i, result: &mut Vec<usize>| {
                    result.clear();
                    result.push(i);
                },
                |result| {
                    if taken.len() == end {
                        return Err("full");
                    }
                    taken.extend_from_slice(result);
                    Ok(())
                },
            );
            assert_eq!(outcome.is_ok(), count == end);
            assert!(taken.iter().copied().eq(0..end));
        }
    }

    #[test]
    fn a_panic_of_a_producer_is_passed_on() {
        let panic = std::panic::catch_unwind(|| {
            let produce = |i, (): &mut ()| assert!(i != 5, "number {i}");
            produce_in_order(100, produce, |()| Ok::<_, ()>(()))
        })
        .unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.contains("number 5"), "{message}");
    }
}
