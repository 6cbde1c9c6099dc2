//! The options of lines.

use super::Lines;
use super::key::{LineKey, Options};
use crate::records::args::RecordKind;
use bcfsort_term::fault::Fault;
use clap::ValueEnum;

/// How lines compare, for keys that have no options of their own.
#[derive(clap::Args, Debug, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub(crate) struct LineArgs {
    /// lines: by the number at the beginning; --help-all has other orders
    ///
    /// A minus, digits, a point and digits, of any length, after blanks. Other text counts as 0.
    /// Keys that have options of their own ignore this and the other orders.
    #[arg(short, long, alias = "numeric-sort")]
    numeric: bool,
    /// lines: by the number at the beginning, as C reads it: with exponents, inf, nan, 0x1p3
    ///
    /// Text that is no number is first, then NaN, -inf, the other numbers and inf. Numbers have the
    /// precision and the range of 80-bit floats: 64 bits, up to 1e4932.
    #[arg(short, long, alias = "general-numeric", hide_short_help = true)]
    general_numeric_sort: bool,
    /// lines: by numbers such as 900K, 1.5M and 2G: first by the suffix, then by the number
    #[arg(long, alias = "human-numeric", hide_short_help = true)]
    human_numeric_sort: bool,
    /// lines: by versions, as GNU sort has them: a-1.9.tar.gz precedes a-1.10.tar.gz
    #[arg(short = 'V', long, hide_short_help = true)]
    version_sort: bool,
    /// lines: digits as whole numbers, other bytes as they are: x9 precedes x10
    #[arg(long, hide_short_help = true)]
    natural_sort: bool,
    /// lines: by the month at the beginning, JAN to DEC; other text is first
    #[arg(short = 'M', long, hide_short_help = true)]
    month_sort: bool,
    /// lines: the order by its name in GNU sort, as in --sort=version
    #[arg(long, value_name = "ORDER", hide_short_help = true)]
    sort: Option<Word>,
    /// lines: letters count as uppercase, -f in GNU sort
    #[arg(long, hide_short_help = true)]
    ignore_case: bool,
    /// lines: only letters, digits and blanks count
    #[arg(short, long, hide_short_help = true)]
    dictionary_order: bool,
    /// lines: only printable characters count
    #[arg(short, long, hide_short_help = true)]
    ignore_nonprinting: bool,
    /// lines: blanks at the beginning of a key do not count
    #[arg(short = 'b', long, hide_short_help = true)]
    ignore_leading_blanks: bool,
    /// lines: they end with a zero byte, not with a newline
    #[arg(short, long, hide_short_help = true)]
    zero_terminated: bool,
}

/// An order by its name in GNU sort.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Word {
    GeneralNumeric,
    HumanNumeric,
    Month,
    Numeric,
    Version,
    Natural,
}

impl Word {
    const fn letter(self) -> u8 {
        match self {
            Self::GeneralNumeric => b'g',
            Self::HumanNumeric => b'h',
            Self::Month => b'M',
            Self::Numeric => b'n',
            Self::Version => b'V',
            Self::Natural => b'N',
        }
    }
}

impl LineArgs {
    /// The options, each with its letter in GNU sort, and whether it is given.
    const fn all(&self) -> [(&'static str, u8, bool); 11] {
        [
            ("--numeric", b'n', self.numeric),
            ("--general-numeric-sort", b'g', self.general_numeric_sort),
            ("--human-numeric-sort", b'h', self.human_numeric_sort),
            ("--version-sort", b'V', self.version_sort),
            ("--natural-sort", b'N', self.natural_sort),
            ("--month-sort", b'M', self.month_sort),
            ("--ignore-case", b'f', self.ignore_case),
            ("--dictionary-order", b'd', self.dictionary_order),
            ("--ignore-nonprinting", b'i', self.ignore_nonprinting),
            ("--ignore-leading-blanks", b'b', self.ignore_leading_blanks),
            ("--zero-terminated", b'z', self.zero_terminated),
        ]
    }

    /// The options that are given, each with the formats that have it.
    pub(crate) fn given(
        &self,
    ) -> impl Iterator<Item = (&'static str, &'static [RecordKind], bool)> {
        const LINES: &[RecordKind] = &[RecordKind::Lines];
        let all = self.all().map(|(option, _, given)| (option, given));
        let sort = ("--sort", self.sort.is_some());
        let all = all.into_iter().chain([sort]);
        all.map(|(option, given)| (option, LINES, given))
    }

    /// Lines with these keys and this separator of fields.
    pub(crate) fn plan(
        &self,
        keys: &[String],
        separator: Option<u8>,
        reverse: bool,
    ) -> Result<Lines, Fault> {
        let given = self.all().into_iter().filter(|(.., given)| *given);
        let letters = given.map(|(_, letter, _)| letter);
        let letters = letters.chain(self.sort.map(Word::letter));
        let of_all = Options::of_all(letters.chain(reverse.then_some(b'r')));
        let mut parsed = Vec::new();
        for key in keys {
            let of_key = LineKey::parse(key, &of_all);
            parsed.push(of_key.map_err(|why| Fault::Usage(format!("-k {key}: {why}")))?);
        }
        if parsed.is_empty() {
            parsed.push(LineKey::line(&of_all).map_err(Fault::Usage)?);
        }
        let line_end = if self.zero_terminated { 0 } else { b'\n' };
        Ok(Lines::new(parsed, separator, line_end))
    }
}
