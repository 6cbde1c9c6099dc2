//! The report, one page with all figures, and checks of the files written.

use super::csv::Table;
use super::plot::Chart;
use super::stats::date;
use super::{Drawing, Lab};
use bcfsort_term::fault::Fault;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;

const TEMPLATE: &str = include_str!("report.html");

/// The section of a figure.
#[derive(Serialize)]
struct Section {
    name: &'static str,
    title: String,
    shows: String,
    paper: String,
    found: Vec<String>,
    charts: Vec<Svg>,
    tables: Vec<String>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Svg {
    file: String,
    svg: String,
}

/// The page under construction.
pub(crate) struct Report {
    machine: Vec<(&'static str, String)>,
    sections: Vec<Section>,
    lacking: Vec<&'static str>,
    peers: Vec<String>,
}

impl Report {
    pub(crate) fn new(lab: &Lab<'_>) -> Self {
        let settings = &lab.state.settings;
        let times = || lab.state.results.parts().map(|part| part.at);
        let when = match (times().min(), times().max()) {
            (Some(first), Some(last)) if date(first) == date(last) => date(first),
            (Some(first), Some(last)) => format!("{} to {}", date(first), date(last)),
            _ => "nothing measured yet".to_owned(),
        };
        let scope = lab.scope;
        let extent = format!(
            "{}up to {} keys, {} timed runs of each contender, seed {}",
            if scope.quick { "quick: " } else { "" },
            super::stats::count(scope.max_n),
            scope.repeats,
            scope.seed
        );
        // All devices that a peer ran on.
        let peers: BTreeSet<String> = lab
            .state
            .results
            .starting_with("peer ".to_owned())
            .flat_map(|part| &part.outcomes)
            .filter(|outcome| outcome.error.is_none())
            .map(|outcome| {
                format!(
                    "{}: {}, timed by {}",
                    outcome.contender, outcome.device, outcome.clock
                )
            })
            .collect();
        Self {
            machine: vec![
                ("Adapter", settings.adapter.clone()),
                ("Host", settings.host.clone()),
                ("Measured", when),
                ("By", format!("wgpu-bcfsort {}", settings.version)),
                ("Extent", extent),
            ],
            sections: Vec::new(),
            lacking: Vec::new(),
            peers: peers.into_iter().collect(),
        }
    }

    /// Adds a figure without measurements.
    pub(crate) fn lacks(&mut self, figure: &'static str) {
        self.lacking.push(figure);
    }

    pub(crate) fn add(&mut self, name: &'static str, drawing: &Drawing, svgs: Vec<String>) {
        let charts = drawing.charts.iter().zip(svgs);
        self.sections.push(Section {
            name,
            title: drawing.title.clone(),
            shows: drawing.shows.clone(),
            paper: drawing.paper.clone(),
            found: drawing.found.clone(),
            charts: charts
                .map(|((suffix, _), svg)| Svg {
                    file: format!("{name}{suffix}.svg"),
                    svg,
                })
                .collect(),
            tables: drawing
                .tables
                .iter()
                .map(|(suffix, _)| format!("{name}{suffix}.csv"))
                .collect(),
            notes: drawing.notes.clone(),
        });
    }

    pub(crate) fn html(&self) -> Result<String, Fault> {
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment
            .add_template("report", TEMPLATE)
            .and_then(|()| environment.get_template("report"))
            .and_then(|template| {
                template.render(context! {
                    machine => Serde(&self.machine),
                    sections => Serde(&self.sections),
                    lacking => Serde(&self.lacking),
                    peers => Serde(&self.peers),
                })
            })
            .map_err(|error| Fault::Usage(format!("cannot write the report: {error}")))
    }

    /// Checks that the page has all sections and charts.
    pub(crate) fn check(&self, html: &str) -> Result<(), String> {
        for section in &self.sections {
            let heading = format!("<section id=\"{}\">", section.name);
            let begin = html
                .find(&heading)
                .ok_or_else(|| format!("no section {}", section.name))?;
            let rest = &html[begin..];
            let end = rest.find("</section>").ok_or("a section has no end")?;
            let charts = rest[..end].matches("<svg").count();
            if charts != section.charts.len() || charts == 0 || section.found.is_empty() {
                return Err(format!("section {} has {charts} charts", section.name));
            }
        }
        Ok(())
    }
}

/// Checks that a chart is well-formed and names every line.
pub(crate) fn check_svg(svg: &str, chart: &Chart) -> Result<(), String> {
    let document = roxmltree::Document::parse(svg).map_err(|error| error.to_string())?;
    let texts: BTreeSet<&str> = document
        .descendants()
        .filter_map(|node| node.text())
        .map(str::trim)
        .collect();
    let names = chart.names();
    if names.is_empty() {
        return Err("it shows nothing".to_owned());
    }
    match names.into_iter().find(|name| !texts.contains(name)) {
        Some(name) => Err(format!("it does not name {name}")),
        None => Ok(()),
    }
}

/// Checks that a table reads back unchanged, without empty cells.
pub(crate) fn check_csv(text: &str, table: &Table) -> Result<(), String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| error.to_string())?;
    if !header.iter().eq(table.columns.iter().copied()) {
        return Err("its columns are others".to_owned());
    }
    let mut rows = 0;
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        rows += 1;
        if record.iter().any(str::is_empty) {
            return Err(format!("row {rows} has an empty cell"));
        }
    }
    if rows == 0 || rows != table.rows.len() {
        return Err(format!("it has {rows} rows"));
    }
    Ok(())
}

/// Describes this machine, without the adapter.
pub(crate) fn host() -> String {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    // Linux has the name of the CPU; elsewhere the architecture must suffice.
    let cpu = fs::read_to_string("/proc/cpuinfo").ok().and_then(|info| {
        let line = info.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let cpu = cpu.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    format!("{cpu}, {threads} threads, {}", std::env::consts::OS)
}
