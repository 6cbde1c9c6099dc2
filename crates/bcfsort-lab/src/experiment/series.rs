//! Sorts of one data set by several contenders.

use super::state::{Outcome, Results};
use super::{Lab, Task};
use crate::measure::Resident;
use bcfsort_data::{Spec, generate};
use bcfsort_term::fault::Fault;
use rayon::slice::ParallelSliceMut;
use std::time::Instant;
use wgpu_bcfsort::internals::host::sort_on_cpu;
use wgpu_bcfsort::internals::recording::PayloadKind;
use wgpu_bcfsort::{
    Clock, Detail, Engine, Error, KeyType, Options, Order, Profile, SortKey, Sorter, wgpu,
};

/// The key type of all figures, as in the paper.
pub(crate) type Key = u32;

/// The implementation of a contender.
#[derive(Clone, Debug)]
pub(crate) enum Who {
    Gpu(Options),
    /// `sort_unstable`.
    Cpu,
    /// `par_sort_unstable` of rayon.
    CpuRayon,
}

/// An implementation, with its name in the figure.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    pub(crate) name: String,
    pub(crate) who: Who,
}

impl Contender {
    pub(crate) fn gpu(name: impl Into<String>, options: Options) -> Self {
        Self {
            name: name.into(),
            who: Who::Gpu(options),
        }
    }

    /// The mergesort engines with default options.
    pub(crate) fn engines() -> Vec<Self> {
        Engine::MERGESORTS
            .into_iter()
            .map(|engine| Self::gpu(engine.name(), Options::default().engine(engine)))
            .collect()
    }

    /// The name, and all options that the name may not show.
    fn id(&self) -> String {
        let Who::Gpu(options) = &self.who else {
            return self.name.clone();
        };
        let mut id = format!("{}({}", self.name, options.engine);
        if let Some(base_case) = options.mergesort.base_case {
            id += &format!(" {base_case}");
        }
        for (option, value) in [
            ("warps", options.mergesort.warps),
            ("P", options.mergesort.buckets),
            ("t", options.mergesort.samples),
        ] {
            if let Some(value) = value {
                id += &format!(" {option}={value}");
            }
        }
        id + ")"
    }

    /// The CPU sorts.
    pub(crate) fn cpus() -> [Self; 2] {
        [("cpu", Who::Cpu), ("cpu-rayon", Who::CpuRayon)].map(|(name, who)| Self {
            name: name.to_owned(),
            who,
        })
    }
}

/// The measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    /// The whole sort.
    Sort,
    /// One of its phases.
    Phase(&'static str),
}

impl Metric {
    fn name(self) -> &'static str {
        match self {
            Self::Sort => "sort",
            Self::Phase(phase) => phase,
        }
    }

    const fn detail(self) -> Detail {
        match self {
            Self::Sort => Detail::Whole,
            Self::Phase(_) => Detail::Phases,
        }
    }

    fn of(self, profile: &Profile) -> Option<f64> {
        match self {
            Self::Sort => Some(profile.total.as_secs_f64()),
            Self::Phase(phase) => profile
                .phases
                .iter()
                .find(|time| time.phase == phase)
                .map(|time| time.time.as_secs_f64()),
        }
    }

    /// Extracts the metric from a contender's profiles.
    pub(crate) fn outcome(
        self,
        contender: impl Into<String>,
        lab: &Lab<'_>,
        profiles: &[Profile],
    ) -> Outcome {
        let times: Option<Vec<f64>> = profiles.iter().map(|p| self.of(p)).collect();
        let Some(times_s) = times else {
            return Outcome::failed(contender, "the device does not time the phases");
        };
        let timestamps = profiles.iter().all(|p| p.clock == Clock::Timestamps);
        Outcome {
            contender: contender.into(),
            device: lab.adapter.clone(),
            clock: if timestamps {
                "GPU timestamps"
            } else {
                "wall clock"
            }
            .to_owned(),
            times_s,
            ..Outcome::default()
        }
    }
}

/// One data set and its contenders.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) spec: Spec,
    pub(crate) metric: Metric,
    pub(crate) contenders: Vec<Contender>,
    /// True if peers sort it, too.
    pub(crate) peers: bool,
}

