//! The types of a shader in slots, and macros for loops over lanes.

use super::Lanes;
use half::f16;

/// A type stored in slots, with the Rust type that computes it.
pub(super) trait Word {
    type Value: Copy;
    const SLOTS: usize;
    fn read(slots: &[&Lanes], lane: usize) -> Self::Value;
    fn write(value: Self::Value, slots: &mut [Lanes], lane: usize);
}

macro_rules! one_slot {
    ($($type:ty as $value:ty: $read:expr, $write:expr;)+) => {$(
        impl Word for $type {
            type Value = $value;
            const SLOTS: usize = 1;

            #[inline]
            fn read(slots: &[&Lanes], lane: usize) -> $value {
                const READ: fn(u32) -> $value = $read;
                READ(slots[0][lane])
            }

            #[inline]
            fn write(value: $value, slots: &mut [Lanes], lane: usize) {
                const WRITE: fn($value) -> u32 = $write;
                slots[0][lane] = WRITE(value);
            }
        }
    )+};
}

macro_rules! two_slots {
    ($($type:ty: $read:expr, $write:expr;)+) => {$(
        impl Word for $type {
            type Value = $type;
            const SLOTS: usize = 2;

            #[inline]
            fn read(slots: &[&Lanes], lane: usize) -> $type {
                const READ: fn(u64) -> $type = $read;
                READ(u64::from(slots[0][lane]) | u64::from(slots[1][lane]) << 32)
            }

            #[inline]
            fn write(value: $type, slots: &mut [Lanes], lane: usize) {
                const WRITE: fn($type) -> u64 = $write;
                let bits = WRITE(value);
                slots[0][lane] = bits as u32;
                slots[1][lane] = (bits >> 32) as u32;
            }
        }
    )+};
}

one_slot! {
    bool as bool: |bits| bits != 0, u32::from;
    u16 as u16: |bits| bits as u16, u32::from;
    i16 as i16: |bits| (bits as u16).cast_signed(), |value| u32::from(value.cast_unsigned());
    u32 as u32: |bits| bits, |value| value;
    i32 as i32: u32::cast_signed, i32::cast_unsigned;
    f32 as f32: f32::from_bits, f32::to_bits;
    // Computed in f64, so that a value is rounded to 11 bits once, from the exact or nearly exact
    // result of each operation.
    f16 as f64: |bits| f16::from_bits(bits as u16).to_f64(),
        |value| u32::from(to_f16(value).to_bits());
}

two_slots! {
    u64: |bits| bits, |value| value;
    i64: u64::cast_signed, i64::cast_unsigned;
    f64: f64::from_bits, f64::to_bits;
}

/// The nearest f16, ties to even.
pub(super) fn to_f16(value: f64) -> f16 {
    // `from_f64` ignores the low 32 bits, or rounds to f32 first. A sticky bit for nonzero low bits
    // makes the result right in both cases.
    let bits = value.to_bits();
    let sticky = u64::from(bits as u32 != 0) << 32;
    f16::from_f64(f64::from_bits(bits >> 32 << 32 | sticky))
}

/// A vector, or a matrix as an array of columns.
impl<T: Word, const N: usize> Word for [T; N] {
    type Value = [T::Value; N];
    const SLOTS: usize = N * T::SLOTS;

    #[inline]
    fn read(slots: &[&Lanes], lane: usize) -> Self::Value {
        std::array::from_fn(|i| T::read(&slots[i * T::SLOTS..], lane))
    }

    #[inline]
    fn write(value: Self::Value, slots: &mut [Lanes], lane: usize) {
        for (i, component) in value.into_iter().enumerate() {
            T::write(component, &mut slots[i * T::SLOTS..], lane);
        }
    }
}

/// A structure with two members.
impl<A: Word, B: Word> Word for (A, B) {
    type Value = (A::Value, B::Value);
    const SLOTS: usize = A::SLOTS + B::SLOTS;

    #[inline]
    fn read(slots: &[&Lanes], lane: usize) -> Self::Value {
        (A::read(slots, lane), B::read(&slots[A::SLOTS..], lane))
    }

