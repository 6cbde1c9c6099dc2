//! The contents of a shader's buffers.

use super::memory::{MOST_MEMORY, check_memory_below};
use super::subject::DefaultBuffer;
use super::values::{count, word};
use crate::report::Space;
use crate::shader::{Buffers, Resource};
use serde::{Serialize, Serializer};
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Default size in words of a buffer that ends in a runtime-sized array.
const WORDS: u64 = 4096;

/// The contents of a buffer.
#[derive(Clone, Debug, PartialEq)]
enum Fill {
    Random(u64),
    Zero(u64),
    Iota(u64),
    Words(Vec<u32>),
    File(PathBuf),
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random(count) => write!(f, "random:{count}"),
            Self::Zero(count) => write!(f, "zero:{count}"),
            Self::Iota(count) => write!(f, "iota:{count}"),
            Self::Words(words) => {
                let first: Vec<String> = words.iter().take(8).map(u32::to_string).collect();
                let more = if words.len() > 8 { ",..." } else { "" };
                write!(f, "words:{}{more}", first.join(","))
            }
            Self::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

/// A buffer on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    /// Group and binding.
    Binding(u32, u32),
    Variable(String),
}

impl Name {
    fn is(&self, resource: &Resource) -> bool {
        match self {
            Self::Binding(group, binding) => {
                (*group, *binding) == (resource.group, resource.binding)
            }
            Self::Variable(name) => *name == resource.name,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binding(group, binding) => write!(f, "{group}.{binding}"),
            Self::Variable(name) => f.write_str(name),
        }
    }
}

/// A buffer of a shader, and its contents.
///
/// It is parsed from the text of the command's option `--buffer`.
///
/// # Examples
///
/// ```
/// use wgsl_lockstep::audit::BufferContents;
///
/// for text in ["0=random:4096", "1.2=iota:2^12", "size=words:64,-1,0x10,1.5", "0=zero:100"] {
///     assert!(text.parse::<BufferContents>().is_ok());
/// }
/// assert!("0=ones:4".parse::<BufferContents>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BufferContents {
    name: Name,
    fill: Fill,
}

impl BufferContents {
    /// True if the words are read from a file.
    #[must_use]
    pub const fn is_file(&self) -> bool {
        matches!(self.fill, Fill::File(_))
    }
}

const FORM: &str = "write it as BUFFER=random:N, zero:N, iota:N, words:A,B,C or file:PATH, with \
                    BUFFER such as 0 (of group 0), 1.2 (binding 2 of group 1) or the variable's \
                    name";

impl FromStr for BufferContents {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, fill) = text.split_once('=').ok_or(FORM)?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| FORM.to_owned());
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let name = match name.split_once('.') {
            Some((group, binding)) => Name::Binding(number(group)?, number(binding)?),
            None if name.is_empty() || !name.chars().all(is_part) => return Err(FORM.to_owned()),
            None if name.starts_with(|c: char| c.is_ascii_digit()) => {
                Name::Binding(0, number(name)?)
            }
            None => Name::Variable(name.to_owned()),
        };
        let (kind, value) = fill.split_once(':').ok_or(FORM)?;
        let fill = match kind {
            "random" => Fill::Random(count(value)?),
            "zero" => Fill::Zero(count(value)?),
            "iota" => Fill::Iota(count(value)?),
            "words" => Fill::Words(value.split(',').map(word).collect::<Result<_, _>>()?),
            "file" => Fill::File(PathBuf::from(value)),
            _ => return Err(FORM.to_owned()),
        };
        Ok(Self { name, fill })
    }
}

impl Fill {
    fn words(&self, seed: u64) -> Result<Vec<u32>, String> {
        Ok(match self {
            Self::Random(count) => random(seed).take(*count as usize).collect(),
            Self::Zero(count) => vec![0; *count as usize],
            Self::Iota(count) => (0..*count as u32).collect(),
            Self::Words(words) => words.clone(),
            Self::File(path) => words_of(path)?,
        })
    }

