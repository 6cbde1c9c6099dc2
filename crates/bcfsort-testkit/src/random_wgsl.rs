//! Random compute shaders: valid WGSL, with loops bounded by construction.
//!
//! A shader is made of a string of bytes, each of which decides one choice. Where they end, every
//! choice is the first and simplest: so a shorter string gives a smaller shader, and proptest
//! shrinks a failure by shrinking its bytes.

use std::collections::BTreeSet;
use wgsl_lockstep::{Buffers, Shader, ShaderError, Space};

/// What a shader may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Whatever is valid: indices out of bounds, races, floats of any value, types of 16 and 64
    /// bits.
    Free,
    /// Only what has one result on every device: each lane writes its own slots, floats are
    /// integers of at most [`TAME`], and no index is out of bounds.
    Exact,
}

/// Products of two, and sums of four such products, are exact in f32.
pub const TAME: u32 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scalar {
    U32,
    I32,
    F32,
    Bool,
    F16,
    U64,
    I64,
}

impl Scalar {
    const fn name(self) -> &'static str {
        match self {
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
            Self::Bool => "bool",
            Self::F16 => "f16",
            Self::U64 => "u64",
            Self::I64 => "i64",
        }
    }

    const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16)
    }

    const fn is_signed(self) -> bool {
        matches!(self, Self::I32 | Self::I64 | Self::F32 | Self::F16)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Type {
    Scalar(Scalar),
    Vector(usize, Scalar),
    /// Columns and rows.
    Matrix(usize, usize),
    Array(Box<Type>, usize),
    Struct(usize),
}

const U32: Type = Type::Scalar(Scalar::U32);
const BOOL: Type = Type::Scalar(Scalar::Bool);

impl Type {
    fn name(&self) -> String {
        match self {
            Self::Scalar(scalar) => scalar.name().to_owned(),
            Self::Vector(n, scalar) => format!("vec{n}<{}>", scalar.name()),
            Self::Matrix(columns, rows) => format!("mat{columns}x{rows}<f32>"),
            Self::Array(base, n) => format!("array<{}, {n}>", base.name()),
            Self::Struct(i) => format!("S{i}"),
        }
    }

    /// The name as part of a function's.
    fn mangled(&self) -> String {
        let name = self.name();
        let kept = name.chars().filter(char::is_ascii_alphanumeric);
        kept.collect()
    }
}

/// A variable in scope, or a reference that can be used as one.
#[derive(Clone, Debug)]
struct Variable {
    text: String,
    kind: Type,
    writable: bool,
    /// The address space whose pointers it can be passed as.
    pointer: Option<&'static str>,
    /// A constant or an override: what is computed of constants alone must not overflow.
    constant: bool,
}

struct Expression {
    text: String,
    constant: bool,
}

struct Function {
    name: String,
    values: Vec<Type>,
    pointers: Vec<(&'static str, Type)>,
    result: Option<Type>,
    /// Statements it runs, at most.
    cost: u64,
}

/// Where a statement stands.
#[derive(Clone)]
struct Context {
    depth: usize,
    may_break: bool,
    may_continue: bool,
    returns: Returns,
}

/// Whether one may return, and with a value of which type.
#[derive(Clone)]
enum Returns {
    Never,
    Nothing,
    A(Type),
}

/// A shader, and what to run it on.
#[derive(Debug)]
pub struct Module {
    pub wgsl: String,
    pub workgroups: [u32; 3],
    pub overrides: Vec<(String, f64)>,
    lanes: u32,
    pub style: Style,
}

/// The bindings of a module's buffers.
pub const OUTPUT: u32 = 0;

impl Module {
    /// The shader, which naga accepts, but for a bug of naga 30: where it gives overrides their
    /// values, it emits constants that are composed in functions twice, or too late, and then finds
    /// that invalid.
    pub fn shader(&self) -> Option<Shader> {
        match Shader::new(&self.wgsl, None, &self.overrides) {
            Ok(shader) => Some(shader),
            Err(ShaderError::Override(text))
                if text.contains("already in scope")
                    || text.contains("before it was introduced into the scope") =>
            {
                None
            }
            Err(error) => panic!("{}\n{error}", self.wgsl),
        }
    }

    /// Buffers for all lanes: random words to read, and zeros to write. Those of another seed
    /// differ in what lies in storage.
    pub fn buffers(&self, shader: &Shader, seed: u32) -> Buffers {
        let lanes = self.lanes * self.workgroups.iter().product::<u32>();
        let word = |state: &mut u32| {
            *state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            // Small numbers are those that collide.
            let high = *state >> 13;
            if high & 1 == 0 { high % 16 } else { *state }
        };
        let buffer = |resource: &wgsl_lockstep::Resource| {
            let elements = if resource.binding == OUTPUT {
                lanes
            } else {
                13
            };
            let more = resource.stride.unwrap_or(0) * (elements - 1);
            let words = (resource.min_bytes + more).div_ceil(16) * 4;
            let storage = resource.space == Space::Storage;
            let mut state = resource.binding + if storage { 100 * seed } else { 0 };
            let zeros = self.style == Style::Exact && resource.writable;
            let words = (0..words).map(|_| if zeros { 0 } else { word(&mut state) });
            ((resource.group, resource.binding), words.collect())
        };
        shader.resources().iter().map(buffer).collect()
    }
}

/// Makes a shader of bytes.
pub fn generate(bytes: &[u8], style: Style) -> Module {
    Generator {
        bytes,
        style,
        structs: Vec::new(),
        scope: Vec::new(),
        functions: Vec::new(),
        helpers: BTreeSet::new(),
        names: 0,
        fuel: 260,
        quiet: false,
        brackets: 0,
        times: 1,
        cost: 0,
    }
    .module()
}

struct Generator<'a> {
    bytes: &'a [u8],
    style: Style,
    /// The members of each struct; those of even number have no bool, and may lie in buffers.
    structs: Vec<Vec<Type>>,
    scope: Vec<Variable>,
    functions: Vec<Function>,
    /// Functions of one type each that the text turned out to need.
    helpers: BTreeSet<(&'static str, String)>,
    names: u32,
    /// Expressions and statements still allowed: a compiler's time grows with them.
    fuel: u32,
    /// Storage is seldom read: else there is little that its contents do not decide.
    quiet: bool,
    /// Indices within indices around what is being made.
    brackets: u32,
    /// How often the current statement is run in one call, and the sum of that over all so far.
    times: u64,
    cost: u64,
}

/// Statements a lane may run.
const MOST_STATEMENTS: u64 = 3000;

impl Generator<'_> {
    // Choices.

    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.bytes.split_first() else {
            return 0;
        };
        self.bytes = rest;
        first
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    fn chance(&mut self, of_256: u8) -> bool {
        // The first choice is no.
        self.byte() > u8::MAX - of_256
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    const fn is_free(&self) -> bool {
        matches!(self.style, Style::Free)
    }

    // Types.

    fn number(&mut self) -> Scalar {
        if self.is_free() && self.chance(40) {
            return self.pick(&[Scalar::F16, Scalar::U64, Scalar::I64]);
        }
        self.pick(&[Scalar::U32, Scalar::I32, Scalar::F32])
    }

    fn scalar(&mut self) -> Scalar {
        if self.chance(50) {
            Scalar::Bool
        } else {
            self.number()
        }
    }

    /// A type; `shared` ones may lie in buffers, where there is no bool.
    fn kind(&mut self, depth: usize, shared: bool) -> Type {
        let scalar = if shared { self.number() } else { self.scalar() };
        match self.below(8) {
            2 | 3 => Type::Vector(2 + self.below(3), scalar),
            4 => Type::Matrix(2 + self.below(3), 2 + self.below(3)),
            5 | 6 if depth > 0 => {
                let base = self.kind(depth - 1, shared);
                Type::Array(Box::new(base), 1 + self.below(4))
            }
            7 if !self.structs.is_empty() => {
                let i = self.below(self.structs.len());
                Type::Struct(if shared { i / 2 * 2 } else { i })
            }
            _ => Type::Scalar(scalar),
        }
    }

    /// The parts that a value can be taken apart into at once.
    fn parts(&self, kind: &Type) -> Vec<Type> {
        match kind {
            Type::Scalar(_) => Vec::new(),
            Type::Vector(_, scalar) => vec![Type::Scalar(*scalar)],
            Type::Matrix(_, rows) => vec![Type::Vector(*rows, Scalar::F32)],
            Type::Array(base, _) => vec![(**base).clone()],
            Type::Struct(i) => self.structs[*i].clone(),
        }
    }

    fn contains(&self, kind: &Type, part: &Type, writing: bool) -> bool {
        kind == part
            || (!writing
                && matches!((kind, part), (Type::Vector(_, a), Type::Vector(_, b)) if a == b))
            || self
                .parts(kind)
                .iter()
                .any(|inner| self.contains(inner, part, writing))
    }

    // Expressions.

    fn literal(&mut self, scalar: Scalar) -> String {
        match scalar {
            Scalar::Bool => self.pick(&["false", "true"]).to_owned(),
            Scalar::U32 | Scalar::U64 => {
                let suffix = if scalar == Scalar::U32 { "u" } else { "lu" };
                let random = usize::from(self.byte()) * 0x0101_8305 % 0xffff_fff1;
                let value = self.pick(&[1, 0, 2, 3, 7, 31, 32, 255, 65_535, 0x7fff_ffff]);
                let value = if self.chance(60) { random } else { value };
                format!("{value}{suffix}")
            }
            Scalar::I32 => {
                let text = ["1i", "0i", "-1i", "2i", "-7i", "31i", "2147483647i"];
                if self.chance(30) {
                    "i32(-2147483648)".to_owned()
                } else {
                    self.pick(&text).to_owned()
                }
            }
            Scalar::I64 => self.pick(&["1li", "0li", "-1li", "-70li"]).to_owned(),
            Scalar::F16 => self.pick(&["1.0h", "0.0h", "-2.5h", "1000.0h"]).to_owned(),
            Scalar::F32 if self.is_free() => {
                let text = ["1.0f", "0.0f", "-1.5f", "1e30f", "3e-39f", "0.1f", "-7.0f"];
                self.pick(&text).to_owned()
            }
            Scalar::F32 => {
                let text = [
                    "1.0f", "0.0f", "-1.0f", "2.0f", "-7.0f", "100.0f", "1024.0f",
                ];
                self.pick(&text).to_owned()
            }
        }
    }

    /// A constant of any type.
    fn constant(&mut self, kind: &Type) -> String {
        let name = kind.name();
        let many = |this: &mut Self, kind: &Type, n: usize| {
            let each: Vec<String> = (0..n).map(|_| this.constant(kind)).collect();
            each.join(", ")
        };
        let arguments = match kind {
            Type::Scalar(scalar) => return self.literal(*scalar),
            _ if self.chance(40) => String::new(),
            Type::Vector(_, scalar) if self.chance(60) => self.literal(*scalar),
            Type::Vector(n, scalar) => many(self, &Type::Scalar(*scalar), *n),
            Type::Matrix(columns, rows) => many(self, &Type::Vector(*rows, Scalar::F32), *columns),
            Type::Array(base, n) => many(self, base, *n),
            Type::Struct(i) => {
                let members = self.structs[*i].clone();
                let each: Vec<String> = members.iter().map(|m| self.constant(m)).collect();
                each.join(", ")
            }
        };
        format!("{name}({arguments})")
    }

    /// Hides a constant in a call, so that no overflow of its use is an error of the shader.
    fn hidden(&mut self, expression: Expression, kind: &Type) -> String {
        if !expression.constant {
            return expression.text;
        }
        self.helpers.insert(("same", kind.name()));
        format!("same_{}({})", kind.mangled(), expression.text)
    }

    fn runtime(&mut self, kind: &Type, depth: usize) -> String {
        let expression = self.expression(kind, depth);
        self.hidden(expression, kind)
    }

    /// What is computed, brought back to the range where floats are exact.
    fn computed(&mut self, text: String, kind: &Type) -> Expression {
        let scalar = match kind {
            Type::Scalar(scalar) | Type::Vector(_, scalar) => *scalar,
            _ => Scalar::F32,
        };
        let text = if scalar == Scalar::F32 && !self.is_free() {
            self.helpers.insert(("tame", kind.name()));
            format!("tame_{}({text})", kind.mangled())
        } else {
            text
        };
        Expression {
            text,
            constant: false,
        }
    }

    /// An index below `n`: in free shaders, of any value.
    fn index(&mut self, n: usize) -> String {
        // A parser follows brackets within brackets only so far.
        if self.fuel == 0 || self.brackets == 3 || self.chance(100) {
            return self.below(n).to_string();
        }
        self.brackets += 1;
        let text = self.computed_index(n);
        self.brackets -= 1;
        text
    }

    fn computed_index(&mut self, n: usize) -> String {
        if self.is_free() && self.chance(24) {
            let kind = self.pick(&[U32, Type::Scalar(Scalar::I32)]);
            return self.runtime(&kind, 0);
        }
        let index = self.runtime(&U32, 0);
        if self.chance(60) {
            format!("i32({index} % {n}u)")
        } else {
            format!("{index} % {n}u")
        }
    }

    /// Goes from a variable to a part of it.
    fn descend(&mut self, from: &Variable, target: &Type, writing: bool) -> Expression {
        let mut text = from.text.clone();
        let mut kind = from.kind.clone();
        let mut constant = from.constant;
        loop {
            let stop = kind == *target && !(self.contains_below(&kind, target) && self.chance(60));
            if stop {
                return Expression { text, constant };
            }
            match kind.clone() {
                Type::Vector(n, scalar) => {
                    if let Type::Vector(m, _) = target {
                        let swizzle: String = (0..*m)
                            .map(|_| self.pick(&['x', 'y', 'z', 'w'][..n]))
                            .collect();
                        text = format!("{text}.{swizzle}");
                        return Expression { text, constant };
                    }
                    if self.chance(128) {
                        let component = self.pick(&['x', 'y', 'z', 'w'][..n]);
                        text = format!("{text}.{component}");
                    } else {
                        let index = self.index(n);
                        constant &= index.bytes().all(|b| b.is_ascii_digit());
                        text = format!("{text}[{index}]");
                    }
                    kind = Type::Scalar(scalar);
                }
                Type::Matrix(n, _) | Type::Array(_, n) => {
                    let index = self.index(n);
                    constant &= index.bytes().all(|b| b.is_ascii_digit());
                    text = format!("{text}[{index}]");
                    kind = self.parts(&kind).remove(0);
                }
                Type::Struct(i) => {
                    let members = self.structs[i].clone();
                    let fit: Vec<usize> = (0..members.len())
                        .filter(|&m| self.contains(&members[m], target, writing))
                        .collect();
                    let member = self.pick(&fit);
                    text = format!("{text}.m{member}");
                    kind = members[member].clone();
                }
                Type::Scalar(_) => return Expression { text, constant },
            }
        }
    }

    fn contains_below(&self, kind: &Type, target: &Type) -> bool {
        let parts = self.parts(kind);
        parts.iter().any(|part| self.contains(part, target, true))
    }

    fn readable(&mut self, kind: &Type) -> Option<Expression> {
        let without_data = self.quiet && !self.chance(16);
        let is_data = |text: &str| {
            let of = ["input[", "tailed.head", "tailed.tail", "output["];
            of.iter().any(|name| text.starts_with(name))
        };
        let fit: Vec<usize> = (0..self.scope.len())
            .filter(|&i| self.contains(&self.scope[i].kind, kind, false))
            .filter(|&i| !(without_data && is_data(&self.scope[i].text)))
            .collect();
        if fit.is_empty() {
            return None;
        }
        // The newest are the likeliest to have been assigned.
        let newest = fit.len() - 1 - self.below(fit.len());
        let variable = self.scope[fit[newest]].clone();
        Some(self.descend(&variable, kind, false))
    }

    fn leaf(&mut self, kind: &Type) -> Expression {
        if self.fuel > 0 && !self.chance(60) {
            self.fuel -= 1;
            if let Some(expression) = self.readable(kind) {
                return expression;
            }
        }
        Expression {
            text: self.constant(kind),
            constant: true,
        }
    }

    fn expression(&mut self, kind: &Type, depth: usize) -> Expression {
        if depth == 0 || self.fuel == 0 {
            return self.leaf(kind);
        }
        self.fuel -= 1;
        let depth = depth - 1;
        match self.below(10) {
            0 | 1 => return self.leaf(kind),
            2 if !matches!(kind, Type::Array(..) | Type::Struct(_) | Type::Matrix(..)) => {
                let condition = match kind {
                    Type::Vector(n, _) if self.chance(128) => Type::Vector(*n, Scalar::Bool),
                    _ => BOOL,
                };
                let [a, b] = [self.expression(kind, depth), self.expression(kind, depth)];
                let condition = self.expression(&condition, depth);
                return Expression {
                    text: format!("select({}, {}, {})", a.text, b.text, condition.text),
                    constant: a.constant && b.constant && condition.constant,
                };
            }
            3 => {
                if let Some(call) = self.call(Some(kind), depth) {
                    return Expression {
                        text: call,
                        constant: false,
                    };
                }
            }
            _ => {}
        }
        match kind.clone() {
            Type::Scalar(Scalar::Bool) | Type::Vector(_, Scalar::Bool) => self.boolean(kind, depth),
            Type::Scalar(scalar) | Type::Vector(_, scalar) if scalar.is_float() => {
                let text = self.float(kind, scalar, depth);
                self.computed(text, kind)
            }
            Type::Scalar(scalar) | Type::Vector(_, scalar) => {
                let text = self.integer(kind, scalar, depth);
                Expression {
                    text,
                    constant: false,
                }
            }
            Type::Matrix(columns, rows) => {
                let text = self.matrix(columns, rows, depth);
                self.computed(text, kind)
            }
            Type::Array(base, n) => {
                let parts = vec![*base; n];
                self.compose(kind, &parts, depth)
            }
            Type::Struct(i) => {
                let parts = self.structs[i].clone();
                self.compose(kind, &parts, depth)
            }
        }
    }

    fn compose(&mut self, kind: &Type, parts: &[Type], depth: usize) -> Expression {
        let mut constant = true;
        let mut texts = Vec::new();
        for part in parts {
            let part = self.expression(part, depth);
            constant &= part.constant;
            texts.push(part.text);
        }
        Expression {
            text: format!("{}({})", kind.name(), texts.join(", ")),
            constant,
        }
    }

    /// A vector of as many components as another type, or a scalar.
    const fn like(kind: &Type, scalar: Scalar) -> Type {
        match kind {
            Type::Vector(n, _) => Type::Vector(*n, scalar),
            _ => Type::Scalar(scalar),
        }
    }

    fn boolean(&mut self, kind: &Type, depth: usize) -> Expression {
        let runtime = |text| Expression {
            text,
            constant: false,
        };
        match self.below(7) {
            0..=2 => {
                let scalar = self.number();
                let of = Self::like(kind, scalar);
                let op = self.pick(&["<", "==", "!=", "<=", ">", ">="]);
                let (a, b) = (self.runtime(&of, depth), self.runtime(&of, depth));
                runtime(format!("({a} {op} {b})"))
            }
            3 if *kind == BOOL => {
                let op = self.pick(&["&&", "||"]);
                let (a, b) = (self.runtime(kind, depth), self.expression(kind, depth));
                runtime(format!("({a} {op} {})", b.text))
            }
            4 if *kind == BOOL => {
                let of = Type::Vector(2 + self.below(3), Scalar::Bool);
                let fun = self.pick(&["all", "any"]);
                let a = self.expression(&of, depth);
                Expression {
                    text: format!("{fun}({})", a.text),
                    ..a
                }
            }
            5 => {
                let op = self.pick(&["&", "|", "==", "!="]);
                let (a, b) = (self.runtime(kind, depth), self.runtime(kind, depth));
                runtime(format!("({a} {op} {b})"))
            }
            6 => {
                let a = self.expression(kind, depth);
                Expression {
                    text: format!("!({})", a.text),
                    ..a
                }
            }
            _ => self.leaf(kind),
        }
    }

    /// Two operands, of which at most one is a scalar where the other is a vector.
    fn operands(&mut self, kind: &Type, scalar: Scalar, depth: usize) -> (String, String) {
        let one = Type::Scalar(scalar);
        let (a, b) = match self.below(6) {
            4 => (kind, &one),
            5 => (&one, kind),
            _ => (kind, kind),
        };
        (self.runtime(a, depth), self.runtime(b, depth))
    }

    #[allow(clippy::too_many_lines)] // One arm a form.
    fn integer(&mut self, kind: &Type, scalar: Scalar, depth: usize) -> String {
        let wide = matches!(scalar, Scalar::U64 | Scalar::I64);
        let name = kind.name();
        match self.below(16) {
            0..=3 => {
                let op = self.pick(&["+", "-", "*"]);
                let (a, b) = self.operands(kind, scalar, depth);
                format!("({a} {op} {b})")
            }
            4 => {
                let op = self.pick(&["/", "%"]);
                let (a, b) = self.operands(kind, scalar, depth);
                format!("({a} {op} {b})")
            }
            5 | 6 => {
                let op = self.pick(&["&", "|", "^"]);
                let (a, b) = (self.runtime(kind, depth), self.expression(kind, depth));
                format!("({a} {op} {})", b.text)
            }
            7 => {
                let op = self.pick(&["<<", ">>"]);
                let by = Self::like(kind, Scalar::U32);
                let (a, b) = (self.runtime(kind, depth), self.runtime(&by, depth));
                format!("({a} {op} {b})")
            }
            8 => {
                let op = self.pick(&["~", "-"]);
                let op = if scalar.is_signed() { op } else { "~" };
                format!("{op}({})", self.runtime(kind, depth))
            }
            9 if !wide => {
                let fun = self.pick(&[
                    "countOneBits",
                    "countLeadingZeros",
                    "countTrailingZeros",
                    "firstLeadingBit",
                    "firstTrailingBit",
                    "reverseBits",
                ]);
                format!("{fun}({})", self.runtime(kind, depth))
            }
            10 if !wide => {
                let (a, offset, count) = (
                    self.runtime(kind, depth),
                    self.runtime(&U32, depth),
                    self.runtime(&U32, depth),
                );
                // WGSL leaves none open, but not all drivers cut off as it says.
                let offset = format!("({offset} % 33u)");
                if self.chance(128) {
                    format!("extractBits({a}, {offset}, {count} % 33u)")
                } else {
                    let b = self.runtime(kind, depth);
                    format!("insertBits({a}, {b}, {offset}, {count} % 33u)")
                }
            }
            11 => {
                let fun = self.pick(&["min", "max", "clamp", "abs", "sign"]);
                let fun = if fun == "sign" && !scalar.is_signed() {
                    "abs"
                } else {
                    fun
                };
                let n = match fun {
                    "clamp" => 3,
                    "abs" | "sign" => 1,
                    _ => 2,
                };
                let arguments: Vec<_> = (0..n).map(|_| self.runtime(kind, depth)).collect();
                format!("{fun}({})", arguments.join(", "))
            }
            12 | 13 => {
                let from = self.scalar();
                let from = if wide && from == Scalar::F16 {
                    Scalar::U32
                } else {
                    from
                };
                let of = Self::like(kind, from);
                let a = self.runtime(&of, depth);
                if matches!(
                    (scalar, from),
                    (Scalar::U32, Scalar::I32) | (Scalar::I32, Scalar::U32)
                ) && self.chance(128)
                {
                    return format!("bitcast<{name}>({a})");
                }
                if self.is_free() && !wide && from == Scalar::F32 && self.chance(128) {
                    return format!("bitcast<{name}>({a})");
                }
                format!("{name}({a})")
            }
            14 if matches!(kind, Type::Scalar(_)) => {
                let of = Type::Vector(2 + self.below(3), scalar);
                let (a, b) = (self.runtime(&of, depth), self.runtime(&of, depth));
                format!("dot({a}, {b})")
            }
            15 if matches!(kind, Type::Scalar(Scalar::U32)) => self.packed(depth),
            15 if *kind == Type::Vector(4, Scalar::U32) => {
                format!("unpack4xU8({})", self.runtime(&U32, depth))
            }
            15 if *kind == Type::Vector(4, Scalar::I32) => {
                format!("unpack4xI8({})", self.runtime(&U32, depth))
            }
            _ => match *kind {
                Type::Vector(n, scalar) if self.chance(128) => self.glued(n, scalar, depth),
                _ => self.runtime(kind, 0),
            },
        }
    }

    /// A vector of scalars and of smaller vectors.
    fn glued(&mut self, n: usize, scalar: Scalar, depth: usize) -> String {
        let mut parts = Vec::new();
        let mut left = n;
        while left > 0 {
            let take = (1 + self.below(3)).min(left).min(n - 1);
            left -= take;
            let part = match take {
                1 => Type::Scalar(scalar),
                _ => Type::Vector(take, scalar),
            };
            parts.push(self.runtime(&part, depth));
        }
        format!("vec{n}<{}>({})", scalar.name(), parts.join(", "))
    }

    fn packed(&mut self, depth: usize) -> String {
        let forms = [
            ("dot4U8Packed", U32, 2),
            ("pack4xU8", Type::Vector(4, Scalar::U32), 1),
            ("pack4xU8Clamp", Type::Vector(4, Scalar::U32), 1),
            ("pack4xI8", Type::Vector(4, Scalar::I32), 1),
            ("pack4xI8Clamp", Type::Vector(4, Scalar::I32), 1),
            ("pack2x16float", Type::Vector(2, Scalar::F32), 1),
            // How these round is open.
            ("pack4x8unorm", Type::Vector(4, Scalar::F32), 1),
            ("pack2x16snorm", Type::Vector(2, Scalar::F32), 1),
        ];
        let n = if self.is_free() { forms.len() } else { 6 };
        let (fun, of, count) = self.pick(&forms[..n]);
        let arguments: Vec<_> = (0..count).map(|_| self.runtime(&of, depth)).collect();
        let call = format!("{fun}({})", arguments.join(", "));
        if fun == "pack2x16float" && !self.is_free() {
            // WGSL leaves the sign of a zero open: Mesa makes -0 of `select(0.0, -1.0, false)`.
            return format!("({call} & 0x7fff7fffu)");
        }
        call
    }

    #[allow(clippy::too_many_lines)] // One arm a form.
    fn float(&mut self, kind: &Type, scalar: Scalar, depth: usize) -> String {
        let free = self.is_free();
        let of = |this: &mut Self, kind: &Type, n: usize| {
            let each: Vec<_> = (0..n).map(|_| this.runtime(kind, depth)).collect();
            each.join(", ")
        };
        match self.below(14) {
            0..=3 => {
                let op = self.pick(&["+", "-", "*", "/", "%"][..if free { 5 } else { 3 }]);
                let (a, b) = self.operands(kind, scalar, depth);
                format!("({a} {op} {b})")
            }
            4 => format!("-({})", self.runtime(kind, depth)),
            5 | 6 => {
                let all = [
                    ("min", 2),
                    ("max", 2),
                    ("abs", 1),
                    ("floor", 1),
                    ("ceil", 1),
                    ("trunc", 1),
                    ("round", 1),
                    ("sign", 1),
                    ("fract", 1),
                    ("saturate", 1),
                    ("step", 2),
                    ("clamp", 3),
                    ("fma", 3),
                    ("sqrt", 1),
                    ("exp", 1),
                    ("log2", 1),
                    ("sin", 1),
                    ("atan2", 2),
                    ("pow", 2),
                    ("mix", 3),
                    ("smoothstep", 3),
                    ("tanh", 1),
                ];
                let (fun, n) = self.pick(&all[..if free { all.len() } else { 13 }]);
                format!("{fun}({})", of(self, kind, n))
            }
            7 | 8 => {
                let from = self.scalar();
                // Only integers that are in range stay exact.
                let a = match from {
                    Scalar::U32 if !free => {
                        let of = Self::like(kind, from);
                        format!("({} % {TAME}u)", self.runtime(&of, depth))
                    }
                    Scalar::I32 if !free => {
                        let of = Self::like(kind, from);
                        format!("({} % {TAME}i)", self.runtime(&of, depth))
                    }
                    Scalar::U64 | Scalar::I64 if scalar == Scalar::F16 => {
                        return self.runtime(kind, 0);
                    }
                    _ => self.runtime(&Self::like(kind, from), depth),
                };
                format!("{}({a})", kind.name())
            }
            9 if matches!(kind, Type::Scalar(_)) => {
                let n = 2 + self.below(3);
                let vector = Type::Vector(n, scalar);
                let fun = self.pick(&["dot", "distance"][..if free { 2 } else { 1 }]);
                format!("{fun}({})", of(self, &vector, 2))
            }
            9 if matches!(kind, Type::Vector(3, _)) => format!("cross({})", of(self, kind, 2)),
            10 if scalar == Scalar::F32 => {
                let Type::Vector(n, _) = *kind else {
                    let n = if free { 2 + self.below(3) } else { 2 };
                    return format!("determinant({})", self.runtime(&Type::Matrix(n, n), depth));
                };
                let m = 2 + self.below(3);
                if self.chance(128) {
                    let matrix = self.runtime(&Type::Matrix(m, n), depth);
                    let vector = self.runtime(&Type::Vector(m, scalar), depth);
                    format!("({matrix} * {vector})")
                } else {
                    let vector = self.runtime(&Type::Vector(m, scalar), depth);
                    let matrix = self.runtime(&Type::Matrix(n, m), depth);
                    format!("({vector} * {matrix})")
                }
            }
            11 if free && *kind == Type::Scalar(Scalar::F32) => {
                format!("bitcast<f32>({})", self.runtime(&U32, depth))
            }
            11 if matches!(kind, Type::Vector(..)) => format!("faceForward({})", of(self, kind, 3)),
            12 => match self.below(3) {
                0 => format!("modf({}).whole", of(self, kind, 1)),
                // A fraction is no integer.
                1 if free && scalar == Scalar::F32 => {
                    format!("frexp({}).fract", of(self, kind, 1))
                }
                _ if scalar == Scalar::F32 => {
                    let by = Self::like(kind, Scalar::I32);
                    let text = self.runtime(&by, depth);
                    format!("ldexp({}, {text} & {}(3))", of(self, kind, 1), by.name())
                }
                _ => self.runtime(kind, 0),
            },
            _ => match *kind {
                Type::Vector(n, scalar) => self.glued(n, scalar, depth),
                _ => self.runtime(kind, 0),
            },
        }
    }

    fn matrix(&mut self, columns: usize, rows: usize, depth: usize) -> String {
        let kind = Type::Matrix(columns, rows);
        match self.below(6) {
            0 => {
                let parts = vec![Type::Vector(rows, Scalar::F32); columns];
                let whole = self.compose(&kind, &parts, depth);
                self.hidden(whole, &kind)
            }
            1 => {
                let op = self.pick(&["+", "-"]);
                let (a, b) = (self.runtime(&kind, depth), self.runtime(&kind, depth));
                format!("({a} {op} {b})")
            }
            2 => {
                let scalar = self.runtime(&Type::Scalar(Scalar::F32), depth);
                let matrix = self.runtime(&kind, depth);
                if self.chance(128) {
                    format!("({scalar} * {matrix})")
                } else {
                    format!("({matrix} * {scalar})")
                }
            }
            3 => format!(
                "transpose({})",
                self.runtime(&Type::Matrix(rows, columns), depth)
            ),
            4 => {
                let n = 2 + self.below(3);
                let a = self.runtime(&Type::Matrix(n, rows), depth);
                let b = self.runtime(&Type::Matrix(columns, n), depth);
                format!("({a} * {b})")
            }
            _ => {
                let parts = vec![Type::Scalar(Scalar::F32); columns * rows];
                let whole = self.compose(&kind, &parts, 0);
                self.hidden(whole, &kind)
            }
        }
    }

    /// A call of a function with this result, or, without one, of any.
    fn call(&mut self, result: Option<&Type>, depth: usize) -> Option<String> {
        let fit: Vec<usize> = (0..self.functions.len())
            .filter(|&i| {
                let function = &self.functions[i];
                result.is_none_or(|result| function.result.as_ref() == Some(result))
                    && self.cost + self.times * function.cost <= MOST_STATEMENTS
                    && function.pointers.iter().all(|(space, kind)| {
                        let points = |v: &Variable| v.pointer == Some(*space) && v.kind == *kind;
                        self.scope.iter().any(points)
                    })
            })
            .collect();
        if fit.is_empty() {
            return None;
        }
        let i = self.pick(&fit);
        let function = &self.functions[i];
        let (values, pointers) = (function.values.clone(), function.pointers.clone());
        let name = function.name.clone();
        self.cost += self.times * function.cost;
        let mut arguments = Vec::new();
        for kind in &values {
            arguments.push(self.expression(kind, depth.min(1)).text);
        }
        let mut taken: Vec<String> = Vec::new();
        for (space, kind) in &pointers {
            let fit: Vec<String> = self
                .scope
                .iter()
                .filter(|v| v.pointer == Some(*space) && v.kind == *kind)
                .map(|v| v.text.clone())
                .filter(|text| !taken.contains(text))
                .collect();
            if fit.is_empty() {
                return None;
            }
            let text = self.pick(&fit);
            // A parameter is a pointer already.
            arguments.push(
                match text.strip_prefix("(*").and_then(|t| t.strip_suffix(')')) {
                    Some(pointer) => pointer.to_owned(),
                    None => format!("&{text}"),
                },
            );
            taken.push(text);
        }
        Some(format!("{name}({})", arguments.join(", ")))
    }

    // Statements.

    fn block(&mut self, context: &Context, most: usize) -> String {
        let scope = self.scope.len();
        let mut text = "{\n".to_owned();
        for _ in 0..=self.below(most) {
            if self.fuel == 0 {
                break;
            }
            text += &self.statement(context);
        }
        // What ends a block can only be last.
        match self.below(6) {
            1 if context.may_break => text += "break;\n",
            2 if context.may_continue => text += "continue;\n",
            3 if context.depth > 0 => text += &self.return_(context),
            _ => {}
        }
        self.scope.truncate(scope);
        text + "}"
    }

    fn return_(&mut self, context: &Context) -> String {
        match &context.returns {
            Returns::A(kind) => format!("return {};\n", self.expression(kind, 2).text),
            Returns::Nothing => "return;\n".to_owned(),
            Returns::Never => String::new(),
        }
    }

    fn declare(&mut self, text: String, kind: Type, writable: bool) {
        self.scope.push(Variable {
            text,
            kind,
            writable,
            pointer: writable.then_some("function"),
            constant: false,
        });
    }

    fn assignment(&mut self) -> String {
        let writable: Vec<usize> = (0..self.scope.len())
            .filter(|&i| self.scope[i].writable)
            .collect();
        if writable.is_empty() {
            return String::new();
        }
        let newest = writable.len() - 1 - self.below(writable.len());
        let variable = self.scope[writable[newest]].clone();
        let mut kind = variable.kind.clone();
        while self.chance(170) {
            let parts = self.parts(&kind);
            if parts.is_empty() {
                break;
            }
            kind = self.pick(&parts);
        }
        let target = self.descend(&variable, &kind, true).text;
        match kind {
            Type::Scalar(scalar) if !scalar.is_float() && scalar != Scalar::Bool => {
                match self.below(4) {
                    1 if matches!(scalar, Scalar::U32 | Scalar::I32) => {
                        let op = self.pick(&["++", "--"]);
                        return format!("{target}{op};\n");
                    }
                    2 | 3 => {
                        let op = self.pick(&["+", "-", "*", "^", "|", "&", "%", "/"]);
                        let value = self.runtime(&kind, 2);
                        return format!("{target} {op}= {value};\n");
                    }
                    _ => {}
                }
            }
            Type::Vector(_, scalar)
                if !scalar.is_float() && scalar != Scalar::Bool && self.chance(80) =>
            {
                let op = self.pick(&["+", "-", "*"]);
                let by = self.pick(&[kind.clone(), Type::Scalar(scalar)]);
                let value = self.runtime(&by, 2);
                return format!("{target} {op}= {value};\n");
            }
            _ => {}
        }
        format!("{target} = {};\n", self.expression(&kind, 3).text)
    }

    #[allow(clippy::too_many_lines)] // One arm a statement.
    fn statement(&mut self, context: &Context) -> String {
        self.fuel = self.fuel.saturating_sub(1);
        self.cost += self.times;
        let inner = Context {
            depth: context.depth + 1,
            ..context.clone()
        };
        match self.below(16) {
            3 | 4 => {
                let kind = self.kind(2, false);
                let name = self.name("a");
                let value = self.expression(&kind, 3);
                let text = format!("let {name} = {};\n", value.text);
                self.declare(name, kind, false);
                // naga takes the name of a constant for the constant.
                self.scope.last_mut().unwrap().constant = value.constant;
                text
            }
            5..=7 => {
                let kind = self.kind(2, false);
                let name = self.name("v");
                let text = if self.chance(80) {
                    format!("var {name}: {};\n", kind.name())
                } else {
                    let value = self.expression(&kind, 2).text;
                    format!("var {name}: {} = {value};\n", kind.name())
                };
                self.declare(name, kind, true);
                text
            }
            8 | 9 if context.depth < 4 => {
                let condition = self.expression(&BOOL, 3).text;
                let mut text = format!("if {condition} {}", self.block(&inner, 3));
                if self.chance(60) {
                    let condition = self.expression(&BOOL, 2).text;
                    text += &format!(" else if {condition} {}", self.block(&inner, 2));
                }
                if self.chance(128) {
                    text += &format!(" else {}", self.block(&inner, 3));
                }
                text + "\n"
            }
            10 if context.depth < 4 => self.switch(&inner),
            11 | 12 if context.depth < 4 && self.times < 100 => self.repetition(&inner),
            13 => match self.call(None, 2) {
                // Only a result can be left aside.
                Some(call) if self.chance(128) && self.has_result(&call) => {
                    format!("_ = {call};\n")
                }
                Some(call) => format!("{call};\n"),
                None => self.assignment(),
            },
            14 if context.depth < 4 => self.block(&inner, 3) + "\n",
            15 if self.is_free() => self.atomic(),
            15 => {
                // No result of these depends on the order of lanes.
                let value = self.runtime(&U32, 2);
                let slot = self.index(8);
                self.pick(&[
                    format!("atomicAdd(&sums[{slot}], {value});\n"),
                    format!("atomicMax(&tops[{slot}], {value});\n"),
                    format!("atomicXor(&bits[{slot}], {value});\n"),
                    format!("atomicAdd(&shared_sums[{slot}], {value});\n"),
                ])
            }
            _ => self.assignment(),
        }
    }

    fn has_result(&self, call: &str) -> bool {
        let name = call.split('(').next().unwrap_or_default();
        let function = self.functions.iter().find(|f| f.name == name);
        function.is_some_and(|f| f.result.is_some())
    }

    fn atomic(&mut self) -> String {
        let slot = self.index(8);
        let name = self.pick(&["sums", "tops", "bits", "shared_sums"]);
        let value = self.runtime(&U32, 2);
        let fun = self.pick(&[
            "atomicAdd",
            "atomicSub",
            "atomicMin",
            "atomicMax",
            "atomicAnd",
            "atomicOr",
            "atomicXor",
            "atomicExchange",
            "load",
            "atomicStore",
            "exchange",
        ]);
        let result = self.name("a");
        let text = match fun {
            "load" => format!("let {result} = atomicLoad(&{name}[{slot}]);\n"),
            "atomicStore" => return format!("atomicStore(&{name}[{slot}], {value});\n"),
            "exchange" => {
                let new = self.runtime(&U32, 1);
                format!(
                    "let {result} = \
                     atomicCompareExchangeWeak(&{name}[{slot}], {value}, {new}).old_value;\n"
                )
            }
            _ => format!("let {result} = {fun}(&{name}[{slot}], {value});\n"),
        };
        self.declare(result, U32, false);
        text
    }

    fn switch(&mut self, context: &Context) -> String {
        let scalar = self.pick(&[Scalar::U32, Scalar::I32]);
        let selector = self.runtime(&Type::Scalar(scalar), 2);
        let inside = Context {
            may_break: true,
            ..context.clone()
        };
        let suffix = if scalar == Scalar::U32 { "u" } else { "i" };
        let mut text = format!("switch {selector} % 6{suffix} {{\n");
        let cases = self.below(4);
        let default = self.below(cases + 1);
        let mut value = 0;
        for case in 0..=cases {
            let mut labels = Vec::new();
            for _ in 0..=self.below(2) {
                labels.push(value.to_string());
                value += 1;
            }
            if case == default {
                let at = self.below(labels.len() + 1);
                labels.insert(at, "default".to_owned());
            }
            let head = match labels.as_slice() {
                [_, only] if only == "default" && self.chance(128) => "default".to_owned(),
                _ => format!("case {}", labels.join(", ")),
            };
            text += &format!("{head}: {}\n", self.block(&inside, 3));
        }
        text + "}\n"
    }

    /// A loop of a few rounds. Its counter is in no scope, so nothing else changes it.
    fn repetition(&mut self, context: &Context) -> String {
        let rounds = 1 + self.below(4);
        let i = self.name("round");
        let inside = Context {
            may_break: true,
            may_continue: true,
            ..context.clone()
        };
        let times = self.times;
        self.times *= rounds as u64 + 1;
        let scope = self.scope.len();
        self.declare(i.clone(), U32, false);
        let text = match self.below(4) {
            0 => {
                let step = self.pick(&["++", " += 1u"]);
                let body = self.block(&inside, 3);
                format!("for (var {i} = 0u; {i} < {rounds}u; {i}{step}) {body}\n")
            }
            1 => {
                let body = self.block(&inside, 3);
                format!("var {i} = 0u;\nwhile {i} < {rounds}u {{\n{i}++;\n{body}\n}}\n")
            }
            2 => {
                let body = self.block(&inside, 3);
                format!(
                    "var {i} = 0u;\nloop {{\nif {i} >= {rounds}u {{ break; }}\n{body}\n\
                     continuing {{ {i} = {i} + 1u; }}\n}}\n"
                )
            }
            _ => {
                let body = self.block(&inside, 3);
                // Nothing leaves a continuing block but its own `break if`.
                let alone = Context {
                    may_break: false,
                    may_continue: false,
                    returns: Returns::Never,
                    ..context.clone()
                };
                let after = self.block(&alone, 2);
                let leave = self.expression(&BOOL, 2).text;
                format!(
                    "var {i} = 0u;\nloop {{\n{body}\ncontinuing {{\n{after}\n{i}++;\n\
                     break if {i} >= {rounds}u || {leave};\n}}\n}}\n"
                )
            }
        };
        self.scope.truncate(scope);
        self.times = times;
        text
    }

    // The module.

    fn function(&mut self) -> String {
        let scope = self.scope.len();
        let name = self.name("fun");
        let (mut values, mut pointers, mut parameters) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.below(3) {
            let kind = self.kind(1, false);
            let name = self.name("x");
            parameters.push(format!("{name}: {}", kind.name()));
            self.declare(name, kind.clone(), false);
            values.push(kind);
        }
        if self.chance(150) {
            let kind = self.pick(&[
                U32,
                Type::Array(Box::new(U32), 4),
                Type::Vector(3, Scalar::F32),
            ]);
            let space = self.pick(&["function", "private"]);
            let name = self.name("p");
            parameters.push(format!("{name}: ptr<{space}, {}>", kind.name()));
            self.scope.push(Variable {
                text: format!("(*{name})"),
                kind: kind.clone(),
                writable: true,
                pointer: Some(space),
                constant: false,
            });
            pointers.push((space, kind));
        }
        let result = self.chance(200).then(|| self.kind(1, false));
        self.cost = 1;
        let context = Context {
            depth: 0,
            may_break: false,
            may_continue: false,
            returns: result.clone().map_or(Returns::Nothing, Returns::A),
        };
        // In two parts, so that one function does not take all.
        let kept = self.fuel - self.fuel / 4;
        self.fuel /= 4;
        let body = self.block(&context, 5);
        let last = self.return_(&context);
        self.fuel += kept;
        self.scope.truncate(scope);
        let arrow = result
            .as_ref()
            .map_or(String::new(), |r| format!(" -> {}", r.name()));
        let text = format!(
            "fn {name}({}){arrow} {{\n{body}\n{last}}}\n",
            parameters.join(", ")
        );
        self.functions.push(Function {
            name,
            values,
            pointers,
            result,
            cost: self.cost,
        });
        text
    }

    /// Folds a value into the word `sum`, so that a wrong bit anywhere shows.
    fn fold(&mut self, text: &str, kind: &Type) -> String {
        let one = |scalar: Scalar, free: bool, text: &str| match scalar {
            Scalar::U32 => text.to_owned(),
            Scalar::I32 => format!("bitcast<u32>({text})"),
            Scalar::F32 if free => format!("bitcast<u32>({text})"),
            // Which zero it is may be open.
            Scalar::F32 => format!("bitcast<u32>(i32({text}))"),
            Scalar::F16 => format!("bitcast<u32>(f32({text}))"),
            _ => format!("u32({text})"),
        };
        match kind {
            Type::Scalar(scalar) => {
                format!(
                    "sum = sum * 31u + {};\n",
                    one(*scalar, self.is_free(), text)
                )
            }
            Type::Vector(n, _) | Type::Matrix(n, _) | Type::Array(_, n) => {
                let part = self.parts(kind).remove(0);
                let each = (0..*n).map(|i| self.fold(&format!("{text}[{i}]"), &part));
                each.collect()
            }
            Type::Struct(s) => {
                let members = self.structs[*s].clone();
                let each = members.iter().enumerate();
                each.map(|(m, kind)| self.fold(&format!("{text}.m{m}"), kind))
                    .collect()
            }
        }
    }

    fn global(&mut self, text: &str, kind: Type, writable: bool, pointer: Option<&'static str>) {
        self.scope.push(Variable {
            text: text.to_owned(),
            kind,
            writable,
            pointer,
            constant: false,
        });
    }

    #[allow(clippy::too_many_lines)] // The text in its order.
    fn module(mut self) -> Module {
        let free = self.is_free();
        self.quiet = free && self.chance(128);
        let mut text = String::new();
        let size = self.pick(&[
            [1, 1, 1],
            [7, 1, 1],
            [32, 1, 1],
            [33, 1, 1],
            [64, 1, 1],
            [8, 4, 1],
            [256, 1, 1],
            [2, 3, 4],
        ]);
        let workgroups = self.pick(&[[1, 1, 1], [2, 1, 1], [3, 1, 1], [2, 2, 1]]);
        let lanes: u32 = size.iter().product();
        for i in 0..=self.below(4) {
            let mut members = vec![self.kind(0, i % 2 == 0)];
            for _ in 0..self.below(4) {
                members.push(self.kind(1, i % 2 == 0));
            }
            let each: Vec<String> = members
                .iter()
                .enumerate()
                .map(|(m, kind)| format!("m{m}: {}", kind.name()))
                .collect();
            text += &format!("struct S{i} {{ {} }}\n", each.join(", "));
            self.structs.push(members);
        }
        let mut overrides = Vec::new();
        // Not for devices: of a shader with overrides and composed constants, naga 30 makes a
        // module that its own writer of SPIR-V panics on ("Expression is not cached").
        let most = if free { 3 } else { 1 };
        for i in 0..self.below(most) {
            let scalar = self.pick(&[Scalar::U32, Scalar::I32, Scalar::F32, Scalar::Bool]);
            let id = if self.chance(80) {
                format!("@id({i}) ")
            } else {
                String::new()
            };
            let initial = self.literal(scalar);
            text += &format!("{id}override o{i}: {} = {initial};\n", scalar.name());
            if self.chance(100) {
                let key = if id.is_empty() {
                    format!("o{i}")
                } else {
                    i.to_string()
                };
                overrides.push((key, 1.0 + i as f64));
            }
            self.global(&format!("o{i}"), Type::Scalar(scalar), false, None);
            self.scope.last_mut().unwrap().constant = true;
        }
        for i in 0..self.below(3) {
            let kind = self.kind(1, false);
            text += &format!("const C{i} = {};\n", self.constant(&kind));
            self.global(&format!("C{i}"), kind, false, None);
            self.scope.last_mut().unwrap().constant = true;
        }
        for i in 0..self.below(3) {
            let kind = self.kind(2, false);
            let initial = if self.chance(128) {
                format!(" = {}", self.constant(&kind))
            } else {
                String::new()
            };
            text += &format!("var<private> g{i}: {}{initial};\n", kind.name());
            self.global(&format!("g{i}"), kind, true, None);
        }
        // What only some words of are small integers cannot be read as floats.
        let readable = |this: &mut Self| match this.below(4) {
            _ if free => this.kind(1, true),
            0 => U32,
            1 => Type::Vector(3, Scalar::U32),
            2 => Type::Array(Box::new(Type::Vector(2, Scalar::I32)), 2),
            _ => Type::Vector(4, Scalar::I32),
        };
        let (input, tail) = (readable(&mut self), readable(&mut self));
        let output = self.kind(1, true);
        let row = self.kind(1, false);
        text += &format!(
            "struct Slot {{ sum: u32, value: {} }}\n\
             struct Tailed {{ head: vec3<u32>, count: u32, tail: array<{}> }}\n\
             struct Settings {{ a: vec3<i32>, b: u32, c: array<vec4<u32>, 3>, d: vec2<u32> }}\n\
             @group(0) @binding(0) var<storage, read_write> output: array<Slot>;\n\
             @group(0) @binding(1) var<storage, read> input: array<{}>;\n\
             @group(0) @binding(2) var<uniform> settings: Settings;\n\
             @group(0) @binding(3) var<storage, read_write> sums: array<atomic<u32>, 8>;\n\
             @group(0) @binding(4) var<storage, read_write> tops: array<atomic<u32>, 8>;\n\
             @group(0) @binding(5) var<storage, read> tailed: Tailed;\n\
             @group(0) @binding(6) var<storage, read_write> bits: array<atomic<u32>>;\n\
             var<workgroup> shared_sums: array<atomic<u32>, 8>;\n\
             var<workgroup> rows: array<{}, {lanes}>;\n\
             var<workgroup> uniform_row: u32;\n\
             var<private> pointed: u32 = 5u;\nvar<private> pointed_too: array<u32, 4>;\n",
            output.name(),
            tail.name(),
            input.name(),
            row.name(),
        );
        let index = if free && self.chance(60) {
            "settings.d.x".to_owned()
        } else {
            "settings.d.x % arrayLength(&input)".to_owned()
        };
        self.global("settings.a", Type::Vector(3, Scalar::I32), false, None);
        self.global(
            "settings.c",
            Type::Array(Box::new(Type::Vector(4, Scalar::U32)), 3),
            false,
            None,
        );
        self.global("tailed.head", Type::Vector(3, Scalar::U32), false, None);
        self.global("arrayLength(&tailed.tail)", U32, false, None);
        self.global(
            "tailed.tail[settings.b % arrayLength(&tailed.tail)]",
            tail,
            false,
            None,
        );
        self.global(&format!("input[{index}]"), input.clone(), false, None);
        if free {
            // Any lane, any time.
            self.global(
                "rows",
                Type::Array(Box::new(row.clone()), lanes as usize),
                true,
                None,
            );
            self.global("output[1].value", output.clone(), true, None);
        }
        let functions: Vec<String> = (0..self.below(4)).map(|_| self.function()).collect();

        // The entry point.
        self.cost = 0;
        self.fuel = self.fuel.max(120);
        self.global("pointed", U32, true, Some("private"));
        self.global(
            "pointed_too",
            Type::Array(Box::new(U32), 4),
            true,
            Some("private"),
        );
        let mut main = String::new();
        let inputs = "@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) \
             group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, \
             @builtin(local_invocation_id) local: vec3<u32>, \
             @builtin(global_invocation_id) everywhere: vec3<u32>";
        let inputs = if self.chance(128) {
            main += "let lane = inputs.lane;\nlet group = inputs.group;\n\
                 let groups = inputs.groups;\nlet local = inputs.local;\n\
                 let everywhere = inputs.everywhere;\n";
            text += &format!("struct Inputs {{ {inputs} }}\n");
            "inputs: Inputs"
        } else {
            inputs
        };
        main += &format!("let slot = (group.y * groups.x + group.x) * {lanes}u + lane;\n");
        let three = Type::Vector(3, Scalar::U32);
        for (name, kind) in [
            ("lane", &U32),
            ("slot", &U32),
            ("local", &three),
            ("everywhere", &three),
        ] {
            self.global(name, kind.clone(), false, None);
        }
        self.global("input[slot % arrayLength(&input)]", input, false, None);
        self.global("output[slot].value", output.clone(), true, None);
        let context = Context {
            depth: 0,
            may_break: false,
            may_continue: false,
            returns: Returns::Never,
        };
        for phase in 0..=self.below(3) {
            // Each lane writes its own row; then all may read every row.
            let repeated = self.chance(60);
            if repeated {
                main +=
                    &format!("for (var phase{phase} = 0u; phase{phase} < 2u; phase{phase}++) {{\n");
                self.times *= 2;
            }
            let scope = self.scope.len();
            self.global("rows[lane]", row.clone(), true, None);
            for _ in 0..=self.below(4) {
                main += &self.statement(&context);
            }
            let value = self.expression(&row, 2).text;
            main += &format!("rows[lane] = {value};\n");
            main += &self
                .pick(&[
                    "workgroupBarrier();\n",
                    "storageBarrier();\nworkgroupBarrier();\n",
                    "if lane == 0u { uniform_row = uniform_row * 3u + 1u; }\n\
                 workgroupBarrier();\nlet shared_by_all = workgroupUniformLoad(&uniform_row);\n\
                 pointed += shared_by_all;\n",
                ])
                .replace("shared_by_all", &format!("shared_by_all{phase}"));
            if let Some(own) = self.scope.iter().position(|v| v.text == "rows[lane]") {
                self.scope[own] = Variable {
                    text: "rows".to_owned(),
                    kind: Type::Array(Box::new(row.clone()), lanes as usize),
                    writable: free,
                    pointer: None,
                    constant: false,
                };
            }
            for _ in 0..=self.below(3) {
                main += &self.statement(&context);
            }
            self.scope.retain(|v| v.text != "rows" || free);
            if repeated {
                for variable in self.scope.clone().iter().skip(scope) {
                    let whole = !variable.text.contains(['[', '.']) && variable.text != "rows";
                    if whole && !variable.constant {
                        let text = self.fold(&variable.text.clone(), &variable.kind.clone());
                        main += &text.replace("sum", "pointed");
                    }
                }
                self.scope.truncate(scope);
                self.times /= 2;
            }
            main += "workgroupBarrier();\n";
            if repeated {
                main += "}\n";
            }
        }
        main += "var sum = pointed;\n";
        for variable in self.scope.clone() {
            let whole = !variable.text.contains(['[', '.', '(']) && variable.text != "rows";
            if whole && !variable.constant {
                main += &self.fold(&variable.text, &variable.kind);
            }
        }
        main += "output[slot].sum = sum;\n\
             if lane < 8u { atomicAdd(&sums[lane], atomicLoad(&shared_sums[lane])); }\n\
             atomicMax(&tops[settings.b & 7u], arrayLength(&output));\n\
             atomicOr(&bits[0], 0u);\n_ = uniform_row;\n_ = tailed.count;\n";
        let helpers: String = self
            .helpers
            .iter()
            .map(|(kind, name)| helper(kind, name))
            .collect();
        let enable = if free { "enable f16;\n" } else { "" };
        let [x, y, z] = size;
        let wgsl = format!(
            "{enable}{text}{helpers}{}@compute @workgroup_size({x}, {y}, {z})\nfn main({inputs}) \
             {{\n{main}}}\n",
            functions.concat()
        );
        Module {
            wgsl,
            workgroups,
            overrides,
            lanes,
            style: self.style,
        }
    }
}

/// The functions that hide constants, and those that keep floats in range.
fn helper(kind: &str, name: &str) -> String {
    let mangled: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let clamped =
        |value: &str, name: &str| format!("clamp({value}, {name}(-{TAME}.0), {name}({TAME}.0))");
    let body = match (kind, name.strip_prefix("mat")) {
        ("same", _) => "x".to_owned(),
        (_, None) => clamped("x", name),
        (_, Some(size)) => {
            let columns = size[..1].parse::<usize>().unwrap_or(2);
            let vector = format!("vec{}<f32>", &size[2..3]);
            let each: Vec<String> = (0..columns)
                .map(|c| clamped(&format!("x[{c}]"), &vector))
                .collect();
            format!("{name}({})", each.join(", "))
        }
    };
    format!("fn {kind}_{mangled}(x: {name}) -> {name} {{ return {body}; }}\n")
}
