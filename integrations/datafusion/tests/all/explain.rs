//! The output of `EXPLAIN`.

use crate::devices::environment_names_one;
use crate::{always, run, session};
use bcfsort_auto::device::{adapters, is_software};
use bcfsort_datafusion::{BcfsortOptions, Switch};
use datafusion::arrow::array::{Array, AsArray};
use datafusion::prelude::{SessionConfig, SessionContext};

fn config() -> SessionConfig {
    SessionConfig::new().with_target_partitions(4)
}

async fn with_table(options: BcfsortOptions) -> SessionContext {
    let session = session(config(), options);
    let table = "CREATE TABLE t AS SELECT value AS id, value % 7 AS k, value % 2 = 0 AS even, \
                 chr(65 + value % 26) AS word, [value] AS list FROM range(300000)";
    run(&session, table).await.expect("a table");
    session
}

/// The lines of a plan from the sort on, as far as it is of interest here.
async fn plan(session: &SessionContext, sql: &str) -> Vec<String> {
    let batches = run(session, &format!("EXPLAIN {sql}"))
        .await
        .expect("a plan")
        .0;
    let column = batches[0]
        .column_by_name("plan")
        .expect("plans")
        .as_string::<i32>();
    let text = column.value(column.len() - 1);
    let is_sort = |line: &&str| line.contains("Sort") || line.contains("CoalescePartitions");
    text.lines()
        .filter(is_sort)
        .map(|line| line.trim().to_owned())
        .collect()
}

#[tokio::test]
async fn all_partitions_at_once() {
    let session = with_table(always()).await;
    assert_eq!(
        plan(&session, "SELECT * FROM t ORDER BY k DESC, id").await,
        [
            "GpuSortExec: expr=[k@1 DESC, id@0 ASC NULLS LAST], preserve_partitioning=[false], \
             keys=[Int64 Int64], at most 128 bits",
            "CoalescePartitionsExec",
        ]
    );
}

/// A projection between the merge and the sorts does not matter.
#[tokio::test]
async fn columns_in_another_order() {
    let session = with_table(always()).await;
    let lines = plan(&session, "SELECT word, k FROM t ORDER BY k, word").await;
    assert!(
        lines
            .iter()
            .all(|line| !line.starts_with("SortPreservingMergeExec"))
    );
    assert!(
        lines.iter().any(|line| line.starts_with("GpuSortExec")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn partitions_by_themselves() {
    let session = with_table(always()).await;
    run(&session, "SET bcfsort.single_run = never")
        .await
        .expect("an option");
    assert_eq!(
        plan(&session, "SELECT even, word FROM t ORDER BY even").await,
        [
            "SortPreservingMergeExec: [even@0 ASC NULLS LAST]",
            "GpuSortExec: expr=[even@0 ASC NULLS LAST], preserve_partitioning=[true], \
             keys=[Boolean], at most 1 bit",
        ]
    );
}

#[tokio::test]
async fn reasons() {
    let session = with_table(always()).await;
    let cases = [
        (
            "SELECT list FROM t ORDER BY list",
            "cpu=[the GPU has no keys for List(Int64)]",
        ),
        (
            "SELECT id FROM t ORDER BY k, id LIMIT 10",
            "cpu=[the limit is small]",
        ),
    ];
    for (sql, reason) in cases {
        let plan = plan(&session, sql).await;
        assert!(
            plan.iter().any(|line| line.ends_with(reason)),
            "{sql}: {plan:?}"
        );
    }
    if environment_names_one() {
        return;
    }
    run(&session, "SET bcfsort.device = 'auto'")
        .await
        .expect("an option");
    let few = "SELECT column1 FROM (VALUES (2), (1)) ORDER BY column1";
    let few = plan(&session, few).await;
    let reason = "cpu=[2 rows are too few for a GPU]";
    assert!(few.iter().any(|line| line.ends_with(reason)), "{few:?}");
    let many = "SELECT t.id FROM t, range(100000) ORDER BY t.id";
    let many = plan(&session, many).await;
    let text = match adapters().first() {
        None => "cpu=[no GPU adapter found]",
        Some(best) if is_software(&best.get_info()) => " is software]",
        Some(_) => "GpuSortExec",
    };
    assert!(many.iter().any(|line| line.contains(text)), "{many:?}");
}

#[tokio::test]
async fn switched_off() {
    let session = with_table(always()).await;
    run(&session, "SET bcfsort.device = 'cpu'")
        .await
        .expect("an option");
    assert_eq!(
        plan(&session, "SELECT id FROM t ORDER BY id").await,
        [
            "SortPreservingMergeExec: [id@0 ASC NULLS LAST]",
            "SortExec: expr=[id@0 ASC NULLS LAST], preserve_partitioning=[true]",
        ]
    );
}

#[tokio::test]
async fn options() {
    let session = session(config(), BcfsortOptions::default());
    for (option, value) in [
        ("single_run", "perhaps"),
        ("on_error", "perhaps"),
        ("min_rows", "1"),
    ] {
        let error = run(&session, &format!("SET bcfsort.{option} = {value}")).await;
        let error = error.expect_err(option).to_string();
        assert!(
            error.contains("perhaps") || error.contains(option),
            "{error}"
        );
    }
    run(&session, "SET bcfsort.single_run = always")
        .await
        .expect("an option");
    let config = session.copied_config();
    let options = config.options().extensions.get::<BcfsortOptions>();
    assert_eq!(options.expect("options").single_run, Switch::Always);
}

#[tokio::test]
async fn analyzed() {
    let session = with_table(always()).await;
    let batches = run(&session, "EXPLAIN ANALYZE SELECT * FROM t ORDER BY k, word")
        .await
        .expect("a plan")
        .0;
    let text = batches[0].column(1).as_string::<i32>().value(0).to_owned();
    let line = text
        .lines()
        .find(|line| line.contains("GpuSortExec"))
        .expect("a sort");
    for metric in [
        "output_rows=300.0 K",
        "gpu_keys=300.0 K",
        "cpu_keys=0",
        "fallbacks=0",
        "runs=1",
        "spill_count=0",
        "encode_time=",
        "gpu_time=",
        "tie_time=",
        "gather_time=",
    ] {
        assert!(line.contains(metric), "{metric} in {line}");
    }
}
