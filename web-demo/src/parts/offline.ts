// Makes the page work without a network.
import guestUrl from "@guest/wakeful_web_bg.wasm?url";

/**
 * Starts the service worker and sends it the addresses that were loaded before. Without a service
 * worker, the page only needs the network.
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
  // Tells tests and people that the page works without a network now.
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
