//! Memories shared by lanes: contents, race detection, and the cost of accesses.

use crate::program::{Effect, MemoryInfo};
use crate::report::{Banks, Space};
use std::collections::HashMap;

/// The last access to a granule: its lane, its time by [`Clock`], and its location in the source.
#[derive(Clone, Copy, Debug, Default)]
struct Touch {
    who: u32,
    when: u32,
    location: u32,
}

/// Stands for several lanes with atomic accesses.
const MANY: u32 = u32::MAX;

/// The access history of a granule.
#[derive(Clone, Copy, Debug, Default)]
struct Shadow {
    write: Touch,
    /// True if the last write was atomic. Atomic operations do not race with each other.
    atomic: bool,
    /// True if the last write was to another component of the vector.
    beside: bool,
    /// True if this granule itself was written in the workgroup of the last write.
    written: bool,
    read: Touch,
    /// A later read by another lane, preferably of another subgroup than the first.
    second_read: Touch,
    /// One plus the location of a read by an earlier workgroup of the dispatch, which no barrier
    /// orders. 0 if there is none.
    foreign_read: u32,
}

/// Bytes of the access history of a granule.
pub(crate) const SHADOW_BYTES: u32 = size_of::<Shadow>() as u32;

/// Time advances at barriers and between workgroups of a dispatch. 0 is before the first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    pub(crate) now: u32,
    pub(crate) workgroup: u32,
    /// The time of the last barriers for workgroup memory and for storage.
    pub(crate) workgroup_barrier: u32,
    pub(crate) storage_barrier: u32,
    /// True if the program has subgroup barriers.
    pub(crate) subgroups: bool,
}

/// The lane of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Actor {
    /// The invocation's number in the dispatch.
    pub(crate) who: u32,
    /// The first invocation of its subgroup and one past the last, and the time of the subgroup's
    /// last barrier.
    pub(crate) subgroup: (u32, u32),
    pub(crate) subgroup_barrier: u32,
    pub(crate) location: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// A write to another component of the vector. It may read this component and write it back.
    WriteBeside,
    Atomic(Effect),
}

impl Access {
    fn is_atomic(self) -> bool {
        matches!(self, Self::Atomic(_))
    }
}

/// The atomic operations on a word since the last barrier that orders them.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    last: Touch,
    /// The bits of their effects.
    effects: u16,
}

impl Changes {
    /// Adds one. `others` is true if other lanes made earlier ones that nothing orders before it;
    /// the location of the last is returned if the two do not commute.
    fn add(&mut self, effect: Effect, others: bool, me: Touch, barrier: u32) -> Option<u32> {
        let opposed = others && self.effects & effect.opposed() != 0;
        let other = opposed.then_some(self.last.location);
        let mine = self.last.who == me.who && self.last.when >= barrier;
        if !others && !mine {
            self.effects = 0;
        }
        self.effects |= effect.bit();
        self.last = Touch {
            who: if others { MANY } else { me.who },
            ..me
        };
        other
    }
}

/// The result of checking an access.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Verdict {
    /// The location of an earlier access by another lane that this one races with.
    pub(crate) race: Option<u32>,
    /// True if that lane is of another workgroup.
    pub(crate) foreign: bool,
    /// True if that access was a write to another component of the vector.
    pub(crate) beside: bool,
    pub(crate) uninitialised: bool,
    /// The location of an atomic operation by another lane that this one does not commute with, and
    /// that no barrier orders.
    pub(crate) order: Option<u32>,
}

impl Verdict {
    fn met(&mut self, touch: &Touch, clock: &Clock) {
        self.race = Some(touch.location);
        self.foreign = touch.when < clock.workgroup;
        self.beside = false;
    }
}

/// A memory with its access history.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) words: Vec<u32>,
    pub(crate) bytes: u32,
    space: Space,
    granule_shift: u32,
    /// Empty if races are impossible.
    shadow: Vec<Shadow>,
    /// The changes by atomic operations, by granule.
    changes: HashMap<u32, Changes>,
}

impl MemoryInfo {
    /// Bytes per word, including the access history.
    pub(crate) fn bytes_a_word(&self) -> u32 {
        let granules = if self.writable {
            4 >> self.granule_shift
        } else {
            0
        };
        4 + granules * SHADOW_BYTES
    }
}

impl Memory {
    pub(crate) fn new(words: Vec<u32>, space: Space, watched: bool, granule_shift: u32) -> Self {
        let bytes = words.len() as u32 * 4;
        let granules = if watched { bytes >> granule_shift } else { 0 };
        Self {
            words,
            bytes,
            space,
            granule_shift,
            shadow: vec![Shadow::default(); granules as usize],
            changes: HashMap::new(),
        }
    }

