//! One series over a window.

/// What a counter grew by, as its scrapes show it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Increase {
    last: Option<f64>,
    /// Sum of what it grew by.
    pub(super) total: f64,
    /// How often it went backwards: the server started over.
    pub(super) resets: u64,
}

impl Increase {
    /// The window's first scrape: what was counted before is not the window's.
    pub(super) fn begin(&mut self, value: f64) {
        self.last = Some(value);
    }

    /// A later scrape. A series that was not there at the window's first scrape began at zero: servers show a label only once
    /// it has counted something. One that went backwards began at zero again, so that all it shows is new.
    pub(super) fn go_on(&mut self, value: f64) {
        let last = self.last.replace(value).unwrap_or(0.0);
        if value < last {
            self.resets += 1;
            self.total += value;
        } else {
            self.total += value - last;
        }
    }
}

/// A gauge's mean and highest value; every scrape counts alike.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Range {
    sum: f64,
    n: u64,
    max: Option<f64>,
}

impl Range {
    pub(super) fn push(&mut self, value: f64) {
        self.sum += value;
        self.n += 1;
        self.max = Some(self.max.map_or(value, |max| max.max(value)));
    }

    pub(super) fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum / self.n as f64)
    }

    pub(super) fn max(&self) -> Option<f64> {
        self.max
    }
}
