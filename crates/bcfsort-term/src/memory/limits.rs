//! Limits of memory that the operating system sets for a process, beside the machine's memory.

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes that the control groups of this process leave free: the least of its own group's and of
/// all above it, of both versions. `root` is `/`. `None` without a limit.
///
/// The files of the page cache that were not used lately count as free: the kernel gives them up.
pub(super) fn of_groups(root: &Path) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(root.join(name)).ok();
    let groups = read("proc/self/cgroup")?;
    let mounts = read("proc/self/mountinfo")?;
    let mounts: Vec<Mount> = mounts.lines().filter_map(Mount::parse).collect();
    let mut least = None;
    for group in groups.lines() {
        let mut fields = group.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let version = match controllers {
            "" => &VERSION_2,
            _ if controllers.split(',').any(|name| name == "memory") => &VERSION_1,
            _ => continue,
        };
        let mount = mounts.iter().find(|mount| mount.version == version);
        let Some(mount) = mount else { continue };
        // In a container, the group may lie outside of what is mounted.
        let inside = Path::new(path).strip_prefix(&mount.group);
        let inside = inside.unwrap_or(Path::new(""));
        let top = root.join(mount.place.strip_prefix("/").unwrap_or(&mount.place));
        for part in inside.ancestors() {
            let free = version.free(&top.join(part));
            least = [least, free].into_iter().flatten().min();
        }
    }
    least
}

/// The names of a version's files.
#[derive(PartialEq)]
struct Version {
    file_system: &'static str,
    limits: &'static [&'static str],
    usage: &'static str,
    inactive: &'static str,
}

const VERSION_1: Version = Version {
    file_system: "cgroup",
    limits: &["memory.limit_in_bytes"],
    usage: "memory.usage_in_bytes",
    inactive: "total_inactive_file",
};

const VERSION_2: Version = Version {
    file_system: "cgroup2",
    limits: &["memory.max", "memory.high"],
    usage: "memory.current",
    inactive: "inactive_file",
};

impl Version {
    /// The bytes that a group leaves free.
    fn free(&self, group: &Path) -> Option<u64> {
        let number = |name: &str| {
            let text = fs::read_to_string(group.join(name)).ok()?;
            text.trim().parse::<u64>().ok()
        };
        // No limit is "max", or a number near 2^63.
        let limits = self.limits.iter().filter_map(|name| number(name));
        let limit = limits.min().filter(|&limit| limit < 1 << 60)?;
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let inactive = stat.lines().find_map(|line| {
            let (name, bytes) = line.split_once(' ')?;
            (name == self.inactive).then(|| bytes.parse::<u64>().ok())?
        });
        let used = number(self.usage).unwrap_or(0);
        Some(limit.saturating_sub(used.saturating_sub(inactive.unwrap_or(0))))
    }
}

/// Where the groups of a version are mounted.
struct Mount {
    version: &'static Version,
    /// The group that is mounted.
    group: PathBuf,
    place: PathBuf,
}

impl Mount {
    /// Parses a line of `mountinfo`.
    fn parse(line: &str) -> Option<Self> {
        let (mount, kind) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (group, place) = (mount.next()?, mount.next()?);
        let mut kind = kind.split(' ');
        let file_system = kind.next()?;
        let mut options = kind.nth(1).unwrap_or_default().split(',');
        let version = if file_system == VERSION_2.file_system {
            &VERSION_2
        } else if file_system == VERSION_1.file_system && options.any(|name| name == "memory") {
            &VERSION_1
        } else {
            return None;
        };
        Some(Self {
            version,
            group: unescaped(group),
            place: unescaped(place),
        })
    }
}

/// A path of `mountinfo`, where blanks are octal numbers.
fn unescaped(path: &str) -> PathBuf {
    let escapes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    let plain = escapes
        .iter()
        .fold(path.to_owned(), |path, (from, to)| path.replace(from, to));
    plain.into()
}

