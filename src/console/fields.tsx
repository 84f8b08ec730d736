/** The form for a schema: for arguments, and for answers to a servlet's questions. */
import { useMemo, useRef, useState } from "hono/jsx/dom";
import { HOW_TO_GET_FILE } from "../server/kernel/core/files.ts";
import type { Json } from "../server/kernel/core/model.ts";
import { printableText } from "../server/kernel/core/text.ts";
import { FileInput } from "./file-input.tsx";
import type { SendFile } from "./files.ts";
import {
  branchFor,
  contentIn,
  isDateTime,
  isMarked,
  keptText,
  memberOf,
  messagesAt,
  messagesElsewhere,
  formPartsOf,
  listRowOf,
  rowsFor,
  typedFor,
  type FormPart,
  type Wrong,
} from "./form.ts";

interface FormProps {
  /** Prefix of the fields' ids; unique on the page. */
  id: string;
  schema: Json;
  /** Labels of the buttons, by the value passed to `onSubmit`. The first button sends the entered content. */
  buttons: Record<string, string>;
  isBusy?: boolean;
  /** The initial content. */
  given?: Json | undefined;
  /** The server's validation errors for the content that was last sent. */
  wrong?: readonly Wrong[];
  onSubmit(button: string, content: Json): void;
  /** Called instead of `onSubmit` if the content is invalid. */
  onRefused?(): void;
  /** Absent if there are no completions. */
  complete?: CompleteField | undefined;
  /** Absent if the server takes no files. */
  send?: SendFile | undefined;
  /** Shown beside the buttons. */
  children?: unknown;
}

/** Completions of a field's value as it is typed, given the other fields. */
export type CompleteField = (
  name: string,
  value: string,
  others: Record<string, string>,
) => Promise<string[]>;

/** Delay after the last key before completions are requested, in ms. */
const PAUSE_MS = 150;

/** Maximum number of options that a choice shows without being opened. */
const IN_SIGHT = 6;

/** Maximum number of fields shown initially. More optional fields are folded. */
const FIELDS_IN_SIGHT = 6;

/** Maximum length of a description, in characters. */
const HINT = 2000;

const FIELDS = "input, select, textarea";

/** Shared by all parts of a form. */
interface FormContext {
  id: string;
  wrong: readonly Wrong[];
  complete: CompleteField | undefined;
  send: SendFile | undefined;
}

export const SchemaForm = (props: FormProps) => {
  const { id, schema, buttons, isBusy, given, wrong: said = [], onSubmit, complete } = props;
  const { send: sendOne } = props;
  const [sending, setSending] = useState(0);
  /** The form is not submitted before its files have arrived. */
  const send: SendFile | undefined =
    sendOne &&
    ((file, how) => {
      setSending((count) => count + 1);
      return sendOne(file, how).finally(() => setSending((count) => count - 1));
    });
  const parts = useMemo(() => formPartsOf(schema), [schema]);
  const [own, setOwn] = useState<readonly Wrong[]>([]);
  const wrong = own.length > 0 ? own : said;
  const submit = async (event: Event) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const { submitter } = event as SubmitEvent;
    const [first = ""] = Object.keys(buttons);
    const button = (submitter as HTMLButtonElement | null)?.value || first;
    if (button !== first) return onSubmit(button, {});
    const { content, wrong: unread } = contentIn(parts, new FormData(form));
    const checks = await import("./checks.ts").catch(() => undefined);
    const found = unread.length > 0 ? unread : (checks?.wrongIn(schema, content) ?? []);
    setOwn(found);
    if (found.length === 0) return onSubmit(button, content);
    props.onRefused?.();
    requestAnimationFrame(() => focusWrong(form));
  };
  const general = messagesElsewhere(parts, wrong);
  const view = (part: FormPart) => (
    <PartView part={part} around={given} shared={{ id, wrong, complete, send }} />
  );
  const { inSight, others } = folded(parts);
  // Once open, the fold stays open.
  const isOpen = useRef(false);
  isOpen.current ||=
    others.some(({ field }) => memberOf(given, field.name) !== undefined) ||
    messagesElsewhere(others, wrong).length < wrong.length;
  return (
    <form onSubmit={(event: Event) => void submit(event)} noValidate>
      {inSight.map(view)}
      {others.length > 0 && (
        <details class="field" open={isOpen.current}>
          <summary>{others.length} more optional fields</summary>
          {others.map(view)}
        </details>
      )}
      {general.length > 0 && (
        <p role="alert" class="wrong">
          {printableText(general.join("\n"))}
        </p>
      )}
      <div class="acts">
        {Object.entries(buttons).map(([value, label], nth) => (
          <button
            class={nth === 0 ? "primary" : ""}
            value={value}
            disabled={isBusy === true || sending > 0}
          >
            {label}
          </button>
        ))}
        {props.children}
      </div>
    </form>
  );
};

