//! The server of a run: asked about itself before anything is sent.

use crate::args::SendArgs;
use anyhow::{Context, anyhow};
use driver::client::ClientOptions;
use driver::endpoint::Endpoint;
use driver::key::BearerKey;
use driver::scrape::Pages;
use driver::server::{Inquirer, choose_model, max_model_len};
use driver::tls::TlsOptions;
use record::header::{ServerFacts, ServerUrl};
use std::time::Duration;

/// A server that answers, and how it is spoken to.
pub(crate) struct Target {
    pub(super) client: ClientOptions,
    pub(super) pages: Option<Pages>,
    pub(super) facts: ServerFacts,
}

impl Target {
    /// Asks the server about itself; requests will go to `path`. A server that is down or serves another model is refused before anything is sent.
    pub(crate) async fn ask(args: &SendArgs, path: &str) -> anyhow::Result<Self> {
        let endpoint = Endpoint::new(&args.url, args.wire.path.as_deref().unwrap_or(path))?;
        let tls = TlsOptions {
            insecure: args.insecure,
            ca: args.ca.clone(),
        }
        .client_config()?;
        let key = args.api_key.as_deref().map(BearerKey::new);
        let inquirer = Inquirer::new(&tls, key.clone())?;
        let served = inquirer.models(&endpoint).await?;
        let model = choose_model(&served, args.model.as_deref())?;
        let facts = ServerFacts {
            url: ServerUrl::new(endpoint.request_url().as_str()),
            model: model.id.clone(),
            max_model_len: max_model_len(&served, model),
            version: inquirer.version(&endpoint).await,
        };
        let metrics = &args.metrics;
        let pages = (!metrics.no_server_metrics)
            .then(|| Pages::new(&metrics.server_metrics, &endpoint, &tls, key.as_ref()))
            .transpose()?;
        let mut client = ClientOptions::new(endpoint, tls);
        client.key = key;
        client.session_header = args
            .session_header
            .parse()
            .context("--session-header is no header name")?;
        client.deadline =
            Duration::try_from_secs_f64(args.request_timeout_s).context("--request-timeout-s")?;
        client.headers = args
            .headers
            .iter()
            .map(|line| header(line))
            .collect::<anyhow::Result<_>>()?;
        Ok(Self { client, pages, facts })
    }

    /// The served model's name.
    pub(crate) fn model(&self) -> &str {
        &self.facts.model
    }

    /// The context length that the server tells.
    pub(crate) fn max_model_len(&self) -> Option<u64> {
        self.facts.max_model_len
    }
}

fn header(line: &str) -> anyhow::Result<(http::HeaderName, http::HeaderValue)> {
    let (name, value) = line
        .split_once(':')
        .ok_or_else(|| anyhow!("--header {line:?}: expected NAME: VALUE"))?;
    let name = name
        .trim()
        .parse()
        .with_context(|| format!("--header: {name:?} is no header name"))?;
    let value = value
        .trim()
        .parse()
        .with_context(|| format!("--header: the value of {name} cannot be sent"))?;
    Ok((name, value))
}
