// A form for any fact, made from the published schema. An error is the core's own, with its place.
import { useEffect, useId, useMemo, useState } from "react";

import schemaUrl from "../../../docs/wakeful.schema.json?url";
import type { Refusal } from "./messages.ts";
import { ShapeControl } from "./schema-form.tsx";
import { shapeOf, textOf, type Draft, type Schema, type Shape } from "./shape.ts";

/** The form. `say` returns why the fact was refused, or null. */
export function FactForm({
  say,
  disabled,
}: {
  say: (fact: string) => Promise<Refusal | null>;
  disabled: boolean;
}) {
  const { shape, failed } = useFacts();
  const [draft, setDraft] = useState<Draft>({ fact: "work_item_created" });
  const [refused, setRefused] = useState<{ text: string; why: Refusal } | null>(null);
  const id = useId();
  const text = useMemo(() => (shape === null ? undefined : textOf(shape, draft)), [shape, draft]);
  if (failed !== null) {
    return <p className="live-refused">{failed}</p>;
  }
  if (shape === null) {
    return <p className="note">The schema is being read.</p>;
  }
  const submit = async () => {
    if (text === undefined) return;
    const why = await say(text);
    setRefused(why === null ? null : { text, why });
  };
  return (
    <form
      className="live-fact"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <div className="live-field">
        <label htmlFor={id}>fact</label>
        <ShapeControl of={shape} draft={draft} change={setDraft} label="fact" id={id} required />
      </div>
      <pre className="live-text" aria-label="the fact as text" tabIndex={0}>
        {text ?? ""}
      </pre>
      <div className="live-row">
        <button type="submit" className="live-button" disabled={disabled || text === undefined}>
          Say it
        </button>
      </div>
      <div role="alert">
        {refused !== null && refused.text === text && <Refused {...refused} />}
      </div>
    </form>
  );
}

/** Why a fact was refused, and the place in its text. */
function Refused({ text, why: { message, place } }: { text: string; why: Refusal }) {
  const line = place === undefined ? undefined : text.split("\n")[place.line - 1];
  // Columns count bytes.
  const before =
    line === undefined || place === undefined
      ? ""
      : new TextDecoder().decode(new TextEncoder().encode(line).subarray(0, place.column - 1));
  return (
    <div className="live-refused">
      <p>{message}</p>
      {line !== undefined && (
        <p>
          <code>
            {before.slice(-30)}
            <mark>{line.slice(before.length, before.length + 40)}</mark>
          </code>
        </p>
      )}
    </div>
  );
}

function useFacts(): { shape: Shape | null; failed: string | null } {
  const [facts, setFacts] = useState<{ shape: Shape | null; failed: string | null }>({
    shape: null,
    failed: null,
  });
  useEffect(() => {
    let stays = true;
    const read = async () => {
      const response = await fetch(schemaUrl);
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      return shapeOf((await response.json()) as Schema, "Fact");
    };
    read().then(
      (shape) => stays && setFacts({ shape, failed: null }),
      (error: unknown) =>
        stays &&
        setFacts({
          shape: null,
          failed: `the schema of facts cannot be read: ${error instanceof Error ? error.message : String(error)}`,
        }),
    );
    return () => {
      stays = false;
    };
  }, []);
  return facts;
}