/** Focuses the first invalid field. In a list, this is the first invalid row, or the button that adds a row. */
function focusWrong(form: HTMLFormElement): void {
  const first = form.querySelector<HTMLElement>("[aria-invalid]");
  if (first === null || first.matches(FIELDS)) return first?.focus();
  const rows = [...first.querySelectorAll<HTMLInputElement>(`${FIELDS}, button`)];
  // Empty rows are not items.
  const items = rows.filter(({ value }) => value.trim() !== "");
  (items[Number(first.dataset["wrongItem"])] ?? rows[0])?.focus();
}

/** The visible fields, and the optional fields to fold. A short form has none to fold. */
function folded(parts: readonly FormPart[]): { inSight: FormPart[]; others: FormPart[] } {
  let room = FIELDS_IN_SIGHT - parts.filter(({ field }) => field.isRequired).length;
  const { inSight = [], others = [] } = Object.groupBy(parts, ({ field }) =>
    field.isRequired || room-- > 0 ? "inSight" : "others",
  );
  return others.length > 1 ? { inSight, others } : { inSight: [...parts], others: [] };
}

interface PartProps {
  part: FormPart;
  /** The object that contains the part's value in the initial content. */
  around: unknown;
  shared: FormContext;
}

interface FieldProps extends Omit<PartProps, "shared"> {
  id: string;
}

const Label = ({ part: { field } }: { part: FormPart }) => (
  <>
    {printableText(field.label)} {!field.isRequired && <span class="dim">(optional)</span>}
  </>
);

const PartView = ({ part, around, shared }: PartProps) => {
  const { field, rules, schema, members, item, branches } = part;
  const id = `${shared.id}-${field.id}`;
  const messages = messagesAt(part, shared.wrong);
  const isHere = (one: Wrong) => messagesAt(part, [one]).length > 0;
  const wrongItem = item && shared.wrong.find(isHere)?.path[part.path.length];
  const said =
    isDateTime(part) || field.options.length > 0 ? textOf(schema["description"]) : field.hint;
  const hint = part.file && shared.send ? said?.replace(HOW_TO_GET_FILE, "").trim() : said;
  const about = [
    hint ? `${id}-hint` : "",
    rules.length > 0 ? `${id}-limits` : "",
    messages.length > 0 ? `${id}-wrong` : "",
  ].filter(Boolean);
  const described = {
    ...(about.length > 0 && { "aria-describedby": about.join(" ") }),
    ...(messages.length > 0 && { "aria-invalid": "true" as const }),
  };
  const above = hint ? (
    <p class="hint dim small text" id={`${id}-hint`}>
      {printableText(hint.slice(0, HINT))}
    </p>
  ) : null;
  const below = (
    <>
      {rules.length > 0 && (
        <p class="limits dim small" id={`${id}-limits`}>
          {printableText(rules.join(" · "))}
        </p>
      )}
      {messages.length > 0 && (
        <p class="wrong small" id={`${id}-wrong`} role="alert">
          {printableText(messages.map((one) => `${field.label} ${one}`).join("\n"))}
        </p>
      )}
    </>
  );
  if (field.kind === "yes-no")
    return (
      <div class="field">
        <label class="check">
          <input
            {...described}
            id={id}
            name={field.id}
            type="checkbox"
            value="true"
            checked={typedFor(part, around)[0] === "true"}
          />
          {printableText(field.label)}
        </label>
        {above}
        {below}
      </div>
    );
  if (members)
    return (
      <fieldset class="field" {...described}>
        <legend>
          <Label part={part} />
        </legend>
        {above}
        {members.map((one) => (
          <PartView part={one} around={memberOf(around, field.name)} shared={shared} />
        ))}
        {below}
        {isMarked(part, around) && <input type="hidden" name={field.id} value="" />}
      </fieldset>
    );
  if (item || branches || isInSight(part))
    return (
      <fieldset class="field bare" {...described} data-wrong-item={wrongItem}>
        <legend>
          <Label part={part} />
        </legend>
        {above}
        {branches ? (
          <Kinds part={part} branches={branches} around={around} shared={shared} />
        ) : item?.members ? (
          <Groups part={part} around={around} shared={shared} />
        ) : item ? (
          <Rows id={id} part={part} item={item} around={around} send={shared.send} />
        ) : (
          <Choices id={id} part={part} around={around} />
        )}
        {below}
      </fieldset>
    );
  return (
    <div class="field">
      <label for={id}>
        <Label part={part} />
      </label>
      {above}
      {shared.complete !== undefined && field.kind === "line" ? (
        <CompletedInput
          id={id}
          part={part}
          around={around}
          about={described}
          complete={shared.complete}
        />
      ) : (
        <Input
          id={id}
          part={part}
          typed={typedFor(part, around)}
          about={described}
          send={shared.send}
        />
      )}
      {below}
      {field.kind === "json" && Object.keys(schema).length > 1 && (
        <details class="small">
          <summary class="dim">Its schema</summary>
          <pre tabindex={0}>{printableText(JSON.stringify(schema, null, 2).slice(0, 10_000))}</pre>
        </details>
      )}
    </div>
  );
};

