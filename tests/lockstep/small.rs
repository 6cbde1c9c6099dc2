//! Small shaders that test one aspect each: obliviousness, barriers, bank conflicts, limits.

use wgsl_lockstep::{Buffers, Config, Fault, Report, Shader, Space};

/// Runs one workgroup of a shader's body. `d` is a buffer of zeros (the data), `o` a buffer for
/// output, and `t` has 1024 words of workgroup memory.
fn run(lanes: u32, declarations: &str, body: &str, config: &Config) -> Report {
    let wgsl = format!(
        "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
         @group(0) @binding(1) var<storage, read> d: array<u32>;
         var<workgroup> t: array<u32, 1024>;
         {declarations}
         @compute @workgroup_size({lanes})
         fn main(@builtin(local_invocation_index) l: u32) {{
             o[l] = d[l];
             {body}
         }}"
    );
    let shader = Shader::new(&wgsl, None, &[]).unwrap_or_else(|e| panic!("{e}\n{wgsl}"));
    let mut buffers = Buffers::from([((0, 0), vec![0; 64]), ((0, 1), vec![0; 64])]);
    shader.run(&mut buffers, [1, 1, 1], config).unwrap()
}

fn is_oblivious(declarations: &str, body: &str) -> bool {
    run(32, declarations, body, &Config::default()).is_oblivious(Space::Workgroup)
}

#[test]
fn data_dependent_accesses_are_not_oblivious() {
    for (declarations, body) in [
        ("", "t[d[l]] = 1u;"),
        ("", "var x = 1u; if d[l] == 0u { x = 32u; } t[l * x] = 1u;"),
        // The other branch is not taken, but could be.
        ("", "var x = 1u; if d[l] == 1u { x = 32u; } t[l * x] = 1u;"),
        ("", "if d[l] == 1u { t[l] = 1u; }"),
        // Through workgroup memory.
        ("", "t[l] = d[l]; workgroupBarrier(); t[t[l]] = 1u;"),
        // Lanes return, from the entry point and from a call, so later code is not reached.
        ("", "t[l] = l; if d[0] == 0u { return; } t[l * 32u] = 1u;"),
        (
            "fn f(p: ptr<function, u32>) { if d[0] == 0u { return; } *p = 32u; }",
            "var x = 1u; f(&x); t[l * x] = 1u;",
        ),
        (
            "fn f(l: u32) {
                 for (var i = 0u; i < 3u; i++) { if d[i] == 0u { return; } }
                 t[l * 32u] = 5u;
             }",
            "f(l);",
        ),
        // The number of iterations of a loop.
        (
            "",
            "var x = 0u; loop { x++; if d[l] == 0u { break; } } t[x * l] = 1u;",
        ),
        (
            "",
            "var x = 0u; loop { x++; continuing { break if d[x] == 0u; } } t[x * l] = 1u;",
        ),
        // `continue` in a switch belongs to the loop around it.
        (
            "",
            "var x = 1u;
             for (var i = 0u; i < 2u; i++) {
                 switch d[i + l] { case 0u: { continue; } default: {} }
                 x = 32u;
             }
             t[l * x] = 1u;",
        ),
        (
            "",
            "var x = 1u;
             for (var i = 0u; i < 2u; i++) {
                 switch i { case 0u, 1u: { if d[i + l] == 0u { continue; } } default: {} }
                 x = 32u;
             }
             t[l * x] = 1u;",
        ),
        // The result of an atomic operation.
        (
            "var<workgroup> c: atomic<u32>;",
            "t[atomicAdd(&c, 1u)] = 1u;",
        ),
    ] {
        assert!(!is_oblivious(declarations, body), "{body}");
    }
}

#[test]
fn data_independent_accesses_are_oblivious() {
    for body in [
        "t[l] = d[l]; workgroupBarrier(); o[l] = t[31u - l];",
        "for (var i = 0u; i < 4u; i++) { t[l + i] = d[i]; }",
        "if d[l] == 0u { o[l] = 1u; } t[l] = o[l];",
        "var x = d[l]; x = l; t[x] = 1u;",
        "if l < 7u { return; } t[l] = 1u;",
    ] {
        assert!(is_oblivious("", body), "{body}");
    }
}

fn races(lanes: u32, warp: u32, body: &str) -> u64 {
    let report = run(lanes, "", body, &Config::default().warp(warp));
    assert_eq!(report.count(Fault::OutOfBounds), 0);
    report.count(Fault::Race)
}

