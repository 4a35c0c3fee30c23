// Panels with tabs; one is visible.
import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";

/** The open tab, kept by a parent that lives longer than the content. */
export type Chosen = [name: string | null, choose: (name: string) => void];

/** Tabs. A body exists only while it is visible. */
export function Tabs({
  label,
  tabs,
  chosen: [name, choose],
}: {
  label: string;
  tabs: { name: string; body: ReactNode }[];
  chosen: Chosen;
}) {
  return (
    <Radix.Root className="tabs" value={name ?? slug(tabs[0]?.name ?? "")} onValueChange={choose}>
      <Radix.List className="tab-list" aria-label={label}>
        {tabs.map(({ name }) => (
          <Radix.Trigger key={name} className="tab" value={slug(name)}>
            {name}
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
