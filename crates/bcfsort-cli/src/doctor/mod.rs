//! `doctor`: examines a device, and writes a report to attach to an issue.

mod advice;
mod checks;
mod kernels;
mod private;
mod report;
mod sorts;
mod table;

use crate::devices::Listed;
use bcfsort_auto::{Device as Wanted, NoDevice};
use bcfsort_lab::times::SORTS;
use bcfsort_term::args::DeviceArg;
use bcfsort_term::engine::adapter_named;
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use bcfsort_term::output::{Output, print, print_data};
use checks::{Opened, guarded};
use clap::ValueHint;
use private::Private;
use report::{Device, Feature, Found, Limit, Report, Section, System, Time, Tuning};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use wgpu_bcfsort::{Error, KeyType, adapters, wgpu};

const AFTER_HELP: &str = "\
Lists devices, limits and features; runs every kernel on the device and compares what it leaves \
with the lock-step executor on the CPU; compares sorts of numbers, pairs and strings with the \
CPU's; times the main sorts. An error in one check does not end the others. Without an adapter, it \
says what to install.

The report has no name of a user or host, no path, and no value of a variable.

Exit codes: 0 all is right, 1 something is wrong, 2 bad usage, 130 interrupted

Examples:
  wgpu-bcfsort doctor
  wgpu-bcfsort doctor --report report.txt    to attach to an issue";

const DETAILS: &str = "\
The JSON of a report is an object with the fields:
  schema      1; another number is another meaning of the fields
  source      'doctor'
  version     of wgpu-bcfsort
  device      name, type, backend, driver; absent without an adapter
  found       of the source 'doctor':
    quick, seconds
    system        os, arch, cores
    environment   names of the variables WGPU_* and VK_* that are set
    adapters      as 'devices --json' lists them
    limits        name, value, needed
    features      name, available, purpose
    tuning        tile, samples, merged, gpu, engine, max_len_u32, max_len_u64
    kernels       right (labels); wrong and failed (kernel, what); left_out (reason, kernels);
                  recordings; executor_wrong
    sorts         sort, len, and 'wrong' if it is wrong
    times         sort, keys, engine, clock, median_s, min_s
    problems      what is wrong; empty if all is right
    notes         what helps
  seen        of other sources: what, page";

/// Examine a GPU: run every kernel, compare sorts with the CPU's, and write a report
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, after_long_help = format!("{DETAILS}\n\n{AFTER_HELP}"))]
pub(crate) struct Args {
    #[command(flatten)]
    device: DeviceArg,
    /// Write the report: JSON if the name ends in .json, otherwise text with the JSON at its end
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    report: Option<PathBuf>,
    /// Fewer kernels, sorts of up to 2^16 + 1 records, and fewer runs
    #[arg(long)]
    quick: bool,
    /// Print a page of Markdown about the reports (.json) in a folder, and examine nothing
    #[arg(
        long,
        value_name = "FOLDER",
        value_hint = ValueHint::DirPath,
        hide_short_help = true,
        conflicts_with_all = ["device", "report", "quick"]
    )]
    table: Option<PathBuf>,
    #[arg(from_global)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    if let Some(folder) = &args.table {
        return print_data(&table::page(folder)?);
    }
    // A panic is the result of a check. Its message is in the report.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let done = examine(args);
    std::panic::set_hook(hook);
    done
}

/// The adapter to examine, or what is wrong with the variable that names another.
fn chosen(args: &Args, found: &mut Found) -> Result<Option<wgpu::Adapter>, Fault> {
    if let Some(given) = args.device.given() {
        return match adapter_named(given) {
            Ok(adapter) => Ok(Some(adapter)),
            // Without an adapter, there is something to report.
            Err(Fault::Device(_)) => Ok(None),
            Err(fault) => Err(fault),
        };
    }
    let all = adapters();
    match Wanted::from_environment() {
        Wanted::Cpu => found
            .notes
            .push("WGPU_BCFSORT_DEVICE is cpu: without --device, sorts take no GPU".to_owned()),
        Wanted::Named(_) => {
            let named = Wanted::from_environment().among(&all);
            match named {
                Ok(named) => return Ok(named.into_iter().next()),
                // The value may be anything, and is not told.
                Err(NoDevice::Unknown { .. }) => found
                    .problems
                    .push("WGPU_BCFSORT_DEVICE names no adapter of this machine".to_owned()),
                Err(NoDevice::None) => {}
            }
        }
        Wanted::Auto | Wanted::Gpu | Wanted::All => {}
    }
    Ok(all.into_iter().next())
}

/// A report that is being made, and its text that is printed so far.
struct Examination<'a> {
    found: Found,
    device: Option<Device>,
    private: Private,
    progress: Progress,
    args: &'a Args,
}

