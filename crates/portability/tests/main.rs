//! Every kernel, for every key type and order, examined by compilers and validators of the
//! platforms that wgpu stands on. One table says what passed.
//!
//! `cargo test --test portability -- [FILTER]...`, where a filter is a part of a gate's or a kernel's
//! name. A gate whose tools are missing is skipped; `WGPU_BCFSORT_REQUIRE_GATES=1` makes it fail.
//! `bash .ci/portability` installs the tools.

mod cases;
mod dxc;
mod execution;
mod fxc;
mod gate;
mod hlsl;
mod metal;
mod report;
mod spirv;
mod tint;
mod tools;
mod validation;

use gate::{Gate, Subject};
use report::{Failures, Table};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Every gate, in the order of the columns.
fn gates(subjects: &[Subject]) -> Vec<Box<dyn Gate>> {
    vec![
        Box::new(validation::Validation),
        Box::new(tint::Tint::new(subjects)),
        Box::new(spirv::SpirV),
        Box::new(fxc::FxcGate::default()),
        Box::new(dxc::DxcGate::v6_0()),
        Box::new(dxc::DxcGate::v6_6()),
        Box::new(metal::Metal),
        Box::new(metal::Races),
        Box::new(execution::LAVAPIPE),
        Box::new(execution::SWIFTSHADER),
    ]
}

/// How many of the examinations that took longest are named.
const SLOWEST: usize = 8;

fn main() -> ExitCode {
    let Some(filters) = filters(std::env::args().skip(1)) else {
        return ExitCode::SUCCESS;
    };
    // Before there is another thread: it changes the environment.
    execution::choose_drivers();
    let required = std::env::var_os("WGPU_BCFSORT_REQUIRE_GATES").is_some_and(|set| set != "0");
    let mut table = Table::default();
    let mut failures = Failures::default();

    let mut subjects = Vec::new();
    for subject in Subject::all() {
        match subject {
            Ok(subject) => subjects.push(subject),
            // No gate gets to see it, so it is missing from every column.
            Err((kernel, why)) => {
                table.expect(kernel.kernel());
                failures.add("naga", &kernel.label(), why);
            }
        }
    }
    let (subjects, gates) = chosen(subjects, &filters);
    if gates.is_empty() {
        return ExitCode::SUCCESS;
    }
    for subject in &subjects {
        table.expect(subject.specialised.kernel());
    }

    println!("\nportability: {} kernels\n", subjects.len());
    let mut jobs = Vec::new();
    for gate in &gates {
        let gate = &**gate;
        let column = table.column(gate.name());
        println!("{}: {}", gate.name(), gate.catches());
        match guarded(|| gate.ready()) {
            Ok(found) => {
                println!("    tool: {found}");
                jobs.push(Job {
                    gate,
                    column,
                    subject: None,
                });
                let mut left_out = BTreeMap::new();
                for subject in &subjects {
                    if let Some(reason) = gate.leaves_out(subject) {
                        *left_out.entry(reason).or_insert(0) += 1;
                        table.leave_out(column, subject.specialised.kernel());
                        continue;
                    }
                    jobs.push(Job {
                        gate,
                        column,
                        subject: Some(subject),
                    });
                }
                for (reason, count) in left_out {
                    println!("    left out: {count} kernels that {reason}");
                }
            }
            Err(missing) => {
                table.skip(column);
                println!("    skipped: {missing}");
                if required {
                    failures.add(gate.name(), "not ready, and required", missing);
                }
            }
        }
    }

    // Lavapipe compiles one kernel at a time, and so another gate is to run beside it.
    jobs.sort_by_key(|job| {
        (job.gate.runs_kernels()).then_some(job.subject.map(|subject| &subject.label))
    });
    let examined = jobs.len();
    println!("\nplanted, and caught:");
    let mut slowest = Vec::new();
    for Done { job, result, time } in run(&jobs) {
        table.took(job.column, time);
        slowest.push((time, job));
        match (job.subject, result) {
            (Some(subject), Ok(_)) => table.pass(job.column, subject.specialised.kernel()),
            (Some(subject), Err(why)) => failures.add(job.gate.name(), &subject.label, why),
            (None, Ok(caught)) => println!("    {}: {caught}", job.gate.name()),
            (None, Err(why)) => failures.add(job.gate.name(), "a fault planted", why),
        }
    }
    slowest.sort_by_key(|&(time, _)| std::cmp::Reverse(time));
    println!("\nslowest:");
    for (time, job) in slowest.iter().take(SLOWEST) {
        let of = (job.subject).map_or("faults planted", |subject| &subject.label);
        println!("{:6.1} s  {}: {of}", time.as_secs_f64(), job.gate.name());
    }
    println!(
        "\n{table}\n{failures}portability: {examined} examinations, {} failed",
        failures.count()
    );
    if failures.count() == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The kernels and gates that the filters mean. Filters of one kind choose among all of the other;
/// those of neither mean another test.
fn chosen(mut subjects: Vec<Subject>, filters: &[String]) -> (Vec<Subject>, Vec<Box<dyn Gate>>) {
    let is_meant = |name: &str| {
        let name = name.to_lowercase();
        filters.iter().any(|filter| name.contains(filter))
    };
    let some_kernels = subjects.iter().any(|subject| is_meant(&subject.label));
    if some_kernels {
        subjects.retain(|subject| is_meant(&subject.label));
    }
    let mut gates = gates(&subjects);
    if gates.iter().any(|gate| is_meant(gate.name())) {
        gates.retain(|gate| is_meant(gate.name()));
    } else if !filters.is_empty() && !some_kernels {
        gates.clear();
    }
    (subjects, gates)
}

/// What to run, in lower case: all of it if there is no filter; nothing (`None`) where cargo or a
/// test runner asks for something that libtest has and this has not.
fn filters(arguments: impl Iterator<Item = String>) -> Option<Vec<String>> {
    let mut filters = Vec::new();
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" | "--ignored" | "--bench" => return None,
            // The options with a value of its own.
            "--test-threads" | "--skip" | "--format" | "--color" | "--logfile" | "-Z" => {
                arguments.next();
            }
            option if option.starts_with('-') => {}
            filter => filters.push(filter.to_lowercase()),
        }
    }
    Some(filters)
}

