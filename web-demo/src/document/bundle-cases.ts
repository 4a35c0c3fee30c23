// The bundled cases: fetched once, when the page starts.
import { useEffect, useState } from "react";

import { readBundle, type Case } from "../case/bundle.ts";
import type { Source } from "./source.ts";

/** The cases, or what is wrong with the bundle. */
export interface Bundle {
  cases: Case[] | null;
  broken: string | null;
}

/** Fetches the bundle beside the page. */
export function useBundle(): Bundle {
  const [bundle, setBundle] = useState<Bundle>({ cases: null, broken: null });
  useEffect(() => {
    fetched().then(
      (cases) => setBundle({ cases, broken: null }),
      (error: unknown) =>
        // There are no examples then, and everything else goes on.
        setBundle({ cases: [], broken: error instanceof Error ? error.message : String(error) }),
    );
  }, []);
  return bundle;
}

async function fetched(): Promise<Case[]> {
  const response = await fetch(new URL("bundle.json", document.baseURI), {
    cache: "no-cache",
  }).catch((why: unknown) => {
    throw new Error(`bundle.json cannot be fetched: ${String(why)}; reload the page to try again`);
  });
  if (!response.ok) {
    throw new Error(
      `bundle.json cannot be fetched (HTTP ${response.status}): write it with \`cargo xtask serve\``,
    );
  }
  return readBundle(await response.text());
}

/** A case as something to open. */
export function sourceOfCase(entry: Case): Source {
  const { case: name, shows, trace } = entry;
  return entry.kind === "story"
    ? { kind: "story", name, shows, story: entry.story, trace }
    : { kind: "fixture", name, shows, files: entry.files, trace };
}