const textOf = (value: unknown) => (typeof value === "string" ? value : "");

/** True for a choice with few options. */
const isInSight = ({ field: { kind, options, isRequired } }: FormPart): boolean =>
  options.length <= IN_SIGHT && (kind === "many" || (kind === "one" && isRequired));

/** A choice with all options visible. */
const Choices = ({ id, part, around }: FieldProps) => {
  const { field } = part;
  const typed = typedFor(part, around);
  return (
    <>
      {field.options.map(({ title }, nth) => (
        <label class="check">
          <input
            id={`${id}-${nth}`}
            name={field.id}
            type={field.kind === "many" ? "checkbox" : "radio"}
            value={String(nth)}
            checked={typed.includes(String(nth))}
          />
          {printableText(title)}
        </label>
      ))}
    </>
  );
};

/** The state of rows that can be added and removed, each with a unique key. */
function useRows<T>(first: () => readonly T[]) {
  const [rows, setRows] = useState(() => first().map((value, key) => ({ key, value })));
  const next = useRef(rows.length);
  return {
    rows,
    /** Returns the key of the new row. */
    add(value: T): number {
      const key = next.current++;
      setRows([...rows, { key, value }]);
      return key;
    },
    remove: (key: number) => setRows(rows.filter((one) => one.key !== key)),
  };
}

const RemoveButton = ({ label, onClick }: { label: string; onClick(): void }) => (
  <button type="button" aria-label={`Remove ${label}`} title="Remove" onClick={onClick}>
    ✕
  </button>
);

const AddButton = ({ label, onClick }: { label: string; onClick(): void }) => (
  <button type="button" class="add" aria-label={`Add one to ${label}`} onClick={onClick}>
    Add
  </button>
);

/** A list of simple values: rows that can be added and removed. */
const Rows = ({
  id,
  part,
  item,
  around,
  send,
}: FieldProps & { item: FormPart; send: SendFile | undefined }) => {
  const { label, isRequired } = part.field;
  const { rows, add, remove } = useRows(() => {
    const preset = typedFor(part, around);
    return preset.length > 0 || !isRequired ? preset : [""];
  });
  const addRow = () => {
    const key = add("");
    requestAnimationFrame(() => document.getElementById(`${id}-${key}`)?.focus());
  };
  return (
    <>
      {rows.map(({ key, value }, nth) => (
        <div class="row" key={`${key}`}>
          <Input
            id={`${id}-${key}`}
            part={item}
            typed={[value]}
            about={{ "aria-label": `${label} ${nth + 1}` }}
            send={send}
          />
          <RemoveButton label={`${nth + 1} of ${label}`} onClick={() => remove(key)} />
        </div>
      ))}
      <AddButton label={label} onClick={addRow} />
    </>
  );
};

