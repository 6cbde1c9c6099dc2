//! The gates of DXC, the compiler that wgpu uses for DX12 if an application ships it.

use crate::gate::{Gate, Subject, altered, caught};
use crate::hlsl::{ENTRY, exceeds_workgroup_memory, sound, write};
use crate::tools;
use hassle_rs::{Dxc, DxcOperationResult, Dxil, HassleError};
use naga::back::hlsl::ShaderModel;
use std::sync::OnceLock;

/// One shader model. wgpu uses the newest that the device and the compiler have.
pub(crate) struct DxcGate {
    model: ShaderModel,
    name: &'static str,
    /// Loaded once, by `ready`.
    dxc: OnceLock<Dxc>,
}

impl DxcGate {
    /// The oldest model that DXC compiles for.
    pub(crate) const fn v6_0() -> Self {
        Self {
            model: ShaderModel::V6_0,
            name: "DXC 6.0",
            dxc: OnceLock::new(),
        }
    }

    /// The model of current devices.
    pub(crate) const fn v6_6() -> Self {
        Self {
            model: ShaderModel::V6_6,
            name: "DXC 6.6",
            dxc: OnceLock::new(),
        }
    }

    /// Compiles with wgpu's arguments.
    fn compile(&self, text: &str) -> Result<(), String> {
        const ARGUMENTS: [&str; 4] = ["-HV", "2018", "-no-warnings", "-Ges"];

        let fail = |e: HassleError| e.to_string();
        let dxc = self.dxc.get().ok_or("the compiler is not loaded")?;
        let library = dxc.create_library().map_err(fail)?;
        let compiler = dxc.create_compiler().map_err(fail)?;
        // Points into the text, which must outlive it.
        let source = library
            .create_blob_with_encoding_from_str(text)
            .map_err(fail)?;
        let said = |result: &DxcOperationResult| {
            let said = result.get_error_buffer()?;
            library.get_blob_as_string(&said.into())
        };
        let profile = format!("cs_{}", self.model.to_str());
        match compiler.compile(&source, "", ENTRY, &profile, &ARGUMENTS, None, &[]) {
            Ok(_) => Ok(()),
            Err((result, _)) => Err(said(&result).map_err(fail)?),
        }
    }
}

impl Gate for DxcGate {
    fn name(&self) -> &'static str {
        self.name
    }

    fn catches(&self) -> &'static str {
        "HLSL that DX12's compiler refuses, and DXIL that its validator refuses"
    }

    fn leaves_out(&self, subject: &Subject) -> Option<&'static str> {
        exceeds_workgroup_memory(subject)
    }

    fn ready(&self) -> Result<String, String> {
        let library = tools::installed("dxc/libdxcompiler.so")?;
        let fingerprint = tools::fingerprint(&library)?;
        let fail = |e: HassleError| e.to_string();
        let dxc = Dxc::new(Some(library.clone())).map_err(fail)?;
        // The validator is in the same library, and checks the compiler's output.
        let validator = Dxil::new(Some(library)).and_then(|dxil| dxil.create_validator());
        let (major, minor) = validator.and_then(|v| v.version()).map_err(fail)?;
        let _ = self.dxc.set(dxc);
        Ok(format!(
            "DXC with DXIL validator {major}.{minor}, library {fingerprint}"
        ))
    }

    fn examine(&self, subject: &Subject) -> Result<(), String> {
        // Unchecked, as the library compiles it, and checked if it may contain a user's text.
        let forms: &[bool] = match self.model {
            ShaderModel::V6_0 if subject.kernel.role().is_some() => &[false, true],
            _ => &[false],
        };
        for &checked in forms {
            let form = if checked { "checked" } else { "unchecked" };
            write(subject, self.model, checked)
                .and_then(|text| self.compile(&text))
                .map_err(|e| format!("{form}: {e}"))?;
        }
        Ok(())
    }

    fn planted(&self) -> Result<String, String> {
        let plant = |fault, piece, by, reason| {
            let outcome = self.compile(&altered(&sound(self.model)?, piece, by)?);
            caught(fault, outcome, reason)
        };
        self.compile(&sound(self.model)?)?;
        let mut all = vec![
            plant(
                "a sum of a number and a structure",
                "uint origin = (start + ",
                "uint origin = (params + ",
                "scalar, vector, or matrix expected",
            )?,
            plant(
                "64 KiB of workgroup memory",
                "groupshared uint tile[1024];",
                "groupshared uint tile[16384];",
                "Total Thread Group Shared Memory storage is 65536, exceeded 32768",
            )?,
        ];
        if self.model < ShaderModel::V6_6 {
            all.push(plant(
                "an attribute of shader model 6.6",
                "[numthreads(64, 1, 1)]",
                "[numthreads(64, 1, 1)] [WaveSize(32)]",
                "attribute wavesize requires shader model 6.6",
            )?);
        }
        Ok(all.join("; "))
    }
}
