// The body of a function that makes a host in memory. The host counts its calls, and keeps the
// requests of started runs. The caller puts `MemoryLedger` before this text; `nowNanos` is the
// function's argument.
const calls = { append: 0, read: 0, now: 0, startTurn: 0 };
const lines = new MemoryLedger();
const started = [];
const host = {
  calls,
  started,
  lines,
  at: nowNanos,
  ledger: {
    append(expected, batch) {
      calls.append += 1;
      lines.append(expected, batch);
    },
    read(after, limit) {
      calls.read += 1;
      return lines.read(after, limit);
    },
  },
  clock: {
    now() {
      calls.now += 1;
      return host.at;
    },
  },
  provider: {
    startTurn(request) {
      calls.startTurn += 1;
      started.push(request);
    },
    interject() {},
    yieldTurn() {},
    abortTurn() {},
    release() {},
  },
};
return host;
