//! Any text as a shader: it is refused, or it runs within its limits. Nothing panics, hangs or
//! takes all memory.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Once;
use wgsl_lockstep::{Buffers, Config, Report, Shader};

/// Where naga itself panics, that is nothing that this crate could find fault with, or mend.
fn pass_over_panics_of_naga() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        // libFuzzer's own, which ends the process.
        let abort = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let file = info.location().map_or("", |location| location.file());
            if !file.contains("/naga-") {
                abort(info);
            }
        }));
    });
}

fn counts_agree(report: &Report) -> bool {
    report.sites.iter().all(|site| {
        site.banks.conflict_free <= site.accesses
            && site.banks.cycles >= site.banks.min_cycles
            && site.sectors >= site.min_sectors
    })
}

fuzz_target!(|text: &str| {
    pass_over_panics_of_naga();
    let Ok(Ok(shader)) = std::panic::catch_unwind(|| Shader::new(text, None, &[])) else {
        return;
    };
    let mut buffers = Buffers::new();
    for resource in shader.resources() {
        // The buffers are the caller's, and so is the memory that they take.
        if resource.min_bytes > 1 << 20 {
            return;
        }
        let words = (resource.min_bytes as usize).div_ceil(4) + 7;
        let fill = (0..words as u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> (i % 32));
        buffers.insert((resource.group, resource.binding), fill.collect());
    }
    let config = Config::default()
        .max_lane_instructions(100_000)
        .max_iterations(1000);
    let report = shader.run(&mut buffers, [2, 1, 1], &config).unwrap();
    assert!(counts_agree(&report));
});
