//! Dependencies between the modules of a crate: there is no cycle, no module names another by way
//! of `lib.rs`, and the lower floors know no upper one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The top-level modules of a crate. Each has the modules that its code names, with a file that
/// does.
struct Graph(BTreeMap<String, BTreeMap<String, PathBuf>>);

impl Graph {
    /// Reads all files below a directory with a `lib.rs`, without comments and `#[cfg(test)]`
    /// items.
    fn read(src: &Path) -> Self {
        let root = tokens(&fs::read_to_string(src.join("lib.rs")).unwrap());
        let mut graph: BTreeMap<_, _> = modules(&root).map(|m| (m, BTreeMap::new())).collect();
        let sources = sources(src);
        let exports = exports(&root);
        let mut homes = exports.clone();
        for (file, _, tokens) in &sources {
            let macros = tokens
                .windows(3)
                .filter(|w| w[0] == "macro_rules" && w[1] == "!");
            homes.extend(macros.map(|w| (w[2].clone(), top(src, file))));
        }
        for (file, depth, tokens) in &sources {
            let from = top(src, file);
            for name in names(tokens, *depth) {
                let home = homes.get(&name).unwrap_or(&name).clone();
                if let Some(module) = exports.get(&name).filter(|_| name != OF_A_MACRO) {
                    let file = file.display();
                    panic!("{file}: crate::{name} goes through lib.rs: name crate::{module}");
                }
                assert!(
                    graph.contains_key(&home) || OUTSIDE.contains(&home.as_str()),
                    "{}: crate::{name} is in no module but lib.rs, which knows all",
                    file.display()
                );
                if home != from {
                    let known = graph.entry(from.clone()).or_default();
                    let file = file.strip_prefix(src).unwrap();
                    known.entry(home).or_insert_with(|| file.to_owned());
                }
            }
        }
        Self(graph)
    }

    /// The modules that a module names.
    fn known_to(&self, module: &str) -> BTreeSet<&str> {
        self.0[module].keys().map(String::as_str).collect()
    }

    /// A cycle, with a file for each of its arrows, if there is one.
    fn cycle(&self) -> Option<String> {
        let mut done = BTreeSet::new();
        let mut starts = self.0.keys();
        starts.find_map(|start| self.cycle_from(start, &mut Vec::new(), &mut done))
    }

    fn cycle_from<'a>(
        &'a self,
        module: &'a str,
        path: &mut Vec<&'a str>,
        done: &mut BTreeSet<&'a str>,
    ) -> Option<String> {
        if let Some(begin) = path.iter().position(|&before| before == module) {
            let mut text = String::new();
            let ends = path[begin + 1..].iter().chain([&module]);
            for (&from, &to) in path[begin..].iter().zip(ends) {
                let file = self.0[from][to].display();
                write!(text, "\n{from} -> {to}: {file}").unwrap();
            }
            return Some(text);
        }
        if !done.contains(module) {
            path.push(module);
            let mut known = self.0.get(module).into_iter().flatten();
            let found = known.find_map(|(next, _)| self.cycle_from(next, path, done));
            path.pop();
            done.insert(module);
            return found;
        }
        None
    }
}

/// External crates that only some modules may use. They count as modules.
const OUTSIDE: [&str; 2] = ["naga", "wgpu"];

/// What an exported macro names, in the user's crate.
const OF_A_MACRO: &str = "Members";

/// The files of a crate's modules: the path, the depth of the module, and the code. Files in `bin`
/// are separate crates, and left out.
fn sources(src: &Path) -> Vec<(PathBuf, usize, Vec<String>)> {
    let mut found = Vec::new();
    let mut folders = vec![(src.to_owned(), 0)];
    let mut tests = BTreeSet::new();
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path != src.join("bin") {
                    folders.push((path, depth + 1));
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let is_of_folder = path.ends_with("mod.rs");
                let (tokens, left_out) =
                    without_tests(&tokens(&fs::read_to_string(&path).unwrap()));
                let folder = if is_of_folder {
                    path.parent().unwrap().to_owned()
                } else {
                    path.with_extension("")
                };
                tests.extend(left_out.iter().map(|name| folder.join(name)));
                let depth = if is_of_folder { depth } else { depth + 1 };
                found.push((path, depth, tokens));
            }
        }
    }
    let is_test = |file: &Path| {
        tests
            .iter()
            .any(|test| file.starts_with(test.with_extension("rs")) || file.starts_with(test))
    };
    found.retain(|(file, ..)| !is_test(file) && *file != src.join("lib.rs"));
    found
}