impl Series {
    /// Times whole sorts of a data set.
    pub(crate) fn sorts(spec: Spec, contenders: Vec<Contender>) -> Self {
        Self {
            spec,
            metric: Metric::Sort,
            contenders,
            peers: true,
        }
    }

    /// A unique description of the data set.
    fn data(&self) -> String {
        let key = <Key as SortKey>::KEY_TYPE;
        let mut data = format!("{} {key} {}", self.spec.count, self.spec.pattern);
        if let Some(distinct) = self.spec.distinct {
            data += &format!(" distinct={distinct}");
        }
        data
    }

    fn id(&self) -> String {
        let who: Vec<String> = self.contenders.iter().map(Contender::id).collect();
        format!(
            "{} {} by {}",
            self.metric.name(),
            self.data(),
            who.join(",")
        )
    }

    fn peers_prefix(&self) -> String {
        format!("peer sort {} by ", self.data())
    }

    fn peer_id(&self, peer: &str) -> String {
        self.peers_prefix() + peer
    }

    /// The results: our contenders first, then the peers.
    pub(crate) fn outcomes<'a>(&self, results: &'a Results) -> Vec<&'a Outcome> {
        let mut outcomes: Vec<&Outcome> = results
            .get(&self.id())
            .into_iter()
            .flat_map(|part| &part.outcomes)
            .collect();
        if self.peers {
            let peers = results.starting_with(self.peers_prefix());
            outcomes.extend(peers.flat_map(|part| &part.outcomes));
        }
        outcomes
    }

    /// The result of one contender.
    pub(crate) fn outcome<'a>(&self, results: &'a Results, contender: &str) -> Option<&'a Outcome> {
        self.outcomes(results)
            .into_iter()
            .find(|outcome| outcome.contender == contender && !outcome.times_s.is_empty())
    }

    fn on_gpu(
        &self,
        lab: &mut Lab<'_>,
        input: &[Key],
        expected: &[Key],
    ) -> Result<Vec<Outcome>, Fault> {
        let what = self.what();
        let contenders: Vec<(&str, &Options)> = self
            .contenders
            .iter()
            .filter_map(|contender| match &contender.who {
                Who::Gpu(options) => Some((contender.name.as_str(), options)),
                Who::Cpu | Who::CpuRayon => None,
            })
            .collect();
        if contenders.is_empty() {
            return Ok(Vec::new());
        }
        let mut outcomes = Vec::new();
        // A sorter keeps scratch memory for its next sort, so it is dropped after the series.
        let base = lab.sorter.with_options(Options::default())?;
        let resident = match Resident::upload(&base, input) {
            Ok(resident) => resident,
            Err(error) => {
                let failed = |&(name, _): &(&str, _)| left_out(name, &error);
                return contenders.iter().map(failed).collect();
            }
        };
        let mut ready: Vec<(&str, Sorter)> = Vec::new();
        for &(name, options) in &contenders {
            lab.tell(|| format!("{what}: checking {name}"));
            let sorted = base
                .with_options(options.clone())
                .and_then(|sorter| resident.sort(&sorter).map(|_| sorter));
            let sorter = match sorted {
                Ok(sorter) => sorter,
                Err(error) => {
                    outcomes.push(left_out(name, &error)?);
                    continue;
                }
            };
            if !resident.holds(expected)? {
                return Err(Fault::Device(format!(
                    "{name} on {} sorts {what} keys wrong: please report this",
                    lab.adapter
                )));
            }
            ready.push((name, sorter));
        }
        let sorters: Vec<&Sorter> = ready.iter().map(|(_, sorter)| sorter).collect();
        let (repeats, pace) = (lab.scope.repeats, lab.pace);
        let profiles =
            resident.interleaved(&sorters, self.metric.detail(), repeats, pace, |round| {
                lab.tell(|| format!("{what}: run {round} of {repeats}"));
            })?;
        for ((name, _), profiles) in ready.iter().zip(profiles) {
            outcomes.push(self.metric.outcome(*name, lab, &profiles));
        }
        // Restores the order of the contenders, failed ones included.
        let index = |outcome: &Outcome| {
            contenders
                .iter()
                .position(|(name, _)| *name == outcome.contender)
        };
        outcomes.sort_by_key(index);
        Ok(outcomes)
    }

    fn on_cpu(
        &self,
        lab: &mut Lab<'_>,
        input: &[Key],
        expected: &[Key],
    ) -> Result<Vec<Outcome>, Fault> {
        let mut keys = Vec::new();
        let mut outcomes = Vec::new();
        for contender in &self.contenders {
            let sort: fn(&mut [Key]) = match contender.who {
                Who::Gpu(_) => continue,
                Who::Cpu => |keys| sort_on_cpu(keys, Order::Ascending),
                Who::CpuRayon => <[Key]>::par_sort_unstable,
            };
            let mut times_s = Vec::new();
            // The first run is not timed: it warms up caches and threads.
            for round in 0..=lab.scope.repeats {
                lab.tell(|| format!("{}: {} run {round}", self.what(), contender.name));
                keys.clear();
                keys.extend_from_slice(input);
                let started = Instant::now();
                sort(&mut keys);
                let time = started.elapsed().as_secs_f64();
                if round == 0 && keys != expected {
                    return Err(Fault::Device(format!(
                        "{} sorts {} keys wrong: please report this",
                        contender.name,
                        self.what()
                    )));
                }
                if round > 0 {
                    times_s.push(time);
                }
            }
            outcomes.push(Outcome {
                contender: contender.name.clone(),
                device: "CPU".to_owned(),
                clock: "wall clock".to_owned(),
                times_s,
                ..Outcome::default()
            });
        }
        Ok(outcomes)
    }
}

