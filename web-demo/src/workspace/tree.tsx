// The documents of the workspace, with their forks below them.
import type { ReactNode } from "react";

import { useCommands } from "../parts/use-commands.ts";
import { shortened, visible } from "../parts/visible.ts";
import { treeOf, type Branch, type Workspace } from "./use-workspace.ts";

/** The tree. */
export function WorkspaceTree(props: {
  workspace: Workspace;
  chosen: string | null;
  search: string;
  choose: (name: string) => void;
  remove: (name: string) => void;
}) {
  const { documents, notKept } = props.workspace;
  useCommands(
    (documents ?? []).map(({ name }) => ({
      id: `document.${name}`,
      name: visible(name),
      group: "Documents",
      run: () => props.choose(name),
    })),
  );
  const wanted = props.search.toLowerCase();
  const roots = treeOf(documents ?? []).filter((branch) => matches(branch, wanted));
  if (roots.length === 0 && notKept === null) {
    return null;
  }
  return (
    <section aria-label="documents">
      <h2>
        Documents <span className="note">{documents?.length ?? ""}</span>
      </h2>
      {notKept !== null && (
        <p className="note pad" role="status">
          Documents are lost when this page is closed: {notKept}.
        </p>
      )}
      <ul className="documents">
        {roots.map((branch) => (
          <Item key={branch.kept.name} branch={branch} {...props} />
        ))}
      </ul>
    </section>
  );
}

function matches({ kept, forks }: Branch, wanted: string): boolean {
  return (
    `${kept.name} ${kept.shows}`.toLowerCase().includes(wanted) ||
    forks.some((fork) => matches(fork, wanted))
  );
}

function Item(props: {
  branch: Branch;
  chosen: string | null;
  choose: (name: string) => void;
  remove: (name: string) => void;
}): ReactNode {
  const { branch, chosen, choose, remove } = props;
  const { kept, forks } = branch;
  const says =
    kept.after !== null
      ? `fork after #${kept.after}`
      : visible(kept.parent === null ? kept.name : kept.name.replace(` in ${kept.parent}`, ""));
  return (
    <li>
      <div className="document">
        <button
          type="button"
          className="case"
          data-document={kept.name}
          title={visible(`${kept.name}: ${kept.shows}`)}
          aria-current={kept.name === chosen}
          onClick={() => choose(kept.name)}
        >
          {shortened(says)}
          {kept.notes.length > 0 && <span className="note"> ✎ {kept.notes.length}</span>}
        </button>
        <button
          type="button"
          className="quiet document-remove"
          aria-label={`remove ${visible(kept.name)} from this page`}
          title="Remove from this page"
          onClick={() => remove(kept.name)}
        >
          ×
        </button>
      </div>
      {forks.length > 0 && (
        <ul>
          {forks.map((fork) => (
            <Item key={fork.kept.name} {...props} branch={fork} />
          ))}
        </ul>
      )}
    </li>
  );
}
