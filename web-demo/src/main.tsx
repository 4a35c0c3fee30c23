// The page's entry point.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import "./style/base.css";
import "./style/frame.css";
import "./style/panes.css";
import "./style/json.css";
import "./style/narrow.css";
import { paintFirst } from "./parts/theme-switch.tsx";
import { Workbench } from "./workbench.tsx";

const root = document.getElementById("root");
if (root === null) {
  throw new Error("index.html has no element `root`");
}
paintFirst();
createRoot(root).render(
  <StrictMode>
    <Workbench />
  </StrictMode>,
);
