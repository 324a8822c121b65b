//! Percentiles and pooled gaps, against values of numpy's documented definition worked out by hand.

use record::stats::gaps::{Gaps, HISTOGRAM_ERROR};
use record::stats::quantile::{quantile, quantile_if_enough, values_needed};
use record::stats::sample::Sample;
use record::timeline::Gap;

#[test]
fn percentiles_interpolate_linearly_at_rank_n_minus_one_times_p() {
    // numpy.percentile(values, 100 * p): rank = (n - 1) p, linear between its neighbours.
    let cases: &[(&[f64], f64, f64)] = &[
        (&[1.0, 2.0, 3.0, 4.0], 0.5, 2.5),
        (&[1.0, 2.0, 3.0, 4.0], 0.75, 3.25),
        (&[15.0, 20.0, 35.0, 40.0, 50.0], 0.40, 29.0),
        (&[15.0, 20.0, 35.0, 40.0, 50.0], 0.90, 46.0),
        (&[10.0, 7.0 + 4.0, 30.0], 0.95, 28.1),
        (&[3.5], 0.99, 3.5),
        (&[1.0, 9.0], 0.0, 1.0),
        (&[1.0, 9.0], 1.0, 9.0),
    ];
    for (values, p, expected) in cases {
        let found = quantile(values, *p).unwrap();
        assert!(
            (found - expected).abs() < 1e-12,
            "{values:?} at {p}: {found}, not {expected}"
        );
    }
    assert_eq!(quantile(&[], 0.5), None);
}

#[test]
fn a_percentile_needs_values_beyond_it() {
    let needed = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.25, 0.1].map(values_needed);
    assert_eq!(needed, [1, 8, 20, 40, 200, 2000, 8, 20]);
    let values: Vec<f64> = (0..200).map(f64::from).collect();
    assert_eq!(quantile_if_enough(&values[..199], 0.99), None);
    let p99 = quantile_if_enough(&values, 0.99).unwrap();
    assert!((p99 - 197.01).abs() < 1e-9, "{p99}");
    // The variadic method's case: p99 over 128 requests is the second-worst request.
    assert_eq!(quantile_if_enough(&values[..128], 0.99), None);
    assert!(quantile_if_enough(&values[..128], 0.95).is_some());
}

#[test]
fn a_sample_counts_what_is_missing_and_never_makes_zeros_of_it() {
    // faults.md 24: half of the requests have no value.
    let mut sample = Sample::default();
    for value in [4.0, 2.0, 8.0, 6.0] {
        sample.push(Some(value));
        sample.push(None);
    }
    sample.push(Some(f64::NAN));
    let found = sample.distribution(2.0);
    assert_eq!((found.n, found.missing), (4, 5));
    assert_eq!(
        (found.min, found.p50, found.mean, found.max),
        (Some(1.0), Some(2.5), Some(2.5), Some(4.0))
    );
    assert_eq!(found.p90, None);
    // Population deviation of 2, 4, 6, 8 is √5.
    assert!((found.std.unwrap() - 5f64.sqrt() / 2.0).abs() < 1e-12);

    let nothing = Sample::default().distribution(1.0);
    assert_eq!(
        (nothing.n, nothing.mean, nothing.std, nothing.p50, nothing.max),
        (0, None, None, None, None)
    );
}

#[test]
fn pairs_of_events_show_in_the_median_and_in_the_burst_share() {
    let mut gaps = Gaps::default();
    for _ in 0..100 {
        gaps.push(Gap {
            ns: 20_000,
            same_read: true,
        });
        gaps.push(Gap {
            ns: 12_380_000,
            same_read: false,
        });
    }
    gaps.push(Gap {
        ns: 20_000,
        same_read: true,
    });
    let pooled = gaps.pooled();
    assert_eq!(pooled.distribution.p50, Some(0.02));
    assert!((pooled.distribution.mean.unwrap() - 6.17).abs() < 0.01);
    assert!((pooled.burst_share.unwrap() - 101.0 / 201.0).abs() < 1e-12);
    assert_eq!(pooled.percentile_error, 0.0);
}

#[test]
fn the_histogram_stays_within_its_stated_error() {
    let (mut exact, mut bounded) = (Gaps::default(), Gaps::keeping(1000));
    let mut state = 1u64;
    for _ in 0..50_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let gap = Gap {
            ns: 1_000_000 + (state >> 33) % 400_000_000,
            same_read: false,
        };
        exact.push(gap);
        bounded.push(gap);
    }
    let (exact, bounded) = (exact.pooled(), bounded.pooled());
    assert_eq!(bounded.percentile_error, HISTOGRAM_ERROR);
    let (expected, found) = (exact.distribution, bounded.distribution);
    assert_eq!(
        (found.n, found.mean, found.std),
        (expected.n, expected.mean, expected.std)
    );
    assert_eq!((found.min, found.max), (expected.min, expected.max));
    let pairs = [
        (found.p10, expected.p10),
        (found.p50, expected.p50),
        (found.p99, expected.p99),
    ];
    for (found, expected) in pairs.map(|(found, expected)| (found.unwrap(), expected.unwrap())) {
        assert!(
            (found / expected - 1.0).abs() < HISTOGRAM_ERROR,
            "{found} {expected}"
        );
    }
}