    #[inline]
    fn write((a, b): Self::Value, slots: &mut [Lanes], lane: usize) {
        A::write(a, slots, lane);
        B::write(b, &mut slots[A::SLOTS..], lane);
    }
}

/// A floating-point type.
pub(super) trait FloatWord: Word {
    /// The type of `frexp`'s exponent, which naga makes as wide as the float.
    type Exponent: Word;
    /// Bits of the significand.
    const DIGITS: u32;
    /// The largest finite value.
    const MAX: Self::Value;
}

impl FloatWord for f16 {
    type Exponent = i16;
    const DIGITS: u32 = f16::MANTISSA_DIGITS;
    const MAX: f64 = f16::MAX.to_f64_const();
}

impl FloatWord for f32 {
    type Exponent = i32;
    const DIGITS: u32 = f32::MANTISSA_DIGITS;
    const MAX: f32 = f32::MAX;
}

impl FloatWord for f64 {
    type Exponent = i64;
    const DIGITS: u32 = f64::MANTISSA_DIGITS;
    const MAX: f64 = f64::MAX;
}

/// Splits off the next argument's slots. The slice has a constant length, which moves bounds checks
/// out of the loop over lanes.
#[inline]
pub(super) fn take<'a, 'b, T: Word>(inputs: &mut &'a [&'b Lanes]) -> &'a [&'b Lanes] {
    let (slots, rest) = inputs.split_at(T::SLOTS);
    *inputs = rest;
    slots
}

/// A [`LaneFn`](super::LaneFn) that evaluates a block for each lane. The types are those stored in
/// slots; the block computes with their [`Word::Value`]s.
macro_rules! each {
    (|$($name:ident: $type:ty),+| -> $result:ty $body:block) => {{
        let function: LaneFn = |inputs, outputs| {
            let mut rest = inputs;
            $(let $name = take::<$type>(&mut rest);)+
            let outputs = &mut outputs[..<$result as Word>::SLOTS];
            for lane in 0..LANES {
                $(let $name = <$type as Word>::read($name, lane);)+
                <$result as Word>::write($body, outputs, lane);
            }
        };
        function
    }};
}

/// An expression of type `Option`, with `$T` as the Rust type of an unsigned integer scalar.
macro_rules! unsigned {
    ($scalar:expr, $T:ident => $body:expr) => {
        match $scalar.width {
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            _ => None,
        }
    };
}

/// Like `unsigned!`, for signed integers.
macro_rules! signed {
    ($scalar:expr, $T:ident => $body:expr) => {
        match $scalar.width {
            2 => {
                type $T = i16;
                $body
            }
            4 => {
                type $T = i32;
                $body
            }
            8 => {
                type $T = i64;
                $body
            }
            _ => None,
        }
    };
}

/// Like `unsigned!`, for all integers.
macro_rules! integer {
    ($scalar:expr, $T:ident => $body:expr) => {
        match $scalar.kind {
            naga::ScalarKind::Uint => unsigned!($scalar, $T => $body),
            naga::ScalarKind::Sint => signed!($scalar, $T => $body),
            _ => None,
        }
    };
}

/// Like `unsigned!`, for floats.
macro_rules! float {
    ($scalar:expr, $T:ident => $body:expr) => {
        match ($scalar.kind, $scalar.width) {
            (naga::ScalarKind::Float, 2) => {
                type $T = half::f16;
                $body
            }
            (naga::ScalarKind::Float, 4) => {
                type $T = f32;
                $body
            }
            (naga::ScalarKind::Float, 8) => {
                type $T = f64;
                $body
            }
            _ => None,
        }
    };
}

/// An expression of type `Option`, with `$N` as a constant, if the size is one of those listed.
macro_rules! sized {
    ($size:expr, $N:ident in $($literal:literal)+ => $body:expr) => {
        match $size {
            $($literal => {
                const $N: usize = $literal;
                $body
            })+
            _ => None,
        }
    };
}
