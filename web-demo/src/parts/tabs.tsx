// Panels of which one is seen, with their names above.
import { Tabs as Radix } from "radix-ui";
import { useState, type ReactNode } from "react";

/** Tabs that keep the chosen one; a body is made only while it is seen. */
export function Tabs({ label, tabs }: { label: string; tabs: { name: string; body: ReactNode }[] }) {
  const [chosen, setChosen] = useState(slug(tabs[0]?.name ?? ""));
  return (
    <Radix.Root className="tabs" value={chosen} onValueChange={setChosen}>
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
