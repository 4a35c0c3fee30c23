// A button that copies a text, and says whether the browser allowed it.
import { useEffect, useState } from "react";

import { copyText } from "./clipboard.ts";

/** The button. Another text was not copied yet. */
export function CopyButton({
  text,
  label = "Copy",
  title,
}: {
  text: string;
  label?: string;
  title?: string;
}) {
  const [copied, setCopied] = useState<"no" | "yes" | "refused">("no");
  useEffect(() => setCopied("no"), [text]);
  const copy = () => {
    copyText(text).then(
      () => setCopied("yes"),
      () => setCopied("refused"),
    );
  };
  return (
    <button
      type="button"
      className="quiet"
      title={
        copied === "refused"
          ? "This browser lets only pages on https or localhost copy: select the text"
          : title
      }
      onClick={copy}
    >
      {{ no: label, yes: "Copied", refused: "Not allowed" }[copied]}
    </button>
  );
}
