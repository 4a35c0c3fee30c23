/** Server-sent events over `fetch`, without a gap over lost connections. */
import { Retries, Watched } from "./waiting.js";

/** An event of a stream. */
export interface StreamedEvent {
  /** The id, which names the place in the stream. */
  id: string;
  /** The data. */
  data: string;
}

/** After this time without a byte, a connection is lost. The server lets one pass in 15 seconds. */
const SILENCE = 45_000;

/** How to follow a stream. */
export interface Following {
  /** Opens the stream after the event with this id. */
  open(last: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>;
  /** The id after which to begin. */
  last: string;
  /** Whether the stream ends by itself. One that does not is opened again when it ends. */
  ends: boolean;
  /** Ends it. */
  signal: AbortSignal | undefined;
}

/** The events of a stream. A lost connection is opened again after the newest complete event. */
export async function* followed({
  open,
  last,
  ends,
  signal,
}: Following): AsyncGenerator<StreamedEvent, void, undefined> {
  const retries = new Retries(signal);
  for (;;) {
    const watched = new Watched(signal, SILENCE);
    let why: unknown;
    try {
      const events = new EventReader(last);
      const body = await watched.hears((signal) => open(last, signal));
      retries.answered();
      const reader = body.getReader();
      for (;;) {
        const { done, value } = await watched.hears(() => reader.read());
        if (done) {
          break;
        }
        for (const event of events.read(value)) {
          last = event.id;
          retries.succeeded();
          yield event;
        }
      }
      if (ends && events.isAtEnd) {
        return;
      }
    } catch (failed) {
      why = failed;
    } finally {
      watched.end();
    }
    await retries.after(why);
  }
}

/** Reads events from the bytes of a stream, as the HTML standard says. */
export class EventReader {
  readonly #decoder = new TextDecoder();
  /** The beginning of a line that has not ended. */
  #rest = "";
  #data: string[] = [];
  #id: string;

  constructor(last: string) {
    this.#id = last;
  }

  /** Whether the last event is complete. */
  get isAtEnd(): boolean {
    return this.#rest === "" && this.#data.length === 0;
  }

  /** The events that these bytes complete. */
  *read(bytes: Uint8Array): Generator<StreamedEvent, void, undefined> {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    // A carriage return at the end may be the first half of a line's end.
    const lines = text.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") {
        this.#field(line);
      } else if (this.#data.length > 0) {
        const data = this.#data.join("\n");
        this.#data = [];
        yield { id: this.#id, data };
      }
    }
  }

  #field(line: string): void {
    const [, name, value] = /^([^:]*):? ?([^]*)$/.exec(line) ?? [];
    if (name === "data") {
      this.#data.push(value ?? "");
    } else if (name === "id" && value !== undefined && !value.includes("\0")) {
      this.#id = value;
    }
  }
}
