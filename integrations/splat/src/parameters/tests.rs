//! The kernels and their parameters: what compilers of other platforms say, and what is accessed.

use super::*;
use crate::plan::{Access, BEGIN, WGSL, WRITE_KEYS};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use wgsl_lockstep::{Buffers, Config, Shader, Space};

/// The module, validated without any capability: only what every WebGPU has.
fn validated() -> (naga::Module, ModuleInfo) {
    let module = naga::front::wgsl::parse_str(WGSL).unwrap();
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
    let info = validator.validate(&module).unwrap();
    (module, info)
}

#[test]
fn the_kernels_are_core_wgsl_within_the_least_limits() {
    let (module, _) = validated();
    let storage = module
        .global_variables
        .iter()
        .filter(|(_, variable)| matches!(variable.space, naga::AddressSpace::Storage { .. }));
    // (WebGPU allows 8.)
    assert_eq!(storage.count(), 6);
    let entries: Vec<_> = module
        .entry_points
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    assert_eq!(entries, ["begin", "write_keys"]);
    for entry in &module.entry_points {
        let lanes: u32 = entry.workgroup_size.iter().product();
        assert!(lanes <= 256);
    }
    for text in ["enable ", "subgroup", "requires "] {
        assert!(!WGSL.contains(text), "{text}");
    }
}

/// The plan's kernels bind what the text declares and their entry points use.
#[test]
fn the_variables_of_the_plan_are_those_of_the_kernels() {
    let (module, info) = validated();
    for (number, kernel) in [BEGIN, WRITE_KEYS].iter().enumerate() {
        assert_eq!(module.entry_points[number].name, kernel.entry);
        let uses = info.get_entry_point(number);
        let mut variables = kernel.variables.iter();
        for (handle, variable) in module.global_variables.iter() {
            let Some(binding) = &variable.binding else {
                continue;
            };
            if uses[handle].is_empty() {
                continue;
            }
            let planned = variables.next().unwrap();
            let name = variable.name.as_deref();
            assert_eq!(
                (Some(planned.name), planned.binding),
                (name, binding.binding)
            );
            let stored = naga::StorageAccess::STORE;
            let access = match variable.space {
                naga::AddressSpace::Uniform => Access::Uniform,
                naga::AddressSpace::Storage { access } if access.contains(stored) => {
                    Access::ReadWrite
                }
                _ => Access::Read,
            };
            assert_eq!(planned.access, access, "{}", planned.name);
        }
        assert!(variables.next().is_none());
    }
}

#[test]
fn the_kernels_are_translated_for_vulkan_metal_and_dx12() {
    let (module, info) = validated();
    for name in ["begin", "write_keys"] {
        let entry = Some((naga::ShaderStage::Compute, name.to_owned()));
        let options = naga::back::spv::Options::default();
        let pipeline = naga::back::spv::PipelineOptions {
            shader_stage: naga::ShaderStage::Compute,
            entry_point: name.to_owned(),
        };
        naga::back::spv::write_vec(&module, &info, &options, Some(&pipeline)).unwrap();

        let options = naga::back::msl::Options {
            fake_missing_bindings: true,
            ..Default::default()
        };
        let pipeline = naga::back::msl::PipelineOptions {
            entry_point: entry.clone(),
            ..Default::default()
        };
        let (text, _) = naga::back::msl::write_string(&module, &info, &options, &pipeline).unwrap();
        assert!(text.contains(name));

        let options = naga::back::hlsl::Options::default();
        let pipeline = naga::back::hlsl::PipelineOptions { entry_point: entry };
        let mut text = String::new();
        naga::back::hlsl::Writer::new(&mut text, &options, &pipeline)
            .write(&module, &info, None)
            .unwrap();
        assert!(text.contains(name));
    }
}

