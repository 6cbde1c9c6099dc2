//! That what is accepted of a comparator can be written for every backend, and nothing ends the
//! process.

use proptest::prelude::*;
use wgpu_bcfsort::internals::comparator_text;
use wgpu_bcfsort::{Comparator, Error};

fn refused(wgsl: &str) -> String {
    Comparator::new(wgsl).unwrap_err().to_string()
}

fn with(body: &str) -> String {
    format!("struct Row {{ key: u32 }}\nfn precedes(a: Row, b: Row) -> bool {{\n{body}\n}}")
}

fn many(text: &str, times: usize) -> String {
    text.repeat(times)
}

fn within(open: &str, close: &str, times: usize) -> String {
    let (open, close) = (many(open, times), many(close, times));
    with(&format!("return {open}a.key{close} < 1u;"))
}

fn declared(times: usize, one: impl Fn(usize) -> String, last: &str, body: &str) -> String {
    (0..times).map(one).collect::<String>() + last + &with(body)
}

/// What a text is deep of, the most that is within the limits, and the text of as many.
type Deep = (&'static str, usize, fn(usize) -> String);

fn deep_expressions() -> Vec<Deep> {
    vec![
        ("brackets", 48, |n| within("(", ")", n)),
        ("calls", 48, |n| within("abs(", ")", n)),
        ("arguments", 48, |n| within("min(a.key, ", ")", n)),
        ("negations", 48, |n| within("~(", ")", n)),
        ("indices", 48, |n| {
            let body = "let w = array<u32, 2>(1u, a.key);";
            within("w[", "]", n).replace("return", &(body.to_owned() + "return"))
        }),
        // (`.`, `<` and `-` are operators, too.)
        ("sums", 254, |n| {
            with(&format!("return a.key{} < 1u;", many("+1u", n)))
        }),
        ("quotients", 254, |n| {
            with(&format!("return a.key{} < 1u;", many("/3u", n)))
        }),
        ("shifts", 254, |n| {
            with(&format!("return a.key{} < 1u;", many(">>1u", n)))
        }),
        ("nots", 253, |n| {
            with(&format!("return {}(a.key < 1u);", many("!", n)))
        }),
        ("complements", 254, |n| {
            with(&format!("return {}a.key < 1u;", many("~", n)))
        }),
        ("pointers", 127, |n| {
            with(&format!("var x = 1u; return {}x < 1u;", many("*&", n)))
        }),
        ("stores", 98, |n| {
            with(&format!(
                "var x = 1u; {}x = 2u; return true;",
                many("*&", n)
            ))
        }),
        ("parts of vectors", 254, |n| {
            with(&format!(
                "let v = vec2(a.key, 1u); return v{}.x < 1u;",
                many(".yx", n)
            ))
        }),
        ("conjunctions", 64, |n| {
            with(&format!("return true{};", many(" && a.key < b.key", n)))
        }),
    ]
}

fn deep_statements_and_types() -> Vec<Deep> {
    vec![
        ("nested conjunctions", 15, |n| {
            with(&format!(
                "return {}true{};",
                many("a.key < 1u && (", n),
                many(")", n)
            ))
        }),
        ("ifs", 15, |n| {
            with(&format!(
                "{}{}return true;",
                many("if a.key < 1u {", n),
                many("}", n)
            ))
        }),
        ("else ifs", 14, |n| {
            with(&format!(
                "if a.key < 1u {{}}{} return true;",
                many("else if a.key < 2u {}", n)
            ))
        }),
        ("loops", 7, |n| {
            let open = |i| format!("for (var i{i} = 0; i{i} < 1; i{i}++) {{");
            with(&format!(
                "{}{}return true;",
                (0..n).map(open).collect::<String>(),
                many("}", n)
            ))
        }),
        ("switches", 7, |n| {
            let (open, close) = (many("switch a.key { default: {", n), many("}}", n));
            with(&format!("{open}{close} return true;"))
        }),
        ("types", 8, |n| {
            let inner = many("array<", n - 1) + "u32" + &many(", 1>", n - 1);
            with(&format!("var x: {inner}; return true;"))
        }),
        ("structs", 8, |n| {
            let one = |i| format!("struct A{i} {{ x: A{} }}", i + 1);
            declared(
                n - 1,
                one,
                &format!("alias A{} = u32;", n - 1),
                "var x: A0; return true;",
            )
        }),
        ("constants", 125, |n| {
            let one = |i| format!("const A{i} = A{} + 1;", i + 1);
            declared(n, one, &format!("const A{n} = 1;"), "return true;")
        }),
        ("functions", 125, |n| {
            let one = |i| format!("fn f{i}() {{ f{}(); }}", i + 1);
            declared(n, one, &format!("fn f{n}() {{}}"), "f0(); return true;")
        }),
    ]
}

/// What wgpu has naga do with a text: reads it, checks it, and writes it for each of its backends.
fn written_by_all(comparator: &Comparator) {
    let text = format!(
        "{}\n@group(0) @binding(0) var<storage, read_write> rows: array<user_row>;
        @compute @workgroup_size(1) fn main() {{
            if user_precedes(rows[0], rows[1]) {{ rows[1] = rows[0]; }}
        }}",
        comparator_text(comparator)
    );
    let module = naga::front::wgsl::parse_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let (all, none) = (
        naga::valid::ValidationFlags::all(),
        naga::valid::Capabilities::empty(),
    );
    let info = naga::valid::Validator::new(all, none)
        .validate(&module)
        .unwrap();
    let restrict = naga::proc::BoundsCheckPolicy::Restrict;
    let checks = naga::proc::BoundsCheckPolicies {
        index: restrict,
        buffer: restrict,
        ..Default::default()
    };
    naga::back::spv::write_vec(
        &module,
        &info,
        &naga::back::spv::Options {
            bounds_check_policies: checks,
            ..Default::default()
        },
        None,
    )
    .unwrap();
    let options = naga::back::hlsl::Options::default();
    let mut hlsl = String::new();
    naga::back::hlsl::Writer::new(
        &mut hlsl,
        &options,
        &naga::back::hlsl::PipelineOptions::default(),
    )
    .write(&module, &info, None)
    .unwrap();
    let options = naga::back::msl::Options {
        bounds_check_policies: checks,
        fake_missing_bindings: true,
        ..Default::default()
    };
    let pipeline = naga::back::msl::PipelineOptions::default();
    let (msl, _) = naga::back::msl::write_string(&module, &info, &options, &pipeline).unwrap();
    // What compilers made of clang take, as Metal's and DXC are: 256 of each kind.
    for text in [hlsl, msl] {
        for (open, close) in [('(', ')'), ('[', ']'), ('{', '}')] {
            let mut depth = 0;
            let deepest = text.chars().map(|c| {
                depth += i32::from(c == open) - i32::from(c == close);
                depth
            });
            assert!(deepest.max().unwrap_or(0) < 64, "{text}");
        }
    }
}

/// With half of what a main thread has on Windows. (There the least, as naga is optimised here; it
/// takes 0.7 of it if it is not.)
#[test]
fn what_is_within_the_limits_is_written_by_all_and_what_is_beyond_is_refused() {
    let run = || {
        for (kind, most, text) in [deep_expressions(), deep_statements_and_types()].concat() {
            let comparator = Comparator::new(&text(most)).unwrap_or_else(|e| panic!("{kind}: {e}"));
            written_by_all(&comparator);
            // One more, and so many that they would end the process, whole and cut off.
            for times in [most + 1, 10_000] {
                let text = text(times);
                let _ = Comparator::new(&text[..text.len() / 2]);
                let error = Comparator::new(&text).err().unwrap_or_else(|| {
                    panic!("{kind}: {times} are accepted");
                });
                let error = error.to_string();
                let says = ["more than", "a text of", "recursion limit"]
                    .iter()
                    .any(|why| error.contains(why));
                assert!(says, "{kind}, {times}: {error:.300}");
            }
        }
    };
    // Constants of constants, each of many arrays: deeper than any text by itself.
    let run = move || {
        run();
        let mut body = "const x0 = 1;\n".to_owned();
        for i in 0..60 {
            let (open, close) = (many("array(", 46), many(")", 46));
            body += &format!("const x{} = {open}x{i}{close};\n", i + 1);
        }
        let error = refused(&with(&(body + "let y = x60; return true;")));
        assert!(error.contains("more than 8 types"), "{error:.300}");
    };
    let thread = std::thread::Builder::new().stack_size(512 << 10);
    thread.spawn(run).unwrap().join().unwrap();
}

/// Parts of parts of a `let` each used twice: once 2^n words were written of n of them.
#[test]
fn what_is_named_is_written_once() {
    let mut body = "let x0 = a.key;\n".to_owned();
    for i in 0..100 {
        body += &format!("let x{} = m[x{i}][x{i}];\n", i + 1);
    }
    let head = "let m = array(array(0u, 1u), array(1u, a.key));\n";
    let comparator = Comparator::new(&with(&format!("{head}{body}return x100 < 1u;"))).unwrap();
    assert!(comparator_text(&comparator).len() < 10_000);
    written_by_all(&comparator);
    // Pointers to variables stay such.
    let pointers =
        "var v = array<u32, 2>(1u, 2u); let p = &v[a.key]; *p = 7u; let q = p; return *q < v[0];";
    written_by_all(&Comparator::new(&with(pointers)).unwrap());
}

/// Comparators that are accepted, to be taken apart.
const SEEDS: [&str; 4] = [
    "struct Row { key : u32 , at : vec3 < f32 > , m : mat2x2 < f32 > } const N = 4u ;
    fn less ( x : f32 , y : f32 ) -> bool { return x < y ; }
    fn precedes ( a : Row , b : Row ) -> bool {
        if a . key != b . key { return a . key < b . key ; } else if less ( a . at . x , b . at . y ) { return true ; }
        return ( a . m * b . at . xy ) . x < dot ( a . at , b . at ) ;
    }",
    "struct Row { words : array < u32 , 4 > }
    fn precedes ( a : Row , b : Row ) -> bool {
        for ( var i = 0u ; i < 4u ; i ++ ) {
            let x = a . words [ 3u - i ] ; let y = b . words [ 3u - i ] ;
            if x != y { return x < y ; }
        }
        return false ;
    }",
    "struct Inner { a : i32 , b : vec2 < u32 > } alias Key = array < Inner , 2 > ; struct Row { key : Key , other : i32 }
    fn next ( p : ptr < function , i32 > ) { * p += 1 ; }
    fn precedes ( a : Row , b : Row ) -> bool {
        var n = - a . other / b . other ; next ( & n ) ; let p = & n ; * p = ~ * p ;
        switch a . key [ 1 ] . a { case 0 , 1 : { return true ; } default : { n %= 3 ; } }
        return n < select ( 1 , 2 , any ( a . key [ 0 ] . b < b . key [ n ] . b ) && ! ( n > 4 ) ) ;
    }",
    "@must_use fn f ( x : f32 ) -> f32 { return sqrt ( abs ( x ) ) * 2.0 ; } struct Row { x : f32 }
    fn precedes ( a : Row , b : Row ) -> bool { var t = array ( 1u , 2u ) ; t [ u32 ( a . x ) ] = 7u ; return f ( a . x ) < f ( b . x ) ; }",
];

/// What may stand between them.
const TOKENS: [&str; 64] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    ",",
    ";",
    ":",
    ".",
    "->",
    "=",
    "==",
    "&&",
    "||",
    "&",
    "|",
    "-",
    "--",
    "++",
    "+=",
    "<<",
    ">>=",
    "!",
    "~",
    "*",
    "/",
    "%",
    "@",
    "@size(16)",
    "@align(8)",
    "_",
    "/*",
    "*/",
    "//\n",
    "\u{2028}",
    "é",
    "fn",
    "struct",
    "var",
    "var<private>",
    "let",
    "const",
    "const_assert",
    "override",
    "alias",
    "loop",
    "while",
    "continuing",
    "break",
    "continue",
    "return",
    "discard",
    "f16",
    "atomic<u32>",
    "array<u32>",
    "0",
    "4294967295u",
    "1e39",
    "-2147483648",
    "0x1p-149f",
    "workgroupBarrier()",
];

