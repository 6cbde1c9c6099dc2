//! Sessions of the crate `datafusion`.

use crate::{BcfsortOptions, GpuSortRule};
use datafusion::execution::SessionStateBuilder;
use std::sync::Arc;

/// Makes a session sort on the GPU: adds [`GpuSortRule`] as the last rule, and [`BcfsortOptions`]
/// if they are missing.
///
/// Call it after all that sets the rules of the physical optimizer, or its defaults.
///
/// # Examples
///
/// ```
/// use bcfsort_datafusion::with_gpu_sort;
/// use datafusion::execution::SessionStateBuilder;
/// use datafusion::prelude::SessionContext;
///
/// # #[tokio::main]
/// # async fn main() -> datafusion::error::Result<()> {
/// let state = with_gpu_sort(SessionStateBuilder::new().with_default_features()).build();
/// let context = SessionContext::new_with_state(state);
/// context.sql("SET bcfsort.device = 'gpu'").await?.collect().await?;
/// let sorted = context.sql("SELECT value FROM range(300000) ORDER BY value % 1000, value").await?;
/// let batches = sorted.collect().await?;
/// assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 300_000);
/// # Ok(()) }
/// ```
#[must_use]
pub fn with_gpu_sort(mut builder: SessionStateBuilder) -> SessionStateBuilder {
    let config = builder.config().get_or_insert_default();
    if config
        .options()
        .extensions
        .get::<BcfsortOptions>()
        .is_none()
    {
        let extensions = &mut config.options_mut().extensions;
        extensions.insert(BcfsortOptions::default());
    }
    builder.with_physical_optimizer_rule(Arc::new(GpuSortRule::default()))
}
