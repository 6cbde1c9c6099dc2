//! Moves values to the order of an argsort.

/// Puts the value that was at `from[i]` at index `i`, for every `i`: in place, by at most one swap
/// for each value. `from` is a permutation, and is lost.
pub(crate) fn permute<V>(mut from: Vec<u32>, values: &mut [V]) {
    for start in 0..from.len() {
        let mut at = start;
        loop {
            let next = from[at] as usize;
            from[at] = at as u32;
            // The cycle's first value has reached its end.
            if next == start {
                break;
            }
            values.swap(at, next);
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_get_the_order_of_the_indices() {
        let mut state = 1_u32;
        for len in 0..200_u32 {
            let mut from: Vec<u32> = (0..len).collect();
            from.sort_by_cached_key(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state >> 8
            });
            let mut values: Vec<u32> = (1000..1000 + len).collect();
            permute(from.clone(), &mut values);
            assert!(
                values
                    .iter()
                    .zip(&from)
                    .all(|(value, from)| value - 1000 == *from)
            );
        }
    }
}
