//! Throw-away.
mod cases;
mod execution;
mod gate;
mod metal;
use gate::Gate;
use std::time::Instant;
fn main() {
    execution::choose_drivers();
    let only = std::env::args().nth(1);
    let gates: Vec<&dyn Gate> = vec![
        &metal::Metal,
        &metal::Races,
        &execution::LAVAPIPE,
        &execution::SWIFTSHADER,
    ];
    let subjects = gate::Subject::all();
    for gate in gates {
        if only
            .as_ref()
            .is_some_and(|o| !gate.name().contains(o.as_str()))
        {
            continue;
        }
        println!("== {}: {}", gate.name(), gate.catches());
        println!("ready: {:?}", gate.ready());
        let t = Instant::now();
        println!("planted: {:?} ({:?})", gate.planted(), t.elapsed());
        let n: usize = subjects
            .iter()
            .map(|s| cases::Case::of(s.specialised).map_or(0, <[_]>::len))
            .sum();
        let t = Instant::now();
        let next = std::sync::atomic::AtomicUsize::new(0);
        let bad = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    loop {
                        let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        let Some(subject) = subjects.get(i) else {
                            break;
                        };
                        if let Err(e) = gate.examine(subject) {
                            bad.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                            println!("{}: {e}", subject.label);
                        }
                    }
                });
            }
        });
        println!(
            "{} kernels, {n} cases, {:?} bad, {:?}",
            subjects.len(),
            bad,
            t.elapsed()
        );
    }
}
