//! Faults, and the report.

use super::Machine;
use crate::program::{Address, Leaf, Range};
use crate::report::{Fault, Finding, Location, Report, Site, Space};

impl Machine<'_> {
    pub(super) fn find(
        &mut self,
        fault: Fault,
        location: u32,
        other: Option<u32>,
        about: Option<(Space, &str)>,
        example: impl FnOnce(&Self) -> String,
    ) {
        let key = (fault, location, other, about.map(|a| a.0));
        if let Some(known) = self.findings.get_mut(&key) {
            known.0 += 1;
            return;
        }
        let example = example(self);
        let variable = about
            .map(|a| a.1.to_owned())
            .filter(|name| !name.is_empty());
        self.findings.insert(key, (1, example, variable));
    }

    pub(super) fn at(&self, lane: usize) -> String {
        let [x, y, z] = self.workgroup;
        format!("lane {lane} of workgroup ({x}, {y}, {z})")
    }

    pub(super) fn out_of_bounds(
        &mut self,
        lane: usize,
        address: &Address,
        leaf: &Leaf,
        bytes: Option<u32>,
    ) {
        let program = self.program;
        let site = &program.sites[leaf.site as usize];
        let about = Some((site.space, site.variable.as_str()));
        let length = self.memories[address.memory as usize].bytes;
        self.find(Fault::OutOfBounds, address.location, None, about, |this| {
            let who = this.at(lane);
            match bytes {
                Some(byte) => format!(
                    "{who}: bytes {byte} to {} of {length}",
                    u64::from(byte) + u64::from(leaf.bytes())
                ),
                None => this.bad_index(&who, address.checks),
            }
        });
    }

    pub(super) fn bad_index(&self, who: &str, checks: Range) -> String {
        let checks = checks.of(&self.program.checks);
        let bad = checks.iter().map(|&check| self.bad_indices[check as usize]);
        match bad.into_iter().find(|bad| bad.1 >= bad.2) {
            Some((_, index, count)) if index > i32::MAX.cast_unsigned() => {
                format!("{who}: index {index} ({}) of {count}", index.cast_signed())
            }
            Some((_, index, count)) => format!("{who}: index {index} of {count}"),
            None => who.to_owned(),
        }
    }

    // The report.

    pub(crate) fn report(&self) -> Report {
        let program = self.program;
        let location = |index: u32| -> Location {
            program
                .locations
                .get(index as usize)
                .copied()
                .unwrap_or_default()
        };
        let mut report = Report {
            dispatches: 1,
            workgroups: u64::from(self.workgroup_number),
            lane_instructions: self.instructions,
            ..Report::default()
        };
        let decided = &self.flow.decided;
        for ((info, tally), &decided) in program.sites.iter().zip(&self.tallies).zip(decided) {
            let banked = info.space == Space::Workgroup;
            let banks = if banked {
                self.config.banks as usize
            } else {
                0
            };
            report.sites.push(Site {
                location: location(info.location),
                variable: info.variable.clone(),
                space: info.space,
                kind: info.kind,
                bytes: info.bytes,
                oblivious: !decided,
                accesses: tally.accesses,
                lanes: tally.lanes,
                banks: tally.banks,
                banks_by_word: tally.banks_by_word,
                bank_degrees: tally.bank_degrees[..banks].to_vec(),
                sectors: tally.sectors,
                min_sectors: tally.min_sectors,
                worst: tally.worst.clone(),
            });
        }
        for ((fault, at, other, space), (count, example, variable)) in &self.findings {
            report.findings.push(Finding {
                fault: *fault,
                space: *space,
                variable: variable.clone(),
                location: location(*at),
                other: other.map(location),
                count: *count,
                example: example.clone(),
            });
        }
        report.sort();
        report
    }
}
