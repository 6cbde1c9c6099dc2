//! Tests of comparators: accepted texts, their renamed form, and errors for all others.

use super::*;
use crate::members;

fn refused(wgsl: &str) -> String {
    Comparator::new(wgsl).unwrap_err().to_string()
}

fn with(body: &str) -> String {
    format!("struct Row {{ key: u32 }}\nfn precedes(a: Row, b: Row) -> bool {{\n{body}\n}}")
}

#[test]
fn errors_show_the_users_line() {
    let error = refused(&with("return a.kye < b.key;"));
    assert!(
        error.contains("wgsl:3:10") && error.contains("kye"),
        "{error}"
    );
    let error = refused(&with("return a.key;"));
    assert!(error.contains("return a.key;"), "{error}");
    for (wgsl, location) in [
        (
            "fn precedes(a: u32, b: u32) -> bool { return a < b; }".into(),
            "wgsl:1:1: it should be",
        ),
        (
            "struct Row { key: u32 }\nfn precedes(a: Row) -> bool { return true; }".into(),
            "wgsl:2:1: it should be",
        ),
        (
            with("return true;")
                .replace("-> bool", "")
                .replace("return true;", ""),
            "wgsl:2:1: it should be",
        ),
        (
            with("return true;").replace("b: Row", "b: u32"),
            "wgsl:2:1: it should be",
        ),
        (
            with("return true;").replace("key: u32", "key: bool"),
            "wgsl:1:1: rows are not of a type that a buffer can hold",
        ),
    ] {
        let error = refused(&wgsl);
        assert!(error.contains(location), "{error}");
    }
    assert!(refused("struct Row { key: u32 }").contains("no function `precedes`"));
}

/// Access to other lanes, to other memory, and features of other shader stages.
#[test]
fn barriers_variables_and_entry_points_are_refused() {
    let declared = |more: &str| with("return true;") + "\n" + more;
    for (wgsl, why) in [
        (
            with("workgroupBarrier();\nreturn true;"),
            "wgsl:3:1: a comparator has no barriers",
        ),
        (
            declared("fn f() { if true { storageBarrier(); } }"),
            "wgsl:5:20: a comparator has no barriers",
        ),
        (
            declared("fn f(x: ptr<workgroup, u32>) -> u32 { return workgroupUniformLoad(x); }"),
            "is a pointer of space WorkGroup",
        ),
        (
            declared("fn f(x: ptr<storage, atomic<u32>, read_write>) { atomicAdd(x, 1u); }"),
            "is a pointer of space Storage",
        ),
        (
            with("return subgroupAdd(a.key) < 1u;"),
            "wgsl:3:8: subgroup operations are not supported",
        ),
        (
            with("return dpdx(f32(a.key)) < 0.0;"),
            "wgsl:2:1: a comparator has no derivatives and no `discard`",
        ),
        (
            declared("fn f() { discard; }"),
            "wgsl:5:1: a comparator has no derivatives and no `discard`",
        ),
        (
            declared("var<private> x: u32;"),
            "wgsl:5:1: a comparator has no variables",
        ),
        (
            declared("var<workgroup> x: atomic<u32>;"),
            "wgsl:5:1: a comparator has no variables",
        ),
        (
            declared("var<immediate> x: u32;"),
            "wgsl:5:1: a comparator has no variables",
        ),
        (
            declared("@group(0) @binding(0) var<storage, read_write> rows: array<Row>;"),
            "wgsl:5:23: a comparator has no variables",
        ),
        (
            declared("@group(0) @binding(0) var image: texture_2d<f32>;"),
            "wgsl:5:23: a comparator has no variables",
        ),
        (
            declared("override x: u32;"),
            "wgsl:5:1: a comparator has no overrides",
        ),
        (
            declared("@compute @workgroup_size(1) fn main() {}"),
            "a comparator has no entry points, as `main` is",
        ),
        (
            declared("fn f() { f(); }"),
            "declaration of `f` is recursive",
        ),
    ] {
        let error = refused(&wgsl);
        assert!(error.contains(why), "{error}");
    }
}