    /// Reads a scalar of 1, 2 or 4 bytes at an aligned address in bounds.
    #[inline]
    pub(crate) fn read(&self, address: u32, width: u32) -> u32 {
        let word = self.words[address as usize / 4];
        match width {
            4 => word,
            2 => word >> (address % 4 * 8) & 0xffff,
            _ => word >> (address % 4 * 8) & 0xff,
        }
    }

    /// Writes a scalar of 1, 2 or 4 bytes at an aligned address in bounds.
    #[inline]
    pub(crate) fn write(&mut self, address: u32, width: u32, value: u32) {
        let word = &mut self.words[address as usize / 4];
        let shift = address % 4 * 8;
        match width {
            4 => *word = value,
            2 => *word = *word & !(0xffff << shift) | (value & 0xffff) << shift,
            _ => *word = *word & !(0xff << shift) | (value & 0xff) << shift,
        }
    }

    /// Records an access to the bytes from `start` to `end`, and checks it against earlier ones.
    #[inline]
    pub(crate) fn touch(
        &mut self,
        clock: &Clock,
        actor: Actor,
        access: Access,
        start: u32,
        end: u32,
    ) -> Verdict {
        let mut verdict = Verdict::default();
        if self.shadow.is_empty() {
            return verdict;
        }
        let first = (start >> self.granule_shift) as usize;
        let last = ((end - 1) >> self.granule_shift) as usize;
        let barrier = match self.space {
            Space::Workgroup => clock.workgroup_barrier,
            _ => clock.storage_barrier,
        };
        let beside = |who| (actor.subgroup.0..actor.subgroup.1).contains(&who);
        let in_workgroup = self.space == Space::Workgroup;
        // True for an access by another lane that is not ordered before this one.
        let races = |touch: &Touch| {
            touch.when > 0
                && touch.who != actor.who
                && if touch.when < clock.workgroup {
                    !in_workgroup
                } else {
                    touch.when >= barrier
                        && !(touch.when < actor.subgroup_barrier && beside(touch.who))
                }
        };
        match access {
            Access::Atomic(Effect::Load) | Access::Read | Access::Write | Access::WriteBeside => {}
            Access::Atomic(effect) => {
                let changes = self.changes.entry(first as u32).or_default();
                let others = races(&changes.last);
                let me = Touch {
                    who: actor.who,
                    when: clock.now,
                    location: actor.location,
                };
                verdict.order = changes.add(effect, others, me, barrier);
            }
        }
        for shadow in &mut self.shadow[first..=last] {
            // Workgroup memory is new in each workgroup: writes by earlier ones do not count.
            let written = shadow.written && shadow.write.when >= clock.workgroup;
            let looks = match access {
                Access::Read => true,
                Access::Atomic(effect) => !matches!(effect, Effect::Store | Effect::StoreSame),
                Access::Write | Access::WriteBeside => false,
            };
            if !written && looks && in_workgroup {
                verdict.uninitialised = true;
            }
            if races(&shadow.write) && !(access.is_atomic() && shadow.atomic) {
                verdict.met(&shadow.write, clock);
                verdict.beside = shadow.beside;
            }
            let me = Touch {
                who: actor.who,
                when: clock.now,
                location: actor.location,
            };
            if access == Access::Read {
                let read = &shadow.read;
                if read.when < clock.workgroup {
                    shadow.foreign_read = if read.when > 0 { read.location + 1 } else { 0 };
                }
                if read.when < barrier || read.who == actor.who {
                    if read.when < barrier {
                        shadow.second_read = Touch::default();
                    }
                    shadow.read = me;
                } else if shadow.second_read.when < barrier
                    || shadow.second_read.who == actor.who
                    // A read that no barrier orders replaces one that a subgroup barrier may order.
                    || (clock.subgroups
                        && (!beside(shadow.read.who) || beside(shadow.second_read.who)))
                {
                    shadow.second_read = me;
                }
                continue;
            }
            if races(&shadow.read) {
                verdict.met(&shadow.read, clock);
            } else if races(&shadow.second_read) {
                verdict.met(&shadow.second_read, clock);
            } else if shadow.foreign_read != 0
                && !in_workgroup
                && shadow.read.when >= clock.workgroup
            {
                verdict.race = Some(shadow.foreign_read - 1);
                verdict.foreign = true;
                verdict.beside = false;
            }
            shadow.beside = access == Access::WriteBeside;
            shadow.written = !shadow.beside || written;
            let atomic = access.is_atomic();
            let others = atomic && shadow.atomic && races(&shadow.write);
            shadow.write = me;
            shadow.atomic = atomic;
            if others {
                shadow.write.who = MANY;
            }
        }
        verdict
    }
}

/// Maximum number of lanes per warp, and of banks.
pub(crate) const MOST: usize = 64;

/// The degree of an access: the most different words in one bank. `counts` receives the number of
/// different words in each bank.
fn degree(words: &[u32], banks: u32, counts: &mut [u32; MOST]) -> u32 {
    // Divisions by 32 would take most of the time of a run.
    if banks.is_power_of_two() {
        degree_in(words, |word| (word & (banks - 1)) as usize, counts)
    } else {
        degree_in(words, |word| (word % banks) as usize, counts)
    }
}

