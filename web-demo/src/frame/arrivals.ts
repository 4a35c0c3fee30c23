// Sources that arrive without a click: dropped on the page, pasted, or sent by another page.
import { useEffect, useState } from "react";

import { dropped, type Files } from "../document/files.ts";

type OpenFiles = (name: string, files: Files) => void;
type Fail = (name: string, error: unknown) => void;

/** Listens for drops, pastes and messages. Returns whether something is held over the page. */
export function useArrivals(openFiles: OpenFiles, fail: Fail): boolean {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const isOurs = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const drag = (event: DragEvent) => {
      if (isOurs(event)) {
        event.preventDefault();
        setOver(true);
      }
    };
    const leave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    const drop = (event: DragEvent) => {
      setOver(false);
      if (isOurs(event) && event.dataTransfer !== null) {
        event.preventDefault();
        dropped(event.dataTransfer.items).then(
          ({ name, files }) => openFiles(name, files),
          (error: unknown) => fail("what was dropped", error),
        );
      }
    };
    const paste = (event: ClipboardEvent) => {
      const text = event.clipboardData?.getData("text/plain") ?? "";
      if (
        text.trim() !== "" &&
        !(event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement)
      ) {
        event.preventDefault();
        openFiles("pasted text", { "pasted text": new Blob([text]) });
      }
    };
    const hear = (event: MessageEvent<unknown>) => answer(event, openFiles, fail);
    window.addEventListener("dragover", drag);
    window.addEventListener("dragleave", leave);
    window.addEventListener("drop", drop);
    window.addEventListener("paste", paste);
    window.addEventListener("message", hear);
    return () => {
      window.removeEventListener("dragover", drag);
      window.removeEventListener("dragleave", leave);
      window.removeEventListener("drop", drop);
      window.removeEventListener("paste", paste);
      window.removeEventListener("message", hear);
    };
  }, [openFiles, fail]);
  return over;
}

/**
 * A page that has opened this one sends "PING" until it gets "PONG". Then it sends `{ wakeful: {
 * name, files } }`, where files maps paths to texts: one ledger, or a folder. Nothing else is
 * accepted, and nothing else is sent back.
 */
function answer(event: MessageEvent<unknown>, openFiles: OpenFiles, fail: Fail) {
  if (event.data === "PING") {
    event.source?.postMessage("PONG", {
      targetOrigin: event.origin === "null" ? "*" : event.origin,
    });
    return;
  }
  const { wakeful } = Object(event.data) as { wakeful?: { name?: unknown; files?: unknown } };
  if (wakeful === undefined) {
    return;
  }
  const name = typeof wakeful.name === "string" ? wakeful.name : "what another page sent";
  const files = Object.entries(Object(wakeful.files) as Record<string, unknown>);
  if (files.some(([, text]) => typeof text !== "string")) {
    fail(
      name,
      new Error("what another page sent is not `{ wakeful: { name, files } }` with texts by path"),
    );
    return;
  }
  openFiles(
    name,
    Object.fromEntries(files.map(([path, text]) => [path, new Blob([text as string])])),
  );
}