/** A list of objects: groups of fields that can be added and removed. */
const Groups = ({ part, around, shared }: PartProps) => {
  const { id: name, label } = part.field;
  const { rows, add, remove } = useRows(() => rowsFor(part, around));
  const addRow = () => {
    const key = add(undefined);
    const within = `[name^="${name}-${key}."]`;
    requestAnimationFrame(() =>
      document
        .getElementById(`${shared.id}-${name}-${key}`)
        ?.querySelector<HTMLElement>(within)
        ?.focus(),
    );
  };
  return (
    <>
      {rows.map(({ key, value }, nth) => {
        const row = listRowOf(part, String(key), nth);
        const given = value === undefined ? undefined : { [row.field.name]: value };
        return (
          <div class="row" key={`${key}`} id={`${shared.id}-${name}-${key}`}>
            <input type="hidden" name={name} value={String(key)} />
            <PartView part={row} around={given} shared={shared} />
            <RemoveButton label={`${nth + 1} of ${label}`} onClick={() => remove(key)} />
          </div>
        );
      })}
      <AddButton label={label} onClick={addRow} />
    </>
  );
};

/** A union: a choice of the kind, and the fields of the chosen kind. */
const Kinds = ({
  part,
  branches,
  around,
  shared,
}: PartProps & { branches: readonly FormPart[] }) => {
  const first = useMemo(() => branchFor(part, around), []);
  const [chosen, setChosen] = useState(first);
  const branch = chosen === undefined ? undefined : branches[chosen];
  const { id, label, isRequired } = part.field;
  // The fieldset itself shows the messages about the union's value.
  const wrong = shared.wrong.filter(({ path }) => path.length > part.path.length);
  const choose = ({ target }: Event) => {
    const { value } = target as HTMLSelectElement;
    setChosen(value === "" ? undefined : Number(value));
  };
  return (
    <>
      <select name={id} aria-label={`Kind of ${label}`} onChange={choose}>
        {!(isRequired && chosen !== undefined) && <option value="">–</option>}
        {branches.map(({ field }, nth) => (
          <option value={String(nth)} selected={nth === chosen}>
            {printableText(field.label)}
          </option>
        ))}
      </select>
      {branch && (
        <PartView
          key={`${chosen}`}
          part={branch}
          around={chosen === first ? around : undefined}
          shared={{ ...shared, wrong }}
        />
      )}
    </>
  );
};

/** A one-line input with completions. */
const CompletedInput = (props: FieldProps & { about: object; complete: CompleteField }) => {
  const { id, part, around, about, complete } = props;
  const { field } = part;
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
        value={typedFor(part, around)[0] ?? ""}
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

interface InputProps extends Omit<FieldProps, "around"> {
  typed: readonly string[];
  about: { "aria-label"?: string; "aria-describedby"?: string };
  send: SendFile | undefined;
}

const Input = ({ id, part, typed, about, send }: InputProps) => {
  const { field, isSecret } = part;
  const { id: name, kind, type, options, isRequired } = field;
  const common = { id, name, required: isRequired, ...about };
  const value = typed[0] ?? "";
  if (part.file && send)
    return (
      <FileInput id={id} label={about["aria-label"] ?? field.label} bounds={part.file} send={send}>
        <input {...common} type="text" value={value} placeholder="URI" autocomplete="off" />
      </FileInput>
    );
  switch (kind) {
    case "yes-no":
    case "one":
    case "many": {
      const titles = options.map(({ title }, nth) => [String(nth), title] as const);
      const all = kind === "yes-no" ? YES_NO : titles;
      return (
        <select {...common} {...(kind === "many" && { multiple: true })}>
          {kind !== "many" && <option value="">–</option>}
          {all.map(([one, title]) => (
            <option value={one} selected={typed.includes(one)}>
              {printableText(title)}
            </option>
          ))}
        </select>
      );
    }
    case "area":
    case "json":
      return (
        <textarea {...common} rows={kind === "json" ? 3 : 4} spellcheck={kind !== "json"}>
          {value}
        </textarea>
      );
    default: {
      const isMoment = isDateTime(part);
      return (
        <input
          {...common}
          type={
            isSecret ? "password" : isMoment ? "datetime-local" : kind === "number" ? "text" : type
          }
          inputmode={kind === "number" ? "decimal" : undefined}
          {...(isMoment && { step: "1" })}
          value={keptText(part, value)}
          autocomplete="off"
        />
      );
    }
  }
};

const YES_NO = [
  ["true", "Yes"],
  ["false", "No"],
] as const;
