#!/usr/bin/env python3
"""aiperf 0.12.0 and `turnmill profile` side by side: same traces, seed and server.

Starts a small streaming server with fixed times on loopback, runs both programs against it one after the other, and
compares what they sent (bodies with the cache-bust marker set to zeros, as a multiset for each phase) and the metrics
that both report. Needs aiperf 0.12.0 in a virtual environment; nothing else but Python's own library.

    scripts/side_by_side.py --aiperf VENV/bin/aiperf --turnmill target/release/turnmill \\
        --corpus FOLDER_OF_TRACES --tokenizer FOLDER --pool POOL.u32le --max-context-length 8192

Exits with 1 when the requests differ in more than what is due at the very end of the window.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TTFT_S = 0.030
ITL_S = 0.002
MARKER = re.compile(rb"\[rid:[0-9a-f]{12}\]")
# Requests that one side may send more than the other: those due as the window closes.
AT_THE_END = 4
# How far the means of a metric may lie apart, relative and in milliseconds.
NEAR, NEAR_MS = 0.10, 3.0
METRICS = ["time_to_first_token", "inter_token_latency", "request_latency", "output_sequence_length", "input_sequence_length"]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        # A client that is done reading is no error of ours.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def __init__(self, model):
        super().__init__(("127.0.0.1", 0), Handler)
        self.model, self.seen, self.lock = model, [], threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        models = {"object": "list", "data": [{"id": self.server.model, "object": "model", "max_model_len": 1 << 20}]}
        found = self.path.endswith("/models")
        body = json.dumps(models).encode() if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        ask = json.loads(raw)
        with self.server.lock:
            self.server.seen.append((raw, ask["max_completion_tokens"]))
        self.connection.setsockopt(6, 1, 1)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        start, tokens = time.monotonic(), ask["max_completion_tokens"]
        for number in range(tokens):
            pause = start + TTFT_S + number * ITL_S - time.monotonic()
            time.sleep(max(0.0, pause))
            self.event({"choices": [{"index": 0, "delta": {"content": "a "}, "finish_reason": None}]})
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
        prompt = len(raw) // 4
        self.event({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens}})
        self.chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def event(self, more):
        self.chunk(b"data: " + json.dumps({"id": "x", "object": "chat.completion.chunk", "model": self.server.model, **more}).encode() + b"\n\n")

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def run(program, more, options, folder, model):
    server = Server(model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    command = [
        program, "profile", "--scenario", "inferencex-agentx-mvp", "--url", f"http://127.0.0.1:{server.server_port}",
        "--endpoint", "/v1/chat/completions", "--endpoint-type", "chat", "--streaming", "--model", model,
        "--tokenizer", options.tokenizer, "--concurrency", str(options.concurrency),
        "--benchmark-duration", str(options.duration), "--random-seed", "42", "--trajectory-start-min-ratio", "0.25",
        "--trajectory-start-max-ratio", "0.75", "--use-server-token-count", "--no-gpu-telemetry", "--unsafe-override",
        "--ui", "none", "--benchmark-grace-period", "5", "--input-file", options.corpus, "--custom-dataset-type",
        "weka_trace", "--max-context-length", str(options.max_context_length), "--output-artifact-dir", str(folder), *more,
    ]
    log = folder.with_suffix(".log")
    with log.open("wb") as out:
        ended = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, timeout=options.duration + 600)
    server.shutdown()
    if ended.returncode:
        sys.exit(f"{program} ended with {ended.returncode}:\n{log.read_text(errors='replace')[-3000:]}")
    report = json.loads((folder / "profile_export_aiperf.json").read_text())
    return server.seen, report


def multiset(seen):
    phases = {"warm-up": collections.Counter(), "window": collections.Counter()}
    for raw, tokens in seen:
        digest = hashlib.sha256(MARKER.sub(b"[rid:000000000000]", raw)).hexdigest()
        phases["warm-up" if tokens == 1 else "window"][digest] += 1
    return phases


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("aiperf", "turnmill", "corpus", "tokenizer", "pool"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--max-context-length", type=int, default=131072)
    parser.add_argument("--concurrency", type=int, default=2)
    parser.add_argument("--duration", type=int, default=30)
    parser.add_argument("--model", default="qwen2-tok")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        theirs, their_report = run(options.aiperf, ["--tokenizer-trust-remote-code"], options, place / "aiperf", options.model)
        ours, our_report = run(options.turnmill, ["--prompt-pool", options.pool], options, place / "turnmill", options.model)

    good = True
    for phase, sent in multiset(theirs).items():
        mine = multiset(ours)[phase]
        missing, extra = sum((sent - mine).values()), sum((mine - sent).values())
        print(f"{phase}: aiperf {sum(sent.values())} requests, turnmill {sum(mine.values())}, alike {sum((sent & mine).values())}")
        good &= missing + extra <= (0 if phase == "warm-up" else AT_THE_END)
    for name in METRICS:
        their, our = their_report.get(name, {}).get("avg"), our_report.get(name, {}).get("avg")
        near = None not in (their, our) and abs(their - our) <= max(NEAR * abs(their), NEAR_MS)
        print(f"{name}: aiperf {their}, turnmill {our}{'' if near else '  <- apart'}")
        good &= near
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
