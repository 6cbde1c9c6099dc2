//! Examines every kernel with compilers and validators of the platforms that wgpu supports, and
//! prints a table of the results.
//!
//! `cargo test -p portability --test gates -- [FILTER]...`, where a filter is a part of a gate's or
//! a kernel's name. A gate without its tools is skipped; with `WGPU_BCFSORT_REQUIRE_GATES=1` it
//! fails. `bash .ci/portability` installs the tools. With `WGPU_BCFSORT_ALL_FORMS=1`, lavapipe runs
//! all forms of a kernel, as `SwiftShader` always does.
//!
//! Each gate is a module. `gate` defines gates, and `cases` provides the input of kernels. `tools/`
//! has programs that run compilers and drivers.

mod cache;
mod cases;
mod dxc;
mod execution;
mod fxc;
mod gate;
mod hlsl;
mod metal;
mod queue;
mod report;
mod spirv;
mod tint;
mod tools;
mod validation;

use cache::Cache;
use cases::Corpus;
use gate::{Gate, Stage, Subject};
use report::{Failures, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// All gates, in the order of the columns.
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

/// The number of slow examinations listed.
const SLOWEST: usize = 8;

/// Examines the kernels that the arguments select, and prints the results.
#[must_use]
pub fn run(arguments: impl Iterator<Item = String>) -> ExitCode {
    let Some(filters) = filters(arguments) else {
        return ExitCode::SUCCESS;
    };
    // This changes the environment, so it comes before the first thread.
    execution::choose_drivers();
    let required = std::env::var_os("WGPU_BCFSORT_REQUIRE_GATES").is_some_and(|set| set != "0");
    let mut table = Table::default();
    let mut failures = Failures::default();

    let mut subjects = Vec::new();
    for subject in Subject::all() {
        match subject {
            Ok(subject) => subjects.push(subject),
            // No gate examines it, so it is missing from all columns.
            Err((kernel, why)) => {
                table.expect(kernel.name());
                failures.add("naga", kernel.label(), why);
            }
        }
    }
    // Includes kernels that filters leave out, since faults are planted in them.
    let corpus = Corpus::choose(&subjects.iter().map(|s| s.kernel.clone()).collect());
    let (subjects, gates) = chosen(subjects, &filters);
    if gates.is_empty() {
        return ExitCode::SUCCESS;
    }
    for subject in &subjects {
        table.expect(subject.kernel.name());
    }

    println!("\nportability: {} kernels\n", subjects.len());
    let passed = Cache {
        folder: tools::folder().join("passed"),
    };
    let mut verdicts = BTreeSet::new();
    let mut jobs = Vec::new();
    for gate in &gates {
        let column = table.column(gate.name());
        println!("{}: {}", gate.name(), gate.catches());
        match guarded(|| gate.ready()) {
            Ok(found) => {
                println!("    tool: {found}");
                jobs.push(Job::Faults(&**gate, column));
                for job in examinations((&**gate, column), &found, &subjects, &mut table) {
                    let Job::Examination(_, _, subject, verdict) = &job else {
                        continue;
                    };
                    verdicts.insert(verdict.clone());
                    if passed.read(verdict).is_some() {
                        table.pass_again(column, subject.kernel.name());
                    } else {
                        jobs.push(job);
                    }
                }
                let again = table.passed_again(column);
                if again > 0 {
                    println!("    passed in an earlier run: {again} kernels");
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
    let examined = jobs.len();
    jobs.extend(recordings(&jobs));
    jobs.sort_by(|a, b| a.priority().cmp(&b.priority()));
    do_all(&jobs, &passed, &mut table, &mut failures);
    println!(
        "\n{table}\n{failures}portability: {examined} examinations, {} failed",
        failures.count()
    );
    // With a filter, results of other kernels and gates must be kept.
    if filters.is_empty() && table.is_whole() {
        corpus.remove_others();
        passed.keep(&verdicts.iter().map(String::as_str).collect());
    }
    if failures.count() == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The examinations of a gate that is ready. Prints the kernels left out, with reasons.
fn examinations<'a>(
    (gate, column): (&'a dyn Gate, usize),
    tool: &str,
    subjects: &'a [Subject],
    table: &mut Table,
) -> Vec<Job<'a>> {
    let mut jobs = Vec::new();
    let mut left_out = BTreeMap::new();
    for subject in subjects {
        let other_size = match (subject.stage, gate.is_driver()) {
            (Stage::Compilers, true) => Some("are here with their smallest tiles"),
            (Stage::Drivers, false) => Some("are here with their largest tiles"),
            _ => None,
        };
        if let Some(reason) = other_size.or_else(|| gate.leaves_out(subject)) {
            *left_out.entry(reason).or_insert(0) += 1;
            table.leave_out(column, subject.kernel.name());
        } else {
            let verdict = verdict(gate, tool, subject);
            jobs.push(Job::Examination(gate, column, subject, verdict));
        }
    }
    for (reason, count) in left_out {
        println!("    left out: {count} kernels that {reason}");
    }
    jobs
}

/// The recordings with cases that these jobs need.
fn recordings<'a>(jobs: &[Job]) -> Vec<Job<'a>> {
    let run = jobs.iter().filter_map(|job| match job {
        Job::Examination(gate, _, subject, _) if gate.runs_kernels() => Some(&subject.kernel),
        _ => None,
    });
    let sources = Corpus::get().sources(run).into_iter();
    sources.map(Job::Recording).collect()
}

/// Does all jobs, and prints the slowest.
fn do_all(jobs: &[Job], passed: &Cache, table: &mut Table, failures: &mut Failures) {
    println!("\nplanted, and caught:");
    let mut slowest = Vec::new();
    let mut recording = Duration::ZERO;
    for (job, Done { result, time }) in jobs.iter().zip(run_all(jobs, passed)) {
        match (job, result) {
            (Job::Recording(_), Ok(_)) => recording += time,
            (Job::Recording(_), Err(why)) => failures.add("cases", "a recording", why),
            (Job::Faults(gate, _), Ok(caught)) => println!("    {}: {caught}", gate.name()),
            (Job::Faults(gate, _), Err(why)) => failures.add(gate.name(), "a fault planted", why),
            (Job::Examination(_, column, subject, _), Ok(_)) => {
                table.pass(*column, subject.kernel.name());
            }
            (Job::Examination(gate, _, subject, _), Err(why)) => {
                failures.add(gate.name(), &subject.label, why);
            }
        }
        if let Job::Faults(_, column) | Job::Examination(_, column, _, _) = job {
            table.took(*column, time);
        }
        slowest.push((time, job));
    }
    let summary = Corpus::get().summary();
    println!("\n{summary}, {:.1} s one by one", recording.as_secs_f64());
    slowest.sort_by_key(|&(time, _)| std::cmp::Reverse(time));
    println!("\nslowest:");
    for (time, job) in slowest.iter().take(SLOWEST) {
        println!("{:6.1} s  {job}", time.as_secs_f64());
    }
}

/// The kernels and gates that match the filters. Filters on kernels only leave all gates, and
/// filters on gates only leave all kernels. If nothing matches, another test is meant.
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

/// The filters, in lower case; none selects everything. Returns `None` if cargo or a test runner
/// asks for a libtest feature that is missing here.
fn filters(arguments: impl Iterator<Item = String>) -> Option<Vec<String>> {
    let mut filters = Vec::new();
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" | "--ignored" | "--bench" => return None,
            // Options with a separate value.
            "--test-threads" | "--skip" | "--format" | "--color" | "--logfile" | "-Z" => {
                arguments.next();
            }
            option if option.starts_with('-') => {}
            filter => filters.push(filter.to_lowercase()),
        }
    }
    Some(filters)
}

/// A digest of everything that a verdict depends on: the gate and its tool, the kernel's text, its
/// cases, and the sources of this crate.
fn verdict(gate: &dyn Gate, tool: &str, subject: &Subject) -> String {
    let cases = if gate.runs_kernels() {
        Corpus::get().digests(&subject.kernel)
    } else {
        Vec::new()
    };
    let parts = [
        env!("PORTABILITY_GATES"),
        gate.name(),
        tool,
        &subject.label,
        &subject.wgsl,
    ];
    let parts = parts.into_iter().chain(cases);
    cache::digest(parts.map(str::as_bytes))
}

/// A job.
enum Job<'a> {
    /// Records the cases of a recording, for gates that run kernels.
    Recording(usize),
    /// Runs the planted faults of a gate; with its column.
    Faults(&'a dyn Gate, usize),
    /// Examines a kernel by a gate; with the gate's column, and the file name of a pass.
    Examination(&'a dyn Gate, usize, &'a Subject, String),
}

impl Job<'_> {
    /// The order of jobs: kernels for gates that do one job at a time, as soon as they can run;
    /// then jobs that others wait for; then jobs that wait for nothing; then the rest, grouped by
    /// kernel.
    fn priority(&self) -> (u32, &str) {
        match self {
            Self::Examination(gate, ..) if gate.runs_kernels() && gate.is_sequential() => (0, ""),
            Self::Recording(_) => (1, ""),
            Self::Faults(..) => (2, ""),
            Self::Examination(gate, ..) if !gate.runs_kernels() => (3, ""),
            Self::Examination(_, _, subject, _) => (4, &subject.label),
        }
    }

    fn work(&self, passed: &Cache) -> Result<String, String> {
        match self {
            Self::Recording(source) => Corpus::get().prepare(*source).map(|()| String::new()),
            Self::Faults(gate, _) => gate.planted(),
            Self::Examination(gate, _, subject, verdict) => {
                gate.examine(subject)?;
                passed.write(verdict, &[])?;
                Ok(String::new())
            }
        }
    }
}

impl queue::Job for Job<'_> {
    fn is_ready(&self) -> bool {
        match self {
            Self::Examination(gate, _, subject, _) if gate.runs_kernels() => {
                Corpus::get().has(&subject.kernel)
            }
            _ => true,
        }
    }

    fn lane(&self) -> Option<usize> {
        match self {
            Self::Faults(gate, column) | Self::Examination(gate, column, ..) => {
                gate.is_sequential().then_some(*column)
            }
            Self::Recording(_) => None,
        }
    }
}

impl fmt::Display for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recording(source) => write!(f, "cases: {}", Corpus::get().name(*source)),
            Self::Faults(gate, _) => write!(f, "{}: faults planted", gate.name()),
            Self::Examination(gate, _, subject, _) => {
                write!(f, "{}: {}", gate.name(), subject.label)
            }
        }
    }
}

struct Done {
    result: Result<String, String>,
    time: Duration,
}

/// Does all jobs on all processors, and prints progress at intervals.
fn run_all(jobs: &[Job], passed: &Cache) -> Vec<Done> {
    /// Minimum time between two lines of progress.
    const PAUSE: Duration = Duration::from_secs(10);

    let said = Mutex::new(Instant::now());
    let work = |job: &Job| {
        let begin = Instant::now();
        let result = guarded(|| job.work(passed));
        let time = begin.elapsed();
        Done { result, time }
    };
    queue::run(jobs, work, |done| {
        let mut said = said.lock().expect("no panic in a print");
        if said.elapsed() > PAUSE {
            eprintln!("portability: {done} of {}", jobs.len());
            *said = Instant::now();
        }
    })
}

/// Turns a panic into an error. naga panics on conditions that it considers impossible.
fn guarded(job: impl FnOnce() -> Result<String, String>) -> Result<String, String> {
    catch_unwind(AssertUnwindSafe(job))
        .unwrap_or_else(|_| Err("panicked: its message stands above".to_owned()))
}
