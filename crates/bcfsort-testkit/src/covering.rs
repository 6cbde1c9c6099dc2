//! Covering arrays: few test cases in which every combination of a few choices occurs.

use std::collections::BTreeSet;

/// A factor and the choice made for it.
type Choice = (usize, usize);

/// All subsets of `strength` factors out of `0..factors`.
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

/// The choices that a case makes for a set of factors; `None` while any of them is open.
fn combination(case: &[Option<usize>], set: &[usize]) -> Option<Vec<Choice>> {
    set.iter().map(|&f| Some((f, case[f]?))).collect()
}

/// Every combination of choices of a set of factors. The choice of the last factor varies fastest.
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

/// Cases that contain, for each set of factors in `sets`, every combination of their choices.
/// A factor `f` has the choices `0..levels[f]`. A set lists its factors in ascending order. The
/// first set should have the factors with the most choices: each of its combinations is the start
/// of a case.
///
/// # Examples
///
/// Every combination of three of four factors, and of the fifth with each of them, in fewer cases
/// than the 108 of the full product:
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
/// If the cases do not cover all combinations, or a factor has no choice.
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
            // The choice with the most new combinations. Ties rotate from case to case.
            let of = sets.iter().filter(|set| set.contains(&f));
            let of: Vec<_> = of.collect();
            let gain = |&choice: &usize| {
                let mut with = case.clone();
                with[f] = Some(choice);
                let made = of.iter().filter_map(|set| combination(&with, set));
                made.filter(|tuple| missing.contains(tuple)).count()
            };
            let offset = cases.len();
            let rotated = (0..levels[f]).map(|i| (i + offset) % levels[f]);
            case[f] = rotated.max_by_key(gain);
        }
        for tuple in sets.iter().filter_map(|set| combination(&case, set)) {
            missing.remove(&tuple);
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

/// Cases in which every choice of one factor occurs with every choice of each other factor: a
/// [`covering`] array of strength 2.
#[must_use]
pub fn pairs(levels: &[usize]) -> Vec<Vec<usize>> {
    covering(levels, &subsets(levels.len(), 2))
}

/// The full product if `all`, otherwise only [`pairs`].
#[must_use]
pub fn cases(levels: &[usize], all: bool) -> Vec<Vec<usize>> {
    if !all {
        return pairs(levels);
    }
    let factors: Vec<usize> = (0..levels.len()).collect();
    let choices = |case: Vec<Choice>| case.into_iter().map(|(_, choice)| choice).collect();
    product(levels, &factors).into_iter().map(choices).collect()
}
