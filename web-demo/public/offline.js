// The service worker: caches what the page has loaded, so that it opens without a network. It asks
// the network first, so that a new version appears at once.
const KEPT = "wakeful-workbench";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

// The page sends the addresses that it loaded before this worker started.
self.addEventListener("message", ({ data, ports }) => {
  caches
    .open(KEPT)
    .then((kept) => kept.addAll(data.keep))
    .then(
      () => ports[0]?.postMessage("kept"),
      (error) => ports[0]?.postMessage(String(error)),
    );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) {
    return;
  }
  event.respondWith(
    fetch(request).then(
      async (response) => {
        if (response.ok) {
          const kept = await caches.open(KEPT);
          await kept.put(request, response.clone());
        }
        return response;
      },
      async (error) => {
        const kept = await caches.match(request, { ignoreSearch: true, ignoreVary: true });
        if (kept === undefined) {
          throw error;
        }
        return kept;
      },
    ),
  );
});
