// The panel of the live agent: its process, its time, its input, its provider, faults, and the log.
import {
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
  type ReactNode,
  type RefObject,
} from "react";
import type { Priority } from "@package/payloads.js";

import "./live.css";
import { Said } from "../parts/said.tsx";
import { Budgets } from "./budgets.tsx";
import { FactForm } from "./fact-form.tsx";
import { STORAGE_FULL } from "./full.ts";
import {
  DOINGS,
  FAULTS,
  type Command,
  type Doing,
  type Fault,
  type LiveView,
  type TaskEnd,
} from "./messages.ts";
import { Part } from "./part.tsx";
import { StorageFull } from "./storage-full.tsx";
import { Triggers } from "./triggers.tsx";
import type { Live, ProcessState } from "./use-live.ts";

const PROCESS: Record<ProcessState, string> = {
  none: "no process",
  starting: "starting",
  open: "running",
  closed: "shut down",
  crashed: "crashed",
};

/** The panel. `show` opens the agent's ledger; null if it is open, or if there is none. */
export function LivePane({ live, show }: { live: Live; show: (() => void) | null }) {
  const { view, process, refused } = live;
  const speaks = useRef<HTMLInputElement>(null);
  const isFull = view?.is_full === true || refused?.code === STORAGE_FULL;
  return (
    <section className="live" aria-label="Live agent">
      <header className="pane-head">
        <h2>Live agent</h2>
        <span className={`live-process live-process-${process}`}>{PROCESS[process]}</span>
        <span className="note">
          {live.head === null
            ? "No ledger is open"
            : `${live.lines.length} entries, head ${live.head.chain.slice(0, 8)}`}
        </span>
        {show !== null && (
          <button type="button" className="live-button" onClick={show}>
            Show its ledger
          </button>
        )}
      </header>
      <div className="live-status">
        <div role="status">
          {view === null ? (
            <p>{ABSENT[process]}</p>
          ) : (
            <p className="live-sentence">
              <Said sentence={view.sentence} />
            </p>
          )}
        </div>
        {view !== null && <Standing view={view} />}
      </div>
      <div role="alert">
        {refused !== null && <p className="live-refused">{refused.message}</p>}
        {isFull && <StorageFull />}
        {view?.trouble != null && !isFull && (
          <p className="live-refused">{view.trouble}; retrying every second.</p>
        )}
      </div>
      <div className="live-body">
        <Runtime live={live} speaks={speaks} />
        <Time live={live} />
        <Operator live={live} speaks={speaks} />
        <Provider live={live} />
        <Triggers live={live} />
        <Budgets live={live} />
        <Faults live={live} />
        <Part title="Inject a fact" wide>
          <FactForm disabled={view === null} say={(fact) => live.send({ do: "say", fact })} />
        </Part>
        <Log live={live} />
      </div>
    </section>
  );
}

const ABSENT: Record<ProcessState, string> = {
  none: "No agent runs here. Start one: its ledger stays in this browser.",
  starting: "The agent's process starts.",
  open: "",
  closed: "The agent was shut down. Its ledger is kept: open it again, and the agent continues.",
  crashed: "The agent's process died. Its ledger is kept: open it again, and the agent continues.",
};

function Standing({ view }: { view: LiveView }) {
  return (
    <dl className="live-facts">
      <div>
        <dt>Status</dt>
        <dd>{view.status}</dd>
      </div>
      <div>
        <dt>Run</dt>
        <dd>
          {view.run === null
            ? "none"
            : `${view.run.run_id}, ${view.run.ends_at === null ? "without an end" : `ends ${clock(view.run.ends_at)}`}`}
        </dd>
      </div>
      <div>
        <dt>Next wake</dt>
        <dd>{view.next_wake === null ? "no instant is known" : clock(view.next_wake)}</dd>
      </div>
    </dl>
  );
}

function Action({
  live,
  command,
  disabled = false,
  children,
}: {
  live: Live;
  command: Command;
  disabled?: boolean;
  children: ReactNode;
}) {
  return (
    <button
      type="button"
      className="live-button"
      disabled={disabled || live.view === null}
      onClick={() => void live.send(command)}
    >
      {children}
    </button>
  );
}

