// The page's entry point.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import "./style/base.css";
import "./style/frame.css";
import "./style/panes.css";
import "./style/json.css";
import "./style/workspace.css";
import "./style/access.css";
import "./style/narrow.css";
import { Keys, SkipLinks } from "./frame/keys.tsx";
import { keepFocus } from "./parts/focus.ts";
import { paintFirst } from "./parts/theme-switch.tsx";
import { serverAddress, sessionFromAddress } from "./server/client.ts";
import { Workbench } from "./workbench.tsx";

const root = document.getElementById("root");
if (root === null) {
  throw new Error("index.html has no element `root`");
}
paintFirst();
keepFocus();
const server = serverAddress();
if (server !== null) {
  // Without a session the page asks for a token.
  await sessionFromAddress(server).catch(() => undefined);
}
createRoot(root).render(
  <StrictMode>
    <SkipLinks />
    <Workbench />
    <Keys />
  </StrictMode>,
);
