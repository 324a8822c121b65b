#!/usr/bin/env python3
"""Real clients with the recording proxy between and without it: are their answers the same, byte by byte?

    turnmill sim --listen 127.0.0.1:8000 &
    turnmill capture --listen 127.0.0.1:9000 --upstream http://127.0.0.1:8000 --out capture &
    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install openai
    /tmp/venv/bin/python scripts/capture_clients.py http://127.0.0.1:8000 http://127.0.0.1:9000

Runs the `openai` package (streaming, whole answers, tools, errors, a client that hangs up) and curl against both addresses. Ids, dates
and times of answers are the server's and differ from request to request, with the proxy or without; they are masked.
Then measures the time to the first byte on one connection to each, turn and turn about. Exit code 1 if anything differs.
"""

import http.client
import json
import re
import statistics
import subprocess
import sys
import time
from urllib.parse import urlsplit

import openai

try:  # what the package speaks HTTP with, by its age
    import httpx2 as httpx
except ImportError:
    import httpx

MODEL = "sim"
MASKS = [
    (re.compile(rb'"(id|response_id|item_id)":\s?"[^"]*"'), b'"id":"*"'),
    (re.compile(rb'"created(_at)?":\s?[0-9.]+'), b'"created":0'),
    (re.compile(rb"(?im)^(date|x-request-id):.*?\r?$"), b"\\1:*"),
]


def masked(raw: bytes) -> bytes:
    for pattern, mask in MASKS:
        raw = pattern.sub(mask, raw)
    return raw


class Recording(httpx.HTTPTransport):
    """Keeps the raw bytes of every answer that the package gets."""

    def __init__(self):
        super().__init__()
        self.raw = []

    def handle_request(self, request):
        response = super().handle_request(request)
        inner, raw = response.stream, self.raw
        raw.append(f"{response.status_code}\n".encode() + b"\n".join(b": ".join(pair) for pair in response.headers.raw) + b"\n\n")

        class Stream(httpx.SyncByteStream):
            def __iter__(self):
                for chunk in inner:
                    raw.append(chunk)
                    yield chunk

            def close(self):
                inner.close()

        response.stream = Stream()
        return response


def with_client(base, use):
    transport = Recording()
    client = openai.OpenAI(
        base_url=f"{base}/v1", api_key="sk-never-to-be-written", max_retries=0, http_client=httpx.Client(transport=transport)
    )
    try:
        result = use(client)
    except openai.APIError as error:
        result = f"{type(error).__name__}: {error}"
    client.close()
    return masked(b"".join(transport.raw)), result


def chat(client, **more):
    options = {"model": MODEL, "max_tokens": 12, "extra_body": {"ignore_eos": True}, **more}
    options.setdefault("messages", [{"role": "user", "content": "Say something."}])
    return client.chat.completions.create(**options)


def streamed(client):
    text = ""
    for chunk in chat(client, stream=True, stream_options={"include_usage": True}):
        text += (chunk.choices[0].delta.content or "") if chunk.choices else f" {chunk.usage.completion_tokens}"
    return text


TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}}]


def tools(client):
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at": "logs"}'}}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "nothing there"},
    ]
    return [chunk.choices[0].delta.content for chunk in chat(client, messages=messages, tools=TOOLS, stream=True)]


def hang_up(client):
    stream = chat(client, stream=True, max_tokens=5000)
    first = next(iter(stream)).choices[0].delta.role
    stream.close()
    # What came beside the first chunk depends on the moment; that the client could go on is the point.
    return first, chat(client).choices[0].message.content


CASES = {
    "whole": lambda client: chat(client).choices[0].message.content,
    "streamed": streamed,
    "tools": tools,
    "completions": lambda client: client.completions.create(model=MODEL, prompt=[1, 2, 3], max_tokens=4).choices[0].text,
    "unknown model": lambda client: chat(client, model="none"),
    "zero tokens": lambda client: chat(client, max_tokens=0),
    "models": lambda client: [model.id for model in client.models.list()],
    "not there": lambda client: client.embeddings.create(model=MODEL, input="x"),
}


def curl(base, *arguments):
    command = ["curl", "-sS", "-i", "--raw", "--max-time", "20", *arguments[:-1], base + arguments[-1]]
    done = subprocess.run(command, capture_output=True, check=False)
    return masked(done.stdout), done.returncode


BODY = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": "x" * 3000}], "max_tokens": 9, "ignore_eos": True, "stream": True})
CURLS = {
    "curl stream": ("-N", "-H", "Content-Type: application/json", "-d", BODY, "/v1/chat/completions"),
    "curl 100-continue, chunked": ("-H", "Expect: 100-continue", "-H", "Transfer-Encoding: chunked", "-d", BODY, "/v1/chat/completions"),
    "curl HTTP/1.0": ("-0", "-d", BODY, "/v1/chat/completions"),
    "curl bad JSON": ("-d", "{", "/v1/chat/completions"),
    "curl HEAD": ("-I", "/v1/models"),
    "curl metrics path": ("-X", "OPTIONS", "/version?x=%7E1&x=2"),
}


def first_bytes(base, n, times):
    place = urlsplit(base)
    connection = http.client.HTTPConnection(place.hostname, place.port)
    for _ in range(n):
        begin = time.perf_counter()
        connection.request("POST", "/v1/chat/completions", BODY, {"Content-Type": "application/json"})
        connection.sock.recv(1, 2)  # peeks: MSG_PEEK
        times.append((time.perf_counter() - begin) * 1e6)
        connection.getresponse().read()
    connection.close()


def main():
    direct, through = sys.argv[1:3]
    wrong = 0
    for name, case in CASES.items():
        with_client(direct, case)  # afterwards the server's prefix cache holds the prompt for both
        one, other = with_client(direct, case), with_client(through, case)
        # Objects of the package hold ids of the answer.
        same = one[0] == other[0] and masked(repr(one[1]).encode()) == masked(repr(other[1]).encode())
        wrong += not same
        print(f"{'same' if same else 'DIFFERENT':9}  {name}: {len(other[0])} bytes")
        if not same:
            print("  direct :", one, "\n  through:", other)
    one, other = with_client(direct, hang_up), with_client(through, hang_up)
    same = one[1] == other[1]
    wrong += not same
    print(f"{'same' if same else 'DIFFERENT':9}  a client that hangs up, and asks again")
    for name, arguments in CURLS.items():
        one, other = curl(direct, *arguments), curl(through, *arguments)
        wrong += one != other
        print(f"{'same' if one == other else 'DIFFERENT':9}  {name}: {len(other[0])} bytes, exit {other[1]}")
        if one != other:
            print("  direct :", one, "\n  through:", other)
    figures = {direct: [], through: []}
    for _ in range(20):
        for base, times in figures.items():
            first_bytes(base, 50, times)
    at = {base: statistics.quantiles(times, n=100) for base, times in figures.items()}
    for p in (50, 90, 99):
        one, other = at[direct][p - 1], at[through][p - 1]
        print(f"first byte, p{p}: direct {one:.0f} µs, through the proxy {other:.0f} µs, {other - one:+.0f} µs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
