//! A queue of jobs for all processors. Jobs may wait for others, or exclude each other.

use std::collections::HashSet;
use std::num::NonZero;
use std::sync::{Condvar, Mutex};
use std::thread::available_parallelism;

/// A job.
pub(crate) trait Job: Sync {
    /// True if it can begin, because the jobs that it needs are done.
    fn is_ready(&self) -> bool;
    /// Jobs with the same lane are done one at a time.
    fn lane(&self) -> Option<usize>;
}

struct State<R> {
    /// The indices of the waiting jobs, in order.
    waiting: Vec<usize>,
    /// Lanes in use.
    lanes: HashSet<usize>,
    results: Vec<(usize, R)>,
}

/// Does all jobs. Each free processor begins the first job that can begin. The results are in the
/// order of the jobs, so that runs can be compared. Jobs must not panic.
pub(crate) fn run<J: Job, R: Send>(
    jobs: &[J],
    work: impl Fn(&J) -> R + Sync,
    progress: impl Fn(usize) + Sync,
) -> Vec<R> {
    let state = Mutex::new(State {
        waiting: (0..jobs.len()).collect(),
        lanes: HashSet::new(),
        results: Vec::new(),
    });
    let ended = Condvar::new();
    let lock = || state.lock().expect("nothing panics in a lock");
    let worker = || {
        let mut state = lock();
        while !state.waiting.is_empty() {
            let can_begin = |&number: &usize| {
                let job: &J = &jobs[number];
                job.lane().is_none_or(|lane| !state.lanes.contains(&lane)) && job.is_ready()
            };
            let Some(at) = state.waiting.iter().position(can_begin) else {
                // The jobs that it waits for are running in other threads.
                state = ended.wait(state).expect("nothing panics in a lock");
                continue;
            };
            let number = state.waiting.remove(at);
            state.lanes.extend(jobs[number].lane());
            drop(state);
            let result = work(&jobs[number]);
            state = lock();
            if let Some(lane) = jobs[number].lane() {
                state.lanes.remove(&lane);
            }
            state.results.push((number, result));
            progress(state.results.len());
            ended.notify_all();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(worker);
        }
    });
    let mut results = state
        .into_inner()
        .expect("nothing panics in a lock")
        .results;
    results.sort_by_key(|&(number, _)| number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::{Job, run};
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Counted<'a> {
        needs: usize,
        lane: Option<usize>,
        done: &'a AtomicUsize,
    }

    impl Job for Counted<'_> {
        fn is_ready(&self) -> bool {
            self.done.load(Ordering::SeqCst) >= self.needs
        }

        fn lane(&self) -> Option<usize> {
            self.lane
        }
    }

    #[test]
    fn jobs_wait_for_what_they_need_and_for_their_lane() {
        let done = AtomicUsize::new(0);
        let in_lane = AtomicUsize::new(0);
        // Each job waits for all later ones, and every other job uses the lane.
        let jobs: Vec<_> = (0..100)
            .map(|number| Counted {
                needs: 99 - number,
                lane: (number % 2 == 0).then_some(7),
                done: &done,
            })
            .collect();
        let results = run(
            &jobs,
            |job| {
                if job.lane.is_some() {
                    assert_eq!(in_lane.fetch_add(1, Ordering::SeqCst), 0);
                    std::thread::yield_now();
                    in_lane.fetch_sub(1, Ordering::SeqCst);
                }
                assert!(job.is_ready());
                done.fetch_add(1, Ordering::SeqCst);
                job.needs
            },
            |_| (),
        );
        assert!(results.into_iter().eq((0..100).rev()));
    }
}
