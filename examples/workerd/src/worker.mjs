// An agent as a Durable Object of workerd. Its ledger is the object's SQLite, and its alarm is the
// object's alarm.
//
//   curl -d 'look at the build' http://127.0.0.1:8787/agent-1
import { DurableObject } from "cloudflare:workers";

import { Scheduler } from "@wakeful/scheduler";

import { SqlLedger } from "./sql-ledger.mjs";

export class Agent extends DurableObject {
  #answers = [];
  #scheduler;

  /** Takes a message of the operator. Returns the decisions. */
  async say(agent_id, text) {
    const scheduler = this.#open(agent_id);
    const message = {
      id: crypto.randomUUID(),
      kind: "operator_prompt",
      origin: { kind: "operator" },
      trust: "trusted_operator",
    };
    scheduler.propose({
      fact: "message_queued",
      message: { ...message, body: { type: "text", text } },
    });
    const decisions = await this.#run(scheduler);
    return { decisions, head: scheduler.head().seq };
  }

  /** workerd calls this when the alarm rings. */
  async alarm() {
    const agentId = await this.ctx.storage.get("agent_id");
    if (agentId !== undefined) {
      await this.#run(this.#open(agentId));
    }
  }

  #open(agent_id) {
    const provider = {
      // A real provider would ask a model here. This turn ends at once.
      startTurn: ({ run_id }) =>
        this.#answers.push({ fact: "turn_terminal", run_id, kind: "completed" }),
      interject() {},
      yieldTurn() {},
      abortTurn() {},
      release() {},
    };
    const clock = { now: () => BigInt(Date.now()) * 1_000_000n };
    this.#scheduler ??= Scheduler.drive(
      { agent_id },
      { ledger: new SqlLedger(this.ctx.storage), clock, provider },
    );
    return this.#scheduler;
  }

  async #run(scheduler) {
    const decisions = [];
    do {
      this.#answers.splice(0).forEach((fact) => scheduler.propose(fact));
      decisions.push(
        ...scheduler
          .runUntilRest()
          .flatMap(({ decision }) => (decision ? [decision.decision] : [])),
      );
    } while (this.#answers.length > 0);
    const wake = scheduler.nextWake();
    if (wake !== undefined) {
      await this.ctx.storage.setAlarm(Number(wake / 1_000_000n));
    }
    return decisions;
  }
}

export default {
  async fetch(request, env) {
    const agentId = new URL(request.url).pathname.slice(1);
    const agent = env.AGENTS.getByName(agentId);
    return Response.json(await agent.say(agentId, await request.text()));
  },
};
