// Light or dark: as the system says, until the user chooses.
import { useEffect, useState } from "react";

import { keep, kept } from "./storage.ts";
import { useCommands } from "./use-commands.ts";

type Theme = "light" | "dark";
const KEPT_AS = "wakeful-theme";

/** The switch. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(firstTheme);
  useEffect(() => paint(theme), [theme]);
  const next = theme === "dark" ? "light" : "dark";
  const change = () => {
    keep(KEPT_AS, next);
    setTheme(next);
  };
  useCommands([{ id: "page.theme", name: `Use the ${next} theme`, group: "Page", run: change }]);
  return (
    <button
      type="button"
      className="quiet theme-switch"
      aria-pressed={theme === "dark"}
      onClick={change}
    >
      Dark theme
    </button>
  );
}

/** Sets the theme before the first render, so that the page never flashes the other one. */
export function paintFirst() {
  paint(firstTheme());
}

function paint(theme: Theme) {
  document.documentElement.dataset["theme"] = theme;
}

function firstTheme(): Theme {
  const theme = kept(KEPT_AS);
  if (theme === "light" || theme === "dark") {
    return theme;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
