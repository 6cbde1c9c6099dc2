//! The lock-step executor: what it proves of the shipped shaders, and that it can find fault.
#![cfg(all(feature = "data", feature = "lockstep"))]

mod counts;
mod generator;
mod oddities;
mod prefix_sums;
mod random_modules;
mod sample_sort;
mod shipped;
mod small;
mod warpsort;
