//! Parallel work, on the threads of rayon's pool.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also after a thread has panicked while it held the lock: no call leaves what
/// others see half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `act` for each item in parallel, on the threads of the calling thread's pool of rayon,
/// which are started already. Items start in about their order, and none starts after the first
/// failure.
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
                let mut failure = lock(&failure);
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

#[cfg(target_arch = "wasm32")]
pub(crate) fn for_each_at_once<T, E>(
    items: &[T],
    act: impl Fn(&T) -> Result<(), E>,
) -> Result<(), E> {
    items.iter().try_for_each(act)
}

/// Calls `act` with each item in parallel, as [`for_each_at_once`].
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn each_at_once<T: Send>(
    items: impl IntoIterator<Item = T>,
    act: impl Fn(T) + Send + Sync,
) {
    use rayon::prelude::*;

    if pool() < 2 {
        return items.into_iter().for_each(act);
    }
    let items: Vec<T> = items.into_iter().collect();
    items.into_par_iter().for_each(act);
}

#[cfg(target_arch = "wasm32")]
pub(crate) fn each_at_once<T>(items: impl IntoIterator<Item = T>, act: impl Fn(T)) {
    items.into_iter().for_each(act);
}

/// The threads of the calling thread's pool of rayon: the only one, if there are no more to be had.
#[cfg(not(target_arch = "wasm32"))]
fn pool() -> usize {
    use std::sync::LazyLock;

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
}
