// The palette: all commands, found by words. It is loaded when it is opened for the first time.
import { Command as Menu } from "cmdk";
import { useRef, useState } from "react";

import { grouped, keyName, suggested, type Command } from "../parts/commands.ts";
import { Modal } from "../parts/modal.tsx";
import { matching } from "../parts/search.ts";
import { useAll } from "../parts/use-commands.ts";
import { visible } from "../parts/visible.ts";

/** The most commands of a group that are listed; more words find the others. */
const MOST = 40;

/** The dialog. What had the focus before gets it back before the chosen command runs. */
export default function Palette({
  isOpen,
  setOpen,
}: {
  isOpen: boolean;
  setOpen: (isOpen: boolean) => void;
}) {
  const chosen = useRef<Command | null>(null);
  const choose = (command: Command) => {
    chosen.current = command;
    setOpen(false);
  };
  const run = () => {
    const command = chosen.current;
    chosen.current = null;
    command?.run();
  };
  return (
    <Modal
      title="Commands"
      isTitleShown={false}
      isOpen={isOpen}
      setOpen={setOpen}
      closed={run}
      look="palette"
    >
      <Commands choose={choose} />
    </Modal>
  );
}

function Commands({ choose }: { choose: (command: Command) => void }) {
  const [typed, setTyped] = useState("");
  const offered = useAll().filter(
    ({ id, isAvailable }) => id !== "page.palette" && isAvailable !== false,
  );
  const found = [
    ...suggested(typed),
    ...matching(offered, typed, ({ name, group }) => `${group} ${name}`),
  ];
  return (
    <Menu label="Commands" shouldFilter={false} loop>
      <Menu.Input value={typed} onValueChange={setTyped} placeholder="A command, or an entry: 14" />
      <Menu.List label="Commands">
        {found.length === 0 && <p className="note pad">No command matches.</p>}
        {grouped(found).map(([group, commands]) => (
          <Menu.Group key={group} heading={group}>
            {commands.slice(0, MOST).map((command) => (
              <Menu.Item key={command.id} value={command.id} onSelect={() => choose(command)}>
                <span>{visible(command.name)}</span>
                {command.keys?.map((key) => (
                  <kbd key={key}>{keyName(key)}</kbd>
                ))}
              </Menu.Item>
            ))}
          </Menu.Group>
        ))}
      </Menu.List>
    </Menu>
  );
}
