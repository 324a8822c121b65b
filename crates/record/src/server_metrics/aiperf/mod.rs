//! aiperf