/// The error names the feature in plain words, where naga names its own flags.
#[test]
fn device_features_are_refused_with_their_location() {
    let row = |ty: &str| with("return true;").replace("u32", ty);
    let f16 = "f16 is not supported";
    for (wgsl, location, why) in [
        ("enable f16; // f16\n".to_owned() + &row("f16"), "2:19", f16),
        (
            format!("enable f16;\n/* vec2h */ {}", row("vec2h")),
            "2:31",
            f16,
        ),
        (
            "enable f16;\n".to_owned() + &with("return f16(a.key) < 1h;"),
            "4:8",
            f16,
        ),
        // Without `enable f16`.
        (row("f16"), "1:19", f16),
        (with("return f32(a.key) < f32(1.5h);"), "3:25", f16),
        (row("f64"), "1:19", "f64 is not supported"),
        (
            with("let x = 1.5lf;\nreturn f64(a.key) < x;"),
            "3:9",
            "f64 is not supported",
        ),
        (row("vec2<i64>"), "1:24", "i64 and u64 are not supported"),
        (
            with("return u64(a.key) < 7lu;"),
            "3:8",
            "i64 and u64 are not supported",
        ),
        (
            with("return quadBroadcast(a.key, 0u) < 7u;"),
            "3:8",
            "subgroup operations are not supported",
        ),
    ] {
        let error = refused(&wgsl);
        let begin = format!("comparator: wgsl:{location}: {why}");
        assert!(error.starts_with(&begin), "{wgsl}\n{error}");
        assert!(!error.contains("Capabilit"), "{error}");
        let line: usize = location.split(':').next().unwrap().parse().unwrap();
        assert_eq!(error.lines().nth(1), wgsl.lines().nth(line - 1), "{error}");
    }
    // `enable` without a use is accepted.
    Comparator::new(&("enable f16;\n".to_owned() + &row("u32"))).unwrap();
}

/// The reason is on the first line, and the user's text below it.
#[test]
fn errors_quote_the_text_below_their_first_line() {
    for body in [
        "return a.kye < b.key;",
        "return a.key < ;",
        "return a.key;",
        "workgroupBarrier();",
        "return f64(a.key) < 1lf;",
    ] {
        let error = refused(&with(body));
        let (first, below) = error.split_once('\n').unwrap();
        let why = first.strip_prefix("comparator: ").unwrap();
        assert!(!why.is_empty() && !why.starts_with("error"), "{error}");
        assert!(below.contains(body) && !error.ends_with('\n'), "{error}");
    }
}

#[test]
fn loops_are_allowed_and_detected() {
    let has_loops = |wgsl: &str| {
        let comparator = Comparator::new(wgsl).unwrap_or_else(|e| panic!("{e}"));
        comparator.function().has_loops()
    };
    for body in [
        "for (var i = 0u; i < a.key; i++) { if i == b.key { return true; } }\nreturn false;",
        "while a.key < b.key { }\nreturn false;",
        "var x = a.key;\nif x < 9u { loop { x /= 2u; continuing { break if x < 7u; } } }\n\
         return x > 1u;",
        "switch a.key { default: { loop { break; } } }\nreturn false;",
    ] {
        assert!(has_loops(&with(body)), "{body}");
        let called = with("return f(a, b);") + &with(body).replace("precedes", "f");
        let called = called.replacen("struct Row { key: u32 }", "", 1);
        assert!(has_loops(&called), "{body}");
    }
    assert!(!has_loops(&with(
        "if a.key < 7u && b.key > 1u { return true; }\nreturn false;"
    )));
    // The loop of wide keys is known to end.
    assert!(
        !Comparator::wide(64, WideKey::Bytes)
            .unwrap()
            .function()
            .has_loops()
    );
}

