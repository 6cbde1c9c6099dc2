//! The page of devices that reports have come from.

use super::report::{Device, Found, Report};
use bcfsort_term::fault::Fault;
use bcfsort_term::timings::time;
use std::path::Path;
use std::time::Duration;

/// The page above its table.
const HEAD: &str = "\
# Devices

The devices that reports have come from. [`wgpu-bcfsort doctor`](command.md#doctor) examines a
device: it runs every kernel there, and compares what it leaves with the lock-step executor on the
CPU, bit for bit; then it compares sorts with the CPU's, and times the main ones. Rows that are not
by `doctor` tell what else has run there.

Is your device missing, or is something wrong on it? Run `wgpu-bcfsort doctor --report report.txt`,
and attach the file to an issue. It has no names of users or hosts, and no paths.

The time is that of 2^20 random `u32` keys on the device, without transfers. On a driver in software
`doctor` leaves out the kernels that no sort takes there, and those that it has no time for.

| device | type | by | driver | seen by | result | 2^20 keys |
|---|---|---|---|---|---|---|
";

/// The page below its table.
const FOOT: &str = "
This page is generated from the reports in `docs/devices`, by
`wgpu-bcfsort doctor --table docs/devices > docs/devices.md`. A new report is one more file there:
what `--report FILE.json` writes.
";

/// The page, for the reports in a folder.
pub(super) fn page(folder: &Path) -> Result<String, Fault> {
    let mut reports = read(folder)?;
    // GPUs first, then by name. The name of the file decides what is equal.
    reports.sort_by_cached_key(|(file, report)| {
        let device = report.device.clone().unwrap_or_default();
        let types = ["discrete", "integrated", "virtual", "other", "cpu"];
        let kind = types.iter().position(|&kind| kind == device.r#type);
        let kind = kind.unwrap_or(types.len());
        (kind, device.name, device.backend, file.clone())
    });
    let rows: String = reports.iter().map(|(_, report)| row(report)).collect();
    Ok(format!("{HEAD}{rows}{FOOT}"))
}

/// The reports, each with the name of its file.
fn read(folder: &Path) -> Result<Vec<(String, Report)>, Fault> {
    let name = folder.display().to_string();
    let failed = |error| Fault::io(&name, "cannot read", &error);
    let mut reports = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let file = path.display().to_string();
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|error| Fault::io(&file, "cannot read", &error))?;
        let report = Report::parse(&text);
        let report = report.map_err(|why| Fault::Usage(format!("{file} is no report: {why}")))?;
        reports.push((file, report));
    }
    if reports.is_empty() {
        return Err(Fault::Usage(format!(
            "{name} has no reports: 'wgpu-bcfsort doctor --report {name}/NAME.json' writes one"
        )));
    }
    Ok(reports)
}

fn row(report: &Report) -> String {
    let none = || Device {
        name: "none".to_owned(),
        ..Device::default()
    };
    let device = report.device.clone().unwrap_or_else(none);
    let seen_by = format!("{} {}", report.source, report.version);
    let result = match (&report.found, &report.seen) {
        (Some(found), _) => of_doctor(found),
        (None, Some(seen)) => format!("{} ([page]({}))", seen.what, link(&seen.page)),
        (None, None) => String::new(),
    };
    let sorted_in = report.found.as_ref().map_or_else(String::new, sorted_in);
    let cells = [
        device.name,
        device.r#type,
        device.backend,
        device.driver,
        seen_by,
        result,
        sorted_in,
    ];
    let cells = cells.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
    format!("| {} |\n", cells.join(" | "))
}

/// The address of a file of the repository, from `docs/devices.md`.
fn link(file: &str) -> String {
    let of_docs = file.strip_prefix("docs/").map(str::to_owned);
    of_docs.unwrap_or_else(|| format!("../{file}"))
}

fn of_doctor(found: &Found) -> String {
    let kernels = found.kernels.clone().unwrap_or_default();
    let right = kernels.right.len();
    let run = right + kernels.wrong.len() + kernels.failed.len();
    let left_out: usize = kernels.left_out.iter().map(|out| out.kernels.len()).sum();
    let all = run + left_out;
    let sorts = found.sorts.len();
    if found.is_right() {
        return format!("all right: {run} of {all} kernels, {sorts} sorts");
    }
    let right_sorts = found.sorts.iter().filter(|sort| sort.wrong.is_none());
    format!(
        "**wrong**: {right} of {run} kernels and {} of {sorts} sorts are right",
        right_sorts.count()
    )
}

fn sorted_in(found: &Found) -> String {
    let mut times = found.times.iter();
    let of_keys = times.find(|one| one.sort == "u32" && one.keys == 1 << 20);
    of_keys.map_or_else(String::new, |one| {
        time(Duration::from_secs_f64(one.median_s))
    })
}
