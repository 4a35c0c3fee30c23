// The service worker: keeps all files of the build, so that everything in the page works without a
// network. It asks the network first, so that a new version appears at once.
const KEPT = "wakeful-workbench";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

// The page asks for this once it has loaded, so that its own files come first.
self.addEventListener("message", (event) => {
  const { ports } = event;
  event.waitUntil(
    keepAll().then(
      () => ports[0]?.postMessage("kept"),
      (error) => ports[0]?.postMessage(String(error)),
    ),
  );
});

/** Keeps the files that the build has listed, and drops those of earlier builds. */
async function keepAll() {
  const answer = await fetch("files.json", { cache: "no-cache" });
  if (!answer.ok) {
    throw new Error(`files.json: HTTP ${answer.status}`);
  }
  const { files } = await answer.json();
  const scope = self.registration.scope;
  const wanted = new Set(["", "files.json", ...files].map((path) => new URL(path, scope).href));
  const kept = await caches.open(KEPT);
  const before = await kept.keys();
  const known = new Set(before.map(({ url }) => url));
  // A name in `assets` changes with its content, so a kept one is never old.
  await kept.addAll([...wanted].filter((url) => !(known.has(url) && url.includes("/assets/"))));
  await Promise.all(
    before.filter(({ url }) => !wanted.has(url)).map((request) => kept.delete(request)),
  );
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) {
    return;
  }
  event.respondWith(
    fetch(request).then(
      (response) => {
        if (response.ok) {
          const copy = response.clone();
          // If the storage is full, the page gets its file all the same.
          event.waitUntil(
            caches
              .open(KEPT)
              .then((kept) => kept.put(request, copy))
              .catch(() => undefined),
          );
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
