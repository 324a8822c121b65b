//! `capture`: a recording proxy, until told to stop.

use crate::args::CaptureArgs;
use crate::exit::Exit;
use crate::{output, stop};
use capture::{Capture, Finished, Options, Rotation};
use driver::tls::TlsOptions;

const NS_PER_MINUTE: u64 = 60_000_000_000;

pub(crate) fn run(args: &CaptureArgs) -> anyhow::Result<Exit> {
    let options = Options {
        listen: args.listen,
        upstream: args.upstream.clone(),
        out: args.out.clone(),
        session_header: args.session_header.clone(),
        parent_header: args.parent_header.clone(),
        keep_text: args.keep_text,
        chunk_times: args.chunk_times,
        rotation: Rotation {
            bytes: args.rotate_bytes,
            after_ns: args
                .rotate_minutes
                .map(|minutes| minutes.saturating_mul(NS_PER_MINUTE)),
        },
        trust: TlsOptions {
            insecure: args.insecure,
            ca: args.ca.clone(),
        },
    };
    let clock = super::start_clock();
    super::runtime()?.block_on(async {
        let mut wishes = stop::wishes()?;
        let capture = Capture::start(&options, clock).await?;
        for trace in capture.recovered() {
            output::say(&format!(
                "finished what an earlier capture left: {}",
                sentence(trace)
            ));
        }
        output::data(&format!("{}\n", capture.url()))?;
        output::say(&format!("forwarding to {}; Ctrl-C ends it", options.upstream));
        wishes.recv().await;
        let at_once = async {
            wishes.recv().await;
        };
        match capture.stop(at_once).await {
            Ok(outcome) => {
                for trace in &outcome.traces {
                    output::say(&sentence(trace));
                }
                if outcome.lost_notes > 0 {
                    output::say(&format!(
                        "warning: the recorder lagged behind {} times; rows may be missing",
                        outcome.lost_notes
                    ));
                }
                Ok(Exit::Done)
            }
            Err(error) => {
                output::say(&format!("error: recording ended early: {error}"));
                Ok(Exit::Unfinished)
            }
        }
    })
}

fn sentence(trace: &Finished) -> String {
    format!(
        "{}: {} requests in {} sessions, {} session trees",
        trace.paths.data().display(),
        trace.rows,
        trace.sessions,
        trace.trees
    )
}
