"""Clients of the server that nobody here wrote: Schemathesis over the whole OpenAPI document, the
library of Standard Webhooks for deliveries, and OpenTelemetry's own messages for traces.

usage: check.py WAKEFUL [EXAMPLES]
"""

import base64
import datetime
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as otlp
from opentelemetry.proto.trace.v1 import trace_pb2
from standardwebhooks.webhooks import Webhook

from server import Server, require, turn

HERE = os.path.dirname(os.path.abspath(__file__))


class Collector(http.server.ThreadingHTTPServer):
    """A collector of traces. It reads requests with the messages that OpenTelemetry publishes."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Export)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.spans = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Export(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = otlp.ExportTraceServiceRequest.FromString(body)
        is_right = (self.path == "/v1/traces"
                    and self.headers["Content-Type"] == "application/x-protobuf"
                    and not any(map(unknown, every(request))))
        if is_right:
            self.server.spans += [(resource.resource, span) for resource in request.resource_spans
                                  for scope in resource.scope_spans for span in scope.spans]
        answer = otlp.ExportTraceServiceResponse().SerializeToString()
        self.send_response(200 if is_right else 400)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def unknown(message):
    """Whether a message has fields that its definition does not."""
    return len(UnknownFieldSet(message)) > 0


def every(message):
    """A message and all messages in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type:
            repeated = not isinstance(value, type(message)) and hasattr(value, "__len__")
            for part in value if repeated else [value]:
                yield from every(part)


def schemathesis(server, examples):
    """The whole document. Ids that exist are among those that it tries, by its links."""
    ran = subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "schemathesis"),
         "--config-file", os.path.join(HERE, "schemathesis.toml"),
         "run", server.url + "/openapi.json", "--header", "Authorization: Bearer " + server.token,
         "--max-examples", str(examples), "--suppress-health-check", "all", "--no-color",
         "--request-timeout", "30"],
        # It keeps a cache in the folder in which it runs.
        cwd=tempfile.gettempdir(), capture_output=True, text=True)
    cases = re.search(r"(\d+) generated.*", ran.stdout)
    if ran.returncode != 0 or not cases:
        # What is printed otherwise is shown only if all goes well.
        print(ran.stdout[-20000:], ran.stderr[-2000:], file=sys.stderr)
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


def traces(server, collector):
    """Turns that the messages of OpenTelemetry read as they were."""
    require(server.ask("PUT", "/v1/agents/traced", {"turns": "elsewhere"})[0] == 201, "an agent")
    runs = [turn(server, "traced", kind) for kind in ["completed"] * 9 + ["aborted"]]
    until = time.time() + 30
    while len(collector.spans) < 40 and time.time() < until:
        time.sleep(0.05)
    require(len(collector.spans) == 40, f"{len(collector.spans)} spans of 10 turns")
    require(len({span.span_id for _, span in collector.spans}) == 40, "each span has its id")
    roots = [span for _, span in collector.spans if not span.parent_span_id]
    named = [{it.key: it.value for it in root.attributes} for root in roots]
    require([it["wakeful.run_id"].string_value for it in named] == runs, "a trace of each run")
    failed = [root.status.code == trace_pb2.Status.STATUS_CODE_ERROR for root in roots]
    require(failed == [False] * 9 + [True], "the last one failed")
    for resource, span in collector.spans:
        names = [it.value.string_value for it in resource.attributes if it.key == "service.name"]
        root = next(root for root in roots if root.trace_id == span.trace_id)
        require(names == ["wakeful"], "the service")
        require((len(span.trace_id), len(span.span_id)) == (16, 8), "the lengths of ids")
        require(span.parent_span_id in (b"", root.span_id), "its parent")
        require(root.start_time_unix_nano <= span.start_time_unix_nano
                <= span.end_time_unix_nano <= root.end_time_unix_nano, "its time is in the turn")
    print("opentelemetry-proto: 40 spans of 10 turns, without an unknown field")


def main():
    program, examples = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    with tempfile.TemporaryDirectory() as folder:
        collector = Collector()
        server = Server(program, folder, "--otlp-endpoint", collector.url)
        try:
            webhooks(server)
            traces(server, collector)
            schemathesis(server, examples)
            require(server.ask("GET", "/readyz")[0] == 200, "the server is well after all that")
        finally:
            code = server.end()
        require(code == 0, f"it ended with {code}")


main()
