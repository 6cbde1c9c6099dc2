//! Audits all kernels: sorts with each engine, base case, key type and order, and several patterns.

use super::{Args, Job as Any};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use bcfsort_testkit::recordings::{Corpus, Inputs, audit_subject, dispatched, short_label};
use std::time::Instant;
use wgsl_lockstep::audit::Audit;

/// The results of all sorts and prefix sums.
pub(crate) struct Job {
    pub(crate) sorts: usize,
    /// Names of the sorts whose result differs from the CPU's.
    pub(crate) unsorted: Vec<String>,
}

impl Job {
    pub(crate) fn wrong_result(&self) -> Option<String> {
        let first = self.unsorted.first()?;
        Some(format!(
            "{first}: the CPU gives another result ({} of {} sorts and prefix sums)",
            self.unsorted.len(),
            self.sorts
        ))
    }
}

pub(crate) fn run(args: &Args) -> Result<(Any, Audit), Fault> {
    let corpus = Corpus::new(Inputs::Some);
    let sorts = corpus.len();
    let mut progress = Progress::new(args.quiet);
    let started = Instant::now();
    let report = corpus
        .run(&args.config(), args.seed, |done| {
            progress.show(|| format!("sort {done} of {sorts}"));
        })
        // A kernel that the executor cannot run is not a device fault.
        .map_err(|error| Fault::Usage(error.to_string()))?;
    let time = started.elapsed();
    drop(progress);

    let kernels = report.kernels.into_iter();
    let subjects = kernels.map(|(kernel, report)| audit_subject(&kernel, None, report));
    let audit = Audit::new(subjects.collect(), args.config()).time(time);
    let job = Job {
        sorts,
        unsorted: report.wrong,
    };
    Ok((Any::All(job), audit))
}

/// The text of the kernel with this name, or all names, a line each, for an empty one.
pub(crate) fn text(name: &str) -> Result<String, Fault> {
    let kernels = dispatched();
    let mut names = kernels.iter().map(short_label);
    if name.is_empty() {
        return Ok(names.flat_map(|name| [name, "\n"]).collect());
    }
    match names.position(|other| other == name) {
        Some(found) => Ok(kernels[found].wgsl()),
        None => Err(Fault::Usage(format!(
            "there is no kernel '{name}'; 'audit --print' without a name lists all"
        ))),
    }
}
