// A form for a shape: fields, choices, unions, lists; free JSON as text.
import { useId } from "react";

import { blank, fieldsOf, type Draft, type Field, type Named, type Shape } from "./shape.ts";

interface Filling<Of extends Shape> {
  of: Of;
  draft: Draft | undefined;
  change: (draft: Draft) => void;
  /** The name of the control for screen readers. */
  label: string;
  /** The control's id, which its label names. */
  id: string;
  required: boolean;
}

/** The control, or the controls, for a shape. */
export function ShapeControl(props: Filling<Shape>) {
  const { of } = props;
  switch (of.is) {
    case "choice":
      return <Choice {...props} names={of.names} />;
    case "flag":
      return <Choice {...props} names={FLAGS} />;
    case "json":
      return <textarea {...entry(props)} rows={2} placeholder="JSON" spellCheck={false} />;
    case "number":
      return <input {...entry(props)} inputMode="numeric" />;
    case "text":
      return <input {...entry(props)} placeholder={of.hint} />;
    case "list":
      return <List {...props} of={of} />;
    case "fields":
      return (
        <Fields fields={of.fields} draft={props.draft} change={props.change} label={props.label} />
      );
    case "union":
      return <Union {...props} of={of} />;
  }
}

const FLAGS: Named[] = [
  { name: "true", says: "yes" },
  { name: "false", says: "no" },
];

const asText = (draft: Draft | undefined) => (typeof draft === "string" ? draft : "");

/** The properties of every control with a text. */
const entry = ({ draft, change, id, required, label }: Filling<Shape>) => ({
  id,
  "aria-label": label,
  "aria-required": required,
  value: asText(draft),
  onChange: ({ target }: { target: { value: string } }) => change(target.value),
});

function Choice({ names, ...props }: Filling<Shape> & { names: Named[] }) {
  const chosen = names.find(({ name }) => name === asText(props.draft));
  return (
    <select {...entry(props)} title={chosen?.says}>
      <option value="">{props.required ? "choose" : "not said"}</option>
      {names.map(({ name }) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

function Union({
  of,
  draft,
  change,
  label,
  id,
  required,
}: Filling<Extract<Shape, { is: "union" }>>) {
  const filled = fieldsOf(draft);
  const variant = of.variants.find(({ name }) => name === filled[of.tag]);
  return (
    <div className="live-nested">
      <Choice
        of={of}
        names={of.variants}
        draft={filled[of.tag]}
        change={(name) => change({ [of.tag]: name })}
        label={label}
        id={id}
        required={required}
      />
      {variant !== undefined && (
        <>
          <p className="note">{variant.says}</p>
          <Fields fields={variant.fields} draft={draft} change={change} label={label} />
        </>
      )}
    </div>
  );
}

function List({ of, draft, change, label, id }: Filling<Extract<Shape, { is: "list" }>>) {
  const members = Array.isArray(draft) ? draft : [];
  return (
    <div className="live-nested">
      {members.map((member, index) => (
        <div className="live-member" key={index}>
          <ShapeControl
            of={of.of}
            draft={member}
            change={(next) => change(members.with(index, next))}
            label={`${label} ${index + 1}`}
            id={`${id}-${index}`}
            required
          />
          <button
            type="button"
            className="quiet"
            aria-label={`remove ${label} ${index + 1}`}
            onClick={() => change(members.toSpliced(index, 1))}
          >
            ×
          </button>
        </div>
      ))}
      <button
        type="button"
        className="quiet"
        id={id}
        aria-label={`add to ${label}`}
        onClick={() => change([...members, blank(of.of)])}
      >
        add
      </button>
    </div>
  );
}

/** The fields of an object: the required ones, then the others, folded. */
export function Fields({
  fields,
  draft,
  change,
  label,
}: {
  fields: Field[];
  draft: Draft | undefined;
  change: (draft: Draft) => void;
  label: string;
}) {
  const filled = fieldsOf(draft);
  const row = (field: Field) => (
    <FieldRow
      key={field.name}
      field={field}
      draft={filled[field.name]}
      change={(next) => change({ ...filled, [field.name]: next })}
      within={label}
    />
  );
  const optional = fields.filter(({ required }) => !required);
  return (
    <div className="live-fields">
      {fields.filter(({ required }) => required).map(row)}
      {optional.length > 0 && (
        <details className="live-optional">
          <summary>{optional.length} optional</summary>
          <div className="live-fields">{optional.map(row)}</div>
        </details>
      )}
    </div>
  );
}

function FieldRow({
  field,
  draft,
  change,
  within,
}: {
  field: Field;
  draft: Draft | undefined;
  change: (draft: Draft) => void;
  within: string;
}) {
  const id = useId();
  const label = within === "" ? field.name : `${within} ${field.name}`;
  return (
    <div className="live-field" title={field.says}>
      <label htmlFor={id}>
        {field.name}
        {field.required && <span aria-hidden="true"> *</span>}
      </label>
      <ShapeControl
        of={field.shape}
        draft={draft}
        change={change}
        label={label}
        id={id}
        required={field.required}
      />
    </div>
  );
}
