/** A form made from a schema: for arguments, and for answers to a servlet's questions. */
import { useRef, useState } from "hono/jsx/dom";
import { isObject, type Json } from "../../core/model.ts";
import { contentOf, fieldsOf, typedIn, type Field } from "../../schema/fields.ts";
import { printableText } from "../../core/text.ts";

interface FormProps {
  /** Prefix of the ids of its fields; unique on the page. */
  id: string;
  schema: Json;
  /** The labels of its buttons, by the value that `onSubmit` gets. */
  buttons: Record<string, string>;
  isBusy?: boolean;
  onSubmit(button: string, content: Json): void;
  onWrong(why: string): void;
  /** Absent where fields have no completions. */
  complete?: CompleteField | undefined;
}

/** Completions of a field's value as it is typed, given the other fields. */
export type CompleteField = (
  name: string,
  value: string,
  others: Record<string, string>,
) => Promise<string[]>;

/** Fields, options of all of them, and characters of a label: a form with more stops the page for seconds. */
const FIELDS = 200;
const OPTIONS = 2000;
const LABEL = 200;

/** The first fields of a schema; fields and options beyond the limits are written as JSON. */
function shownFields(schema: Json): Field[] {
  const all = fieldsOf(schema);
  let left = OPTIONS;
  const shown = all.slice(0, FIELDS).map((given): Field => {
    const field = { ...given, label: given.label.slice(0, LABEL) };
    if (field.options.length > left) return { ...field, kind: "json", options: [], default: [] };
    left -= field.options.length;
    return field;
  });
  return all.length === shown.length ? shown : [...shown, othersOf(all.length - shown.length)];
}

const othersOf = (count: number): Field => ({
  ...{ name: "", id: OTHERS, label: `${count} other values`, isRequired: false, kind: "json" },
  ...{ hint: "An object with their names.", type: "text", options: [], default: [] },
});
const OTHERS = "others";

/** How long typing must pause before completions are requested. */
const PAUSE_MS = 150;

export const SchemaForm = (props: FormProps) => {
  const { id, schema, buttons, isBusy, onSubmit, onWrong, complete } = props;
  const fields = shownFields(schema);
  const submit = (event: Event) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const { value: button = "" } = ((event as SubmitEvent).submitter ??
      {}) as Partial<HTMLButtonElement>;
    const sent = new URLSearchParams(new FormData(form) as never);
    const textOf = (field: string) => sent.get(field)?.trim() ?? "";
    const wrong = fields.find((one) => one.kind === "json" && !isJson(textOf(one.id)));
    if (wrong !== undefined)
      return onWrong(
        `${wrong.label} is not valid JSON. Enter a value such as {"a": 1}, [1, 2] or "text".`,
      );
    const others: unknown = JSON.parse(textOf(OTHERS) || "{}");
    if (!isObject(others))
      return onWrong(`The other values are not an object. Enter one such as {"a": 1}.`);
    const own = fields.filter((one) => one.id !== OTHERS);
    onSubmit(button, { ...others, ...contentOf(own, typedIn(own, sent)) });
  };
  return (
    <form onSubmit={submit}>
      {fields.map((field) => (
        <Control id={`${id}-${field.id}`} field={field} complete={complete} />
      ))}
      <p class="acts">
        {Object.entries(buttons).map(([value, label], nth) => (
          <button
            class={nth === 0 ? "primary" : ""}
            name="button"
            value={value}
            disabled={isBusy === true}
            formnovalidate={nth > 0}
          >
            {label}
          </button>
        ))}
      </p>
    </form>
  );
};

function isJson(text: string): boolean {
  try {
    JSON.parse(text || "null");
    return true;
  } catch {
    return false;
  }
}

const Control = ({
  id,
  field,
  complete,
}: {
  id: string;
  field: Field;
  complete: CompleteField | undefined;
}) => {
  const { label, hint, isRequired } = field;
  const about = hint === undefined ? {} : { "aria-describedby": `${id}-hint` };
  return (
    <div>
      <label for={id}>
        {printableText(label)} {!isRequired && <span class="dim">(optional)</span>}
      </label>
      {complete !== undefined && field.kind === "line" ? (
        <CompletedInput id={id} field={field} about={about} complete={complete} />
      ) : (
        <Input id={id} field={field} about={about} />
      )}
      {hint !== undefined && (
        <p class="dim" id={`${id}-hint`}>
          {printableText(hint.slice(0, 2000))}
        </p>
      )}
    </div>
  );
};

/** A one-line input with completions. */
const CompletedInput = ({
  id,
  field,
  about,
  complete,
}: {
  id: string;
  field: Field;
  about: object;
  complete: CompleteField;
}) => {
  const [values, setValues] = useState<string[]>([]);
  const pause = useRef<number | undefined>(undefined);
  const propose = (event: Event) => {
    const { value, form } = event.target as HTMLInputElement;
    clearTimeout(pause.current);
    pause.current = setTimeout(() => {
      const all = [...new FormData(form!)].map(([name, text]) => [name, text as string]);
      const others = Object.fromEntries(all.filter(([name]) => name !== field.id));
      void complete(field.name, value, others).then(setValues);
    }, PAUSE_MS);
  };
  return (
    <>
      <input
        {...about}
        id={id}
        name={field.id}
        list={`${id}-values`}
        autocomplete="off"
        onInput={propose}
        onFocus={propose}
      />
      <datalist id={`${id}-values`}>
        {values.map((value) => (
          <option value={value} />
        ))}
      </datalist>
    </>
  );
};

const Input = ({ id, field, about }: { id: string; field: Field; about: object }) => {
  const { id: name, kind, type, options, isRequired, default: preset } = field;
  const common = { id, name, ...about };
  const value = preset[0] ?? "";
  switch (kind) {
    case "yes-no":
    case "one": {
      const all =
        kind === "one"
          ? options.map(({ title }, nth) => [String(nth), title])
          : [
              ["true", "Yes"],
              ["false", "No"],
            ];
      return (
        <select {...common} required={isRequired}>
          <option value="">–</option>
          {all.map(([one, title]) => (
            <option value={one} selected={one === value}>
              {printableText(title ?? "")}
            </option>
          ))}
        </select>
      );
    }
    case "many":
      return (
        <select {...common} multiple>
          {options.map(({ title }, nth) => (
            <option value={String(nth)} selected={preset.includes(String(nth))}>
              {printableText(title)}
            </option>
          ))}
        </select>
      );
    case "area":
    case "json":
      return (
        <textarea
          {...common}
          rows={kind === "json" ? 3 : 4}
          required={isRequired}
          placeholder={kind === "json" ? "JSON" : ""}
        >
          {value}
        </textarea>
      );
    default:
      return (
        <input
          {...common}
          type={kind === "number" ? "text" : type}
          inputmode={kind === "number" ? "decimal" : undefined}
          value={value}
          autocomplete="off"
        />
      );
  }
};
