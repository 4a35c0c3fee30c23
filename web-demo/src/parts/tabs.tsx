// Panels of which one is seen, with their names above.
import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";

/** Which tab is chosen, kept by whoever outlives what the tabs show. */
export type Chosen = [name: string | null, choose: (name: string) => void];

/** Tabs; a body is made only while it is seen. */
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
