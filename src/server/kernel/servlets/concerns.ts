/** How models see a tool: its tokens, and the parts of it that clients and model APIs reject. */
import { estimateTokenCount } from "tokenx";
import { limits } from "../core/limits.ts";
import { isObject, type Json, type Tool } from "../core/model.ts";
import { Steps, StepsExceeded } from "../schema/steps.ts";
import type { ToolEntry } from "./catalog.ts";

interface ModelsTool {
  name: string;
  description: string;
  parameters: unknown;
}

/** A tool as models get it in each conversation. */
export const asModelsSee = ({ name, description = "", inputSchema }: Tool): ModelsTool => ({
  name,
  description,
  parameters: inputSchema,
});

/**
 * Tokens are estimated from this many characters, and by length beyond; a tool with more values than `MOST_VALUES` gets
 * no estimate.
 */
const SAMPLE_CHARACTERS = 5000;
const MOST_VALUES = 5000;

/** An estimate of the tokens of a tool; tokenizers differ by a fifth or so. Undefined if the schema is too large. */
export function tokensOf(tool: Tool): number | undefined {
  let values = 0;
  let cut = 0;
  const sampled = (_key: string, value: unknown) => {
    values += 1;
    if (values > MOST_VALUES) throw new RangeError("too many values");
    if (typeof value !== "string" || value.length <= SAMPLE_CHARACTERS) return value;
    cut += value.length - SAMPLE_CHARACTERS;
    return value.slice(0, SAMPLE_CHARACTERS);
  };
  try {
    const text = JSON.stringify(asModelsSee(tool), sampled);
    const sample = text.slice(0, SAMPLE_CHARACTERS);
    return Math.round((estimateTokenCount(sample) * (text.length + cut)) / sample.length);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Sentences for the author of a tool, each with the tool's name and the place in its schema. */
export function concernsOf({ own, tool, servlet }: Pick<ToolEntry, "own" | "tool" | "servlet">) {
  const concerns = [
    ...ofName(own, tool.name, servlet.manifest.prefix),
    ...ofDescription(tool.description ?? ""),
    ...ofSchema(tool.inputSchema),
  ];
  const name = own.length > 60 ? `${own.slice(0, 60)}…` : own;
  return concerns.map((concern) => `the tool ${JSON.stringify(name)} ${concern}`);
}

/** The longest name of a tool: model APIs accept 64 characters, and many clients add a prefix. */
export const NAME_CHARACTERS = 60;

function ofName(own: string, listed: string, prefix: string | undefined): string[] {
  const whole = prefix === undefined ? own : `${prefix}-${own}`;
  const counted = `${whole.length} characters${prefix === undefined ? "" : ` with its prefix ${prefix}`}`;
  const concerns: string[] = [];
  if (/[^A-Za-z0-9_.-]/.test(whole)) {
    concerns.push(
      `is listed as ${listed}: its name has other characters than A-Z a-z 0-9 _ . -; rename it`,
    );
  }
  if (whole.length > 128) {
    concerns.push(
      `is listed by the first 128 characters of its name, which has ${counted}: shorten the name or the prefix`,
    );
  } else if (listed.length > NAME_CHARACTERS) {
    concerns.push(
      `has a name of ${counted}: APIs of models take 64, and clients put more before it; shorten it to ${NAME_CHARACTERS}`,
    );
  }
  if (listed.includes(".")) {
    concerns.push(
      `is listed as ${listed}: APIs of models refuse names with dots; write _ instead of them`,
    );
  }
  return concerns;
}

/** Models read descriptions with each request; longer texts are documents. */
const DESCRIPTION_CHARACTERS = 10_000;

function ofDescription(description: string): string[] {
  if (description.trim() === "") {
    return ["has no description, by which models choose tools: say what it does, and when"];
  }
  if (description.length <= DESCRIPTION_CHARACTERS) return [];
  return [
    `has a description of ${description.length} characters, which models read with each request: shorten it to ${DESCRIPTION_CHARACTERS} at most`,
  ];
}

const ROOT = ["$ref", "allOf", "anyOf", "oneOf", "not", "enum"];
/** Keywords that no argument list needs, and that model APIs reject or ignore. */
const RARE = [
  "if",
  "not",
  "patternProperties",
  "propertyNames",
  "dependentRequired",
  "dependentSchemas",
  "contains",
  "prefixItems",
  "unevaluatedItems",
  "unevaluatedProperties",
  "$dynamicRef",
];
/** Names of arguments that Anthropic's API accepts. */
const ARGUMENT = /^[A-Za-z0-9_.-]{1,64}$/;
/** Further concerns would only repeat the first ones. */
const MOST = 12;

function ofSchema(schema: Json): string[] {
  const concerns = new Set<string>();
  for (const key of ROOT.filter((one) => one in schema)) {
    concerns.add(
      `has ${key} at the root of its inputSchema: APIs of models refuse it; describe one object with properties, and say in descriptions which go together`,
    );
  }
  const steps = new Steps(limits.inlinedParts);
  const walk = (one: unknown, path: string): void => {
    steps.take(1);
    if (one === false && path !== "" && !/(\[\]|\*)$/.test(path)) {
      concerns.add(
        `has false as the schema of ${path} in its inputSchema: APIs of models refuse it; leave the property out`,
      );
    }
    if (!isObject(one) || concerns.size >= MOST) return;
    const { type, items, properties, $defs, enum: values } = one;
    const types = [type].flat();
    const at = path === "" ? "the root" : path;
    for (const key of RARE.filter(
      (keyword) => keyword in one && (path !== "" || !ROOT.includes(keyword)),
    )) {
      concerns.add(
        `has ${key} at ${at} of its inputSchema: some APIs of models refuse or ignore it; the server checks it all the same, so say it in the description, too`,
      );
    }
    if (one["nullable"] === true) {
      concerns.add(
        `has nullable at ${at} of its inputSchema, which means nothing in JSON Schema: give type as a list with "null"`,
      );
    }
    if (Array.isArray(values) && values.length === 0) {
      concerns.add(`has an enum of nothing at ${at} of its inputSchema: no value fits; name some`);
    }
    const refused = Array.isArray(values) ? values.find(isRefusedChoice) : undefined;
    if (refused !== undefined) {
      concerns.add(
        `has ${JSON.stringify(refused)} in the enum at ${at} of its inputSchema: some APIs of models (Gemini's) accept only non-empty texts there; replace the value by a text, or describe a range instead`,
      );
    }
    if (types.includes("array") && Array.isArray(values)) {
      concerns.add(
        `has enum beside the array ${path} in its inputSchema: APIs of models refuse it; put enum into items`,
      );
    }
    if (items !== undefined && isUnion(items, schema)) {
      concerns.add(
        `has a union as the items of ${path} in its inputSchema: some APIs of models (Gemini's) refuse it; give items one type`,
      );
    }
    for (const [name, inner] of isObject(properties) ? Object.entries(properties) : []) {
      if (!ARGUMENT.test(name)) {
        concerns.add(
          `has the property ${JSON.stringify(name.slice(0, 80))} in its inputSchema: APIs of models refuse such names; use up to 64 of A-Z a-z 0-9 _ . -`,
        );
      }
      walk(inner, path === "" ? name : `${path}.${name}`);
    }
    walk(items, `${path}[]`);
    for (const [name, inner] of isObject($defs) ? Object.entries($defs) : [])
      walk(inner, `$defs.${name}`);
    for (const key of ["prefixItems", "allOf", "anyOf", "oneOf"]) {
      const parts = one[key];
      if (Array.isArray(parts))
        for (const part of parts) walk(part, key === "prefixItems" ? `${path}[]` : path);
    }
    walk(one["additionalProperties"], path === "" ? "*" : `${path}.*`);
  };
  try {
    walk(schema, "");
  } catch (error) {
    // It is too large, or too deep for the stack: reports what was found so far.
    if (!(error instanceof StepsExceeded || error instanceof RangeError)) throw error;
  }
  return [...concerns];
}

/** True for a value of an `enum` that Gemini's API rejects. */
const isRefusedChoice = (value: unknown): boolean =>
  value === "" || (value !== null && typeof value !== "string");

/** True for a choice, even behind a reference. */
function isUnion(items: unknown, root: Json, depth = 0): boolean {
  if (!isObject(items)) return false;
  const { type, anyOf, oneOf, $ref: reference } = items;
  if (Array.isArray(type) ? type.length > 1 : anyOf !== undefined || oneOf !== undefined)
    return true;
  const name = typeof reference === "string" ? /^#\/\$defs\/(.*)$/.exec(reference)?.[1] : undefined;
  if (name === undefined || depth > MOST || !isObject(root["$defs"])) return false;
  return isUnion(root["$defs"][name], root, depth + 1);
}
