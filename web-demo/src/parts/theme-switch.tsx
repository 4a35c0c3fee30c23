// Light or dark: as the system says, until somebody chooses.
import { useEffect, useState } from "react";

type Theme = "light" | "dark";
const KEPT_AS = "wakeful-theme";

/** The switch. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(() => kept() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
  }, [theme]);
  const change = () => {
    const next = theme === "dark" ? "light" : "dark";
    localStorage.setItem(KEPT_AS, next);
    setTheme(next);
  };
  return (
    <button type="button" className="quiet" aria-label="dark theme" aria-pressed={theme === "dark"} onClick={change}>
      {theme === "dark" ? "Light" : "Dark"}
    </button>
  );
}

function kept(): Theme | null {
  const theme = localStorage.getItem(KEPT_AS);
  return theme === "light" || theme === "dark" ? theme : null;
}
