//! The fork's event logs, whole.

use crate::dispatch::{check, recorded};

#[test]
fn scenario_defaults() {
    check("agentx1012_c4_seed42", &recorded(0.5));
}

#[test]
fn flags_of_inferencex() {
    check("agentx1012_c4_seed42_inferencex_flags", &recorded(0.7));
}
