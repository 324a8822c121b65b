//! What a server tells about itself.

use driver::endpoint::{CHAT_PATH, Endpoint};
use driver::key::BearerKey;
use driver::server::{Inquirer, ServedModel, ServerError, choose_model, max_model_len};
use driver::tls::TlsOptions;

use crate::script::{Server, Step, sized};

fn inquirer(key: Option<BearerKey>) -> Inquirer {
    Inquirer::new(&TlsOptions::default().client_config().unwrap(), key).unwrap()
}

fn endpoint(server: &Server) -> Endpoint {
    Endpoint::new(&format!("http://{}/m", server.address()), CHAT_PATH).unwrap()
}

fn answering(answers: &[Step]) -> Server {
    let scripts = answers.iter().map(|answer| vec![Step::Request, answer.clone()]);
    Server::start(scripts.collect())
}

fn model(id: &str, parent: Option<&str>, max_model_len: Option<u64>) -> ServedModel {
    ServedModel {
        id: id.into(),
        root: Some(format!("/models/{id}")),
        parent: parent.map(str::to_owned),
        max_model_len,
    }
}

#[tokio::test]
async fn lists_models() {
    let list = "{\"object\":\"list\",\"data\":[{\"id\":\"a\",\"max_model_len\":8,\"permission\":[]},{\"id\":\"b\",\"parent\":\"a\",\"max_model_len\":null}]}";
    let server = answering(&[sized("200 OK", list)]);
    let models = inquirer(Some(BearerKey::new("k")))
        .models(&endpoint(&server))
        .await
        .unwrap();
    assert_eq!(models.len(), 2);
    assert_eq!(models[0].max_model_len, Some(8));
    assert_eq!(models[1].parent.as_deref(), Some("a"));
    let head = server.requests()[0].head.to_lowercase();
    assert!(head.starts_with("get /m/v1/models http/1.1\r\n"));
    assert!(head.contains("authorization: bearer k\r\n"));
    assert!(head.contains("user-agent: turnmill/"));
}

#[tokio::test]
async fn tells_what_is_wrong() {
    let error = async |answer| {
        let server = answering(&[answer]);
        inquirer(None)
            .models(&endpoint(&server))
            .await
            .unwrap_err()
            .to_string()
    };
    let text = error(sized("401 Unauthorized", "who are you")).await;
    assert!(
        text.contains("401 Unauthorized: who are you; hint: a key is needed"),
        "{text}"
    );
    let text = error(sized("200 OK", "<html>")).await;
    assert!(text.contains("gives no list of models"), "{text}");
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let endpoint = Endpoint::new(&gone.to_string(), CHAT_PATH).unwrap();
    let text = inquirer(None).models(&endpoint).await.unwrap_err().to_string();
    assert!(text.contains("refused"), "{text}");
}

#[tokio::test]
async fn version() {
    let server = answering(&[
        sized("200 OK", "{\"version\":\"0.32.0\"}"),
        sized("404 Not Found", "no"),
    ]);
    let endpoint = endpoint(&server);
    assert_eq!(inquirer(None).version(&endpoint).await.as_deref(), Some("0.32.0"));
    assert_eq!(inquirer(None).version(&endpoint).await, None);
    assert!(server.requests()[0].head.starts_with("GET /m/version "));
}

#[test]
fn which_model() {
    let one = [model("a", None, Some(8))];
    let two = [model("a", None, Some(8)), model("b", None, None)];
    assert_eq!(choose_model(&one, None).unwrap().id, "a");
    assert_eq!(choose_model(&two, Some("b")).unwrap().id, "b");
    let text = choose_model(&two, Some("c")).unwrap_err().to_string();
    assert_eq!(text, "model `c` is not served; served: a, b");
    assert!(
        matches!(choose_model(&two, None), Err(ServerError::SeveralModels { served }) if served == ["a", "b"])
    );
    assert!(matches!(choose_model(&[], Some("a")), Err(ServerError::NoModel)));
}

#[test]
fn context_window() {
    let served = [
        model("base", None, Some(8)),
        model("adapter", Some("base"), None),
        model("by-root", Some("/models/base"), None),
        model("orphan", Some("gone"), None),
        model("circle", Some("circle"), None),
        model("plain", None, None),
    ];
    let lengths: Vec<_> = served.iter().map(|model| max_model_len(&served, model)).collect();
    assert_eq!(lengths, [Some(8), Some(8), Some(8), None, None, None]);
}