impl Examination<'_> {
    /// Prints a section. A closed pipe does not end the examination: the report is still to be
    /// written.
    fn show(&mut self, section: Section) -> Result<(), Fault> {
        self.progress.clear();
        let text = section.text(&self.found, self.device.as_ref());
        self.progress = Progress::new(self.args.quiet);
        shown(&text)
    }

    fn problem(&mut self, what: &str) {
        let what = self.private.clear(what);
        self.found.problems.push(what);
    }
}

fn shown(text: &str) -> Result<(), Fault> {
    match print(text) {
        Ok(()) | Err(Fault::ClosedPipe) => Ok(()),
        Err(fault) => Err(fault),
    }
}

fn examine(args: &Args) -> Result<(), Fault> {
    let started = Instant::now();
    let mut examination = Examination {
        found: Found {
            quick: args.quick,
            system: System::of_this_machine(),
            environment: advice::environment(),
            ..Found::default()
        },
        device: None,
        private: Private::of_this_machine(),
        progress: Progress::new(args.quiet),
        args,
    };
    // Written only at the end. A file that cannot be written is told now.
    let output = args.report.as_deref().map(Output::create).transpose()?;
    let adapter = chosen(args, &mut examination.found)?;
    shown(&report::heading(
        env!("CARGO_PKG_VERSION"),
        &examination.found,
    ))?;
    examination.devices(adapter.as_ref());
    examination.show(Section::Devices)?;
    if let Some(adapter) = &adapter {
        examination.limits(adapter);
        examination.show(Section::Limits)?;
        examination.kernels(adapter);
        examination.show(Section::Kernels)?;
        examination.sorts(adapter);
        examination.show(Section::Sorts)?;
        examination.times(adapter);
        examination.show(Section::Times)?;
    }
    examination.found.seconds = started.elapsed().as_secs_f64();
    examination.show(Section::Verdict)?;
    let is_right = examination.found.is_right();
    if let (Some(output), Some(path)) = (output, &args.report) {
        write(
            output,
            path,
            &Report::new(examination.device, examination.found),
        )?;
        shown(&format!("\nThe report is in {}\n", path.display()))?;
    }
    if is_right {
        Ok(())
    } else {
        Err(Fault::Unclean)
    }
}

/// Writes the report in the form that the name of the file tells.
fn write(mut output: Output, path: &Path, report: &Report) -> Result<(), Fault> {
    let is_json = path
        .extension()
        .is_some_and(|extension| extension == "json");
    let text = if is_json {
        report.json()
    } else {
        report.text()
    };
    let text = text.map_err(|error| Fault::Usage(error.to_string()))?;
    let written = output.write_all(text.as_bytes());
    written.map_err(|error| Fault::io(&output.name, "cannot write", &error))?;
    output.commit_last()
}

