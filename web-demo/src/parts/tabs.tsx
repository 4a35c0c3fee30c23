// Panels with tabs; one is visible.
import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";

import { useCommands } from "./use-commands.ts";

/** The open tab, kept by a parent that lives longer than the content. */
export type Chosen = [name: string | null, choose: (name: string) => void];

/** Tabs. A body exists only while it is visible. */
export function Tabs({
  label,
  tabs,
  chosen: [name, choose],
}: {
  label: string;
  /** A count beside the name, unless it is 0. */
  tabs: { name: string; count?: number; body: ReactNode }[];
  chosen: Chosen;
}) {
  useCommands(
    tabs.map((tab) => ({
      id: `tab.${slug(label)}.${slug(tab.name)}`,
      name: `Show ${tab.name}`,
      group: "Panes",
      run: () => choose(slug(tab.name)),
    })),
  );
  return (
    <Radix.Root className="tabs" value={name ?? slug(tabs[0]?.name ?? "")} onValueChange={choose}>
      <Radix.List className="tab-list" aria-label={label}>
        {tabs.map(({ name, count = 0 }) => (
          <Radix.Trigger key={name} className="tab" value={slug(name)}>
            {name}
            {count > 0 && <span className="tab-count"> {count.toLocaleString("en")}</span>}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map(({ name, body }) => (
        <Radix.Content key={name} className="tab-body" value={slug(name)} tabIndex={-1}>
          {body}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}

/** A name as part of an id. */
function slug(name: string): string {
  return name.toLowerCase().replaceAll(" ", "-");
}
