//! Conversations as tables: who sent what when, and whose it is.

use super::*;

/// One step of a conversation: a request begins, or ends.
enum Step {
    /// At, client, messages (the last word of each is its role's first letter), session it should be in, parent it should have.
    Begin(u64, u64, &'static str, u64, Option<u64>),
    /// At, the session, whether the answer is good, arguments of the tools it calls.
    End(u64, u64, bool, &'static str),
}
use Step::{Begin, End};

/// `u:hello a:hi u:more` as a prompt.
fn prompt(messages: &str) -> Prompt {
    let list: Vec<_> = messages
        .split(' ')
        .map(|message| {
            let (role, text) = message.split_once(':').unwrap();
            let role = match role {
                "u" => "user",
                "a" => "assistant",
                "s" => "system",
                _ => "tool",
            };
            serde_json::json!({"role": role, "content": text.replace('_', " ")})
        })
        .collect();
    let body = serde_json::json!({"messages": list}).to_string();
    Prompt::read(Endpoint::Chat, body.as_bytes()).unwrap()
}

fn check(name: &str, steps: &[Step]) {
    let mut sessions = Sessions::default();
    for step in steps {
        match step {
            Begin(at_ns, client, messages, session, parent) => {
                let prompt = prompt(messages);
                let id = sessions.open(&Opening {
                    at_ns: *at_ns,
                    client: *client,
                    endpoint: Endpoint::Chat,
                    session: None,
                    parent: None,
                    prompt: Some(&prompt),
                });
                let found = (id.0, sessions.known[&id].parent.map(|parent| parent.0));
                assert_eq!(found, (*session, *parent), "{name}: {messages}");
            }
            End(at_ns, session, is_ok, arguments) => {
                let arguments: Vec<_> = Some((*arguments).to_owned())
                    .into_iter()
                    .filter(|text| !text.is_empty())
                    .collect();
                sessions.close(
                    SessionId(*session),
                    &Closing {
                        at_ns: *at_ns,
                        is_ok: *is_ok,
                        calls_tools: !arguments.is_empty(),
                        tool_arguments: &arguments,
                        text: "answer",
                        response_id: None,
                    },
                );
            }
        }
    }
}

#[test]
fn a_longer_list_is_a_later_turn() {
    check(
        "two users",
        &[
            Begin(0, 1, "u:a", 0, None),
            Begin(1, 1, "u:b", 1, None),
            End(2, 0, true, ""),
            End(3, 1, true, ""),
            Begin(4, 1, "u:b a:x u:c", 1, None),
            Begin(5, 1, "u:a a:y u:c", 0, None),
        ],
    );
    check(
        "the longest list wins",
        &[
            Begin(0, 1, "u:a", 0, None),
            End(1, 0, true, ""),
            Begin(2, 1, "u:a a:x u:b", 0, None),
            End(3, 0, true, ""),
            Begin(4, 1, "u:a", 1, None),
            End(5, 1, true, ""),
            Begin(6, 1, "u:a a:x u:b a:y u:c", 0, None),
            Begin(7, 1, "u:a a:z u:d", 1, None),
        ],
    );
}

#[test]
fn the_end_of_a_last_message_may_be_rewritten() {
    check(
        "a reminder that is taken away",
        &[
            Begin(
                0,
                1,
                "s:x u:read_all_of_these_files_and_tell_me_what_they_have_in_common__remember_this",
                0,
                None,
            ),
            End(1, 0, true, ""),
            Begin(
                2,
                1,
                "s:x u:read_all_of_these_files_and_tell_me_what_they_have_in_common__now_another",
                1,
                None,
            ),
            End(3, 1, true, ""),
            Begin(
                4,
                1,
                "s:x u:read_all_of_these_files_and_tell_me_what_they_have_in_common a:y u:go",
                1,
                None,
            ),
            End(5, 1, true, ""),
            Begin(6, 1, "s:x u:short a:y u:go", 2, None),
        ],
    );
}

#[test]
fn equal_lists_are_two_users_unless_the_first_failed() {
    let first = Begin(0, 1, "u:a", 0, None);
    check(
        "two users",
        &[first, End(1, 0, true, ""), Begin(2, 1, "u:a", 1, None)],
    );
    let first = Begin(0, 1, "u:a", 0, None);
    check(
        "a retry",
        &[first, End(1, 0, false, ""), Begin(2, 1, "u:a", 0, None)],
    );
}

#[test]
fn of_equal_lists_the_answer_tells() {
    let mut sessions = Sessions::default();
    let hello = prompt("u:hello");
    let opening = |prompt| Opening {
        at_ns: 0,
        client: 1,
        endpoint: Endpoint::Chat,
        session: None,
        parent: None,
        prompt: Some(prompt),
    };
    let ids = [sessions.open(&opening(&hello)), sessions.open(&opening(&hello))];
    for (id, text) in ids.into_iter().zip(["one", "two"]) {
        let closing = Closing {
            at_ns: 1,
            is_ok: true,
            calls_tools: false,
            tool_arguments: &[],
            text,
            response_id: None,
        };
        sessions.close(id, &closing);
    }
    let later = [prompt("u:hello a:one u:more"), prompt("u:hello a:two u:more")];
    for (prompt, id) in later.iter().zip(ids) {
        assert_eq!(sessions.open(&opening(prompt)), id);
    }
}

#[test]
fn a_subagent_gets_its_parent() {
    let task = r#"{"prompt":"look into the logs","n":1}"#;
    check(
        "told by one of two open turns",
        &[
            Begin(0, 1, "u:a", 0, None),
            Begin(0, 1, "u:b", 1, None),
            End(1, 0, true, task),
            End(1, 1, true, r#"{"x":"another task than this"}"#),
            Begin(2, 1, "u:look_into_the_logs", 2, Some(0)),
        ],
    );
    check(
        "the only open turn of this client",
        &[
            Begin(0, 1, "s:agent u:a", 0, None),
            End(1, 0, true, "{}"),
            Begin(2, 2, "s:other u:b", 1, None),
            Begin(3, 1, "s:sub u:b", 2, Some(0)),
            End(4, 2, true, ""),
            Begin(5, 1, "s:agent u:a a: t:r", 0, None),
            End(6, 0, true, ""),
            Begin(7, 1, "s:sub u:c", 3, None),
        ],
    );
    check(
        "several open turns say nothing, nor does the same agent once more",
        &[
            Begin(0, 1, "s:agent u:a", 0, None),
            End(1, 0, true, "{}"),
            Begin(2, 1, "s:agent u:b", 1, None),
            End(3, 1, true, "{}"),
            Begin(4, 1, "s:sub u:c", 2, None),
        ],
    );
    check(
        "a branch of a turn under way",
        &[
            Begin(0, 1, "u:a", 0, None),
            End(1, 0, true, ""),
            Begin(2, 1, "u:a a:x u:b", 0, None),
            Begin(3, 1, "u:a a:x u:c", 1, Some(0)),
        ],
    );
    check(
        "a load generator's mark",
        &[
            Begin(0, 1, "s:x u:[rid:0123456789ab]a", 0, None),
            Begin(0, 1, "s:x u:[rid:cccccccccccc]a", 1, None),
            End(1, 0, true, ""),
            End(1, 1, true, ""),
            Begin(2, 1, "u:[rid:cccccccccccc]b", 2, Some(1)),
        ],
    );
}

#[test]
fn headers_rule() {
    let mut sessions = Sessions::default();
    let prompt = prompt("u:a");
    let mut open = |session, parent| {
        let opening = Opening {
            at_ns: 0,
            client: 1,
            endpoint: Endpoint::Chat,
            session,
            parent,
            prompt: Some(&prompt),
        };
        let id = sessions.open(&opening);
        (sessions.name(id), sessions.parent(id))
    };
    assert_eq!(open(Some("x"), None), ("x".to_owned(), None));
    assert_eq!(open(Some("y"), Some("x")), ("y".to_owned(), Some("x".to_owned())));
    assert_eq!(open(Some("x"), Some("x")), ("x".to_owned(), None));
}

#[test]
fn completions_are_compared_as_text() {
    let mut sessions = Sessions::default();
    let read = |text: &str| {
        Prompt::read(
            Endpoint::Completions,
            serde_json::json!({"prompt": text}).to_string().as_bytes(),
        )
        .unwrap()
    };
    let long = "x".repeat(1_000);
    let cases = [
        ("short".to_owned(), 0),
        (long.clone(), 1),
        ("short and more".to_owned(), 0),
        (format!("{long} and more"), 1),
        ("other".to_owned(), 2),
        (format!("{long} and less"), 3),
    ];
    for (text, expected) in cases {
        let prompt = read(&text);
        let opening = Opening {
            at_ns: 0,
            client: 1,
            endpoint: Endpoint::Completions,
            session: None,
            parent: None,
            prompt: Some(&prompt),
        };
        let id = sessions.open(&opening);
        assert_eq!(id.0, expected, "{text}");
        sessions.close(
            id,
            &Closing {
                at_ns: 1,
                is_ok: true,
                calls_tools: false,
                tool_arguments: &[],
                text: "",
                response_id: None,
            },
        );
    }
}