function Runtime({ live, speaks }: { live: Live; speaks: RefObject<HTMLInputElement | null> }) {
  const { process, view } = live;
  const [asks, setAsks] = useState(false);
  const isOpen = process === "open" || process === "starting";
  const opens = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    // Keep the keyboard focus near, because the pressed button is disabled now.
    const { activeElement } = document;
    if (activeElement instanceof HTMLButtonElement && activeElement.disabled)
      (isOpen ? speaks : opens).current?.focus();
  }, [isOpen, speaks]);
  const says = (fact: string): Command => ({ do: "say", fact: JSON.stringify({ fact }) });
  return (
    <Part title="Process">
      <div className="live-row">
        <button
          ref={opens}
          type="button"
          className="live-button live-first"
          disabled={isOpen}
          onClick={() => void live.open()}
        >
          {process === "none" ? "Start an agent" : "Open again"}
        </button>
        <Action live={live} command={says("stop_requested")} disabled={view?.status === "stopped"}>
          Stop
        </Action>
        <Action live={live} command={says("start_requested")} disabled={view?.status !== "stopped"}>
          Start
        </Action>
        <Action live={live} command={{ do: "restart" }}>
          Restart
        </Action>
        <Action live={live} command={{ do: "shut_down" }}>
          Shut down
        </Action>
        <button
          type="button"
          className="live-button"
          aria-expanded={asks}
          disabled={live.lines.length === 0 && live.refused === null}
          onClick={() => setAsks(!asks)}
        >
          Discard …
        </button>
        {asks && (
          <button
            type="button"
            className="live-button live-bad"
            onClick={() => {
              setAsks(false);
              void live.discard();
            }}
          >
            Remove its ledger for good
          </button>
        )}
      </div>
    </Part>
  );
}

function Time({ live }: { live: Live }) {
  const { view } = live;
  const now = useNow(view);
  const name = useId();
  const isVirtual = view?.mode === "virtual";
  return (
    <Part title="Time">
      <fieldset className="live-row" disabled={view === null}>
        <legend className="unseen">how time moves</legend>
        {(["real", "virtual"] as const).map((mode) => (
          <label key={mode} className="live-radio">
            <input
              type="radio"
              name={name}
              checked={view?.mode === mode}
              onChange={() => void live.send({ do: "set_clock", mode })}
            />
            {mode === "real" ? "Real" : "Virtual"}
          </label>
        ))}
        <time className="live-clock">{now === null ? "" : clock(now)}</time>
      </fieldset>
      <div className="live-row">
        <Action
          live={live}
          command={{ do: "wake" }}
          disabled={view?.next_event == null || !isVirtual}
        >
          {view?.next_event == null ? "To the next event" : `To ${clock(view.next_event)}`}
        </Action>
        <Action live={live} command={{ do: "advance", by_ms: 60_000 }} disabled={!isVirtual}>
          + 1 min
        </Action>
        <Action live={live} command={{ do: "advance", by_ms: 3_600_000 }} disabled={!isVirtual}>
          + 1 h
        </Action>
      </div>
    </Part>
  );
}

const PRIORITIES: Priority[] = ["interject", "next", "normal", "background"];

