//! The queries of TPC-H, on generated tables.

use crate::{always, metric, run, session, slt::package, stock};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::sync::Arc;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

/// The scale of TPC-H: at 1, lineitem has 6 million rows.
fn scale() -> f64 {
    let set = std::env::var("TPCH_SCALE").map(|scale| scale.parse().expect("a number"));
    set.unwrap_or(0.1)
}

type Table = (&'static str, SchemaRef, Vec<Vec<RecordBatch>>);

/// A table in four partitions.
macro_rules! table {
    ($name:literal, $arrow:ident, $generator:ident) => {{
        let rows = $arrow::new($generator::new(scale(), 1, 1));
        let schema = $arrow::schema_ref();
        let mut partitions = vec![Vec::new(); 4];
        for (i, batch) in rows.enumerate() {
            partitions[i % 4].push(batch.expect("a batch"));
        }
        ($name, schema, partitions)
    }};
}

fn tables() -> Vec<Table> {
    vec![
        table!("nation", NationArrow, NationGenerator),
        table!("region", RegionArrow, RegionGenerator),
        table!("part", PartArrow, PartGenerator),
        table!("supplier", SupplierArrow, SupplierGenerator),
        table!("partsupp", PartSuppArrow, PartSuppGenerator),
        table!("customer", CustomerArrow, CustomerGenerator),
        table!("orders", OrderArrow, OrderGenerator),
        table!("lineitem", LineItemArrow, LineItemGenerator),
    ]
}

/// The statements of a query, from DataFusion's tests: the query is the last one that returns rows.
fn statements(number: usize) -> Vec<String> {
    let path = package().join(format!("test_files/tpch/answers/q{number}.slt.part"));
    let text = std::fs::read_to_string(path).expect("a query");
    let mut statements = Vec::new();
    let mut current: Option<String> = None;
    for line in text.lines() {
        let begins = line.starts_with("query ") || line.starts_with("statement ");
        match &mut current {
            None if begins => current = Some(String::new()),
            Some(sql) if line.trim() == "----" || line.trim().is_empty() => {
                statements.push(sql.clone());
                current = None;
            }
            Some(sql) => *sql += &format!("{line}\n"),
            None => {}
        }
    }
    statements.extend(current);
    statements
}

async fn results(session: &SessionContext, number: usize) -> (Vec<String>, usize) {
    let mut texts = Vec::new();
    let mut keys = 0;
    for sql in statements(number) {
        let (batches, plan) = run(session, &sql).await.expect(&sql);
        keys += metric(&plan, "gpu_keys") + metric(&plan, "cpu_keys");
        texts.push(pretty_format_batches(&batches).expect("text").to_string());
    }
    (texts, keys)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_queries() {
    let mut options = always();
    // The limits of the queries are small: here they are sorted on the GPU all the same.
    options.topk_min_fetch = 0;
    let config = SessionConfig::new().with_target_partitions(4);
    let ours = session(config.clone(), options);
    let theirs = stock(config);
    for (name, schema, partitions) in tables() {
        let table = Arc::new(MemTable::try_new(schema, partitions).expect("a table"));
        ours.register_table(name, table.clone()).expect("a name");
        theirs.register_table(name, table).expect("a name");
    }
    let mut sorted = 0;
    for number in 1..=22 {
        let (got, keys) = results(&ours, number).await;
        let (wanted, _) = results(&theirs, number).await;
        assert_eq!(got, wanted, "query {number}");
        sorted += usize::from(keys > 0);
    }
    // All but those whose result has one row.
    assert!(sorted >= 15, "{sorted} queries sorted something");
}

/// Whole tables, with all columns moved.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lineitem() {
    let ours = session(SessionConfig::new(), always());
    let theirs = stock(SessionConfig::new());
    let (name, schema, partitions) = table!("lineitem", LineItemArrow, LineItemGenerator);
    let table = Arc::new(MemTable::try_new(schema.clone(), partitions).expect("a table"));
    ours.register_table(name, table.clone()).expect("a name");
    theirs.register_table(name, table).expect("a name");
    let unique = "l_orderkey, l_linenumber";
    for order in ["l_shipdate", "l_shipdate DESC, l_orderkey", "l_comment"] {
        let sql = format!("SELECT * FROM lineitem ORDER BY {order}, {unique}");
        let (got, plan) = run(&ours, &sql).await.expect("our result");
        let (wanted, _) = run(&theirs, &sql).await.expect("their result");
        assert!(metric(&plan, "gpu_keys") >= 600_000);
        let got = concat_batches(&schema, &got).expect("one batch");
        assert!(
            got == concat_batches(&schema, &wanted).expect("one batch"),
            "{order}"
        );
    }
}
