// The position of an entry, as a link that selects it.
import { createContext, useContext } from "react";

/** Which entry is selected, and how to select one. */
export const SelectEntry = createContext<{
  selected: number | null;
  select: (seq: number) => void;
}>({ selected: null, select: () => {} });

/** `#14`, clickable. */
export function SeqLink({ seq }: { seq: number }) {
  const { selected, select } = useContext(SelectEntry);
  return (
    <button
      type="button"
      className="seq-link"
      aria-label={`entry ${seq}`}
      aria-pressed={selected === seq}
      onClick={() => select(seq)}
    >
      #{seq}
    </button>
  );
}

/** Several of them. */
export function SeqLinks({ seqs }: { seqs: number[] }) {
  return seqs.map((seq) => <SeqLink key={seq} seq={seq} />);
}
