//! Dataflow analysis: finds the accesses that depend on data.
//!
//! A run covers one input. Its addresses hold for all inputs if no value read from a data buffer
//! affects an address or whether an access is executed. So each slot, and each word of workgroup
//! memory, has a mark: true if it depends on data. A branch on a marked condition marks everything
//! that either side could assign or access, executed or not.

use super::Machine;
use crate::program::{Address, Gather, Instruction, Leaf, POISON, Program, Range, Slot};
use std::collections::HashMap;
use std::rc::Rc;

/// The possible effects of a block, including nested blocks.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // They are independent.
struct Facts {
    assigned: Vec<Slot>,
    sites: Vec<u32>,
    /// It may store to a lane's own variable at a dynamic index, or to workgroup memory.
    stores_anywhere: bool,
    stores_workgroup: bool,
    /// Lanes may leave the enclosing loop or switch, or the function.
    leaves_loop: bool,
    /// Lanes may continue with the next iteration, which also leaves all switches in the loop.
    continues: bool,
    leaves_call: bool,
}

impl Facts {
    fn of(program: &Program, block: u32) -> Self {
        let mut facts = Self::default();
        for instruction in &program.blocks[block as usize] {
            let leaves = |range: Range| range.of(&program.leaves).iter().map(|leaf| leaf.site);
            match *instruction {
                Instruction::Assign { to, .. } => facts.assigned.push(to),
                Instruction::StoreLocal { .. } => facts.stores_anywhere = true,
                Instruction::Load { leaves: range, .. } => facts.sites.extend(leaves(range)),
                Instruction::Store {
                    address,
                    leaves: range,
                    ..
                } => {
                    facts.sites.extend(leaves(range));
                    facts.stores_workgroup |= address.memory == 0;
                }
                Instruction::Atomic { address, leaf, .. } => {
                    facts.sites.push(leaf.site);
                    facts.stores_workgroup |= address.memory == 0;
                }
                Instruction::If { accept, reject, .. } => {
                    facts.add(Self::of(program, accept));
                    facts.add(Self::of(program, reject));
                }
                Instruction::Switch { cases, .. } => {
                    let outer = facts.leaves_loop;
                    for case in cases.of(&program.cases) {
                        facts.add(Self::of(program, case.body));
                    }
                    facts.leaves_loop = outer || facts.continues;
                }
                Instruction::Loop {
                    body, continuing, ..
                } => {
                    let outer = (facts.leaves_loop, facts.continues);
                    facts.add(Self::of(program, body));
                    facts.add(Self::of(program, continuing));
                    (facts.leaves_loop, facts.continues) = outer;
                }
                Instruction::Call { body } => {
                    let outer = facts.leaves_call;
                    facts.add(Self::of(program, body));
                    facts.leaves_call = outer;
                }
                Instruction::Break => facts.leaves_loop = true,
                Instruction::Continue => (facts.leaves_loop, facts.continues) = (true, true),
                Instruction::Return => facts.leaves_call = true,
                _ => {}
            }
        }
        facts
    }

    fn add(&mut self, other: Self) {
        self.assigned.extend(other.assigned);
        self.sites.extend(other.sites);
        self.stores_anywhere |= other.stores_anywhere;
        self.stores_workgroup |= other.stores_workgroup;
        self.leaves_loop |= other.leaves_loop;
        self.continues |= other.continues;
        self.leaves_call |= other.leaves_call;
    }
}

/// The state of the analysis.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // They are independent.
pub(super) struct Dataflow {
    /// For each memory, true if it holds data.
    data: Vec<bool>,
    slots: Vec<bool>,
    words: Vec<bool>,
    /// The address of a store depended on data, so any slot, or any word, may depend on it.
    all_slots: bool,
    all_words: bool,
    /// The active lanes depend on data: after a branch, a loop exit, or a return.
    branch: bool,
    left_loop: bool,
    left_call: bool,
    /// Some of the lanes that left the loop did so by `continue`, which leaves the loop even from
    /// within a switch.
    continued: bool,
    /// Sites whose accesses depend on data.
    pub(super) decided: Vec<bool>,
    facts: HashMap<u32, Rc<Facts>>,
}

