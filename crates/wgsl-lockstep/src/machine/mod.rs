//! Executes a program, with all lanes of a workgroup in lock-step.
//!
//! Workgroups run one after the other. All warps of a workgroup execute the same step together. If
//! barriers are in uniform control flow, as WGSL requires, and there are no races, the order of
//! warps has no effect; races are found and reported. Counts include only warps with an active
//! lane.

mod accesses;
mod dataflow;
mod findings;
mod subgroups;

use crate::arithmetic::{LaneFn, Lanes};
use crate::config::Config;
use crate::mask::{Mask, bits};
use crate::memory::{Clock, MOST, Memory};
use crate::program::{Bound, Builtin, Instruction, POISON, Program, Range, Slot};
use crate::report::{Banks, Fault, Space};
use std::collections::HashMap;

const CHUNK: usize = 32;

/// The index for an unknown location.
const NOWHERE: u32 = u32::MAX;

/// The counts of a site.
#[derive(Clone, Debug)]
struct Tally {
    accesses: u64,
    lanes: u64,
    banks: Banks,
    banks_by_word: Banks,
    bank_degrees: [u32; MOST],
    sectors: u64,
    min_sectors: u64,
    worst: Vec<(u32, u32)>,
    worst_sectors: u64,
}

/// Identifies the findings of one kind at one location.
type FindingKey = (Fault, u32, Option<u32>, Option<Space>);

/// The execution of one dispatch.
pub(crate) struct Machine<'a> {
    program: &'a Program,
    config: &'a Config,
    lanes: usize,
    chunks: usize,
    warp: usize,
    registers: Vec<Lanes>,
    pub(crate) memories: Vec<Memory>,
    clock: Clock,
    /// For each warp, the time of its last subgroup barrier.
    subgroup_barriers: Vec<u32>,
    active: Mask,
    active_lanes: u64,
    broken: Mask,
    continued: Mask,
    workgroup: [u32; 3],
    workgroup_number: u32,
    instructions: u64,
    tallies: Vec<Tally>,
    flow: dataflow::Dataflow,
    findings: HashMap<FindingKey, (u64, String, Option<String>)>,
    /// The last index out of bounds at each check: lane, index, number of elements.
    bad_indices: Vec<(u32, u32, u32)>,
    /// Set if the run must stop.
    exhausted: bool,
}

fn has_subgroup_barrier(program: &Program) -> bool {
    let is = |i: &Instruction| matches!(i, Instruction::Barrier { subgroup: true, .. });
    program.blocks.iter().flatten().any(is)
}

impl<'a> Machine<'a> {
    /// `data` is true for each memory that holds data, on which no address should depend.
    pub(crate) fn new(
        program: &'a Program,
        config: &'a Config,
        memories: Vec<Memory>,
        data: Vec<bool>,
    ) -> Self {
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
            worst: Vec::new(),
            worst_sectors: 0,
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
                subgroups: has_subgroup_barrier(program),
                ..Clock::default()
            },
            subgroup_barriers: vec![0; lanes.div_ceil(config.warp as usize)],
            active: Mask::NONE,
            active_lanes: 0,
            broken: Mask::NONE,
            continued: Mask::NONE,
            workgroup: [0; 3],
            workgroup_number: 0,
            instructions: 0,
            tallies: vec![tally; program.sites.len()],
            flow: dataflow::Dataflow::new(program, data),
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