impl System {
    fn of_this_machine() -> Self {
        Self {
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

impl Examination<'_> {
    fn devices(&mut self, adapter: Option<&wgpu::Adapter>) {
        let all = adapters();
        let listed = all.iter().enumerate();
        self.found.adapters = listed.map(|(index, one)| Listed::new(index, one)).collect();
        let refused = guarded(|| Ok(advice::refused())).unwrap_or_default();
        let refused = refused.iter().map(|told| self.private.clear(told));
        self.found.notes.extend(refused);
        if let Some(adapter) = adapter {
            // (An index is of no use here, since its limits are listed.)
            self.device = Some(Device::from(&Listed::new(0, adapter)));
        } else {
            // (Of paths, it tells only those of device files.)
            self.found.problems.push(Error::NoAdapter.to_string());
            let advice = advice::of_variables(&self.found.environment);
            self.found.notes.extend(advice);
        }
    }

    fn limits(&mut self, adapter: &wgpu::Adapter) {
        let limits = adapter.limits();
        // The needs are those that `wgpu_bcfsort::requirements` documents.
        let all = [
            ("max_buffer_size", limits.max_buffer_size, 16 << 20),
            (
                "max_storage_buffer_binding_size",
                limits.max_storage_buffer_binding_size,
                16 << 20,
            ),
            (
                "max_storage_buffers_per_shader_stage",
                limits.max_storage_buffers_per_shader_stage.into(),
                8,
            ),
            (
                "max_compute_workgroup_storage_size",
                limits.max_compute_workgroup_storage_size.into(),
                8480,
            ),
            (
                "max_compute_invocations_per_workgroup",
                limits.max_compute_invocations_per_workgroup.into(),
                256,
            ),
            (
                "max_compute_workgroup_size_x",
                limits.max_compute_workgroup_size_x.into(),
                256,
            ),
            (
                "max_compute_workgroups_per_dimension",
                limits.max_compute_workgroups_per_dimension.into(),
                65_535,
            ),
        ];
        let limit = |(name, value, needed): (&str, u64, u64)| Limit {
            name: name.to_owned(),
            value,
            needed,
        };
        self.found.limits = all.map(limit).to_vec();
        let all = [
            (
                "TIMESTAMP_QUERY",
                wgpu::Features::TIMESTAMP_QUERY,
                "times of the GPU's own clock",
            ),
            (
                "PIPELINE_CACHE",
                wgpu::Features::PIPELINE_CACHE,
                "compiled kernels that are kept on disk",
            ),
            (
                "MAPPABLE_PRIMARY_BUFFERS",
                wgpu::Features::MAPPABLE_PRIMARY_BUFFERS,
                "sorts without copies where memory is shared",
            ),
        ];
        let features = adapter.features();
        self.found.features = all
            .map(|(name, feature, purpose)| Feature {
                name: name.to_owned(),
                available: features.contains(feature),
                purpose: purpose.to_owned(),
            })
            .to_vec();
        let tuning = Opened::new(adapter).guarded(|sorter| {
            let tuning = sorter.tuning();
            Ok(Tuning {
                tile: tuning.tile,
                samples: tuning.samples,
                merged: tuning.merged,
                gpu: tuning.gpu,
                engine: sorter.engine(1 << 20, KeyType::U32).name().to_owned(),
                max_len_u32: sorter.max_len(KeyType::U32),
                max_len_u64: sorter.max_len(KeyType::U64),
            })
        });
        match tuning {
            Ok(tuning) => self.found.tuning = Some(tuning),
            Err(what) => self.problem(&format!("no sorter: {what}")),
        }
    }

    fn kernels(&mut self, adapter: &wgpu::Adapter) {
        let progress = &mut self.progress;
        let checked = guarded(|| {
            Ok(kernels::check(adapter, self.args.quick, |done, of| {
                progress.show(|| format!("kernels: recording {done} of {of}"));
            }))
        });
        let mut kernels = match checked {
            Ok(kernels) => kernels,
            Err(what) => return self.problem(&format!("kernels: {what}")),
        };
        for outcome in kernels.wrong.iter_mut().chain(&mut kernels.failed) {
            outcome.what = self.private.clear(&outcome.what);
        }
        for (count, what) in [
            (kernels.wrong.len(), "leave wrong results"),
            (kernels.failed.len(), "did not run to the end"),
            (
                kernels.executor_wrong.len(),
                "recordings end wrong in the executor",
            ),
        ] {
            if count > 0 {
                self.problem(&format!("kernels: {count} {what}"));
            }
        }
        self.found.kernels = Some(kernels);
    }

    fn sorts(&mut self, adapter: &wgpu::Adapter) {
        let progress = &mut self.progress;
        let mut sorts = sorts::check(adapter, self.args.quick, |name, len| {
            progress.show(|| format!("sorts: {name}, {len}"));
        });
        for sort in &mut sorts {
            if let Some(what) = &mut sort.wrong {
                *what = self.private.clear(what);
            }
        }
        let wrong = sorts.iter().filter(|sort| sort.wrong.is_some()).count();
        if wrong > 0 {
            self.problem(&format!("sorts: {wrong} of {} are wrong", sorts.len()));
        }
        self.found.sorts = sorts;
    }

    fn times(&mut self, adapter: &wgpu::Adapter) {
        let is_software = adapter.get_info().device_type == wgpu::DeviceType::Cpu;
        let (sizes, repeats): (&[u64], u32) = match (is_software, self.args.quick) {
            (true, true) => (&[1 << 16], 1),
            (true, false) => (&[1 << 16, 1 << 20], 3),
            (false, true) => (&[1 << 20], 3),
            (false, false) => (&[1 << 20, 1 << 24], 7),
        };
        let mut device = Opened::new(adapter);
        for &keys in sizes {
            for sort in SORTS {
                let name = sort.name();
                self.progress.show(|| format!("times: {name}, {keys} keys"));
                let timed = device.guarded(|sorter| {
                    let timed = sort.time(sorter, keys, repeats);
                    timed.map_err(|fault| fault.to_string())
                });
                match timed {
                    Ok(time) => self.found.times.push(Time {
                        sort: name,
                        keys,
                        engine: time.engine.to_owned(),
                        clock: time.clock().to_owned(),
                        median_s: time.median.as_secs_f64(),
                        min_s: time.min.as_secs_f64(),
                    }),
                    Err(what) => self.problem(&format!("times: {name}, {keys} keys: {what}")),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The names of all fields of a report, but those of adapters, which `devices` documents.
    fn names(value: &Value, names: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    names.push(name.clone());
                    if name != "adapters" {
                        self::names(value, names);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self::names(item, names)),
            _ => {}
        }
    }

    #[test]
    fn every_field_is_documented() {
        let report = report::tests::full().json().unwrap();
        let mut all = Vec::new();
        names(&serde_json::from_str(&report).unwrap(), &mut all);
        assert!(all.len() > 40, "{all:?}");
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let documented: Vec<&str> = DETAILS.split(|c| !is_name(c)).collect();
        for name in all {
            assert!(documented.contains(&name.as_str()), "{name}");
        }
    }
}
