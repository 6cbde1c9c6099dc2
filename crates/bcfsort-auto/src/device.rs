//! Names of devices: one syntax and two environment variables for every program.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use wgpu_bcfsort::wgpu::{Adapter, AdapterInfo, DeviceType};

/// The variable of the device to take where a program or a call names none.
pub const DEVICE: &str = "WGPU_BCFSORT_DEVICE";

/// The variable that, if it is 1, makes a missing GPU an error, and leaves no sort to the CPU that
/// was not told to sort there.
pub const REQUIRE_ADAPTER: &str = "WGPU_BCFSORT_REQUIRE_ADAPTER";

/// The reason of a [`Choice`](crate::Choice) on a machine without an adapter.
pub const NO_ADAPTER: &str = "no GPU adapter found";

/// The device to sort on.
///
/// # Examples
///
/// ```
/// use bcfsort_auto::Device;
/// assert_eq!("auto".parse(), Ok(Device::Auto));
/// assert_eq!("GPU".parse(), Ok(Device::Gpu));
/// assert_eq!("4090".parse(), Ok(Device::Named("4090".to_owned())));
/// assert_eq!(Device::Named("0".to_owned()).to_string(), "0");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Device {
    /// `auto`: the device that takes the least time for each call.
    #[default]
    Auto,
    /// `cpu`: all cores of the CPU.
    Cpu,
    /// `gpu`: the best adapter, for every call.
    Gpu,
    /// `all`: all GPUs of the machine together, for every call.
    All,
    /// The number of an adapter in [`wgpu_bcfsort::adapters`], or a part of its name.
    ///
    /// A number that no adapter has, as in `4090`, is a part of a name.
    Named(String),
}

impl Device {
    /// The device that `WGPU_BCFSORT_DEVICE` names, or [`Auto`](Self::Auto) without it.
    #[must_use]
    pub fn from_environment() -> Self {
        let named = std::env::var(DEVICE).unwrap_or_default();
        let Ok(device) = named.parse();
        device
    }

    /// This device, or that of the environment for [`Auto`](Self::Auto), and the best adapter if
    /// the environment asks for one.
    ///
    /// [`Gpu`](Self::Gpu) is the adapter that the environment names, if it names one: so each of
    /// several processes can have a GPU of its own.
    #[must_use]
    pub fn or_environment(self) -> Self {
        let environment = Self::from_environment();
        match (self, environment) {
            (Self::Auto, Self::Auto) if adapter_required() => Self::Gpu,
            (Self::Auto, environment) => environment,
            (Self::Gpu, named @ Self::Named(_)) => named,
            (device, _) => device,
        }
    }

    /// The adapters that it names, among all adapters of a machine, best first.
    ///
    /// All of them for [`Auto`](Self::Auto), the first of which sorts if it is no software; none
    /// for [`Cpu`](Self::Cpu). A GPU that several backends list is taken once for
    /// [`All`](Self::All), and software adapters only where there is nothing else.
    ///
    /// # Errors
    ///
    /// [`NoDevice`], unless the CPU may sort.
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_auto::Device;
    /// let none = Device::Gpu.among(&[]).unwrap_err();
    /// assert!(none.to_string().starts_with("no GPU adapter found: "));
    /// assert!(Device::Cpu.among(&[]).unwrap().is_empty());
    /// ```
    pub fn among(&self, adapters: &[Adapter]) -> Result<Vec<Adapter>, NoDevice> {
        let infos: Vec<AdapterInfo> = adapters.iter().map(Adapter::get_info).collect();
        let chosen = self.indices(&infos)?;
        Ok(chosen.into_iter().map(|i| adapters[i].clone()).collect())
    }

    /// The numbers of the adapters that it names: see [`among`](Self::among).
    fn indices(&self, infos: &[AdapterInfo]) -> Result<Vec<usize>, NoDevice> {
        let found = match self {
            Self::Auto => return Ok((0..infos.len()).collect()),
            Self::Cpu => return Ok(Vec::new()),
            Self::Gpu => (0..infos.len()).take(1).collect(),
            Self::All => {
                // They are listed best first, so that of one backend all GPUs are listed.
                let first = infos.first();
                let alike = |info: &AdapterInfo| {
                    first.is_some_and(|first| {
                        info.backend == first.backend && is_software(info) == is_software(first)
                    })
                };
                // (Two drivers may list one GPU.)
                let bus = |i: usize| &infos[i].device_pci_bus_id;
                let again = |i: usize| !bus(i).is_empty() && (0..i).any(|j| bus(j) == bus(i));
                (0..infos.len())
                    .filter(|&i| alike(&infos[i]) && !again(i))
                    .collect()
            }
            Self::Named(name) => {
                let number = name.parse().ok().filter(|&i: &usize| i < infos.len());
                let part = name.to_lowercase();
                let by_name = |info: &AdapterInfo| info.name.to_lowercase().contains(&part);
                let named = || infos.iter().position(by_name).filter(|_| !name.is_empty());
                let found: Vec<usize> = number.or_else(named).into_iter().collect();
                if found.is_empty() && !infos.is_empty() {
                    return Err(NoDevice::Unknown {
                        name: name.clone(),
                        there: infos.iter().map(|info| info.name.clone()).collect(),
                    });
                }
                found
            }
        };
        if found.is_empty() {
            return Err(NoDevice::None);
        }
        Ok(found)
    }
}

