// A choice among the names of a table of labels.
import { names } from "../case/labels.ts";

/**
 * A select with a label. `none` is the text of the empty choice, if that is allowed; `means` says
 * what is chosen.
 */
export function Choice<K extends string>(props: {
  says: string;
  of: Record<K, string>;
  value: K | undefined;
  none?: string;
  choose: (name: K | undefined) => void;
  className?: string;
  means?: string;
}) {
  const { says, of, value, none, choose } = props;
  return (
    <label className={props.className} title={props.means}>
      {says}{" "}
      <select
        value={value ?? ""}
        onChange={(event) => choose(names(of).find((name) => name === event.target.value))}
      >
        {none !== undefined && <option value="">{none}</option>}
        {names(of).map((name) => (
          <option key={name} value={name}>
            {of[name]}
          </option>
        ))}
      </select>
    </label>
  );
}
