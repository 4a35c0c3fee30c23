// External triggers: make one, give its token away, deliver with it, rotate it and end it. What a
// delivery does is the core's to say.
import { useRef, useState, type RefObject } from "react";
import type { CallbackDeliveryMode, ExternalTrust } from "@package/payloads.js";

import { DELIVERY_MODES, TRUSTS } from "../case/labels.ts";
import { Trigger } from "../parts/standing.tsx";
import type { LiveTrigger } from "./messages.ts";
import { Answer, owners, Part, Select, useAnswer } from "./part.tsx";
import type { Live } from "./use-live.ts";

const EXPIRES: [string, string][] = [
  ["", "never"],
  ["600000", "after 10 min"],
  ["3600000", "after 1 h"],
  ["86400000", "after 1 day"],
];

/** The triggers of the agent, with their forms. */
export function Triggers({ live }: { live: Live }) {
  const { answered, ask } = useAnswer(live);
  const [token, setToken] = useState("");
  const text = useRef<HTMLInputElement>(null);
  const triggers = live.view?.triggers ?? [];
  return (
    <Part title="External triggers" wide>
      <CreateForm live={live} />
      {triggers.length > 0 && (
        <ul className="live-triggers" aria-label="external triggers of the live agent">
          {triggers.map((known) => (
            <li key={known.trigger.external_trigger_id} className="trigger">
              <Trigger trigger={known.trigger} now={live.view?.now ?? ""} />
              <Token known={known} />
              <div className="live-row">
                <Button
                  says="Deliver"
                  about={known}
                  disabled={known.token === null}
                  press={() => {
                    setToken(known.token ?? "");
                    text.current?.focus();
                  }}
                />
                <Button
                  says="Rotate"
                  about={known}
                  press={() => {
                    const { external_trigger_id } = known.trigger;
                    void ask(
                      { do: "rotate_trigger", external_trigger_id },
                      `${external_trigger_id} has a new token; the old one counts no longer.`,
                    );
                  }}
                />
                <Button
                  says="Revoke"
                  about={known}
                  press={() => {
                    const { external_trigger_id } = known.trigger;
                    void ask(
                      {
                        do: "say",
                        fact: JSON.stringify({
                          fact: "external_trigger_revoked",
                          external_trigger_id,
                        }),
                      },
                      `${external_trigger_id} has ended.`,
                    );
                  }}
                />
              </div>
            </li>
          ))}
        </ul>
      )}
      <Answer answered={answered} />
      <DeliverForm live={live} token={token} setToken={setToken} text={text} />
    </Part>
  );
}

function Button({
  says,
  about,
  disabled = false,
  press,
}: {
  says: string;
  about: LiveTrigger;
  disabled?: boolean;
  press: () => void;
}) {
  return (
    <button
      type="button"
      className="live-button"
      aria-label={`${says} ${about.trigger.external_trigger_id}`}
      disabled={disabled}
      onClick={press}
    >
      {says}
    </button>
  );
}

function Token({ known: { token } }: { known: LiveTrigger }) {
  return token === null ? (
    <p className="note">Its token is not known here: the ledger has only its hash. Rotate it.</p>
  ) : (
    <p className="live-token">
      token <code>{token}</code>
    </p>
  );
}

const NEW = { id: "", words: "", mode: "wake_hint", item: "", trust: "untrusted_external" };

function CreateForm({ live }: { live: Live }) {
  const { answered, ask } = useAnswer(live);
  const [draft, setDraft] = useState({ ...NEW, expires: "", once: false });
  const set = (part: Partial<typeof draft>) => setDraft({ ...draft, ...part });
  const id = draft.id.trim();
  const create = async () => {
    const made = await ask(
      {
        do: "create_trigger",
        trigger: {
          external_trigger_id: id,
          description: draft.words.trim() || id,
          delivery_mode: draft.mode as CallbackDeliveryMode,
          trust: draft.trust as ExternalTrust,
          one_shot: draft.once,
          ...(draft.item !== "" && { work_item_id: draft.item }),
          ...(draft.expires !== "" && { expires_in_ms: Number(draft.expires) }),
        },
      },
      "",
    );
    if (made) set({ id: "", words: "" });
  };
  return (
    <form
      aria-label="create a trigger"
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <div className="live-row">
        <input
          className="live-short"
          aria-label="id of the trigger"
          placeholder="Id, such as build"
          value={draft.id}
          onChange={({ target }) => set({ id: target.value })}
        />
        <input
          className="live-grows"
          aria-label="what is delivered to the trigger"
          placeholder="What is delivered, in words"
          value={draft.words}
          onChange={({ target }) => set({ words: target.value })}
        />
        <button
          type="submit"
          className="live-button live-first"
          disabled={live.view === null || id === ""}
        >
          Create
        </button>
      </div>
      <div className="live-grid">
        <Select
          says="Becomes"
          value={draft.mode}
          of={Object.entries(DELIVERY_MODES)}
          choose={(mode) => set({ mode })}
        />
        <Select
          says="Serves"
          value={draft.item}
          of={owners(live)}
          choose={(item) => set({ item })}
        />
        <Select
          says="Trusted"
          value={draft.trust}
          of={Object.entries(TRUSTS)}
          choose={(trust) => set({ trust })}
        />
        <Select
          says="Expires"
          value={draft.expires}
          of={EXPIRES}
          choose={(expires) => set({ expires })}
        />
        <label className="live-radio">
          <input
            type="checkbox"
            checked={draft.once}
            onChange={({ target }) => set({ once: target.checked })}
          />
          For one delivery
        </label>
      </div>
      <Answer answered={answered} />
    </form>
  );
}

function DeliverForm({
  live,
  token,
  setToken,
  text,
}: {
  live: Live;
  token: string;
  setToken: (token: string) => void;
  text: RefObject<HTMLInputElement | null>;
}) {
  const { answered, ask } = useAnswer(live);
  const [draft, setDraft] = useState({ text: "", id: "" });
  const deliver = () =>
    ask(
      { do: "deliver_with", token: token.trim(), text: draft.text, delivery_id: draft.id.trim() },
      "The delivery is recorded.",
    );
  return (
    <form
      aria-label="deliver from outside"
      onSubmit={(event) => {
        event.preventDefault();
        void deliver();
      }}
    >
      <div className="live-row">
        <input
          className="live-short"
          aria-label="token"
          placeholder="Token, wkt_…"
          autoComplete="off"
          spellCheck={false}
          value={token}
          onChange={({ target }) => setToken(target.value)}
        />
        <input
          ref={text}
          className="live-grows"
          aria-label="content of the delivery"
          placeholder="Content, if there is any"
          value={draft.text}
          onChange={({ target }) => setDraft({ ...draft, text: target.value })}
        />
        <input
          className="live-short"
          aria-label="id of the delivery"
          placeholder="Its id, counts once"
          value={draft.id}
          onChange={({ target }) => setDraft({ ...draft, id: target.value })}
        />
        <button
          type="submit"
          className="live-button live-first"
          disabled={live.view === null || token.trim() === ""}
        >
          Deliver
        </button>
      </div>
      <Answer answered={answered} />
    </form>
  );
}