impl FromStr for Device {
    type Err = std::convert::Infallible;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(match name.trim().to_ascii_lowercase().as_str() {
            "" | "auto" => Self::Auto,
            "cpu" => Self::Cpu,
            "gpu" => Self::Gpu,
            "all" => Self::All,
            _ => Self::Named(name.trim().to_owned()),
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::All => "all",
            Self::Named(name) => name,
        })
    }
}

/// No adapter is the one that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoDevice {
    /// The machine has none. The text says what seems to be missing.
    #[error("{}", wgpu_bcfsort::Error::NoAdapter)]
    None,
    /// None has this number or name.
    #[error("no adapter matches '{name}': there are {}", listed(.there))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names of the adapters.
        there: Vec<String>,
    },
}

/// The names with their numbers.
fn listed(names: &[String]) -> String {
    let numbered = names.iter().enumerate();
    let numbered: Vec<String> = numbered.map(|(i, name)| format!("{i}: {name}")).collect();
    numbered.join(", ")
}

/// The adapters of the machine, best first. The drivers are asked once in a process, since some
/// take a second to answer. A process that is forked asks again: it cannot use what its parent has.
#[must_use]
pub fn adapters() -> &'static [Adapter] {
    static ADAPTERS: Mutex<Option<(u32, &[Adapter])>> = Mutex::new(None);

    let mut listed = ADAPTERS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    match *listed {
        Some((of, adapters)) if of == process => adapters,
        _ => {
            // (What drivers made for a parent is not freed here.)
            let adapters: &'static [Adapter] = wgpu_bcfsort::adapters().leak();
            *listed = Some((process, adapters));
            adapters
        }
    }
}

/// The number of devices that sorters of this process have open: those that were opened for them.
#[must_use]
pub fn opened() -> usize {
    crate::opened::count()
}

/// Whether the environment asks for a GPU.
#[must_use]
pub fn adapter_required() -> bool {
    std::env::var_os(REQUIRE_ADAPTER).is_some_and(|value| value == "1")
}

/// Whether an adapter is a program on the CPU, such as lavapipe, which sorts slower than the CPU
/// does without it.
#[must_use]
pub fn is_software(info: &AdapterInfo) -> bool {
    info.device_type == DeviceType::Cpu
}

/// An adapter in one line: its name, backend and driver.
#[must_use]
pub fn describe(info: &AdapterInfo) -> String {
    let driver = [info.driver.as_str(), info.driver_info.as_str()];
    let driver: Vec<&str> = driver.into_iter().filter(|part| !part.is_empty()).collect();
    if driver.is_empty() {
        format!("{} ({})", info.name, info.backend)
    } else {
        format!("{} ({}, {})", info.name, info.backend, driver.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wgpu_bcfsort::wgpu::Backend;

    fn machine() -> Vec<AdapterInfo> {
        let adapter = |name: &str, backend, device_type| AdapterInfo {
            name: name.to_owned(),
            ..AdapterInfo::new(device_type, backend)
        };
        vec![
            adapter("GeForce RTX 4090", Backend::Vulkan, DeviceType::DiscreteGpu),
            adapter("Radeon RX 7900", Backend::Vulkan, DeviceType::DiscreteGpu),
            adapter("GeForce RTX 4090", Backend::Dx12, DeviceType::DiscreteGpu),
            adapter("llvmpipe", Backend::Vulkan, DeviceType::Cpu),
        ]
    }

    fn indices(name: &str) -> Result<Vec<usize>, NoDevice> {
        let Ok(device) = name.parse::<Device>();
        device.indices(&machine())
    }

    #[test]
    fn a_name_is_a_number_or_a_part_of_a_name() {
        for (name, expected) in [
            ("0", vec![0]),
            ("3", vec![3]),
            ("4090", vec![0]),
            ("radeon", vec![1]),
            (" LLVM ", vec![3]),
            ("gpu", vec![0]),
            ("All", vec![0, 1]),
            ("cpu", vec![]),
            ("", vec![0, 1, 2, 3]),
        ] {
            assert_eq!(indices(name), Ok(expected), "{name:?}");
        }
    }

    #[test]
    fn what_does_not_exist_is_an_error_that_lists_what_does() {
        let error = indices("arc").unwrap_err().to_string();
        assert!(
            error.contains("'arc'") && error.contains("1: Radeon RX 7900"),
            "{error}"
        );
        for device in [Device::Gpu, Device::All, Device::Named("0".to_owned())] {
            assert_eq!(device.indices(&[]), Err(NoDevice::None));
        }
        assert_eq!(Device::Auto.indices(&[]), Ok(Vec::new()));
    }

    #[test]
    fn a_gpu_that_two_drivers_list_is_taken_once() {
        let mut infos = machine();
        for (info, bus) in infos.iter_mut().zip(["0000:01:00.0", "0000:01:00.0"]) {
            bus.clone_into(&mut info.device_pci_bus_id);
        }
        assert_eq!(Device::All.indices(&infos), Ok(vec![0]));
    }

    #[test]
    fn all_are_software_only_where_there_is_nothing_else() {
        assert_eq!(Device::All.indices(&machine()[3..]), Ok(vec![0]));
    }

    #[test]
    fn names_are_written_as_they_are_read() {
        for name in ["auto", "cpu", "gpu", "all", "4090"] {
            let Ok(device) = name.parse::<Device>();
            assert_eq!(device.to_string(), name);
        }
    }
}