function Operator({ live, speaks }: { live: Live; speaks: RefObject<HTMLInputElement | null> }) {
  const [text, setText] = useState("");
  const [priority, setPriority] = useState<Priority>("normal");
  const send = async () => {
    const refused = await live.send({ do: "prompt", text, priority });
    if (refused === null) setText("");
  };
  return (
    <Part title="Operator">
      <form
        className="live-row"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <input
          ref={speaks}
          className="live-grows"
          aria-label="message of the operator"
          placeholder="Say something to the agent"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <select
          aria-label="priority"
          value={priority}
          onChange={({ target }) => setPriority(target.value as Priority)}
        >
          {PRIORITIES.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <button
          type="submit"
          className="live-button live-first"
          disabled={live.view === null || text.trim() === ""}
        >
          Send
        </button>
      </form>
    </Part>
  );
}

const ENDS: [TaskEnd, string][] = [
  ["task_completed", "completes"],
  ["task_failed", "fails"],
  ["task_cancelled", "is cancelled"],
];

function Provider({ live }: { live: Live }) {
  const { behaviour, setBehaviour, view } = live;
  return (
    <Part title="Provider">
      <div className="live-row">
        <label className="live-labelled">
          Next turn
          <select
            value={behaviour.does}
            onChange={({ target }) => setBehaviour({ ...behaviour, does: target.value as Doing })}
          >
            {Object.entries(DOINGS).map(([does, says]) => (
              <option key={does} value={does}>
                {says}
              </option>
            ))}
          </select>
        </label>
        <label className="live-labelled">
          Duration
          <select
            value={behaviour.takes_ms}
            onChange={({ target }) =>
              setBehaviour({ ...behaviour, takes_ms: Number(target.value) })
            }
          >
            <option value={0}>None</option>
            <option value={2000}>2 s</option>
            <option value={10_000}>10 s</option>
            <option value={60_000}>1 min</option>
          </select>
        </label>
        <label className="live-labelled">
          Tokens
          <input
            className="live-amount"
            type="number"
            min={0}
            value={behaviour.tokens}
            onChange={({ target }) =>
              setBehaviour({ ...behaviour, tokens: Math.max(0, Math.trunc(Number(target.value))) })
            }
          />
        </label>
        <label className="live-labelled live-grows">
          Text
          <input
            value={behaviour.text}
            onChange={({ target }) => setBehaviour({ ...behaviour, text: target.value })}
          />
        </label>
      </div>
      {view?.active_tasks.map((task) => (
        <div className="live-row" key={task}>
          <span className="live-task">
            task <code>{task}</code>
          </span>
          {ENDS.map(([how, says]) => (
            <Action key={how} live={live} command={{ do: "end_task", task_id: task, how }}>
              {says}
            </Action>
          ))}
        </div>
      ))}
    </Part>
  );
}

function Faults({ live }: { live: Live }) {
  const { view, process } = live;
  const armed = view?.fault ?? null;
  return (
    <Part title="Faults" wide>
      <div className="live-row">
        <button
          type="button"
          className="live-button live-bad"
          disabled={process !== "open" && process !== "starting"}
          onClick={live.crash}
        >
          Crash now
        </button>
        {(Object.entries(FAULTS) as [Fault, string][]).map(([fault, says]) => (
          <button
            key={fault}
            type="button"
            className="live-button"
            aria-pressed={armed === fault}
            disabled={view === null}
            onClick={() => void live.send({ do: "arm", fault: armed === fault ? null : fault })}
          >
            {says}
          </button>
        ))}
        {view !== null && view.held > 0 && (
          <Action live={live} command={{ do: "deliver" }}>
            {view.held === 1 ? "report the held fact" : `report the ${view.held} held facts`}
          </Action>
        )}
      </div>
    </Part>
  );
}

function Log({ live }: { live: Live }) {
  return (
    <Part title="What happened" wide>
      {live.log.length === 0 ? (
        <p className="note">Nothing yet.</p>
      ) : (
        <ol className="live-log" aria-label="what happened, the newest first" tabIndex={0}>
          {live.log.toReversed().map(({ at, what, says }, index) => (
            <li key={live.log.length - index} className={`live-log-${what}`}>
              <time>{clock(at)}</time>
              <span className="live-what">{what}</span>
              <span>{says}</span>
            </li>
          ))}
        </ol>
      )}
    </Part>
  );
}

/** The agent's time: real time moves on its own, virtual time on command. */
function useNow(view: LiveView | null): string | null {
  const [now, setNow] = useState<string | null>(null);
  useEffect(() => {
    setNow(view?.now ?? null);
    if (view === null || view.mode === "virtual") return undefined;
    const ahead = Date.parse(view.now) - Date.now();
    const timer = setInterval(() => setNow(new Date(Date.now() + ahead).toISOString()), 1000);
    return () => clearInterval(timer);
  }, [view]);
  return now;
}

/** An instant without its fraction, for people. */
const clock = (at: string) => at.replace("T", " ").replace(/(\.[0-9]+)?Z$/, "");
