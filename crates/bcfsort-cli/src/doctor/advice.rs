//! Why there may be no adapter, beside what the library's error says of this machine.

use std::env;
use wgpu_bcfsort::{requirements, wgpu};

/// Variables by which the Vulkan loader leaves out drivers.
const DRIVERS: [&str; 3] = [
    "VK_DRIVER_FILES",
    "VK_ICD_FILENAMES",
    "VK_LOADER_DRIVERS_DISABLE",
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

/// Variables that may be why there is no adapter, a line for each.
pub(super) fn of_variables(environment: &[String]) -> Vec<String> {
    let is_set = |name: &&str| environment.iter().any(|set| set == name);
    let mut advice: Vec<String> = (DRIVERS.iter().filter(|name| is_set(name)))
        .map(|name| {
            format!("{name} is set, so the Vulkan loader leaves out drivers: run again without it")
        })
        .collect();
    if is_set(&"WGPU_BACKEND") {
        let told = "WGPU_BACKEND is set, so wgpu tries that backend only: run again without it";
        advice.push(told.to_owned());
    }
    advice
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
        let advice = of_variables(&["VK_DRIVER_FILES".to_owned()]);
        assert!(
            advice[0].starts_with("VK_DRIVER_FILES is set"),
            "{advice:?}"
        );
        assert_eq!(of_variables(&[]), Vec::<String>::new());
    }
}
