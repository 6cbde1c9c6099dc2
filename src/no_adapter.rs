//! What to do on a machine without an adapter.

/// Why there is none, as far as can be seen, and what helps: a line without its end.
pub(crate) fn advice() -> String {
    #[cfg(all(unix, not(target_vendor = "apple")))]
    return linux::Machine::here().advice();
    #[cfg(target_vendor = "apple")]
    return "Metal lists no device; a virtual machine needs a virtual GPU".to_owned();
    #[cfg(windows)]
    return "neither DX12 nor Vulkan lists a device: install the driver of the GPU's vendor"
        .to_owned();
    #[cfg(not(any(unix, windows)))]
    return "WebGPU offers none here: it may be off, or the GPU blocked".to_owned();
}

#[cfg(all(unix, not(target_vendor = "apple")))]
mod linux {
    use std::path::{Path, PathBuf};

    /// The packages of a distribution.
    struct Packages {
        /// Of the file `os-release`: of this distribution or of one that it is like.
        ids: &'static [&'static str],
        install: &'static str,
        loader: &'static str,
        /// With a driver that computes on the CPU.
        drivers: &'static str,
    }

    const PACKAGES: [Packages; 5] = [
        Packages {
            ids: &["debian", "ubuntu"],
            install: "apt install",
            loader: "libvulkan1",
            drivers: "mesa-vulkan-drivers",
        },
        Packages {
            ids: &["fedora", "rhel", "centos"],
            install: "dnf install",
            loader: "vulkan-loader",
            drivers: "mesa-vulkan-drivers",
        },
        Packages {
            ids: &["arch"],
            install: "pacman -S",
            loader: "vulkan-icd-loader",
            drivers: "vulkan-swrast",
        },
        Packages {
            ids: &["alpine"],
            install: "apk add",
            loader: "vulkan-loader",
            drivers: "mesa-vulkan-swrast",
        },
        Packages {
            ids: &["suse", "opensuse"],
            install: "zypper install",
            loader: "libvulkan1",
            drivers: "libvulkan_lvp",
        },
    ];

    /// What is known of a machine on which Vulkan lists no device.
    #[derive(Clone, Default)]
    #[expect(
        clippy::struct_excessive_bools,
        reason = "facts that do not depend on each other"
    )]
    pub(super) struct Machine {
        /// The names of the distribution and of those that it is like.
        ids: Vec<String>,
        /// `WGPU_BACKEND` names other interfaces alone.
        leaves_out_vulkan: bool,
        has_loader: bool,
        /// Descriptions of drivers, which the loader reads.
        has_driver: bool,
        /// A variable that names the drivers instead.
        names_drivers: Option<&'static str>,
        has_nvidia: bool,
        /// A GPU's device file that this user may not open.
        forbidden: Option<PathBuf>,
        has_gpu: bool,
        is_container: bool,
        is_wsl: bool,
    }

    #[cfg(feature = "gpu")]
    fn leaves_out_vulkan() -> bool {
        wgpu::Backends::from_env().is_some_and(|named| !named.contains(wgpu::Backends::VULKAN))
    }

    /// Without a driver, nothing reads `WGPU_BACKEND`.
    #[cfg(not(feature = "gpu"))]
    fn leaves_out_vulkan() -> bool {
        false
    }

    impl Machine {
        pub(super) fn here() -> Self {
            let is_there = |path: &str| Path::new(path).exists();
            let is_gpu = |path: &Path| path.to_string_lossy().contains("/renderD");
            let gpus = matching("/dev/dri", is_gpu);
            let is_driver = |path: &Path| path.extension().is_some_and(|end| end == "json");
            let is_forbidden = |path: &PathBuf| {
                let opened = std::fs::OpenOptions::new()
                    .read(true)
                    .write(true)
                    .open(path);
                opened.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
            };
            let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
            let has_nvidia = is_there("/dev/nvidiactl");
            Self {
                ids: ids(&std::fs::read_to_string("/etc/os-release").unwrap_or_default()),
                leaves_out_vulkan: leaves_out_vulkan(),
                has_loader: LIBRARIES.iter().any(|folder| has_loader(folder)),
                has_driver: DRIVERS
                    .iter()
                    .any(|folder| !matching(folder, is_driver).is_empty()),
                names_drivers: ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"]
                    .into_iter()
                    .find(|name| std::env::var_os(name).is_some()),
                has_nvidia,
                has_gpu: has_nvidia || !gpus.is_empty(),
                forbidden: gpus.into_iter().find(is_forbidden),
                is_container: is_there("/.dockerenv") || is_there("/run/.containerenv"),
                is_wsl: kernel.to_lowercase().contains("microsoft"),
            }
        }

        pub(super) fn advice(&self) -> String {
            if self.leaves_out_vulkan {
                return "WGPU_BACKEND is set, and leaves out Vulkan: unset it".to_owned();
            }
            let mut advice = self.of_packages();
            if self.is_wsl {
                advice += "; in WSL, a GPU is seen by programs for Windows, and by Mesa's driver \
                           'dzn', where the distribution has it and \
                           WGPU_ALLOW_UNDERLYING_NONCOMPLIANT_ADAPTER is 1";
            } else if self.is_container && self.has_nvidia {
                advice += "; in a container, NVIDIA's driver brings Vulkan if \
                           NVIDIA_DRIVER_CAPABILITIES is 'all'";
            } else if self.is_container && !self.has_gpu {
                advice += "; a container sees a GPU only if it is given one, as by --gpus all or \
                           --device /dev/dri";
            }
            advice
        }

        fn of_packages(&self) -> String {
            let of_distribution = |packages: &&Packages| {
                packages
                    .ids
                    .iter()
                    .any(|id| self.ids.iter().any(|i| i == id))
            };
            let packages = PACKAGES.iter().find(of_distribution);
            let driver = "the driver of the GPU's vendor";
            if !self.has_loader {
                let missing = "the Vulkan loader, libvulkan.so.1, is missing";
                return match packages {
                    Some(Packages {
                        install,
                        loader,
                        drivers,
                        ..
                    }) => format!(
                        "{missing}: '{install} {loader} {drivers}', or {loader} and {driver}"
                    ),
                    None => format!("{missing}: install it, and Mesa's Vulkan drivers or {driver}"),
                };
            }
            if let Some(variable) = self.names_drivers {
                return format!("no Vulkan driver that {variable} names finds a device");
            }
            if !self.has_driver {
                let missing = "there is no Vulkan driver";
                return match packages {
                    Some(Packages {
                        install, drivers, ..
                    }) => {
                        format!("{missing}: '{install} {drivers}', or {driver}")
                    }
                    None => format!("{missing}: install Mesa's, or {driver}"),
                };
            }
            if let Some(path) = &self.forbidden {
                let path = path.display();
                return format!("this user may not open {path}: the group 'render' often may");
            }
            "no installed Vulkan driver finds a device: 'vulkaninfo --summary' says more".to_owned()
        }
    }

    /// Where distributions keep libraries. (Others of them are for other architectures.)
    const LIBRARIES: [&str; 7] = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/local/lib",
        "/lib",
        "/run/opengl-driver/lib",
    ];

    /// Where the loader looks for drivers.
    const DRIVERS: [&str; 5] = [
        "/etc/vulkan/icd.d",
        "/usr/share/vulkan/icd.d",
        "/usr/local/etc/vulkan/icd.d",
        "/usr/local/share/vulkan/icd.d",
        "/run/opengl-driver/share/vulkan/icd.d",
    ];

    fn has_loader(folder: &str) -> bool {
        Path::new(folder).join("libvulkan.so.1").exists()
    }

    /// The files of a folder that match.
    fn matching(folder: &str, is_match: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = files.map(|file| file.path());
        paths.filter(|path| is_match(path)).collect()
    }

    /// The values of `ID` and `ID_LIKE` in a file `os-release`.
    fn ids(release: &str) -> Vec<String> {
        let value = |line: &str| {
            let value = line.strip_prefix("ID=").or(line.strip_prefix("ID_LIKE="))?;
            Some(value.trim_matches(['"', '\'']).to_owned())
        };
        let values = release.lines().filter_map(value);
        values
            .flat_map(|ids| ids.split(' ').map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn debian() -> Machine {
            Machine {
                ids: ids("PRETTY_NAME=\"Debian\"\nID=debian\n"),
                ..Machine::default()
            }
        }

        #[test]
        fn what_is_missing_first_is_to_be_installed() {
            let mut machine = debian();
            assert_eq!(
                machine.advice(),
                "the Vulkan loader, libvulkan.so.1, is missing: 'apt install libvulkan1 \
                 mesa-vulkan-drivers', or libvulkan1 and the driver of the GPU's vendor"
            );
            machine.has_loader = true;
            assert_eq!(
                machine.advice(),
                "there is no Vulkan driver: 'apt install mesa-vulkan-drivers', or the driver of \
                 the GPU's vendor"
            );
            machine.has_driver = true;
            assert!(machine.advice().starts_with("no installed Vulkan driver"));
            machine.forbidden = Some(PathBuf::from("/dev/dri/renderD128"));
            assert!(machine.advice().contains("/dev/dri/renderD128"));
            machine.names_drivers = Some("VK_DRIVER_FILES");
            assert!(machine.advice().contains("VK_DRIVER_FILES"));
            machine.leaves_out_vulkan = true;
            assert!(machine.advice().contains("WGPU_BACKEND"));
        }

        #[test]
        fn containers_and_wsl_say_how_a_gpu_comes_in() {
            let container = Machine {
                is_container: true,
                ..debian()
            };
            assert!(container.advice().contains("--gpus all"));
            let nvidia = Machine {
                has_nvidia: true,
                has_gpu: true,
                ..container.clone()
            };
            assert!(nvidia.advice().contains("NVIDIA_DRIVER_CAPABILITIES"));
            let wsl = Machine {
                is_wsl: true,
                ..container
            };
            assert!(wsl.advice().contains("WSL"));
        }

        #[test]
        fn every_distribution_is_told_its_own_packages_in_one_line() {
            let mint = ids("ID=linuxmint\nID_LIKE=\"ubuntu debian\"");
            assert_eq!(mint, ["linuxmint", "ubuntu", "debian"]);
            let of = |id: &str| Machine {
                ids: ids(&format!("ID={id}")),
                ..Machine::default()
            };
            for packages in &PACKAGES {
                for id in packages.ids {
                    assert!(of(id).advice().contains(packages.loader));
                }
            }
            assert!(of("unknown").advice().contains("install it"));
            assert!(!Machine::here().advice().contains('\n'));
        }
    }
}
