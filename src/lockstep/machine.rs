//! Runs a program, all lanes of a workgroup in lock-step.
//!
//! Workgroups run one after the other. All warps of one take the same step together: where barriers
//! are in uniform flow, as they must be, and nothing races, the order of warps cannot be seen, and
//! where something races, that is found and reported. What a warp does is counted for warps with an
//! active lane only.

use super::Config;
use super::arithmetic::Lanes;
use super::mask::{Mask, bits};
use super::memory::{Access, Actor, Clock, MOST, Memory, bank_cost, sectors};
use super::program::{
    Address, AtomicOp, Bound, Builtin, Gather, Instruction, Leaf, POISON, Program, Range, Scan,
    Slot,
};
use super::report::{Banks, Fault, Finding, Location, Report, Site, Space};
use std::collections::HashMap;

const CHUNK: usize = 32;

/// What is counted at a site.
#[derive(Clone, Debug)]
struct Tally {
    accesses: u64,
    lanes: u64,
    banks: Banks,
    banks_by_word: Banks,
    bank_degrees: [u32; MOST],
    sectors: u64,
    min_sectors: u64,
}

/// Findings of one kind at one place.
type FindingKey = (Fault, u32, Option<u32>, Option<Space>);

/// The execution of one dispatch.
pub(super) struct Machine<'a> {
    program: &'a Program,
    config: &'a Config,
    lanes: usize,
    chunks: usize,
    warp: usize,
    registers: Vec<Lanes>,
    pub(super) memories: Vec<Memory>,
    clock: Clock,
    active: Mask,
    active_lanes: u64,
    broken: Mask,
    continued: Mask,
    workgroup: [u32; 3],
    workgroup_number: u32,
    instructions: u64,
    tallies: Vec<Tally>,
    findings: HashMap<FindingKey, (u64, String, Option<String>)>,
    /// The last index out of bounds at each check: lane, index, elements.
    bad_indices: Vec<(u32, u32, u32)>,
    /// Set when the run was told to do no more.
    exhausted: bool,
}

impl<'a> Machine<'a> {
    pub(super) fn new(program: &'a Program, config: &'a Config, memories: Vec<Memory>) -> Self {
        let [x, y, z] = program.workgroup_size;
        let lanes = (x * y * z) as usize;
        let chunks = lanes.div_ceil(CHUNK);
        let tally = Tally {
            accesses: 0,
            lanes: 0,
            banks: Banks::default(),
            banks_by_word: Banks::default(),
            bank_degrees: [0; MOST],
            sectors: 0,
            min_sectors: 0,
        };
        let mut machine = Self {
            program,
            config,
            lanes,
            chunks,
            warp: config.warp as usize,
            registers: vec![[0; CHUNK]; program.slots as usize * chunks],
            memories,
            clock: Clock {
                now: 1,
                dispatch: 1,
                ..Clock::default()
            },
            active: Mask::NONE,
            active_lanes: 0,
            broken: Mask::NONE,
            continued: Mask::NONE,
            workgroup: [0; 3],
            workgroup_number: 0,
            instructions: 0,
            tallies: vec![tally; program.sites.len()],
            findings: HashMap::new(),
            bad_indices: vec![(0, 0, 0); program.check_count as usize],
            exhausted: false,
        };
        for &(slot, value) in &program.constants {
            for chunk in 0..chunks {
                *machine.register(slot, chunk) = [value; CHUNK];
            }
        }
        machine
    }

    /// Runs every workgroup, in order.
    pub(super) fn run(&mut self, workgroups: [u32; 3]) {
        for z in 0..workgroups[2] {
            for y in 0..workgroups[1] {
                for x in 0..workgroups[0] {
                    if self.exhausted {
                        return;
                    }
                    self.run_workgroup([x, y, z], workgroups);
                }
            }
        }
    }

