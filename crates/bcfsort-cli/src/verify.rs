//! Checks that the output is the input, sorted.

use bcfsort_term::fault::Fault;
use std::cmp::Ordering;
use wgpu_bcfsort::{Order, SortKey};

/// An order-independent sum over a multiset of keys. Two different multisets have the same sum with
/// probability 2^-128, if the mixing is random.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fingerprint {
    count: u64,
    sum: u128,
}

impl Fingerprint {
    fn add<T: SortKey>(&mut self, keys: &[T]) {
        for key in keys {
            let bits = key.to_bits64();
            let high = mix(bits ^ 0x9e37_79b9_7f4a_7c15);
            let low = mix(bits.wrapping_add(0xd1b5_4a32_d192_ed03));
            let hash = u128::from(high) << 64 | u128::from(low);
            self.sum = self.sum.wrapping_add(hash);
        }
        self.count += keys.len() as u64;
    }
}

/// The finalizer of `SplitMix64`.
const fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// The first key that is out of order.
pub(crate) struct Disorder<T> {
    /// Number of keys before it.
    pub(crate) index: u64,
    pub(crate) before: T,
    pub(crate) key: T,
}

/// Checks that a stream of keys is sorted.
pub(crate) struct OrderCheck<T> {
    order: Order,
    unique: bool,
    last: Option<T>,
    count: u64,
}

impl<T: SortKey> OrderCheck<T> {
    /// With `unique`, equal keys are out of order.
    pub(crate) const fn new(order: Order, unique: bool) -> Self {
        Self {
            order,
            unique,
            last: None,
            count: 0,
        }
    }

    /// Checks the next keys of the stream. Returns the first key out of order.
    pub(crate) fn add(&mut self, keys: &[T]) -> Option<Disorder<T>> {
        let right = match self.order {
            Order::Ascending => Ordering::Less,
            Order::Descending => Ordering::Greater,
        };
        let unique = self.unique;
        let is_wrong = |order| match order {
            Ordering::Equal => unique,
            order => order != right,
        };
        for (index, &key) in keys.iter().enumerate() {
            match self.last.replace(key) {
                Some(before) if is_wrong(before.total_order(&key)) => {
                    return Some(Disorder {
                        index: self.count + index as u64,
                        before,
                        key,
                    });
                }
                _ => {}
            }
        }
        self.count += keys.len() as u64;
        None
    }
}

/// Checks that the keys written are the keys read, sorted.
pub(crate) struct Verifier<T> {
    read: Fingerprint,
    written: Fingerprint,
    check: OrderCheck<T>,
}

impl<T: SortKey> Verifier<T> {
    pub(crate) fn new(order: Order) -> Self {
        Self {
            read: Fingerprint::default(),
            written: Fingerprint::default(),
            check: OrderCheck::new(order, false),
        }
    }

    pub(crate) fn read(&mut self, keys: &[T]) {
        self.read.add(keys);
    }

    pub(crate) fn write(&mut self, keys: &[T]) -> Result<(), Fault> {
        self.written.add(keys);
        match self.check.add(keys) {
            Some(at) => Err(Fault::Device(format!(
                "--verify: the result is wrong at index {}: {:?} after {:?}. Please report \
                 this with the device's name",
                at.index, at.key, at.before
            ))),
            None => Ok(()),
        }
    }

    pub(crate) fn finish(&self) -> Result<(), Fault> {
        if self.read == self.written {
            return Ok(());
        }
        Err(Fault::Device(format!(
            "--verify: the {} keys of the result are not the {} keys of the input. Please report \
             this with the device's name",
            self.written.count, self.read.count
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verify(read: &[f32], written: &[f32], order: Order) -> Result<(), Fault> {
        let mut verifier = Verifier::new(order);
        verifier.read(read);
        for half in written.chunks(2) {
            verifier.write(half)?;
        }
        verifier.finish()
    }

    #[test]
    fn only_the_sorted_input_passes() {
        let (up, down) = (Order::Ascending, Order::Descending);
        assert!(verify(&[3.0, 1.0, 2.0, 1.0], &[1.0, 1.0, 2.0, 3.0], up).is_ok());
        assert!(verify(&[3.0, 1.0, 2.0, 1.0], &[3.0, 2.0, 1.0, 1.0], down).is_ok());
        assert!(verify(&[0.0, -0.0], &[-0.0, 0.0], up).is_ok());
        assert!(verify(&[0.0, -0.0], &[0.0, -0.0], up).is_err());
        assert!(verify(&[0.0, -0.0], &[0.0, 0.0], up).is_err());
        assert!(verify(&[1.0, 2.0, 3.0], &[1.0, 2.0, 2.0], up).is_err());
        assert!(verify(&[1.0, 2.0, 3.0], &[1.0, 2.0], up).is_err());
        assert!(verify(&[1.0, 2.0, 3.0], &[2.0, 3.0, 1.0], up).is_err());
        assert!(verify(&[], &[], up).is_ok());
    }
}
