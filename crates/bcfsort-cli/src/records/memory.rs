//! Sorts of records that are in memory already.

use super::lines::args::LineArgs;
use super::sorter::Records;
use bcfsort_term::engine::Contender;
use bcfsort_term::fault::Fault;
use std::sync::Mutex;
use wgpu_bcfsort::RecordFormat;

/// Sorts lines by their bytes: their first bytes with this contender, the rest on the CPU.
pub(crate) fn sort_lines(contender: Contender, mut text: Vec<u8>) -> Result<Vec<u8>, Fault> {
    let layout = LineArgs::default().plan(&[], None, false)?;
    let contender = Mutex::new(Some(contender));
    // Called once, since there is one sort.
    let choose = |_| {
        let taken = contender.lock().ok().and_then(|mut one| one.take());
        taken.ok_or_else(|| Fault::Device("a sorter is asked for twice".to_owned()))
    };
    let mut sorted = Vec::with_capacity(text.len());
    Records::new(&layout, false, &choose).sort(&mut text, &mut |block| {
        sorted.extend_from_slice(block);
        Ok(())
    })?;
    Ok(sorted)
}
