import { changedText, changedTree } from "./change.ts";
import type { Chance } from "./chance.ts";
import { markOf, type Asked, type Json, type Name } from "./draft.ts";
import { isObject } from "./judge.ts";
import { METHODS, oddValue, written } from "./odd.ts";

/** Requests to the scripted servlets, to those that ask, and to any other. */

/** The server's lists. */
export interface Catalog {
  tools: Json[];
  prompts: Json[];
  resources: Json[];
  resourceTemplates: Json[];
}

/** Ids of requests, good ones most often. */
export const idOf = (chance: Chance): unknown =>
  chance.of(0.9) ? chance.pick([1, 0, "a", "", -7, 2 ** 53 - 1, "é💥", "1"]) : oddValue(chance);

/** These run or wait for long. */
const SLOW =
  /^(doze|poll|exhaust_memory|million_blocks|big_blocks|recurse|stuck|fetch|web|slow_.*|seek)$/;

/** A value that fits a schema, more or less. */
export function fitting(schema: unknown, as: Name, chance: Chance): unknown {
  if (!isObject(schema)) return markOf(as);
  if (Array.isArray(schema["enum"])) return chance.pick(schema["enum"] as unknown[]);
  const either: unknown = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(either)) return fitting(chance.pick(either as unknown[]), as, chance);
  switch ([schema["type"]].flat()[0]) {
    case "object":
    case undefined: {
      const required: unknown = schema["required"];
      const found = Object.entries((schema["properties"] ?? {}) as Json)
        .filter(([key]) => (Array.isArray(required) && required.includes(key)) || chance.of(0.6))
        .map(([key, one]) => [key, fitting(one, as, chance)] as const);
      return Object.fromEntries(found);
    }
    case "array":
      return Array.from({ length: chance.below(4) }, () => fitting(schema["items"], as, chance));
    case "integer":
    case "number":
      return chance.pick([0, 1, 2, 3]);
    case "boolean":
      return chance.of(0.5);
    case "null":
      return null;
    default:
      return chance.pick([markOf(as), `${markOf(as)} é💥`, "2020-01-01", "UTC", "", "a"]);
  }
}

export const said = (as: Name) => ({ type: "text", text: markOf(as) });
const FORM = { type: "object", properties: { value: { type: "string" } }, required: ["value"] };
const ask = (as: Name) => ({
  method: "elicitation/create",
  params: { message: markOf(as), requestedSchema: FORM },
});

/** Outputs for the servlet `told`, by the way in which it hands them out. */
const OUTPUTS: Record<string, (as: Name) => unknown> = {
  output: (as) => ({ content: [said(as)], structuredContent: { a: [1] }, isError: false }),
  media: () => ({
    content: [
      { type: "image", data: "aGk=", mimeType: "image/png" },
      { type: "resource", resource: { uri: "told:x", text: "x" } },
      { type: "resource_link", uri: "told:y", name: "y" },
    ],
  }),
  input: (as) => ({
    resultType: "input_required",
    inputRequests: { one: ask(as) },
    requestState: markOf(as),
  }),
  fault: (as) => ({ error: { code: 1234, message: markOf(as), data: { a: 1 } } }),
  error: (as) => markOf(as),
  progress: () => ({ progressToken: "p", progress: 1, total: 2, message: "half" }),
  message: (as) => ({ level: "warning", logger: "told", data: { text: markOf(as) } }),
  updated: () => ({ uri: "told:x" }),
  completed: () => ({ elicitationId: "e" }),
  http: () => ({ url: "http://127.0.0.1:1/", method: "GET", headers: { a: "b" } }),
  fetch: () => ({ url: "http://127.0.0.1:1/", method: "POST" }),
  elicit: (as) => ({ message: markOf(as), requestedSchema: FORM, timeout: 50 }),
  sample: (as) => ({ messages: [{ role: "user", content: said(as) }], maxTokens: 5 }),
  inputs: (as) => ({ one: ask(as), two: { method: "roots/list", params: {} } }),
  secret: () => ({ service: "vault", user: "probe" }),
  token: () => ({ provider: "x", scopes: ["a"] }),
};

/** Text for a servlet's output: as it should be, or changed. */
function outputText(given: unknown, chance: Chance): string {
  let value = given;
  for (let times = chance.pick([0, 1, 1, 2, 3]); times > 0; times--)
    value = changedTree(value, chance);
  const text = written(value);
  if (chance.of(0.003)) return `${text.slice(0, -1)},"x":"${"x".repeat(3_000_000)}"}`;
  return chance.of(0.1) ? changedText(text, chance) : text;
}