/// One kernel before one gate; or no kernel, but the faults planted for that gate.
struct Job<'a> {
    gate: &'a dyn Gate,
    column: usize,
    subject: Option<&'a Subject>,
}

struct Done<'a> {
    job: &'a Job<'a>,
    result: Result<String, String>,
    time: Duration,
}

/// Does all jobs on all cores. The results come in the jobs' order, so that two runs can be compared.
fn run<'a>(jobs: &'a [Job<'a>]) -> Vec<Done<'a>> {
    /// Between two lines of progress.
    const PAUSE: Duration = Duration::from_secs(10);

    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let said = Mutex::new(Instant::now());
    std::thread::scope(|scope| {
        // Before all cores have to wait for them.
        if jobs.iter().any(|job| job.gate.runs_kernels()) {
            scope.spawn(cases::Case::all);
        }
        for _ in 0..available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(number) else {
                        break;
                    };
                    let begin = Instant::now();
                    let result = guarded(|| match job.subject {
                        Some(subject) => job.gate.examine(subject).map(|()| String::new()),
                        None => job.gate.planted(),
                    });
                    let time = begin.elapsed();
                    let mut done = done.lock().expect("no panic in a push");
                    done.push((number, Done { job, result, time }));
                    let mut said = said.lock().expect("no panic in a print");
                    if said.elapsed() > PAUSE {
                        eprintln!("portability: {} of {}", done.len(), jobs.len());
                        *said = Instant::now();
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no panic in a push");
    done.sort_by_key(|&(number, _)| number);
    done.into_iter().map(|(_, done)| done).collect()
}

/// A result also of what panics, as naga does where it meets what it holds impossible.
fn guarded(job: impl FnOnce() -> Result<String, String>) -> Result<String, String> {
    catch_unwind(AssertUnwindSafe(job))
        .unwrap_or_else(|_| Err("panicked: its message stands above".to_owned()))
}
