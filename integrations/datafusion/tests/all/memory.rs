//! Sorts under limits of memory and disk, cancelled ones, and lost devices.

use crate::{always, metric, run, session_in, stock};
use bcfsort_datafusion::{BcfsortOptions, GpuPool, GpuSortRule, OnError, Switch};
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{Int64Type, UInt64Type};
use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, GreedyMemoryPool, MemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::{StreamExt, TryStreamExt};
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use wgpu_bcfsort::{Options, Sorter};

/// Rows of 128 bytes, which are made as they are read.
fn wide(rows: usize) -> String {
    format!(
        "SELECT (value * 7919) % 1000003 AS k, value AS v, \
         repeat(chr(65 + value % 26), 90) || value AS text \
         FROM range({rows}) ORDER BY k DESC, text"
    )
}

/// Summarises a result without holding it: whether it is in order by `k`, the number of its rows,
/// and the sum of their hashes.
async fn digest(session: &SessionContext, sql: &str) -> Result<(bool, u64, u64)> {
    let plan = session.sql(sql).await?.create_physical_plan().await?;
    let mut stream = execute_stream(plan, session.task_ctx())?;
    let (mut last, mut in_order, mut count, mut sum) = (i64::MAX, true, 0_u64, 0_u64);
    while let Some(batch) = stream.try_next().await? {
        let keys = batch.column(0).as_primitive::<Int64Type>();
        let values = batch.column(1).as_primitive::<Int64Type>();
        let texts = batch.column(2).as_string::<i32>();
        for row in 0..batch.num_rows() {
            let (key, value, text) = (keys.value(row), values.value(row), texts.value(row));
            in_order &= key <= last;
            last = key;
            let mut hasher = std::hash::DefaultHasher::new();
            (key, value, text).hash(&mut hasher);
            sum = sum.wrapping_add(hasher.finish());
            count += 1;
        }
    }
    Ok((in_order, count, sum))
}

/// Waits until a condition holds that other threads bring about.
async fn soon(seconds: u64, condition: impl Fn() -> bool) -> bool {
    let waits = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(seconds), waits)
        .await
        .is_ok()
}

/// Waits until memory that is freed on other threads is free.
async fn is_free(pool: &Arc<dyn MemoryPool>) -> bool {
    soon(10, || pool.reserved() == 0).await
}

/// The files that runs are spilled to, in a directory of the disk manager's.
fn files_in(directory: &Path) -> usize {
    let all = std::fs::read_dir(directory).expect("a directory");
    let inner = all
        .flatten()
        .flat_map(|entry| std::fs::read_dir(entry.path()));
    inner.map(Iterator::count).sum()
}

/// A sort of 1 GiB with 32 MiB of memory agrees with that of a `SortExec`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spills() {
    let rows = 8 << 20;
    let directory = tempfile::tempdir().expect("a directory");
    let disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Directories(vec![
        directory.path().to_owned(),
    ]));
    let pool = Arc::new(FairSpillPool::new(32 << 20));
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(pool)
        .with_disk_manager_builder(disk);
    let session = session_in(SessionConfig::new(), always(), runtime);
    let sql = wide(rows);
    let ours = digest(&session, &sql).await.expect("our result");
    assert_eq!((ours.0, ours.1), (true, rows as u64));
    let limited = format!("SELECT count(*) FROM ({sql} LIMIT 4000000)");
    let (_, plan) = run(&session, &limited).await.expect("a result");
    assert!(metric(&plan, "runs") > 10, "{} runs", metric(&plan, "runs"));
    assert_eq!(metric(&plan, "fallbacks"), 0);
    assert!(is_free(&session.runtime_env().memory_pool).await);
    assert!(soon(10, || files_in(directory.path()) == 0).await);
    let theirs = digest(&stock(SessionConfig::new()), &sql)
        .await
        .expect("their result");
    assert_eq!(ours, theirs);
}

/// Rows that are decoded from their keys are spilled and merged as others, and free their memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spills_rows_that_are_keys() {
    let rows = 2 << 20;
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::new(FairSpillPool::new(24 << 20)));
    let session = session_in(SessionConfig::new(), always(), runtime);
    let sql = format!("SELECT (value * 7919) % {rows} AS k FROM range({rows}) ORDER BY k");
    let (batches, plan) = run(&session, &sql).await.expect("a result");
    assert!(metric(&plan, "runs") > 1, "{} runs", metric(&plan, "runs"));
    assert_eq!(metric(&plan, "decoded_rows"), rows);
    assert!(keys(&batches).into_iter().eq(0..rows as i64));
    assert!(is_free(&session.runtime_env().memory_pool).await);
}

