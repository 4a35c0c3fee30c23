// The state: closure, posture, obligations, next wake, projection, and the raw state as a tree.
import { useState, type ReactNode } from "react";
import type { Explanation } from "@package/payloads.js";
import type { State } from "@guest/wakeful_web.js";

import { clockTime } from "../case/sentence.ts";
import { JsonTree } from "../parts/json-tree.tsx";
import { Pane } from "../parts/pane.tsx";
import { SeqLink } from "../parts/seq-link.tsx";

/** What the facts add up to. */
export function StatePane({ explanation, state, now }: { explanation: Explanation; state: State; now: string }) {
  const { closure, posture, projection, obligations, head, status } = explanation;
  const signal = closure.work_signal;
  return (
    <Pane title="State" note={<span title={head.chain}>head #{head.seq}</span>}>
      <Group title="Closure">
        <Row name="outcome" value={closure.outcome} />
        <Row name="waits for" value={closure.waiting_reason} />
        <Row name="work signal" value={signal == null ? null : `${signal.work_item_id}, ${signal.reactivation_mode}`} />
        <Row name="runtime" value={closure.runtime_posture} />
      </Group>
      <Group title="Posture">
        <Row name="status" value={status} />
        <Row name="posture" value={posture.posture} />
        <Row name="because" value={posture.reason} prose />
      </Group>
      <Group title="Obligations">
        <Row name="next wake" value={explanation.next_wake == null ? null : clockTime(explanation.next_wake, now)} />
        {obligations.length === 0 && <Row name="owed" value={null} />}
        {obligations.map((owed) => (
          <Row key={`${owed.kind} ${owed.id}`} name={words(owed.kind)} value={owed.id}>
            {owed.enabled_at != null && <span>at {clockTime(owed.enabled_at, now)} </span>}
            <SeqLink seq={owed.seq} />
          </Row>
        ))}
      </Group>
      <Group title="Projection" narrow>
        {Object.entries(projection).map(([name, value]) => (
          <Row key={name} name={words(name)} value={scalar(value)} />
        ))}
      </Group>
      <RawState state={state} />
    </Pane>
  );
}

function RawState({ state }: { state: State }) {
  const [open, setOpen] = useState(false);
  return (
    <details className="raw" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Raw state</summary>
      {open && <JsonTree value={state} depth={1} label="raw state" />}
    </details>
  );
}

/** Names and values; a narrow group has short values, at the right. */
function Group({ title, narrow = false, children }: { title: string; narrow?: boolean; children: ReactNode }) {
  return (
    <section className={narrow ? "group group-narrow" : "group"}>
      <h3>{title}</h3>
      <dl>{children}</dl>
    </section>
  );
}

/** A name and a value; what is absent, zero or false steps back. */
function Row(props: { name: string; value: string | null | undefined; prose?: boolean; children?: ReactNode }) {
  const value = props.value ?? "none";
  const quiet = ["none", "0", "no"].includes(value);
  return (
    <div className={`row${quiet ? " row-quiet" : ""}${props.prose ? " row-prose" : ""}`}>
      <dt>{props.name}</dt>
      <dd>
        <span>{value}</span> {props.children}
      </dd>
    </div>
  );
}

function scalar(value: string | number | boolean | string[] | null | undefined): string | null {
  if (Array.isArray(value)) {
    return value.length === 0 ? null : value.join(", ");
  }
  return value == null ? null : typeof value === "boolean" ? (value ? "yes" : "no") : String(value);
}

function words(name: string): string {
  return name.replaceAll("_", " ");
}
