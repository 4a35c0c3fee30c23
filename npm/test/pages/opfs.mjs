// The worker of opfs.html: an agent whose ledger is a file of the origin.
import { Scheduler } from "/package/dist/browser.js";
import { openOpfsLedger } from "/package/dist/ledger/opfs.js";
import { agent, plain } from "./agent.mjs";

const tell = agent(Scheduler, openOpfsLedger);

/** Removes bytes from the end of the file, as a crash does. */
async function tear(agentId, bytes) {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle("wakeful");
  const handle = await (
    await folder.getFileHandle(`${encodeURIComponent(agentId)}.log`)
  ).createSyncAccessHandle();
  handle.truncate(handle.getSize() - bytes);
  handle.close();
  return "torn";
}

self.onmessage = async ({ data: [id, command, ...args] }) => {
  const answer = command === "tear" ? tear(...args).catch(plain) : tell(command, ...args);
  self.postMessage([id, await answer]);
};
self.postMessage("ready");
