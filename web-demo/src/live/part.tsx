// A part of the panel, and the answer to its form.
import { useId, useState, type ReactNode } from "react";

import type { Command, Refusal } from "./messages.ts";
import type { Live } from "./use-live.ts";

/** A part with its title. */
export function Part({
  title,
  wide = false,
  children,
}: {
  title: string;
  wide?: boolean;
  children: ReactNode;
}) {
  const id = useId();
  return (
    <section className={wide ? "live-part live-wide" : "live-part"} aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      {children}
    </section>
  );
}

/** What came of the last command of a form. */
export type Answered = { done: string } | { refused: Refusal } | null;

/** Sends commands, and keeps what came of the last one. */
export function useAnswer(live: Live) {
  const [answered, setAnswered] = useState<Answered>(null);
  const ask = async (command: Command, done: string): Promise<boolean> => {
    const refused = await live.send(command);
    setAnswered(refused === null ? { done } : { refused });
    return refused === null;
  };
  return { answered, ask };
}

/** What came of it, in words. */
export function Answer({ answered }: { answered: Answered }) {
  return (
    <>
      <p role="status" className="live-done">
        {answered !== null && "done" in answered ? answered.done : ""}
      </p>
      <div role="alert">
        {answered !== null && "refused" in answered && (
          <p className="live-refused">{answered.refused.message}</p>
        )}
      </div>
    </>
  );
}

/** A select with a label. */
export function Select({
  says,
  value,
  of,
  choose,
}: {
  says: string;
  value: string;
  of: readonly (readonly [name: string, says: string])[];
  choose: (name: string) => void;
}) {
  return (
    <label className="live-labelled">
      {says}
      <select value={value} onChange={({ target }) => choose(target.value)}>
        {of.map(([name, label]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The owners of budgets and triggers: the agent, and its open items. */
export function owners(live: Live): [string, string][] {
  const items = live.view?.open_items ?? [];
  return [["", "the agent"], ...items.map((item): [string, string] => [item, item])];
}
