// The state: closure, posture, obligations, diagnostics, projection, and the raw state as a tree.
import { memo, useEffect, useState, type ReactNode } from "react";

import type { Json } from "@guest/wakeful_web.js";
import type { AgentSummary } from "@package/payloads.js";
import { clockTime } from "../case/clock.ts";
import { OBLIGATIONS } from "../case/labels.ts";
import { usageWords } from "../case/standing.ts";
import { counted } from "../case/words.ts";
import type { Answer, Seen } from "../document/messages.ts";
import type { Open } from "../document/use-document.ts";
import { useRows } from "../document/use-rows.ts";
import { Alarm } from "../frame/alarm.tsx";
import { JsonTree } from "../parts/json-tree.tsx";
import { Pane } from "../parts/pane.tsx";
import { MidBatch } from "../parts/mid-batch.tsx";
import { SeqLink } from "../parts/seq-link.tsx";
import { Budgets, Trigger } from "../parts/standing.tsx";

/** The state at the cursor. */
export const StatePane = memo(function StatePane({ open, seen }: { open: Open; seen: Seen }) {
  const { closure, posture, projection, obligations, diagnostics, head, status, next_wake } =
    seen.explanation;
  const now = useRows(open, [seen.look.seq]).get(seen.look.seq)?.at ?? "1970-01-01T00:00:00Z";
  const signal = closure.work_signal;
  return (
    <Pane
      title="State"
      note={
        <span className="note" title={head.chain}>
          head #{head.seq}
        </span>
      }
    >
      {diagnostics.length > 0 && (
        <section className="group">
          <h3>Diagnostics</h3>
          <MidBatch open={open} seen={seen} />
          <ul>
            {diagnostics.map((found, index) => (
              <li key={index} className={`diagnostic diagnostic-${found.severity}`}>
                <strong>{found.severity}</strong> {found.message}
              </li>
            ))}
          </ul>
        </section>
      )}
      <Group title="Closure" means="what the facts amount to between turns">
        <Row name="Outcome" value={closure.outcome} />
        <Row name="Waits for" value={closure.waiting_reason} />
        <Row
          name="Work signal"
          value={signal == null ? null : `${signal.work_item_id}, ${signal.reactivation_mode}`}
        />
        <Row name="Runtime" value={closure.runtime_posture} />
      </Group>
      <Group title="Posture" means="the agent in one word">
        <Row name="Status" value={status} />
        <Row name="Posture" value={posture.posture} />
        <Row name="Because" value={posture.reason} prose />
      </Group>
      <Group title="Obligations" means="what must still happen">
        <Row name="Next wake" value={next_wake == null ? null : clockTime(next_wake, now)} />
        {obligations.length === 0 && <Row name="Obligation" value={null} />}
        {obligations.map((owed) => (
          <Row key={`${owed.kind} ${owed.id}`} name={OBLIGATIONS[owed.kind]} value={owed.id}>
            {owed.enabled_at != null && <span>at {clockTime(owed.enabled_at, now)} </span>}
            <SeqLink seq={owed.seq} />
          </Row>
        ))}
      </Group>
      <Standing summary={seen.summary} now={now} />
      <Group title="Projection" means="what the rules read, folded from all entries" narrow>
        {Object.entries(projection).map(([name, value]) => (
          <Row key={name} name={words(name)} value={scalar(value)} />
        ))}
      </Group>
      <RawState open={open} seq={seen.look.seq} />
    </Pane>
  );
});

/** What the agent used and may use, and who can wake it from outside. */
function Standing({ summary, now }: { summary: AgentSummary; now: string }) {
  const { budgets, model, active_external_triggers: triggers, tombstones } = summary;
  const ended = tombstones.external_triggers;
  return (
    <>
      {(budgets.length > 0 || model.total.rounds > 0) && (
        <section className="group">
          <h3>Budgets</h3>
          {budgets.length > 0 && <Budgets budgets={budgets} now={now} />}
          <dl>
            <Row name="Used that day" value={usageWords(model.today)} prose />
            <Row name="Used in all" value={usageWords(model.total)} prose />
          </dl>
        </section>
      )}
      {triggers.length + ended > 0 && (
        <section className="group">
          <h3>External triggers</h3>
          <ul aria-label="external triggers">
            {triggers.map((trigger) => (
              <li key={trigger.external_trigger_id} className="trigger">
                <Trigger trigger={trigger} now={now} />
              </li>
            ))}
          </ul>
          {ended > 0 && (
            <p className="note">
              {counted(ended, "trigger has", "triggers have")} ended: used, revoked or expired
            </p>
          )}
        </section>
      )}
    </>
  );
}

/** The whole state, fetched only while it is visible. */
function RawState({ open, seq }: { open: Open; seq: number }) {
  const [shown, setShown] = useState(false);
  const [state, setState] = useState<Answer<Json> | null>(null);
  useEffect(() => {
    let alive = true;
    if (shown) {
      void open.document.state(seq).then((answer) => alive && setState(answer));
    }
    return () => {
      alive = false;
    };
  }, [open, seq, shown]);
  return (
    <details className="raw" open={shown} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>Raw state</summary>
      {shown && state !== null && "ok" in state && (
        <JsonTree value={Object(state.ok) as object} depth={1} label="raw state" />
      )}
      {shown && state !== null && "error" in state && (
        <Alarm title="The state cannot be read" error={state.error} />
      )}
    </details>
  );
}

/** Names and values; a narrow group has short values, at the right. */
function Group({
  title,
  means,
  narrow = false,
  children,
}: {
  title: string;
  means: string;
  narrow?: boolean;
  children: ReactNode;
}) {
  return (
    <section className={narrow ? "group group-narrow" : "group"}>
      <h3>
        {title} <span className="note">{means}</span>
      </h3>
      <dl>{children}</dl>
    </section>
  );
}

/** A name and a value. An absent, zero or false value is dimmed. */
function Row(props: {
  name: string;
  value: string | null | undefined;
  prose?: boolean;
  children?: ReactNode;
}) {
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

/** A name of the core as a label in sentence case. */
function words(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
}
