// A command to type in a terminal.
import { CopyButton } from "./copy-button.tsx";

/** The command, with a button that copies it. */
export function CommandLine({ command }: { command: string }) {
  return (
    <div className="command-line">
      <pre className="command">
        <code>{command}</code>
      </pre>
      <CopyButton text={command} />
    </div>
  );
}