    fn run_workgroup(&mut self, workgroup: [u32; 3], workgroups: [u32; 3]) {
        self.workgroup = workgroup;
        self.clock.now += 1;
        self.clock.workgroup = self.clock.now;
        self.clock.workgroup_barrier = self.clock.now;
        self.clock.storage_barrier = self.clock.now;
        self.clock.subgroup_barrier = self.clock.now;
        self.memories[0].words.fill(0);
        let program = self.program;
        let [size_x, size_y, size_z] = program.workgroup_size;
        for &(slot, builtin) in &program.builtins {
            for lane in 0..self.lanes {
                let l = lane as u32;
                let local = [l % size_x, l / size_x % size_y, l / (size_x * size_y)];
                let value = match builtin {
                    Builtin::GlobalInvocationId(i) => {
                        let i = i as usize;
                        workgroup[i]
                            .wrapping_mul(program.workgroup_size[i])
                            .wrapping_add(local[i])
                    }
                    Builtin::LocalInvocationId(i) => local[i as usize],
                    Builtin::LocalInvocationIndex => l,
                    Builtin::WorkgroupId(i) => workgroup[i as usize],
                    Builtin::NumWorkgroups(i) => workgroups[i as usize],
                    Builtin::WorkgroupSize(i) => [size_x, size_y, size_z][i as usize],
                    Builtin::SubgroupSize => self.config.warp,
                    Builtin::SubgroupInvocationId => l % self.config.warp,
                    Builtin::SubgroupId => l / self.config.warp,
                    Builtin::NumSubgroups => (self.lanes as u32).div_ceil(self.config.warp),
                };
                self.set(slot, lane, value);
            }
        }
        self.broken = Mask::NONE;
        self.continued = Mask::NONE;
        self.activate(Mask::first(self.lanes));
        for &(to, from) in &program.privates {
            for chunk in 0..self.chunks {
                *self.register(to, chunk) = *self.register(from, chunk);
            }
        }
        self.block(program.entry);
        self.workgroup_number += 1;
    }

    // Registers.

    #[inline]
    fn register(&mut self, slot: Slot, chunk: usize) -> &mut Lanes {
        &mut self.registers[slot as usize * self.chunks + chunk]
    }

    #[inline]
    fn get(&self, slot: Slot, lane: usize) -> u32 {
        self.registers[slot as usize * self.chunks + lane / CHUNK][lane % CHUNK]
    }

    #[inline]
    fn set(&mut self, slot: Slot, lane: usize, value: u32) {
        self.registers[slot as usize * self.chunks + lane / CHUNK][lane % CHUNK] = value;
    }

    fn activate(&mut self, mask: Mask) {
        self.active = mask;
        self.active_lanes = u64::from(mask.count());
    }

    /// The active lanes whose slot is not zero.
    fn lanes_where(&self, slot: Slot) -> Mask {
        let mut mask = Mask::NONE;
        for chunk in 0..self.chunks {
            for bit in bits(u64::from(self.active.chunk(chunk))) {
                let lane = chunk * CHUNK + bit;
                if self.get(slot, lane) != 0 {
                    mask.insert(lane);
                }
            }
        }
        mask
    }

    // Findings.

