/** The form of a tried entry: its schema, initial content, validation errors, and the content that was last sent. */
import { useEffect, useReducer, useRef } from "hono/jsx/dom";
import { isObject, type Json } from "../server/kernel/core/model.ts";
import {
  changeByFields,
  contentIn,
  contentOfFields,
  formPartsOf,
  hasNoFields,
  withEntered,
  type Wrong,
} from "./form.ts";
import type { SendFile } from "./files.ts";
import { failureIn, formSchemaOf, sendFor, type Failure, type Target } from "./targets.ts";
import { linkedContent } from "./tries.ts";

/** The initial content of a form. A new version replaces the form. */
interface Beginning {
  version: number;
  given: Json | undefined;
  /** True if the content is edited as one JSON text. */
  isJson: boolean;
}

interface FormState {
  /** Undefined until it is loaded. */
  schema: Json | undefined;
  /** Sends files; undefined if the entry takes none. */
  send: SendFile | undefined;
  /** The reason why there is no schema. */
  failure: Failure | undefined;
  beginning: Beginning;
  wrong: readonly Wrong[];
  /** The content of the latest call. */
  content: Json;
}

const EMPTY: FormState = {
  schema: undefined,
  send: undefined,
  failure: undefined,
  beginning: { version: 0, given: undefined, isJson: false },
  wrong: [],
  content: {},
};

type FormChange = (state: FormState) => Partial<FormState>;

const changed = (state: FormState, change: FormChange): FormState => ({
  ...state,
  ...change(state),
});

/** Restarts the form with this content. It is edited as JSON if fields would change it. */
const beginning =
  (given: Json | undefined, schema: Json, isJson: boolean): FormChange =>
  (state) => {
    const change = given && !isJson ? changeByFields(formPartsOf(schema), given) : undefined;
    const version = state.beginning.version + 1;
    return {
      wrong: change === undefined ? [] : [aboutChange(change)],
      beginning: { version, given, isJson: isJson || change !== undefined },
    };
  };

/** The form of an entry. `onReady` is called once its schema is loaded or has failed to load. */
export function useTryForm(target: Target, address: string, onReady: () => void) {
  const [state, change] = useReducer(changed, EMPTY);
  const place = useRef<HTMLElement | null>(null);
  const { schema, failure, content } = state;
  const { isJson, given } = state.beginning;
  const parts = schema === undefined ? [] : formPartsOf(schema);

  useEffect(() => {
    const load = async () => {
      const known = await formSchemaOf(target, address);
      return { known, send: await sendFor(target, address, known) };
    };
    load().then(
      ({ known, send }) =>
        change((latest) => ({
          schema: known,
          send,
          ...beginning(linkedContent(), known, hasNoFields(known))(latest),
        })),
      (error: unknown) => change(() => ({ failure: failureIn(error) })),
    );
  }, []);
  useEffect(() => {
    if (schema !== undefined || failure !== undefined) onReady();
  }, [schema, failure]);

  const setWrong = (wrong: readonly Wrong[]) => change(() => ({ wrong }));
  const begin = (next: Json, asJson = false) => change(beginning(next, schema!, asJson));
  /** The entered content that can be parsed, and the errors of the rest. */
  const entered = (): { content: Json; wrong: readonly Wrong[] } => {
    const form = place.current?.querySelector("form");
    if (!form || schema === undefined) return { content, wrong: [] };
    const of = isJson ? JSON_SCHEMA : schema;
    const read = contentIn(formPartsOf(of), new FormData(form));
    if (!isJson) return read;
    const { arguments: all = {} } = read.content;
    return isObject(all)
      ? { content: all, wrong: read.wrong }
      : { content: {}, wrong: [aboutAll("must be an object")] };
  };

  return {
    ...state,
    /** The element around the form. */
    place,
    hasFields: parts.length > 0,
    /** The schema and the initial content of the fields. */
    fields: {
      schema: isJson ? JSON_SCHEMA : schema,
      given: isJson ? { arguments: given ?? {} } : given,
    },
    setWrong,
    begin,
    entered,
    /** The content of a submitted form; undefined, with messages, if its JSON does not match the schema. */
    async submitted(sent: Json): Promise<Json | undefined> {
      if (!isJson) return sent;
      const { arguments: all = {} } = sent;
      const checks = await import("./checks.ts").catch(() => undefined);
      const found = (isObject(all) && checks?.wrongIn(schema!, all)) || [];
      if (found.length === 0) return all as Json;
      const inText = ({ path, message }: Wrong) =>
        aboutAll([path.join("."), message].filter(Boolean).join(" "));
      setWrong(found.map(inText));
      return undefined;
    },
    /** Records the content of a new call. */
    called: (sent: Json) => change(() => ({ content: sent, wrong: [] })),
    /** Completes the entered content with an example. */
    async fillIn(): Promise<void> {
      const { content: known, wrong: unread } = entered();
      if (unread.length > 0) return setWrong(unread);
      const { exampleOf, wrongIn } = await import("./checks.ts");
      const example = exampleOf(schema!, true);
      if (example === undefined) return setWrong([NO_EXAMPLE]);
      const filled = withEntered(example, known, { areEmptyKept: isJson });
      // Fields may change an example if it stays valid.
      const shown = isJson ? filled : contentOfFields(parts, filled);
      begin(wrongIn(schema!, shown).length === 0 ? shown : filled, isJson);
    },
    /** Switches between fields and JSON, or reports the arguments that would be lost. */
    changeWay(): void {
      const { content: known, wrong: unread } = entered();
      if (unread.length > 0) return setWrong(unread);
      const lost = isJson ? changeByFields(parts, known) : undefined;
      if (lost !== undefined) return setWrong([aboutChange(lost)]);
      begin(known, !isJson);
    },
  };
}

/** The schema of a form that has all arguments in one JSON field. */
const JSON_SCHEMA: Json = {
  properties: { arguments: { title: "Arguments as JSON", type: "object" } },
  required: ["arguments"],
};

const aboutAll = (message: string): Wrong => ({ path: ["arguments"], message });

const NO_EXAMPLE: Wrong = {
  path: [],
  message: "No example was found: the schema has none that fits.",
};
const aboutChange = (change: string): Wrong =>
  aboutAll(`does not fit the fields: ${change}. Enter another value, or go on with JSON.`);