    /// Number of words, known before they are made.
    fn count(&self) -> u64 {
        match self {
            Self::Random(count) | Self::Zero(count) | Self::Iota(count) => *count,
            Self::Words(words) => words.len() as u64,
            // A file that cannot be read is reported when it is read.
            Self::File(path) => fs::metadata(path).map_or(0, |file| file.len() / 4),
        }
    }
}

/// Words of random bits: the upper halves of `SplitMix64`'s numbers, so that a seed gives the same
/// words on all machines and in all versions.
fn random(seed: u64) -> impl Iterator<Item = u32> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 32) as u32
    })
}

/// Reads a file of words.
fn words_of(path: &Path) -> Result<Vec<u32>, String> {
    // Reading a device may never end.
    const MOST: u64 = MOST_MEMORY / 4;
    let name = path.display().to_string();
    let failed = |error| format!("{name}: cannot read: {error}");
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MOST {
        return Err(format!(
            "{name} has more than {MOST} bytes: take a smaller file"
        ));
    }
    if bytes.len() % 4 != 0 {
        return Err(format!(
            "{name}: {} bytes are not a whole number of 4-byte words: give a file of words",
            bytes.len()
        ));
    }
    Ok(bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect())
}

/// The default contents of a buffer.
fn default_fill(resource: &Resource) -> Fill {
    let min_words = u64::from(resource.min_bytes).div_ceil(4);
    if resource.space == Space::Uniform {
        return Fill::Zero(min_words);
    }
    match resource.stride {
        // Whole elements, after any other members.
        Some(stride) => {
            let stride = u64::from(stride.div_ceil(4)).max(1);
            Fill::Random(min_words + WORDS.saturating_sub(min_words).div_ceil(stride) * stride)
        }
        None => Fill::Random(min_words),
    }
}

/// The default contents of a buffer, as text such as `random:4096`: zeros in a uniform, random
/// words in storage.
#[must_use]
pub fn default_contents(resource: &Resource) -> String {
    default_fill(resource).to_string()
}

/// A buffer of a dispatch, as in the JSON report. It is displayed as in the text report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MadeBuffer {
    /// `@group`.
    pub group: u32,
    /// `@binding`.
    pub binding: u32,
    /// The variable's name.
    pub name: String,
    /// Storage or uniform.
    #[serde(serialize_with = "space")]
    pub space: Space,
    /// Its size in words.
    pub words: usize,
    /// Its contents, such as `random:4096`.
    pub contents: String,
    /// False for default contents.
    pub given: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // As serde requires.
fn space<S: Serializer>(space: &Space, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(space.name())
}

impl fmt::Display for MadeBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, binding, .. } = self;
        write!(
            f,
            "buffer {group}.{binding} ({}, {}): {}",
            self.name, self.space, self.contents
        )?;
        // With a size of 0 a shader does nothing and looks clean; a random one is meaningless.
        if !self.given {
            write!(f, " (--buffer {group}.{binding}=... sets it)")?;
        }
        Ok(())
    }
}

/// The buffers with default contents.
pub(super) fn defaults(made: &[MadeBuffer]) -> Vec<DefaultBuffer> {
    made.iter()
        .filter(|buffer| !buffer.given)
        .map(|buffer| DefaultBuffer {
            group: buffer.group,
            binding: buffer.binding,
            name: buffer.name.clone(),
            space: buffer.space,
        })
        .collect()
}