/// The top-level module of a file.
fn top(src: &Path, file: &Path) -> String {
    let path = file.strip_prefix(src).unwrap().with_extension("");
    path.iter().next().unwrap().to_str().unwrap().to_owned()
}

/// The tokens of a text, without comments, strings and characters.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(hashes) = raw_string(rest) {
            let end = format!("\"{}", "#".repeat(hashes));
            let begin = rest.find('"').unwrap() + 1;
            begin + rest[begin..].find(&end).unwrap() + end.len()
        } else if c == '"' {
            quoted(rest, '"')
        } else if c == '\'' {
            // A lifetime has no second quote after its first character.
            let mut after = rest.chars().skip(1);
            match (after.next(), after.next()) {
                (Some('\\'), _) | (_, Some('\'')) => quoted(rest, '\''),
                _ => 1,
            }
        } else if is_word(c) {
            let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            tokens.push(rest[..len].to_owned());
            len
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            if !c.is_whitespace() {
                tokens.push(c.to_string());
            }
            c.len_utf8()
        };
        rest = &rest[len..];
    }
    tokens
}

/// The length of the block comment that a text begins with. Block comments nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    loop {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
}

/// The number of hashes of the raw string that a text begins with.
fn raw_string(text: &str) -> Option<usize> {
    let text = text.strip_prefix('b').unwrap_or(text).strip_prefix('r')?;
    let after = text.trim_start_matches('#');
    after.starts_with('"').then(|| text.len() - after.len())
}

/// The length of the string or character that a text begins with.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|&(_, c)| {
        let is_end = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        is_end
    });
    end.unwrap().0 + 1
}

/// Code without its `#[cfg(test)]` items, and the names of the modules among those items.
fn without_tests(tokens: &[String]) -> (Vec<String>, Vec<String>) {
    const ATTRIBUTE: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut code, mut names) = (Vec::new(), Vec::new());
    let mut rest = tokens;
    while !rest.is_empty() {
        if rest.len() < ATTRIBUTE.len() || rest[..ATTRIBUTE.len()] != ATTRIBUTE {
            code.push(rest[0].clone());
            rest = &rest[1..];
            continue;
        }
        let mut depth = 0;
        let end = rest.iter().skip(ATTRIBUTE.len()).position(|token| {
            match token.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            depth == 0 && (token == ";" || token == "}")
        });
        let (item, after) = rest.split_at(ATTRIBUTE.len() + end.unwrap() + 1);
        names.extend(modules(item));
        rest = after;
    }
    (code, names)
}

/// The modules that code declares with `mod name;`.
fn modules(tokens: &[String]) -> impl Iterator<Item = String> {
    let declared = tokens.windows(3).filter(|w| w[0] == "mod" && w[2] == ";");
    declared.map(|w| w[1].clone())
}

/// The module of each name that `lib.rs` exports.
fn exports(root: &[String]) -> BTreeMap<String, String> {
    let modules: BTreeSet<String> = modules(root).collect();
    let mut exports = BTreeMap::new();
    for (at, path) in root.windows(3).enumerate() {
        if path[..2] == ["pub", "use"] && modules.contains(&path[2]) {
            // All names in the path: inner modules are in the same top-level module.
            let path_or_list = root[at + 3..].iter().take_while(|&token| token != ";");
            exports.extend(path_or_list.map(|name| (name.clone(), path[2].clone())));
        }
    }
    exports
}

/// The names of the crate's root that code uses: after `crate::`, or after as many `super::` as the
/// depth of its module. External crates, too.
fn names(tokens: &[String], depth: usize) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for at in 0..tokens.len() {
        let is_first = at == 0 || tokens[at - 1] != "::";
        let path = &tokens[at..];
        let supers = path
            .chunks(2)
            .take_while(|pair| *pair == ["super", "::"])
            .count();
        if OUTSIDE.contains(&tokens[at].as_str()) && is_first {
            names.insert(tokens[at].clone());
        } else if path.len() > 2 && path[..2] == ["crate", "::"] {
            names.extend(first_names(&path[2..]));
        } else if is_first && supers == depth {
            names.extend(first_names(&path[2 * supers..]));
        }
    }
    names
}

/// The first names in a `use` tree.
fn first_names(tree: &[String]) -> Vec<String> {
    assert_ne!(tree[0], "*", "crate::* names every module");
    if tree[0] != "{" {
        return vec![tree[0].clone()];
    }
    let mut names = Vec::new();
    let mut depth = 0;
    for (before, token) in tree.iter().zip(&tree[1..]) {
        match before.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && (before == "{" || before == ",") && token != "}" {
            names.push(token.clone());
        }
    }
    names
}

