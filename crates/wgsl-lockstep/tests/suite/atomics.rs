//! Atomic operations whose order decides the result.

use wgsl_lockstep::{Buffers, Config, Fault, Report, Shader};

/// Runs lanes of one workgroup on `body`; 64 words of workgroup memory `w`, and of storage `s`.
fn run(body: &str, workgroups: u32) -> Report {
    let wgsl = format!(
        "@group(0) @binding(0) var<storage, read_write> s: array<atomic<u32>, 64>;
         var<workgroup> w: array<atomic<u32>, 64>;
         @compute @workgroup_size(64)
         fn main(@builtin(local_invocation_index) lane: u32,
                 @builtin(workgroup_id) id: vec3<u32>) {{ {body} }}"
    );
    let shader = Shader::new(&wgsl, None, &[]).unwrap();
    let mut buffers = Buffers::from([((0, 0), vec![0; 64])]);
    let config = Config::default();
    let report = shader.run(&mut buffers, [workgroups, 1, 1], &config);
    report.unwrap()
}

fn orders(body: &str, workgroups: u32) -> u64 {
    let report = run(body, workgroups);
    assert_eq!(report.count(Fault::Race), 0, "{body}");
    assert!(
        !report
            .findings
            .iter()
            .any(|finding| finding.fault.is_error())
    );
    report.count(Fault::AtomicOrder)
}

#[test]
fn operations_that_do_not_commute_are_found() {
    for body in [
        // Bits are set in words that other lanes clear.
        "atomicStore(&w[lane], 0u); atomicOr(&w[63u - lane], 1u << (lane % 32u));",
        "atomicStore(&s[lane], 0u); atomicOr(&s[63u - lane], 1u << (lane % 32u));",
        "atomicStore(&w[0], lane);",
        "if lane == 0u { atomicStore(&w[0], 5u); } else { atomicAdd(&w[0], 1u); }",
        "if lane == 40u { atomicAdd(&w[0], 1u); } atomicMax(&w[0], lane);",
        "if lane < 9u { atomicAnd(&w[0], lane); } else { atomicXor(&w[0], lane); }",
        "if lane < 9u { atomicSub(&w[0], lane); } else { atomicMin(&w[0], lane); }",
        "if lane == 3u { _ = atomicExchange(&w[0], 0u); } else { atomicAdd(&w[0], 1u); }",
        // The store is a lane's own, but not the additions behind it.
        "if lane == 0u { atomicStore(&w[0], 0u); atomicAdd(&w[0], 1u); }
         if lane == 40u { atomicAdd(&w[0], 1u); }",
    ] {
        assert!(orders(body, 1) > 0, "{body}");
    }
    // A counter that the first workgroup clears.
    assert!(
        orders(
            "if id.x == 0u { atomicStore(&s[0], 0u); } atomicAdd(&s[0], 1u);",
            3
        ) > 0
    );
}

#[test]
fn ordered_and_commuting_operations_are_clean() {
    for body in [
        // A histogram that is cleared first, places of a list, the extremes.
        "atomicStore(&w[lane], 0u); workgroupBarrier(); atomicAdd(&w[lane % 4u], 1u);
         workgroupBarrier(); atomicStore(&w[lane], 0u);",
        "atomicAdd(&s[lane % 4u], 1u); atomicSub(&s[0], 1u);",
        "_ = atomicAdd(&s[0], 2u);",
        "atomicMax(&s[0], lane); atomicMin(&s[1], lane); atomicOr(&s[2], lane);",
        // Any lane may say that it is so.
        "if lane % 3u == 0u { atomicStore(&s[0], 1u); }",
        // The head of a list, a lock, and a state that others read.
        "_ = atomicExchange(&s[0], lane);",
        "if atomicCompareExchangeWeak(&s[0], 0u, 1u).exchanged { atomicStore(&s[0], 0u); }",
        "if lane == 0u { atomicStore(&s[0], 1u); } _ = atomicLoad(&s[0]);
         if lane == 0u { atomicStore(&s[0], 2u); }",
        // One lane, in its own order.
        "atomicStore(&s[lane], 7u); atomicAdd(&s[lane], 1u); atomicMax(&s[lane], 3u);",
    ] {
        assert_eq!(orders(body, 1), 0, "{body}");
    }
    // Workgroup memory is new in each workgroup.
    let own = "if lane == 0u { atomicStore(&w[0], id.x); } workgroupBarrier();
               atomicAdd(&w[0], 1u); if id.x == 7u { atomicAdd(&s[0], 1u); }";
    assert_eq!(orders(own, 3), 0);
}
