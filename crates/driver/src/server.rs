//! What a server says about itself, asked before a run and not timed: its models, its version.

use std::time::Duration;

use reqwest::{StatusCode, Url};
use rustls::ClientConfig;
use serde::Deserialize;

use crate::causes::in_full;
use crate::client::USER_AGENT;
use crate::endpoint::Endpoint;
use crate::key::BearerKey;
use crate::secrets::Secrets;

/// Longest time that connecting may take here.
pub const ASK_CONNECT_DEADLINE: Duration = Duration::from_secs(10);
/// Longest time that a whole answer may take here.
pub const ASK_DEADLINE: Duration = Duration::from_secs(30);
/// Longest answer that is read here.
pub const ASK_BYTES_MAX: usize = 8 << 20;

/// A server that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The HTTP library cannot be set up.
    #[error("cannot set up HTTP: {why}")]
    Setup {
        /// What it said.
        why: String,
    },
    /// No answer.
    #[error("no answer from {url}: {why}")]
    Unreachable {
        /// What was asked.
        url: Url,
        /// The error with its causes.
        why: String,
    },
    /// An answer with another status than 200.
    #[error("{url} answers {status}: {text}{}", status_hint(*status))]
    Status {
        /// What was asked.
        url: Url,
        /// The status.
        status: StatusCode,
        /// Start of the body.
        text: String,
    },
    /// An answer that is no model list.
    #[error(
        "{url} gives no list of models: {why}; hint: is this the base URL of an OpenAI-compatible server?"
    )]
    NoList {
        /// What was asked.
        url: Url,
        /// What is wrong with it.
        why: String,
    },
    /// The named model is not served.
    #[error("model `{named}` is not served; served: {}", served.join(", "))]
    UnknownModel {
        /// The model that was named.
        named: String,
        /// Ids of all that are served.
        served: Vec<String>,
    },
    /// None was named, and several are served.
    #[error("several models are served: {}; hint: name one with --model", served.join(", "))]
    SeveralModels {
        /// Ids of all that are served.
        served: Vec<String>,
    },
    /// Nothing is served.
    #[error("the server serves no model")]
    NoModel,
}

fn status_hint(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "; hint: a key is needed",
        _ => "",
    }
}

/// One entry of `/v1/models`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ServedModel {
    /// The name to ask for.
    pub id: String,
    /// Where its weights are, as far as the server tells.
    #[serde(default)]
    pub root: Option<String>,
    /// The model that an adapter (`LoRA`) sits on.
    #[serde(default)]
    pub parent: Option<String>,
    /// Context window in tokens; an addition of vLLM's.
    #[serde(default)]
    pub max_model_len: Option<u64>,
}

#[derive(Deserialize)]
struct ModelList {
    data: Vec<ServedModel>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

/// Asks a server about itself.
pub struct Inquirer {
    http: reqwest::Client,
    key: Option<BearerKey>,
}

impl Inquirer {
    /// With the same trust as timed requests. The proxy variables of the environment are not looked at.
    ///
    /// # Errors
    /// When the HTTP library refuses the setup.
    pub fn new(tls: &ClientConfig, key: Option<BearerKey>) -> Result<Self, ServerError> {
        let http = untimed_http(tls)
            .connect_timeout(ASK_CONNECT_DEADLINE)
            .timeout(ASK_DEADLINE)
            .build()
            .map_err(|error| ServerError::Setup { why: in_full(&error) })?;
        Ok(Self { http, key })
    }

    /// The models that are served, in the server's order.
    ///
    /// # Errors
    /// When there is no answer, or it is no model list.
    pub async fn models(&self, endpoint: &Endpoint) -> Result<Vec<ServedModel>, ServerError> {
        let url = endpoint.models_url();
        let body = self.get(&url).await?;
        let list: ModelList = serde_json::from_slice(&body).map_err(|error| ServerError::NoList {
            url: without_query(url),
            why: self.secrets().hide(&error.to_string()),
        })?;
        Ok(list.data)
    }

    /// The server's version, where it tells one (vLLM).
    pub async fn version(&self, endpoint: &Endpoint) -> Option<String> {
        let body = self.get(&endpoint.version_url()).await.ok()?;
        serde_json::from_slice(&body)
            .ok()
            .map(|told: Version| told.version)
    }

    /// What the server was told and must not be quoted with.
    fn secrets(&self) -> Secrets {
        let none = Secrets::default();
        self.key.as_ref().map_or(none.clone(), |key| key.added_to(none))
    }

    async fn get(&self, url: &Url) -> Result<Vec<u8>, ServerError> {
        let unreachable = |why| ServerError::Unreachable {
            url: without_query(url.clone()),
            why,
        };
        let mut request = self.http.get(url.clone());
        if let Some(key) = &self.key {
            let value = key.authorization().map_err(|error| ServerError::Setup {
                why: error.to_string(),
            })?;
            request = request.header(reqwest::header::AUTHORIZATION, value);
        }
        let mut response = request
            .send()
            .await
            .map_err(|error| unreachable(in_full(&error.without_url())))?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(more) = response
            .chunk()
            .await
            .map_err(|error| unreachable(in_full(&error.without_url())))?
        {
            if body.len() + more.len() > ASK_BYTES_MAX {
                return Err(unreachable(format!(
                    "its answer is longer than {ASK_BYTES_MAX} bytes"
                )));
            }
            body.extend_from_slice(&more);
        }
        if status != StatusCode::OK {
            let text = self.secrets().hide(&String::from_utf8_lossy(&body));
            let text = wire::error::bounded(&text);
            return Err(ServerError::Status {
                url: without_query(url.clone()),
                status,
                text,
            });
        }
        Ok(body)
    }
}

/// `url` without its query, in which gateways take keys. A user or password in it is refused earlier.
fn without_query(mut url: Url) -> Url {
    url.set_query(None);
    url
}

/// The HTTP library for everything that is not timed: same trust as timed requests, no proxy.
pub fn untimed_http(tls: &ClientConfig) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls.clone())
        .no_proxy()
        .user_agent(USER_AGENT)
}

/// The model to ask for: the named one, or the only one.
///
/// # Errors
/// When the named one is not served, none was named and several are served, or none is served at all.
pub fn choose_model<'a>(
    served: &'a [ServedModel],
    named: Option<&str>,
) -> Result<&'a ServedModel, ServerError> {
    let ids = || served.iter().map(|model| model.id.clone()).collect();
    match (named, served) {
        (_, []) => Err(ServerError::NoModel),
        (Some(named), _) => {
            let found = served.iter().find(|model| model.id == named);
            found.ok_or_else(|| ServerError::UnknownModel {
                named: named.to_owned(),
                served: ids(),
            })
        }
        (None, [only]) => Ok(only),
        (None, _) => Err(ServerError::SeveralModels { served: ids() }),
    }
}

/// Context window of `model`, its own or that of the model that it sits on (`bindings` §11.2). `None` where the server
/// does not tell.
pub fn max_model_len(served: &[ServedModel], model: &ServedModel) -> Option<u64> {
    let mut model = model;
    // A chain of parents longer than the list goes round in a circle.
    for _ in 0..=served.len() {
        if model.max_model_len.is_some() {
            return model.max_model_len;
        }
        let parent = model.parent.as_deref()?;
        model = served
            .iter()
            .find(|other| other.id == parent || other.root.as_deref() == Some(parent))?;
    }
    None
}