/// The modules of a crate, by its folder in this repository.
fn modules_of(folder: &str) -> Graph {
    Graph::read(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(folder),
    )
}

#[test]
fn there_are_no_cycles_of_modules() {
    for folder in ["src", "crates/wgsl-lockstep/src"] {
        let cycle = modules_of(folder).cycle();
        assert!(cycle.is_none(), "{folder}: {}", cycle.unwrap_or_default());
    }
}

/// Modules, and the modules that each may use: what is above them in `docs/how-it-works.md` is not
/// among these.
#[test]
fn the_lower_floors_know_no_upper_one() {
    let library = modules_of("src");
    for (module, allowed) in [
        ("names", &[][..]),
        ("order", &[]),
        ("key", &["names", "order"]),
        ("engine", &["names"]),
        ("device", &["error", "key", "shader"]),
        // Kernels and their texts, of no algorithm.
        ("shader", &["error", "key", "naga", "row_function"]),
    ] {
        let unexpected = &library.known_to(module) - &allowed.iter().copied().collect();
        assert!(unexpected.is_empty(), "{module} knows {unexpected:?}");
    }
    // Recordings are independent of the GPU API.
    let recorders = ["layout", "mergesort", "samplesort", "planner"];
    for module in recorders.iter().chain(&["shader", "recording"]) {
        let known = library.known_to(module);
        for other in ["wgpu", "gpu", "sorter"] {
            assert!(!known.contains(other), "{module} knows {other}");
        }
    }
}

/// The library's back door is for its tests, the experiments, the auditor's recordings (which the
/// doctor runs on a device) and the plans that the browser's playground shows. What the commands
/// need is public.
#[test]
fn the_commands_use_the_public_library_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in [
        "crates/bcfsort-auto/src",
        "crates/bcfsort-cli/src",
        "crates/bcfsort-data/src",
        "crates/bcfsort-term/src",
        "integrations/datafusion/src",
        "integrations/ballista/src",
        "integrations/python/src",
    ] {
        for (file, _, tokens) in sources(&root.join(folder)) {
            let is_auditor = file.components().any(|part| part.as_os_str() == "audit");
            let runs_recordings = is_auditor || file.ends_with("doctor/kernels.rs");
            let names_it = tokens.iter().any(|token| token == "internals");
            assert!(runs_recordings || !names_it, "{}", file.display());
        }
    }
}

#[test]
fn names_are_found_in_code_but_not_in_comments_strings_and_tests() {
    let text = r##"
        //! crate::comment /* crate::comment
        /* crate::a /* crate::b */ crate::c */
        use crate::{
            Name, one::{two, three::{Four}}, members,
        };
        pub(crate) fn f<'a>(x: &'a str) -> char {
            super::super::five::g(x, "crate::text \" crate::text");
            '"'
        }
        const RAW: &str = r#"crate::raw "quoted" crate::raw"#;
        #[cfg(test)]
        fn only_tests(x: [u8; 3]) -> u32 { crate::tested::f() }
        #[cfg(test)]
        mod tests;
        impl super::Trait for $crate::Six<wgpu::Buffer, other::naga::X> {}
    "##;
    let (code, tests) = without_tests(&tokens(text));
    assert_eq!(tests, ["tests"]);
    let names: Vec<_> = names(&code, 2).into_iter().collect();
    assert_eq!(names, ["Name", "Six", "five", "members", "one", "wgpu"]);
}

#[test]
fn a_cycle_is_named_with_the_files_that_make_it() {
    let arrow = |to: &str| (to.to_owned(), PathBuf::from(format!("to_{to}.rs")));
    let module = |name: &str, known: &[&str]| {
        let known = known.iter().map(|to| arrow(to)).collect();
        (name.to_owned(), known)
    };
    let graph = |modules: &[(&str, &[&str])]| {
        let modules = modules.iter().map(|(name, known)| module(name, known));
        Graph(modules.collect())
    };
    let plain = graph(&[("a", &["b", "c"]), ("b", &["c", "wgpu"]), ("c", &[])]);
    assert_eq!(plain.cycle(), None);
    let cyclic = graph(&[("a", &["b"]), ("b", &["c"]), ("c", &["d", "b"]), ("d", &[])]);
    let expected = "\nb -> c: to_c.rs\nc -> b: to_b.rs";
    assert_eq!(cyclic.cycle().as_deref(), Some(expected));
}
