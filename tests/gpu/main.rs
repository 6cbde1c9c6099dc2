//! The sort on this machine's adapter: single phases, whole sorts, and errors.
//!
//! Without an adapter these tests print so and pass. `WGPU_BCFSORT_REQUIRE_ADAPTER=1` makes them
//! fail.

mod combinations;
mod comparators;
mod device;
mod endurance;
mod execution;
mod external;
mod faults;
mod first_call;
mod found;
mod histogram;
mod key_parts;
mod large_buffers;
mod lockstep;
mod loss;
mod lost_devices;
mod merging;
mod out_of_memory;
mod out_of_place;
mod page_merges;
mod pairs;
mod peers;
mod phases;
mod pipeline_cache;
mod prefix_sums;
mod profiles;
mod random_modules;
mod recorded_sorts;
mod rows;
mod sample_sort;
mod scan;
mod segments;
mod selection;
mod sorts;
mod threads;
mod top_k;
mod transfers;
