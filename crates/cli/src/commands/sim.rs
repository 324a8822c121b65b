//! `sim`: the simulated server alone.

use crate::args::SimArgs;
use crate::exit::Exit;
use crate::{output, stop};
use sim::{Config, Server};

pub(crate) fn run(args: &SimArgs) -> anyhow::Result<Exit> {
    let mut config = Config {
        listen: args.listen,
        model: args.model.clone(),
        seed: args.seed,
        ..Config::demo()
    };
    if let Some(tokens) = args.max_model_len {
        config.max_model_len = tokens as usize;
    }
    if let Some(sequences) = args.max_num_seqs {
        config.engine.max_num_seqs = sequences;
    }
    super::runtime()?.block_on(async {
        let server = Server::start(config)?;
        output::data(&format!("{}\n", server.url()))?;
        output::say("a simulated server: its figures say nothing about a real one; Ctrl-C ends it");
        stop::once().await?;
        server.shutdown().await;
        Ok(Exit::Done)
    })
}
