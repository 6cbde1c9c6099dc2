//! The JSON report. The names of fields are the keys of the JSON, which `wgsl-audit --help`
//! explains.

use super::figures::Figures;
use super::outcome::Audit;
use super::subject::Subject;
use crate::report::{Banks, Fault as Found, Finding, Location, Site, Space};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a, T> {
    version: &'a str,
    clean: bool,
    failures: &'a [String],
    config: Config,
    seconds: f64,
    lane_instructions: u64,
    lane_instructions_per_second: f64,
    #[serde(flatten)]
    more: &'a T,
    kernels: Vec<Kernel<'a>>,
}

#[derive(Serialize)]
struct Config {
    warp: u32,
    banks: u32,
    max_iterations: u64,
    max_lane_instructions: Option<u64>,
}

#[derive(Serialize)]
#[allow(clippy::struct_field_names)] // Named as in the tables.
struct Kernel<'a> {
    file: &'a str,
    kernel: &'a str,
    phase: Option<&'a str>,
    dispatches: u64,
    workgroups: u64,
    lane_instructions: u64,
    workgroup: Workgroup,
    storage: Storage,
    faults: Faults,
    sites: Vec<SiteRow<'a>>,
    findings: Vec<Told<'a>>,
}

#[derive(Serialize)]
struct Workgroup {
    accesses: u64,
    conflict_free: u64,
    max_degree: u32,
    max_degree_by_word: u32,
    oblivious: bool,
    cycles: u64,
    min_cycles: u64,
}

#[derive(Serialize)]
struct Storage {
    accesses: u64,
    sectors: u64,
    min_sectors: u64,
}

#[derive(Serialize)]
struct Faults {
    race: u64,
    bounds: u64,
    barrier: u64,
    r#loop: u64,
    uninitialised: u64,
    order: u64,
}

#[derive(Serialize)]
struct Conflicts {
    conflict_free: u64,
    max_degree: u32,
    cycles: u64,
    min_cycles: u64,
}

impl From<Banks> for Conflicts {
    fn from(banks: Banks) -> Self {
        Self {
            conflict_free: banks.conflict_free,
            max_degree: banks.max_degree,
            cycles: banks.cycles,
            min_cycles: banks.min_cycles,
        }
    }
}

#[derive(Serialize)]
struct At {
    line: u32,
    column: u32,
    length: u32,
}

impl From<Location> for At {
    fn from(location: Location) -> Self {
        Self {
            line: location.line,
            column: location.column,
            length: location.length,
        }
    }
}

#[derive(Serialize)]
struct SiteRow<'a> {
    #[serde(flatten)]
    at: At,
    space: &'static str,
    variable: &'a str,
    kind: &'static str,
    bytes: u32,
    oblivious: bool,
    accesses: u64,
    lanes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    banks: Option<Conflicts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    banks_by_word: Option<Conflicts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bank_degrees: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sectors: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_sectors: Option<u64>,
    worst: &'a [(u32, u32)],
}

#[derive(Serialize)]
struct Told<'a> {
    fault: &'static str,
    #[serde(flatten)]
    at: At,
    space: Option<&'static str>,
    variable: Option<&'a str>,
    other: Option<At>,
    count: u64,
    example: &'a str,
}

impl Audit {
    /// All counts, sites and findings as JSON. `version` is the version of the calling program. The
    /// fields of `more` are added to the top-level object.
    ///
    /// # Errors
    ///
    /// An error if `more` cannot be serialized as an object.
    pub fn json(&self, version: &str, more: &impl Serialize) -> Result<String, serde_json::Error> {
        document(self, version, more)
    }
}

fn document(
    audit: &Audit,
    version: &str,
    more: &impl Serialize,
) -> Result<String, serde_json::Error> {
    let lane_instructions = audit.lane_instructions();
    let seconds = audit.time.as_secs_f64();
    let failures = audit.failures();
    let config = audit.config;
    let limit = config.max_lane_instructions;
    let document = Document {
        version,
        clean: failures.is_empty(),
        failures: &failures,
        config: Config {
            warp: config.warp,
            banks: config.banks,
            max_iterations: config.max_iterations,
            max_lane_instructions: (limit < u64::MAX).then_some(limit),
        },
        seconds,
        lane_instructions,
        lane_instructions_per_second: lane_instructions as f64 / seconds.max(1e-9),
        more,
        kernels: audit.subjects.iter().map(kernel).collect(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn kernel(subject: &Subject) -> Kernel<'_> {
    let f = Figures::of(&subject.report);
    let sites = subject.report.sites.iter();
    Kernel {
        file: &subject.file,
        kernel: &subject.kernel,
        phase: subject.phase.as_deref(),
        dispatches: f.dispatches,
        workgroups: f.workgroups,
        lane_instructions: f.lane_instructions,
        workgroup: Workgroup {
            accesses: f.accesses,
            conflict_free: f.conflict_free,
            max_degree: f.max_degree,
            max_degree_by_word: f.max_degree_by_word,
            oblivious: f.oblivious,
            cycles: f.cycles,
            min_cycles: f.min_cycles,
        },
        storage: Storage {
            accesses: f.storage_accesses,
            sectors: f.sectors,
            min_sectors: f.min_sectors,
        },
        faults: Faults {
            race: f.races,
            bounds: f.out_of_bounds,
            barrier: f.divergent_barriers,
            r#loop: f.runaway_loops,
            uninitialised: f.uninitialised,
            order: f.atomic_orders,
        },
        sites: sites
            .filter(|site| matches!(site.space, Space::Workgroup | Space::Storage))
            .map(site_row)
            .collect(),
        findings: subject.report.findings.iter().map(told).collect(),
    }
}

fn site_row(site: &Site) -> SiteRow<'_> {
    let banked = site.space == Space::Workgroup;
    SiteRow {
        at: site.location.into(),
        space: site.space.name(),
        variable: &site.variable,
        kind: site.kind.name(),
        bytes: site.bytes,
        oblivious: site.oblivious,
        accesses: site.accesses,
        lanes: site.lanes,
        banks: banked.then(|| site.banks.into()),
        banks_by_word: banked.then(|| site.banks_by_word.into()),
        bank_degrees: banked.then_some(&site.bank_degrees),
        sectors: (!banked).then_some(site.sectors),
        min_sectors: (!banked).then_some(site.min_sectors),
        worst: &site.worst,
    }
}

fn told(finding: &Finding) -> Told<'_> {
    Told {
        fault: match finding.fault {
            Found::Race => "race",
            Found::OutOfBounds => "bounds",
            Found::DivergentBarrier => "barrier",
            Found::Runaway => "loop",
            Found::Uninitialised => "uninitialised",
            Found::AtomicOrder => "order",
        },
        at: finding.location.into(),
        space: finding.space.map(Space::name),
        variable: finding.variable.as_deref(),
        other: finding.other.map(At::from),
        count: finding.count,
        example: &finding.example,
    }
}
