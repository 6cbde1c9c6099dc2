//! Work that is done on several threads at the same time.

/// Calls `act` for each item, at the same time on as many threads as the machine runs at once, of
/// which the caller's is one. Items are begun in order, and none after the first failure.
///
/// It returns when all calls have, with the error of the first item in order that failed. A panic
/// of a call is one of this function. In browsers, where wgpu's handles belong to one thread, the
/// items' calls follow each other.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn for_each_at_once<T: Sync, E: Send>(
    items: &[T],
    act: impl Fn(&T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Mutex, PoisonError};

    // (It takes 30 us to ask how many threads there may be, as much as all else of a call that
    // finds its kernels compiled.)
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
            // Without another thread, those that there are do its work.
            .map_while(|_| {
                let builder = std::thread::Builder::new().name("bcfsort.compile".into());
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
    fn every_item_is_taken_once() {
        for count in [0, 1, 2, 3, 100] {
            let items: Vec<usize> = (0..count).collect();
            let taken = Mutex::new(Vec::new());
            for_each_at_once(&items, |&item| {
                taken.lock().unwrap().push(item);
                Ok::<_, ()>(())
            })
            .unwrap();
            let mut taken = taken.into_inner().unwrap();
            taken.sort_unstable();
            assert_eq!(taken, items);
        }
    }

    #[test]
    fn the_first_failure_in_order_is_returned_and_ends_the_work() {
        let items: Vec<usize> = (0..10_000).collect();
        let taken = Mutex::new(Vec::new());
        let failure = for_each_at_once(&items, |&item| {
            taken.lock().unwrap().push(item);
            if item >= 5 { Err(item) } else { Ok(()) }
        });
        assert_eq!(failure, Err(5));
        // One of each thread at the most has been begun beside it.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        assert!(taken.into_inner().unwrap().len() <= 5 + threads);
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
        let said = panic.downcast_ref::<String>().unwrap();
        assert!(said.contains("item 1"), "{said}");
    }
}
