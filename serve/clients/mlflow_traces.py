"""Traces in mlflow, a receiver that nobody here wrote. It takes minutes to install, so it is run by
hand; docs/running.md has its last output.

usage: python -m venv V && V/bin/pip install mlflow==3.17.2 && V/bin/python mlflow_traces.py WAKEFUL
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import mlflow

from server import Server, require, turn


def mlflow_server(folder):
    """mlflow over a new store, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "mlflow", "server", "--port", str(port), "--workers", "1",
         "--backend-store-uri", f"sqlite:///{folder}/mlflow.sqlite",
         "--default-artifact-root", os.path.join(folder, "artifacts")],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    until = time.time() + 120
    while True:
        try:
            urllib.request.urlopen(url + "/health", timeout=1)
            return process, url
        except OSError:
            require(time.time() < until and process.poll() is None, "mlflow does not start")
            time.sleep(0.5)


def shown(client):
    """The traces that mlflow has, the oldest first."""
    found = client.search_traces(locations=["0"])
    return sorted(found, key=lambda trace: trace.info.request_time)


def main():
    with tempfile.TemporaryDirectory() as folder:
        process, url = mlflow_server(folder)
        os.environ["OTEL_EXPORTER_OTLP_HEADERS"] = "x-mlflow-experiment-id=0"
        server = Server(sys.argv[1], folder, "--otlp-endpoint", url)
        try:
            server.ask("PUT", "/v1/agents/ada", {"turns": "elsewhere"})
            turn(server, "ada", "completed")
            turn(server, "ada", "aborted")
            client = mlflow.MlflowClient(tracking_uri=url)
            until = time.time() + 60
            while time.time() < until and sum(len(it.data.spans) for it in shown(client)) < 8:
                time.sleep(0.5)
            traces = shown(client)
            print(f"mlflow {mlflow.__version__}: {len(traces)} traces")
            for trace in traces:
                print(f"{trace.info.state.value} {trace.info.token_usage}")
                for span in trace.data.spans:
                    depth = "    " if span.parent_id else "  "
                    events = "".join(f" [{event.name}]" for event in span.events)
                    print(f"{depth}{span.name} ({span.span_type}, {span.status.status_code.value}){events}")
            require([len(trace.data.spans) for trace in traces] == [4, 4], "all spans are there")
        finally:
            code = server.end()
            process.terminate()
            process.wait(timeout=60)
        require(code == 0, f"it ended with {code}")


main()
