//! Every accepted comparator can be written for every backend, and no text ends the process.

use proptest::prelude::*;
use wgpu_bcfsort::internals::{function_of, text_of};
use wgpu_bcfsort::{Comparator, Error};

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

/// A name, and a function that returns a text with this many nested or repeated parts.
type Deep = (&'static str, fn(usize) -> String);

fn deep_expressions() -> Vec<Deep> {
    vec![
        ("brackets", |n| within("(", ")", n)),
        ("calls", |n| within("abs(", ")", n)),
        ("arguments", |n| within("min(a.key, ", ")", n)),
        ("negations", |n| within("~(", ")", n)),
        ("indices", |n| {
            let body = "let w = array<u32, 2>(1u, a.key);";
            within("w[", "]", n).replace("return", &(body.to_owned() + "return"))
        }),
        ("sums", |n| {
            with(&format!("return a.key{} < 1u;", many("+1", n)))
        }),
        ("quotients", |n| {
            with(&format!("return a.key{} < 1u;", many("/3u", n)))
        }),
        ("products of matrices", |n| {
            let m = "let m = mat2x2(f32(a.key), 1.0, 2.0, 3.0);";
            with(&format!("{m} return (m{})[0].x < 1.0;", many("*m", n)))
        }),
        ("nots", |n| {
            with(&format!("return {}(a.key < 1u);", many("!", n)))
        }),
        ("complements", |n| {
            with(&format!("return {}a.key < 1u;", many("~", n)))
        }),
        ("pointers", |n| {
            with(&format!("var x = 1u; return {}x < 1u;", many("*&", n)))
        }),
        ("stores", |n| {
            with(&format!(
                "var x = 1u; {}x = 2u; return true;",
                many("*&", n)
            ))
        }),
        ("parts of vectors", |n| {
            with(&format!(
                "let v = vec2(a.key, 1u); return v{}.x < 1u;",
                many(".yx", n)
            ))
        }),
        ("conjunctions", |n| {
            with(&format!("return true{};", many("&&a.key<9", n)))
        }),
        ("sums of constants", |n| {
            format!("const X = 1{};", many("+1", n)) + &with("return a.key < X;")
        }),
    ]
}

fn deep_statements_and_types() -> Vec<Deep> {
    vec![
        ("nested conjunctions", |n| {
            with(&format!(
                "return {}true{};",
                many("a.key < 1u && (", n),
                many(")", n)
            ))
        }),
        ("blocks", |n| {
            with(&format!("{}{}return true;", many("{", n), many("}", n)))
        }),
        ("ifs", |n| {
            with(&format!(
                "{}{}return true;",
                many("if a.key < 1u {", n),
                many("}", n)
            ))
        }),
        ("else ifs", |n| {
            with(&format!(
                "if a.key < 1u {{}}{} return true;",
                many("else if true {}", n)
            ))
        }),
        ("loops", |n| {
            with(&format!(
                "{}{}return true;",
                many("loop{", n),
                many("break;}", n)
            ))
        }),
        ("switches", |n| {
            let (open, close) = (many("switch a.key{default{", n), many("}}", n));
            with(&format!("{open}{close} return true;"))
        }),
        ("types", |n| {
            let inner = many("array<", n) + "u32" + &many(",1>", n);
            with(&format!("var x: {inner}; return true;"))
        }),
        ("structs", |n| {
            let one = |i| format!("struct A{i}{{x:A{}}}", i + 1);
            let last = format!("alias A{n} = u32;");
            declared(n, one, &last, "var x: A0; return true;")
        }),
        ("constants", |n| {
            let one = |i| format!("const A{i}=A{}+1;", i + 1);
            declared(n, one, &format!("const A{n} = 1;"), "return true;")
        }),
        ("arrays of constants", |n| {
            let one = |i| format!("const A{i}=array(A{});", i + 1);
            let last = format!("const A{n} = 1;");
            declared(n, one, &last, "let y = A0; return true;")
        }),
        ("functions", |n| {
            let one = |i| format!("fn f{i}(){{f{}();}}", i + 1);
            declared(n, one, &format!("fn f{n}() {{}}"), "f0(); return true;")
        }),
    ]
}

/// Parses, validates and writes a text for each backend with naga, as wgpu does.
fn written_by_all(comparator: &Comparator) {
    let text = format!(
        "{}\n@group(0) @binding(0) var<storage, read_write> rows: array<user_row>;
        @compute @workgroup_size(1) fn main() {{
            if user_precedes(rows[0], rows[1]) {{ rows[1] = rows[0]; }}
        }}",
        text_of(function_of(comparator))
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
    // Compilers based on clang, such as Metal's and DXC, allow a depth of 256 for each bracket.
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

/// Texts of any depth, whole and truncated, with half of the stack of a main thread on Windows.
#[test]
fn deep_texts_are_refused_or_can_be_written() {
    let run = || {
        for (kind, text) in [deep_expressions(), deep_statements_and_types()].concat() {
            let written = |times: usize| {
                let text = text(times);
                let _ = Comparator::new(&text[..text.len() / 2]);
                match Comparator::new(&text) {
                    Ok(comparator) => written_by_all(&comparator),
                    Err(Error::Comparator(why)) => return Some(why),
                    Err(other) => panic!("{kind}: {other}"),
                }
                None
            };
            assert_eq!(written(7), None, "{kind}");
            // The largest number within the limit on the text's length. Tested are also an eighth
            // of it, and smaller numbers.
            let mut times = 1;
            while text(2 * times).len() <= 1 << 14 {
                times *= 2;
            }
            while text(times + times / 16).len() <= 1 << 14 {
                times += times / 16;
            }
            for times in [16, 126, times / 8, times] {
                let Some(why) = written(times) else { continue };
                let says = ["more than 16", "limit", "cannot be written again"];
                let says = says.iter().any(|said| why.contains(said));
                assert!(says, "{kind}, {times}: {why:.300}");
            }
            let why = written(20_000).unwrap_or_else(|| panic!("{kind}: 20000"));
            assert!(why.contains("a text of"), "{kind}: {why:.300}");
        }
    };
    let thread = std::thread::Builder::new().stack_size(512 << 10);
    thread.spawn(run).unwrap().join().unwrap();
}

/// Each `let` uses the one before it twice. A writer that inlines them writes 2^n words for n of
/// them.
#[test]
fn each_let_is_written_once() {
    let mut body = "let x0 = a.key;\n".to_owned();
    for i in 0..100 {
        body += &format!("let x{} = m[x{i}][x{i}];\n", i + 1);
    }
    let head = "let m = array(array(0u, 1u), array(1u, a.key));\n";
    let comparator = Comparator::new(&with(&format!("{head}{body}return x100 < 1u;"))).unwrap();
    assert!(text_of(function_of(&comparator)).len() < 10_000);
    written_by_all(&comparator);
    // Pointers to variables stay pointers.
    let pointers =
        "var v = array<u32, 2>(1u, 2u); let p = &v[a.key]; *p = 7u; let q = p; return *q < v[0];";
    written_by_all(&Comparator::new(&with(pointers)).unwrap());
}

/// Valid comparators, which the test mutates.
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

/// Tokens that the test inserts.
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
            // Tokens of the same kind: words, numbers or operators.
            let kind = |token: &str| {
                let first = token.chars().next();
                first.map(|c| (c.is_ascii_digit(), c.is_alphabetic()))
            };
            match change {
                // Delete tokens, repeat them, replace them, insert one, or replace one by another
                // of its kind.
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
