//! Races of stores to components of vectors, which may write the whole vector.

use wgsl_lockstep::{Buffers, Config, Fault, Report, Shader, Space};

/// Runs a workgroup of two lanes `l` on a body, with a buffer `o` of these elements and some
/// variables in workgroup memory.
fn run(element: &str, body: &str) -> Report {
    let wgsl = format!(
        "struct Three {{ xyz: vec3<u32>, w: u32 }}
         @group(0) @binding(0) var<storage, read_write> o: array<{element}>;
         var<workgroup> v: vec4<u32>;
         var<workgroup> s: u32;
         var<workgroup> a: array<vec4<u32>, 4>;
         var<workgroup> m: mat3x2<f32>;
         var<workgroup> t: array<Three, 2>;
         var<workgroup> c: array<atomic<u32>, 4>;
         fn index(i: u32) -> u32 {{ return i; }}
         @compute @workgroup_size(2)
         fn main(@builtin(local_invocation_index) l: u32) {{
             {body}
         }}"
    );
    let shader = Shader::new(&wgsl, None, &[]).unwrap_or_else(|e| panic!("{e}\n{wgsl}"));
    let mut buffers = Buffers::from([((0, 0), vec![0; 32])]);
    let report = shader.run(&mut buffers, [1, 1, 1], &Config::default());
    let report = report.unwrap();
    assert_eq!(report.count(Fault::OutOfBounds), 0, "{body}");
    report
}

fn races(element: &str, body: &str) -> u64 {
    run(element, body).count(Fault::Race)
}

#[test]
fn stores_of_two_lanes_to_components_of_one_vector_race() {
    for body in [
        "if l == 0u { v.x = 1u; } else { v.w = 2u; }",
        "v[l] = l;",
        "v[index(l) + 1u] = l;",
        "a[2][l] = l;",
        "a[index(l) / 2u][3u - l] = l;",
        "if l == 0u { a[3].y = 1u; } else { a[3] = vec4(2u); }",
        "if l == 0u { a[3] = vec4(2u); } else { a[3].y = 1u; }",
        "v.x = 1u; v.y = 2u;",
        // A column is a vector.
        "m[1][l] = 1.0;",
        "if l == 0u { m[2].x = 1.0; } else { m[2].y = 1.0; }",
        "t[1].xyz[2u * l] = 1u;",
        // One lane reads a component that the other may write back.
        "if l == 0u { v.x = 1u; } else { s = v.y; }",
        "if l == 0u { s = v.y; } else { v.x = 1u; }",
        "if l == 0u { v.x = 1u; } workgroupBarrier(); if l == 0u { v.y = 1u; } else { s = v.x; }",
    ] {
        assert!(races("u32", body) > 0, "{body}");
    }
    for body in [
        "o[1][l] = l;",
        "if l == 0u { o[0].x = 1u; } else { o[0].y = 2u; }",
    ] {
        assert!(races("vec2<u32>", body) > 0, "{body}");
        assert!(races("vec4<u32>", body) > 0, "{body}");
    }
    assert!(races("mat2x2<f32>", "o[0][1][l] = 1.0;") > 0);
}

#[test]
fn stores_to_vectors_of_their_own_do_not_race() {
    for body in [
        "a[l].x = l; a[l].y = l; a[l][index(3u)] = a[l].x;",
        "if l == 0u { v.x = 1u; } workgroupBarrier(); if l == 1u { v.y = 2u; }",
        "if l == 0u { v.x = 1u; } workgroupBarrier(); if l == 1u { s = v.x; }",
        // Adjacent columns, and the padding after a vector of three components.
        "m[l][index(l)] = 1.0;",
        "if l == 0u { t[0].xyz.z = 1u; } else { t[0].w = 2u; }",
        "if l == 0u { t[0].w = 2u; } else { t[1].xyz.x = 1u; }",
        // Elements of an array are not components, and neither are atomics.
        "atomicStore(&c[l], l); atomicAdd(&c[l ^ 1u], 1u);",
        // Reading a component reads no other.
        "if l == 0u { v = vec4(1u); } workgroupBarrier(); o[l] = v[l];",
    ] {
        assert_eq!(races("u32", body), 0, "{body}");
    }
    for element in ["vec2<u32>", "vec3<u32>", "vec4<u32>"] {
        assert_eq!(races(element, "o[l].x = 1u; o[l].y = 2u;"), 0, "{element}");
        let after_a_barrier = "if l == 0u { o[0].x = 1u; } storageBarrier();
                                if l == 1u { o[0].y = o[0].x; }";
        assert_eq!(races(element, after_a_barrier), 0, "{element}");
    }
    assert_eq!(races("mat2x2<f32>", "o[0][l].x = 1.0; o[0][l].y = 1.0;"), 0);
    assert_eq!(races("u32", "o[l] = 1u;"), 0);
}

#[test]
fn messages_say_that_it_is_another_component() {
    let message = |body: &str| {
        let report = run("u32", body);
        let mut races = (report.findings.iter()).filter(|finding| finding.fault == Fault::Race);
        let race = races.next().expect(body);
        assert_eq!(race.variable.as_deref(), Some("v"));
        race.example.clone()
    };
    assert_eq!(
        message("if l == 0u { s = v.x; } else { v.w = 2u; }"),
        "lane 1 of workgroup (0, 0, 0): store to a vector's component beside byte 0 of workgroup \
         memory, which another lane had touched"
    );
    for (store, access) in [("v.w = 2u;", "store"), ("s = v.w;", "load")] {
        assert_eq!(
            message(&format!("if l == 0u {{ v.x = 1u; }} else {{ {store} }}")),
            format!(
                "lane 1 of workgroup (0, 0, 0): {access} at byte 12 of workgroup memory, which \
                 another lane had written a component beside"
            )
        );
    }
}

#[test]
fn other_components_are_neither_counted_nor_initialised() {
    let report = run("vec4<u32>", "a[l].x = 1u; o[l].z = 2u;");
    assert_eq!(report.findings.len(), 0);
    for site in &report.sites {
        assert_eq!((site.bytes, site.lanes), (4, 2));
        if site.space == Space::Workgroup {
            // Two words in two banks.
            assert_eq!((site.banks.max_degree, site.banks.cycles), (1, 1));
        }
    }
    for (body, reads) in [
        ("a[l].x = 1u; a[l].y = a[l].x;", 0),
        ("if l == 0u { a[0].x = 1u; s = a[0].y; }", 1),
        ("if l == 0u { a[0].y = 1u; a[0].x = 1u; s = a[0].y; }", 0),
    ] {
        let report = run("u32", body);
        assert_eq!(report.count(Fault::Uninitialised), reads, "{body}");
    }
}
