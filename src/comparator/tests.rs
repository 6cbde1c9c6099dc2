//! What comparators are accepted, what they become, and what is said of others.

use super::*;
use crate::members;

fn refused(wgsl: &str) -> String {
    Comparator::new(wgsl).unwrap_err().to_string()
}

fn with(body: &str) -> String {
    format!("struct Row {{ key: u32 }}\nfn precedes(a: Row, b: Row) -> bool {{\n{body}\n}}")
}

#[test]
fn errors_show_the_callers_own_line() {
    let error = refused(&with("return a.kye < b.key;"));
    assert!(
        error.contains("wgsl:3:10") && error.contains("kye"),
        "{error}"
    );
    let error = refused(&with("return a.key;"));
    assert!(error.contains("return a.key;"), "{error}");
    for (wgsl, place) in [
        (with("loop { }\nreturn true;"), "wgsl:3:1: it is not plain"),
        (
            with("for (var i = 0u; i < a.key; i++) { }\nreturn true;"),
            "wgsl:3:1: it is not plain",
        ),
        (
            with("for (var i = 0u; i < 9u; i++) { i = 0u; }\nreturn true;"),
            "wgsl:3:1: it is not plain",
        ),
        (
            with("for (var i = 0u; i < 99999u; i++) { }\nreturn true;"),
            "wgsl:3:1: this loop takes",
        ),
        (
            with("for (var i = 0u; i < 9u; i += 4294967290u) { }\nreturn true;"),
            "wgsl:3:1: it is not plain",
        ),
        (
            with(
                "for (var i = 0; i < 999; i++) {\nfor (var j = 0; j < 99; j++) { }\n}\n\
                 return true;",
            ),
            "wgsl:3:1: this loop takes",
        ),
        (
            with("var i = 0u; let c = i;\nfor (; c < 4u; i++) { }\nreturn true;"),
            "wgsl:4:1: it is not plain",
        ),
        (
            with("var i = 0u; let n = i + 1u;\nfor (; i < 4u; i = n) { }\nreturn true;"),
            "wgsl:4:1: it is not plain",
        ),
        (
            with("var v: vec2<u32>;\nfor (v.x = 0u; v.x < 4u; v.y += 1u) { }\nreturn true;"),
            "wgsl:4:1: it is not plain",
        ),
        (
            "fn f() -> u32 { for (var i = 0u; i < 999u; i++) { }\nreturn 1u; }\n".to_owned()
                + &with("for (var i = 0u; i < 99u; i++) { _ = f(); }\nreturn true;"),
            "wgsl:5:1: this loop takes",
        ),
        (
            with("var x: array<u32, 1000>;\nvar y: array<u32, 25>;\nreturn x[a.key] < y[b.key];"),
            "wgsl:4:1: the variables up to this one",
        ),
        (
            with("return true;").replace("u32", "array<u32, 1025>"),
            "a type of more than 4096 bytes",
        ),
        (
            with("return dpdx(f32(a.key)) < 0.0;"),
            "wgsl:3:8: a comparator has no neighbours",
        ),
        (
            with("workgroupBarrier();\nreturn true;"),
            "wgsl:3:1: a comparator compares",
        ),
        (
            with("return true;") + "\nvar<private> x: u32;",
            "wgsl:5:1: a comparator has no variables",
        ),
        (
            "struct Row { key: u32 }\nfn precedes(a: Row) -> bool { return true; }".into(),
            "wgsl:2:1: it should be",
        ),
        (
            "fn precedes(a: u32, b: u32) -> bool { return a < b; }".into(),
            "wgsl:1:1: it should be",
        ),
    ] {
        let error = refused(&wgsl);
        assert!(error.contains(place), "{error}");
    }
    assert!(refused("struct Row { key: u32 }").contains("no function `precedes`"));
    assert!(refused(&with("return true;").replace("key: u32", "key: bool")).contains("Row"));
    let point = with("return true;") + "\n@compute @workgroup_size(1) fn main() {}";
    assert!(refused(&point).contains("`main`"));
}

