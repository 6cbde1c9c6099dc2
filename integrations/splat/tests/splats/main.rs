//! Draw orders on a device, compared with those of the CPU.

mod errors;
mod frames;
mod order;
mod picture;
mod reference;
