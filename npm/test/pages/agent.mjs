// An agent that a test drives by named commands. The test provides its storage.

/** The error as plain data. */
export function plain(error) {
  return { error: { name: error.name, code: error.code, message: error.message } };
}

/** The commands over a scheduler class and a way of opening the ledger of an agent. */
export function agent(loop, open) {
  let ledger;
  let scheduler;
  const provider = { startTurn() {}, interject() {}, yieldTurn() {}, abortTurn() {}, release() {} };
  const clock = { now: () => BigInt(Date.now()) * 1_000_000n };
  const message = (id) => ({
    fact: "message_queued",
    message: {
      id,
      kind: "operator_prompt",
      origin: { kind: "operator" },
      trust: "trusted_operator",
      body: { type: "text", text: id },
    },
  });
  const commands = {
    async open(agent_id, options) {
      ledger = await open(agent_id, options);
      scheduler = await loop.drive({ agent_id }, { ledger, clock, provider });
      return scheduler.head();
    },
    async say(id) {
      const { answer } = await scheduler.propose(message(id));
      await scheduler.runUntilRest();
      return answer;
    },
    /** Repeats it as often as another writer is first. */
    async insist(id) {
      for (;;) {
        try {
          return (await scheduler.propose(message(id))).answer;
        } catch (error) {
          if (error.code !== "conflict") {
            throw error;
          }
          await scheduler.catchUp();
        }
      }
    },
    catchUp: () => scheduler.catchUp(),
    head: () => scheduler.head(),
    lines: () => ledger.read(0, 10_000),
    cut: () => ledger.cut,
    close: () => ledger.close(),
  };
  return async (command, ...args) => {
    try {
      return await commands[command](...args);
    } catch (error) {
      return plain(error);
    }
  };
}
