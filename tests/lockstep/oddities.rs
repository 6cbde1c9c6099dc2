//! Unusual shaders: the executor refuses them or runs them within its limits, and never panics.

use bcfsort_testkit::random_wgsl::{Style, generate};
use bcfsort_testkit::recordings::library;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use wgpu_bcfsort::{KeyType, Order};
use wgsl_lockstep::{Buffers, Config, Fault, Report, Shader, ShaderError};

/// Runs a shader with the smallest buffers that it allows, for a short time.
fn run(shader: &Shader, more_words: usize, workgroups: [u32; 3]) -> Option<Report> {
    let mut buffers = Buffers::new();
    for resource in shader.resources() {
        // The caller allocates buffers, so their size is no concern of the executor.
        if resource.min_bytes > 1 << 16 {
            return None;
        }
        let words = (resource.min_bytes as usize).div_ceil(4) + more_words;
        buffers.insert((resource.group, resource.binding), vec![3; words]);
    }
    let config = Config::default()
        .max_lane_instructions(30_000)
        .max_iterations(200);
    let report = shader.run(&mut buffers, workgroups, &config).unwrap();
    // The limit may be reached in the middle of a step of all lanes.
    assert!(report.lane_instructions <= 30_000 + 1024 * (1 << 18));
    Some(report)
}

/// The tokens of a text: words, numbers, blanks and single characters.
fn tokens(text: &str) -> Vec<String> {
    let class = |c: char| match c {
        _ if c.is_alphanumeric() || c == '_' || c == '.' => 0,
        _ if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut tokens: Vec<String> = Vec::new();
    let mut last = 2;
    for c in text.chars() {
        let this = class(c);
        match tokens.last_mut() {
            Some(token) if this == last && this != 2 => token.push(c),
            _ => tokens.push(c.to_string()),
        }
        last = this;
    }
    tokens
}

/// The tokens of the library's shaders, and of random ones.
static TEXTS: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
    let mut kernels = BTreeMap::new();
    for key in [KeyType::U32, KeyType::F64] {
        for recording in library(key, Order::Ascending) {
            for step in &recording.steps {
                kernels.insert(step.kernel.label().to_owned(), step.kernel.clone());
            }
        }
    }
    let mut texts: Vec<String> = kernels
        .into_values()
        .map(|kernel| kernel.assemble().unwrap().wgsl.clone())
        .collect();
    for seed in 0..20_u8 {
        let bytes: Vec<u8> = (0..400_u32)
            .map(|i| (i * i * 37 + i * 11) as u8 ^ seed)
            .collect();
        texts.push(generate(&bytes, [Style::Free, Style::Exact][usize::from(seed % 2)]).wgsl);
    }
    texts.iter().map(|text| tokens(text)).collect()
});

/// Tokens that change much when they replace others.
const WORDS: [&str; 40] = [
    "0",
    "1",
    "4294967295u",
    "-1",
    "0x7fffffff",
    "1e38",
    "1h",
    "1lu",
    "u32",
    "i32",
    "f32",
    "f16",
    "bool",
    "u64",
    "vec3",
    "vec4",
    "mat3x3",
    "array",
    "atomic",
    "ptr",
    "workgroup",
    "storage",
    "uniform",
    "private",
    "function",
    "read_write",
    "override",
    "const",
    "let",
    "var",
    "loop",
    "break",
    "continue",
    "return",
    "{",
    "}",
    "(",
    ")",
    ";",
    "&",
];

/// An edit of a text: the kind, the position, and another token.
type Edit = (u8, u32, u32);

fn edited(text: &[String], edits: &[Edit]) -> String {
    let mut text = text.to_vec();
    for &(what, at, other) in edits {
        if text.is_empty() {
            break;
        }
        let at = at as usize % text.len();
        let other = other as usize;
        match what % 16 {
            0..=2 => drop(text.remove(at)),
            3 | 4 => text.insert(at, text[at].clone()),
            5..=8 => {
                let token = text[other % text.len()].clone();
                text[at] = token;
            }
            9..=12 => text[at] = WORDS[other % WORDS.len()].into(),
            13 | 14 => {
                let other = other % text.len();
                text.swap(at, other);
            }
            _ => text.truncate(at),
        }
    }
    text.concat()
}

