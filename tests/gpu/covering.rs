//! Pairwise covering arrays: few cases in which every two choices meet.

use std::collections::HashSet;

/// A choice of a factor.
type Choice = (usize, usize);

fn meetings(case: &[usize]) -> impl Iterator<Item = (Choice, Choice)> {
    let choices: Vec<Choice> = case.iter().copied().enumerate().collect();
    (0..choices.len()).flat_map(move |i| {
        let choices = choices.clone();
        (i + 1..choices.len()).map(move |j| (choices[i], choices[j]))
    })
}

/// All cases, or those of [`pairs`].
pub(crate) fn cases(levels: &[usize], all: bool) -> Vec<Vec<usize>> {
    if !all {
        return pairs(levels);
    }
    let with_next = |cases: Vec<Vec<usize>>, &count: &usize| {
        let longer = |case: &Vec<usize>| {
            let case = case.clone();
            (0..count).map(move |choice| [&case[..], &[choice]].concat())
        };
        cases.iter().flat_map(longer).collect()
    };
    levels.iter().fold(vec![vec![]], with_next)
}

/// Cases in which every two choices of two factors occur together; a factor `f` has the choices
/// `0..levels[f]`. The first two factors should be the largest: each of their pairs is a case.
pub(crate) fn pairs(levels: &[usize]) -> Vec<Vec<usize>> {
    let mut missing: HashSet<(Choice, Choice)> = HashSet::new();
    for (f, &count) in levels.iter().enumerate() {
        for (g, &other) in levels.iter().enumerate().skip(f + 1) {
            for a in 0..count {
                missing.extend((0..other).map(|b| ((f, a), (g, b))));
            }
        }
    }
    let all = missing.clone();
    let mut cases = Vec::new();
    let mut seeds: Vec<(Choice, Choice)> = (0..levels[0])
        .flat_map(|a| (0..levels[1]).map(move |b| ((0, a), (1, b))))
        .collect();
    while let Some(seed) = seeds.pop().or_else(|| missing.iter().min().copied()) {
        if !missing.contains(&seed) {
            continue;
        }
        let mut case: Vec<Option<usize>> = vec![None; levels.len()];
        case[seed.0.0] = Some(seed.0.1);
        case[seed.1.0] = Some(seed.1.1);
        for f in 0..levels.len() {
            if case[f].is_some() {
                continue;
            }
            // The choice that meets most of the others for the first time; in turns where equal.
            let gain = |choice: usize| {
                let new = |(g, other): (usize, &Option<usize>)| {
                    let meeting = other.map(|other| {
                        if g < f {
                            ((g, other), (f, choice))
                        } else {
                            ((f, choice), (g, other))
                        }
                    });
                    meeting.is_some_and(|meeting| missing.contains(&meeting))
                };
                case.iter()
                    .enumerate()
                    .filter(|&(g, other)| new((g, other)))
                    .count()
            };
            let turn = cases.len();
            let in_turn = (0..levels[f]).map(|i| (i + turn) % levels[f]);
            case[f] = in_turn.max_by_key(|&choice| gain(choice));
        }
        let case: Vec<usize> = case.into_iter().flatten().collect();
        for meeting in meetings(&case) {
            missing.remove(&meeting);
        }
        cases.push(case);
    }
    let met: HashSet<_> = cases.iter().flat_map(|case| meetings(case)).collect();
    assert!(all.is_subset(&met));
    cases
}