/// The outcome of a contender that failed. A lost device ends the run.
pub(crate) fn left_out(name: &str, error: &Error) -> Result<Outcome, Fault> {
    match error {
        Error::DeviceLost(_) => Err(Fault::Device(format!("{name}: {error}"))),
        error => Ok(Outcome::failed(name, error.to_string())),
    }
}

impl Task for Series {
    fn what(&self) -> String {
        self.data()
    }

    fn parts(&self, peers: &[&str]) -> Vec<String> {
        let mut parts = vec![self.id()];
        if self.peers {
            parts.extend(peers.iter().map(|peer| self.peer_id(peer)));
        }
        parts
    }

    fn weight(&self) -> f64 {
        // Generation and upload of the keys, warm-up, and sorts; only ratios matter.
        let keys = self.spec.count as f64;
        0.6 + keys * (1e-7 + 3e-9 * self.contenders.len() as f64)
    }

    fn run(&self, lab: &mut Lab<'_>) -> Result<(), Fault> {
        let what = self.what();
        lab.tell(|| format!("{what}: making keys"));
        let input: Vec<Key> =
            generate(&self.spec).map_err(|error| Fault::Usage(error.to_string()))?;
        let mut expected = input.clone();
        expected.par_sort_unstable();
        if lab.state.lacks(&self.id()) {
            let mut outcomes = self.on_gpu(lab, &input, &expected)?;
            // Frees dropped buffers, for the peers and the next series.
            let _ = lab
                .sorter
                .device()
                .poll(wgpu::PollType::wait_indefinitely());
            outcomes.extend(self.on_cpu(lab, &input, &expected)?);
            lab.state.keep(self.id(), outcomes, false)?;
        }
        if !self.peers {
            return Ok(());
        }
        let lacking: Vec<usize> = (0..lab.peers.list.len())
            .filter(|&i| lab.state.lacks(&self.peer_id(&lab.peers.list[i].name)))
            .collect();
        if lacking.is_empty() {
            return Ok(());
        }
        let files = lab.peers.files(&input, &expected)?;
        for i in lacking {
            let peer = &lab.peers.list[i];
            let id = self.peer_id(&peer.name);
            lab.progress.show(|| format!("{what}: {}", peer.name));
            let key = KeyType::U32;
            let found = lab.peers.run(
                i,
                &files,
                key,
                PayloadKind::None,
                input.len(),
                lab.scope.repeats,
            );
            lab.state.keep(id, found.outcomes, found.again)?;
        }
        Ok(())
    }
}
