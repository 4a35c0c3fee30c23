"""`wakeful serve` as a process, for clients that try it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request


class Server:
    """`wakeful serve` over a new store."""

    def __init__(self, program, folder, *more):
        self.process = subprocess.Popen(
            [program, "serve", "--listen", "127.0.0.1:0", "--no-socket", "--allow-http-hooks",
             "--requests-per-second", "1000000", "--wrong-tokens-per-second", "1000000",
             "--ledger", os.path.join(folder, "agents.sqlite"), *more],
            stdout=subprocess.PIPE, text=True)
        self.url = self.token = None
        for line in self.process.stdout:
            if line.startswith("listening on http"):
                self.url = line.split()[-1]
            if line.strip().startswith("wks_"):
                self.token = line.strip()
            if "/turn" in line:
                break
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        while self.ask("GET", "/readyz")[0] != 200:
            time.sleep(0.05)

    def ask(self, method, path, body=None, headers=None):
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        request.add_header("Authorization", "Bearer " + self.token)
        request.add_header("Content-Type", "application/json")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as refused:
            return refused.code, json.loads(refused.read() or b"null")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=60)


def require(is_so, what):
    if not is_so:
        sys.exit(f"FAILED: {what}")


def turn(server, agent, kind):
    """A turn with a round, a tool and a round, as a host reports it."""
    server.ask("POST", f"/v1/agents/{agent}/messages", {"text": "look at the build"})
    _, asked = server.ask("GET", f"/v1/agents/{agent}/turn", headers={"Prefer": "wait=10"})
    run = asked["run_id"]
    for fact in [
        {"fact": "provider_round_completed", "round": 1, "input_tokens": 900, "output_tokens": 30,
         "diagnostics": {"model": "qwen3-8b", "finish_reason": "tool_calls"}},
        {"fact": "tool_execution_recorded", "tool_execution_id": run + "/1", "status": "success",
         "tool_name": "read_file", "input": {}, "output": "green", "summary": "read", "call_id": "c"},
        {"fact": "provider_round_completed", "round": 2, "input_tokens": 1000, "output_tokens": 9,
         "diagnostics": {"model": "qwen3-8b", "finish_reason": "stop"}},
        {"fact": "turn_terminal", "kind": kind, "reason": "as the check wants it"},
    ]:
        status, said = server.ask("POST", f"/v1/agents/{agent}/facts", {"run_id": run, **fact})
        require((status, said["answer"]) == (200, "accepted"), f"{fact}: {said}")
    return run