fn parameters(len: u32, stride: u32, first: [u32; 3], width: u32) -> Parameters {
    Parameters {
        len,
        width,
        stride,
        first,
        keys: KeyRange::new(DepthKey::Bits32).unwrap(),
        order: DrawOrder::FarToNear,
        depth: Depth::W,
        margin: 0.25,
        vertices: 6,
    }
}

/// In lock-step on the CPU: garbage in all buffers but the parameters, which the sorter writes.
#[test]
fn no_access_is_out_of_bounds_and_no_lanes_race_whatever_the_buffers_hold() {
    let begin = Shader::new(WGSL, Some("begin"), &[]).unwrap();
    let write_keys = Shader::new(WGSL, Some("write_keys"), &[]).unwrap();
    let mut seed = 7_u32;
    let mut garbage = |words: u32| -> Vec<u32> {
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            seed
        };
        (0..words).map(|_| next()).collect()
    };
    let cases = [
        // Three tiles in rows of two: the last workgroup has none.
        (2100, 1, [5, 0, 63], 2),
        (1025, 7, [4, 5, 6], 65_535),
        (1, 3, [0, 1, 2], 1),
    ];
    for (len, stride, first, width) in cases {
        let parameters = parameters(len, stride, first, width.min(len.div_ceil(TILE)));
        let mut buffers = Buffers::from([
            ((0, 0), parameters.words().to_vec()),
            ((0, 1), garbage(16)),
            ((0, 5), garbage(len)),
            ((0, 6), garbage(1)),
            ((0, 7), garbage(4)),
        ]);
        // As long as what the sorter binds: to the last coordinate.
        for (binding, first) in (2..).zip(first) {
            buffers.insert((0, binding), garbage(first + (len - 1) * stride + 1));
        }
        // At the third run most splats are drawn, by a matrix that is none but for w.
        for run in 0..3 {
            if run == 2 {
                let matrix = [[0.0_f32; 4], [0.0; 4], [0.0; 4], [0.0, 0.0, 0.0, 64.0]];
                let words = matrix.as_flattened().iter().map(|value| value.to_bits());
                buffers.insert((0, 1), words.collect());
            }
            let mut report = begin
                .run(&mut buffers, [1, 1, 1], &Config::default())
                .unwrap();
            assert!(report.findings.is_empty(), "{:?}", report.findings);
            assert_eq!(buffers[&(0, 7)], [6, 0, 0, 0]);
            let [x, y] = parameters.grid();
            report = write_keys
                .run(&mut buffers, [x, y, 1], &Config::default())
                .unwrap();
            assert!(report.findings.is_empty(), "{:?}", report.findings);
            assert_eq!(report.banks().max_degree, 1);

            let drawn = |key: &&u32| **key != parameters.keys.culled();
            let count = buffers[&(0, 5)].iter().filter(drawn).count() as u32;
            assert_eq!(buffers[&(0, 6)], [count]);
            assert_eq!(buffers[&(0, 7)], [6, count, 0, 0]);
            if run == 2 {
                assert!(count > len * 9 / 10, "{count} of {len}");
                assert_eq!(report.unreached(Space::Workgroup).count(), 0);
            }
        }
    }
}

#[test]
fn keys_of_16_bits_have_room_for_what_is_not_drawn() {
    for (nearest, farthest) in [
        (0.0, f32::MAX),
        (0.1, 1000.0),
        (-0.0, 1e-45),
        (1.0, 1.000_001),
    ] {
        let keys = KeyRange::new(DepthKey::Bits16 { nearest, farthest }).unwrap();
        assert!(
            u16::try_from(keys.culled()).is_ok(),
            "{nearest}..{farthest}"
        );
        // And no bit of the range is given away.
        let finer = (keys.farthest - keys.nearest) >> keys.shift.saturating_sub(1);
        assert!(keys.shift == 0 || finer > KeyRange::MOST_16);
    }
    let all = KeyRange::new(DepthKey::Bits32).unwrap();
    assert_eq!((all.shift, all.culled()), (0, f32::INFINITY.to_bits()));
}