/// See [`degree`]. `bank_of` returns the bank of a word.
fn degree_in(words: &[u32], bank_of: impl Fn(u32) -> usize, counts: &mut [u32; MOST]) -> u32 {
    let mut first = [u32::MAX; MOST];
    let mut conflict = false;
    for &word in words {
        let bank = bank_of(word);
        if first[bank] == u32::MAX {
            first[bank] = word;
            counts[bank] = 1;
        } else if first[bank] != word {
            conflict = true;
            break;
        }
    }
    if !conflict {
        return u32::from(!words.is_empty());
    }
    let mut sorted = [0; MOST];
    let sorted = &mut sorted[..words.len()];
    sorted.copy_from_slice(words);
    sorted.sort_unstable();
    *counts = [0; MOST];
    let mut last = u32::MAX;
    for &word in &*sorted {
        if word != last {
            counts[bank_of(word)] += 1;
            last = word;
        }
    }
    counts.iter().copied().max().unwrap_or(0)
}

/// The cost of one access of a warp to workgroup memory.
#[derive(Debug)]
pub(crate) struct BankCost {
    pub(crate) wide: Banks,
    pub(crate) by_word: Banks,
    /// The most different words in each bank in one 4-byte access.
    pub(crate) counts: [u32; MOST],
}

/// Counts the bank conflicts of a warp's access. `addresses` holds (lane in the warp, byte), in
/// order of lanes.
///
/// A warp is served in parts of as many words as there are banks. So on 32 banks, 64 lanes need two
/// parts, and 32 lanes with 8 bytes each do as well.
pub(crate) fn bank_cost(addresses: &[(u32, u32)], bytes: u32, banks: u32) -> BankCost {
    let mut cost = BankCost {
        wide: Banks::default(),
        by_word: Banks::default(),
        counts: [0; MOST],
    };
    let words = bytes.div_ceil(4);
    for word in 0..words {
        let counts = &mut cost.counts;
        serve(addresses, word..word + 1, banks, &mut cost.by_word, counts);
    }
    cost.by_word.conflict_free = u64::from(cost.by_word.max_degree <= 1);
    cost.wide = cost.by_word;
    if matches!(bytes, 8 | 16) {
        cost.wide = Banks::default();
        serve(addresses, 0..words, banks, &mut cost.wide, &mut [0; MOST]);
        cost.wide.conflict_free = u64::from(cost.wide.max_degree <= 1);
    }
    cost
}

/// Serves `words` of each lane's access, in parts of the warp.
fn serve(
    addresses: &[(u32, u32)],
    words: std::ops::Range<u32>,
    banks: u32,
    cost: &mut Banks,
    most: &mut [u32; MOST],
) {
    let part_lanes = (banks / words.len() as u32).max(1);
    let mut rest = addresses;
    while let Some(&(lane, _)) = rest.first() {
        let end = (lane / part_lanes + 1) * part_lanes;
        let (part, after) = rest.split_at(rest.partition_point(|of| of.0 < end));
        rest = after;
        let mut touched = [0; MOST];
        let mut count = 0;
        for &(_, address) in part {
            for word in words.clone() {
                touched[count] = address / 4 + word;
                count += 1;
            }
        }
        let mut counts = [0; MOST];
        let degree = degree(&touched[..count], banks, &mut counts);
        for (most, count) in most.iter_mut().zip(counts) {
            *most = (*most).max(count);
        }
        cost.max_degree = cost.max_degree.max(degree);
        cost.cycles += u64::from(degree);
        cost.min_cycles += 1;
    }
}

/// Bytes of a sector of global memory.
const SECTOR: u32 = 32;

/// The sectors that a warp's access touches, and the minimum for the same number of bytes.
pub(crate) fn sectors(addresses: &[(u32, u32)], bytes: u32) -> (u64, u64) {
    let mut starts = [0; MOST];
    let starts = &mut starts[..addresses.len()];
    for (start, &(_, address)) in starts.iter_mut().zip(addresses) {
        *start = address;
    }
    if !starts.is_sorted() {
        starts.sort_unstable();
    }
    let (mut touched, mut held) = (0, 0);
    // One past the last sector and one past the last byte, so far.
    let (mut next_sector, mut next_byte) = (0, 0);
    for &start in &*starts {
        let end = start + bytes;
        held += end.saturating_sub(start.max(next_byte));
        next_byte = next_byte.max(end);
        let last = (end - 1) / SECTOR + 1;
        touched += last.saturating_sub((start / SECTOR).max(next_sector));
        next_sector = next_sector.max(last);
    }
    (u64::from(touched), u64::from(held.div_ceil(SECTOR)))
}
