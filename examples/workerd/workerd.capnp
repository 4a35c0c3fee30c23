# What workerd runs: the bundle and the guest beside it, as one service on port 8787. Objects are kept in the folder `objects`.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .agent),
    (name = "objects", disk = (path = "objects", writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:8787", http = (), service = "main")],
);

const agent :Workerd.Worker = (
  modules = [
    (name = "worker.js", esModule = embed "dist/worker.js"),
    (name = "core.wasm", wasm = embed "dist/core.wasm"),
  ],
  compatibilityDate = "2026-01-01",
  bindings = [(name = "AGENTS", durableObjectNamespace = "Agent")],
  durableObjectNamespaces = [(className = "Agent", uniqueKey = "wakeful-agents", enableSql = true)],
  durableObjectStorage = (localDisk = "objects"),
);
