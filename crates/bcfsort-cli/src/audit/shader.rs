//! Anyone's compute shader.

use super::buffers::{self, Made};
use super::{Args, Audit, Job as Any, Subject};
use crate::input::Input;
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;
use std::time::Instant;
use wgsl_lockstep::{Shader, ShaderError};

/// No shader is longer; whoever gives a data file by mistake need not wait for it.
const LONGEST: u64 = 16 << 20;

/// `--workgroups`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Workgroups([u32; 3]);

impl FromStr for Workgroups {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut counts = [1; 3];
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > 3 {
            return Err("at most three counts make sense: X,Y,Z".to_owned());
        }
        for (count, part) in counts.iter_mut().zip(parts) {
            let value = bcfsort_term::args::positive(part)?;
            *count = u32::try_from(value).map_err(|_| format!("'{part}' is above {}", u32::MAX))?;
        }
        Ok(Self(counts))
    }
}

/// A shader that was run.
pub(crate) struct Job {
    pub(crate) file: String,
    pub(crate) entry: String,
    pub(crate) workgroup_size: [u32; 3],
    pub(crate) workgroup_bytes: u32,
    pub(crate) workgroups: [u32; 3],
    pub(crate) buffers: Vec<Made>,
}

pub(crate) fn run(args: &Args, file: &Path) -> Result<Audit, Fault> {
    let (name, source) = read(file)?;
    let shader = Shader::new(&source, args.entry.as_deref(), &args.overrides)
        .map_err(|error| told(&name, error))?;
    let Workgroups(workgroups) = args.workgroups;
    let counts = workgroups.into_iter().chain(shader.workgroup_size());
    // The executor numbers them by 32 bits.
    if counts.map(u128::from).product::<u128>() > u128::from(u32::MAX) {
        return Err(Fault::Usage(
            "so many workgroups have more than 2^32 lanes: take fewer --workgroups".to_owned(),
        ));
    }
    let (mut buffers, made) = buffers::make(&name, shader.resources(), &args.buffers, args.seed)?;

    let mut progress = Progress::new(args.quiet);
    progress.show(|| format!("running {name}"));
    let started = Instant::now();
    let report = shader
        .run(&mut buffers, workgroups, &args.config())
        .map_err(|error| told(&name, error))?;
    let time = started.elapsed();
    drop(progress);

    let entry = shader.entry().to_owned();
    Ok(Audit {
        subjects: vec![Subject {
            phase: None,
            kernel: entry.clone(),
            file: name.clone(),
            source,
            has_conflicts: false,
            report,
        }],
        job: Any::Shader(Job {
            file: name,
            entry,
            workgroup_size: shader.workgroup_size(),
            workgroup_bytes: shader.workgroup_bytes(),
            workgroups,
            buffers: made,
        }),
        time,
    })
}

/// The file's name in messages, and its text.
fn read(file: &Path) -> Result<(String, String), Fault> {
    if file.is_dir() {
        return Err(Fault::Usage(format!(
            "{} is a directory: give a shader",
            file.display()
        )));
    }
    let Input { name, stream } = Input::open(file)?;
    let mut bytes = Vec::new();
    stream
        .take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Fault::io(&name, "cannot read", &error))?;
    if bytes.len() as u64 > LONGEST {
        return Err(Fault::Usage(format!(
            "{name} has more than {} MiB: give a shader",
            LONGEST >> 20
        )));
    }
    match String::from_utf8(bytes) {
        Ok(source) => Ok((name, source)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(Fault::Usage(format!(
                "{name} is no UTF-8 text (byte {at}): give a shader in WGSL"
            )))
        }
    }
}

/// An error of the executor as one of this program.
fn told(name: &str, error: ShaderError) -> Fault {
    match error {
        ShaderError::Invalid(rendered) => Fault::Shader(
            format!("{name} is no valid WGSL:"),
            // naga does not know the file's name.
            rendered.replace("─ wgsl:", &format!("─ {name}:")),
        ),
        ShaderError::Unsupported {
            what,
            location,
            excerpt,
        } => {
            let place = match location.line {
                0 => String::new(),
                line => format!(":{line}:{}", location.column),
            };
            Fault::Shader(
                format!("{name}{place}: cannot run {what}"),
                excerpt.trim_matches('\n').to_owned(),
            )
        }
        ShaderError::NoEntryPoint { ref available, .. } if !available.is_empty() => {
            Fault::Usage(format!("{name}: {error}: name one of them by --entry"))
        }
        ShaderError::BufferSize { .. } => {
            Fault::Usage(format!("{name}: {error}: give another --buffer"))
        }
        error => Fault::Usage(format!("{name}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workgroups_are_parsed() {
        let parse = |text: &str| text.parse::<Workgroups>().map(|w| w.0);
        assert_eq!(parse("4"), Ok([4, 1, 1]));
        assert_eq!(parse("4,2"), Ok([4, 2, 1]));
        assert_eq!(parse("2^10,3,2"), Ok([1024, 3, 2]));
        for text in ["", "0", "1,", "1,0", "1,1,1,1", "x", "2^32"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
