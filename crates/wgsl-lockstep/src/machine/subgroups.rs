//! Subgroup operations. A subgroup is a warp.

use super::{CHUNK, Machine};
use crate::arithmetic::{LaneFn, Lanes};
use crate::mask::bits;
use crate::program::{Gather, Range, Scan, Slot};

impl Machine<'_> {
    pub(super) fn each_warp(&mut self, mut f: impl FnMut(&mut Self, usize, u64)) {
        for warp in 0..self.lanes.div_ceil(self.warp) {
            let active = self.active.warp(warp, self.warp);
            if active != 0 {
                f(self, warp * self.warp, active);
            }
        }
    }

    pub(super) fn ballot(&mut self, predicate: Option<Slot>, output: Slot) {
        self.each_warp(|this, first, active| {
            let votes = |lane: &usize| predicate.is_none_or(|p| this.get(p, first + lane) != 0);
            let ballot = bits(active)
                .filter(votes)
                .fold(0_u64, |b, lane| b | 1 << lane);
            for lane in bits(active) {
                for (i, word) in [ballot as u32, (ballot >> 32) as u32, 0, 0]
                    .into_iter()
                    .enumerate()
                {
                    this.set(output + i as u32, first + lane, word);
                }
            }
        });
    }

    pub(super) fn gather(&mut self, mode: Gather, from: Slot, output: Slot) {
        self.each_warp(|this, first, active| {
            let lowest = active.trailing_zeros();
            let values: Vec<(usize, u32)> = bits(active)
                .map(|lane| {
                    let own = lane as u32;
                    let by = |slot| this.get(slot, first + lane);
                    let source = match mode {
                        Gather::First => lowest,
                        Gather::Lane(slot) => by(slot),
                        Gather::Down(slot) => own.wrapping_add(by(slot)),
                        Gather::Up(slot) => own.wrapping_sub(by(slot)),
                        Gather::Xor(slot) => own ^ by(slot),
                        Gather::Quad(slot) => own / 4 * 4 + by(slot) % 4,
                        Gather::QuadSwap(bit) => own ^ bit,
                    };
                    // The value of an inactive or missing lane is undefined.
                    let there = source < this.config.warp && active >> source & 1 == 1;
                    let value = if there {
                        this.get(from, first + source as usize)
                    } else {
                        0
                    };
                    (lane, value)
                })
                .collect();
            for (lane, value) in values {
                this.set(output, first + lane, value);
            }
        });
    }

    pub(super) fn collective(
        &mut self,
        function: LaneFn,
        scan: Scan,
        value: Range,
        identity: Range,
        output: Slot,
    ) {
        let program = self.program;
        let value = value.of(&program.operands);
        let identity = identity.of(&program.operands);
        self.each_warp(|this, first, active| {
            let mut sum: Option<Vec<Lanes>> = None;
            for lane in bits(active) {
                let own: Vec<Lanes> = value
                    .iter()
                    .map(|&s| [this.get(s, first + lane); CHUNK])
                    .collect();
                if scan == Scan::Exclusive {
                    for (i, (output, &identity)) in (output..).zip(identity).enumerate() {
                        let before = sum
                            .as_ref()
                            .map_or(this.get(identity, first + lane), |s| s[i][0]);
                        this.set(output, first + lane, before);
                    }
                }
                sum = Some(match sum {
                    None => own,
                    Some(sum) => {
                        let inputs: Vec<&Lanes> = sum.iter().chain(&own).collect();
                        let mut results = vec![[0; CHUNK]; own.len()];
                        function(&inputs, &mut results);
                        results
                    }
                });
                if scan == Scan::Inclusive {
                    for (output, word) in (output..).zip(sum.iter().flatten()) {
                        this.set(output, first + lane, word[0]);
                    }
                }
            }
            if scan == Scan::All {
                for lane in bits(active) {
                    for (output, word) in (output..).zip(sum.iter().flatten()) {
                        this.set(output, first + lane, word[0]);
                    }
                }
            }
        });
    }
}
