//! Times ORDER BY over TPC-H's lineitem, from Parquet files: DataFusion with and without the GPU.
//!
//! ```sh
//! cargo bench --all-features --bench order_by -- --scale 10 --dir /tmp/lineitem
//! ```
//!
//! The files are made if they are not there, and read once before the first measurement, so that
//! they are in the page cache. Rows of the result are counted and dropped. The engines take turns;
//! a time is the median.

use bcfsort_datafusion::{BcfsortOptions, GpuSortExec, with_gpu_sort};
use clap::Parser;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use futures::TryStreamExt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::LineItemArrow;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Arguments {
    /// TPC-H's scale: at 1, lineitem has 6 million rows
    #[arg(long, default_value_t = 1.0)]
    scale: f64,

    /// Directory of the files
    #[arg(long, default_value = "target/lineitem")]
    dir: PathBuf,

    /// Measurements of each query; 0 only makes the files
    #[arg(long, default_value_t = 3)]
    runs: usize,

    /// Measure only the queries whose names have this in them
    #[arg(long, default_value = "")]
    only: String,

    /// The device to compare with the CPU
    #[arg(long, default_value = "gpu")]
    device: String,

    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

/// The selected columns, the order and a name. A query without an order times the reading.
const QUERIES: [(&str, &str, &str); 8] = [
    ("*", "", "scan, all columns"),
    ("l_shipdate", "", "scan, l_shipdate"),
    ("l_shipdate", "l_shipdate", "l_shipdate"),
    (
        "l_shipdate, l_orderkey",
        "l_shipdate, l_orderkey",
        "l_shipdate, l_orderkey",
    ),
    ("l_comment", "l_comment", "l_comment"),
    ("*", "l_shipdate", "l_shipdate, all columns"),
    (
        "*",
        "l_shipdate, l_orderkey",
        "l_shipdate, l_orderkey, all columns",
    ),
    ("*", "l_comment", "l_comment, all columns"),
];

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    env_logger::init();
    generate(&arguments)?;
    if arguments.runs == 0 {
        return Ok(());
    }
    let sessions = ["cpu", &arguments.device].map(session);
    let names = ["DataFusion", "with bcfsort"];
    for session in &sessions {
        let dir = arguments.dir.to_string_lossy();
        let options = ParquetReadOptions::default();
        session.register_parquet("lineitem", dir, options).await?;
        // Opens the device, and reads all columns.
        time(session, "SELECT * FROM lineitem ORDER BY l_linenumber").await?;
    }
    println!("query,engine,seconds,least,details");
    for (columns, order, name) in QUERIES {
        if !name.contains(&arguments.only) {
            continue;
        }
        let order = if order.is_empty() {
            String::new()
        } else {
            format!(" ORDER BY {order}")
        };
        let sql = format!("SELECT {columns} FROM lineitem{order}");
        let mut all = [Vec::new(), Vec::new()];
        for _ in 0..arguments.runs {
            for (times, session) in all.iter_mut().zip(&sessions) {
                times.push(time(session, &sql).await?);
            }
        }
        for (mut times, engine) in all.into_iter().zip(names) {
            times.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (least, (median, details)) = (times[0].0, &times[times.len() / 2]);
            println!("\"{name}\",{engine},{median:.3},{least:.3},\"{details}\"");
        }
    }
    Ok(())
}

fn session(device: &str) -> SessionContext {
    let options = BcfsortOptions {
        device: device.to_owned(),
        ..BcfsortOptions::default()
    };
    let builder = SessionStateBuilder::new()
        .with_config(SessionConfig::new().with_option_extension(options))
        .with_default_features();
    SessionContext::new_with_state(with_gpu_sort(builder).build())
}

/// The seconds of a query, and where they went.
async fn time(session: &SessionContext, sql: &str) -> Result<(f64, String)> {
    let begin = Instant::now();
    let plan = session.sql(sql).await?.create_physical_plan().await?;
    let mut stream = execute_stream(plan.clone(), session.task_ctx())?;
    let mut rows = 0;
    while let Some(batch) = stream.try_next().await? {
        rows += batch.num_rows();
    }
    let seconds = begin.elapsed().as_secs_f64();
    Ok((seconds, format!("{rows} rows{}", details(&plan))))
}

fn details(plan: &Arc<dyn ExecutionPlan>) -> String {
    let mut details = String::new();
    let _ = plan.apply(|node| {
        let any: &dyn std::any::Any = node.as_ref();
        if let Some(metrics) = any
            .downcast_ref::<GpuSortExec>()
            .and_then(|sort| sort.metrics())
        {
            let value = |name| {
                metrics
                    .sum_by_name(name)
                    .map_or(0, |value| value.as_usize())
            };
            details += &format!("; {} sorts; {} bits", value("runs"), value("key_bits"));
            details += &format!("; {} rows decoded", value("decoded_rows"));
            for name in [
                "encode_time",
                "gpu_time",
                "cpu_time",
                "tie_time",
                "gather_time",
            ] {
                details += &format!("; {name} {:.3}", value(name) as f64 * 1e-9);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    });
    details
}

/// Writes lineitem in one file for each core.
fn generate(arguments: &Arguments) -> Result<()> {
    if arguments.dir.exists() {
        return Ok(());
    }
    let begin = Instant::now();
    std::fs::create_dir_all(&arguments.dir)?;
    let parts = std::thread::available_parallelism()?.get() as i32;
    std::thread::scope(|scope| {
        let part = |part: i32| {
            let path = arguments.dir.join(format!("{part:03}.parquet"));
            scope.spawn(move || write(&path, arguments.scale, part, parts))
        };
        let threads: Vec<_> = (1..=parts).map(part).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("a part"))
    })?;
    eprintln!("made {} in {:?}", arguments.dir.display(), begin.elapsed());
    Ok(())
}

fn write(path: &Path, scale: f64, part: i32, parts: i32) -> Result<()> {
    let rows = LineItemArrow::new(LineItemGenerator::new(scale, part, parts));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let schema = LineItemArrow::schema_ref();
    let mut writer = ArrowWriter::try_new(File::create(path)?, schema, Some(properties))?;
    for batch in rows {
        writer.write(&batch?)?;
    }
    writer.close()?;
    Ok(())
}
