//! The unit of a data file's timestamp columns (`trace-csv` §2.4).

/// What one step of the columns whose names end in `_us` is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// 0.001 µs; rounded half up to whole microseconds.
    Nanosecond,
    /// What all writers write.
    #[default]
    Microsecond,
    /// 1,000 µs.
    Millisecond,
    /// 1,000,000 µs.
    Second,
}

impl TimeUnit {
    /// The unit of that many microseconds; `None` when there is none.
    pub fn of_microseconds(microseconds: f64) -> Option<Self> {
        [
            Self::Nanosecond,
            Self::Microsecond,
            Self::Millisecond,
            Self::Second,
        ]
        .into_iter()
        .find(|unit| (unit.microseconds() - microseconds).abs() <= microseconds * 1e-9)
    }

    /// Microseconds in one.
    pub fn microseconds(self) -> f64 {
        match self {
            Self::Nanosecond => 1e-3,
            Self::Microsecond => 1.0,
            Self::Millisecond => 1e3,
            Self::Second => 1e6,
        }
    }

    /// The short name, as a header states it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nanosecond => "ns",
            Self::Microsecond => "us",
            Self::Millisecond => "ms",
            Self::Second => "s",
        }
    }

    /// `value` of this unit in microseconds; `None` beyond 64 bits.
    pub fn to_us(self, value: i64) -> Option<i64> {
        match self {
            Self::Nanosecond => Some(value.checked_add(500)?.div_euclid(1000)),
            Self::Microsecond => Some(value),
            Self::Millisecond => value.checked_mul(1_000),
            Self::Second => value.checked_mul(1_000_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TimeUnit;

    #[test]
    fn nanoseconds_round_half_up() {
        for (nanoseconds, microseconds) in [(0, 0), (499, 0), (500, 1), (1499, 1), (-500, 0), (-501, -1)] {
            assert_eq!(
                TimeUnit::Nanosecond.to_us(nanoseconds),
                Some(microseconds),
                "{nanoseconds} ns"
            );
        }
        assert_eq!(TimeUnit::Second.to_us(i64::MAX), None);
        assert_eq!(TimeUnit::of_microseconds(1e3), Some(TimeUnit::Millisecond));
        assert_eq!(TimeUnit::of_microseconds(60e6), None);
    }
}