proptest! {
    #![proptest_config(
        ProptestConfig {
            cases: 800,
            failure_persistence: None,
            max_shrink_iters: 400,
            ..Default::default()
        }
    )]

    #[test]
    fn mutilated_shaders_are_refused_or_run(
        text in any::<prop::sample::Index>(),
        edits in prop::collection::vec(any::<Edit>(), 1..4),
    ) {
        let wgsl = edited(text.get::<Vec<String>>(&TEXTS), &edits);
        if let Ok(shader) = Shader::new(&wgsl, None, &[]) {
            run(&shader, 1, [2, 1, 1]);
        }
    }
}

fn new(wgsl: &str) -> Result<Shader, ShaderError> {
    Shader::new(wgsl, None, &[])
}

fn unsupported(wgsl: &str) {
    match new(wgsl).map(|_| ()) {
        Err(ShaderError::Unsupported { .. }) => {}
        other => panic!("{other:?}: {}", wgsl.chars().take(300).collect::<String>()),
    }
}

#[test]
fn shaders_that_need_too_much_memory_are_refused() {
    for wgsl in [
        "var<workgroup> w: array<array<bool, 16384>, 16384>;
         @compute @workgroup_size(1) fn main() { w[0][1] = true; }",
        "@compute @workgroup_size(1024) fn main() { var a: array<u32, 200000>; a[1] = 1u; }",
        "var<private> a: array<u32, 1000000>;
         @compute @workgroup_size(1) fn main() { a[1] = 1u; }",
        "alias Much = array<u32, 100000>;
         @compute @workgroup_size(1) fn main() {
             let a = array<Much, 3>(Much(), Much(), Much());
             let b = array<array<Much, 3>, 3>(a, a, a);
             _ = array<array<array<Much, 3>, 3>, 3>(b, b, b);
         }",
        "@group(0) @binding(0) var<storage, read_write> a: array<u32, 10000000>;
         @compute @workgroup_size(1) fn main() { let b = a; a[0] = b[1]; }",
    ] {
        unsupported(wgsl);
    }
}

/// Functions that call the one before them twice.
fn tree(body: &str, levels: usize) -> String {
    let mut wgsl = format!("fn f0() {{ {body} }}\n");
    for i in 1..levels {
        wgsl += &format!("fn f{i}() {{ f{0}(); f{0}(); }}\n", i - 1);
    }
    wgsl + &format!(
        "@compute @workgroup_size(1) fn main() {{ f{}(); }}",
        levels - 1
    )
}

#[test]
fn exponentially_many_calls_are_refused() {
    unsupported(&tree("", 40));
    unsupported(&tree("_ = array<u32, 10000>();", 40));
    unsupported(&tree("var x = 1u; x++;", 40));
    assert!(new(&tree("", 12)).is_ok());
}

#[test]
fn deep_nesting_is_refused() {
    // Each function calls one other, so that only the stack grows.
    let mut calls = "fn f0(x: u32) -> u32 { return x; }\n".to_owned();
    let mut structs = "struct S0 { a: u32 }\n".to_owned();
    for i in 1..3000 {
        calls += &format!(
            "fn f{i}(x: u32) -> u32 {{ if x == 7u {{ return 1u; }} return f{}(x) + 1u; }}\n",
            i - 1
        );
        structs += &format!("struct S{i} {{ a: S{} }}\n", i - 1);
    }
    let buffer = "@group(0) @binding(0) var<storage, read_write> out:";
    let main = "@compute @workgroup_size(1) fn main()";
    let of = |depth: usize| format!("{calls}{buffer} u32; {main} {{ out = f{depth}(1u); }}");
    unsupported(&of(2999));
    let shader = new(&of(100)).unwrap();
    let mut buffers = Buffers::from([((0, 0), vec![0])]);
    shader
        .run(&mut buffers, [1, 1, 1], &Config::default())
        .unwrap();
    assert_eq!(buffers[&(0, 0)], [101]);
    unsupported(&format!(
        "{structs}{buffer} S2999; {main} {{ let x = out; out = x; }}"
    ));
    unsupported(&format!(
        "{structs}var<private> x: S2999; {main} {{ _ = x; }}"
    ));
}