    fn find(
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

    fn at(&self, lane: usize) -> String {
        let [x, y, z] = self.workgroup;
        format!("lane {lane} of workgroup ({x}, {y}, {z})")
    }

    fn out_of_bounds(&mut self, lane: usize, address: &Address, leaf: &Leaf, bytes: Option<u32>) {
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

    fn bad_index(&self, who: &str, checks: Range) -> String {
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

    // Control flow.

    fn block(&mut self, block: u32) {
        let program = self.program;
        for instruction in &program.blocks[block as usize] {
            if self.active_lanes == 0 || self.exhausted {
                return;
            }
            self.instructions += self.active_lanes;
            self.step(instruction);
        }
        if self.instructions > self.config.max_lane_instructions && !self.exhausted {
            self.exhausted = true;
            self.find(Fault::Runaway, 0, None, None, |this| {
                format!(
                    "stopped after {} lane-instructions, in workgroup {:?}",
                    this.instructions, this.workgroup
                )
            });
        }
    }

    #[inline]
    fn step(&mut self, instruction: &Instruction) {
        match *instruction {
            Instruction::Compute {
                function,
                inputs,
                output,
                outputs,
            } => {
                let inputs = inputs.of(&self.program.operands);
                for chunk in 0..self.chunks {
                    if self.active.chunk(chunk) != 0 {
                        self.compute(function, inputs, output, outputs, chunk);
                    }
                }
            }
            Instruction::Copy { from, to } => {
                for chunk in 0..self.chunks {
                    *self.register(to, chunk) = *self.register(from, chunk);
                }
            }
            Instruction::Assign { from, to } => {
                for chunk in 0..self.chunks {
                    let active = self.active.chunk(chunk);
                    let from = *self.register(from, chunk);
                    let to = self.register(to, chunk);
                    if active == u32::MAX {
                        *to = from;
                    } else {
                        for lane in 0..CHUNK {
                            if active >> lane & 1 == 1 {
                                to[lane] = from[lane];
                            }
                        }
                    }
                }
            }
            Instruction::Index {
                index,
                before,
                scale,
                bound,
                check,
                output,
            } => self.index(index, before, scale, bound, check, output),
            Instruction::LoadLocal {
                base,
                offset,
                count,
                output,
                checks,
                location,
            } => self.each_lane(|this, lane| {
                let offset = this.get(offset, lane);
                if offset == POISON {
                    this.private_out_of_bounds(lane, checks, location);
                }
                for i in 0..count {
                    let value = match offset {
                        POISON => 0,
                        _ => this.get(base + offset + i, lane),
                    };
                    this.set(output + i, lane, value);
                }
            }),
            Instruction::StoreLocal {
                base,
                offset,
                values,
                checks,
                location,
            } => self.each_lane(|this, lane| {
                let offset = this.get(offset, lane);
                if offset == POISON {
                    this.private_out_of_bounds(lane, checks, location);
                    return;
                }
                let values = values.of(&this.program.operands);
                for (to, &from) in (base + offset..).zip(values) {
                    let value = this.get(from, lane);
                    this.set(to, lane, value);
                }
            }),
            Instruction::Pick {
                index,
                table,
                output,
                outputs,
                location,
            } => self.each_lane(|this, lane| {
                let index = this.get(index, lane);
                let table = table.of(&this.program.operands);
                let count = table.len() as u32 / outputs;
                if index >= count {
                    this.find(
                        Fault::OutOfBounds,
                        location,
                        None,
                        Some((Space::Private, "")),
                        |this| format!("{}: index {index} of {count}", this.at(lane)),
                    );
                }
                for i in 0..outputs {
                    let value = match table
                        .get((u64::from(index) * u64::from(outputs)) as usize + i as usize)
                    {
                        Some(&slot) => this.get(slot, lane),
                        None => 0,
                    };
                    this.set(output + i, lane, value);
                }
            }),
            Instruction::Load {
                address,
                leaves,
                output,
            } => {
                let mut output = output;
                for leaf in leaves.of(&self.program.leaves) {
                    self.load(&address, leaf, output);
                    output += leaf.components * leaf.width.div_ceil(4);
                }
            }
            Instruction::Store {
                address,
                leaves,
                values,
            } => {
                let mut values = values.of(&self.program.operands);
                for leaf in leaves.of(&self.program.leaves) {
                    let slots = leaf.components * leaf.width.div_ceil(4);
                    let (own, rest) = values.split_at(slots as usize);
                    self.store(&address, leaf, own);
                    values = rest;
                }
            }
            Instruction::Atomic {
                address,
                leaf,
                op,
                value,
                output,
            } => self.atomic(&address, &leaf, op, value, output),
            Instruction::ArrayLength {
                memory,
                before,
                stride,
                output,
            } => {
                let length = self.runtime_length(memory, before, stride);
                for chunk in 0..self.chunks {
                    *self.register(output, chunk) = [length; CHUNK];
                }
            }
            Instruction::If {
                condition,
                accept,
                reject,
            } => {
                let outer = self.active;
                let chosen = self.lanes_where(condition);
                self.activate(chosen);
                self.block(accept);
                let accepted = self.active;
                self.activate(outer.without(chosen));
                self.block(reject);
                self.activate(self.active.or(accepted));
            }
            Instruction::Switch { selector, cases } => self.switch(selector, cases),
            Instruction::Loop {
                body,
                continuing,
                break_if,
                location,
            } => self.repeat(body, continuing, break_if, location),
            Instruction::Break => {
                self.broken = self.broken.or(self.active);
                self.activate(Mask::NONE);
            }
            Instruction::Continue => {
                self.continued = self.continued.or(self.active);
                self.activate(Mask::NONE);
            }
            Instruction::Return => self.activate(Mask::NONE),
            Instruction::Call { body } => {
                let outer = self.active;
                self.block(body);
                self.activate(outer);
            }
            Instruction::Barrier {
                workgroup,
                storage,
                subgroup,
                location,
            } => self.barrier(workgroup, storage, subgroup, location),
            Instruction::Ballot { predicate, output } => self.ballot(predicate, output),
            Instruction::Gather { mode, from, output } => self.gather(mode, from, output),
            Instruction::Collective {
                function,
                scan,
                value,
                identity,
                output,
            } => self.collective(function, scan, value, identity, output),
        }
    }

    fn switch(&mut self, selector: Slot, cases: Range) {
        let outer = self.active;
        let (broken, continued) = (self.broken, self.continued);
        self.broken = Mask::NONE;
        self.continued = Mask::NONE;
        let cases = cases.of(&self.program.cases);
        // Each lane enters at its own case, or at the default.
        let mut entering = vec![Mask::NONE; cases.len()];
        let default = cases.iter().position(|case| case.value.is_none());
        for chunk in 0..self.chunks {
            for bit in bits(u64::from(outer.chunk(chunk))) {
                let lane = chunk * CHUNK + bit;
                let value = self.get(selector, lane);
                let case = cases.iter().position(|case| case.value == Some(value));
                if let Some(case) = case.or(default) {
                    entering[case].insert(lane);
                }
            }
        }
        let all = entering.iter().fold(Mask::NONE, |all, &m| all.or(m));
        let mut done = outer.without(all);
        let mut falling = Mask::NONE;
        for (case, entering) in cases.iter().zip(entering) {
            self.activate(entering.or(falling));
            self.block(case.body);
            falling = if case.fall_through {
                self.active
            } else {
                done = done.or(self.active);
                Mask::NONE
            };
        }
        // A `break` leaves the switch; a `continue` belongs to the loop around it.
        self.activate(done.or(falling).or(self.broken));
        self.broken = broken;
        self.continued = self.continued.or(continued);
    }

    fn repeat(&mut self, body: u32, continuing: u32, break_if: Option<Slot>, location: u32) {
        let (broken, continued) = (self.broken, self.continued);
        self.broken = Mask::NONE;
        let mut rounds = 0_u64;
        loop {
            self.continued = Mask::NONE;
            self.block(body);
            self.activate(self.active.or(self.continued));
            self.block(continuing);
            if let Some(condition) = break_if {
                let leaving = self.lanes_where(condition);
                self.broken = self.broken.or(leaving);
                self.activate(self.active.without(leaving));
            }
            if self.active_lanes == 0 || self.exhausted {
                break;
            }
            rounds += 1;
            if rounds >= self.config.max_iterations {
                let lane = self.active.lowest().unwrap_or(0);
                self.find(Fault::Runaway, location, None, None, |this| {
                    format!("{}: still going after {rounds} rounds", this.at(lane))
                });
                self.broken = self.broken.or(self.active);
                break;
            }
        }
        self.activate(self.broken);
        self.broken = broken;
        self.continued = continued;
    }

    fn barrier(&mut self, workgroup: bool, storage: bool, subgroup: bool, location: u32) {
        if !subgroup {
            let missing = Mask::first(self.lanes).without(self.active);
            if let (Some(lane), Some(here)) = (missing.lowest(), self.active.lowest()) {
                let count = missing.count();
                self.find(Fault::DivergentBarrier, location, None, None, |this| {
                    format!(
                        "{} is here and lane {lane} is not, nor are {} others of {}",
                        this.at(here),
                        count - 1,
                        this.lanes
                    )
                });
            }
        }
        self.clock.now += 1;
        if workgroup {
            self.clock.workgroup_barrier = self.clock.now;
        }
        if storage {
            self.clock.storage_barrier = self.clock.now;
        }
        // Whatever orders the workgroup orders its subgroups, but only for its own memory: one
        // clock for both would order too much, so only subgroup barriers count here.
        if subgroup {
            self.clock.subgroup_barrier = self.clock.now;
        }
    }

    // Arithmetic.

    #[inline]
    fn compute(
        &mut self,
        function: super::arithmetic::LaneFn,
        inputs: &[Slot],
        output: Slot,
        outputs: u32,
        chunk: usize,
    ) {
        let of = |slot: Slot| &self.registers[slot as usize * self.chunks + chunk];
        if outputs == 1 {
            let mut result = [[0; CHUNK]];
            match *inputs {
                [a] => function(&[of(a)], &mut result),
                [a, b] => function(&[of(a), of(b)], &mut result),
                [a, b, c] => function(&[of(a), of(b), of(c)], &mut result),
                _ => {
                    let inputs: Vec<&Lanes> = inputs.iter().map(|&slot| of(slot)).collect();
                    function(&inputs, &mut result);
                }
            }
            *self.register(output, chunk) = result[0];
        } else {
            let inputs: Vec<&Lanes> = inputs.iter().map(|&slot| of(slot)).collect();
            let mut results = vec![[0; CHUNK]; outputs as usize];
            function(&inputs, &mut results);
            for (slot, result) in (output..).zip(results) {
                *self.register(slot, chunk) = result;
            }
        }
    }

    fn runtime_length(&self, memory: u32, before: u32, stride: u32) -> u32 {
        self.memories[memory as usize].bytes.saturating_sub(before) / stride.max(1)
    }

    fn index(
        &mut self,
        index: Slot,
        before: Option<Slot>,
        scale: u32,
        bound: Bound,
        check: u32,
        output: Slot,
    ) {
        let count = match bound {
            Bound::Constant(count) => count,
            Bound::Runtime {
                memory,
                before,
                stride,
            } => self.runtime_length(memory, before, stride),
        };
        for chunk in 0..self.chunks {
            let active = self.active.chunk(chunk);
            if active == 0 {
                continue;
            }
            let indices = *self.register(index, chunk);
            let before = before.map_or([0; CHUNK], |slot| *self.register(slot, chunk));
            let mut offsets = [0; CHUNK];
            let mut bad = 0;
            for lane in 0..CHUNK {
                let outside = indices[lane] >= count;
                bad |= u32::from(outside) << lane;
                offsets[lane] = if outside || before[lane] == POISON {
                    POISON
                } else {
                    before[lane].wrapping_add(indices[lane].wrapping_mul(scale))
                };
            }
            *self.register(output, chunk) = offsets;
            if bad & active != 0 {
                let lane = (bad & active).trailing_zeros() as usize;
                self.bad_indices[check as usize] =
                    ((chunk * CHUNK + lane) as u32, indices[lane], count);
            }
        }
    }

    fn each_lane(&mut self, mut f: impl FnMut(&mut Self, usize)) {
        for chunk in 0..self.chunks {
            for bit in bits(u64::from(self.active.chunk(chunk))) {
                f(self, chunk * CHUNK + bit);
            }
        }
    }

    fn private_out_of_bounds(&mut self, lane: usize, checks: Range, location: u32) {
        let about = Some((Space::Private, ""));
        self.find(Fault::OutOfBounds, location, None, about, |this| {
            this.bad_index(&this.at(lane), checks)
        });
    }

    // Memory.

    /// Goes over the active lanes warp by warp: finds what is wrong, counts, and has `transfer` move
    /// the data of each lane whose address is in bounds; `missing` is told of the others.
    fn access(
        &mut self,
        address: &Address,
        leaf: &Leaf,
        access: Access,
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
                self.watch(lane, address, leaf, access, at);
                transfer(self, lane, at);
            }
            self.tally(leaf, &addresses[..count]);
        }
    }

    #[inline]
    fn watch(&mut self, lane: usize, address: &Address, leaf: &Leaf, access: Access, at: u32) {
        let first = self.workgroup_number.wrapping_mul(self.lanes as u32);
        let warp = (lane / self.warp * self.warp) as u32;
        let actor = Actor {
            who: first.wrapping_add(lane as u32),
            subgroup: (
                first.wrapping_add(warp),
                first.wrapping_add(warp + self.warp as u32),
            ),
            location: address.location,
        };
        let clock = self.clock;
        let verdict =
            self.memories[address.memory as usize].touch(&clock, actor, access, at, leaf.bytes());
        if verdict.race.is_none() && !verdict.uninitialised {
            return;
        }
        let program = self.program;
        let site = &program.sites[leaf.site as usize];
        let about = Some((site.space, site.variable.as_str()));
        let place = |byte: u32| match site.space {
            Space::Workgroup => format!("byte {byte} of workgroup memory"),
            _ => format!("byte {byte} of {}", site.variable),
        };
        if let Some(other) = verdict.race {
            self.find(Fault::Race, address.location, Some(other), about, |this| {
                format!(
                    "{}: {} at {}, which another lane had touched with no barrier between",
                    this.at(lane),
                    site.kind,
                    place(at)
                )
            });
        }
        if verdict.uninitialised {
            self.find(
                Fault::Uninitialised,
                address.location,
                None,
                about,
                |this| format!("{}: {}", this.at(lane), place(at)),
            );
        }
    }

    fn tally(&mut self, leaf: &Leaf, addresses: &[(u32, u32)]) {
        if addresses.is_empty() {
            return;
        }
        let tally = &mut self.tallies[leaf.site as usize];
        tally.accesses += 1;
        tally.lanes += addresses.len() as u64;
        match self.program.sites[leaf.site as usize].space {
            Space::Workgroup => {
                let cost = bank_cost(addresses, leaf.bytes(), self.config.warp, self.config.banks);
                tally.banks.merge(&cost.wide);
                tally.banks_by_word.merge(&cost.by_word);
                for (most, count) in tally.bank_degrees.iter_mut().zip(cost.counts) {
                    *most = (*most).max(count);
                }
            }
            Space::Storage => {
                let (touched, fewest) = sectors(addresses, leaf.bytes());
                tally.sectors += touched;
                tally.min_sectors += fewest;
            }
            _ => {}
        }
    }

    fn load(&mut self, address: &Address, leaf: &Leaf, output: Slot) {
        let Leaf {
            width, components, ..
        } = *leaf;
        let (step, slots) = (width.min(4), components * width.div_ceil(4));
        let memory = address.memory as usize;
        let access = match self.program.sites[leaf.site as usize].kind {
            super::AccessKind::Atomic => Access::Atomic,
            _ => Access::Read,
        };
        self.access(
            address,
            leaf,
            access,
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

    fn store(&mut self, address: &Address, leaf: &Leaf, values: &[Slot]) {
        let step = leaf.width.min(4);
        let memory = address.memory as usize;
        let access = match self.program.sites[leaf.site as usize].kind {
            super::AccessKind::Atomic => Access::Atomic,
            _ => Access::Write,
        };
        self.access(
            address,
            leaf,
            access,
            |this, lane, at| {
                for (i, &slot) in (0..).zip(values) {
                    let value = this.get(slot, lane);
                    this.memories[memory].write(at + i * step, step, value);
                }
            },
            |_, _| {},
        );
    }

    fn atomic(
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
        self.access(
            address,
            leaf,
            Access::Atomic,
            |this, lane, at| {
                let read = |this: &Self, i: u32| this.memories[memory].read(at + i * 4, 4);
                let old: Vec<u32> = (0..slots).map(|i| read(this, i)).collect();
                let operand: Vec<u32> = value.iter().map(|&slot| this.get(slot, lane)).collect();
                let mut exchanged = true;
                let new = match op {
                    AtomicOp::Update(function) => {
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

    // Subgroups: a subgroup is a warp.

    fn each_warp(&mut self, mut f: impl FnMut(&mut Self, usize, u64)) {
        for warp in 0..self.lanes.div_ceil(self.warp) {
            let active = self.active.warp(warp, self.warp);
            if active != 0 {
                f(self, warp * self.warp, active);
            }
        }
    }

    fn ballot(&mut self, predicate: Option<Slot>, output: Slot) {
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

    fn gather(&mut self, mode: Gather, from: Slot, output: Slot) {
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
                    // A lane that is not there may give anything.
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

    fn collective(
        &mut self,
        function: super::arithmetic::LaneFn,
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

    // The report.

    pub(super) fn report(&self) -> Report {
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
        for (info, tally) in program.sites.iter().zip(&self.tallies) {
            if tally.accesses == 0 {
                continue;
            }
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
                accesses: tally.accesses,
                lanes: tally.lanes,
                banks: tally.banks,
                banks_by_word: tally.banks_by_word,
                bank_degrees: tally.bank_degrees[..banks].to_vec(),
                sectors: tally.sectors,
                min_sectors: tally.min_sectors,
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