#[test]
fn a_subgroup_barrier_orders_only_its_own_lanes() {
    // A barrier in one warp only.
    let body = "t[l] = l; if l < 4u { subgroupBarrier(); } o[l] = t[l ^ 1u];";
    assert_eq!(races(4, 4, body), 0);
    assert!(races(8, 4, body) > 0);
    // Lanes of two warps.
    let body = "t[l] = l; subgroupBarrier(); o[l] = t[l ^ 4u];";
    assert!(races(8, 4, body) > 0);
    assert_eq!(races(8, 8, body), 0);
    // All lanes read, the first lane writes.
    let body = "t[l] = l; workgroupBarrier(); let a = t[0]; subgroupBarrier();
                if l == 0u { t[0] = a + 1u; }";
    assert_eq!(races(4, 4, body), 0);
    assert!(races(8, 4, body) > 0);
    // A lane reads again after the barrier.
    let body = "t[l] = l; workgroupBarrier(); if l == 0u { o[0] = t[0]; } subgroupBarrier();
                if l == 0u { o[1] = t[0]; } if l == 1u { t[0] = 7u; }";
    assert!(races(4, 4, body) > 0);
    // Half of a warp.
    let half = "if l < 2u { subgroupBarrier(); }";
    let report = run(4, "", half, &Config::default().warp(4));
    assert_eq!(report.count(Fault::DivergentBarrier), 1);
}

fn degree(lanes: u32, config: Config, body: &str) -> (u32, u64) {
    let banks = run(lanes, "", body, &config).banks();
    (banks.max_degree, banks.cycles - banks.min_cycles)
}

#[test]
fn a_wide_warp_is_served_in_parts_of_as_many_lanes_as_banks() {
    let warp = |warp| Config::default().warp(warp);
    assert_eq!(degree(64, warp(64), "t[l] = l;"), (1, 0));
    assert_eq!(degree(64, warp(64), "t[2u * l] = l;"), (2, 2));
    assert_eq!(degree(64, warp(64).banks(64), "t[l] = l;"), (1, 0));
    assert_eq!(degree(32, warp(32), "t[32u * l] = l;"), (32, 31));
    // All lanes access one word.
    assert_eq!(degree(32, warp(32), "o[l] = t[5];"), (1, 0));
}

#[test]
fn wide_accesses_are_counted_both_ways() {
    let wide = "var<workgroup> pairs: array<vec2<u32>, 64>;";
    let report = run(32, wide, "pairs[l] = vec2<u32>(l, l);", &Config::default());
    let site = report.in_space(Space::Workgroup).next().unwrap();
    assert_eq!((site.banks.max_degree, site.banks.cycles), (1, 2));
    // By word: two stores, each to every second word.
    assert_eq!(
        (site.banks_by_word.max_degree, site.banks_by_word.cycles),
        (2, 4)
    );
}

#[test]
fn an_override_may_give_the_length_of_an_array() {
    let wgsl = "override n: u32 = 4;
        @group(0) @binding(0) var<storage, read_write> o: array<u32>;
        var<workgroup> t: array<u32, n * 2u>;
        @compute @workgroup_size(n)
        fn main(@builtin(local_invocation_index) l: u32) {
            t[l + n] = l;
            o[l] = t[l + n];
        }";
    for (n, overrides) in [(4, vec![]), (16, vec![("n".to_owned(), 16.0)])] {
        let shader = Shader::new(wgsl, None, &overrides).unwrap();
        assert_eq!(shader.workgroup_size(), [n, 1, 1]);
        assert_eq!(shader.workgroup_bytes(), 2 * n * 4);
        let mut buffers = Buffers::from([((0, 0), vec![9; 16])]);
        let report = shader
            .run(&mut buffers, [1, 1, 1], &Config::default())
            .unwrap();
        assert_eq!(report.findings, []);
        let expected: Vec<u32> = (0..16).map(|l| if l < n { l } else { 9 }).collect();
        assert_eq!(buffers[&(0, 0)], expected);
    }
}

#[test]
fn an_endless_loop_in_endless_loops_ends() {
    let body = "loop { loop { loop { o[l] += 1u; } } }";
    let report = run(1, "", body, &Config::default().max_iterations(1000));
    assert_eq!(report.count(Fault::Runaway), 1);
}
