//! Where sorts are done: by the option, by arguments and by the environment.

use crate::command::stderr;
use crate::{gpu_sorts, metric, on, run, session};
use bcfsort_auto::device::{DEVICE, REQUIRE_ADAPTER, adapter_required, adapters};
use bcfsort_datafusion::{BcfsortOptions, Device, GpuPool};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::process::{Command, Output};
use std::sync::Arc;

const ROWS: usize = 5000;
const SQL: &str = "SELECT (value * 7919) % 5003 AS k FROM range(5000) ORDER BY k";

/// Whether the environment sets the default device.
pub(crate) fn environment_names_one() -> bool {
    std::env::var_os(DEVICE).is_some() || adapter_required()
}

async fn text(session: &SessionContext, sql: &str) -> String {
    let batches = run(session, sql).await.expect(sql).0;
    pretty_format_batches(&batches).expect(sql).to_string()
}

fn best() -> String {
    let best = adapters().first().expect("an adapter");
    best.get_info().name
}

fn named(name: &str) -> Device {
    let Ok(device) = name.parse();
    device
}

#[tokio::test]
async fn a_device_has_many_names() {
    let session = session(SessionConfig::new(), BcfsortOptions::default());
    let part = best()[1..5].to_uppercase();
    for name in ["gpu", "ALL", "0", &part] {
        let set = format!("SET bcfsort.device = '{name}'");
        run(&session, &set).await.expect(name);
        let (_, plan) = run(&session, SQL).await.expect(name);
        assert_eq!(metric(&plan, "gpu_keys"), ROWS, "{name}");
    }
    run(&session, "SET bcfsort.device = cpu")
        .await
        .expect("cpu");
    let (_, plan) = run(&session, SQL).await.expect("cpu");
    assert!(gpu_sorts(&plan).is_empty());
}

#[test]
fn a_gpu_has_one_pool() {
    let pool = |name: &str| GpuPool::of_device(&named(name)).expect(name);
    let first = pool("gpu");
    for name in ["0", &best(), &best()[..4].to_lowercase(), "auto"] {
        assert!(Arc::ptr_eq(&first, &pool(name)), "{name}");
    }
    if adapters().len() > 1 {
        assert!(!Arc::ptr_eq(&first, &pool("1")));
    } else {
        assert!(Arc::ptr_eq(&first, &pool("all")));
    }
}

#[tokio::test]
async fn an_unknown_device_is_an_error_that_lists_all() {
    let session = session(SessionConfig::new(), on("no such adapter"));
    let error = run(&session, SQL).await.expect_err("no such adapter");
    let error = error.to_string();
    let listed = format!(
        "no adapter matches 'no such adapter': there are 0: {}",
        best()
    );
    assert!(error.contains(&listed), "{error}");
    // Without a sort, the device is not needed.
    run(&session, "SELECT 1").await.expect("a result");
}

#[tokio::test]
async fn the_option_is_shown() {
    let config = SessionConfig::new().with_information_schema(true);
    let session = session(config, BcfsortOptions::default());
    let show = "SHOW bcfsort.device";
    assert!(
        text(&session, show)
            .await
            .contains("| bcfsort.device | auto ")
    );
    run(&session, "SET bcfsort.device = 'RTX 4090'")
        .await
        .expect("an option");
    assert!(text(&session, show).await.contains("| RTX 4090 "));
}

/// The command, with the device that the environment names.
fn command(environment: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bcfsort-sql"));
    command.env_remove(DEVICE).env_remove(REQUIRE_ADAPTER);
    command.envs(environment.iter().copied()).args(arguments);
    command.output().expect("the command")
}

#[test]
fn the_environment_names_a_device_where_none_is_named() {
    let explain = format!("EXPLAIN {SQL}");
    let is_on_gpu = |environment: &[(&str, &str)], arguments: &[&str]| {
        let all = [arguments, &["-c", &explain]].concat();
        let output = command(environment, &all);
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).contains("GpuSortExec")
    };
    assert!(!is_on_gpu(&[], &[]));
    assert!(is_on_gpu(&[(DEVICE, "0")], &[]));
    assert!(is_on_gpu(&[(REQUIRE_ADAPTER, "1")], &[]));
    assert!(is_on_gpu(&[], &["--adapter", "0"]));
    assert!(is_on_gpu(&[(DEVICE, "cpu")], &["--device", "gpu"]));
    assert!(!is_on_gpu(&[(DEVICE, "gpu")], &["--device", "cpu"]));
}

#[test]
fn a_command_refuses_an_unknown_device_before_it_reads() {
    let sort = ["sort", "none.csv", "--by", "k", "-o", "none-sorted.csv"];
    let unknown = [&sort[..], &["--device", "arc"]].concat();
    for output in [
        command(&[], &unknown),
        command(&[(DEVICE, "arc")], &sort),
        command(&[(DEVICE, "arc")], &["-c", "SELECT 1"]),
    ] {
        assert!(!output.status.success());
        let error = stderr(&output);
        let listed = format!("error: no adapter matches 'arc': there are 0: {}", best());
        assert!(error.starts_with(&listed), "{error}");
    }
}