/// A pool that is too small for one batch fails, and the error says what to do.
#[tokio::test]
async fn too_little_memory() {
    let runtime =
        RuntimeEnvBuilder::new().with_memory_pool(Arc::new(GreedyMemoryPool::new(1 << 20)));
    let session = session_in(SessionConfig::new(), always(), runtime);
    let error = run(&session, &wide(200_000)).await.expect_err("no memory");
    assert!(
        error
            .to_string()
            .contains("datafusion.runtime.memory_limit"),
        "{error}"
    );
}

#[tokio::test]
async fn full_disk() {
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(32 << 20)))
        .with_disk_manager_builder(
            DiskManagerBuilder::default().with_max_temp_directory_size(1 << 20),
        );
    let session = session_in(SessionConfig::new(), always(), runtime);
    let error = run(&session, &wide(1 << 20)).await.expect_err("no space");
    assert!(
        error.to_string().contains("max_temp_directory_size"),
        "{error}"
    );
    assert!(is_free(&session.runtime_env().memory_pool).await);
}

/// A query that is dropped frees its memory and its files.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled() {
    let directory = tempfile::tempdir().expect("a directory");
    let files = || files_in(directory.path());
    let disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Directories(vec![
        directory.path().to_owned(),
    ]));
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(64 << 20)))
        .with_disk_manager_builder(disk);
    let session = session_in(SessionConfig::new(), always(), runtime);
    let pool = session.runtime_env().memory_pool.clone();
    // While it reads, while it sorts and spills, and while its result is read.
    for after in [1, 20, 200] {
        let plan = session.sql(&wide(4 << 20)).await.expect("a query");
        let plan = plan.create_physical_plan().await.expect("a plan");
        let mut stream = execute_stream(plan, session.task_ctx()).expect("a stream");
        let query = tokio::spawn(async move { stream.next().await.is_some() });
        let begun = soon(60, || pool.reserved() > 0 || query.is_finished()).await;
        assert!(begun, "nothing was reserved");
        tokio::time::sleep(Duration::from_millis(after)).await;
        query.abort();
        assert!(soon(60, || pool.reserved() == 0).await, "memory was kept");
        assert!(soon(60, || files() == 0).await, "files were kept");
    }
    // A stream that is dropped after its first batch.
    let plan = session.sql(&wide(1 << 17)).await.expect("a query");
    let plan = plan.create_physical_plan().await.expect("a plan");
    let mut stream = execute_stream(plan, session.task_ctx()).expect("a stream");
    assert!(stream.next().await.is_some());
    assert!(pool.reserved() > 0);
    drop(stream);
    assert!(soon(60, || pool.reserved() == 0).await, "memory was kept");
}

fn on_sorter(sorter: Sorter, options: BcfsortOptions) -> SessionContext {
    let rule = GpuSortRule::with_pool(Arc::new(GpuPool::of_sorter(sorter)));
    let state = SessionStateBuilder::new()
        .with_config(SessionConfig::new().with_option_extension(options))
        .with_default_features()
        .with_physical_optimizer_rule(Arc::new(rule))
        .build();
    SessionContext::new_with_state(state)
}

const SQL: &str = "SELECT (value * 7919) % 100003 AS k FROM range(100003) ORDER BY k";

fn keys(batches: &[RecordBatch]) -> Vec<i64> {
    let all = concat_batches(&batches[0].schema(), batches).expect("one batch");
    all.column(0).as_primitive::<Int64Type>().values().to_vec()
}

