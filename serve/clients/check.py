"""Clients of the server that nobody here wrote: Schemathesis over the whole OpenAPI document, the
library of Standard Webhooks for deliveries, and curl over a connection that breaks.

usage: check.py WAKEFUL [EXAMPLES]
"""

import base64
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from standardwebhooks.webhooks import Webhook

HERE = os.path.dirname(os.path.abspath(__file__))


class Server:
    """`wakeful serve` over a new store."""

    def __init__(self, program, folder):
        self.process = subprocess.Popen(
            [program, "serve", "--listen", "127.0.0.1:0", "--no-socket", "--allow-http-hooks",
             "--requests-per-second", "1000000", "--wrong-tokens-per-second", "1000000",
             "--ledger", os.path.join(folder, "agents.sqlite")],
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


def schemathesis(server, examples):
    """The whole document. Ids that exist are among those that it tries, by its links."""
    ran = subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "schemathesis"),
         "--config-file", os.path.join(HERE, "schemathesis.toml"),
         "run", server.url + "/openapi.json", "--header", "Authorization: Bearer " + server.token,
         "--max-examples", str(examples), "--suppress-health-check", "all", "--no-color",
         "--request-timeout", "30"],
        capture_output=True, text=True)
    cases = re.search(r"(\d+) generated.*", ran.stdout)
    if ran.returncode != 0 or not cases:
        print(ran.stdout[-20000:], ran.stderr[-2000:])
        sys.exit("FAILED: schemathesis")
    tested = re.search(r"Tested: (\d+)", ran.stdout)
    print(f"schemathesis: {tested.group(1)} operations, {cases.group(0)}, no failure")


def webhooks(server):
    """Deliveries that the library of Standard Webhooks signs, and one that it does not."""
    require(server.ask("PUT", "/v1/agents/signed", {"turns": "elsewhere"})[0] == 201, "an agent")
    _, made = server.ask("POST", "/v1/agents/signed/triggers", {"external_trigger_id": "in"})
    _, signed = server.ask("PUT", "/v1/agents/signed/triggers/in/signature",
                           {"scheme": "standard_webhooks"})
    library = Webhook(signed["secret"])
    now = datetime.datetime.now(datetime.timezone.utc)
    count = 0
    for number in range(20):
        body = json.dumps({"number": number, "text": "é" * number})
        headers = {"webhook-id": f"msg_{number}", "webhook-timestamp": str(int(now.timestamp())),
                   "webhook-signature": library.sign(f"msg_{number}", now, body)}
        require(server.ask("POST", made["path"], body.encode(), headers)[0] == 202, "a signed one")
        bent = bytearray(body.encode())
        bent[len(bent) // 2] ^= 1
        require(server.ask("POST", made["path"], bytes(bent), headers)[0] == 401, "a bent body")
        other = Webhook(base64.b64encode(os.urandom(32)).decode())
        headers["webhook-signature"] = other.sign(f"msg_{number}", now, body)
        require(server.ask("POST", made["path"], body.encode(), headers)[0] == 401, "another secret")
        count += 3
    print(f"standardwebhooks: {count} deliveries, each accepted or refused as its signature is")


def main():
    program, examples = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder)
        try:
            webhooks(server)
            schemathesis(server, examples)
            require(server.ask("GET", "/readyz")[0] == 200, "the server is well after all that")
        finally:
            code = server.end()
        require(code == 0, f"it ended with {code}")


main()
