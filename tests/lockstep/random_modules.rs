//! Random shaders in the executor. It runs all of them within its limits, gives the same result
//! each time, and its counts are consistent.

use bcfsort_testkit::random_wgsl::{Module, Style, generate};
use proptest::prelude::*;
use wgsl_lockstep::{Banks, Buffers, Config, Fault, Report, Shader, Site, Space};

fn run(module: &Module, shader: &Shader, config: &Config, seed: u32) -> (Buffers, Report) {
    let mut buffers = module.buffers(shader, seed);
    let report = shader.run(&mut buffers, module.workgroups, config).unwrap();
    (buffers, report)
}

/// The part of a report that does not depend on the warp or the banks.
fn verdicts(report: &Report) -> Vec<String> {
    report
        .findings
        .iter()
        .map(|f| {
            format!(
                "{:?} {:?} {:?} {:?} {}",
                f.fault, f.space, f.location, f.other, f.count
            )
        })
        .collect()
}

fn check_counts(report: &Report, config: &Config) {
    let key = |i: usize| (report.sites[i].location, report.sites[i].kind);
    assert!((1..report.sites.len()).all(|i| key(i - 1) <= key(i)));
    for site in &report.sites {
        let check = |banks: &Banks| {
            assert!(banks.conflict_free <= site.accesses, "{site:?}");
            assert!(banks.cycles >= banks.min_cycles, "{site:?}");
            assert!(banks.min_cycles >= site.accesses, "{site:?}");
            assert!(
                banks.max_degree <= config.warp * site.bytes.div_ceil(4),
                "{site:?}"
            );
            let free = banks.conflict_free == site.accesses;
            assert_eq!(free, banks.cycles == banks.min_cycles, "{site:?}");
            assert_eq!(free, banks.max_degree <= 1, "{site:?}");
        };
        assert!(
            site.lanes >= site.accesses && site.lanes <= site.accesses * u64::from(config.warp)
        );
        assert!(site.sectors >= site.min_sectors, "{site:?}");
        match site.space {
            Space::Workgroup => {
                check(&site.banks);
                check(&site.banks_by_word);
                assert_eq!(site.bank_degrees.len(), config.banks as usize);
                let most = site.bank_degrees.iter().max().copied();
                assert_eq!(most, Some(site.banks_by_word.max_degree));
            }
            Space::Storage => assert!(site.accesses == 0 || site.min_sectors > 0, "{site:?}"),
            _ => {}
        }
    }
    assert!(report.findings.is_sorted_by_key(|f| (f.location, f.fault)));
}

/// An oblivious site has the same counts for all data.
fn check_oblivious(one: &Report, other: &Report, wgsl: &str) {
    let oblivious = |report: &Report| -> Vec<Site> {
        report
            .sites
            .iter()
            .filter(|site| site.oblivious)
            .cloned()
            .collect()
    };
    let is_same_site = |a: &Site, b: &Site| {
        (a.location, a.kind, a.space, a.bytes, &a.variable)
            == (b.location, b.kind, b.space, b.bytes, &b.variable)
    };
    for site in oblivious(one) {
        let counterpart = other.sites.iter().find(|s| is_same_site(s, &site));
        assert_eq!(
            Some(&site),
            counterpart,
            "{}\n{wgsl}",
            site.location.excerpt(wgsl)
        );
    }
}

fn check(module: &Module) {
    let config = Config::default();
    let Some(shader) = module.shader() else {
        return;
    };
    let (buffers, report) = run(module, &shader, &config, 0);
    check_counts(&report, &config);
    let errors: Vec<_> = report
        .findings
        .iter()
        .filter(|f| match f.fault {
            // The loops are bounded, and barriers are in uniform control flow.
            Fault::Runaway | Fault::DivergentBarrier => true,
            _ => module.style == Style::Exact && f.fault.is_error(),
        })
        .collect();
    assert!(errors.is_empty(), "{errors:?}");

    let (again, reported) = run(module, &shader, &config, 0);
    assert_eq!((&again, &reported), (&buffers, &report));
    let (_, others) = run(module, &shader, &config, 1);
    check_oblivious(&report, &others, &module.wgsl);
    check_oblivious(&others, &report, &module.wgsl);

    for (warp, banks) in [(4, 64), (64, 7)] {
        let config = Config::default().warp(warp).banks(banks);
        let (other, reported) = run(module, &shader, &config, 0);
        check_counts(&reported, &config);
        assert_eq!(other, buffers);
        assert_eq!(verdicts(&reported), verdicts(&report));
        assert_eq!(reported.lane_instructions, report.lane_instructions);
    }
}

proptest! {
    #![proptest_config(
        ProptestConfig {
            cases: 120,
            failure_persistence: None,
            max_shrink_iters: 400,
            ..Default::default()
        }
    )]

    #[test]
    fn any_valid_shader_runs(bytes in prop::collection::vec(any::<u8>(), 0..2500)) {
        check(&generate(&bytes, Style::Free));
    }

    #[test]
    fn exact_shaders_have_no_fault(bytes in prop::collection::vec(any::<u8>(), 0..2500)) {
        check(&generate(&bytes, Style::Exact));
    }
}