export function told(as: Name, chance: Chance, through = chance.pick(Object.keys(OUTPUTS))): Asked {
  const way = ["media", "input", "fault"].includes(through) ? "output" : through;
  const text = outputText(OUTPUTS[through]!(as), chance);
  return {
    method: "tools/call",
    params: { name: "told", arguments: { through: way, text, count: 7 } },
    repeated: { "mcp-param-through": way, "mcp-param-count": "7" },
  };
}

const STEPS = [
  { do: "elicit" },
  { do: "elicit", timeout: 30 },
  { do: "elicit_url", url: "https://x.example" },
  { do: "sample" },
  { do: "roots" },
  { do: "inputs", keys: ["a", "b"] },
  { do: "config" },
  { do: "sleep", ms: 20 },
  { do: "secret" },
  { do: "log" },
  { do: "progress" },
  { do: "random" },
  { do: "fail" },
  { do: "http", url: "http://127.0.0.1:1/" },
];

const CURIOUS = (as: Name): Json[] => [
  { name: "rounds", arguments: { rounds: 2 } },
  { name: "request_approval", arguments: { what: markOf(as) } },
  { name: "test_sampling", arguments: { prompt: markOf(as) } },
  { name: "test_input_required_result_multi_round", arguments: {} },
];

/** A call that asks its client for things. */
export function asking(as: Name, chance: Chance, name = "plan"): Asked {
  if (chance.of(0.15))
    return told(as, chance, chance.pick(["input", "elicit", "inputs", "sample"]));
  if (chance.of(0.15)) return { method: "prompts/get", params: { name: "plan_prompt" } };
  if (chance.of(0.15)) return { method: "resources/read", params: { uri: "plan://resource" } };
  if (chance.of(0.2)) return { method: "tools/call", params: chance.pick(CURIOUS(as)) };
  const steps = Array.from({ length: 1 + chance.below(4) }, () => ({
    ...chance.pick(STEPS),
    message: markOf(as),
  }));
  return { method: "tools/call", params: { name, arguments: { steps } } };
}

/** A request that means something to the server. */
export function anything(
  { chance, catalog }: { chance: Chance; catalog: Catalog },
  as: Name,
): Asked {
  const cursor = chance.of(0.2)
    ? { cursor: chance.pick([btoa("tools:0:5"), btoa("tools:1:1"), "", "x"]) }
    : {};
  switch (chance.below(11)) {
    case 0:
      return {
        method: chance.pick([
          "tools/list",
          "prompts/list",
          "resources/list",
          "resources/templates/list",
        ]),
        params: cursor,
      };
    case 1: {
      const { name, arguments: given = [] } = chance.pick(catalog.prompts);
      const values = (given as Json[]).map((one): [string, string] => [
        one["name"],
        name === "told"
          ? outputText({ messages: [{ role: "user", content: said(as) }] }, chance)
          : markOf(as),
      ]);
      return { method: "prompts/get", params: { name, arguments: Object.fromEntries(values) } };
    }
    case 2: {
      const contents = { contents: [{ uri: "told:x", text: markOf(as) }] };
      const uris = [
        ...catalog.resources.map(({ uri }) => uri as string),
        `told:${outputText(contents, chance)}`,
      ];
      return { method: "resources/read", params: { uri: chance.pick(uris) } };
    }
    case 3: {
      const completion = { completion: { values: ["a", markOf(as)], total: 2, hasMore: false } };
      const ref = chance.of(0.5)
        ? {
            type: "ref/prompt",
            name: chance.of(0.5) ? "told" : chance.pick(catalog.prompts)["name"],
          }
        : { type: "ref/resource", uri: chance.pick(catalog.resourceTemplates)["uriTemplate"] };
      return {
        method: "completion/complete",
        params: {
          ref,
          argument: { name: "text", value: outputText(completion, chance) },
          context: { arguments: { a: "b" } },
        },
      };
    }
    case 4:
      return told(as, chance);
    case 5:
      return asking(as, chance);
    case 6:
      return {
        method: chance.pick(METHODS),
        params: {
          taskId: "f".repeat(64),
          name: "greet",
          uri: "told:{}",
          level: "info",
          requestState: "e30",
          inputResponses: {},
        },
      };
    default: {
      let tool = chance.pick(catalog.tools);
      if (SLOW.test(tool["name"]) && chance.of(0.95))
        tool = chance.pick(catalog.tools.filter(({ name }) => !SLOW.test(name)));
      return {
        method: "tools/call",
        params: { name: tool["name"], arguments: fitting(tool["inputSchema"], as, chance) },
      };
    }
  }
}