/// Each type contains the one before it twice, so that a naive walk takes exponential time.
#[test]
fn a_type_of_millions_of_members_is_handled_fast() {
    let mut wgsl = "struct S0 { a: u32 }\n".to_owned();
    for i in 1..28 {
        wgsl += &format!("struct S{i} {{ a: S{0}, b: S{0} }}\n", i - 1);
    }
    wgsl += "@group(0) @binding(0) var<storage, read_write> out: S27;
             @compute @workgroup_size(1) fn main() { out.b.a.b.a.b.a.b.a.b.a.b.a.b.a.b.a.b.a.b.a.b.a.b.a.b.a.b.a = 1u; }";
    let shader = new(&wgsl).unwrap();
    assert_eq!(shader.resources()[0].min_bytes, 4 << 27);
}

#[test]
fn every_shader_stops_at_its_limit() {
    let config = Config::default()
        .max_lane_instructions(10_000)
        .max_iterations(u64::MAX);
    for (wgsl, workgroups) in [
        ("@compute @workgroup_size(1) fn main() { loop {} }", [1; 3]),
        (
            "@compute @workgroup_size(1) fn main() { loop { loop { loop { loop {} } } } }",
            [1; 3],
        ),
        (
            "@compute @workgroup_size(33) fn main() { loop { if true { continue; } } }",
            [1; 3],
        ),
        ("@compute @workgroup_size(8) fn main() { }", [u32::MAX; 3]),
        (
            "@compute @workgroup_size(8) fn main() { workgroupBarrier(); }",
            [u32::MAX; 3],
        ),
        (
            "var<workgroup> w: array<u32, 9000>;
             @compute @workgroup_size(64) fn main() { loop { let all = w; w = all; } }",
            [1; 3],
        ),
    ] {
        let report = new(wgsl)
            .unwrap()
            .run(&mut Buffers::new(), workgroups, &config)
            .unwrap();
        assert_eq!(report.count(Fault::Runaway), 1, "{wgsl}");
        assert!(report.lane_instructions > 10_000);
        // The finding has no location, since no line is the cause.
        let runaway = report.findings.iter().find(|f| f.fault == Fault::Runaway);
        assert_eq!(runaway.unwrap().location.line, 0);
    }
    // Loops have a limit of their own.
    let config = Config::default().max_iterations(10);
    let spin = new("@compute @workgroup_size(1) fn main() { loop { loop {} } }").unwrap();
    let report = spin.run(&mut Buffers::new(), [1; 3], &config).unwrap();
    assert_eq!(report.count(Fault::Runaway), 1);
    let report = spin
        .run(&mut Buffers::new(), [0, u32::MAX, u32::MAX], &config)
        .unwrap();
    assert_eq!((report.workgroups, report.lane_instructions), (0, 0));
}

#[test]
fn invalid_workgroup_sizes_are_refused() {
    for size in [
        "65536, 65536, 65536",
        "16384, 16384, 16384",
        "1025",
        "32, 33",
        "0",
    ] {
        let wgsl = format!("@compute @workgroup_size({size}) fn main() {{}}");
        assert!(
            matches!(
                new(&wgsl),
                Err(ShaderError::Config { .. } | ShaderError::Invalid(_))
            ),
            "{size}"
        );
    }
    let sized = "override n: u32; @compute @workgroup_size(n, n) fn main() {}";
    let with = |n: f64| Shader::new(sized, None, &[("n".to_owned(), n)]);
    assert_eq!(with(32.0).unwrap().workgroup_size(), [32, 32, 1]);
    for n in [0.0, -1.0, 33.0, 65536.0, 1e300, f64::NAN, f64::INFINITY] {
        assert!(with(n).is_err(), "{n}");
    }
    assert!(matches!(
        new(sized),
        Err(ShaderError::MissingOverride { .. })
    ));
    assert!(matches!(
        Shader::new(sized, None, &[("m".to_owned(), 1.0)]),
        Err(ShaderError::UnknownOverride { .. })
    ));
}

