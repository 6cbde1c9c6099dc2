//! The lock-step executor: properties of the shipped shaders, and detection of faults.

mod bins;
mod counts;
mod found;
mod garbage;
mod histogram;
mod layouts;
mod merging;
mod oddities;
mod prefix_sums;
mod random_modules;
mod ranks;
mod rooms;
mod samplesort;
mod scan;
mod shipped;
mod small;
mod spread;
mod top_k;
mod warpsort;