/// The state to restore at the end of a loop, switch or call.
pub(super) struct Outer {
    left_loop: bool,
    left_call: bool,
    continued: bool,
}

impl Dataflow {
    pub(super) fn new(program: &Program, data: Vec<bool>) -> Self {
        Self {
            data,
            slots: vec![false; program.slots as usize],
            words: vec![false; program.memories[0].bytes.div_ceil(4) as usize],
            all_slots: false,
            all_words: false,
            branch: false,
            left_loop: false,
            left_call: false,
            continued: false,
            decided: vec![false; program.sites.len()],
            facts: HashMap::new(),
        }
    }

    /// Starts a workgroup: its memory is new, and all of its lanes are active.
    pub(super) fn start(&mut self) {
        self.slots.fill(false);
        self.words.fill(false);
        self.all_slots = false;
        self.all_words = false;
        self.branch = false;
        self.left_loop = false;
        self.left_call = false;
        self.continued = false;
    }

    fn control(&self) -> bool {
        self.branch || self.left_loop || self.left_call
    }

    pub(super) fn slot(&self, slot: Slot) -> bool {
        self.slots[slot as usize]
    }

    fn any(&self, slots: &[Slot]) -> bool {
        slots.iter().any(|&slot| self.slot(slot))
    }

    fn set(&mut self, first: Slot, count: u32, mark: bool) {
        self.slots[first as usize..][..count as usize].fill(mark);
    }

    fn decide(&mut self, sites: impl IntoIterator<Item = u32>) {
        for site in sites {
            self.decided[site as usize] = true;
        }
    }

    fn facts(&mut self, program: &Program, block: u32) -> Rc<Facts> {
        let facts = self.facts.entry(block);
        facts
            .or_insert_with(|| Rc::new(Facts::of(program, block)))
            .clone()
    }

    /// Enters the blocks of a branch. `decided` is true if the condition depends on data.
    pub(super) fn enter_branch(&mut self, decided: bool) -> bool {
        let outer = self.branch;
        self.branch |= decided;
        outer
    }

    /// Leaves them. After a condition on data, all their possible effects are marked.
    pub(super) fn leave_branch(&mut self, program: &Program, outer: bool, blocks: &[u32]) {
        let decided = self.branch && !outer;
        self.branch = outer;
        if decided {
            self.settle(program, blocks);
        }
    }

    fn settle(&mut self, program: &Program, blocks: &[u32]) {
        for &block in blocks {
            let facts = self.facts(program, block);
            for &slot in &facts.assigned {
                self.slots[slot as usize] = true;
            }
            self.decide(facts.sites.iter().copied());
            self.all_slots |= facts.stores_anywhere;
            self.all_words |= facts.stores_workgroup;
            self.left_loop |= facts.leaves_loop;
            self.continued |= facts.continues;
            self.left_call |= facts.leaves_call;
        }
    }

    /// Ends a workgroup.
    pub(super) fn finish(&mut self, program: &Program) {
        if self.left_call {
            self.settle(program, &[program.entry]);
        }
    }

    pub(super) fn enter(&mut self) -> Outer {
        Outer {
            left_loop: std::mem::take(&mut self.left_loop),
            left_call: self.left_call,
            continued: std::mem::take(&mut self.continued),
        }
    }

    /// Records whether the exit condition of a loop depends on data.
    pub(super) fn leave_loop_if(&mut self, decided: bool) {
        self.left_loop |= decided;
    }

    /// Leaves a loop.
    pub(super) fn leave_loop(&mut self, program: &Program, outer: &Outer, blocks: &[u32]) {
        self.end(program, outer, blocks);
        self.left_loop = outer.left_loop;
        self.continued = outer.continued;
    }