/// Makes the buffers of a shader. `file` is the name of the shader.
pub(super) fn make(
    file: &str,
    resources: &[Resource],
    wanted: &[BufferContents],
    seed: u64,
    most_memory: u64,
) -> Result<(Buffers, Vec<MadeBuffer>), String> {
    for (i, BufferContents { name, .. }) in wanted.iter().enumerate() {
        let Some(resource) = resources.iter().find(|resource| name.is(resource)) else {
            let what = match name {
                Name::Binding(..) => "binding",
                Name::Variable(_) => "buffer",
            };
            return Err(format!(
                "--buffer {name}: {file} uses no such {what}: {}",
                list(resources)
            ));
        };
        if wanted[..i].iter().any(|other| other.name.is(resource)) {
            return Err(format!(
                "--buffer {name} is given twice: leave out one of them",
            ));
        }
    }
    let given = |resource: &Resource| wanted.iter().find(|contents| contents.name.is(resource));
    let fill_of = |resource: &Resource| {
        given(resource).map_or_else(|| default_fill(resource), |given| given.fill.clone())
    };
    let memory = |resource: &Resource| {
        let words = fill_of(resource).count();
        words.saturating_mul(resource.memory_a_word.into())
    };
    let needed = resources.iter().map(memory).fold(0, u64::saturating_add);
    check_memory_below(needed, most_memory)
        .map_err(|message| format!("{message}: take smaller buffers"))?;
    let mut buffers = Buffers::new();
    let mut made = Vec::new();
    for resource in resources {
        let (group, binding) = (resource.group, resource.binding);
        let fill = fill_of(resource);
        // Each buffer has different contents.
        let own_seed = seed ^ u64::from(group) << 48 ^ u64::from(binding) << 32;
        let words = fill.words(own_seed)?;
        made.push(MadeBuffer {
            group,
            binding,
            name: resource.name.clone(),
            space: resource.space,
            words: words.len(),
            contents: fill.to_string(),
            given: given(resource).is_some(),
        });
        buffers.insert((group, binding), words);
    }
    Ok((buffers, made))
}

fn list(resources: &[Resource]) -> String {
    if resources.is_empty() {
        return "it uses no buffer".to_owned();
    }
    let name = |r: &Resource| format!("{}.{} ({}, {})", r.group, r.binding, r.name, r.space);
    let names: Vec<String> = resources.iter().map(name).collect();
    format!("it has {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shader::Shader;

    #[test]
    fn contents_are_parsed() {
        let words = |text: &str| {
            let contents: BufferContents = text.parse().unwrap();
            contents.fill.words(1).unwrap()
        };
        assert_eq!(
            words("0=words:1, -2,0x10,1.5,2K"),
            [1, 0xffff_fffe, 16, 0x3fc0_0000, 2000]
        );
        assert_eq!(words("1.2=iota:3"), [0, 1, 2]);
        assert_eq!(words("0=zero:2"), [0, 0]);
        assert_eq!(words("0=random:2^4").len(), 16);
        assert_eq!(words("size_2=words:4,4"), [4, 4]);
        for text in [
            "0",
            "=zero:1",
            "a-b=zero:1",
            "1x=zero:1",
            "a.1=zero:1",
            "0=",
            "0=zero",
            "0=zero:x",
            "0=ones:3",
            "0.1.2=zero:1",
            "0=words:",
            "0=words:1,,2",
            "0=words:2^32",
            "0=words:0xg",
            "0=words:1.x",
            "0=words:-2147483649",
        ] {
            assert!(text.parse::<BufferContents>().is_err(), "{text}");
        }
    }

    #[test]
    fn random_words_are_the_same_everywhere() {
        // The first numbers of `SplitMix64` with the seed 0 are e220a8397b1dcdaf and
        // 6e789e6aa1b965f4, according to its authors.
        let words: Vec<u32> = random(0).take(2).collect();
        assert_eq!(words, [0xe220_a839, 0x6e78_9e6a]);
    }

    #[test]
    fn defaults_are_whole_elements() {
        let fill = |declaration: &str| {
            let wgsl = format!(
                "struct Row {{ x: u32, y: u32, z: u32 }}
                 struct Rows {{ a: u32, b: u32, c: u32, d: u32, rows: array<Row> }}
                 @group(0) @binding(0) var<storage> buffer: {declaration};
                 @compute @workgroup_size(1) fn main() {{ _ = &buffer; }}"
            );
            let shader = Shader::new(&wgsl, None, &[]).unwrap();
            default_fill(&shader.resources()[0])
        };
        assert_eq!(fill("array<u32>"), Fill::Random(4096));
        // 16 bytes of other members, and one element of 12.
        assert_eq!(fill("Rows"), Fill::Random(4 + 3 * 1364));
        assert_eq!(fill("array<u32, 100>"), Fill::Random(100));
    }
}