#[test]
fn names_do_not_clash() {
    // The user's `precedes` is called, and no function of a similar name.
    let similar = with("return precedes_(b, a);")
        + "\nfn precedes_(a: Row, b: Row) -> bool { return a.key < b.key; }";
    let text = Comparator::new(&similar)
        .unwrap()
        .function()
        .text()
        .to_owned();
    let body = text.split("fn user_precedes(").nth(1).unwrap();
    assert!(body.contains("user_f"), "{text}");
    // Names that clash with the sorter's, and with each other.
    let wgsl = "const W = 7u;
        alias Key = u32;
        struct user_row { lane: Key, tile: Key }
        alias row = vec2<f32>;
        alias other_row = vec2<f32>;
        fn both(a: row, b: other_row) -> f32 { return a.x + b.y; }
        struct Record { tile: user_row, key: vec3<f32> }
        fn compare_exchange(a: u32) -> u32 { return a + W; }
        fn precedes(a: Record, b: Record) -> bool {
            return compare_exchange(a.tile.lane) < compare_exchange(b.tile.lane);
        }";
    // Rows that are small enough to be sorted in workgroup memory, word by word.
    let small = "struct words { user_row: i32 }
        struct row { user_row_to: array<words, 2>, first: f32, second: u32 }
        fn user_row_of(words: row) -> i32 { return words.user_row_to[1].user_row; }
        fn precedes(a: row, b: row) -> bool { return user_row_of(a) < user_row_of(b); }";
    for (wgsl, words) in [(wgsl, 8), (small, 4)] {
        let comparator = Comparator::new(wgsl).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(comparator.row_words(), words);
        // Rows in their buffer, and words of rows beside their indices.
        for words in [0, words] {
            for kernel in crate::samplesort::kernels::of_rows(words) {
                let assembled = kernel.assemble_with(Some(comparator.function()));
                let assembled = assembled.unwrap_or_else(|e| panic!("{e}"));
                assert!(assembled.bindings.len() <= 9, "{}", kernel.label());
                // With the stand-in comparator, too.
                kernel.assemble().unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }
}

#[test]
fn rows_are_built_from_their_words() {
    let made = |row: &str| {
        let wgsl = format!(
            "struct Inner {{ a1: f32, b: i32 }}
            struct Row {{ {row} }}
            fn precedes(a: Row, b: Row) -> bool {{ return a.key < b.key; }}"
        );
        let comparator = Comparator::new(&wgsl).unwrap_or_else(|e| panic!("{e}"));
        let lines = comparator.function().of_words().lines();
        let lines = lines.filter_map(|line| line.trim().strip_prefix("row."));
        lines.map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(
        made("key: u32, inner: array<Inner, 1>, last: i32"),
        [
            "key = bitcast<u32>(words.x);",
            "inner[0].a1_ = bitcast<f32>(words.y);",
            "inner[0].b = bitcast<i32>(words.z);",
            "last = bitcast<i32>(words.w);",
        ]
    );
    // With padding.
    assert_eq!(
        made("key: u32, rest: vec2<f32>"),
        [
            "key = bitcast<u32>(words.x);",
            "rest = vec2<f32>(bitcast<f32>(words.z), bitcast<f32>(words.w));",
        ]
    );
    // Too large to be stored beside an index.
    assert!(made("key: u32, rest: vec4<f32>").is_empty());
}

#[test]
fn layouts_are_those_of_rust_or_refused() {
    #[repr(C)]
    struct Row {
        key: u32,
        position: [f32; 3],
    }
    #[repr(C)]
    struct Inner(u32, u32);
    #[repr(C)]
    struct Outer {
        inner: Inner,
        key: u32,
        gap: u32,
        rest: [[u32; 2]; 2],
    }
    let of = |wgsl: &str, members| {
        let precedes = "fn precedes(a: Row, b: Row) -> bool { return a.key < b.key; }";
        Comparator::of::<Row>(&format!("{wgsl} {precedes}"), members)
    };
    let refused = |wgsl, members| of(wgsl, members).unwrap_err().to_string();
    let packed = "struct Row { key: u32, position: array<f32, 3> }";
    let made = of(packed, members!(Row { key, position })).unwrap();
    made.check_rows::<Row>().unwrap();
    for (wgsl, members, why) in [
        (
            "struct Row { position: array<f32, 3>, key: u32 }",
            members!(Row { key, position }),
            "member position is at byte 4 of",
        ),
        (
            packed,
            members!(Row { key }),
            "members! does not name position, a member of the WGSL struct: add it, or",
        ),
        (
            "struct Row { key: u32, position: f32, y: f32, z: f32 }",
            members!(Row {
                key,
                position,
                y: position,
                z: position
            }),
            "member position has 12 bytes in",
        ),
        (
            packed,
            members!(Row {
                key,
                position,
                kye: key
            }),
            "the WGSL struct has no member kye",
        ),
        // In WGSL a vec3 is aligned to 16 bytes, so the struct has 32.
        (
            "struct Row { key: u32, position: vec3<f32> }",
            members!(Row { key, position }),
            "has 16 bytes, but the WGSL struct 32",
        ),
    ] {
        let error = refused(wgsl, members);
        assert!(error.contains(why), "{error}");
    }

    // Tuple structs, nested structs, and padding.
    let nested = "struct Inner { a: u32, b: u32 }
        struct Row { inner: Inner, key: u32, rest: array<vec2<u32>, 2> }
        fn precedes(a: Row, b: Row) -> bool { return a.inner.b < b.inner.b; }";
    let members = members!(Outer { inner.a: inner.0, inner.b: inner.1, key, rest });
    Comparator::of(nested, members).unwrap();
    let members = members!(Outer { inner.b: inner.0, inner.a: inner.1, key, rest });
    let error = Comparator::of(nested, members).unwrap_err().to_string();
    assert!(error.contains("member inner.a is at byte 4 of"), "{error}");
    let members = members!(Outer { inner, inner.a: inner.0, inner.b: inner.1, key, rest });
    let error = Comparator::of(nested, members).unwrap_err().to_string();
    assert!(error.contains("name its members, e.g. inner.a"), "{error}");

    // Layout checks of rows in host memory.
    let refused = |checked: Result<(), Error>| checked.unwrap_err().to_string();
    let other = refused(made.check_rows::<[u32; 4]>());
    assert!(
        other.contains("Row, and these rows are of [u32; 4]"),
        "{other}"
    );
    let new = Comparator::new(nested).unwrap();
    assert!(refused(new.check_rows::<Outer>()).contains("members!"));
    assert!(refused(new.check_rows::<u32>()).contains("has 4 bytes, but the WGSL struct 32"));
    Comparator::wide(4, WideKey::LeastFirst)
        .unwrap()
        .check_rows::<u128>()
        .unwrap();
    let array = "struct Row { parts: array<Inner, 2> } struct Inner { a: u32, b: f32 }
        fn precedes(a: Row, b: Row) -> bool { return a.parts[0].a < b.parts[0].a; }";
    let array = Comparator::new(array).unwrap();
    assert!(refused(array.check_rows::<[u64; 2]>()).contains("members!"));

    // The renamed text loses attributes, also those of a nested struct.
    let spread = "struct Inner { v: vec4<u32>, a: u32, @align(8) b: u32 }
        struct Row { inner: Inner, key: u32 }
        fn precedes(a: Row, b: Row) -> bool { return a.inner.b < b.inner.b; }";
    assert!(super::tests::refused(spread).contains("wgsl:1:1: structs with @align or @size"));
}

#[test]
fn texts_that_are_too_long_or_too_deep_are_refused_with_their_location() {
    let error = refused(&" ".repeat((1 << 14) + 1));
    assert!(error.contains("a text of 16385 bytes"), "{error}");
    let within = |open: &str, close: &str, n: usize| {
        with(&format!(
            "{}{}\nreturn true;",
            open.repeat(n),
            close.repeat(n)
        ))
    };
    Comparator::new(&within("if a.key < 1u {", "}", 15)).unwrap();
    let error = refused(&within("if a.key < 1u {", "}", 17));
    assert!(
        error.contains("wgsl:3:244: more than 16 nested blocks"),
        "{error}"
    );
    let structs = |n| {
        let one = |i| format!("struct S{i} {{ s: S{} }}\n", i + 1);
        (0..n).map(one).collect::<String>() + &format!("alias S{n} = u32;") + &with("return true;")
    };
    Comparator::new(&structs(15)).unwrap();
    let error = refused(&structs(16));
    assert!(
        error.contains("wgsl:1:1: more than 16 nested types"),
        "{error}"
    );
    // An unnamed type has no location.
    let arrays = "array<".repeat(16) + "u32" + &", 1>".repeat(16);
    let error = refused(&with(&format!("var x: {arrays};\nreturn true;")));
    assert!(
        error.ends_with("comparator: more than 16 nested types"),
        "{error}"
    );
    // naga writes each constant twice in the next one.
    let constant = |i| format!("const C{} = array(C{i}, C{i});\n", i + 1);
    let constants = "const C0 = 1u;\n".to_owned() + &(0..15).map(constant).collect::<String>();
    let error = refused(&(constants + &with("return true;")));
    assert!(error.contains("it cannot be written again"), "{error}");
}

/// Predicates are read as comparators are, and refused in the same way.
#[test]
fn predicates_are_accepted_and_refused() {
    let refused = |wgsl: &str| Predicate::new(wgsl).unwrap_err().to_string();
    let with = |body: &str| format!("struct R {{ key: u32 }}\nfn keeps(r: R) -> bool {{ {body} }}");
    let predicate = Predicate::new(&with("return r.key > 3u;")).unwrap();
    assert!(predicate.function().text().contains("fn user_keeps("));
    assert!(!predicate.function().has_loops());
    let loops = Predicate::new(&with("loop { if r.key > 3u { break; } } return true;")).unwrap();
    assert!(loops.function().has_loops());
    for (wgsl, why) in [
        (with("return r.kye > 3u;"), "wgsl:2:35"),
        (
            with("workgroupBarrier(); return true;"),
            "predicate: wgsl:2:26: a predicate has no barriers",
        ),
        (
            with("return f16(1) > 0.5h;"),
            "f16 is not supported, as not every device has it",
        ),
        (
            with("return true;").replace("(r: R)", "(r: R, s: R)"),
            "wgsl:2:1: it should be fn keeps(row: Row) -> bool",
        ),
        (
            with("return true;").replace("keeps", "precedes"),
            "there is no function `keeps`",
        ),
        (
            with("return true;") + "\nvar<private> calls: u32;",
            "a predicate has no variables",
        ),
    ] {
        let error = refused(&wgsl);
        assert!(error.contains(why), "{error}");
    }
}
