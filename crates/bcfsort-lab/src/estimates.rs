//! `bench --auto`: the estimates that `auto` compares, beside the clock.

use crate::measure::median;
use bcfsort_auto::cpu;
use bcfsort_auto::model::{Call, Gpu, Work};
use bcfsort_auto::{AutoSorter, OnError};
use bcfsort_data::{Pattern, Spec, generate};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use bcfsort_term::output::print;
use bcfsort_term::with_key_type;
use std::time::{Duration, Instant};
use wgpu_bcfsort::{KeyType, Order, SortKey, Sorter};

/// Time to spend on a call and a device: enough repeats for a median, and no more.
const ENOUGH: Duration = Duration::from_millis(300);

/// What to measure.
pub(crate) struct Series<'a> {
    pub sizes: &'a [u64],
    pub types: &'a [KeyType],
    pub repeats: u32,
    pub seed: u64,
    pub quiet: bool,
}

/// Prints the measured times as a table, a line for each call: see [`HEADER`].
pub(crate) fn run(series: &Series<'_>, sorter: Option<Sorter>) -> Result<(), Fault> {
    let sorter = sorter.map(|sorter| AutoSorter::of_sorter(sorter).on_error(OnError::Fail));
    print(HEADER)?;
    let mut progress = Progress::new(series.quiet);
    for &key in series.types {
        for &size in series.sizes {
            progress.show(|| format!("{size} {key}"));
            let lines = with_key_type!(key, T => lines::<T>(series, size, sorter.as_ref()))?;
            print(&lines)?;
        }
    }
    Ok(())
}

/// Times are in milliseconds. `cost` is the time of the device that `auto` would take, if the GPU
/// is open, by the time of the best one.
pub(crate) const HEADER: &str =
    "work,type,keys,threads,cpu,cpu_estimate,gpu,gpu_estimate,chosen,cost\n";

fn lines<T: SortKey>(
    series: &Series<'_>,
    size: u64,
    sorter: Option<&AutoSorter>,
) -> Result<String, Fault> {
    let spec = Spec::new(Pattern::Random, size).seed(series.seed);
    let input: Vec<T> = generate(&spec).map_err(|error| Fault::Usage(error.to_string()))?;
    let mut keys = input.clone();
    let mut lines = String::new();
    for work in [Work::Sort, Work::Argsort] {
        let on_cpu = timed(series.repeats, || {
            keys.copy_from_slice(&input);
            let started = Instant::now();
            match work {
                Work::Sort => cpu::sort(&mut keys, Order::Ascending),
                Work::Argsort => drop(cpu::argsort(&keys, Order::Ascending)),
            }
            Ok(started.elapsed())
        })?;
        let on_gpu = sorter.map(|sorter| {
            timed(series.repeats, || {
                keys.copy_from_slice(&input);
                let started = Instant::now();
                match work {
                    Work::Sort => sorter.sort(&mut keys, Order::Ascending)?,
                    Work::Argsort => drop(sorter.argsort(&keys, Order::Ascending)?),
                }
                Ok(started.elapsed())
            })
        });
        let call = Call::new(size, T::KEY_TYPE, work);
        let estimate = call.estimate(Gpu::Open);
        let takes_gpu = estimate.gpu < estimate.cpu;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let on_cpu = ms(on_cpu);
        let (gpu, cost) = match on_gpu.transpose()?.map(ms) {
            Some(gpu) => {
                let chosen = if takes_gpu { gpu } else { on_cpu };
                (
                    format!("{gpu:.4}"),
                    format!("{:.3}", chosen / gpu.min(on_cpu)),
                )
            }
            None => (String::new(), String::new()),
        };
        lines += &format!(
            "{},{},{size},{},{on_cpu:.4},{:.4},{gpu},{:.4},{},{cost}\n",
            work.name(),
            T::KEY_TYPE,
            call.threads,
            estimate.cpu * 1e3,
            estimate.gpu * 1e3,
            if takes_gpu { "gpu" } else { "cpu" },
        );
    }
    Ok(lines)
}

/// The median of some runs, after one that is not counted.
fn timed(
    repeats: u32,
    mut run: impl FnMut() -> Result<Duration, Fault>,
) -> Result<Duration, Fault> {
    let mut times = Vec::new();
    let started = Instant::now();
    run()?;
    while times.len() < repeats as usize && (times.len() < 3 || started.elapsed() < ENOUGH) {
        times.push(run()?);
    }
    Ok(median(times.into_iter()))
}
