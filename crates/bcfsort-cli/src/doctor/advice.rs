//! What to do where there is no adapter: what the machine has, and what to install.

use std::env;
use std::path::Path;
use wgpu_bcfsort::{requirements, wgpu};

/// Variables by which the Vulkan loader leaves out drivers.
const DRIVERS: [&str; 3] = [
    "VK_DRIVER_FILES",
    "VK_ICD_FILENAMES",
    "VK_LOADER_DRIVERS_DISABLE",
];

/// Folders of the Vulkan loader, with a file for each driver.
const MANIFESTS: [&str; 4] = [
    "/etc/vulkan/icd.d",
    "/usr/share/vulkan/icd.d",
    "/usr/local/etc/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
];

/// The names of set variables that change what wgpu, the Vulkan loader or this program finds.
pub(super) fn environment() -> Vec<String> {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_told(name)).collect();
    names.sort_unstable();
    names
}

fn is_told(name: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = ["WGPU_", "VK_"].iter().any(|start| name.starts_with(start));
    starts && name.chars().all(is_name)
}

/// Adapters that cannot sort, each with the reason.
pub(super) fn refused() -> Vec<String> {
    let instance =
        wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    let refused = adapters.iter().filter_map(|adapter| {
        let error = requirements(adapter).err()?;
        let info = adapter.get_info();
        Some(format!(
            "{} ({}) cannot sort: {error}",
            info.name, info.backend
        ))
    });
    refused.collect()
}

/// Advice, one line each, for a machine without an adapter.
pub(super) fn without_an_adapter(environment: &[String]) -> Vec<String> {
    let mut advice = Vec::new();
    let is_set = |name: &str| environment.iter().any(|set| set == name);
    for name in DRIVERS.into_iter().filter(|name| is_set(name)) {
        advice.push(format!(
            "{name} is set, so the Vulkan loader leaves out drivers: run again without it"
        ));
    }
    if is_set("WGPU_BACKEND") {
        let told = "WGPU_BACKEND is set, so wgpu tries that backend only: run again without it";
        advice.push(told.to_owned());
    }
    if cfg!(target_os = "linux") {
        advice.extend(of_linux());
    }
    let install = if cfg!(target_os = "linux") {
        "install the Vulkan driver of the GPU: on Debian and Ubuntu mesa-vulkan-drivers for AMD \
         and Intel, that of NVIDIA for its own. Without a GPU, mesa-vulkan-drivers has lavapipe, a \
         driver in software"
    } else if cfg!(windows) {
        "install the driver of the GPU from its vendor; without a GPU, Windows has WARP, a driver \
         in software"
    } else if cfg!(target_os = "macos") {
        "Metal is part of macOS; a virtual machine may have none"
    } else {
        "install the Vulkan driver of the GPU"
    };
    advice.push(install.to_owned());
    advice
}

/// What Linux has for a driver.
fn of_linux() -> Vec<String> {
    let mut found = Vec::new();
    let folders = MANIFESTS
        .into_iter()
        .filter_map(|f| std::fs::read_dir(f).ok());
    // Packages give these names, which tell the driver.
    let names =
        (folders.flatten().flatten()).filter_map(|file| file.file_name().into_string().ok());
    let mut drivers: Vec<String> = names.filter(|name| name.ends_with(".json")).collect();
    drivers.sort_unstable();
    found.push(if drivers.is_empty() {
        "no Vulkan driver is installed: there is no file in the icd.d folders".to_owned()
    } else {
        format!("Vulkan drivers that are installed: {}", drivers.join(", "))
    });
    let exists = |path: &str| Path::new(path).exists();
    if exists("/dev/nvidiactl") {
        let told = "there is an NVIDIA GPU: in a container, its Vulkan driver needs \
                    NVIDIA_DRIVER_CAPABILITIES=graphics, or all";
        found.push(told.to_owned());
    }
    const GPU: &str = "/dev/dri/renderD128";
    let mut options = std::fs::OpenOptions::new();
    if exists(GPU) && options.read(true).write(true).open(GPU).is_err() {
        let told = "this user may not open the GPU: add the user to the group 'render'";
        found.push(told.to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_variables_of_drivers_and_of_this_program_are_told() {
        for name in ["WGPU_BACKEND", "WGPU_BCFSORT_DEVICE", "VK_DRIVER_FILES"] {
            assert!(is_told(name), "{name}");
        }
        for name in ["HOME", "PATH", "USER", "MY_VK_TOKEN", "VK_/home/me", "vk_x"] {
            assert!(!is_told(name), "{name}");
        }
    }

    #[test]
    fn a_variable_that_hides_drivers_is_advised_against() {
        let advice = without_an_adapter(&["VK_DRIVER_FILES".to_owned()]);
        assert!(
            advice[0].starts_with("VK_DRIVER_FILES is set"),
            "{advice:?}"
        );
        let last = advice.last().unwrap();
        assert!(!cfg!(target_os = "linux") || last.contains("mesa-vulkan-drivers"));
    }
}
