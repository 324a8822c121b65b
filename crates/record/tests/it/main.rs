//! Tests of the record files and of every statistic.

mod damage;
mod documented;
mod round_trip;
mod samples;
mod statistics;
mod summary;
mod timelines;
mod verdicts;
