//! Numbers on the command line.

use std::str::FromStr;
use wgsl_lockstep::audit::positive;

/// `--workgroups X[,Y[,Z]]`, or with `x` for each comma.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Workgroups(pub(crate) [u32; 3]);

impl FromStr for Workgroups {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut counts = [1; 3];
        let parts: Vec<&str> = text.split([',', 'x', 'X']).collect();
        if parts.len() > 3 {
            return Err("give at most three counts: X,Y,Z or XxYxZ".to_owned());
        }
        for (count, part) in counts.iter_mut().zip(parts) {
            let value =
                positive(part).map_err(|error| format!("{error}, and several as 4,4 or 4x4"))?;
            *count = u32::try_from(value).map_err(|_| format!("'{part}' is above {}", u32::MAX))?;
        }
        Ok(Self(counts))
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
        assert_eq!(parse("4x2"), Ok([4, 2, 1]));
        assert_eq!(parse("2^10X3x2"), Ok([1024, 3, 2]));
        for text in [
            "", "0", "1,", "1,0", "1,1,1,1", "1x1x1x1", "x", "4x", "4*4", "2^32",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
