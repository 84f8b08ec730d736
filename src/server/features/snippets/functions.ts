/** Host functions with which a servlet keeps the snippets of its callers. */
import * as z from "zod/mini";
import { checkWithoutNulls } from "../../kernel/core/deviations.ts";
import { Fault } from "../../kernel/core/errors.ts";
import type { CallContext } from "../../kernel/core/call-context.ts";
import type { Json } from "../../kernel/core/model.ts";
import { nearest } from "../../kernel/core/nearest.ts";
import { oncePer } from "../../kernel/core/once-per.ts";
import { once } from "../../kernel/core/once.ts";
import { payloadOf } from "../../kernel/servlets/payload.ts";
import { FORMATS } from "../../kernel/schema/formats.ts";
import { Steps } from "../../kernel/schema/steps.ts";
import { Schema, SchemaError, StepsExceeded } from "../../kernel/schema/schema.ts";
import { describeIssues } from "../../kernel/servlets/checks.ts";
import type { FeatureFunction } from "../../kernel/servlets/deployment.ts";
import { limits } from "./limits.ts";
import type { Snippet, SnippetStore } from "./store.ts";

/** Names of snippets: valid in tool names, and as identifiers. */
export const SNIPPET_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

const objectSchema = once(() => z.record(z.string(), z.unknown()));
const nameSchema = once(() => z.string().check(z.maxLength(1000)));
const saveSchema = once(() =>
  z.strictObject({
    name: z
      .string()
      .check(
        z.regex(
          SNIPPET_NAME,
          "may have letters, digits and _ only, at most 64, and begins with no digit",
        ),
      ),
    description: z.string().check(z.minLength(1), z.maxLength(limits.snippetDescription)),
    code: z.string().check(z.minLength(1), z.maxLength(limits.snippetCode)),
    input: z.optional(objectSchema()),
    listed: z.optional(z.boolean()),
  }),
);
const getSchema = once(() =>
  z.strictObject({ name: nameSchema(), arguments: z.optional(objectSchema()) }),
);
const deleteSchema = once(() => z.strictObject({ name: nameSchema() }));

export function snippetFunctions(
  store: SnippetStore,
  toolOf: (name: string) => string,
): Record<string, FeatureFunction> {
  /** The snippets that each run has read: a run reads them once, however often it asks. */
  const readBy = new WeakMap<CallContext, Promise<readonly Snippet[]>>();
  const allOf = ({ servlet, call }: Of) =>
    readBy.getOrInsertComputed(call, () => store.all(servlet, call));
  return {
    /** Saves a snippet. Returns whether its name is new, whether it was a tool before, and the name of its tool if it is one now. */
    async "snippets.save"(payload, { servlet, call }) {
      demandSnippets(servlet);
      readBy.delete(call);
      const snippet = payloadOf(saveSchema(), payload);
      if (snippet.input !== undefined) demandSchema(snippet.input);
      const before = await store.save(servlet, call, snippet);
      return {
        isNew: before === undefined,
        wasTool: before?.listed === true,
        ...(snippet.listed === true && { tool: toolOf(snippet.name) }),
      };
    },
    /** Returns a snippet; given arguments are checked by its schema and returned, too. */
    async "snippets.get"(payload, of) {
      demandSnippets(of.servlet);
      const { name, arguments: given } = payloadOf(getSchema(), payload);
      const all = await allOf(of);
      const snippet = all.find((one) => one.name === name);
      if (snippet === undefined) throw unknown(name, all);
      return { ...snippet, ...(given && { arguments: fitted(snippet, given, stepsOf(of.call)) }) };
    },
    /** Returns all snippets, without their code. */
    async "snippets.list"(_payload, of) {
      demandSnippets(of.servlet);
      const all = await allOf(of);
      return all.map((snippet) => {
        const { code: _, ...shown } = snippet;
        return shown;
      });
    },
    /** Deletes a snippet. Returns whether it existed, and whether it was a tool. */
    async "snippets.delete"(payload, { servlet, call }) {
      demandSnippets(servlet);
      const { name } = payloadOf(deleteSchema(), payload);
      readBy.delete(call);
      const before = await store.delete(servlet, call, name);
      return { existed: before !== undefined, wasTool: before?.listed === true };
    },
  };
}

type Of = Parameters<FeatureFunction>[1];

/** Throws `invalid_params` unless the manifest says which tool runs snippets. */
function demandSnippets({ name, manifest }: Of["servlet"]): void {
  if (manifest.snippets === undefined)
    throw new Fault(
      "invalid_params",
      `the manifest of ${name} does not say which tool runs snippets. Add "snippets" to its servlet.json.`,
    );
}

function unknown(name: string, all: readonly Snippet[]): Fault {
  const names = all.map((one) => one.name);
  const meant = nearest(name, names);
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  const there = names.length === 0 ? "None is saved." : `Saved are ${names.join(", ")}.`;
  return new Fault("invalid_params", `there is no snippet ${name}.${hint} ${there}`);
}

/** Throws `invalid_params` unless this is a usable schema of an object. */
function demandSchema(input: Json): void {
  if (input["type"] !== "object")
    throw new Fault("invalid_params", 'input: is no schema of an object. Add "type": "object".');
  const { length } = JSON.stringify(input);
  if (length > limits.snippetSchema)
    throw new Fault(
      "invalid_params",
      `input: has ${length} characters (limit ${limits.snippetSchema}). Take a simpler schema.`,
    );
  checked(() => new Schema(input, { formats: FORMATS, isInput: true }).issues({}));
}

/** The step budget of all checks of arguments in one run. */
const stepsOf = oncePer((_run: CallContext) => new Steps(limits.checkSteps));

/** The arguments, without nulls that the schema of the snippet does not allow. Throws `invalid_params` if they do not match it. */
function fitted({ name, input }: Snippet, given: Json, steps: Steps): Json {
  if (input === undefined) return given;
  const { value, issues } = checked(() => {
    const schema = new Schema(input, { formats: FORMATS, isInput: true });
    return checkWithoutNulls((one) => schema.issues(one, steps), given);
  });
  if (issues === undefined) return value;
  throw new Fault(
    "invalid_params",
    `the arguments do not match the input schema of ${name}: ${describeIssues(issues)}.`,
  );
}

/** Runs work with a schema. Throws `invalid_params` if the schema is invalid or too complex. */
function checked<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof SchemaError) && !(error instanceof StepsExceeded)) throw error;
    throw new Fault("invalid_params", `the schema in input cannot be used: ${error.message}.`);
  }
}
