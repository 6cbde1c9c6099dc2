//! Memory accesses: bounds, races and costs.

use super::{CHUNK, Machine};
use crate::arithmetic::Lanes;
use crate::mask::bits;
use crate::memory::{Access, Actor, MOST, bank_cost, sectors};
use crate::program::{Address, AtomicOp, Effect, Leaf, POISON, Range, Slot};
use crate::report::{AccessKind, Fault, Space};

impl Machine<'_> {
    /// Executes an access of the active lanes, warp by warp: detects faults and counts. For each
    /// lane whose address is in bounds it calls `access` for the kind of the access, and then
    /// `transfer`; for each other lane `missing`.
    pub(super) fn access(
        &mut self,
        address: &Address,
        leaf: &Leaf,
        access: impl Fn(&Self, usize, u32) -> Access,
        mut transfer: impl FnMut(&mut Self, usize, u32),
        mut missing: impl FnMut(&mut Self, usize),
    ) {
        let memory = address.memory as usize;
        let bytes = leaf.bytes();
        let length = u64::from(self.memories[memory].bytes);
        let base = address.base + leaf.offset;
        for warp in 0..self.lanes.div_ceil(self.warp) {
            let active = self.active.warp(warp, self.warp);
            if active == 0 {
                continue;
            }
            let mut addresses = [(0, 0); MOST];
            let mut count = 0;
            for bit in bits(active) {
                let lane = warp * self.warp + bit;
                let offset = address.offset.map_or(0, |slot| self.get(slot, lane));
                let at = u64::from(base) + u64::from(offset);
                if offset == POISON || at + u64::from(bytes) > length {
                    let bytes = (offset != POISON).then_some(at as u32);
                    self.out_of_bounds(lane, address, leaf, bytes);
                    missing(self, lane);
                    continue;
                }
                let at = at as u32;
                addresses[count] = (bit as u32, at);
                count += 1;
                let access = access(self, lane, at);
                self.watch(lane, address, leaf, access, (at, at + bytes));
                transfer(self, lane, at);
            }
            self.tally(leaf, &addresses[..count]);
        }
    }

    #[inline]
    pub(super) fn watch(
        &mut self,
        lane: usize,
        address: &Address,
        leaf: &Leaf,
        access: Access,
        (start, end): (u32, u32),
    ) {
        let first = self.workgroup_number.wrapping_mul(self.lanes as u32);
        // The lanes of a warp are a power of two. A division here would be one per lane and access.
        let warp = (lane & !(self.warp - 1)) as u32;
        let actor = Actor {
            who: first.wrapping_add(lane as u32),
            subgroup: (
                first.wrapping_add(warp),
                first.wrapping_add(warp + self.warp as u32),
            ),
            subgroup_barrier: self.subgroup_barriers[lane >> self.warp.trailing_zeros()],
            location: address.location,
        };
        let clock = self.clock;
        let verdict =
            self.memories[address.memory as usize].touch(&clock, actor, access, start, end);
        if verdict.race.is_none() && !verdict.uninitialised && verdict.order.is_none() {
            return;
        }
        let program = self.program;
        let site = &program.sites[leaf.site as usize];
        let about = Some((site.space, site.variable.as_str()));
        let location = |byte: u32| match site.space {
            Space::Workgroup => format!("byte {byte} of workgroup memory"),
            _ => format!("byte {byte} of {}", site.variable),
        };
        if let Some(other) = verdict.race {
            self.find(Fault::Race, address.location, Some(other), about, |this| {
                let at = match access {
                    Access::WriteBeside => "to a vector's component beside",
                    _ => "at",
                };
                let other = if verdict.foreign {
                    "another workgroup"
                } else {
                    "another lane"
                };
                let touched = if verdict.beside {
                    "written a component beside"
                } else {
                    "touched"
                };
                let (who, kind, location) = (this.at(lane), site.kind, location(start));
                format!("{who}: {kind} {at} {location}, which {other} had {touched}")
            });
        }
        if let Some(other) = verdict.order {
            let order = Fault::AtomicOrder;
            self.find(order, address.location, Some(other), about, |this| {
                format!(
                    "{}: {}, which another lane had changed",
                    this.at(lane),
                    location(start)
                )
            });
        }
        if verdict.uninitialised {
            self.find(
                Fault::Uninitialised,
                address.location,
                None,
                about,
                |this| format!("{}: {}", this.at(lane), location(start)),
            );
        }
    }

    /// WGSL allows a store to a component to read the whole vector and write it back, as Metal
    /// does. So no other lane may access the other components in the meantime.
    #[cold]
    fn watch_beside(
        &mut self,
        lane: usize,
        address: &Address,
        leaf: &Leaf,
        (start, end): (u32, u32),
        at: u32,
    ) {
        for others in [(start, at), (at + leaf.width, end)] {
            if others.0 < others.1 {
                self.watch(lane, address, leaf, Access::WriteBeside, others);
            }
        }
    }

    pub(super) fn tally(&mut self, leaf: &Leaf, addresses: &[(u32, u32)]) {
        if addresses.is_empty() {
            return;
        }
        let tally = &mut self.tallies[leaf.site as usize];
        tally.accesses += 1;
        tally.lanes += addresses.len() as u64;
        match self.program.sites[leaf.site as usize].space {
            Space::Workgroup => {
                let cost = bank_cost(addresses, leaf.bytes(), self.config.banks);
                if cost.wide.max_degree > tally.banks.max_degree {
                    tally.worst = addresses.to_vec();
                }
                tally.banks.merge(&cost.wide);
                tally.banks_by_word.merge(&cost.by_word);
                for (most, count) in tally.bank_degrees.iter_mut().zip(cost.counts) {
                    *most = (*most).max(count);
                }
            }
            Space::Storage => {
                let (touched, fewest) = sectors(addresses, leaf.bytes());
                if touched > tally.worst_sectors {
                    tally.worst = addresses.to_vec();
                    tally.worst_sectors = touched;
                }
                tally.sectors += touched;
                tally.min_sectors += fewest;
            }
            _ => {}
        }
    }

    pub(super) fn load(&mut self, address: &Address, leaf: &Leaf, output: Slot) {
        let Leaf {
            width, components, ..
        } = *leaf;
        let (step, slots) = (width.min(4), components * width.div_ceil(4));
        let memory = address.memory as usize;
        let access = match self.program.sites[leaf.site as usize].kind {
            AccessKind::Atomic => Access::Atomic(Effect::Load),
            _ => Access::Read,
        };
        self.access(
            address,
            leaf,
            |_, _, _| access,
            |this, lane, at| {
                for i in 0..slots {
                    let value = this.memories[memory].read(at + i * step, step);
                    this.set(output + i, lane, value);
                }
            },
            |this, lane| {
                for i in 0..slots {
                    this.set(output + i, lane, 0);
                }
            },
        );
    }

    pub(super) fn store(&mut self, address: &Address, leaf: &Leaf, values: &[Slot]) {
        let step = leaf.width.min(4);
        let memory = address.memory as usize;
        let atomic = self.program.sites[leaf.site as usize].kind == AccessKind::Atomic;
        self.access(
            address,
            leaf,
            |this, lane, at| {
                if !atomic {
                    return Access::Write;
                }
                let mut words = (0..).zip(values);
                let same = words.all(|(i, &slot)| {
                    this.memories[memory].read(at + i * step, step) == this.get(slot, lane)
                });
                Access::Atomic(if same {
                    Effect::StoreSame
                } else {
                    Effect::Store
                })
            },
            |this, lane, at| {
                for (i, &slot) in (0..).zip(values) {
                    let value = this.get(slot, lane);
                    this.memories[memory].write(at + i * step, step, value);
                }
                if let Some(vector) = leaf.vector {
                    this.watch_beside(lane, address, leaf, vector.around(at), at);
                }
            },
            |_, _| {},
        );
    }

    pub(super) fn atomic(
        &mut self,
        address: &Address,
        leaf: &Leaf,
        op: AtomicOp,
        value: Range,
        output: Option<Slot>,
    ) {
        let memory = address.memory as usize;
        let slots = leaf.width.div_ceil(4);
        let program = self.program;
        let value = value.of(&program.operands);
        let access = Access::Atomic(match op {
            AtomicOp::Update(_, effect) => effect,
            AtomicOp::Exchange | AtomicOp::CompareExchange(_) => Effect::Exchange,
        });
        self.access(
            address,
            leaf,
            |_, _, _| access,
            |this, lane, at| {
                let read = |this: &Self, i: u32| this.memories[memory].read(at + i * 4, 4);
                let old: Vec<u32> = (0..slots).map(|i| read(this, i)).collect();
                let operand: Vec<u32> = value.iter().map(|&slot| this.get(slot, lane)).collect();
                let mut exchanged = true;
                let new = match op {
                    AtomicOp::Update(function, _) => {
                        let wide: Vec<Lanes> =
                            old.iter().chain(&operand).map(|&w| [w; CHUNK]).collect();
                        let inputs: Vec<&Lanes> = wide.iter().collect();
                        let mut results = vec![[0; CHUNK]; slots as usize];
                        function(&inputs, &mut results);
                        results.iter().map(|r| r[0]).collect()
                    }
                    AtomicOp::Exchange => operand,
                    AtomicOp::CompareExchange(compare) => {
                        let compare = compare.of(&program.operands);
                        exchanged = compare
                            .iter()
                            .zip(&old)
                            .all(|(&c, &o)| this.get(c, lane) == o);
                        if exchanged { operand } else { old.clone() }
                    }
                };
                for (i, &word) in (0..).zip(&new) {
                    this.memories[memory].write(at + i * 4, 4, word);
                }
                if let Some(output) = output {
                    for (i, &word) in (0..).zip(&old) {
                        this.set(output + i, lane, word);
                    }
                    if matches!(op, AtomicOp::CompareExchange(_)) {
                        this.set(output + slots, lane, u32::from(exchanged));
                    }
                }
            },
            |this, lane| {
                if let Some(output) = output {
                    let flag = u32::from(matches!(op, AtomicOp::CompareExchange(_)));
                    for i in 0..slots + flag {
                        this.set(output + i, lane, 0);
                    }
                }
            },
        );
    }
}