    /// Leaves a switch. Lanes that left it by `continue` are inactive until the next iteration.
    pub(super) fn leave_switch(&mut self, program: &Program, outer: &Outer, blocks: &[u32]) {
        self.end(program, outer, blocks);
        self.left_loop = outer.left_loop || self.continued;
        self.continued |= outer.continued;
    }

    fn end(&mut self, program: &Program, outer: &Outer, blocks: &[u32]) {
        if self.left_loop || (self.left_call && !outer.left_call) {
            self.settle(program, blocks);
        }
    }

    /// Leaves a call. If a return depended on data, so do all effects of the other lanes.
    pub(super) fn leave_call(&mut self, program: &Program, outer: &Outer, body: u32) {
        if self.left_call && !outer.left_call {
            self.settle(program, &[body]);
        }
        self.left_loop = outer.left_loop;
        self.left_call = outer.left_call;
        self.continued = outer.continued;
    }
}

impl Machine<'_> {
    /// Calls `f` with the words of workgroup memory that each lane accesses, until it returns true.
    fn each_words(&self, address: &Address, leaf: &Leaf, mut f: impl FnMut(Range) -> bool) {
        let len = leaf.bytes().div_ceil(4);
        let count = self.memories[0].bytes / 4;
        for chunk in 0..self.chunks {
            for bit in super::bits(u64::from(self.active.chunk(chunk))) {
                let lane = chunk * super::CHUNK + bit;
                let offset = address.offset.map_or(0, |slot| self.get(slot, lane));
                let start = (address.base + leaf.offset).saturating_add(offset) / 4;
                if offset != POISON && start + len <= count && f(Range { start, len }) {
                    return;
                }
            }
        }
    }

    fn mark_words(&mut self, address: &Address, leaf: &Leaf, mark: bool) {
        // In a partly written word, the rest keeps its mark.
        if !mark && !leaf.bytes().is_multiple_of(4) {
            return;
        }
        // Moved out, as the closure reads the lanes' addresses from `self`.
        let mut words = std::mem::take(&mut self.flow.words);
        self.each_words(address, leaf, |range| {
            words[range.start as usize..][..range.len as usize].fill(mark);
            false
        });
        self.flow.words = words;
    }

    /// Propagates the marks through an instruction, before it is executed.
    #[allow(clippy::too_many_lines)] // One arm per instruction.
    pub(super) fn mark(&mut self, instruction: &Instruction) {
        let program = self.program;
        let operands = |range: Range| range.of(&program.operands);
        match *instruction {
            Instruction::Compute {
                inputs,
                output,
                outputs,
                ..
            } => {
                let mark = self.flow.any(operands(inputs));
                self.flow.set(output, outputs, mark);
            }
            Instruction::Copy { from, to } => {
                let mark = self.flow.slot(from) || self.flow.all_slots;
                self.flow.set(to, 1, mark);
            }
            Instruction::Assign { from, to } => {
                let partial = self.active_lanes != self.lanes as u64;
                let mark =
                    self.flow.slot(from) || self.flow.control() || (partial && self.flow.slot(to));
                self.flow.set(to, 1, mark);
            }
            Instruction::Index {
                index,
                before,
                output,
                ..
            } => {
                let mark = self.flow.slot(index) || before.is_some_and(|slot| self.flow.slot(slot));
                self.flow.set(output, 1, mark);
            }
            Instruction::LoadLocal {
                base,
                offset,
                count,
                output,
                ..
            } => {
                let mut mark = self.flow.slot(offset) || self.flow.all_slots;
                let (mut last, len) = (POISON, count);
                self.each_lane(|this, lane| {
                    let at = this.get(offset, lane);
                    // Most often, all lanes have the same offset.
                    if at != last && at != POISON && !mark {
                        let start = base + at;
                        mark = Range { start, len }.of(&this.flow.slots).contains(&true);
                        last = at;
                    }
                });
                self.flow.set(output, count, mark);
            }
            Instruction::StoreLocal {
                base,
                offset,
                values,
                ..
            } => {
                let values = operands(values);
                let mark = self.flow.any(values) || self.flow.control();
                self.flow.all_slots |= self.flow.slot(offset);
                let mut last = POISON;
                self.each_lane(|this, lane| {
                    let at = this.get(offset, lane);
                    if mark && at != last && at != POISON {
                        this.flow.set(base + at, values.len() as u32, true);
                        last = at;
                    }
                });
            }
            Instruction::Pick {
                index,
                table,
                output,
                outputs,
                ..
            } => {
                let mark = self.flow.slot(index) || self.flow.any(operands(table));
                self.flow.set(output, outputs, mark);
            }
            Instruction::Load {
                address,
                leaves,
                output,
            } => {
                let mut output = output;
                for leaf in leaves.of(&program.leaves) {
                    let mark = self.mark_access(&address, leaf) || self.holds_data(&address, leaf);
                    let count = leaf.components * leaf.width.div_ceil(4);
                    self.flow.set(output, count, mark);
                    output += count;
                }
            }
            Instruction::Store {
                address,
                leaves,
                values,
            } => {
                let values = self.flow.any(operands(values));
                for leaf in leaves.of(&program.leaves) {
                    let decided = self.mark_access(&address, leaf);
                    self.mark_stored(&address, leaf, decided, decided || values);
                }
            }
            Instruction::Atomic {
                address,
                leaf,
                output,
                ..
            } => {
                let decided = self.mark_access(&address, &leaf);
                // The result of an atomic operation depends on the order of lanes.
                self.mark_stored(&address, &leaf, decided, true);
                if let Some(output) = output {
                    let count = leaf.width.div_ceil(4) + 1;
                    let end = (output + count).min(program.slots);
                    self.flow.set(output, end - output, true);
                }
            }
            Instruction::ArrayLength { output, .. } => self.flow.set(output, 1, false),
            Instruction::Ballot { predicate, output } => {
                let mark = self.flow.control() || predicate.is_some_and(|p| self.flow.slot(p));
                self.flow.set(output, 4, mark);
            }
            Instruction::Gather { mode, from, output } => {
                let by = match mode {
                    Gather::Lane(slot)
                    | Gather::Down(slot)
                    | Gather::Up(slot)
                    | Gather::Xor(slot)
                    | Gather::Quad(slot) => self.flow.slot(slot),
                    Gather::First | Gather::QuadSwap(_) => false,
                };
                let mark = self.flow.slot(from) || by || self.flow.control();
                self.flow.set(output, 1, mark);
            }
            Instruction::Collective { value, output, .. } => {
                let value = operands(value);
                let mark = self.flow.any(value) || self.flow.control();
                self.flow.set(output, value.len() as u32, mark);
            }
            Instruction::If { .. }
            | Instruction::Switch { .. }
            | Instruction::Loop { .. }
            | Instruction::Break
            | Instruction::Continue
            | Instruction::Return
            | Instruction::Call { .. }
            | Instruction::Barrier { .. } => {}
        }
    }

    /// Marks the site of an access that depends on data. Returns true if its address does.
    fn mark_access(&mut self, address: &Address, leaf: &Leaf) -> bool {
        let by_address = address.offset.is_some_and(|slot| self.flow.slot(slot));
        let decided = by_address || self.flow.control();
        if decided {
            self.flow.decided[leaf.site as usize] = true;
        }
        by_address
    }

    fn holds_data(&self, address: &Address, leaf: &Leaf) -> bool {
        if address.memory != 0 {
            return self.flow.data[address.memory as usize];
        }
        let mut mark = self.flow.all_words;
        if !mark {
            self.each_words(address, leaf, |range| {
                mark = range.of(&self.flow.words).contains(&true);
                mark
            });
        }
        mark
    }

    fn mark_stored(&mut self, address: &Address, leaf: &Leaf, anywhere: bool, mark: bool) {
        if address.memory == 0 {
            self.flow.all_words |= anywhere;
            let mark = mark || self.flow.control();
            self.mark_words(address, leaf, mark);
        }
    }
}