/// After its device was lost, a sort and all that follow give the right result.
#[tokio::test]
async fn lost_device() {
    let sorter = Sorter::open(Options::default()).expect("an adapter");
    let device = sorter.device().clone();
    let session = on_sorter(sorter, always());
    let sorted: Vec<i64> = (0..100_003).collect();
    let (batches, plan) = run(&session, SQL).await.expect("a result");
    assert_eq!(keys(&batches), sorted);
    assert_eq!(metric(&plan, "gpu_keys"), 100_003);

    device.destroy();
    let (batches, plan) = run(&session, SQL)
        .await
        .expect("a result without the device");
    assert_eq!(keys(&batches), sorted);
    assert_eq!(metric(&plan, "fallbacks"), 1);
    assert_eq!(metric(&plan, "cpu_keys"), 100_003);

    // Later plans do not use the device.
    let (batches, plan) = run(&session, SQL)
        .await
        .expect("a result without the device");
    assert_eq!(keys(&batches), sorted);
    assert_eq!(metric(&plan, "cpu_keys"), 0);
    let explained = run(&session, &format!("EXPLAIN {SQL}"))
        .await
        .expect("a plan")
        .0;
    let text = datafusion::arrow::util::pretty::pretty_format_batches(&explained);
    let text = text.expect("text").to_string();
    assert!(text.contains(" failed: "), "{text}");
}

#[tokio::test]
async fn lost_device_fails_on_request() {
    let sorter = Sorter::open(Options::default()).expect("an adapter");
    sorter.device().destroy();
    let mut options = always();
    options.on_error = OnError::Fail;
    let session = on_sorter(sorter, options);
    for _ in 0..2 {
        let error = run(&session, SQL).await.expect_err("a lost device");
        assert!(error.to_string().contains("lost"), "{error}");
    }
    let set = |on_error| format!("SET bcfsort.on_error = {on_error}");
    run(&session, &set("cpu")).await.expect("an option");
    run(&session, SQL).await.expect("a result of the CPU");
    // The loss of the device is known now.
    run(&session, &set("fail")).await.expect("an option");
    let error = run(&session, SQL).await.expect_err("a lost device");
    assert!(error.to_string().contains("lost"), "{error}");
}

/// Sorted rows that are not read yet take no thread from other sorts.
#[test]
fn one_thread_that_blocks() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(1)
        .enable_time()
        .build()
        .expect("a runtime");
    let mut options = always();
    options.single_run = Switch::Never;
    let config = SessionConfig::new()
        .with_target_partitions(4)
        .with_batch_size(128);
    let session = session_in(config, options, RuntimeEnvBuilder::new());
    let sql = "SELECT value % 1009 AS k, value AS v FROM range(400000) ORDER BY k DESC, v";
    let (batches, plan) = runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(60), run(&session, sql)).await })
        .expect("an end")
        .expect("a result");
    assert!(metric(&plan, "runs") > 1);
    assert!(keys(&batches).is_sorted_by(|a, b| a >= b));
}

/// Several sorts at once take turns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent() {
    let session = session_in(SessionConfig::new(), always(), RuntimeEnvBuilder::new());
    let query = |i: usize| {
        let session = session.clone();
        let sql = format!("SELECT (value * 7919) % 100003 AS k FROM range({i}, 100003) ORDER BY k");
        tokio::spawn(async move { run(&session, &sql).await.expect("a result").0 })
    };
    let queries: Vec<_> = (0..8).map(|i| query(i * 1000)).collect();
    for (i, query) in queries.into_iter().enumerate() {
        let keys = keys(&query.await.expect("no panic"));
        assert_eq!(keys.len(), 100_003 - i * 1000);
        assert!(keys.is_sorted());
    }
}

/// A window over sorted partitions, and two sorts in one plan.
#[tokio::test]
async fn several_sorts_in_a_plan() {
    let session = session_in(SessionConfig::new(), always(), RuntimeEnvBuilder::new());
    let sql = "SELECT g, v, row_number() OVER (PARTITION BY g ORDER BY v DESC) AS n FROM \
               (SELECT value % 7 AS g, (value * 31) % 1009 AS v FROM range(50000)) \
               ORDER BY g DESC, n";
    let (ours, plan) = run(&session, sql).await.expect("our result");
    assert_eq!(metric(&plan, "gpu_keys"), 100_000);
    let (theirs, _) = run(&stock(SessionConfig::new()), sql)
        .await
        .expect("their result");
    let schema = ours[0].schema();
    let numbers = |batches: &[RecordBatch]| {
        let all = concat_batches(&schema, batches).expect("one batch");
        let number = all.column(2).as_primitive::<UInt64Type>().values().to_vec();
        (all.column(0).clone(), all.column(1).clone(), number)
    };
    assert_eq!(numbers(&ours), numbers(&theirs));
}