#[test]
fn loops_that_count_are_allowed_and_names_do_not_clash() {
    for body in [
        "for (var i = 0u; i < 4u; i++) { if i == a.key { return true; } }\nreturn false;",
        "for (var i = 0; i <= 4; i += 2) { if a.key == 1u { continue; } }\nreturn false;",
        "var x = 0u;\nfor (var i = 0u; i < 3u; i++) { for (var j = 0u; j < 3u; j++) { x += j; } }\n\
         return x > a.key;",
    ] {
        Comparator::new(&with(body)).unwrap_or_else(|e| panic!("{e}"));
    }
    // What is called is the caller's `precedes`, and no function of a like name.
    let like = with("return precedes_(b, a);")
        + "\nfn precedes_(a: Row, b: Row) -> bool { return a.key < b.key; }";
    let text = Comparator::new(&like).unwrap().text().to_owned();
    let body = text.split("fn user_precedes(").nth(1).unwrap();
    assert!(body.contains("user_f"), "{text}");
    // Names of the sorter's, and of each other.
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
    // Small enough to be sorted in workgroup memory, word by word.
    let small = "struct words { user_row: i32 }
        struct row { user_row_to: array<words, 2>, first: f32, second: u32 }
        fn user_row_of(words: row) -> i32 { return words.user_row_to[1].user_row; }
        fn precedes(a: row, b: row) -> bool { return user_row_of(a) < user_row_of(b); }";
    for (wgsl, words) in [(wgsl, 8), (small, 4)] {
        let comparator = Comparator::new(wgsl).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(comparator.row_words(), words);
        // In their buffer, and beside their indices.
        for words in [0, words] {
            for kernel in crate::kernel::SortKernel::of_rows(words) {
                let kernel = crate::kernel::Kernel::Sort(kernel).specialise(crate::KeyType::U32);
                let assembled = kernel.assemble_comparing(Some(&comparator));
                let assembled = assembled.unwrap_or_else(|e| panic!("{e}"));
                assert!(assembled.bindings.len() <= 9, "{}", kernel.label());
                // With what stands in for it, too.
                kernel.assemble().unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }
}

#[test]
fn rows_are_made_of_their_words() {
    let made = |row: &str| {
        let wgsl = format!(
            "struct Inner {{ a1: f32, b: i32 }}
            struct Row {{ {row} }}
            fn precedes(a: Row, b: Row) -> bool {{ return a.key < b.key; }}"
        );
        let comparator = Comparator::new(&wgsl).unwrap_or_else(|e| panic!("{e}"));
        let lines = comparator.of_words().lines();
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
    // A gap.
    assert_eq!(
        made("key: u32, rest: vec2<f32>"),
        [
            "key = bitcast<u32>(words.x);",
            "rest = vec2<f32>(bitcast<f32>(words.z), bitcast<f32>(words.w));",
        ]
    );
    // More than are beside an index.
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
            "has member position of a row is not said: name it in members!",
        ),
        (
            "struct Row { key: u32, position: f32, y: f32, z: f32 }",
            members!(Row {
                key,
                position,
                y: position,
                z: position
            }),
            "member position is of 12 bytes in",
        ),
        (
            packed,
            members!(Row {
                key,
                position,
                kye: key
            }),
            "a row has no member kye",
        ),
        // In WGSL a vec3 begins at 16 bytes, and the struct is of 32.
        (
            "struct Row { key: u32, position: vec3<f32> }",
            members!(Row { key, position }),
            "is of 16 bytes, and a row of 32",
        ),
    ] {
        let error = refused(wgsl, members);
        assert!(error.contains(why), "{error}");
    }

    // Fields without names, structs in structs, and what fills a gap.
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
    assert!(error.contains("name its members, as inner.a"), "{error}");

    // What is known of rows in memory.
    let refused = |checked: Result<(), Error>| checked.unwrap_err().to_string();
    let other = refused(made.check_rows::<[u32; 4]>());
    assert!(
        other.contains("Row, and these rows are of [u32; 4]"),
        "{other}"
    );
    let new = Comparator::new(nested).unwrap();
    assert!(refused(new.check_rows::<Outer>()).contains("members!"));
    assert!(refused(new.check_rows::<u32>()).contains("is of 4 bytes, and a row of 32"));
    Comparator::wide(4, WideKey::LeastFirst)
        .unwrap()
        .check_rows::<u128>()
        .unwrap();
    let array = "struct Row { parts: array<Inner, 2> } struct Inner { a: u32, b: f32 }
        fn precedes(a: Row, b: Row) -> bool { return a.parts[0].a < b.parts[0].a; }";
    let array = Comparator::new(array).unwrap();
    assert!(refused(array.check_rows::<[u64; 2]>()).contains("members!"));

    // Attributes would be lost, also in a member's struct.
    let spread = "struct Inner { v: vec4<u32>, a: u32, @align(8) b: u32 }
        struct Row { inner: Inner, key: u32 }
        fn precedes(a: Row, b: Row) -> bool { return a.inner.b < b.inner.b; }";
    assert!(super::tests::refused(spread).contains("wgsl:1:1: structs with @align or @size"));
}

#[test]
fn statements_count_as_often_as_they_are_done() {
    let rounds = |rounds: u32, body: &str| {
        with(&format!(
            "var x = a.key;\nfor (var i = 0u; i < {rounds}u; i++) {{ {body} }}\nreturn x < 1u;"
        ))
    };
    Comparator::new(&rounds(1000, "x += i;")).unwrap();
    let error = refused(&rounds(1000, &"x += i;".repeat(20)));
    assert!(
        error.contains("wgsl:4:1: this loop takes 86000 operations in 1000 rounds"),
        "{error}"
    );
    // Slow ones, and large ones.
    assert!(refused(&rounds(1000, &"x /= i;".repeat(8))).contains("this loop takes"));
    let large = "var y = array<u32, 256>(); var z = y;";
    assert!(refused(&rounds(200, large)).contains("this loop takes"));
    Comparator::new(&rounds(10, large)).unwrap();
    // Without a loop, by calls that double what they call.
    let mut calls = "fn f0(x: u32) -> u32 { return x * x + 1u; }\n".to_owned();
    for i in 0..20 {
        calls += &format!("fn f{}(x: u32) -> u32 {{ return f{i}(f{i}(x)); }}\n", i + 1);
    }
    let error = refused(&(calls + &with("return f20(a.key) < 1u;")));
    assert!(
        error.contains(": this takes ") && error.contains("where 16384 are"),
        "{error}"
    );
    // The widest keys.
    Comparator::wide(64, WideKey::Bytes).unwrap();
    Comparator::wide(64, WideKey::LeastFirst).unwrap();
}

#[test]
fn limits_are_said_with_their_place_and_comments_are_none() {
    let error = refused(&with(&format!("return true;\n{}", "{".repeat(40))));
    assert!(error.contains("wgsl:4:16: more than 16 blocks"), "{error}");
    let error = refused(&with(&format!(
        "return true\n  == {}true;",
        "(".repeat(100)
    )));
    assert!(
        error.contains("wgsl:4:54: more than 48 brackets"),
        "{error}"
    );
    let error = refused(&" ".repeat((1 << 16) + 1));
    assert!(error.contains("a text of 65537 bytes"), "{error}");
    // Comments end where they do for naga, and in them nothing is counted.
    let many = "(".repeat(100);
    for comment in [
        format!("// {many}\n"),
        format!("// {many}\u{2028}"),
        format!("/* {many} /* {many} */ {many} */"),
        format!("/*/{many}*/"),
        format!("/**{many}**/"),
    ] {
        Comparator::new(&with(&format!("{comment}return true;"))).unwrap_or_else(|e| panic!("{e}"));
        let error = refused(&with(&format!("{comment}return {many}true;")));
        assert!(error.contains("more than 48 brackets"), "{error}");
    }
    // Tables are as long as they like: what stands between commas is by itself.
    let table = "vec2(-1.5, 0.5 - 2.0), ".repeat(200);
    let table = format!("const T = array<vec2<f32>, 200>({table});");
    Comparator::new(&(table + &with("return T[a.key % 200u].x < 1.0;"))).unwrap();
}
