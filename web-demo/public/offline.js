// The service worker: keeps what the page has loaded, so that the page opens again without a
// network. The network comes first, so that a new version is seen as soon as there is one.
const KEPT = "wakeful-workbench";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

// The page says what it has loaded before this worker was there.
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
