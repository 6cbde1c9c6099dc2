//! The lock-step executor: what it proves of the shipped shaders, and that it can find fault.

mod counts;
mod layouts;
mod oddities;
mod prefix_sums;
mod random_modules;
mod samplesort;
mod shipped;
mod small;
mod warpsort;
