//! Covering arrays: few cases in which every few choices meet.

use std::collections::BTreeSet;

/// A choice of a factor.
type Choice = (usize, usize);

/// All sets of `strength` of the factors `0..factors`: what is to meet in a covering array.
///
/// # Examples
///
/// ```
/// assert_eq!(bcfsort_testkit::covering::subsets(3, 2), [[0, 1], [0, 2], [1, 2]]);
/// ```
#[must_use]
pub fn subsets(factors: usize, strength: usize) -> Vec<Vec<usize>> {
    let mut sets = vec![Vec::new()];
    for _ in 0..strength {
        let longer = |set: Vec<usize>| {
            let next = set.last().map_or(0, |last| last + 1);
            let with = move |factor| [&set[..], &[factor]].concat();
            (next..factors).map(with)
        };
        sets = sets.into_iter().flat_map(longer).collect();
    }
    sets
}

/// The choices that a case makes of a set of factors, if it has made them.
fn meeting(case: &[Option<usize>], set: &[usize]) -> Option<Vec<Choice>> {
    set.iter().map(|&f| Some((f, case[f]?))).collect()
}

/// Every case of a set of factors, those of the last factor first.
fn product(levels: &[usize], set: &[usize]) -> Vec<Vec<Choice>> {
    let mut cases = vec![Vec::new()];
    for &f in set {
        let longer = |case: Vec<Choice>| {
            let with = move |choice| [&case[..], &[(f, choice)]].concat();
            (0..levels[f]).map(with)
        };
        cases = cases.into_iter().flat_map(longer).collect();
    }
    cases
}

/// Cases in which, for each of these sets of factors, every choice of one occurs together with
/// every choice of the others. A factor `f` has the choices `0..levels[f]`. A set names its factors
/// in ascending order. The factors of the first set should be the largest: each case of these is a
/// case of the array.
///
/// # Examples
///
/// Every three of four factors, and the fifth with each of them, in fewer cases than the 108 of the
/// full product:
///
/// ```
/// use bcfsort_testkit::covering::{covering, subsets};
///
/// let sets = [subsets(4, 3), subsets(5, 2)].concat();
/// let cases = covering(&[3, 3, 3, 2, 2], &sets);
/// assert!(cases.len() < 50);
/// assert!(cases.iter().any(|case| case[..3] == [2, 1, 0]));
/// assert!(cases.iter().any(|case| case[1..4] == [0, 2, 1]));
/// assert!(cases.iter().any(|case| case[3..] == [0, 1]));
/// ```
///
/// # Panics
///
/// If the cases made are no such array, or a factor has no choice.
#[must_use]
pub fn covering(levels: &[usize], sets: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut all: BTreeSet<Vec<Choice>> = sets.iter().flat_map(|set| product(levels, set)).collect();
    let mut missing = all.clone();
    let mut cases: Vec<Vec<Option<usize>>> = Vec::new();
    let mut seeds = sets.first().map_or(Vec::new(), |set| product(levels, set));
    while let Some(seed) = seeds.pop().or_else(|| missing.first().cloned()) {
        if !missing.contains(&seed) {
            continue;
        }
        let mut case: Vec<Option<usize>> = vec![None; levels.len()];
        for (f, choice) in seed {
            case[f] = Some(choice);
        }
        for f in 0..levels.len() {
            if case[f].is_some() {
                continue;
            }
            // The choice with the most meetings that are new; in turns where equal.
            let of = sets.iter().filter(|set| set.contains(&f));
            let of: Vec<_> = of.collect();
            let gain = |&choice: &usize| {
                let mut with = case.clone();
                with[f] = Some(choice);
                let met = of.iter().filter_map(|set| meeting(&with, set));
                met.filter(|meeting| missing.contains(meeting)).count()
            };
            let turn = cases.len();
            let in_turn = (0..levels[f]).map(|i| (i + turn) % levels[f]);
            case[f] = in_turn.max_by_key(gain);
        }
        for meeting in sets.iter().filter_map(|set| meeting(&case, set)) {
            missing.remove(&meeting);
        }
        cases.push(case);
    }
    for case in &cases {
        all.retain(|tuple| tuple.iter().any(|&(f, choice)| case[f] != Some(choice)));
    }
    assert!(all.is_empty(), "not covered: {all:?}");
    let whole = cases.into_iter().map(|case| case.into_iter().flatten());
    whole.map(Iterator::collect).collect()
}

/// Cases in which every two choices of two factors occur together: a [`covering`] array of strength
/// 2.
#[must_use]
pub fn pairs(levels: &[usize]) -> Vec<Vec<usize>> {
    covering(levels, &subsets(levels.len(), 2))
}

/// Every case there is, or only [`pairs`] of choices.
#[must_use]
pub fn cases(levels: &[usize], all: bool) -> Vec<Vec<usize>> {
    if !all {
        return pairs(levels);
    }
    let factors: Vec<usize> = (0..levels.len()).collect();
    let choices = |case: Vec<Choice>| case.into_iter().map(|(_, choice)| choice).collect();
    product(levels, &factors).into_iter().map(choices).collect()
}