proptest! {
    #![proptest_config(
        ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() }
    )]

    #[test]
    fn any_text_is_refused_or_can_be_written(
        seed in 0..SEEDS.len(),
        changes in prop::collection::vec(
            (any::<u32>(), 0..9_u32, any::<u32>(), 0..SEEDS.len(), 1..5_usize),
            1..4,
        ),
    ) {
        let mut tokens: Vec<&str> = SEEDS[seed].split_whitespace().collect();
        for (at, change, random, other, len) in changes {
            let at = at as usize % (tokens.len() + 1);
            let end = (at + len).min(tokens.len());
            let others: Vec<&str> = SEEDS[other].split_whitespace().collect();
            let from = random as usize % others.len();
            let part = &others[from..(from + len).min(others.len())];
            // Of the same kind: a word, a number, an operator.
            let kind = |token: &str| {
                let first = token.chars().next();
                first.map(|c| (c.is_ascii_digit(), c.is_alphabetic()))
            };
            match change {
                // Without some, some twice, others instead, something in between, and one in place
                // of another.
                0 => drop(tokens.drain(at..end)),
                1 => drop(tokens.splice(at..at, tokens[at..end].to_vec())),
                2 => drop(tokens.splice(at..end, part.iter().copied())),
                3 => tokens.insert(at, TOKENS[random as usize % TOKENS.len()]),
                _ if at < end => {
                    let mut others = others[from..].iter().copied();
                    let alike = others.find(|other| kind(other) == kind(tokens[at]));
                    tokens[at] = alike.unwrap_or(tokens[at]);
                }
                _ => {}
            }
        }
        match Comparator::new(&tokens.join(" ")) {
            Ok(comparator) => written_by_all(&comparator),
            Err(Error::Comparator(why)) => prop_assert!(!why.is_empty()),
            Err(other) => panic!("{other}"),
        }
    }
}
