//! The gate of naga, wgpu's WGSL front end, without optional capabilities.

use crate::gate::{Gate, Subject, altered, caught, validated};
use wgpu_bcfsort::internals::mergesort::kernels::bucket_offsets;

pub(crate) struct Validation;

impl Gate for Validation {
    fn name(&self) -> &'static str {
        "naga"
    }

    fn catches(&self) -> &'static str {
        "a text that wgpu refuses, or accepts only of devices with optional features"
    }

    fn ready(&self) -> Result<String, String> {
        Ok("wgpu's own, no optional capability".to_owned())
    }

    fn examine(&self, subject: &Subject) -> Result<(), String> {
        validated(&subject.wgsl).map(drop)
    }

    fn planted(&self) -> Result<String, String> {
        let wgsl = bucket_offsets().wgsl();
        let plant = |fault, piece, by, reason| {
            caught(
                fault,
                validated(&altered(&wgsl, piece, by)?).map(drop),
                reason,
            )
        };
        Ok([
            plant(
                "a sum of two types",
                "let next_row = row + params.runs;",
                "let next_row = row + 1i;",
                "Operation Add can't work with",
            )?,
            plant(
                "a store to a buffer that is only read",
                "separators[out + params.runs] = offset;",
                "ranks[out + params.runs] = offset;",
                "store",
            )?,
            plant(
                "a subgroup operation",
                "let sum = inclusive_sum(count, lane);",
                "let sum = subgroupInclusiveAdd(count);",
                "subgroup",
            )?,
        ]
        .join("; "))
    }
}
