// Makes the page work without a network.

/**
 * Starts the service worker, which keeps all files of the build. Without a service worker, the page
 * only needs the network.
 */
export async function keepOffline(): Promise<void> {
  if (!("serviceWorker" in navigator) || import.meta.env.DEV) {
    return;
  }
  await navigator.serviceWorker.register("offline.js");
  const { active } = await navigator.serviceWorker.ready;
  const { port1, port2 } = new MessageChannel();
  // Tells tests and people that the page works without a network now.
  port1.onmessage = ({ data }) => (document.documentElement.dataset["offline"] = String(data));
  active?.postMessage("keep", [port2]);
}
