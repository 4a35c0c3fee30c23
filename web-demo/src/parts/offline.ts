// The page keeps itself for the time without a network.
import guestUrl from "@guest/wakeful_web_bg.wasm?url";

/**
 * Starts the service worker and tells it what was loaded before it was there. Where there is none,
 * the page needs the network, and that is all.
 */
export async function keepOffline(): Promise<void> {
  if (!("serviceWorker" in navigator) || import.meta.env.DEV) {
    return;
  }
  await navigator.serviceWorker.register("offline.js");
  const { active } = await navigator.serviceWorker.ready;
  const loaded = performance.getEntriesByType("resource").map(({ name }) => name);
  const ours = loaded.filter((address) => address.startsWith(new URL(".", document.baseURI).href));
  const { port1, port2 } = new MessageChannel();
  // For tests and people: the page says when it can do without a network.
  port1.onmessage = ({ data }) => (document.documentElement.dataset["offline"] = String(data));
  active?.postMessage(
    {
      keep: [
        ...new Set([
          document.baseURI.replace(/#.*/, ""),
          new URL(guestUrl, document.baseURI).href,
          ...ours,
        ]),
      ],
    },
    [port2],
  );
}