/// Bytes that the limits of the address space and of the data segment (`ulimit -v`, `-d`) leave
/// free. `None` without a limit.
#[cfg(unix)]
pub(super) fn of_process() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let used = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.unwrap_or(0) << 10
    };
    let free = |resource, name| {
        let limit = getrlimit(resource).current?;
        Some(limit.saturating_sub(used(name)))
    };
    let limits = [
        free(Resource::As, "VmSize:"),
        free(Resource::Data, "VmData:"),
    ];
    limits.into_iter().flatten().min()
}

#[cfg(not(unix))]
pub(super) fn of_process() -> Option<u64> {
    None
}

/// The number of files that the process may have open (`ulimit -n`). `None` without a limit.
#[cfg(unix)]
pub(super) fn of_files() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::Nofile).current
}

#[cfg(not(unix))]
pub(super) fn of_files() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        25 21 0:22 / /proc rw - proc proc rw\n\
        30 24 0:26 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup rw\n\
        31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
        32 24 0:28 / /sys/fs/cgroup/memory rw shared:11 - cgroup cgroup rw,memory\n";

    /// What is free with these files.
    fn free(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        of_groups(root.path())
    }

    #[test]
    fn the_strictest_group_above_counts() {
        const GROUP: &str = "sys/fs/cgroup/unified/slurm/job_1";
        let job_max = format!("{GROUP}/memory.max");
        let job_high = format!("{GROUP}/memory.high");
        let step_max = format!("{GROUP}/step/memory.max");
        let step_used = format!("{GROUP}/step/memory.current");
        let stat = format!("{GROUP}/step/memory.stat");
        let cgroup = ("proc/self/cgroup", "0::/slurm/job_1/step\n");
        let mounts = ("proc/self/mountinfo", MOUNTS);
        let with = |files: &[(&str, &str)]| free(&[&[cgroup, mounts], files].concat());
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[(&step_max, "max\n")]), None);
        assert_eq!(with(&[(&step_max, "1000\n")]), Some(1000));
        assert_eq!(
            with(&[(&step_max, "max\n"), (&job_max, "500\n")]),
            Some(500)
        );
        assert_eq!(
            with(&[(&job_high, "300\n"), (&job_max, "500\n")]),
            Some(300)
        );
        let used = [(&*step_max, "1000\n"), (&step_used, "700\n")];
        assert_eq!(with(&used), Some(300));
        let inactive = (&*stat, "anon 1\nactive_file 50\ninactive_file 600\n");
        assert_eq!(with(&[&used[..], &[inactive]].concat()), Some(900));
        assert_eq!(with(&[(&step_max, "10\n"), (&step_used, "700\n")]), Some(0));
    }

    #[test]
    fn both_versions_are_read() {
        const GROUP: &str = "sys/fs/cgroup/memory/user";
        let limit = format!("{GROUP}/memory.limit_in_bytes");
        let usage = format!("{GROUP}/memory.usage_in_bytes");
        let stat = format!("{GROUP}/memory.stat");
        let cgroup = "12:cpu,cpuacct:/\n5:memory:/user/a\n0::/\n";
        let files = [
            ("proc/self/cgroup", cgroup),
            ("proc/self/mountinfo", MOUNTS),
            (&limit, "1000\n"),
            (&usage, "900\n"),
            (&stat, "inactive_file 1\ntotal_inactive_file 200\n"),
            // No limit.
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
        ];
        assert_eq!(free(&files), Some(300));
        let second = ("sys/fs/cgroup/unified/memory.max", "200\n");
        assert_eq!(free(&[&files[..], &[second]].concat()), Some(200));
    }

    #[test]
    fn a_container_sees_its_own_group() {
        // Mounted is the group that the process is in, by a name with a blank.
        let mounts = "32 24 0:28 /docker/ab /sys/fs/my\\040groups rw - cgroup2 cgroup rw\n";
        let max = ("sys/fs/my groups/memory.max", "77\n");
        for group in ["0::/docker/ab\n", "0::/\n", "0::/../other\n"] {
            let files = [
                ("proc/self/cgroup", group),
                ("proc/self/mountinfo", mounts),
                max,
            ];
            assert_eq!(free(&files), Some(77), "{group}");
        }
        assert_eq!(free(&[]), None);
    }
}