#[test]
fn an_invalid_value_of_an_override_is_reported() {
    let wgsl = "override n: u32;
        @group(0) @binding(0) var<storage, read_write> out: array<u32, 4>;
        @compute @workgroup_size(1) fn main() { out[n] = 8u; }";
    match Shader::new(wgsl, None, &[("n".to_owned(), 4.0)]) {
        Err(ShaderError::Override(text)) => assert!(text.contains("out[n]"), "{text}"),
        // An index out of bounds may be found only when it is used.
        Ok(shader) => {
            let mut buffers = Buffers::from([((0, 0), vec![0; 4])]);
            let report = shader
                .run(&mut buffers, [1; 3], &Config::default())
                .unwrap();
            assert_eq!(report.count(Fault::OutOfBounds), 1);
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn resources_other_than_buffers_are_refused() {
    for declaration in [
        "@group(0) @binding(0) var x: texture_2d<f32>; fn f() { _ = textureDimensions(x); }",
        "@group(0) @binding(0) var x: texture_storage_2d<r32uint, write>;
         fn f() { textureStore(x, vec2<u32>(), vec4<u32>()); }",
        "@group(0) @binding(0) var<storage> x: binding_array<array<u32>, 4>;
         fn f() { _ = x[1][0]; }",
    ] {
        let used = format!("{declaration}\n@compute @workgroup_size(1) fn main() {{ f(); }}");
        let error = new(&used).map(|_| ()).unwrap_err();
        assert!(
            matches!(
                error,
                ShaderError::Unsupported { .. } | ShaderError::Invalid(_)
            ),
            "{error}"
        );
        // Unused resources are ignored.
        let unused = format!("{declaration}\n@compute @workgroup_size(1) fn main() {{}}");
        if !matches!(error, ShaderError::Invalid(_)) {
            assert!(new(&unused).unwrap().resources().is_empty());
        }
    }
    for none in [
        "",
        "fn main() {}",
        "@fragment fn main() {}",
        "@compute @workgroup_size(1) fn a() {} @compute @workgroup_size(1) fn b() {}",
    ] {
        assert!(
            matches!(new(none), Err(ShaderError::NoEntryPoint { .. })),
            "{none}"
        );
    }
}

/// Runs a shader with these buffers at bindings 0, 1 and so on, and returns the first one.
fn result(wgsl: &str, buffers: &[&[u32]]) -> Vec<u32> {
    let shader = new(wgsl).unwrap_or_else(|error| panic!("{error}"));
    let mut all: Buffers = (0..)
        .zip(buffers)
        .map(|(binding, words)| ((0, binding), words.to_vec()))
        .collect();
    shader.run(&mut all, [1; 3], &Config::default()).unwrap();
    all.remove(&(0, 0)).unwrap()
}

#[test]
fn a_shader_without_memory_accesses_runs() {
    let shader = new("@compute @workgroup_size(40) fn main() { if false { } loop { break; } }");
    let report = shader
        .unwrap()
        .run(&mut Buffers::new(), [2, 1, 1], &Config::default())
        .unwrap();
    assert_eq!(report.workgroups, 2);
    assert!(report.findings.is_empty());
}

#[test]
fn memory_layouts_are_those_of_wgsl() {
    // Columns of three have the stride of four, and padding is not written.
    let wgsl = "struct S { a: u32, m: mat3x3<f32>, v: vec3<u32>, w: u32, x: array<vec3<u32>, 2> }
        @group(0) @binding(0) var<storage, read_write> out: S;
        @compute @workgroup_size(1) fn main() {
            var s: S;
            s.a = 1u;
            s.m = mat3x3<f32>(1, 2, 3, 4, 5, 6, 7, 8, 9);
            s.v = vec3<u32>(11, 12, 13);
            s.w = 14u;
            s.x[1] = vec3<u32>(15, 16, 17);
            out = s;
        }";
    let f = |x: f32| x.to_bits();
    let words = result(wgsl, &[&[99; 28]]);
    let x = 99;
    let rows = [
        [1, x, x, x],
        [f(1.0), f(2.0), f(3.0), x],
        [f(4.0), f(5.0), f(6.0), x],
        [f(7.0), f(8.0), f(9.0), x],
        [11, 12, 13, 14],
        [0, 0, 0, x],
        [15, 16, 17, x],
    ];
    assert_eq!(words, rows.concat());
}

#[test]
fn array_lengths_round_down_and_bounds_are_checked() {
    let wgsl = "struct T { a: vec3<u32>, b: u32, tail: array<vec3<u32>> }
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @group(0) @binding(1) var<storage, read_write> plain: array<vec3<u32>>;
        @group(0) @binding(2) var<storage, read_write> tailed: T;
        @group(0) @binding(3) var<storage, read_write> wide: array<u64>;
        @compute @workgroup_size(1) fn main() {
            out[0] = arrayLength(&plain);
            out[1] = arrayLength(&tailed.tail);
            out[2] = arrayLength(&wide);
            out[3] = plain[1].z;
            wide[1] = 5lu;
            out[4] = u32(wide[0]) + 1u;
        }";
    let words = result(wgsl, &[&[9; 5], &[7; 11], &[7; 15], &[1, 0, 3]]);
    assert_eq!(words, [2, 2, 1, 7, 2]);
    let words = result(wgsl, &[&[9; 5], &[7; 7], &[7; 8], &[1, 0, 3, 4]]);
    assert_eq!(words, [1, 1, 2, 0, 2]);

    let shader = new(wgsl).unwrap();
    let sizes: Vec<u32> = shader.resources().iter().map(|r| r.min_bytes).collect();
    // As in WebGPU: with one element, rounded up to the alignment.
    assert_eq!(sizes, [4, 16, 32, 8]);
    let mut buffers = Buffers::new();
    let run = |buffers: &mut Buffers| shader.run(buffers, [1; 3], &Config::default()).map(|_| ());
    assert!(matches!(
        run(&mut buffers),
        Err(ShaderError::NoBuffer { binding: 0, .. })
    ));
    for (binding, bytes) in (0..).zip(sizes) {
        assert!(run(&mut buffers).is_err());
        buffers.insert((0, binding), vec![]);
        assert!(matches!(
            run(&mut buffers),
            Err(ShaderError::BufferSize { actual: 0, .. })
        ));
        buffers.insert((0, binding), vec![1; bytes as usize / 4]);
    }
    run(&mut buffers).unwrap();
}

/// Lanes that `continue` from within a switch do not reach the code after it.
#[test]
fn a_continue_in_a_switch_makes_later_accesses_data_dependent() {
    let wgsl = "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
        var<workgroup> w: array<u32, 64>;
        @compute @workgroup_size(1) fn main() {
            for (var i = 0u; i < 3u; i++) {
                w[i + 8u] = 1u;
                switch data[0] {
                    case 5: { continue; }
                    default: {}
                }
                w[i] = 1u;
            }
            w[20] = 1u;
        }";
    let shader = new(wgsl).unwrap();
    let mut buffers = Buffers::from([((0, 0), vec![1, 1])]);
    let report = shader
        .run(&mut buffers, [1; 3], &Config::default())
        .unwrap();
    let line = |line: u32| {
        report
            .sites
            .iter()
            .find(|s| s.location.line == line)
            .unwrap()
    };
    assert!(!line(10).oblivious);
    assert!(line(12).oblivious);
}

#[test]
fn other_types_run_or_are_refused() {
    for (types, expression) in [
        ("enable f16;", "u32(f16(out[0]) * 2.5h)"),
        ("", "u32(u64(out[0]) * 5000000000lu >> 31u)"),
        ("", "u32(i64(out[0]) - 1li)"),
        ("", "u32(f64(out[0]) * 2.0lf)"),
        ("", "subgroupAdd(out[0])"),
        ("", "subgroupBallot(out[0] == 3u).x"),
        ("", "subgroupShuffleXor(out[0], 1u)"),
        ("", "subgroupExclusiveMul(out[0])"),
        ("var<workgroup> a: atomic<u64>;", "u32(atomicLoad(&a))"),
        ("var<workgroup> a: atomic<i32>;", "u32(atomicSub(&a, 3i))"),
        (
            "var<workgroup> a: array<vec3<bool>, 3>;",
            "u32(a[out[0]].y)",
        ),
    ] {
        let wgsl = format!(
            "{types} @group(0) @binding(0) var<storage, read_write> out: array<u32>;
             @compute @workgroup_size(40) fn main() {{ out[0] = {expression}; }}"
        );
        let shader = new(&wgsl).unwrap_or_else(|error| panic!("{error}"));
        run(&shader, 3, [2, 1, 1]).unwrap();
    }
}