    /// Runs all workgroups, in order.
    pub(crate) fn run(&mut self, workgroups: [u32; 3]) {
        // Empty loops over the other dimensions could take long.
        if workgroups.contains(&0) {
            return;
        }
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
        self.subgroup_barriers.fill(self.clock.now);
        self.memories[0].words.fill(0);
        self.flow.start();
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
        let before = self.instructions;
        self.block(program.entry);
        self.flow.finish(program);
        self.spend_some(before, self.lanes as u64);
        self.workgroup_number = self.workgroup_number.wrapping_add(1);
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

    /// The active lanes with a nonzero slot.
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

    // Control flow.

    fn block(&mut self, block: u32) {
        let program = self.program;
        for instruction in &program.blocks[block as usize] {
            if self.active_lanes == 0 || self.exhausted {
                return;
            }
            self.spend(self.active_lanes * instruction.operations());
            self.mark(instruction);
            self.step(instruction);
        }
    }

    /// Counts operations, and ends the run at the limit.
    fn spend(&mut self, operations: u64) {
        self.instructions += operations;
        if self.instructions > self.config.max_lane_instructions && !self.exhausted {
            self.exhausted = true;
            self.find(Fault::Runaway, NOWHERE, None, None, |this| {
                let [x, y, z] = this.workgroup;
                format!(
                    "stopped after {} lane-instructions, in workgroup ({x}, {y}, {z})",
                    this.instructions
                )
            });
        }
    }

    /// Counts a loop iteration, or a workgroup, that executed no instruction.
    fn spend_some(&mut self, before: u64, lanes: u64) {
        if self.instructions == before {
            self.spend(lanes);
        }
    }

    #[inline]
    #[allow(clippy::too_many_lines)] // One arm per instruction.
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
            } => self.load_local(base, offset, count, output, (checks, location)),
            Instruction::StoreLocal {
                base,
                offset,
                values,
                checks,
                location,
            } => self.store_local(base, offset, values, (checks, location)),
            Instruction::Pick {
                index,
                table,
                output,
                outputs,
                location,
            } => self.pick(index, table, output, outputs, location),
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
                let outside = self.flow.enter_branch(self.flow.slot(condition));
                self.activate(chosen);
                self.block(accept);
                let accepted = self.active;
                self.activate(outer.without(chosen));
                self.block(reject);
                self.activate(self.active.or(accepted));
                self.flow
                    .leave_branch(self.program, outside, &[accept, reject]);
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
                let outside = self.flow.enter();
                self.block(body);
                self.activate(outer);
                self.flow.leave_call(self.program, &outside, body);
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
        // Each lane starts at its own case, or at the default.
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
        let outside = self.flow.enter();
        let branch = self.flow.enter_branch(self.flow.slot(selector));
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
        // A `break` leaves the switch; a `continue` belongs to the enclosing loop.
        self.activate(done.or(falling).or(self.broken));
        self.broken = broken;
        self.continued = self.continued.or(continued);
        let blocks: Vec<u32> = cases.iter().map(|case| case.body).collect();
        self.flow.leave_branch(self.program, branch, &blocks);
        self.flow.leave_switch(self.program, &outside, &blocks);
    }

    fn repeat(&mut self, body: u32, continuing: u32, break_if: Option<Slot>, location: u32) {
        let (broken, continued) = (self.broken, self.continued);
        self.broken = Mask::NONE;
        let outside = self.flow.enter();
        let mut rounds = 0_u64;
        loop {
            self.continued = Mask::NONE;
            let (before, lanes) = (self.instructions, self.active_lanes);
            self.block(body);
            self.activate(self.active.or(self.continued));
            self.block(continuing);
            // Without active lanes, the slot of the condition is stale, or reused for another
            // value.
            if let Some(condition) = break_if.filter(|_| self.active_lanes > 0) {
                self.flow.leave_loop_if(self.flow.slot(condition));
                let leaving = self.lanes_where(condition);
                self.broken = self.broken.or(leaving);
                self.activate(self.active.without(leaving));
            }
            self.spend_some(before, lanes);
            if self.active_lanes == 0 || self.exhausted {
                break;
            }
            rounds += 1;
            if rounds >= self.config.max_iterations {
                let lane = self.active.lowest().unwrap_or(0);
                self.find(Fault::Runaway, location, None, None, |this| {
                    format!("{}: still going after {rounds} rounds", this.at(lane))
                });
                // Later results are meaningless, and later loops may not end either.
                self.exhausted = true;
                break;
            }
        }
        self.activate(self.broken);
        self.broken = broken;
        self.continued = continued;
        self.flow
            .leave_loop(self.program, &outside, &[body, continuing]);
    }

    fn barrier(&mut self, workgroup: bool, storage: bool, subgroup: bool, location: u32) {
        self.clock.now += 1;
        let all = Mask::first(self.lanes);
        if subgroup {
            for warp in 0..self.subgroup_barriers.len() {
                let (lanes, here) = (all.warp(warp, self.warp), self.active.warp(warp, self.warp));
                if here != 0 {
                    self.subgroup_barriers[warp] = self.clock.now;
                    let first = warp * self.warp;
                    let lane = |word: u64| first + word.trailing_zeros() as usize;
                    if here != lanes {
                        let missing = lanes & !here;
                        self.divergent(lane(here), lane(missing), missing.count_ones(), location);
                    }
                }
            }
            return;
        }
        let missing = all.without(self.active);
        if let (Some(lane), Some(here)) = (missing.lowest(), self.active.lowest()) {
            self.divergent(here, lane, missing.count(), location);
        }
        if workgroup {
            self.clock.workgroup_barrier = self.clock.now;
        }
        if storage {
            self.clock.storage_barrier = self.clock.now;
        }
    }

    fn divergent(&mut self, here: usize, missing: usize, count: u32, location: u32) {
        self.find(Fault::DivergentBarrier, location, None, None, |this| {
            let others = match count - 1 {
                0 => String::new(),
                others => format!(", nor are {others} others"),
            };
            format!(
                "{} is here and lane {missing} is not{others}",
                this.at(here)
            )
        });
    }

    #[inline]
    fn compute(
        &mut self,
        function: LaneFn,
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

    fn load_local(
        &mut self,
        base: Slot,
        offset: Slot,
        count: u32,
        output: Slot,
        (checks, location): (Range, u32),
    ) {
        self.each_lane(|this, lane| {
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
        });
    }

    fn store_local(
        &mut self,
        base: Slot,
        offset: Slot,
        values: Range,
        (checks, location): (Range, u32),
    ) {
        self.each_lane(|this, lane| {
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
        });
    }

    fn pick(&mut self, index: Slot, table: Range, output: Slot, outputs: u32, location: u32) {
        self.each_lane(|this, lane| {
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
        });
    }
}
