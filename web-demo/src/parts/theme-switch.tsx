// Light or dark: as the system says, until the user chooses.
import { useEffect, useState } from "react";

type Theme = "light" | "dark";
const KEPT_AS = "wakeful-theme";

/** The switch. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(firstTheme);
  useEffect(() => paint(theme), [theme]);
  const change = () => {
    const next = theme === "dark" ? "light" : "dark";
    localStorage.setItem(KEPT_AS, next);
    setTheme(next);
  };
  return (
    <button type="button" className="quiet" aria-pressed={theme === "dark"} onClick={change}>
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
  return kept() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function kept(): Theme | null {
  const theme = localStorage.getItem(KEPT_AS);
  return theme === "light" || theme === "dark" ? theme : null;
}
